//! Credit that waits for a payment: usage costs less than an earlier invoice asks for, and that one stands unpaid. What nobody has paid
//! yet becomes nobody's credit.

use super::book::Book;
use super::credit::{CreditFor, give_credit};
use super::renew::usage_of;
use super::{BillingError, Credit, Invoice, Subscription};
use crate::context::Context;
use crate::ledger::Reason;
use crate::pricing::Usage;
use crate::shared::{Amount, AmountError, InvoiceId, PriceId, Timestamp};
use crate::storage::UnitOfWork;

/// What earlier invoices of a period asked for too much, by price.
pub(super) type Surpluses = Vec<(PriceId, Amount)>;

/// What an unpaid invoice asks for the usage of one price.
pub(super) struct Asked {
    invoice: InvoiceId,
    price: PriceId,
    amount: Amount,
}

/// What becomes of a surplus.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Surplus {
    /// It was paid: it is credit at once.
    pub paid: Amount,
    /// It becomes credit when these are paid.
    pub promised: Vec<(InvoiceId, Amount)>,
}

/// What stands unpaid of the usage of a subscription's current period, the newest invoice first. Nothing is read where nothing of that
/// is billed yet.
pub(super) async fn unpaid_usage(unit: &mut dyn UnitOfWork, book: &Book, subscription: &Subscription) -> Result<Vec<Asked>, BillingError> {
    let is_metered = |price: &PriceId| matches!(book.prices.get(price).and_then(usage_of), Some(Usage::Metered(_)));
    let billed = subscription.items.iter().filter(|item| item.billed.is_some() && is_metered(&item.price_id));
    let prices: Vec<_> = billed.map(|item| item.price_id.clone()).collect();
    let mut asked = Vec::new();
    if prices.is_empty() {
        return Ok(asked);
    }
    let unpaid = unit.invoices().unpaid_of(&subscription.id).await?;
    for invoice in unpaid.into_iter().rev() {
        for line in unit.invoices().items(&invoice.id).await? {
            let Some(price) = line.price_id.filter(|price| prices.contains(price)) else { continue };
            if line.period.is_some_and(|span| span.start >= subscription.period.start) && !line.amount.is_zero() {
                asked.push(Asked { invoice: invoice.id.clone(), price, amount: line.amount });
            }
        }
    }
    Ok(asked)
}

/// Parts what was paid from what was only asked for, so that the latter is credit no earlier than it is paid.
pub(super) fn part(surpluses: &Surpluses, unpaid: &[Asked]) -> Result<Surplus, AmountError> {
    let mut parted = Surplus::default();
    for (price, surplus) in surpluses {
        let mut left = *surplus;
        for asked in unpaid.iter().filter(|asked| asked.price == *price) {
            let part = left.min(asked.amount);
            if part.is_zero() {
                continue;
            }
            left = left.minus(part)?;
            match parted.promised.iter_mut().find(|(invoice, _)| *invoice == asked.invoice) {
                Some((_, promised)) => *promised = promised.plus(part)?,
                None => parted.promised.push((asked.invoice.clone(), part)),
            }
        }
        parted.paid = parted.paid.plus(left)?;
    }
    Ok(parted)
}

/// An invoice was paid, or settled up to `rest`, which is asked for by another one: what was promised for it is credit, but for what that
/// other one is to be paid first.
pub(super) async fn keep_promise(
    ctx: &Context,
    unit: &mut dyn UnitOfWork,
    settled: &Invoice,
    rest: Option<(&InvoiceId, Amount)>,
    now: Timestamp,
) -> Result<(), BillingError> {
    let promised = unit.credits().redeem(&settled.id).await?;
    let later = rest.map_or(Amount::ZERO, |(_, rest)| rest.min(promised));
    if let Some((other, _)) = rest.filter(|_| !later.is_zero()) {
        unit.credits().promise(other, later).await?;
    }
    let credit =
        Credit { customer_id: settled.customer_id.clone(), currency_id: settled.currency_id.clone(), amount: promised.minus(later)? };
    if credit.amount.is_zero() {
        return Ok(());
    }
    let what = CreditFor { subject: settled.id.as_str(), mode: settled.mode, method: &settled.method_id, at: now };
    give_credit(ctx, unit, &credit, what, Reason::CreditReleased).await
}

#[cfg(test)]
mod tests {
    use super::*;

    fn price(name: &str) -> PriceId {
        PriceId::parse(&format!("price_{name}")).expect("an id")
    }

    fn asked(invoice: &str, of: &str, amount: u128) -> Asked {
        Asked { invoice: InvoiceId::parse(invoice).expect("an id"), price: price(of), amount: Amount::new(amount) }
    }

    #[test]
    fn what_was_only_asked_for_is_promised_and_what_was_paid_is_credit() {
        let parted = |surplus: &[(&str, u128)], unpaid: &[Asked]| {
            let surpluses = surplus.iter().map(|(of, amount)| (price(of), Amount::new(*amount))).collect();
            let Surplus { paid, promised } = part(&surpluses, unpaid).expect("fits");
            let promised: Vec<_> = promised.iter().map(|(id, amount)| (id.to_string(), amount.base_units())).collect();
            (paid.base_units(), promised)
        };
        let named = |list: &[(&str, u128)]| list.iter().map(|(id, amount)| ((*id).to_owned(), *amount)).collect::<Vec<_>>();
        assert_eq!(parted(&[("a", 80)], &[]), (80, named(&[])));
        assert_eq!(parted(&[("a", 80)], &[asked("in_1", "a", 100)]), (0, named(&[("in_1", 80)])));
        assert_eq!(parted(&[("a", 80)], &[asked("in_2", "a", 30), asked("in_1", "a", 20)]), (30, named(&[("in_2", 30), ("in_1", 20)])));
        assert_eq!(parted(&[("a", 80)], &[asked("in_1", "b", 100)]), (80, named(&[])), "of another price");
        let both = [asked("in_1", "a", 100), asked("in_1", "b", 5)];
        assert_eq!(parted(&[("a", 80), ("b", 10)], &both), (5, named(&[("in_1", 85)])));
    }
}
