//! The overdue invoices that a stake can pay: those of the subscriptions that it secures.

use super::Stake;
use crate::billing::invoice::plan_payments;
use crate::billing::{BillingError, BillingReason, Invoice, InvoiceStatus, Subscription};
use crate::payment::PlannedPayment;
use crate::shared::{Amount, AmountError, InvoiceId};
use crate::storage::UnitOfWork;

/// The overdue invoices that a stake can pay, in its currency.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(in crate::billing) struct OverdueInvoices {
    /// Invoices with their remaining amounts, oldest first. Invoices with a payment in flight are excluded: that payment may still settle,
    /// and must not be collected from the stake as well.
    pub invoices: Vec<PlannedPayment>,
    /// The invoices among them that are fees of the overdraft protection.
    pub fees: Vec<InvoiceId>,
    /// Whether a payment of an unpaid invoice is in flight, so that the overdue invoices may still change.
    pub is_in_flight: bool,
}

impl OverdueInvoices {
    pub fn sum(&self) -> Result<Amount, AmountError> {
        Amount::sum(self.invoices.iter().map(|planned| planned.amount))
    }

    /// The sum of the oldest invoices that an amount pays in full.
    pub fn full_within(&self, amount: Amount) -> Result<Amount, AmountError> {
        let mut sum = Amount::ZERO;
        for planned in &self.invoices {
            match sum.plus(planned.amount)? {
                with_this if with_this > amount => break,
                with_this => sum = with_this,
            }
        }
        Ok(sum)
    }

    /// The invoices that an amount pays, oldest first; the last one possibly in part.
    pub fn paid_by(&self, amount: Amount) -> Vec<PlannedPayment> {
        let mut unspent = amount;
        let mut paid = Vec::new();
        for planned in &self.invoices {
            let part = planned.amount.min(unspent);
            if part.is_zero() {
                break;
            }
            unspent = unspent.minus(part).unwrap_or_default();
            paid.push(PlannedPayment { invoice_id: planned.invoice_id.clone(), amount: part });
        }
        paid
    }
}

/// Reads the overdue invoices of the ended subscriptions that name a stake; running ones are charged by their mandate. The caller has
/// locked the stake.
pub(in crate::billing) async fn overdue_of_stake(unit: &mut dyn UnitOfWork, stake: &Stake) -> Result<OverdueInvoices, BillingError> {
    let mut subscriptions = unit.subscriptions().of_stake(&stake.id).await?;
    subscriptions.retain(|one| one.ended_at.is_some());
    let ids: Vec<_> = subscriptions.into_iter().map(|subscription| subscription.id).collect();
    let unpaid = if ids.is_empty() { Vec::new() } else { unit.invoices().unpaid_of_all(&ids).await? };
    overdue_among(unit, stake, unpaid).await
}

/// As [`overdue_of_stake`], for one subscription, ended or not.
pub(in crate::billing) async fn overdue_of_subscription(
    unit: &mut dyn UnitOfWork,
    stake: &Stake,
    subscription: &Subscription,
) -> Result<OverdueInvoices, BillingError> {
    let unpaid = unit.invoices().unpaid_of(&subscription.id).await?;
    overdue_among(unit, stake, unpaid).await
}

/// Open invoices are charged by their mandate first, except the fee of the overdraft protection, which no mandate pays.
fn is_overdue(stake: &Stake, invoice: &Invoice) -> bool {
    let is_due = invoice.status == InvoiceStatus::Uncollectible
        || (invoice.status == InvoiceStatus::Open && invoice.reason == BillingReason::OverdraftProtection);
    is_due && invoice.currency_id == stake.currency_id && !invoice.remaining().is_zero()
}

async fn overdue_among(unit: &mut dyn UnitOfWork, stake: &Stake, mut invoices: Vec<Invoice>) -> Result<OverdueInvoices, BillingError> {
    invoices.sort_by(|a, b| (a.created_at, &a.id).cmp(&(b.created_at, &b.id)));
    let ids: Vec<_> = invoices.iter().map(|invoice| invoice.id.clone()).collect();
    let in_flight = unit.attempts().in_flight(&ids).await?;
    // A restored store: one of the invoices may be paid at the original. The owner decides about that payment first.
    if !invoices.is_empty() && unit.found_payments().has_open_incoming(stake.mode, &stake.currency_id).await? {
        return Ok(OverdueInvoices { is_in_flight: true, ..OverdueInvoices::default() });
    }
    invoices.retain(|invoice| is_overdue(stake, invoice) && !in_flight.contains(&invoice.id));
    let fees = invoices.iter().filter(|invoice| invoice.reason == BillingReason::OverdraftProtection);
    let fees = fees.map(|invoice| invoice.id.clone()).collect();
    Ok(OverdueInvoices { invoices: plan_payments(&invoices), fees, is_in_flight: !in_flight.is_empty() })
}

/// Whether a payment of an unpaid invoice of the subscription is in flight.
pub(in crate::billing) async fn is_paying(unit: &mut dyn UnitOfWork, subscription: &Subscription) -> Result<bool, BillingError> {
    let unpaid = unit.invoices().unpaid_of(&subscription.id).await?;
    let ids: Vec<_> = unpaid.iter().map(|invoice| invoice.id.clone()).collect();
    Ok(!unit.attempts().in_flight(&ids).await?.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn overdue(amounts: &[u128]) -> OverdueInvoices {
        let planned = |(place, amount): (usize, &u128)| PlannedPayment {
            invoice_id: InvoiceId::parse(&format!("in_{place}")).expect("an id"),
            amount: Amount::new(*amount),
        };
        OverdueInvoices { invoices: amounts.iter().enumerate().map(planned).collect(), ..OverdueInvoices::default() }
    }

    #[test]
    fn a_forfeit_pays_the_oldest_invoices_first_and_the_last_one_in_part() {
        let paid =
            |amount| overdue(&[100, 50, 70]).paid_by(Amount::new(amount)).iter().map(|one| one.amount.base_units()).collect::<Vec<_>>();
        assert_eq!(paid(0), [0; 0]);
        assert_eq!(paid(60), [60]);
        assert_eq!(paid(120), [100, 20]);
        assert_eq!(paid(500), [100, 50, 70]);
    }

    #[test]
    fn only_invoices_that_are_paid_in_full_count_within_an_amount() {
        let full = |amount| overdue(&[100, 50, 70]).full_within(Amount::new(amount)).expect("in range").base_units();
        assert_eq!([0, 99, 100, 149, 150, 500].map(full), [0, 0, 100, 100, 150, 220]);
    }

    proptest! {
        #[test]
        fn a_forfeit_is_spent_fully_and_overpays_no_invoice(amount in 0u128..2_000, owed in prop::collection::vec(1u128..500, 0..8)) {
            let overdue = overdue(&owed);
            let paid = overdue.paid_by(Amount::new(amount));
            let sum = Amount::sum(paid.iter().map(|one| one.amount)).expect("in range");
            prop_assert_eq!(sum, overdue.sum().expect("in range").min(Amount::new(amount)));
            let fits = |(paid, owed): (&PlannedPayment, &PlannedPayment)| paid.invoice_id == owed.invoice_id && paid.amount <= owed.amount;
            prop_assert!(paid.iter().zip(&overdue.invoices).all(fits));
        }
    }
}
