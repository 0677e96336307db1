//! Posts the movements of a dispute's funds: changes the journal, invoice payments, invoices and entitlements, and issues the credit notes
//! of a loss.

use super::allocation::{Destination, spread};
use super::dispute_change::DisputeChange;
use super::issue::{ItemOrder, NewNote, NoteOrder, issue_notes};
use super::undo::{PaidByIntent, subscriptions_of, take_newest_first};
use super::{CreditNoteReason, NoteError};
use crate::billing::invoice::{book_shares, lines_by_invoice, sharing};
use crate::billing::recovery::match_invoices;
use crate::billing::{InvoiceItem, InvoicePayment, PostingError, Subscription};
use crate::context::Context;
use crate::ledger::{Account, Entry, EntryType, Posting, Side};
use crate::payment::{Dispute, DisputeFilter};
use crate::shared::{
    Amount, CustomerId, DisputeId, EntryId, InvoiceId, MAX_PAGE_SIZE, Mode, Page, StorageError, SubscriptionId, Timestamp,
};
use crate::storage::UnitOfWork;
use std::collections::BTreeSet;

/// A dispute whose changes are being posted, and the locked invoices of its payment.
pub(super) struct DisputePosting {
    /// The dispute as the caller will write it. Its `movements` counter rises with each posting.
    pub dispute: Dispute,
    pub paid: PaidByIntent,
    /// In the customer's time.
    pub at: Timestamp,
}

impl DisputePosting {
    pub async fn record(&mut self, ctx: &Context, unit: &mut dyn UnitOfWork, change: DisputeChange) -> Result<(), NoteError> {
        match change {
            DisputeChange::Withdrawn => Ok(self.withdraw(ctx, unit).await?),
            DisputeChange::Reinstated => Ok(self.reinstate(ctx, unit).await?),
            DisputeChange::Lost => self.lose(ctx, unit).await,
            DisputeChange::Fee { before, now } => Ok(self.charge_fee(ctx, unit, before, now).await?),
        }
    }

    /// Withdraws the disputed amount from the invoice payments, newest first, and suspends what they paid for. The part without room on
    /// them was refunded already or went to the balance: it is posted to suspense.
    async fn withdraw(&mut self, ctx: &Context, unit: &mut dyn UnitOfWork) -> Result<(), PostingError> {
        let amount = self.dispute.amount;
        let taken = take_newest_first(amount, &self.paid.payments, InvoicePayment::room)?;
        self.paid.change(unit, &taken.parts, InvoicePayment::dispute).await?;
        let invoices = self.paid.touched(&taken.parts);
        let subscriptions = subscriptions_of(self.paid.invoices.iter().filter(|invoice| invoices.contains(&invoice.id)));
        if !invoices.is_empty() {
            unit.entitlements().suspend(&invoices, &subscriptions, ctx.now()).await?;
        }
        let currency = &self.dispute.currency_id;
        let postings = vec![
            Posting::debit(Account::Disputes, amount.minus(taken.rest)?, currency),
            Posting::debit(Account::Suspense, taken.rest, currency),
            Posting::credit(Account::cash(&self.dispute.method_id), amount, currency),
        ];
        self.post(ctx, unit, EntryType::DisputeWithdrawn, postings).await?;
        self.book_shares(ctx, unit).await
    }

    /// Returns the withdrawn amount to the invoice payments. The part that was posted to suspense is posted back; after a loss that is the
    /// full amount, because the invoices have been credited.
    async fn reinstate(&mut self, ctx: &Context, unit: &mut dyn UnitOfWork) -> Result<(), PostingError> {
        let (amount, held) = (self.dispute.amount, self.held(unit).await?);
        let taken = take_newest_first(held, &self.paid.payments, |payment| payment.disputed)?;
        self.paid.change(unit, &taken.parts, InvoicePayment::reinstate).await?;
        self.reinstate_entitlements(unit).await?;
        let currency = &self.dispute.currency_id;
        let postings = vec![
            Posting::debit(Account::cash(&self.dispute.method_id), amount, currency),
            Posting::credit(Account::Disputes, held, currency),
            Posting::credit(Account::Suspense, amount.minus(held)?, currency),
        ];
        self.post(ctx, unit, EntryType::DisputeReinstated, postings).await?;
        self.book_shares(ctx, unit).await
    }

