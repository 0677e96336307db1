//! Limits of automatic billing: invoices of a subscription in a day, and charges of a customer in an hour. Days and hours are those of
//! UTC. Excess waits until the next day or hour; nothing is declined because of a limit.

use super::{BillingError, Bounds, DailyInvoices, Hold, HoldReason, OnHold, Subscription};
use crate::shared::{CustomerId, StorageError, Timestamp};
use crate::storage::UnitOfWork;
use async_trait::async_trait;
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::time::Duration;

const HOUR_SECONDS: u64 = 3_600;
const DAY_SECONDS: u64 = 24 * HOUR_SECONDS;

/// The start of the span of `seconds` that contains `now`.
fn start_of(seconds: u64, now: Timestamp) -> Timestamp {
    let length = seconds as i64;
    Timestamp::from_seconds(now.seconds().div_euclid(length) * length)
}

impl Subscription {
    /// Whether an owner has decided that the next period is billed.
    fn is_approved(&self, now: Timestamp) -> bool {
        self.approved_until(now).is_some_and(|until| self.period.end <= until)
    }

    /// The most automatic invoices of one day: those of its periods, and some more for usage that is billed early.
    fn daily_limit(&self, bounds: &Bounds) -> u64 {
        DAY_SECONDS.div_ceil(self.cycle.seconds().max(1)).saturating_add(u64::from(bounds.extra_invoices))
    }

    fn invoices_on(&self, day: Timestamp) -> u32 {
        self.bounds.invoices.filter(|invoices| invoices.day == day).map_or(0, |invoices| invoices.count)
    }

    /// Whether one more automatic invoice is within the limit of the day.
    pub(super) fn may_invoice(&self, bounds: &Bounds, now: Timestamp) -> bool {
        u64::from(self.invoices_on(start_of(DAY_SECONDS, now))) < self.daily_limit(bounds)
    }

    /// Counts an automatic invoice.
    pub(super) fn count_invoice(&mut self, now: Timestamp) {
        let day = start_of(DAY_SECONDS, now);
        self.bounds.invoices = Some(DailyInvoices { day, count: self.invoices_on(day).saturating_add(1) });
    }
}

/// The charges of a customer in an hour.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ChargeCount {
    pub customer_id: CustomerId,
    pub count: u32,
    /// The most charges of the hour: in proportion to the customer's subscriptions.
    pub limit: u32,
}

/// The number of a customer's subscriptions that have not ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LiveSubscriptions {
    pub customer_id: CustomerId,
    pub count: u32,
}

/// Counts automatic charges per customer and hour. A customer has one row, that of the last hour with a charge.
#[async_trait]
pub trait ChargeCounts: Send {
    /// The charges in the hour that begins at `hour`. Customers without any are left out.
    async fn of(&mut self, customers: &[CustomerId], hour: Timestamp) -> Result<Vec<ChargeCount>, StorageError>;
    async fn live_subscriptions(&mut self, customers: &[CustomerId]) -> Result<Vec<LiveSubscriptions>, StorageError>;
    /// Adds charges to the hour, customers ascending; a conditional update per row. False: with them a customer would exceed the limit,
    /// and this unit of work must not be committed.
    async fn add(&mut self, added: &[ChargeCount], hour: Timestamp) -> Result<bool, StorageError>;
}

/// What a unit of work may still charge its customers in this hour.
#[derive(Debug, Clone)]
pub(super) struct ChargeBudget {
    /// `None`: there is no limit.
    hour: Option<Timestamp>,
    counts: HashMap<CustomerId, ChargeCount>,
    added: BTreeMap<CustomerId, u32>,
}

impl ChargeBudget {
    /// Reads what has been charged. Without bounds nothing is limited or counted.
    pub async fn read<'c>(
        unit: &mut dyn UnitOfWork,
        bounds: Option<&Bounds>,
        customers: impl Iterator<Item = &'c CustomerId> + Send,
        now: Timestamp,
    ) -> Result<Self, StorageError> {
        let mut budget = Self { hour: None, counts: HashMap::new(), added: BTreeMap::new() };
        let Some(bounds) = bounds else { return Ok(budget) };
        let hour = start_of(HOUR_SECONDS, now);
        let customers: Vec<_> = customers.collect::<BTreeSet<_>>().into_iter().cloned().collect();
        budget.hour = Some(hour);
        let known = unit.charge_counts().of(&customers, hour).await?;
        budget.counts = known.into_iter().map(|count| (count.customer_id.clone(), count)).collect();
        // The number of subscriptions is read once an hour, and again at the limit: there may be more of them by then.
        let is_uncertain = |customer: &CustomerId| budget.counts.get(customer).is_none_or(|count| count.count >= count.limit);
        let uncertain: Vec<_> = customers.into_iter().filter(is_uncertain).collect();
        if uncertain.is_empty() {
            return Ok(budget);
        }
        for LiveSubscriptions { customer_id, count } in unit.charge_counts().live_subscriptions(&uncertain).await? {
            let limit = count.saturating_mul(bounds.hourly_charges);
            let counted = budget.counts.get(&customer_id).map_or(0, |count| count.count);
            budget.counts.insert(customer_id.clone(), ChargeCount { customer_id, count: counted, limit });
        }
        Ok(budget)
    }

    /// Whether one more charge is within the limit of the hour. Customers without subscriptions are not limited: nothing charges them
    /// repeatedly.
    pub fn has_room(&self, customer: &CustomerId) -> bool {
        let added = self.added.get(customer).copied().unwrap_or_default();
        self.counts.get(customer).is_none_or(|count| count.count.saturating_add(added) < count.limit)
    }

    /// Counts a charge if it is within the limit.
    pub fn take(&mut self, customer: &CustomerId) -> bool {
        let has_room = self.has_room(customer);
        if has_room && self.counts.contains_key(customer) {
            *self.added.entry(customer.clone()).or_default() += 1;
        }
        has_room
    }

    /// The next hour, in which there is room again.
    pub fn next_hour(&self) -> Option<Timestamp> {
        self.hour.map(|hour| hour.plus(Duration::from_secs(HOUR_SECONDS)))
    }

    /// Writes the counted charges: the last statement of a unit of work, because its locks come last.
    ///
    /// # Errors
    /// [`BillingError::Contended`] when another unit of work has used the room meanwhile.
    pub async fn write(self, unit: &mut dyn UnitOfWork) -> Result<(), BillingError> {
        let Some(hour) = self.hour.filter(|_| !self.added.is_empty()) else { return Ok(()) };
        let limit_of = |customer: &CustomerId| self.counts.get(customer).map_or(u32::MAX, |count| count.limit);
        let added: Vec<_> =
            self.added.iter().map(|(id, count)| ChargeCount { customer_id: id.clone(), count: *count, limit: limit_of(id) }).collect();
        match unit.charge_counts().add(&added, hour).await? {
            true => Ok(()),
            false => Err(BillingError::Contended),
        }
    }
}

