//! What becomes of it when usage costs less than earlier invoices ask for: credit, where they were paid; where one stands unpaid, the
//! credit waits for its payment. What nobody has paid, or what was given back, becomes nobody's credit.

use super::credit::{CreditFor, give_credit};
use super::paid::{PaidPeriod, back_of, is_replaced, less};
use super::{BillingError, Calculation, Credit, Invoice, InvoiceItem, InvoiceStatus, Subscription};
use crate::context::Context;
use crate::ledger::Reason;
use crate::shared::{Amount, AmountError, InvoiceId, PriceId, Timestamp};
use crate::storage::UnitOfWork;
use std::collections::HashMap;

/// What earlier invoices of a period asked for too much, by price.
pub(super) type Surpluses = Vec<(PriceId, Amount)>;

/// What becomes of a surplus.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Surplus {
    /// It was paid: it is credit at once.
    pub paid: Amount,
    /// It becomes credit when these are paid.
    pub promised: Vec<(InvoiceId, Amount)>,
}

/// How many bills of a period are looked through. What is on none of them counts as unpaid, and becomes nobody's credit.
const LOOK_BACK: u32 = 1_000;

/// What a bill asks for the usage of one price.
#[derive(Debug)]
struct Asked {
    invoice: InvoiceId,
    /// Taken back, or given back after it was paid.
    void: Amount,
    /// Stands unpaid.
    unpaid: Amount,
    /// Paid, and not given back.
    kept: Amount,
    /// What the bills before it asked too much by then.
    too_much: Amount,
}

/// What bills of a period ask for the usage of one price, less what they asked too much.
#[derive(Debug, Default)]
struct Left {
    void: Amount,
    /// The newest first.
    unpaid: Vec<(InvoiceId, Amount)>,
    kept: Amount,
}

impl Left {
    /// In the order in which they were written.
    fn of<'a>(bills: impl Iterator<Item = &'a Asked>) -> Result<Self, AmountError> {
        let mut left = Self::default();
        for bill in bills {
            left.take(bill.too_much)?;
            left.void = left.void.plus(bill.void)?;
            left.kept = left.kept.plus(bill.kept)?;
            if !bill.unpaid.is_zero() {
                left.unpaid.insert(0, (bill.invoice.clone(), bill.unpaid));
            }
        }
        Ok(left)
    }

    /// Takes a surplus off: what nobody pays any more comes first, then what nobody has paid yet.
    fn take(&mut self, surplus: Amount) -> Result<Surplus, AmountError> {
        let void = surplus.min(self.void);
        self.void = self.void.minus(void)?;
        let mut rest = surplus.minus(void)?;
        let mut promised = Vec::new();
        for (invoice, unpaid) in &mut self.unpaid {
            let part = rest.min(*unpaid);
            if !part.is_zero() {
                (rest, *unpaid) = (rest.minus(part)?, unpaid.minus(part)?);
                promised.push((invoice.clone(), part));
            }
        }
        let paid = rest.min(self.kept);
        self.kept = self.kept.minus(paid)?;
        Ok(Surplus { paid, promised })
    }
}

/// Parts a surplus: what was paid and kept is credit, what stands unpaid becomes credit no earlier than it is paid, and what was taken
/// back or given back never. Nothing is read where there is no surplus.
pub(super) async fn part(unit: &mut dyn UnitOfWork, subscription: &Subscription, surpluses: &Surpluses) -> Result<Surplus, BillingError> {
    let mut parted = Surplus::default();
    if surpluses.is_empty() {
        return Ok(parted);
    }
    let bills = bills(unit, subscription).await?;
    for (price, surplus) in surpluses {
        let of_price = bills.iter().filter(|(of, _)| of == price).map(|(_, asked)| asked);
        let Surplus { paid, promised } = Left::of(of_price)?.take(*surplus)?;
        parted.paid = parted.paid.plus(paid)?;
        for (invoice, amount) in promised {
            match parted.promised.iter_mut().find(|(other, _)| *other == invoice) {
                Some((_, sum)) => *sum = sum.plus(amount)?,
                None => parted.promised.push((invoice, amount)),
            }
        }
    }
    if !parted.paid.is_zero() {
        let period = PaidPeriod::read(unit, &subscription.id, subscription.period.start, &subscription.currency_id).await?;
        parted.paid = parted.paid.min(period.room()?);
    }
    Ok(parted)
}

