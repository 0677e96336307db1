//! What was paid for a period of a subscription by all of its bills, and what became of it. A change of plan carries what is left of one bill
//! over into the next, or makes it credit; a refund by hand counts against what was used up first, usage before time. What a period has
//! given as credit never exceeds what it was paid and did not give back: so whatever credit pays is paid, and no money goes back twice.

use super::credit::applied;
use super::give_back::booked;
use super::line::KEPT_CREDIT;
use super::{BillingError, BillingReason, Calculation, Invoice, InvoiceItem, InvoiceStatus, PaidLine};
use crate::ledger::Reason;
use crate::payment::{Refund, RefundStatus, RefundType};
use crate::shared::{Amount, AmountError, CurrencyId, InvoiceId, PriceId, SubscriptionId, Timestamp};
use crate::storage::UnitOfWork;
use std::collections::HashMap;

/// How many bills of a period are looked through.
const LOOK_BACK: u32 = 1_000;

/// A bill, and its lines: of what they ask for time, what nobody has paid and what went back is off them.
pub(super) type Lined = (Invoice, Vec<InvoiceItem>);

/// A period and its bills: from the one at its beginning, which nothing is carried over into, to the next one of the kind.
pub(super) struct PaidPeriod {
    /// Those that ask for time or usage, in any currency, oldest first.
    pub bills: Vec<Lined>,
    money: Money,
    /// Whether something that went back, or is on its way, is off the lines.
    pub is_cut: bool,
}

/// What was paid in one currency, and what became of it.
#[derive(Debug, Default)]
struct Money {
    parts: Vec<Part>,
    /// Made credit, and not taken along by refunds.
    given: Amount,
    /// Of what was made credit, that for usage which turned out to cost less than was billed: it was not used.
    surplus: Amount,
}

/// What one bill was paid.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Part {
    bill: InvoiceId,
    /// By a network, by credit and by a stake.
    paid: Amount,
    /// Went back, or is on its way.
    back: Amount,
    /// What it asks for usage.
    usage: Amount,
}

impl Part {
    /// What of its usage did not go back.
    fn used(&self) -> Amount {
        self.usage.minus(self.back).unwrap_or_default()
    }
}

impl PaidPeriod {
    /// The period of a subscription around `at`.
    pub async fn read(
        unit: &mut dyn UnitOfWork,
        subscription: &SubscriptionId,
        at: Timestamp,
        currency: &CurrencyId,
    ) -> Result<Self, BillingError> {
        let mut bills = unit.invoices().of_period(subscription, at, LOOK_BACK).await?;
        bills.retain(|bill| is_for_time(bill.reason) || bill.reason == BillingReason::SubscriptionCancel);
        let (own, next): (Vec<_>, Vec<_>) =
            bills.into_iter().partition(|bill| !begins_period(bill) || bill.period.is_some_and(|span| span.start <= at));
        Self::of(unit, own, &next, currency).await
    }

    /// The period that an invoice bills for, or that invoice alone.
    pub async fn around(unit: &mut dyn UnitOfWork, invoice: &Invoice) -> Result<Self, BillingError> {
        if let (Some(subscription), Some(span)) = (&invoice.subscription_id, invoice.period) {
            let period = Self::read(unit, subscription, span.start, &invoice.currency_id).await?;
            if period.bills.iter().any(|(bill, _)| bill.id == invoice.id) {
                return Ok(period);
            }
        }
        Self::of(unit, vec![invoice.clone()], &[], &invoice.currency_id).await
    }

