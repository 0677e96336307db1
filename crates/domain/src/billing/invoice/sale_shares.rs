//! The shares of sales: what the lines of invoices have brought to the beneficiaries of their prices, after refunds and disputes.
//!
//! What is booked follows from the state of an invoice alone. Whoever changes what an invoice keeps books the difference in the same unit of
//! work: a payment, a part of one, a credit note, a dispute, a reversal. So parts of all bookings together are exactly the shares of what
//! the invoice keeps, in whatever order and in however many steps it got there.

use super::{Invoice, InvoiceItem, InvoicePayment, lines_by_invoice};
use crate::access::Did;
use crate::billing::PostingError;
use crate::context::Context;
use crate::events::{Message, NewMessage, Topic};
use crate::ledger::{Account, Entry, EntryType, Posting};
use crate::pricing::{PriceShare, distribute};
use crate::shared::{Amount, AmountError, CurrencyId, EntryId, EventId, InvoiceId, InvoiceItemId, Mode, PriceId, StorageError, Timestamp};
use crate::storage::UnitOfWork;
use async_trait::async_trait;
use std::collections::{BTreeMap, BTreeSet, HashMap};

/// A line of an invoice whose price has shares.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SharedLine {
    pub invoice_id: InvoiceId,
    pub item_id: InvoiceItemId,
    pub price_id: PriceId,
    /// The app that a purchase grants.
    pub app: Option<Did>,
    /// Not empty.
    pub shares: Vec<PriceShare>,
}

/// What a line has brought to a beneficiary. There is one for each line and beneficiary.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SaleShare {
    pub item_id: InvoiceItemId,
    pub beneficiary: Did,
    pub invoice_id: InvoiceId,
    pub mode: Mode,
    pub app: Option<Did>,
    pub price_id: PriceId,
    pub currency_id: CurrencyId,
    pub amount: Amount,
    /// The last booking of the invoice that has changed it; they are counted from 1.
    pub booking: u32,
    pub created_at: Timestamp,
    pub updated_at: Timestamp,
}

/// What must be booked of a line for a beneficiary.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DueShare {
    pub item_id: InvoiceItemId,
    pub beneficiary: Did,
    pub amount: Amount,
}

#[async_trait]
pub trait SaleShares: Send {
    /// The lines of these invoices whose prices have shares, in the order of the lines' ids.
    async fn shared_lines(&mut self, invoices: &[InvoiceId]) -> Result<Vec<SharedLine>, StorageError>;
    async fn of_invoices(&mut self, invoices: &[InvoiceId]) -> Result<Vec<SaleShare>, StorageError>;
    /// Writes shares, new ones and those with another amount, and their beneficiaries. The caller holds the locks of the invoices.
    /// [`StorageError::Conflict`] if one of them has this booking or a later one already.
    async fn write_all(&mut self, shares: &[SaleShare]) -> Result<(), StorageError>;
}

/// What an invoice has brought that the store keeps: what was paid, less what was credited, and without what disputes hold.
pub(crate) fn kept_amount(invoice: &Invoice, lines: &[InvoiceItem], payments: &[InvoicePayment]) -> Result<Amount, AmountError> {
    let disputed = Amount::sum(payments.iter().map(|payment| payment.disputed))?;
    let missing = invoice.remaining().plus(disputed)?;
    // More is missing than the lines still ask for if their credit was spent and their payment taken back.
    Ok(Amount::sum(lines.iter().map(InvoiceItem::creditable))?.minus(missing).unwrap_or_default())
}

/// As [`kept_amount`], of each line. Of an invoice that is paid in part, each line has its part of that.
fn kept_of_lines(invoice: &Invoice, lines: &[InvoiceItem], payments: &[InvoicePayment]) -> Result<Vec<Amount>, AmountError> {
    let uncredited: Vec<_> = lines.iter().map(InvoiceItem::creditable).collect();
    kept_amount(invoice, lines, payments)?.spread(&uncredited)
}

