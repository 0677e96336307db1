//! Subscriptions with more unbilled periods than the engine bills automatically wait for an owner's decision.

use super::bench::{Billing, DAY, HOUR, HOURLY, MONTHLY};
use super::thresholds::metered;
use crate::checkout_fixtures::id;
use souk_adapters::{on_both, on_one};
use souk_domain::billing::{
    self, CatchUp, HoldReason, InvoiceStatus, ResumeBillingError, Subscription, SubscriptionFilter, SubscriptionStatus, UsageAction,
    UsageReport,
};
use souk_domain::pricing::Aggregate;
use souk_domain::shared::{Amount, Mode, Page, Timestamp};
use std::time::Duration;

const YEARS: Duration = Duration::from_secs(3_650 * 86_400);

impl Billing {
    async fn held_reason(&self, name: &str) -> Option<HoldReason> {
        self.find(name).await.on_hold.map(|on_hold| on_hold.reason)
    }

    /// Runs rounds until nothing is due.
    async fn rounds(&self) {
        while self.round().await > 0 {}
    }

    /// Returns the starts of the invoiced periods in days since the bench was opened, oldest first.
    async fn billed_days(&self) -> Vec<i64> {
        let day = |at: Timestamp| (at.seconds() - self.start.seconds()) / 86_400;
        let mut days: Vec<_> = self.invoices().await.iter().map(|invoice| day(invoice.period.expect("a period").start)).collect();
        days.sort_unstable();
        days
    }
}

on_both! {
    async fn many_unbilled_periods_put_a_subscription_on_hold_and_nothing_is_charged(db: &TestDatabase) {
        let billing = Billing::open(db, 10).await;
        let price = billing.price("price_1", 5, MONTHLY).await;
        billing.insert(&billing.subscription("sub_1", &price, DAY * 30)).await;
        billing.wait(DAY * 31);
        billing.rounds().await;
        assert_eq!((billing.find("sub_1").await.index, billing.invoices().await.len()), (Some(2), 2), "two periods are caught up");
        billing.wait(YEARS);
        billing.rounds().await;
        assert_eq!(billing.held_reason("sub_1").await, Some(HoldReason::UnbilledPeriods));
        let held = billing.find("sub_1").await;
        assert_eq!((held.status, held.index, held.due_at), (SubscriptionStatus::Active, Some(2), None), "access continues");
        assert_eq!((billing.invoices().await.len(), billing.networks.store_balance().await), (2, 10));
        assert_eq!(billing.round().await, 0);
    }

    async fn each_choice_bills_its_periods_once_and_no_other(db: &TestDatabase) {
        let billing = Billing::open(db, 10).await;
        let price = billing.price("price_1", 5, MONTHLY).await;
        for name in ["sub_1", "sub_2", "sub_3"] {
            billing.insert(&billing.subscription(name, &price, DAY * 29)).await;
        }
        billing.wait(DAY * 135);
        billing.rounds().await;
        assert_eq!(billing.invoices().await.len(), 0);
        for (name, choice, expected) in [
            ("sub_1", CatchUp::EveryPeriod, [1, 31, 61, 91, 121].as_slice()),
            ("sub_2", CatchUp::CurrentPeriod, [121].as_slice()),
            ("sub_3", CatchUp::Skip, [].as_slice()),
        ] {
            billing::resume_billing(&billing.ctx, &id(name), Some(choice)).await.expect("resumes");
            let before = billing.billed_days().await;
            billing.rounds().await;
            let mut days = billing.billed_days().await;
            for day in before {
                let place = days.iter().position(|other| *other == day).expect("no invoice vanishes");
                days.remove(place);
            }
            assert_eq!(days, expected, "{choice:?}");
            let resumed = billing.find(name).await;
            assert_eq!((resumed.on_hold, resumed.index), (None, Some(5)), "{choice:?}");
            assert_eq!(resumed.period.start, billing.start.plus(DAY * 121), "{choice:?}");
        }
        assert!(billing.statuses().await.iter().all(|status| *status == InvoiceStatus::Paid));
        assert_eq!(billing.networks.store_balance().await, 30);
        // The next period is billed as usual, for each of them.
        billing.wait(DAY * 16);
        billing.rounds().await;
        assert_eq!((billing.networks.store_balance().await, billing.invoices().await.len()), (45, 9));
    }

    async fn concurrent_choices_apply_once(db: &TestDatabase) {
        let billing = Billing::open(db, 10).await;
        let price = billing.price("price_1", 5, MONTHLY).await;
        for number in 1..=3 {
            billing.insert(&billing.subscription(&format!("sub_{number}"), &price, DAY * 29)).await;
        }
        billing.wait(DAY * 135);
        billing.rounds().await;
        let all = || billing::resume_all_billing(&billing.ctx, Mode::Test, CatchUp::CurrentPeriod);
        let (first, second) = tokio::join!(all(), all());
        // The second call finds nothing left, or loses a race and can be repeated.
        let resumed = [first, second].into_iter().filter_map(Result::ok).sum::<u64>() + all().await.expect("resumes");
        assert_eq!(resumed, 3);
        billing.rounds().await;
        assert_eq!((billing.billed_days().await, billing.networks.store_balance().await), (vec![121; 3], 15));
        assert_eq!(billing::resume_all_billing(&billing.ctx, Mode::Live, CatchUp::Skip).await.expect("finds none"), 0);
    }
}

