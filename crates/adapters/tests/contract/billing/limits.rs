//! The limits of automatic billing: what exceeds them waits, and nothing is declined.

use super::bench::{Billing, DAY, HOUR, HOURLY, MONTHLY};
use super::thresholds::seats_and_calls;
use crate::checkout_fixtures::id;
use souk_adapters::{on_both, on_one};
use souk_domain::billing::{
    self, BillingError, Bounds, ChargeCount, DailyInvoices, HoldReason, InvoiceStatus, Subscription, SubscriptionBounds, SubscriptionStatus,
};
use souk_domain::shared::{Amount, Timestamp};
use std::time::Duration;

impl Billing {
    /// Runs rounds until nothing is due, and returns the number of invoices.
    async fn bill(&self) -> usize {
        while self.round().await > 0 {}
        self.invoices().await.len()
    }
}

on_both! {
    async fn charges_of_a_customer_beyond_the_hourly_limit_wait_for_the_next_hour(db: &TestDatabase) {
        let billing = Billing::open(db, 10).await;
        let price = billing.price("price_1", 1, HOURLY).await;
        billing.insert(&billing.subscription("sub_1", &price, Duration::ZERO)).await;
        billing.wait(HOUR * 15);
        assert_eq!(billing.bill().await, 6);
        let held = billing.find("sub_1").await;
        assert_eq!((held.status, held.on_hold.map(|one| one.reason)), (SubscriptionStatus::Active, Some(HoldReason::ChargeLimit)));
        assert_eq!(held.bounds.resumes_at, Some(billing.start.plus(HOUR * 16)));
        for expected in [12, 17, 18] {
            billing.wait(HOUR);
            assert_eq!(billing.bill().await, expected);
        }
        let resumed = billing.find("sub_1").await;
        assert_eq!((resumed.on_hold, resumed.bounds.resumes_at, resumed.index), (None, None, Some(18)));
        assert!(billing.statuses().await.iter().all(|status| *status == InvoiceStatus::Paid));
        assert_eq!(billing.networks.store_balance().await, 18);
    }

    async fn concurrent_rounds_stay_within_the_hourly_limit(db: &TestDatabase) {
        let billing = Billing::open(db, 10).await;
        let price = billing.price("price_1", 1, HOURLY).await;
        for number in 1..=4 {
            billing.insert(&billing.subscription(&format!("sub_{number}"), &price, Duration::ZERO)).await;
        }
        billing.wait(HOUR * 15);
        for _ in 0..16 {
            let rounds = (0..4).map(|_| billing::renew_due(&billing.ctx, &billing::Scope::Wall, billing.ctx.now(), 2));
            for result in futures_util::future::join_all(rounds).await {
                assert!(matches!(result, Ok(_) | Err(BillingError::Contended)), "{result:?}");
            }
        }
        // What a conflict has delayed.
        billing.wait(Duration::from_secs(120));
        billing.bill().await;
        let mut connection = billing.database().read().await.expect("reads");
        let counted: u64 = connection.query("SELECT charges AS n FROM charge_counts").one().await.expect("one row").get("n").expect("a number");
        drop(connection);
        let charged = u64::try_from(billing.invoices().await.len()).expect("a number");
        assert_eq!((charged, counted), (24, 24), "four subscriptions allow 24 charges");
    }
}

on_both! {
    async fn a_clock_that_is_seconds_behind_counts_in_the_new_hour(db: &TestDatabase) {
        let billing = Billing::open(db, 10).await;
        let hour = |number: i64| Timestamp::from_seconds(billing.start.seconds() / 3_600 * 3_600 + number * 3_600);
        let add = async |at: Timestamp, count: u32| {
            let mut unit = billing.ctx.store.begin().await.expect("begins");
            let added = ChargeCount { customer_id: id("cus_1"), count, limit: 6 };
            let is_added = unit.charge_counts().add(&[added], at).await.expect("writes");
            if is_added {
                unit.commit().await.expect("commits");
            }
            is_added
        };
        let count = async |at: Timestamp| {
            let counts = billing.ctx.store.read().await.expect("reads").charge_counts().of(&[id("cus_1")], at).await.expect("reads");
            counts.first().map(|count| count.count)
        };
        assert!(add(hour(1), 5).await);
        assert!(add(hour(0), 1).await);
        assert_eq!((count(hour(0)).await, count(hour(1)).await), (None, Some(6)));
        assert!(!add(hour(0), 1).await && !add(hour(1), 1).await, "the limit holds for both");
        assert!(add(hour(2), 6).await);
        // Counted while the clock was ten years ahead.
        assert!(add(hour(90_000), 6).await && add(hour(3), 2).await);
        assert_eq!(count(hour(3)).await, Some(2));
    }
}

