//! Usage of metered items, aggregated by the database.

use super::bench::{Billing, DAY, MONTHLY};
use crate::checkout_fixtures::id;
use crate::ledger::bench::UNIT;
use souk_adapters::on_one;
use souk_domain::billing::{
    self, BillingReason, CancelAt, CancelTerms, RefundChoice, Requester, StakeChoice, Subscription, USAGE_MAX, UsageAction, UsageRecord,
    UsageReport,
};
use souk_domain::pricing::{Aggregate, Recurring, Usage};
use souk_domain::shared::{Amount, Mode, Timestamp};
use std::time::Duration;

const METERED: Recurring = Recurring { usage: Usage::Metered(Aggregate::Sum), ..MONTHLY };

/// Aggregates records one by one, as the expected value.
fn total(records: &[UsageRecord], aggregate: Aggregate) -> u64 {
    let add = |total: u64, record: &UsageRecord| match record.action {
        UsageAction::Increment => total + record.quantity,
        UsageAction::Set => record.quantity,
    };
    match aggregate {
        Aggregate::Sum => records.iter().fold(0, add),
        Aggregate::Last => records.last().map_or(0, |record| record.quantity),
        Aggregate::Max => records.iter().map(|record| record.quantity).max().unwrap_or(0),
    }
}

on_one! {
    async fn the_database_aggregates_records_like_the_reference_computation(db: &TestDatabase) {
        let billing = Billing::open(db, 100).await;
        let price = billing.price("price_1", 3, METERED).await;
        let one = billing.subscription("sub_1", &price, DAY);
        billing.insert(&one).await;
        let item = &one.items[0].id;
        let mut records: Vec<UsageRecord> = Vec::new();
        let mut unit = billing.ctx.store.begin().await.expect("begins");
        for number in 0..120u32 {
            let [second, action, size, quantity] = billing.ctx.random.bytes::<4>();
            // Several records fall into the same second, and some have the maximum quantity.
            let at = billing.start.plus(Duration::from_secs(u64::from(second % 40)));
            let record = UsageRecord {
                id: id(&format!("ur_{number:03}")),
                item_id: item.clone(),
                identifier: format!("{number}"),
                quantity: if size < 16 { USAGE_MAX } else { u64::from(quantity) },
                action: if action < 12 { UsageAction::Set } else { UsageAction::Increment },
                at,
                created_at: at,
            };
            unit.usage().insert(&record).await.expect("inserts");
            records.push(record);
        }
        records.sort_by(|one, other| (one.at, &one.id).cmp(&(other.at, &other.id)));
        let at = |second: u64| billing.start.plus(Duration::from_secs(second));
        for (from, to) in (0..40).flat_map(|from| [(from, from), (from, from + 1), (from, from + 7), (from, 40)]) {
            let within: Vec<_> = records.iter().filter(|record| record.at >= at(from) && record.at < at(to)).cloned().collect();
            for aggregate in Aggregate::ALL {
                let used = unit.usage().used(item, aggregate, at(from), at(to)).await.expect("counts");
                assert_eq!(used, total(&within, aggregate), "{aggregate:?} from {from} to {to}");
            }
        }
    }

    async fn usage_before_a_late_round_is_billed_in_the_period_it_falls_into(db: &TestDatabase) {
        let billing = Billing::open(db, 100).await;
        let price = billing.price("price_1", 3, METERED).await;
        let one = billing.subscription("sub_1", &price, DAY * 29);
        billing.insert(&one).await;
        let report = |name: &str, quantity: u64, at: Option<Timestamp>| UsageReport {
            item: one.items[0].id.clone(),
            quantity,
            action: UsageAction::Increment,
            at,
            identifier: Some(name.to_owned()),
        };
        billing.wait(DAY * 2);
        billing::report_usage(&billing.ctx, Mode::Test, &report("a", 4, Some(billing.start))).await.expect("is taken");
        billing::report_usage(&billing.ctx, Mode::Test, &report("b", 5, None)).await.expect("is taken, though the round is late");
        billing.round().await;
        assert_eq!(billing.invoices().await[0].total, Amount::new(12 * UNIT));
        billing.wait(DAY * 30);
        billing.round().await;
        assert_eq!(billing.invoices().await[1].total, Amount::new(15 * UNIT));
    }

    async fn usage_before_a_late_round_is_billed_even_if_the_store_cancels_first(db: &TestDatabase) {
        let billing = Billing::open(db, 100).await;
        let price = billing.price("price_1", 3, METERED).await;
        let one = billing.subscription("sub_1", &price, DAY * 29);
        billing.insert(&one).await;
        billing.wait(DAY * 2);
        let item = one.items[0].id.clone();
        for (name, quantity, at) in [("a", 4, Some(billing.start)), ("b", 5, None)] {
            let identifier = Some(name.to_owned());
            let report = UsageReport { item: item.clone(), quantity, action: UsageAction::Increment, at, identifier };
            billing::report_usage(&billing.ctx, Mode::Test, &report).await.expect("is taken");
        }
        billing.wait(Duration::from_secs(1));
        let terms = CancelTerms {
            at: CancelAt::Now,
            refund: RefundChoice::None,
            stake: StakeChoice::None,
            slash_reason: String::new(),
            feedback: None,
            comment: String::new(),
        };
        billing::cancel(&billing.ctx, Requester::Store, &one.id, &terms).await.expect("ends");
        let billed: Vec<_> = billing.invoices().await.iter().map(|invoice| (invoice.reason, invoice.total)).collect();
        assert_eq!(billed, [(BillingReason::SubscriptionCancel, Amount::new(27 * UNIT))]);
    }

    async fn usage_after_the_end_is_rejected_even_if_the_round_is_late(db: &TestDatabase) {
        let billing = Billing::open(db, 100).await;
        let price = billing.price("price_1", 3, METERED).await;
        let one = Subscription { cancel_at_period_end: true, ..billing.subscription("sub_1", &price, DAY * 29) };
        billing.insert(&one).await;
        billing.wait(DAY * 2);
        let item = one.items[0].id.clone();
        let report = UsageReport { item, quantity: 4, action: UsageAction::Increment, at: None, identifier: None };
        let refused = billing::report_usage(&billing.ctx, Mode::Test, &report).await;
        assert!(matches!(refused, Err(billing::ReportUsageError::UsageOutOfPeriod)), "{refused:?}");
    }
}