/// What was billed of the usage of a subscription's current period, by price, in the order in which it was.
async fn bills(unit: &mut dyn UnitOfWork, subscription: &Subscription) -> Result<Vec<(PriceId, Asked)>, BillingError> {
    let start = subscription.period.start;
    let mut invoices = unit.invoices().issued_since(&subscription.id, start, LOOK_BACK).await?;
    invoices.reverse();
    let ids: Vec<_> = invoices.iter().filter(|one| !is_replaced(one, &invoices)).map(|one| one.id.clone()).collect();
    invoices.retain(|one| ids.contains(&one.id));
    let mut lines: HashMap<InvoiceId, Vec<InvoiceItem>> = HashMap::new();
    for line in unit.invoices().items_of(&ids).await? {
        lines.entry(line.invoice_id.clone()).or_default().push(line);
    }
    let is_usage = |line: &InvoiceItem| !line.calculation.is_credit() && line.period.is_some_and(|span| span.start >= start);
    let taken = match invoices.iter().any(|one| one.status == InvoiceStatus::Void) {
        true => unit.attempts().taken_for(&subscription.id).await?,
        false => Vec::new(),
    };
    let mut bills = Vec::new();
    for invoice in invoices {
        let lines = lines.remove(&invoice.id).unwrap_or_default();
        if !lines.iter().any(is_usage) {
            continue;
        }
        let off = match invoice.status {
            InvoiceStatus::Paid => back_of(unit, &invoice).await?,
            _ => Amount::sum(lines.iter().filter(|line| matches!(line.calculation, Calculation::Taken { .. })).map(|line| line.amount))?,
        };
        for (line, rest) in lines.iter().zip(less(lines.clone(), off)) {
            let Some(price) = line.price_id.clone().filter(|_| is_usage(line)) else { continue };
            let (rest, off) = (rest.amount, line.amount.minus(rest.amount)?);
            let (void, unpaid, kept) = match invoice.status {
                InvoiceStatus::Paid => (off, Amount::ZERO, rest),
                InvoiceStatus::Open | InvoiceStatus::Uncollectible => (Amount::ZERO, rest, off),
                _ if taken.contains(&invoice.id) => (Amount::ZERO, Amount::ZERO, line.amount),
                InvoiceStatus::Draft | InvoiceStatus::Void => (rest, Amount::ZERO, off),
            };
            let too_much = line.calculation.too_much()?;
            bills.push((price, Asked { invoice: invoice.id.clone(), void, unpaid, kept, too_much }));
        }
    }
    Ok(bills)
}

/// An invoice was paid or settled: what was promised for it is credit.
pub(super) async fn keep_promise(
    ctx: &Context,
    unit: &mut dyn UnitOfWork,
    settled: &Invoice,
    promised: Amount,
    now: Timestamp,
) -> Result<(), BillingError> {
    if promised.is_zero() {
        return Ok(());
    }
    let credit = Credit { customer_id: settled.customer_id.clone(), currency_id: settled.currency_id.clone(), amount: promised };
    let what = CreditFor { subject: settled.id.as_str(), mode: settled.mode, method: &settled.method_id, at: now };
    give_credit(ctx, unit, &credit, what, Reason::CreditReleased).await
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Of one price: what of it is void, unpaid and kept, and what those before it asked too much.
    fn bill(invoice: &str, void: u128, unpaid: u128, kept: u128, too_much: u128) -> Asked {
        let [void, unpaid, kept, too_much] = [void, unpaid, kept, too_much].map(Amount::new);
        Asked { invoice: InvoiceId::parse(invoice).expect("an id"), void, unpaid, kept, too_much }
    }

    fn parted(surplus: u128, bills: &[Asked]) -> (u128, Vec<(String, u128)>) {
        let Surplus { paid, promised } = Left::of(bills.iter()).and_then(|mut left| left.take(Amount::new(surplus))).expect("fits");
        (paid.base_units(), promised.iter().map(|(id, amount)| (id.to_string(), amount.base_units())).collect())
    }

    fn named(list: &[(&str, u128)]) -> Vec<(String, u128)> {
        list.iter().map(|(id, amount)| ((*id).to_owned(), *amount)).collect()
    }

    #[test]
    fn what_was_only_asked_for_is_promised_and_what_was_paid_is_credit() {
        assert_eq!(parted(80, &[]), (0, named(&[])), "nobody has paid it");
        assert_eq!(parted(80, &[bill("in_1", 0, 0, 100, 0)]), (80, named(&[])));
        assert_eq!(parted(80, &[bill("in_1", 0, 100, 0, 0)]), (0, named(&[("in_1", 80)])));
        let three = [bill("in_1", 0, 20, 0, 0), bill("in_2", 0, 30, 0, 0), bill("in_3", 0, 0, 90, 0)];
        assert_eq!(parted(80, &three), (30, named(&[("in_2", 30), ("in_1", 20)])), "the newest first");
    }

    #[test]
    fn what_was_taken_back_or_given_back_is_nobodys_credit() {
        assert_eq!(parted(80, &[bill("in_1", 100, 0, 0, 0)]), (0, named(&[])));
        assert_eq!(parted(80, &[bill("in_1", 50, 0, 50, 0)]), (30, named(&[])), "half was given back");
        let three = [bill("in_1", 60, 0, 0, 0), bill("in_2", 0, 50, 0, 0), bill("in_3", 0, 0, 40, 0)];
        assert_eq!(parted(130, &three), (20, named(&[("in_2", 50)])));
    }

    #[test]
    fn what_was_credit_once_is_not_credit_again() {
        assert_eq!(parted(15, &[bill("in_1", 0, 0, 100, 0), bill("in_2", 0, 0, 0, 80)]), (15, named(&[])), "20 were left");
        assert_eq!(parted(25, &[bill("in_1", 0, 0, 100, 0), bill("in_2", 0, 0, 0, 80)]), (20, named(&[])));
        assert_eq!(parted(15, &[bill("in_1", 100, 0, 0, 0), bill("in_2", 0, 0, 0, 80)]), (0, named(&[])), "given back since");
        let anew = [bill("in_1", 100, 0, 0, 0), bill("in_2", 0, 0, 0, 80), bill("in_3", 0, 0, 70, 0)];
        assert_eq!(parted(80, &anew), (60, named(&[])), "of 90, 20 are void");
    }
}
