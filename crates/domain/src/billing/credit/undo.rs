//! Distributes what a network takes back from a payment over its invoice payments, and lowers what their invoices count as paid.

use crate::billing::{ChangedInvoice, ChangedPayment, Invoice, InvoicePayment, PostingError};
use crate::shared::{Amount, AmountError, InvoiceId, PaymentIntentId, StorageError, SubscriptionId, Timestamp};
use crate::storage::UnitOfWork;
use std::collections::BTreeSet;

/// The invoices that a network payment has paid, locked after their subscriptions, and its invoice payments.
#[derive(Debug, Clone, Default)]
pub(in crate::billing) struct PaidByIntent {
    pub invoices: Vec<Invoice>,
    /// Oldest first.
    pub payments: Vec<InvoicePayment>,
}

/// Locks the subscriptions of the invoices that a network payment has paid, then the invoices, and reads its invoice payments.
pub(in crate::billing) async fn lock_paid_by(unit: &mut dyn UnitOfWork, intent: &PaymentIntentId) -> Result<PaidByIntent, StorageError> {
    let payments = unit.invoice_payments().of_intent(intent).await?;
    let ids: BTreeSet<_> = payments.into_iter().map(|payment| payment.invoice_id).collect();
    let ids: Vec<_> = ids.into_iter().collect();
    if ids.is_empty() {
        return Ok(PaidByIntent::default());
    }
    let found = unit.invoices().find_all(&ids).await?;
    let subscriptions: BTreeSet<_> = found.into_iter().filter_map(|invoice| invoice.subscription_id).collect();
    unit.subscriptions().lock_all(&subscriptions.into_iter().collect::<Vec<_>>()).await?;
    let invoices = unit.invoices().lock_all(&ids).await?;
    let payments = unit.invoice_payments().of_intent(intent).await?;
    Ok(PaidByIntent { invoices, payments })
}

/// The distinct subscriptions of these invoices.
pub(super) fn subscriptions_of<'a>(invoices: impl IntoIterator<Item = &'a Invoice>) -> Vec<SubscriptionId> {
    let subscriptions: BTreeSet<_> = invoices.into_iter().filter_map(|invoice| invoice.subscription_id.clone()).collect();
    subscriptions.into_iter().collect()
}

/// An amount distributed over invoice payments.
#[derive(Debug, PartialEq, Eq)]
pub(in crate::billing) struct Taken {
    /// One part per payment, in the order of the input.
    pub parts: Vec<Amount>,
    /// The part of the amount that exceeds all payments.
    pub rest: Amount,
}

/// Takes an amount from payments, newest first, at most `limit` from each.
pub(in crate::billing) fn take_newest_first(
    amount: Amount,
    payments: &[InvoicePayment],
    limit: impl Fn(&InvoicePayment) -> Amount,
) -> Result<Taken, AmountError> {
    let mut order: Vec<usize> = (0..payments.len()).collect();
    order.sort_by(|a, b| (payments[*b].created_at, &payments[*b].id).cmp(&(payments[*a].created_at, &payments[*a].id)));
    let mut taken = Taken { parts: vec![Amount::ZERO; payments.len()], rest: amount };
    for place in order {
        let part = taken.rest.min(limit(&payments[place]));
        taken.parts[place] = part;
        taken.rest = taken.rest.minus(part)?;
    }
    Ok(taken)
}

impl PaidByIntent {
    /// Applies `change` to each payment with its part.
    ///
    /// # Errors
    /// [`PostingError::Contended`] when a payment changed after it was read.
    pub(in crate::billing) async fn change(
        &mut self,
        unit: &mut dyn UnitOfWork,
        parts: &[Amount],
        change: impl Fn(&InvoicePayment, Amount) -> Result<InvoicePayment, AmountError>,
    ) -> Result<(), PostingError> {
        let mut changes = Vec::with_capacity(self.payments.len());
        for (payment, part) in self.payments.iter_mut().zip(parts).filter(|(_, part)| !part.is_zero()) {
            let after = change(payment, *part)?;
            changes.push(ChangedPayment { before: std::mem::replace(payment, after.clone()), after });
        }
        if unit.invoice_payments().update_all(&changes).await? { Ok(()) } else { Err(PostingError::Contended) }
    }