/// The shares of what an invoice keeps. `lines` and `payments`: all of the invoice; `shared`: those of its lines that have shares.
///
/// # Errors
/// [`AmountError`] if the amounts cannot be those of an invoice.
pub fn due_shares(
    invoice: &Invoice,
    lines: &[InvoiceItem],
    payments: &[InvoicePayment],
    shared: &[SharedLine],
) -> Result<Vec<DueShare>, AmountError> {
    let kept = kept_of_lines(invoice, lines, payments)?;
    let kept: HashMap<_, _> = lines.iter().map(|line| &line.id).zip(kept).collect();
    let mut due = Vec::new();
    for line in shared {
        let parts = distribute(kept.get(&line.item_id).copied().unwrap_or_default(), &line.shares)?;
        due.extend(line.shares.iter().zip(parts).map(|(share, amount)| DueShare {
            item_id: line.item_id.clone(),
            beneficiary: share.beneficiary.clone(),
            amount,
        }));
    }
    Ok(due)
}

/// The invoices among these that can have shares. Those of renewals cannot: shares are of prices that are paid once.
pub(crate) fn sharing<'a>(invoices: impl IntoIterator<Item = &'a Invoice>) -> Vec<InvoiceId> {
    let ids: BTreeSet<_> = invoices.into_iter().filter(|invoice| invoice.reason.may_sell_once()).map(|invoice| &invoice.id).collect();
    ids.into_iter().cloned().collect()
}

/// Books what the shares of these invoices have changed by. The caller has locked them, and has written what changes them.
///
/// # Errors
/// [`PostingError::Contended`] if another unit of work has booked them meanwhile.
pub(crate) async fn book_shares(
    ctx: &Context,
    unit: &mut dyn UnitOfWork,
    invoices: &[InvoiceId],
    at: Timestamp,
) -> Result<(), PostingError> {
    if invoices.is_empty() {
        return Ok(());
    }
    let mut shared: BTreeMap<InvoiceId, Vec<SharedLine>> = BTreeMap::new();
    for line in unit.sale_shares().shared_lines(invoices).await? {
        shared.entry(line.invoice_id.clone()).or_default().push(line);
    }
    if shared.is_empty() {
        return Ok(());
    }
    let ids: Vec<_> = shared.keys().cloned().collect();
    let found = unit.invoices().find_all(&ids).await?;
    let lines = lines_by_invoice(unit, &ids).await?;
    let payments = unit.invoice_payments().of_invoices(&ids).await?;
    let booked = unit.sale_shares().of_invoices(&ids).await?;
    let (mut changed, mut entries, mut emails) = (Vec::new(), Vec::new(), Vec::new());
    for invoice in &found {
        let lines = lines.get(&invoice.id).map_or(&[][..], Vec::as_slice);
        let payments: Vec<_> = payments.iter().filter(|payment| payment.invoice_id == invoice.id).cloned().collect();
        let shared = shared.get(&invoice.id).map_or(&[][..], Vec::as_slice);
        let due = due_shares(invoice, lines, &payments, shared)?;
        let booked = booked.iter().filter(|share| share.invoice_id == invoice.id).cloned().collect();
        let booking = Booking { invoice, shared, booked, at };
        let changes = booking.changes(due);
        entries.extend(booking.entry(ctx, &changes)?);
        emails.extend(booking.emails(ctx, &changes));
        changed.extend(changes.into_iter().map(|change| change.after));
    }
    if changed.is_empty() {
        return Ok(());
    }
    unit.sale_shares().write_all(&changed).await?;
    unit.journal().post_all(&entries).await?;
    if !emails.is_empty() {
        unit.outbox().publish_all(&emails, ctx.now()).await?;
    }
    Ok(())
}

/// The shares of an invoice that are booked anew.
struct Booking<'b> {
    invoice: &'b Invoice,
    shared: &'b [SharedLine],
    booked: Vec<SaleShare>,
    at: Timestamp,
}

/// A share before and after a booking.
struct ChangedShare {
    before: Amount,
    after: SaleShare,
}

