//! Usage that is billed before its period ends is neither charged nor credited twice.

use super::bench::{Billing, DAY, MONTHLY};
use crate::catalogue::price;
use crate::checkout_fixtures::id;
use crate::ledger::bench::UNIT;
use souk_adapters::on_one;
use souk_adapters::persistence::SqlPrices;
use souk_adapters::testing::TestDatabase;
use souk_domain::billing::{self, InvoiceStatus, PlanChoice, PlanOrder, PlanSwitch, Requester, Subscription, SubscriptionItem, Threshold};
use souk_domain::pricing::{Aggregate, Price, Prices, Recurring, Tier, TiersMode, Usage};
use souk_domain::shared::Amount;
use std::time::Duration;

pub const fn metered(aggregate: Aggregate) -> Recurring {
    Recurring { usage: Usage::Metered(aggregate), ..MONTHLY }
}

/// A subscription with a billing threshold of 50 tokens. The usage of `si_1` is its last report, that of `si_2` the sum of its reports.
pub async fn seats_and_calls(db: &TestDatabase) -> Billing {
    permitted(db, 1_000).await
}

/// Like [`seats_and_calls`], with a mandate for charges of at most `tokens` tokens.
pub async fn permitted(db: &TestDatabase, tokens: u128) -> Billing {
    let billing = Billing::open(db, tokens).await;
    let seats = billing.price("price_1", 1, metered(Aggregate::Last)).await;
    let calls = billing.price("price_2", 1, metered(Aggregate::Sum)).await;
    let mut one = billing.subscription("sub_1", &seats, DAY);
    one.items.push(SubscriptionItem { id: id("si_2"), price_id: calls.id, ..one.items[0].clone() });
    one.billing_threshold = Some(Threshold { amount: Amount::new(50 * UNIT), resets_anchor: false });
    billing.insert(&one).await;
    billing
}

impl Billing {
    async fn take_plan(&self, price: &str) {
        self.wait(Duration::from_secs(60));
        let choice = PlanChoice { price: id(price), quantity: None, item: None };
        let shown = billing::preview_plan(&self.ctx, &id("sub_1"), &choice).await.expect("is shown");
        let order = PlanOrder { choice, at: shown.at, expected: shown.total, credited: Some(shown.credited) };
        assert_eq!(
            billing::switch_plan(&self.ctx, &id("sub_1"), &order, Requester::Customer).await.expect("changes"),
            PlanSwitch::Switched
        );
        self.send_all().await;
    }

    /// Returns the paid amount less the balance, in whole tokens. Asserts that every invoice is paid.
    pub async fn spent(&self) -> u128 {
        assert!(self.statuses().await.iter().all(|status| *status == InvoiceStatus::Paid));
        self.networks.store_balance().await - self.customer_balance().await / UNIT
    }
}