    /// Reverses the disputed payments, so that the invoices' due grows, and credits the creditable amount of their lines. The rest
    /// stays due, and makes its subscription past due.
    async fn lose(&mut self, ctx: &Context, unit: &mut dyn UnitOfWork) -> Result<(), NoteError> {
        let held = self.held(unit).await?;
        if held.is_zero() {
            return Ok(());
        }
        let taken = take_newest_first(held, &self.paid.payments, |payment| payment.disputed)?;
        self.paid.change(unit, &taken.parts, InvoicePayment::lose_dispute).await?;
        self.paid.lower_paid(unit, &taken.parts, self.at).await?;
        // Before the credit notes, which revoke fully credited lines.
        self.reinstate_entitlements(unit).await?;
        let currency = &self.dispute.currency_id;
        let postings = vec![Posting::debit(Account::Receivable, held, currency), Posting::credit(Account::Disputes, held, currency)];
        self.post(ctx, unit, EntryType::DisputeLost, postings).await?;
        let invoices = self.paid.touched(&taken.parts);
        self.credit(ctx, unit, &invoices).await?;
        self.book_shares(ctx, unit).await?;
        let lost = self.paid.invoices.iter().filter(|invoice| invoices.contains(&invoice.id));
        let subscriptions = lost.filter_map(|invoice| invoice.subscription_id.clone()).collect();
        Ok(match_invoices(ctx, unit, &subscriptions, self.at).await?)
    }

    /// Beneficiaries have no share of what a dispute holds.
    async fn book_shares(&self, ctx: &Context, unit: &mut dyn UnitOfWork) -> Result<(), PostingError> {
        book_shares(ctx, unit, &sharing(&self.paid.invoices), self.at).await
    }

    /// Credits what the lines of these invoices can still give, as far as it is not paid.
    async fn credit(&mut self, ctx: &Context, unit: &mut dyn UnitOfWork, ids: &[InvoiceId]) -> Result<(), NoteError> {
        let mut lines = lines_by_invoice(unit, ids).await?;
        let mut notes = Vec::with_capacity(ids.len());
        for invoice in self.paid.invoices.iter().filter(|invoice| ids.contains(&invoice.id)) {
            let lines = lines.remove(&invoice.id).unwrap_or_default();
            let creditable: Vec<_> = lines.iter().map(InvoiceItem::creditable).collect();
            let amount = Amount::sum(creditable.iter().copied())?.min(invoice.remaining());
            if amount.is_zero() {
                continue;
            }
            let parts = spread(amount, &creditable)?;
            let items = lines.into_iter().zip(parts).filter(|(_, part)| !part.is_zero()).map(|(line, part)| ItemOrder::new(line, part));
            let order = NoteOrder::new(CreditNoteReason::Dispute, items.collect(), Destination::UnpaidPart);
            notes.push(NewNote { invoice: invoice.clone(), order, at: self.at });
        }
        for issued in issue_notes(ctx, unit, notes).await? {
            self.dispute.credit_note_ids.push(issued.note.id);
            if let Some(invoice) = self.paid.invoices.iter_mut().find(|invoice| invoice.id == issued.invoice.id) {
                *invoice = issued.invoice;
            }
        }
        Ok(())
    }

    /// Posts the change of the fee. A fee in a currency that the method does not have is not posted.
    async fn charge_fee(&mut self, ctx: &Context, unit: &mut dyn UnitOfWork, before: Amount, now: Amount) -> Result<(), PostingError> {
        self.dispute.fee = now;
        let Some(currency) = self.dispute.fee_currency_id.clone() else {
            tracing::warn!(dispute = %self.dispute.id, fee = %now, "the fee of a dispute is in a currency that its method does not have");
            return Ok(());
        };
        let (fees, cash) = (Account::Fees, Account::cash(&self.dispute.method_id));
        let (debit, credit, amount) = if now > before { (fees, cash, now.minus(before)?) } else { (cash, fees, before.minus(now)?) };
        let postings = vec![Posting::debit(debit, amount, &currency), Posting::credit(credit, amount, &currency)];
        self.post(ctx, unit, EntryType::NetworkFee, postings).await
    }

