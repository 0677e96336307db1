//! Pure rules for where the money of a credit note goes, and how an amount without items is spread over the invoice's lines.

use super::NoteError;
use crate::billing::{InvoicePayment, PaymentSource};
use crate::shared::{Amount, AmountError, InvoicePaymentId, PaymentIntentId};

/// Where a credit note's money goes after it has reduced the unpaid part of its invoice.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Destination {
    Balance,
    /// Back to the invoice's payments: network payments, newest first, then stakes, then the balance.
    Payments,
    /// As [`Destination::Payments`], but the unpaid part is skipped.
    PaidPart,
    /// Back to one network payment. The unpaid part is skipped.
    Payment(PaymentIntentId),
    /// The provider has already refunded this payment. The unpaid part is skipped.
    Sent(PaymentIntentId),
    /// Credits no more than the unpaid part, so that no money moves.
    UnpaidPart,
}

/// An invoice payment, and how much of it can be returned to its source.
#[derive(Debug, Clone)]
pub(super) struct Returnable {
    pub payment: InvoicePayment,
    /// The unused part of the payment; for a network payment, at most what its payment intent can still refund.
    pub room: Amount,
}

#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) struct NoteAllocation {
    /// Reduces the invoice's amount due.
    pub due: Amount,
    /// Added to the balance without a reservation on any payment.
    pub to_balance: Amount,
    /// The amount to return from each payment.
    pub returned: Vec<ReturnedPart>,
}

impl NoteAllocation {
    /// The sum to return from the payments.
    pub fn total_returned(&self) -> Result<Amount, AmountError> {
        Amount::sum(self.returned.iter().map(|one| one.amount))
    }
}

/// The part of a credit note that one payment returns.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct ReturnedPart {
    pub payment: InvoicePaymentId,
    pub amount: Amount,
}

/// # Errors
/// [`NoteError::OverRefund`] when the destination cannot take `total`.
pub(super) fn allocate(
    total: Amount,
    remaining: Amount,
    payments: &[Returnable],
    destination: &Destination,
) -> Result<NoteAllocation, NoteError> {
    let skips_unpaid = matches!(destination, Destination::PaidPart | Destination::Payment(_) | Destination::Sent(_));
    let due = if skips_unpaid { Amount::ZERO } else { total.min(remaining) };
    let mut unallocated = total.minus(due)?;
    let mut allocation = NoteAllocation { due, ..NoteAllocation::default() };
    match destination {
        Destination::Balance => {
            allocation.to_balance = unallocated;
            return Ok(allocation);
        }
        Destination::UnpaidPart if unallocated.is_zero() => return Ok(allocation),
        Destination::UnpaidPart => return Err(NoteError::OverRefund),
        Destination::Payments | Destination::PaidPart | Destination::Payment(_) | Destination::Sent(_) => {}
    }
    for Returnable { payment, room } in in_order(payments, destination) {
        let part = unallocated.min(*room);
        if !part.is_zero() {
            unallocated = unallocated.minus(part)?;
            allocation.returned.push(ReturnedPart { payment: payment.id.clone(), amount: part });
        }
    }
    if unallocated.is_zero() { Ok(allocation) } else { Err(NoteError::OverRefund) }
}

/// The payments that the destination allows, in refund order.
fn in_order<'a>(payments: &'a [Returnable], destination: &Destination) -> Vec<&'a Returnable> {
    let is_allowed = |one: &&Returnable| match destination {
        Destination::Payment(intent) | Destination::Sent(intent) => one.payment.source.intent() == Some(intent),
        _ => true,
    };
    let rank = |one: &Returnable| match one.payment.source {
        PaymentSource::Network { .. } => 0,
        PaymentSource::Stake(_) => 1,
        PaymentSource::Balance(_) => 2,
    };
    let mut allowed: Vec<_> = payments.iter().filter(is_allowed).collect();
    allowed.sort_by(|a, b| {
        let newest = (b.payment.created_at, &b.payment.id).cmp(&(a.payment.created_at, &a.payment.id));
        rank(a).cmp(&rank(b)).then(newest)
    });
    allowed
}

