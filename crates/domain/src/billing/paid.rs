//! What was paid for the time that a subscription lives in, and not given back.

use super::credit::{applied, beside_credit};
use super::proration::share;
use super::{BillingError, BillingReason, Calculation, Invoice, InvoiceItem, InvoiceStatus, ManageError, PaidLine, Prorated, Subscription};
use crate::payment::{Refund, RefundStatus, RefundType};
use crate::shared::{Amount, PriceId, Timestamp};
use crate::storage::UnitOfWork;
use std::collections::BTreeMap;

/// How many invoices are looked through for what was paid for the current period. What is on none of them counts as unpaid.
const LOOK_BACK: u32 = 100;

/// An invoice, and its lines less what was given back of what they were paid.
pub(super) type Kept = (Invoice, Vec<InvoiceItem>);

/// The bills that ask ahead for a subscription's current period, newest first, back to the one that began it. What a change of plan has
/// carried over into its bill is worth what is kept of the bills that it was taken from: refunds of those count here as well, whenever
/// they were made.
pub(super) async fn kept_bills(unit: &mut dyn UnitOfWork, subscription: &Subscription) -> Result<Vec<Kept>, ManageError> {
    let reaches = |bill: &Invoice| bill.period.is_some_and(|span| span.contains(subscription.period.start));
    let mut bills: Vec<Invoice> = Vec::new();
    for invoice in unit.invoices().issued_since(&subscription.id, Timestamp::from_micros(0), LOOK_BACK).await? {
        // The rest of an older bill, of which a stake has paid a part, has a number of its own.
        let is_older = begins_period(&invoice) && !reaches(&invoice) && !bills.iter().any(reaches);
        if !bills_ahead(&invoice) || is_older {
            continue;
        }
        let is_first = begins_period(&invoice);
        bills.push(invoice);
        if is_first {
            break;
        }
    }
    let mut kept: Vec<Kept> = Vec::new();
    for invoice in bills.into_iter().rev() {
        let lines = unit.invoices().items(&invoice.id).await?;
        let lost = lost(&invoice, &lines, &kept);
        if !lost.is_zero() {
            check_settled(unit, &invoice).await?;
        }
        let back = back_of(unit, &invoice).await?;
        let is_exchanged = |line: &InvoiceItem| matches!(line.calculation, Calculation::Prorated { what: Prorated::Charge, .. });
        kept.insert(0, (invoice, less_where(less(lines, back), lost, is_exchanged)));
    }
    Ok(kept)
}

/// What went back is reckoned once it has: its network may refuse it still.
async fn check_settled(unit: &mut dyn UnitOfWork, invoice: &Invoice) -> Result<(), ManageError> {
    match unit.refunds().is_pending_of(&invoice.customer_id, &invoice.currency_id).await? {
        true => Err(ManageError::PaymentInFlight),
        false => Ok(()),
    }
}

/// What credit paid of these lines of an invoice is paid as long as what that came of has not gone back.
pub(super) async fn bound_credit(unit: &mut dyn UnitOfWork, (invoice, lines): &Kept, paid: &mut [PaidLine]) -> Result<(), ManageError> {
    let by_credit = applied(lines)?.minus(unit.refunds().credited(&invoice.id).await?).unwrap_or_default();
    if by_credit.is_zero() {
        return Ok(());
    }
    let of_these = Amount::sum(paid.iter().map(|line| line.paid))?.min(by_credit);
    let covered = beside_credit(unit, &invoice.customer_id, &invoice.currency_id).await?;
    let mut over = of_these.minus(covered).unwrap_or_default();
    if !over.is_zero() {
        check_settled(unit, invoice).await?;
    }
    for line in paid {
        let part = line.paid.min(over);
        (line.paid, over) = (line.paid.minus(part)?, over.minus(part)?);
    }
    Ok(())
}

/// Whether a bill stands at the beginning of a period, and nothing of one before is carried over into it.
pub(super) const fn begins_period(invoice: &Invoice) -> bool {
    matches!(invoice.reason, BillingReason::SubscriptionCreate | BillingReason::SubscriptionCycle)
}

pub(super) fn bills_ahead(invoice: &Invoice) -> bool {
    // One that is void by now stands for its time all the same: what it gave back is not given back again.
    matches!(
        invoice.reason,
        BillingReason::SubscriptionCreate
            | BillingReason::SubscriptionCycle
            | BillingReason::SubscriptionUpdate
            | BillingReason::SubscriptionThreshold
    )
}

/// How much less a bill has carried over than it tells, since bills before it went back.
fn lost(invoice: &Invoice, lines: &[InvoiceItem], before: &[Kept]) -> Amount {
    let mut told: BTreeMap<PriceId, (Amount, Timestamp, u64, u64)> = BTreeMap::new();
    for line in lines {
        let Calculation::Prorated { what: Prorated::Credit, whole, seconds, of_seconds, .. } = &line.calculation else { continue };
        let (Some(price), Some(span)) = (line.price_id.clone(), line.period) else { continue };
        let sum = told.entry(price).or_insert((Amount::ZERO, span.start, *seconds, *of_seconds));
        sum.0 = sum.0.plus(*whole).unwrap_or(sum.0);
    }
    let of_price = |(price, (whole, at, seconds, of_seconds)): (PriceId, (Amount, Timestamp, u64, u64))| {
        let prices = [price];
        let paid = before.iter().filter(|(earlier, _)| earlier.currency_id == invoice.currency_id);
        let mut paid =
            paid.map(|(earlier, lines)| lines.iter().filter_map(|line| paid_line(&prices, earlier, line, at)).collect::<Vec<_>>());
        let paid = paid.find(|paid| !paid.is_empty())?;
        let now = Amount::sum(paid.iter().map(|line| line.paid)).ok()?.min(whole);
        share(whole, seconds, of_seconds).minus(share(now, seconds, of_seconds)).ok()
    };
    Amount::sum(told.into_iter().filter_map(of_price)).unwrap_or_default()
}

/// What a line was paid for the time around `at`, where it is of one of these prices.
pub(super) fn paid_line(wanted: &[PriceId], invoice: &Invoice, line: &InvoiceItem, at: Timestamp) -> Option<PaidLine> {
    let paid_for = line.period.or(invoice.period).filter(|period| period.contains(at))?;
    let price_id = line.price_id.clone().filter(|price| wanted.contains(price))?;
    let paid = if invoice.status == InvoiceStatus::Paid { line.amount } else { Amount::ZERO };
    (!line.calculation.is_credit()).then_some(PaidLine { price_id, quantity: line.quantity, paid, paid_for })
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
pub(super) fn less(lines: Vec<InvoiceItem>, given_back: Amount) -> Vec<InvoiceItem> {
    less_where(lines, given_back, |line| !line.calculation.is_credit())
}

fn less_where(mut lines: Vec<InvoiceItem>, mut given_back: Amount, of: impl Fn(&InvoiceItem) -> bool) -> Vec<InvoiceItem> {
    for line in lines.iter_mut().filter(|line| of(line)) {
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