    /// The amount that the last withdrawal holds of invoice payments, read from the journal; zero after a loss or a reinstatement.
    async fn held(&self, unit: &mut dyn UnitOfWork) -> Result<Amount, PostingError> {
        for movement in (1..=self.dispute.movements).rev() {
            for entry in unit.journal().of_subject(&movement_subject(&self.dispute, movement)).await? {
                match entry.kind {
                    EntryType::DisputeLost | EntryType::DisputeReinstated => return Ok(Amount::ZERO),
                    EntryType::DisputeWithdrawn => {
                        let held = entry.postings().iter().filter(|one| one.account == Account::Disputes && one.side == Side::Debit);
                        return Ok(Amount::sum(held.map(|posting| posting.amount))?);
                    }
                    _ => {}
                }
            }
        }
        Ok(Amount::ZERO)
    }

    /// Ends the suspension of the entitlements that the payment paid for, except where another dispute holds funds of the same invoices or
    /// subscriptions.
    async fn reinstate_entitlements(&self, unit: &mut dyn UnitOfWork) -> Result<(), StorageError> {
        let (customer, own) = (&self.dispute.customer_id, Some(&self.dispute.id));
        let contested = Contested::read(unit, self.dispute.mode, customer, own).await?;
        let not_contested = self.paid.invoices.iter().filter(|invoice| !contested.invoices.contains(&invoice.id));
        let invoices: Vec<_> = not_contested.map(|invoice| invoice.id.clone()).collect();
        let mut subscriptions = subscriptions_of(&self.paid.invoices);
        subscriptions.retain(|subscription| !contested.subscriptions.contains(subscription));
        if !invoices.is_empty() || !subscriptions.is_empty() {
            unit.entitlements().reinstate(&invoices, &subscriptions).await?;
        }
        Ok(())
    }

    async fn post(
        &mut self,
        ctx: &Context,
        unit: &mut dyn UnitOfWork,
        kind: EntryType,
        postings: Vec<Posting>,
    ) -> Result<(), PostingError> {
        self.dispute.movements = self.dispute.movements.saturating_add(1);
        let subject = movement_subject(&self.dispute, self.dispute.movements);
        let id = EntryId::new(ctx.now(), ctx.random.as_ref());
        unit.journal().post(&Entry::new(id, self.dispute.mode, kind, subject, self.at, postings)?).await?;
        Ok(())
    }
}

/// Invoices whose funds open disputes hold, and their subscriptions.
#[derive(Debug, Default)]
struct Contested {
    invoices: BTreeSet<InvoiceId>,
    subscriptions: BTreeSet<SubscriptionId>,
}

impl Contested {
    /// Reads the customer's open disputes, without `except`.
    async fn read(unit: &mut dyn UnitOfWork, mode: Mode, customer: &CustomerId, except: Option<&DisputeId>) -> Result<Self, StorageError> {
        let filter = DisputeFilter { customer_id: Some(customer.clone()), open: true, ..DisputeFilter::default() };
        let open = unit.disputes().list(mode, &filter, &Page::new(None, Some(MAX_PAGE_SIZE))).await?.list;
        let mut contested = Self::default();
        for dispute in open.into_iter().filter(|dispute| Some(&dispute.id) != except && dispute.funds_withdrawn) {
            let payments = unit.invoice_payments().of_intent(&dispute.intent_id).await?;
            contested.invoices.extend(payments.into_iter().filter(|one| !one.disputed.is_zero()).map(|one| one.invoice_id));
        }
        let ids: Vec<_> = contested.invoices.iter().cloned().collect();
        let invoices = if ids.is_empty() { Vec::new() } else { unit.invoices().find_all(&ids).await? };
        contested.subscriptions.extend(subscriptions_of(&invoices));
        Ok(contested)
    }
}

/// Whether an open dispute holds funds of a subscription's invoices, so that what the subscription gives access to is suspended. The caller
/// has locked the subscription, which the recording of a dispute locks as well.
pub(in crate::billing) async fn is_contested(unit: &mut dyn UnitOfWork, subscription: &Subscription) -> Result<bool, StorageError> {
    let contested = Contested::read(unit, subscription.mode, &subscription.customer_id, None).await?;
    Ok(contested.subscriptions.contains(&subscription.id))
}

/// The journal subject of a movement. Funds can be withdrawn, reinstated and withdrawn again, so each movement has its own entry.
fn movement_subject(dispute: &Dispute, movement: u32) -> String {
    format!("{}/{movement}", dispute.id)
}