on_one! {
    async fn an_outage_of_a_day_is_caught_up_without_a_decision(db: &TestDatabase) {
        let billing = Billing::open(db, 10).await;
        let price = billing.price("price_1", 1, HOURLY).await;
        billing.insert(&billing.subscription("sub_1", &price, Duration::ZERO)).await;
        billing.wait(HOUR * 5);
        billing.rounds().await;
        assert_eq!((billing.held_reason("sub_1").await, billing.find("sub_1").await.index), (None, Some(5)));
        billing.wait(HOUR * 26);
        billing.rounds().await;
        assert_eq!((billing.held_reason("sub_1").await, billing.find("sub_1").await.index), (Some(HoldReason::UnbilledPeriods), Some(5)));
    }

    async fn a_hold_for_unbilled_periods_needs_a_choice(db: &TestDatabase) {
        let billing = Billing::open(db, 10).await;
        let price = billing.price("price_1", 5, MONTHLY).await;
        billing.insert(&billing.subscription("sub_1", &price, DAY * 29)).await;
        billing.wait(DAY * 135);
        billing.rounds().await;
        let resumed = billing::resume_billing(&billing.ctx, &id("sub_1"), None).await;
        assert!(matches!(resumed, Err(ResumeBillingError::ChoiceRequired)), "{resumed:?}");
        assert_eq!(billing.held_reason("sub_1").await, Some(HoldReason::UnbilledPeriods));
        let filter = SubscriptionFilter { on_hold: true, ..SubscriptionFilter::default() };
        let mut unit = billing.ctx.store.read().await.expect("reads");
        let listed = unit.subscriptions().list(Mode::Test, &filter, &Page::new(None, None)).await.expect("reads");
        assert_eq!((listed.count, listed.list[0].id.as_str()), (1, "sub_1"));
        let expanded = billing::expand_subscriptions(&billing.ctx, unit.as_mut(), listed.list).await.expect("reads");
        assert_eq!(expanded[0].unbilled_periods, 5);
        drop(unit);
        billing::resume_billing(&billing.ctx, &id("sub_1"), Some(CatchUp::Skip)).await.expect("resumes");
        let mut unit = billing.ctx.store.read().await.expect("reads");
        assert_eq!(unit.subscriptions().list(Mode::Test, &filter, &Page::new(None, None)).await.expect("reads").count, 0);
    }

    async fn dunning_waits_while_a_subscription_is_on_hold(db: &TestDatabase) {
        let billing = Billing::open(db, 10).await;
        let price = billing.price("price_1", 5, MONTHLY).await;
        let one = billing.subscription("sub_1", &price, DAY * 29);
        billing.insert(&one).await;
        billing.wait(DAY * 135);
        billing.rounds().await;
        let held_at = billing.ctx.now();
        // A charge that was in flight when it was put on hold is declined.
        let overdue = billing::Invoice { retry_at: Some(held_at.plus(DAY)), ..billing.overdue_invoice("in_1", &one, 1, Amount::new(9)) };
        billing.insert_invoice(&overdue).await;
        let held = billing.find("sub_1").await;
        let behind = Subscription { status: SubscriptionStatus::PastDue, past_due_since: Some(held_at), ..held };
        let mut unit = billing.ctx.store.begin().await.expect("begins");
        assert!(unit.subscriptions().update(&behind).await.expect("writes"));
        unit.commit().await.expect("commits");
        billing.wait(DAY * 20);
        billing.rounds().await;
        assert_eq!(billing.retry().await, 0, "nothing is collected on hold");
        assert_eq!(billing.find("sub_1").await.status, SubscriptionStatus::PastDue, "it does not end");
        billing::resume_billing(&billing.ctx, &id("sub_1"), Some(CatchUp::Skip)).await.expect("resumes");
        assert_eq!(billing.find("sub_1").await.past_due_since, Some(held_at.plus(DAY * 20)));
        assert_eq!(billing.retry().await, 1, "the retry that fell due is made up for");
        billing.rounds().await;
        assert_eq!(billing.find("sub_1").await.status, SubscriptionStatus::Active);
    }

    async fn the_dunning_deadline_of_an_outage_waits_for_the_decision_as_well(db: &TestDatabase) {
        let billing = Billing::open(db, 10).await;
        let price = billing.price("price_1", 5, MONTHLY).await;
        let one = billing.subscription("sub_1", &price, DAY * 29);
        let behind = Subscription { status: SubscriptionStatus::PastDue, past_due_since: Some(billing.start), ..one };
        billing.insert(&behind).await;
        billing.insert_invoice(&billing.overdue_invoice("in_1", &behind, 1, Amount::new(9))).await;
        billing.wait(DAY * 135);
        billing.rounds().await;
        let held = billing.find("sub_1").await;
        assert_eq!((held.status, held.on_hold.map(|one| one.reason)), (SubscriptionStatus::PastDue, Some(HoldReason::UnbilledPeriods)));
    }

    async fn a_requested_end_is_carried_out_however_late(db: &TestDatabase) {
        let billing = Billing::open(db, 10).await;
        let price = billing.price("price_1", 5, MONTHLY).await;
        billing.insert(&Subscription { cancel_at_period_end: true, ..billing.subscription("sub_1", &price, DAY * 29) }).await;
        billing.insert(&Subscription { cancel_at: Some(billing.start.plus(DAY * 100)), ..billing.subscription("sub_2", &price, DAY * 29) }).await;
        billing.wait(YEARS);
        billing.rounds().await;
        for name in ["sub_1", "sub_2"] {
            let ended = billing.find(name).await;
            assert_eq!((ended.status, ended.on_hold, ended.due_at), (SubscriptionStatus::Canceled, None, None), "{name}");
        }
        assert_eq!(billing.invoices().await, [], "periods without a decision lapse");
    }

    async fn paused_time_is_neither_billed_nor_held(db: &TestDatabase) {
        let billing = Billing::open(db, 10).await;
        let price = billing.price("price_1", 5, MONTHLY).await;
        billing.insert(&billing.subscription("sub_1", &price, DAY)).await;
        billing::pause(&billing.ctx, &id("sub_1")).await.expect("pauses");
        billing.wait(DAY * 400);
        billing.rounds().await;
        billing::resume(&billing.ctx, &id("sub_1")).await.expect("resumes");
        billing.send_all().await;
        billing.rounds().await;
        assert_eq!((billing.held_reason("sub_1").await, billing.invoices().await.len()), (None, 1));
    }

    async fn usage_of_skipped_periods_is_never_billed(db: &TestDatabase) {
        let billing = Billing::open(db, 1_000).await;
        let price = billing.price("price_1", 1, metered(Aggregate::Sum)).await;
        billing.insert(&billing.subscription("sub_1", &price, DAY * 29)).await;
        billing.wait(DAY * 125);
        billing.rounds().await;
        billing::resume_billing(&billing.ctx, &id("sub_1"), Some(CatchUp::Skip)).await.expect("resumes");
        let report = UsageReport {
            item: id("si_1"),
            quantity: 7,
            action: UsageAction::Increment,
            at: None,
            identifier: None,
        };
        billing::report_usage(&billing.ctx, Mode::Test, &report).await.expect("counts");
        let late = UsageReport { at: Some(billing.start.plus(DAY * 40)), ..report };
        assert!(billing::report_usage(&billing.ctx, Mode::Test, &late).await.is_err(), "its period was skipped");
        billing.wait(DAY * 30);
        billing.rounds().await;
        assert_eq!((billing.billed_days().await, billing.networks.store_balance().await), (vec![151], 7));
    }
}