    async fn of(unit: &mut dyn UnitOfWork, own: Vec<Invoice>, next: &[Invoice], currency: &CurrencyId) -> Result<Self, BillingError> {
        let ids: Vec<_> = own.iter().map(|bill| bill.id.clone()).collect();
        let replaced: Vec<_> = own.iter().filter(|bill| is_replaced(bill, &own)).map(|bill| bill.id.clone()).collect();
        let settled = by_stake(unit, &own).await?;
        let mut lines: HashMap<InvoiceId, Vec<InvoiceItem>> = HashMap::new();
        for line in unit.invoices().items_of(&ids).await? {
            lines.entry(line.invoice_id.clone()).or_default().push(line);
        }
        let lined = |bill: Invoice| {
            let lines = lines.remove(&bill.id).unwrap_or_default();
            (bill, lines)
        };
        let mut bills: Vec<_> = own.into_iter().map(lined).collect();
        let mut metered = HashMap::new();
        let (mut money, mut kept, mut along, mut is_cut) = (Money::default(), Amount::ZERO, Amount::ZERO, false);
        for (bill, lines) in bills.iter_mut().filter(|(bill, _)| bill.currency_id == *currency) {
            // What the bill at a beginning gives came of the usage before it.
            let reasons: &[_] =
                if begins_period(bill) { &[Reason::CreditReleased] } else { &[Reason::CreditGiven, Reason::CreditReleased] };
            money.given = money.given.plus(booked(unit, bill.id.as_str(), reasons).await?)?;
            if replaced.contains(&bill.id) {
                continue;
            }
            let is_kept = |line: &&InvoiceItem| line.price_id.is_none() && line.description == KEPT_CREDIT;
            kept = kept.plus(Amount::sum(lines.iter().filter(is_kept).map(|line| line.amount))?)?;
            along = along.plus(taken_along(unit, bill).await?)?;
            let is_settled = bill.status == InvoiceStatus::Paid || settled.contains(&bill.id);
            let asked = bill.total.plus(applied(lines)?)?;
            let taken =
                Amount::sum(lines.iter().filter(|line| matches!(line.calculation, Calculation::Taken { .. })).map(|line| line.amount))?;
            let paid = if is_settled { asked.plus(taken)? } else { taken };
            let mut usage = usage_of(unit, lines, &mut metered).await?;
            let back = back_of(unit, bill).await?;
            let off = if is_settled { back } else { asked };
            let is_time = |line: &InvoiceItem| line.price_id.as_ref().is_some_and(|price| metered.get(price) == Some(&false));
            let off = off.minus(usage).unwrap_or_default();
            is_cut |= is_settled && !off.is_zero();
            *lines = less_where(std::mem::take(lines), off, is_time);
            if !is_settled {
                usage = usage.min(paid);
            }
            money.parts.push(Part { bill: bill.id.clone(), paid, back, usage });
        }
        for bill in next.iter().filter(|bill| bill.currency_id == *currency) {
            money.given = money.given.plus(booked(unit, bill.id.as_str(), &[Reason::CreditGiven]).await?)?;
        }
        money.surplus = money.given.minus(kept).unwrap_or_default();
        money.given = money.given.minus(along).unwrap_or_default();
        Ok(Self { bills, money, is_cut })
    }

    /// What was paid for time and neither went back nor became credit. What was used up of it counts.
    pub fn left(&self) -> Result<Amount, AmountError> {
        self.money.left()
    }

    /// What was paid and neither went back nor became credit.
    pub fn room(&self) -> Result<Amount, AmountError> {
        let sum = |of: fn(&Part) -> Amount| Amount::sum(self.money.parts.iter().map(of));
        Ok(sum(|part| part.paid)?.minus(sum(|part| part.back)?.plus(self.money.given)?).unwrap_or_default())
    }

    /// How much of a bill can go back before credit that came of the period has to go along.
    pub fn free_of(&self, bill: &InvoiceId) -> Result<Amount, AmountError> {
        self.money.free_of(bill)
    }

    /// What of a bill was paid for usage and did not go back.
    pub fn used_of(&self, bill: &InvoiceId) -> Amount {
        self.money.part(bill).map_or(Amount::ZERO, Part::used)
    }
}

impl Money {
    fn part(&self, bill: &InvoiceId) -> Option<&Part> {
        self.parts.iter().find(|part| part.bill == *bill)
    }

    fn used(&self) -> Result<Amount, AmountError> {
        Amount::sum(self.parts.iter().map(Part::used))
    }

    fn left(&self) -> Result<Amount, AmountError> {
        let paid = Amount::sum(self.parts.iter().map(|part| part.paid))?;
        let back = Amount::sum(self.parts.iter().map(|part| part.back))?;
        let used = self.used()?.minus(self.surplus).unwrap_or_default();
        Ok(paid.minus(back.plus(used)?.plus(self.given)?).unwrap_or_default())
    }

    fn free_of(&self, bill: &InvoiceId) -> Result<Amount, AmountError> {
        let used = self.used()?.minus(self.surplus).unwrap_or_default();
        self.left()?.plus(self.part(bill).map_or(Amount::ZERO, Part::used).min(used))
    }
}

/// What a stake was taken for, where one of these bills is void.
async fn by_stake(unit: &mut dyn UnitOfWork, bills: &[Invoice]) -> Result<Vec<InvoiceId>, BillingError> {
    let void = bills.iter().find(|bill| bill.status == InvoiceStatus::Void);
    match void.and_then(|bill| bill.subscription_id.as_ref()) {
        Some(subscription) => Ok(unit.attempts().taken_for(subscription).await?),
        None => Ok(Vec::new()),
    }
}

