//! Credits unused time: when the plan changes, when a billing threshold begins a new period, and when a subscription ends early.

use super::billing_batch::BillingBatch;
use super::credit::{CreditNoteReason, Destination, ItemOrder, NewNote, NoteOrder, RefundAttempt, issue_notes};
use super::invoice::lock_by_id;
use super::period_lines::usage_of;
use super::subscription_error::convert_subscription_errors;
use super::{BillingError, CoveringLine, Invoice, InvoiceItem, PricingFormula, ProrationLine, Subscription, SubscriptionError, credits};
use crate::context::Context;
use crate::pricing::Usage;
use crate::shared::{Amount, AmountError, InvoiceId, SubscriptionItemId, Timestamp};
use crate::storage::UnitOfWork;
use std::collections::BTreeMap;

/// An invoice line and the credit for its unused time.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UnusedTime {
    pub line: InvoiceItem,
    pub credit: ProrationLine,
}

/// The unused time of one invoice's lines.
#[derive(Debug, Clone)]
struct CreditedInvoice {
    invoice: Invoice,
    lines: Vec<UnusedTime>,
}

impl CreditedInvoice {
    fn total(&self) -> Result<Amount, AmountError> {
        Amount::sum(self.lines.iter().map(|line| line.credit.amount))
    }
}

/// Why the unused time of lines cannot be credited.
#[derive(Debug, thiserror::Error)]
pub enum UnusedTimeError {
    /// An earlier change with a later effective time has credited a part of it.
    #[error("It was changed in the meantime. Please try again.")]
    CreditedAlready,
    #[error(transparent)]
    Subscription(#[from] SubscriptionError),
}

convert_subscription_errors!(UnusedTimeError::Subscription);

impl From<UnusedTimeError> for SubscriptionError {
    fn from(error: UnusedTimeError) -> Self {
        match error {
            UnusedTimeError::CreditedAlready => Self::Contended,
            UnusedTimeError::Subscription(error) => error,
        }
    }
}

/// The unused time of a subscription's lines from `at` on, by invoice.
#[derive(Debug, Clone)]
pub(super) struct UnusedTimes {
    at: Timestamp,
    invoices: Vec<CreditedInvoice>,
}

impl UnusedTimes {
    #[must_use]
    pub const fn none(at: Timestamp) -> Self {
        Self { at, invoices: Vec::new() }
    }

    /// Reads the licensed lines that cover `at`: those of one item, or all.
    ///
    /// # Errors
    /// [`SubscriptionError::PaymentInFlight`] while one of their invoices has a payment in flight; [`UnusedTimeError::CreditedAlready`] when a part of
    /// their unused time was credited already.
    pub async fn read(
        unit: &mut dyn UnitOfWork,
        subscription: &Subscription,
        batch: &BillingBatch,
        item: Option<&SubscriptionItemId>,
        at: Timestamp,
    ) -> Result<Self, UnusedTimeError> {
        let is_licensed = |line: &InvoiceItem| {
            let item = subscription.items.iter().find(|item| Some(&item.id) == line.subscription_item_id.as_ref());
            let price = item.and_then(|item| batch.prices.get(&item.price_id));
            price.and_then(usage_of) == Some(Usage::Licensed)
        };
        let mut covering = unit.invoices().items_covering(&subscription.id, at).await?;
        covering.retain(|line| item.is_none_or(|item| line.subscription_item_id.as_ref() == Some(item)) && is_licensed(line));
        let is_partly_credited = |line: &InvoiceItem| line.covers_until != line.period.map(|period| period.end);
        if covering.iter().any(is_partly_credited) {
            // An earlier change with a later effective time has already credited a part of this time.
            return Err(UnusedTimeError::CreditedAlready);
        }
        let shares = credits(&covering.iter().filter_map(covering_line).collect::<Vec<_>>(), at)?;
        let mut by_invoice: BTreeMap<InvoiceId, Vec<UnusedTime>> = BTreeMap::new();
        for (line, credit) in covering.into_iter().zip(shares).filter(|(_, credit)| !credit.amount.is_zero()) {
            by_invoice.entry(line.invoice_id.clone()).or_default().push(UnusedTime { line, credit });
        }
        let ids: Vec<_> = by_invoice.keys().cloned().collect();
        if !ids.is_empty() && !unit.attempts().in_flight(&ids).await?.is_empty() {
            return Err(SubscriptionError::PaymentInFlight.into());
        }
        let found = if ids.is_empty() { Vec::new() } else { unit.invoices().find_all(&ids).await? };
        let mut invoices: Vec<_> = found
            .into_iter()
            .filter_map(|invoice| by_invoice.remove(&invoice.id).map(|lines| CreditedInvoice { invoice, lines }))
            .collect();
        invoices.sort_by(|a, b| a.invoice.id.cmp(&b.invoice.id));
        Ok(Self { at, invoices })
    }