on_one! {
    async fn the_hourly_limit_grows_with_the_subscriptions(db: &TestDatabase) {
        let billing = Billing::open(db, 10).await;
        let price = billing.price("price_1", 1, MONTHLY).await;
        for number in 1..=20 {
            billing.insert(&billing.subscription(&format!("sub_{number}"), &price, DAY * 30)).await;
        }
        assert_eq!(billing.bill().await, 20);
        let mut unit = billing.ctx.store.read().await.expect("reads");
        let counts = unit.charge_counts().of(&[id("cus_1")], billing.start).await.expect("reads");
        assert_eq!((counts[0].count, counts[0].limit), (20, 120));
    }

    async fn an_owner_need_not_wait_for_the_next_hour(db: &TestDatabase) {
        let billing = Billing::open(db, 10).await;
        let price = billing.price("price_1", 1, HOURLY).await;
        billing.insert(&billing.subscription("sub_1", &price, Duration::ZERO)).await;
        billing.wait(HOUR * 15);
        assert_eq!(billing.bill().await, 6);
        billing::resume_billing(&billing.ctx, &id("sub_1"), None).await.expect("resumes");
        assert_eq!((billing.bill().await, billing.find("sub_1").await.on_hold), (15, None));
    }

    async fn invoices_beyond_the_daily_limit_wait_for_the_next_day(db: &TestDatabase) {
        let billing = Billing::open(db, 10).await;
        let price = billing.price("price_1", 1, HOURLY).await;
        let day = Timestamp::from_seconds(billing.start.seconds() / 86_400 * 86_400);
        let bounds = SubscriptionBounds { invoices: Some(DailyInvoices { day, count: 39 }), ..SubscriptionBounds::default() };
        billing.insert(&Subscription { bounds, ..billing.subscription("sub_1", &price, HOUR) }).await;
        assert_eq!(billing.bill().await, 0);
        let held = billing.find("sub_1").await;
        assert_eq!(held.on_hold.map(|one| one.reason), Some(HoldReason::InvoiceLimit));
        assert_eq!((held.due_at, held.bounds.resumes_at), (Some(day.plus(DAY)), Some(day.plus(DAY))));
        billing.wait(HOUR * 12);
        assert_eq!(billing.bill().await, 6, "the hourly limit applies as well");
        assert_eq!(billing.find("sub_1").await.bounds.invoices, Some(DailyInvoices { day: day.plus(DAY), count: 6 }));
    }

    async fn usage_beyond_the_limits_is_billed_with_the_period(db: &TestDatabase) {
        let billing = seats_and_calls(db).await;
        // Each report reaches the threshold.
        for _ in 0..8 {
            billing.used("si_2", 50).await;
        }
        assert_eq!(billing.invoices().await.len(), 6);
        billing.wait(DAY * 29);
        billing.bill().await;
        assert_eq!((billing.networks.store_balance().await, billing.find("sub_1").await.index), (400, Some(1)));
    }

    async fn retries_beyond_the_hourly_limit_wait_for_the_next_hour(db: &TestDatabase) {
        let billing = Billing::open(db, 10).await;
        let price = billing.price("price_1", 1, MONTHLY).await;
        let one = billing.subscription("sub_1", &price, DAY);
        let behind = Subscription { status: SubscriptionStatus::PastDue, past_due_since: Some(billing.start), ..one };
        billing.insert(&behind).await;
        for number in 1..=8 {
            let overdue = billing.overdue_invoice(&format!("in_{number}"), &behind, number, Amount::new(1));
            billing.insert_invoice(&billing::Invoice { retry_at: Some(billing.start), ..overdue }).await;
        }
        assert_eq!(billing.retry().await, 6);
        assert_eq!(billing.retry().await, 0);
        billing.wait(HOUR);
        assert_eq!(billing.retry().await, 2);
        assert!(billing.statuses().await.iter().all(|status| *status == InvoiceStatus::Paid), "nothing was declined");
    }

    async fn a_simulation_has_no_bounds(db: &TestDatabase) {
        let mut billing = Billing::open(db, 10).await;
        let price = billing.price("price_1", 1, HOURLY).await;
        billing.insert(&billing.subscription("sub_1", &price, Duration::ZERO)).await;
        assert_eq!(billing.ctx.policy.bounds, Some(Bounds::default()));
        billing.ctx.policy.bounds = None;
        billing.wait(HOUR * 40);
        assert_eq!(billing.bill().await, 40);
    }
}
