//! Usage that cost less than earlier invoices of its period asked for: credit notes over those lines, newest first.

use super::credit::{CreditNoteReason, Destination, ItemOrder, NoteOrder, issue_note};
use super::{BillingError, Invoice, InvoiceItem, Subscription};
use crate::context::Context;
use crate::shared::{Amount, AmountError, InvoiceId, SubscriptionItemId, Timestamp};
use crate::storage::UnitOfWork;

/// How much earlier invoices of a period asked too much for one item's usage.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Overbilled {
    pub item: SubscriptionItemId,
    pub amount: Amount,
}

/// What lines of one invoice are to give.
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

    /// What becomes balance: the unpaid part of the invoice is reduced first.
    fn to_balance(&self) -> Result<Amount, AmountError> {
        self.total()?.minus(self.total()?.min(self.invoice.remaining()))
    }
}

/// The corrections of one subscription. What its lines cannot give is given by nobody.
#[derive(Debug, Clone, Default)]
pub(super) struct UsageCorrections {
    pub notes: Vec<UsageCorrection>,
}

impl UsageCorrections {
    /// Reads which lines give what. Nothing is read where nothing was overbilled. Lines in another currency give nothing.
    pub async fn plan(unit: &mut dyn UnitOfWork, subscription: &Subscription, overbilled: &[Overbilled]) -> Result<Self, BillingError> {
        let mut corrections = Self::default();
        for Overbilled { item, amount } in overbilled {
            let Some(own) = subscription.items.iter().find(|one| one.id == *item) else { continue };
            let since = own.counts_from(&subscription.period);
            let mut left = *amount;
            let lines = unit.invoices().items_billing(item, since).await?;
            for line in lines {
                let part = left.min(line.creditable());
                if part.is_zero() {
                    continue;
                }
                let Some(invoice) = corrections.invoice(unit, &line.invoice_id).await? else { continue };
                if invoice.currency_id != subscription.currency_id {
                    continue;
                }
                left = left.minus(part)?;
                corrections.add(invoice, CorrectedLine { line, amount: part });
            }
        }
        corrections.notes.sort_by(|a, b| a.invoice.id.cmp(&b.invoice.id));
        Ok(corrections)
    }

    async fn invoice(&self, unit: &mut dyn UnitOfWork, id: &InvoiceId) -> Result<Option<Invoice>, BillingError> {
        match self.notes.iter().find(|note| note.invoice.id == *id) {
            Some(note) => Ok(Some(note.invoice.clone())),
            None => Ok(unit.invoices().find(id).await?),
        }
    }

    fn add(&mut self, invoice: Invoice, line: CorrectedLine) {
        match self.notes.iter_mut().find(|note| note.invoice.id == invoice.id) {
            Some(note) => note.lines.push(line),
            None => self.notes.push(UsageCorrection { invoice, lines: vec![line] }),
        }
    }

    /// What becomes balance.
    pub fn to_balance(&self) -> Result<Amount, AmountError> {
        self.notes.iter().try_fold(Amount::ZERO, |sum, note| sum.plus(note.to_balance()?))
    }

    /// What is given of an item's lines.
    pub fn given_of(&self, item: &SubscriptionItemId) -> Result<Amount, AmountError> {
        let lines = self.notes.iter().flat_map(|note| &note.lines);
        Amount::sum(lines.filter(|line| line.line.subscription_item_id.as_ref() == Some(item)).map(|line| line.amount))
    }

    /// Issues the credit notes. The invoices are locked in the order of their ids.
    ///
    /// # Errors
    /// [`BillingError::Contended`] when a line or an invoice changed since it was read.
    pub async fn issue(&self, ctx: &Context, unit: &mut dyn UnitOfWork, now: Timestamp) -> Result<(), BillingError> {
        for correction in &self.notes {
            let invoice = unit.invoices().lock(&correction.invoice.id).await?.ok_or(BillingError::Orphan)?;
            let items = correction.lines.iter().map(|one| ItemOrder::new(one.line.clone(), one.amount)).collect();
            let order = NoteOrder::new(CreditNoteReason::UsageCorrection, items, Destination::Balance);
            issue_note(ctx, unit, &invoice, &order, now).await?;
        }
        Ok(())
    }
}
