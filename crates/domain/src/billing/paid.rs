//! What was paid for the time that a subscription lives in, and not given back.

use super::{BillingError, Invoice, InvoiceItem, ManageError, Subscription};
use crate::payment::{Refund, RefundStatus, RefundType};
use crate::shared::{Amount, Timestamp};
use crate::storage::UnitOfWork;

/// The lines of an invoice, less what was given back of what it was paid.
///
/// # Errors
/// [`ManageError::PaidOtherwise`] when it is for the time around `at`, and the subscription is charged in another currency since.
pub(super) async fn kept_lines(
    unit: &mut dyn UnitOfWork,
    subscription: &Subscription,
    invoice: &Invoice,
    at: Timestamp,
) -> Result<Vec<InvoiceItem>, ManageError> {
    let lines = unit.invoices().items(&invoice.id).await?;
    // Lines of a change of plan begin with the second of the change, their invoice a moment later.
    let is_for_now = invoice.period.into_iter().chain(lines.iter().filter_map(|line| line.period)).any(|span| span.contains(at));
    if invoice.currency_id != subscription.currency_id && is_for_now {
        return Err(ManageError::PaidOtherwise);
    }
    let back = back_of(unit, invoice).await?;
    Ok(less(lines, back))
}

/// What was given back of what an invoice was paid, as [`given_back`] or as credit.
pub(super) async fn back_of(unit: &mut dyn UnitOfWork, invoice: &Invoice) -> Result<Amount, BillingError> {
    let by_credit = unit.refunds().credited(&invoice.id).await?;
    Ok(given_back(unit, invoice).await?.plus(by_credit)?)
}

/// What was given back of what an invoice was paid at a network, or is on its way back. Where several were paid together and a refund
/// names none of them, each is reckoned as if it was that one.
pub(super) async fn given_back(unit: &mut dyn UnitOfWork, invoice: &Invoice) -> Result<Amount, BillingError> {
    let Some(intent) = &invoice.intent_id else { return Ok(Amount::ZERO) };
    let refunds = unit.refunds().of_intent(intent).await?;
    let counts = |refund: &&Refund| refund.kind == RefundType::Refund && refund.status != RefundStatus::Failed;
    let of_it = |refund: &&Refund| counts(refund) && refund.invoice_id.as_ref().is_none_or(|id| *id == invoice.id);
    Ok(Amount::sum(refunds.iter().filter(of_it).map(|refund| refund.amount))?)
}

/// Takes an amount off what lines charge, from the first one on.
pub(super) fn less(mut lines: Vec<InvoiceItem>, mut given_back: Amount) -> Vec<InvoiceItem> {
    for line in lines.iter_mut().filter(|line| !line.calculation.is_credit()) {
        let part = line.amount.min(given_back);
        line.amount = line.amount.minus(part).unwrap_or_default();
        given_back = given_back.minus(part).unwrap_or_default();
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::billing::{Calculation, Prorated};
    use crate::shared::{InvoiceId, InvoiceItemId};

    fn line(amount: u128, calculation: Calculation) -> InvoiceItem {
        InvoiceItem {
            id: InvoiceItemId::parse("ii_1").expect("an id"),
            invoice_id: InvoiceId::parse("in_1").expect("an id"),
            price_id: None,
            description: String::new(),
            quantity: 1,
            unit_amount: Amount::new(amount),
            amount: Amount::new(amount),
            period: None,
            calculation,
        }
    }

    #[test]
    fn what_was_given_back_is_no_longer_paid_and_credits_stay_as_they_are() {
        let charge = |amount| line(amount, Calculation::Flat { amount: Amount::new(amount) });
        let (what, whole) = (Prorated::Credit, Amount::new(20));
        let credit = Calculation::Prorated { what, whole, seconds: 1, of_seconds: 1, quantity: 1, rounded_up: false };
        let lines = || vec![line(20, credit.clone()), charge(100), charge(200)];
        let left = |given_back| less(lines(), Amount::new(given_back)).iter().map(|line| line.amount.base_units()).collect::<Vec<_>>();
        assert_eq!(left(0), [20, 100, 200]);
        assert_eq!(left(30), [20, 70, 200]);
        assert_eq!(left(280), [20, 0, 20]);
        assert_eq!(left(999), [20, 0, 0]);
    }
}