/// What a stake has paid in part is void, and another bill asks for the rest of it, with all of its lines.
pub(super) fn is_replaced(bill: &Invoice, bills: &[Invoice]) -> bool {
    let replaces = |other: &Invoice| other.number > bill.number && other.reason == bill.reason && other.period == bill.period;
    bill.status == InvoiceStatus::Void && bills.iter().any(replaces)
}

/// What lines ask for metered prices.
async fn usage_of(unit: &mut dyn UnitOfWork, lines: &[InvoiceItem], metered: &mut HashMap<PriceId, bool>) -> Result<Amount, BillingError> {
    let mut usage = Amount::ZERO;
    for line in lines.iter().filter(|line| !line.calculation.is_credit()) {
        let Some(id) = &line.price_id else { continue };
        let is_metered = match metered.get(id) {
            Some(known) => *known,
            None => unit.prices().find(id).await?.is_some_and(|price| price.is_metered()),
        };
        metered.insert(id.clone(), is_metered);
        if is_metered {
            usage = usage.plus(line.amount)?;
        }
    }
    Ok(usage)
}

/// The credit that went along with refunds of a bill, unless their network refused them.
async fn taken_along(unit: &mut dyn UnitOfWork, bill: &Invoice) -> Result<Amount, BillingError> {
    let mut taken = Amount::ZERO;
    for refund in refunds_of(unit, bill).await? {
        let used = booked(unit, refund.id.as_str(), &[Reason::CreditUsed]).await?;
        taken = taken.plus(used.minus(booked(unit, refund.id.as_str(), &[Reason::CreditReturned]).await?).unwrap_or_default())?;
    }
    Ok(taken)
}

/// Whether a bill stands at the beginning of a period, and nothing of one before is carried over into it.
const fn begins_period(invoice: &Invoice) -> bool {
    matches!(invoice.reason, BillingReason::SubscriptionCreate | BillingReason::SubscriptionCycle)
}

/// Whether an invoice asks for time, past or to come.
pub(super) const fn is_for_time(reason: BillingReason) -> bool {
    matches!(
        reason,
        BillingReason::SubscriptionCreate
            | BillingReason::SubscriptionCycle
            | BillingReason::SubscriptionUpdate
            | BillingReason::SubscriptionRecover
            | BillingReason::SubscriptionThreshold
    )
}

pub(super) const fn bills_ahead(invoice: &Invoice) -> bool {
    is_for_time(invoice.reason) && !matches!(invoice.reason, BillingReason::SubscriptionRecover)
}

/// What a line asks for the time around `at`, where it is of one of these prices.
pub(super) fn asked_line(wanted: &[PriceId], invoice: &Invoice, line: &InvoiceItem, at: Timestamp) -> Option<PaidLine> {
    let paid_for = line.period.or(invoice.period).filter(|period| period.contains(at))?;
    let price_id = line.price_id.clone().filter(|price| wanted.contains(price))?;
    (!line.calculation.is_credit()).then_some(PaidLine { price_id, quantity: line.quantity, paid: line.amount, paid_for })
}

/// What was given back of what an invoice was paid, or is on its way back: at a network, and as credit.
pub(super) async fn back_of(unit: &mut dyn UnitOfWork, invoice: &Invoice) -> Result<Amount, BillingError> {
    let by_credit = unit.refunds().credited(&invoice.id).await?;
    Ok(given_back(unit, invoice).await?.plus(by_credit)?)
}

/// The same at a network alone.
pub(super) async fn given_back(unit: &mut dyn UnitOfWork, invoice: &Invoice) -> Result<Amount, BillingError> {
    let refunds = refunds_of(unit, invoice).await?;
    Ok(Amount::sum(refunds.iter().filter(|refund| refund.status != RefundStatus::Failed).map(|refund| refund.amount))?)
}

/// What a network was asked to give back of what an invoice was paid.
async fn refunds_of(unit: &mut dyn UnitOfWork, invoice: &Invoice) -> Result<Vec<Refund>, BillingError> {
    let Some(intent) = &invoice.intent_id else { return Ok(Vec::new()) };
    let mut refunds = unit.refunds().of_intent(intent).await?;
    refunds.retain(|refund| refund.kind == RefundType::Refund && refund.invoice_id.as_ref() == Some(&invoice.id));
    Ok(refunds)
}

/// Takes an amount off what lines charge, from the first one on.
pub(super) fn less(lines: Vec<InvoiceItem>, amount: Amount) -> Vec<InvoiceItem> {
    less_where(lines, amount, |_| true)
}