    /// All lines with a credit.
    pub fn lines(&self) -> impl Iterator<Item = &UnusedTime> {
        self.invoices.iter().flat_map(|one| &one.lines)
    }

    /// The credited sum in the subscription's currency.
    pub fn credit(&self, subscription: &Subscription) -> Result<Amount, AmountError> {
        self.in_currency(subscription).try_fold(Amount::ZERO, |sum, one| sum.plus(one.total()?))
    }

    /// The part of that sum that goes to the balance, after the unpaid part of each invoice was reduced.
    pub fn to_balance(&self, subscription: &Subscription) -> Result<Amount, AmountError> {
        self.in_currency(subscription).try_fold(Amount::ZERO, |sum, one| {
            let total = one.total()?;
            sum.plus(total.minus(total.min(one.invoice.remaining()))?)
        })
    }

    fn in_currency<'a>(&'a self, subscription: &'a Subscription) -> impl Iterator<Item = &'a CreditedInvoice> {
        self.invoices.iter().filter(|one| one.invoice.currency_id == subscription.currency_id)
    }

    /// The credited invoices, in id order.
    pub fn invoice_ids(&self) -> impl Iterator<Item = &InvoiceId> {
        self.invoices.iter().map(|one| &one.invoice.id)
    }

    /// Locks the invoices in id order, and checks again what [`Self::read`] saw without locks.
    ///
    /// # Errors
    /// [`SubscriptionError::PaymentInFlight`] when a payment of one of them was written meanwhile; [`SubscriptionError::Contended`] when one
    /// was paid or credited meanwhile.
    pub async fn lock(&self, unit: &mut dyn UnitOfWork) -> Result<(), SubscriptionError> {
        let ids: Vec<_> = self.invoice_ids().cloned().collect();
        if ids.is_empty() {
            return Ok(());
        }
        let locked = unit.invoices().lock_all(&ids).await?;
        if !unit.attempts().in_flight(&ids).await?.is_empty() {
            return Err(SubscriptionError::PaymentInFlight);
        }
        let is_unchanged =
            |one: &CreditedInvoice| locked.iter().any(|now| now.id == one.invoice.id && now.remaining() == one.invoice.remaining());
        if self.invoices.iter().all(is_unchanged) { Ok(()) } else { Err(SubscriptionError::Contended) }
    }

    /// Issues the credit notes. Money in the subscription's currency goes to `destination`; money in another currency returns to its
    /// payment. Returns the attempts that send refunds.
    ///
    /// # Errors
    /// [`BillingError::Contended`] when a line or an invoice changed after it was read.
    pub async fn issue(
        &self,
        ctx: &Context,
        unit: &mut dyn UnitOfWork,
        subscription: &Subscription,
        reason: CreditNoteReason,
        destination: &Destination,
        now: Timestamp,
    ) -> Result<Vec<RefundAttempt>, BillingError> {
        let ids: Vec<_> = self.invoice_ids().cloned().collect();
        let mut locked = lock_by_id(unit, &ids).await?;
        let mut notes = Vec::with_capacity(ids.len());
        for CreditedInvoice { invoice, lines } in &self.invoices {
            let locked = locked.remove(&invoice.id).ok_or(BillingError::Orphan)?;
            let is_same_currency = invoice.currency_id == subscription.currency_id;
            let destination = if is_same_currency { destination.clone() } else { Destination::Payments };
            let items = lines.iter().map(|one| self.item_order(one)).collect();
            notes.push(NewNote { invoice: locked, order: NoteOrder::new(reason, items, destination), at: now });
        }
        Ok(issue_notes(ctx, unit, notes).await?.into_iter().flat_map(|issued| issued.attempts).collect())
    }

    fn item_order(&self, one: &UnusedTime) -> ItemOrder {
        let pricing_formula = PricingFormula::from(&one.credit);
        // The formula does not apply to a credit that was capped by its line.
        let pricing_formula = Some(pricing_formula).filter(|formula| formula.amount() == Ok(one.credit.amount));
        ItemOrder { covers_until: Some(self.at), pricing_formula, ..ItemOrder::new(one.line.clone(), one.credit.amount) }
    }
}

fn covering_line(line: &InvoiceItem) -> Option<CoveringLine> {
    Some(CoveringLine {
        price_id: line.price_id.clone()?,
        quantity: line.quantity,
        total: line.amount,
        creditable: line.creditable(),
        period: line.period?,
    })
}