    /// Lowers the paid amounts of invoices by the parts of their payments. Their due grows, and nothing is retried automatically.
    ///
    /// # Errors
    /// [`PostingError::Contended`] when an invoice changed after it was read.
    pub(in crate::billing) async fn lower_paid(
        &mut self,
        unit: &mut dyn UnitOfWork,
        parts: &[Amount],
        at: Timestamp,
    ) -> Result<(), PostingError> {
        let mut changes = Vec::with_capacity(self.invoices.len());
        for invoice in &mut self.invoices {
            let of_invoice = self.payments.iter().zip(parts).filter(|(payment, _)| payment.invoice_id == invoice.id);
            let reversed = Amount::sum(of_invoice.map(|(_, part)| *part))?;
            if reversed.is_zero() {
                continue;
            }
            let after = invoice.with_amounts(invoice.amount_paid.minus(reversed)?, invoice.amount_credited, at)?;
            changes.push(ChangedInvoice { before: invoice.clone(), after: after.clone() });
            *invoice = after;
        }
        if changes.is_empty() || unit.invoices().update_all(&changes).await? { Ok(()) } else { Err(PostingError::Contended) }
    }

    /// The invoices whose payments have a nonzero part.
    pub(in crate::billing) fn touched(&self, parts: &[Amount]) -> Vec<InvoiceId> {
        let touched = self.payments.iter().zip(parts).filter(|(_, part)| !part.is_zero());
        let ids: BTreeSet<_> = touched.map(|(payment, _)| payment.invoice_id.clone()).collect();
        ids.into_iter().collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::billing::PaymentSource;
    use crate::shared::{BalanceTransactionId, InvoicePaymentId};
    use proptest::prelude::*;

    fn payments(amounts: &[u128]) -> Vec<InvoicePayment> {
        let payment = |(place, amount): (usize, &u128)| {
            let at = Timestamp::from_seconds(i64::try_from(place).unwrap_or_default());
            InvoicePayment::new(
                InvoicePaymentId::parse(&format!("inpay_{place}")).expect("an id"),
                InvoiceId::parse(&format!("in_{place}")).expect("an id"),
                PaymentSource::Balance(BalanceTransactionId::parse("cbtxn_1").expect("an id")),
                Amount::new(*amount),
                at,
            )
        };
        amounts.iter().enumerate().map(payment).collect()
    }

    /// [`Taken`] in base units.
    #[derive(Debug, PartialEq)]
    struct Units {
        parts: Vec<u128>,
        rest: u128,
    }

    fn taken(amount: u128, amounts: &[u128]) -> Units {
        let Taken { parts, rest } = take_newest_first(Amount::new(amount), &payments(amounts), InvoicePayment::room).expect("fits");
        Units { parts: parts.into_iter().map(Amount::base_units).collect(), rest: rest.base_units() }
    }

    #[test]
    fn the_newest_payment_is_taken_first_and_the_excess_is_the_rest() {
        assert_eq!(taken(150, &[100, 100]), Units { parts: vec![50, 100], rest: 0 });
        assert_eq!(taken(60, &[100, 100]), Units { parts: vec![0, 60], rest: 0 });
        assert_eq!(taken(250, &[100, 100]), Units { parts: vec![100, 100], rest: 50 });
        assert_eq!(taken(10, &[]), Units { parts: vec![], rest: 10 });
    }

    proptest! {
        #[test]
        fn parts_and_rest_add_up_and_no_part_exceeds_its_payment(amount in 0u128..1_000, amounts in prop::collection::vec(0u128..300, 0..6)) {
            let Units { parts, rest } = taken(amount, &amounts);
            prop_assert_eq!(parts.iter().sum::<u128>() + rest, amount);
            for (part, most) in parts.iter().zip(&amounts) {
                prop_assert!(part <= most);
            }
            prop_assert!(rest == 0 || parts == amounts);
        }
    }
}
