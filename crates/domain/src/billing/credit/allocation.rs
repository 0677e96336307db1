//! Where the money of a credit note goes, and how an amount without items is spread over the lines: pure rules.

use super::CreditError;
use crate::billing::{InvoicePayment, PaymentSource};
use crate::shared::{Amount, AmountError, InvoicePaymentId, PaymentIntentId};

/// Where a credit note's money goes after the unpaid part of its invoice.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Destination {
    Balance,
    /// Back to the invoice's payments: network payments, newest first, then stakes, then the balance.
    Payments,
    /// Back to the invoice's payments in the same order. The unpaid part is skipped.
    PaidPart,
    /// Back to one network payment. The unpaid part is skipped.
    Payment(PaymentIntentId),
    /// The provider has sent it back over this payment already. The unpaid part is skipped.
    Sent(PaymentIntentId),
    /// Nowhere: no more than the unpaid part is credited.
    UnpaidPart,
}

/// A payment of the invoice, and how much of it can go back the way it came.
#[derive(Debug, Clone)]
pub(super) struct Returnable {
    pub payment: InvoicePayment,
    /// Of a network payment, no more than the network's payment has left.
    pub room: Amount,
}

#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) struct NoteAllocation {
    /// Taken off what is due.
    pub due: Amount,
    /// New balance that no payment is reserved for.
    pub to_balance: Amount,
    /// Of each payment: what it is to give back.
    pub returned: Vec<(InvoicePaymentId, Amount)>,
}

/// # Errors
/// [`CreditError::OverRefund`] when the unpaid part and the payments together cannot give that much.
pub(super) fn allocate(
    total: Amount,
    remaining: Amount,
    payments: &[Returnable],
    destination: &Destination,
) -> Result<NoteAllocation, CreditError> {
    let skips_unpaid = matches!(destination, Destination::PaidPart | Destination::Payment(_) | Destination::Sent(_));
    let due = if skips_unpaid { Amount::ZERO } else { total.min(remaining) };
    let mut left = total.minus(due)?;
    let mut allocation = NoteAllocation { due, ..NoteAllocation::default() };
    match destination {
        Destination::Balance => {
            allocation.to_balance = left;
            return Ok(allocation);
        }
        Destination::UnpaidPart if left.is_zero() => return Ok(allocation),
        Destination::UnpaidPart => return Err(CreditError::OverRefund),
        Destination::Payments | Destination::PaidPart | Destination::Payment(_) | Destination::Sent(_) => {}
    }
    for Returnable { payment, room } in in_order(payments, destination) {
        let part = left.min(*room);
        if !part.is_zero() {
            left = left.minus(part)?;
            allocation.returned.push((payment.id.clone(), part));
        }
    }
    if left.is_zero() { Ok(allocation) } else { Err(CreditError::OverRefund) }
}

/// The payments that may give something back, in the order in which they are asked.
fn in_order<'a>(payments: &'a [Returnable], destination: &Destination) -> Vec<&'a Returnable> {
    let is_asked = |one: &&Returnable| match destination {
        Destination::Payment(intent) | Destination::Sent(intent) => one.payment.source.intent() == Some(intent),
        _ => true,
    };
    let rank = |one: &Returnable| match one.payment.source {
        PaymentSource::Network { .. } => 0,
        PaymentSource::Stake(_) => 1,
        PaymentSource::Balance(_) => 2,
    };
    let mut asked: Vec<_> = payments.iter().filter(is_asked).collect();
    asked.sort_by(|a, b| {
        let newest = (b.payment.created_at, &b.payment.id).cmp(&(a.payment.created_at, &a.payment.id));
        rank(a).cmp(&rank(b)).then(newest)
    });
    asked
}

/// Spreads an amount over lines in proportion to what each can give, by the largest remainder: the parts add up to the amount, and no
/// part is more than its line can give.
///
/// # Errors
/// [`CreditError::OverRefund`] when the lines together cannot give that much.
pub(crate) fn spread(amount: Amount, lines: &[Amount]) -> Result<Vec<Amount>, CreditError> {
    let sum = Amount::sum(lines.iter().copied())?;
    if amount > sum {
        return Err(CreditError::OverRefund);
    }
    if sum.is_zero() {
        return Ok(vec![Amount::ZERO; lines.len()]);
    }
    let shares: Vec<(Amount, Amount)> = lines.iter().map(|line| line.times_ratio(amount, sum)).collect::<Result<_, AmountError>>()?;
    let mut left = amount.minus(Amount::sum(shares.iter().map(|(floor, _)| *floor))?)?;
    let mut order: Vec<usize> = (0..lines.len()).collect();
    order.sort_by(|a, b| shares[*b].1.cmp(&shares[*a].1).then(a.cmp(b)));
    let mut parts: Vec<Amount> = shares.into_iter().map(|(floor, _)| floor).collect();
    let one = Amount::new(1);
    for place in order {
        if !left.is_zero() && parts[place] < lines[place] {
            parts[place] = parts[place].plus(one)?;
            left = left.minus(one)?;
        }
    }
    Ok(parts)
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

    /// Off the due, to the balance, and of each payment.
    type Parts = (u128, u128, Vec<(String, u128)>);

    fn allocated(total: u128, remaining: u128, payments: &[Returnable], destination: &Destination) -> Option<Parts> {
        let allocation = allocate(Amount::new(total), Amount::new(remaining), payments, destination).ok()?;
        let returned = allocation.returned.iter().map(|(id, amount)| (id.to_string(), amount.base_units())).collect();
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
        fn parts_add_up_and_no_line_gives_more_than_it_can(lines in prop::collection::vec(0u128..1_000_000_000_000_000_000_000, 1..8), share in 0u128..=1_000) {
            let sum: u128 = lines.iter().sum();
            let amount = sum / 1_000 * share;
            let given: Vec<_> = lines.iter().copied().map(Amount::new).collect();
            let parts = spread(Amount::new(amount), &given).expect("no more than all");
            prop_assert_eq!(parts.iter().map(|part| part.base_units()).sum::<u128>(), amount);
            for (part, line) in parts.iter().zip(&given) {
                prop_assert!(part <= line);
            }
            let over = spread(Amount::new(sum + 1), &given);
            prop_assert!(matches!(over, Err(CreditError::OverRefund)));
        }

        #[test]
        fn what_a_note_gives_is_its_total(total in 0u128..500, remaining in 0u128..100, paid_by in prop::collection::vec(0u128..200, 0..4)) {
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