on_one! {
    async fn usage_that_falls_between_invoices_is_credited_once(db: &TestDatabase) {
        let billing = seats_and_calls(db).await;
        billing.used("si_1", 100).await;
        assert_eq!(billing.spent().await, 100);
        billing.used("si_1", 20).await;
        billing.used("si_2", 60).await;
        assert_eq!(billing.spent().await, 80, "20 seats and 60 calls");
        billing.used("si_2", 50).await;
        assert_eq!(billing.spent().await, 130, "20 seats and 110 calls");
        billing.used("si_1", 90).await;
        assert_eq!(billing.spent().await, 200, "90 seats and 110 calls: credited usage is billed again");
        billing.wait(DAY * 30);
        billing.round().await;
        let last = billing.last().await;
        assert_eq!((last.total, billing.spent().await), (Amount::ZERO, 200), "no usage is left to bill or credit");
        let kept: Subscription = billing.find("sub_1").await;
        assert!(kept.items.iter().all(|item| item.billed.is_none()));
        billing.is_sound().await;
    }

    async fn a_plan_change_does_not_restart_a_free_tier(db: &TestDatabase) {
        let billing = Billing::open(db, 10_000).await;
        let tier = |up_to, tokens: u128| Tier { up_to, unit_amount: Amount::new(tokens * UNIT), flat_amount: Amount::ZERO };
        let mut connection = billing.database().begin().await.expect("begins");
        let mut prices = Vec::new();
        for (name, tokens) in [("price_1", 1), ("price_2", 2)] {
            let tiers = vec![tier(Some(100), 0), tier(None, tokens)];
            let tiered = Price { tiers_mode: Some(TiersMode::Graduated), tiers, recurring: Some(metered(Aggregate::Sum)), locked: true, ..price(name, 0) };
            SqlPrices(&mut connection).insert(&tiered).await.expect("inserts");
            prices.push(tiered);
        }
        connection.commit().await.expect("commits");
        billing.insert(&billing.subscription("sub_1", &prices[0], DAY)).await;
        for price in ["price_2", "price_1", "price_2"] {
            billing.used("si_1", 90).await;
            billing.take_plan(price).await;
        }
        assert_eq!(billing.spent().await, 80 * 2 + 90, "180 of which 100 are free at the dear price, then 90 at the cheap one");
        billing.wait(DAY * 30);
        billing.round().await;
        assert_eq!(billing.last().await.total, Amount::ZERO, "all was billed at the price of then");
    }

    async fn usage_counted_by_its_last_report_is_billed_once_at_the_most_expensive_plan(db: &TestDatabase) {
        let billing = Billing::open(db, 10_000).await;
        let seats = billing.price("price_1", 1, metered(Aggregate::Max)).await;
        billing.price("price_2", 3, metered(Aggregate::Max)).await;
        billing.price("price_3", 2, metered(Aggregate::Sum)).await;
        billing.insert(&billing.subscription("sub_1", &seats, DAY)).await;
        billing.used("si_1", 10).await;
        let others: Vec<_> = billing::plans(&billing.ctx, &id("sub_1")).await.expect("plans").into_iter().map(|plan| plan.price.id).collect();
        assert_eq!(others, [id("price_2")], "a price with another aggregation is not offered");
        billing.take_plan("price_2").await;
        assert_eq!(billing.spent().await, 10);
        for price in ["price_1", "price_2", "price_1"] {
            billing.take_plan(price).await;
            assert_eq!(billing.spent().await, 30, "the ten at three, once");
        }
        billing.wait(DAY * 30);
        billing.round().await;
        assert_eq!(billing.spent().await, 30);
    }

    async fn usage_billed_after_a_plan_change_is_credited_when_it_falls(db: &TestDatabase) {
        let billing = Billing::open(db, 10_000).await;
        let seats = billing.price("price_1", 2, metered(Aggregate::Last)).await;
        billing.price("price_2", 1, metered(Aggregate::Last)).await;
        let mut one = billing.subscription("sub_1", &seats, DAY);
        one.billing_threshold = Some(Threshold { amount: Amount::new(50 * UNIT), resets_anchor: false });
        billing.insert(&one).await;
        billing.used("si_1", 10).await;
        billing.take_plan("price_2").await;
        assert_eq!(billing.spent().await, 20, "10 seats at 2");
        billing.used("si_1", 100).await;
        assert_eq!(billing.spent().await, 100, "100 seats at 1, of which 20 were billed before the change");
        billing.used("si_1", 5).await;
        billing.wait(DAY * 30);
        billing.round().await;
        assert_eq!(billing.spent().await, 20, "all but what was billed at the earlier price is credited");
        billing.is_sound().await;
    }

    async fn a_threshold_bills_only_usage_after_a_requested_cancellation(db: &TestDatabase) {
        let billing = Billing::open(db, 1_000).await;
        let calls = billing.price("price_2", 1, metered(Aggregate::Sum)).await;
        let seat = billing.price("price_1", 30, MONTHLY).await;
        let mut one = billing.subscription("sub_1", &seat, DAY);
        one.items.push(SubscriptionItem { id: id("si_2"), price_id: calls.id, ..one.items[0].clone() });
        one.billing_threshold = Some(Threshold { amount: Amount::new(50 * UNIT), resets_anchor: true });
        one.cancel_at_period_end = true;
        billing.insert(&one).await;
        let ends = billing.find("sub_1").await.ends_at();
        billing.wait(DAY * 20);
        billing.used("si_2", 60).await;
        billing.send_all().await;
        assert_eq!((billing.find("sub_1").await.ends_at(), billing.spent().await), (ends, 60));
    }
}
