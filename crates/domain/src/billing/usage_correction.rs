//! Corrects overbilled usage by credit notes over the lines of earlier invoices of the period, newest first.

use super::credit::{CreditNoteReason, Destination, ItemOrder, NewNote, NoteOrder, issue_notes};
use super::invoice::lock_by_id;
use super::{BillingError, Invoice, InvoiceItem, Subscription, SubscriptionItem};
use crate::context::Context;
use crate::shared::{Amount, AmountError, SubscriptionItemId, Timestamp};
use crate::storage::UnitOfWork;
use std::collections::BTreeMap;

/// The amount by which earlier invoices of a period overbilled one item's usage.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Overbilled {
    pub item: SubscriptionItemId,
    pub amount: Amount,
}

/// The lines of one invoice that are credited.
#[derive(Debug, Clone)]
pub(super) struct UsageCorrection {
    pub invoice: Invoice,
    pub lines: Vec<CorrectedLine>,
}

#[derive(Debug, Clone)]
pub(super) struct CorrectedLine {
    pub line: InvoiceItem,
    pub amount: Amount,
}

impl UsageCorrection {
    fn total(&self) -> Result<Amount, AmountError> {
        Amount::sum(self.lines.iter().map(|line| line.amount))
    }

    /// The part that goes to the balance, after the unpaid part of the invoice was reduced.
    fn to_balance(&self) -> Result<Amount, AmountError> {
        self.total()?.minus(self.total()?.min(self.invoice.remaining()))
    }
}

/// The corrections of one subscription. An excess that its lines cannot cover is not credited.
#[derive(Debug, Clone, Default)]
pub(super) struct UsageCorrections {
    pub notes: Vec<UsageCorrection>,
}

impl UsageCorrections {
    /// Plans which lines are credited. Reads nothing if nothing was overbilled. Lines in another currency are not credited.
    pub async fn plan(unit: &mut dyn UnitOfWork, subscription: &Subscription, overbilled: &[Overbilled]) -> Result<Self, BillingError> {
        let mut corrections = Self::default();
        let items: Vec<_> = overbilled.iter().map(|one| one.item.clone()).collect();
        let counted = |item: &SubscriptionItem| items.contains(&item.id).then(|| item.counts_from(&subscription.period));
        let Some(earliest) = subscription.items.iter().filter_map(counted).min() else { return Ok(corrections) };
        let lines = unit.invoices().items_billing(&items, earliest).await?;
        let mut ids: Vec<_> = lines.iter().map(|line| line.invoice_id.clone()).collect();
        ids.sort();
        ids.dedup();
        let invoices: BTreeMap<_, _> = unit.invoices().find_all(&ids).await?.into_iter().map(|one| (one.id.clone(), one)).collect();
        for Overbilled { item, amount } in overbilled {
            let Some(subscription_item) = subscription.items.iter().find(|one| one.id == *item) else { continue };
            let since = subscription_item.counts_from(&subscription.period);
            let mut unallocated = *amount;
            let bills_item = |line: &&InvoiceItem| {
                line.subscription_item_id.as_ref() == Some(item) && line.period.is_some_and(|period| period.start >= since)
            };
            for line in lines.iter().filter(bills_item) {
                let part = unallocated.min(line.creditable());
                let invoice = invoices.get(&line.invoice_id).filter(|invoice| invoice.currency_id == subscription.currency_id);
                let Some(invoice) = invoice.filter(|_| !part.is_zero()) else { continue };
                unallocated = unallocated.minus(part)?;
                corrections.add(invoice, CorrectedLine { line: line.clone(), amount: part });
            }
        }
        corrections.notes.sort_by(|a, b| a.invoice.id.cmp(&b.invoice.id));
        Ok(corrections)
    }

    fn add(&mut self, invoice: &Invoice, line: CorrectedLine) {
        match self.notes.iter_mut().find(|note| note.invoice.id == invoice.id) {
            Some(note) => note.lines.push(line),
            None => self.notes.push(UsageCorrection { invoice: invoice.clone(), lines: vec![line] }),
        }
    }

    /// The sum that goes to the balance.
    pub fn to_balance(&self) -> Result<Amount, AmountError> {
        self.notes.iter().try_fold(Amount::ZERO, |sum, note| sum.plus(note.to_balance()?))
    }

    /// The sum credited over an item's lines.
    pub fn credited_of(&self, item: &SubscriptionItemId) -> Result<Amount, AmountError> {
        let lines = self.notes.iter().flat_map(|note| &note.lines);
        Amount::sum(lines.filter(|line| line.line.subscription_item_id.as_ref() == Some(item)).map(|line| line.amount))
    }

    /// Issues the credit notes. Locks the invoices in id order.
    ///
    /// # Errors
    /// [`BillingError::Contended`] when a line or an invoice changed after it was read.
    pub async fn issue(&self, ctx: &Context, unit: &mut dyn UnitOfWork, now: Timestamp) -> Result<(), BillingError> {
        let ids: Vec<_> = self.notes.iter().map(|note| note.invoice.id.clone()).collect();
        let mut locked = lock_by_id(unit, &ids).await?;
        let mut notes = Vec::with_capacity(ids.len());
        for correction in &self.notes {
            let invoice = locked.remove(&correction.invoice.id).ok_or(BillingError::Orphan)?;
            let items = correction.lines.iter().map(|one| ItemOrder::new(one.line.clone(), one.amount)).collect();
            let order = NoteOrder::new(CreditNoteReason::UsageCorrection, items, Destination::Balance);
            notes.push(NewNote { invoice, order, at: now });
        }
        issue_notes(ctx, unit, notes).await?;
        Ok(())
    }
}