impl Booking<'_> {
    fn number(&self) -> u32 {
        self.booked.iter().map(|share| share.booking).max().unwrap_or_default().saturating_add(1)
    }

    /// The shares whose amount differs from what is booked.
    fn changes(&self, due: Vec<DueShare>) -> Vec<ChangedShare> {
        let (number, mut changes) = (self.number(), Vec::new());
        for DueShare { item_id, beneficiary, amount } in due {
            let booked = self.booked.iter().find(|share| share.item_id == item_id && share.beneficiary == beneficiary);
            let before = booked.map_or(Amount::ZERO, |share| share.amount);
            let Some(line) = self.shared.iter().find(|line| line.item_id == item_id).filter(|_| before != amount) else { continue };
            let after = SaleShare {
                item_id,
                beneficiary,
                invoice_id: self.invoice.id.clone(),
                mode: self.invoice.mode,
                app: line.app.clone(),
                price_id: line.price_id.clone(),
                currency_id: self.invoice.currency_id.clone(),
                amount,
                booking: number,
                created_at: booked.map_or(self.at, |share| share.created_at),
                updated_at: self.at,
            };
            changes.push(ChangedShare { before, after });
        }
        changes
    }

    /// The emails about a sale, when its first payment is shared: to each beneficiary, and to the owner of the store.
    fn emails(&self, ctx: &Context, changes: &[ChangedShare]) -> Vec<NewMessage> {
        if changes.is_empty() || !self.booked.is_empty() {
            return Vec::new();
        }
        let now = ctx.now();
        let message = |to: Option<&Did>| {
            let message = Message::new(Topic::SaleMail, now).with("invoice", &self.invoice.id);
            let message = match to {
                Some(beneficiary) => message.with("to", beneficiary),
                None => message,
            };
            NewMessage { id: EventId::new(now, ctx.random.as_ref()), message }
        };
        let beneficiaries: BTreeSet<_> = changes.iter().map(|change| &change.after.beneficiary).collect();
        beneficiaries.into_iter().map(Some).chain([None]).map(message).collect()
    }

    /// The journal entry of changes: what a beneficiary gets is no revenue. `None`: no beneficiary has more or less than before.
    fn entry(&self, ctx: &Context, changes: &[ChangedShare]) -> Result<Option<Entry>, PostingError> {
        let mut sums: BTreeMap<&Did, Movement> = BTreeMap::new();
        let mut total = Movement::default();
        for ChangedShare { before, after } in changes {
            for sum in [sums.entry(&after.beneficiary).or_default(), &mut total] {
                sum.before = sum.before.plus(*before)?;
                sum.after = sum.after.plus(after.amount)?;
            }
        }
        let mut postings = Vec::with_capacity(sums.len() + 1);
        for (beneficiary, sum) in sums {
            postings.extend(sum.credit(&Account::payable(beneficiary.as_str()), &self.invoice.currency_id)?);
        }
        if postings.is_empty() {
            return Ok(None);
        }
        postings.extend(total.reversed().credit(&Account::Revenue, &self.invoice.currency_id)?);
        let subject = format!("{}/{}", self.invoice.id, self.number());
        let id = EntryId::new(ctx.now(), ctx.random.as_ref());
        Ok(Some(Entry::new(id, self.invoice.mode, EntryType::SaleShares, subject, self.at, postings)?))
    }
}

/// How an amount changes.
#[derive(Clone, Copy, Default)]
struct Movement {
    before: Amount,
    after: Amount,
}

impl Movement {
    const fn reversed(self) -> Self {
        Self { before: self.after, after: self.before }
    }

    /// Credits the account with what the amount grows by, or debits it with what it shrinks by.
    fn credit(self, account: &Account, currency: &CurrencyId) -> Result<Option<Posting>, AmountError> {
        Ok(match self.after.cmp(&self.before) {
            std::cmp::Ordering::Greater => Some(Posting::credit(account.clone(), self.after.minus(self.before)?, currency)),
            std::cmp::Ordering::Less => Some(Posting::debit(account.clone(), self.before.minus(self.after)?, currency)),
            std::cmp::Ordering::Equal => None,
        })
    }
}