/// Spreads an amount over lines in proportion to their creditable amounts, by the largest remainder. The parts add up to the amount, and
/// no part exceeds its line.
///
/// # Errors
/// [`NoteError::OverRefund`] when the amount exceeds the sum of the lines.
pub(crate) fn spread(amount: Amount, lines: &[Amount]) -> Result<Vec<Amount>, NoteError> {
    if amount > Amount::sum(lines.iter().copied())? {
        return Err(NoteError::OverRefund);
    }
    Ok(amount.spread(lines)?)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::shared::{AttemptId, BalanceTransactionId, InvoiceId, Timestamp};
    use proptest::prelude::*;

    fn intent(id: &str) -> PaymentIntentId {
        PaymentIntentId::parse(id).expect("an id")
    }

    fn network(of: &str) -> PaymentSource {
        PaymentSource::Network { attempt: AttemptId::parse("att_1").expect("an id"), intent: intent(of) }
    }

    fn stake() -> PaymentSource {
        PaymentSource::Stake(AttemptId::parse("att_2").expect("an id"))
    }

    fn balance() -> PaymentSource {
        PaymentSource::Balance(BalanceTransactionId::parse("cbtxn_1").expect("an id"))
    }

    fn paid(id: &str, source: PaymentSource, amount: u128, at: i64) -> Returnable {
        let id = InvoicePaymentId::parse(&format!("inpay_{id}")).expect("an id");
        let invoice = InvoiceId::parse("in_1").expect("an id");
        let payment = InvoicePayment::new(id, invoice, source, Amount::new(amount), Timestamp::from_seconds(at));
        Returnable { room: payment.room(), payment }
    }

    /// Amount off the due, amount to the balance, and the amount returned from each payment.
    type Parts = (u128, u128, Vec<(String, u128)>);

    fn allocated(total: u128, remaining: u128, payments: &[Returnable], destination: &Destination) -> Option<Parts> {
        let allocation = allocate(Amount::new(total), Amount::new(remaining), payments, destination).ok()?;
        let returned = allocation.returned.iter().map(|one| (one.payment.to_string(), one.amount.base_units())).collect();
        Some((allocation.due.base_units(), allocation.to_balance.base_units(), returned))
    }

    #[test]
    fn the_unpaid_part_comes_first_then_network_payments_newest_first_then_stakes_then_the_balance() {
        let payments = [
            paid("bal", balance(), 50, 1),
            paid("old", network("pi_1"), 100, 2),
            paid("new", network("pi_2"), 100, 3),
            paid("stake", stake(), 30, 4),
        ];
        let named = |list: &[(&str, u128)]| list.iter().map(|(id, amount)| (format!("inpay_{id}"), *amount)).collect::<Vec<_>>();
        let by = |total, destination: &Destination| allocated(total, 20, &payments, destination);
        assert_eq!(by(15, &Destination::Payments), Some((15, 0, vec![])));
        assert_eq!(by(200, &Destination::Payments), Some((20, 0, named(&[("new", 100), ("old", 80)]))));
        assert_eq!(by(300, &Destination::Payments), Some((20, 0, named(&[("new", 100), ("old", 100), ("stake", 30), ("bal", 50)]))));
        assert_eq!(by(301, &Destination::Payments), None, "more than was paid");
        assert_eq!(by(300, &Destination::PaidPart), None, "280 were paid");
        assert_eq!(by(280, &Destination::PaidPart), Some((0, 0, named(&[("new", 100), ("old", 100), ("stake", 30), ("bal", 50)]))));
        assert_eq!(by(120, &Destination::Balance), Some((20, 100, vec![])));
        assert_eq!(by(100, &Destination::Payment(intent("pi_1"))), Some((0, 0, named(&[("old", 100)]))), "the unpaid part is skipped");
        assert_eq!(by(101, &Destination::Payment(intent("pi_1"))), None);
        assert_eq!(by(20, &Destination::UnpaidPart), Some((20, 0, vec![])));
        assert_eq!(by(21, &Destination::UnpaidPart), None);
    }

    proptest! {
        #[test]
        fn parts_add_up_and_no_part_exceeds_its_line(lines in prop::collection::vec(0u128..1_000_000_000_000_000_000_000, 1..8), share in 0u128..=1_000) {
            let sum: u128 = lines.iter().sum();
            let amount = sum / 1_000 * share;
            let creditable: Vec<_> = lines.iter().copied().map(Amount::new).collect();
            let parts = spread(Amount::new(amount), &creditable).expect("not more than the sum");
            prop_assert_eq!(parts.iter().map(|part| part.base_units()).sum::<u128>(), amount);
            for (part, line) in parts.iter().zip(&creditable) {
                prop_assert!(part <= line);
            }
            let over = spread(Amount::new(sum + 1), &creditable);
            prop_assert!(matches!(over, Err(NoteError::OverRefund)));
        }

        #[test]
        fn the_allocated_parts_add_up_to_the_note_total(total in 0u128..500, remaining in 0u128..100, paid_by in prop::collection::vec(0u128..200, 0..4)) {
            let payments: Vec<_> = paid_by.iter().enumerate().map(|(n, amount)| paid(&n.to_string(), network("pi_1"), *amount, n as i64)).collect();
            for destination in [Destination::Payments, Destination::Balance, Destination::Payment(intent("pi_1")), Destination::UnpaidPart] {
                if let Some((due, to_balance, returned)) = allocated(total, remaining, &payments, &destination) {
                    prop_assert_eq!(due + to_balance + returned.iter().map(|(_, amount)| amount).sum::<u128>(), total);
                    prop_assert!(due <= remaining);
                }
            }
        }
    }
}