fn less_where(mut lines: Vec<InvoiceItem>, mut amount: Amount, of: impl Fn(&InvoiceItem) -> bool) -> Vec<InvoiceItem> {
    for line in lines.iter_mut().filter(|line| !line.calculation.is_credit() && of(line)) {
        let part = line.amount.min(amount);
        line.amount = line.amount.minus(part).unwrap_or_default();
        amount = amount.minus(part).unwrap_or_default();
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::billing::Prorated;
    use crate::shared::InvoiceItemId;
    use proptest::prelude::*;

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

    fn bill(number: usize) -> InvoiceId {
        InvoiceId::parse(&format!("in_{number}")).expect("an id")
    }

    /// Of bills: what each was paid, what of it went back, and what it asks for usage.
    fn money(given: u128, parts: &[(u128, u128, u128)]) -> Money {
        let amounts = parts.iter().map(|(paid, back, usage)| [*paid, *back, *usage].map(Amount::new)).enumerate();
        let parts = amounts.map(|(number, [paid, back, usage])| Part { bill: bill(number), paid, back, usage }).collect();
        Money { parts, given: Amount::new(given), surplus: Amount::ZERO }
    }

    #[test]
    fn credit_goes_along_once_what_is_left_covers_it_no_longer() {
        let free = |given, parts: &[_], number| money(given, parts).free_of(&bill(number)).expect("fits").base_units();
        assert_eq!(free(0, &[(30, 0, 0)], 0), 30);
        assert_eq!(free(20, &[(30, 0, 0)], 0), 10, "20 became credit");
        assert_eq!(free(20, &[(30, 0, 0), (30, 0, 0)], 0), 40, "another payment of the period covers it");
        assert_eq!(free(20, &[(30, 0, 0), (60, 0, 60)], 0), 10, "usage covers nothing");
        assert_eq!(free(20, &[(30, 0, 0), (60, 0, 60)], 1), 70, "usage goes back first");
        assert_eq!(free(20, &[(30, 0, 0), (60, 25, 60)], 1), 45);
        assert_eq!(free(20, &[(30, 15, 0)], 0), 0, "what the network may still refuse counts as gone");
    }

    #[test]
    fn usage_that_cost_less_than_was_billed_was_not_used() {
        let free = |surplus, parts: &[_], number| {
            let money = Money { surplus: Amount::new(surplus), ..money(surplus, parts) };
            (money.left().expect("fits").base_units(), money.free_of(&bill(number)).expect("fits").base_units())
        };
        assert_eq!(free(30, &[(10, 0, 10), (40, 0, 40)], 1), (0, 20), "30 of the 50 are credit");
        assert_eq!(free(30, &[(10, 0, 10), (40, 0, 40)], 0), (0, 10), "whichever usage it was");
        assert_eq!(free(80, &[(30, 0, 0), (100, 0, 100), (60, 60, 60), (60, 0, 60)], 0), (30, 30), "what went back is not counted twice");
    }

    proptest! {
        /// However refunds and changes of plan follow each other, what a period has given is what it was paid, at most, and credit
        /// goes along with a refund by no more than that asks for.
        #[test]
        fn a_period_never_gives_more_than_it_was_paid(
            paid in prop::collection::vec((0_u128..100, 0_u128..100), 1..4),
            steps in prop::collection::vec((0_usize..4, 0_u128..100, any::<bool>()), 0..20),
        ) {
            let parts: Vec<_> = paid.iter().map(|(paid, usage)| (*paid, 0, *usage.min(paid))).collect();
            let mut money = money(0, &parts);
            for (number, amount, is_refund) in steps {
                let (number, amount) = (number % parts.len(), Amount::new(amount));
                if is_refund {
                    let free = money.free_of(&bill(number)).expect("fits");
                    let part = &mut money.parts[number];
                    let back = amount.min(part.paid.minus(part.back).expect("within"));
                    part.back = part.back.plus(back).expect("fits");
                    let along = back.minus(free.min(back)).expect("fits").min(money.given);
                    money.given = money.given.minus(along).expect("within");
                    prop_assert!(along.is_zero() || money.left().expect("fits").is_zero(), "no more goes along than must");
                } else {
                    money.given = money.given.plus(amount.min(money.left().expect("fits"))).expect("fits");
                }
                let sum = |of: fn(&Part) -> Amount| Amount::sum(money.parts.iter().map(of)).expect("fits");
                prop_assert!(sum(|part| part.back.max(part.usage)).plus(money.given).expect("fits") <= sum(|part| part.paid));
            }
        }
    }
}