/// Why the renewal of a subscription waits: a limit is reached, and no owner has approved the period.
pub(super) fn over_limit(subscription: &Subscription, bounds: &Bounds, budget: &ChargeBudget, now: Timestamp) -> Option<Hold> {
    if subscription.is_approved(now) {
        return None;
    }
    if !subscription.may_invoice(bounds, now) {
        let detail = format!("the most automatic invoices of a day are {}", subscription.daily_limit(bounds));
        let next_day = start_of(DAY_SECONDS, now).plus(Duration::from_secs(DAY_SECONDS));
        return Some(Hold { on_hold: OnHold { reason: HoldReason::InvoiceLimit, detail }, resumes_at: Some(next_day) });
    }
    if !budget.has_room(&subscription.customer_id) {
        let detail = format!("the most automatic charges of an hour are {} for each subscription of the customer", bounds.hourly_charges);
        return Some(Hold { on_hold: OnHold { reason: HoldReason::ChargeLimit, detail }, resumes_at: budget.next_hour() });
    }
    None
}

/// Counts an automatic invoice and its charge, unless an owner has approved its period.
pub(super) fn count_renewal(before: &Subscription, after: &mut Subscription, is_charged: bool, budget: &mut ChargeBudget, now: Timestamp) {
    if before.is_approved(now) {
        return;
    }
    after.count_invoice(now);
    if is_charged {
        budget.take(&after.customer_id);
    }
}

#[cfg(test)]
mod tests {
    use super::super::cancel::tests::subscription;
    use super::*;
    use crate::billing::SubscriptionStatus;
    use crate::pricing::{Anchoring, Interval, RecurringInterval};

    fn at(seconds: i64) -> Timestamp {
        Timestamp::from_seconds(seconds)
    }

    fn of(interval: Interval) -> Subscription {
        let cycle = RecurringInterval::new(interval, 1, Anchoring::Fixed).expect("a cycle");
        Subscription { cycle, ..subscription(SubscriptionStatus::Active) }
    }

    #[test]
    fn a_day_has_the_invoices_of_its_periods_and_fifteen_more() {
        let bounds = Bounds::default();
        for (interval, limit) in [(Interval::Hour, 39), (Interval::Day, 16), (Interval::Month, 16)] {
            let mut one = of(interval);
            for _ in 0..limit {
                assert!(one.may_invoice(&bounds, at(100)));
                one.count_invoice(at(100));
            }
            assert!(!one.may_invoice(&bounds, at(86_399)), "{interval:?}");
            assert!(one.may_invoice(&bounds, at(86_400)), "the next day begins anew");
            one.count_invoice(at(86_400));
            assert_eq!(one.bounds.invoices, Some(DailyInvoices { day: at(86_400), count: 1 }));
        }
    }

    #[test]
    fn a_budget_counts_each_customer_alone() {
        let customer = |name: &str| CustomerId::parse(name).expect("an id");
        let count = |name: &str, count| (customer(name), ChargeCount { customer_id: customer(name), count, limit: 6 });
        let counts = HashMap::from([count("cus_1", 4), count("cus_2", 6)]);
        let mut budget = ChargeBudget { hour: Some(at(3_600)), counts, added: BTreeMap::new() };
        assert!(budget.take(&customer("cus_1")) && budget.take(&customer("cus_1")));
        assert!(!budget.take(&customer("cus_1")) && !budget.take(&customer("cus_2")));
        assert!(budget.take(&customer("cus_3")), "it has no subscriptions");
        assert_eq!(
            (budget.added, budget.hour.map(|hour| start_of(HOUR_SECONDS, hour))),
            (BTreeMap::from([(customer("cus_1"), 2)]), Some(at(3_600)))
        );
    }
}
