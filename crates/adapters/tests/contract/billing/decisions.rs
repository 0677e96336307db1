//! What an owner decides about unbilled periods, what cannot happen before, and what happens without a decision.

use super::bench::{Billing, DAY, DoubtedClock, HOUR, MONTHLY};
use super::clocks::clock;
use super::thresholds::{metered, seats_and_calls};
use crate::checkout_fixtures::id;
use crate::ledger::bench::UNIT;
use souk_adapters::testing::TestDatabase;
use souk_adapters::{on_both, on_one};
use souk_domain::billing::{
    self, CancelAt, CancelTerms, CatchUp, HoldReason, InvoiceStatus, PlanChoice, RefundChoice, Requester, ResumeBillingError, Scope,
    StakeChoice, Subscription, SubscriptionError, SubscriptionFilter, SubscriptionStatus,
};
use souk_domain::operation::{self, ClockDoubt, StoredDoubt, TimeSource};
use souk_domain::pricing::Aggregate;
use souk_domain::shared::{Amount, Mode, Page};
use std::sync::Arc;

impl Billing {
    async fn settle_rounds(&self) {
        self.send_all().await;
        while self.round().await > 0 {}
    }

    async fn change(&self, name: &str, change: impl FnOnce(Subscription) -> Subscription) {
        let after = change(self.find(name).await);
        let mut unit = self.ctx.store.begin().await.expect("begins");
        assert!(unit.subscriptions().update(&after).await.expect("writes"));
        unit.commit().await.expect("commits");
    }

    async fn held_count(&self) -> u64 {
        let filter = SubscriptionFilter { on_hold: true, ..SubscriptionFilter::default() };
        let mut unit = self.ctx.store.read().await.expect("reads");
        unit.subscriptions().list(Mode::Test, &filter, &Page::new(None, None)).await.expect("reads").count
    }

    async fn decide(&self, name: &str, choice: CatchUp) -> Result<(), ResumeBillingError> {
        billing::resume_billing(&self.ctx, &id(name), Some(choice)).await
    }
}

/// Subscriptions with five unbilled periods.
async fn held(db: &TestDatabase, count: u32) -> Billing {
    let billing = Billing::open(db, 1_000).await;
    let price = billing.price("price_1", 5, MONTHLY).await;
    for number in 1..=count {
        billing.insert(&billing.subscription(&format!("sub_{number}"), &price, DAY * 29)).await;
    }
    billing.wait(DAY * 135);
    billing.settle_rounds().await;
    assert_eq!(billing.held_count().await, u64::from(count));
    billing
}

on_both! {
    async fn a_requested_end_does_not_wait_for_a_decision(db: &TestDatabase) {
        let billing = held(db, 4).await;
        let end = billing.start.plus(DAY * 200);
        billing.change("sub_1", |one| Subscription { cancel_at: Some(end), ..one }).await;
        // Its stake was revoked.
        billing.change("sub_2", |one| Subscription { cancel_at_period_end: true, ..one }).await;
        let terms = CancelTerms {
            at: CancelAt::PeriodEnd,
            refund: RefundChoice::None,
            stake: StakeChoice::None,
            slash_reason: String::new(),
            feedback: None,
            comment: String::new(),
        };
        billing::cancel(&billing.ctx, Requester::Customer, &id("sub_3"), &terms).await.expect("its period is over");
        assert_eq!(billing.find("sub_1").await.due_at, Some(end));
        billing.settle_rounds().await;
        let state = async |name: &str| {
            let one = billing.find(name).await;
            (one.status, one.on_hold.map(|on_hold| on_hold.reason), one.bounds.held_at.is_some())
        };
        assert_eq!(state("sub_1").await, (SubscriptionStatus::Active, Some(HoldReason::UnbilledPeriods), true));
        assert_eq!(state("sub_2").await, (SubscriptionStatus::Canceled, None, false));
        assert_eq!(state("sub_3").await, (SubscriptionStatus::Canceled, None, false));
        billing.wait(DAY * 65);
        billing.settle_rounds().await;
        assert_eq!(state("sub_1").await, (SubscriptionStatus::Canceled, None, false));
        assert_eq!(billing.invoices().await, [], "periods without a decision lapse");
        assert_eq!(billing.held_count().await, 1);
        assert_eq!(billing::resume_all_billing(&billing.ctx, Mode::Test, CatchUp::Skip).await.expect("resumes"), 1);
    }

    async fn an_unreadable_subscription_does_not_block_a_decision_for_all(db: &TestDatabase) {
        let billing = held(db, 2).await;
        billing.write("UPDATE subscriptions SET status = 'unheard_of' WHERE id = 'sub_1'").await;
        for choice in [CatchUp::EveryPeriod, CatchUp::EveryPeriod] {
            billing::resume_all_billing(&billing.ctx, Mode::Test, choice).await.expect("resumes");
        }
        billing.write("UPDATE subscriptions SET status = 'active' WHERE id = 'sub_1'").await;
        let (first, second) = (billing.find("sub_1").await, billing.find("sub_2").await);
        assert_eq!((first.on_hold.map(|on_hold| on_hold.reason), second.on_hold), (Some(HoldReason::Unreadable), None));
        assert!(first.bounds.held_at.is_some());
    }

    async fn dunning_waits_on_hold_by_a_test_clock_too(db: &TestDatabase) {
        let billing = Billing::open(db, 10).await;
        let price = billing.price("price_1", 5, MONTHLY).await;
        let clock = clock(&billing).await;
        let one = Subscription { clock_id: Some(clock.clone()), ..billing.subscription("sub_1", &price, DAY) };
        billing.insert(&one).await;
        let overdue = billing.overdue_invoice("in_1", &one, 1, Amount::new(9));
        let overdue = billing::Invoice { retry_at: Some(billing.start), clock_id: Some(clock.clone()), ..overdue };
        billing.insert_invoice(&overdue).await;
        billing.write("UPDATE subscriptions SET on_hold = 'other'").await;
        let retried = async || billing::retry_due(&billing.ctx, &Scope::Clock(clock.clone()), billing.start, 9).await.expect("retries").due;
        let next = async || billing.ctx.store.read().await.expect("reads").invoices().next_retry(&clock).await.expect("reads");
        assert_eq!((retried().await, next().await), (0, None));
        billing.write("UPDATE subscriptions SET on_hold = NULL").await;
        assert_eq!(next().await, Some(billing.start));
        assert_eq!(retried().await, 1);
    }
}

on_one! {
    async fn nothing_changes_what_is_billed_before_the_decision(db: &TestDatabase) {
        let billing = held(db, 1).await;
        let paused = billing::pause(&billing.ctx, &id("sub_1")).await;
        assert!(matches!(paused, Err(SubscriptionError::Undecided)), "{paused:?}");
        let choice = PlanChoice { price: id("price_1"), quantity: Some(2), item: None };
        let planned = billing::preview_plan(&billing.ctx, &id("sub_1"), &choice).await;
        assert!(matches!(planned, Err(billing::PlanError::Subscription(SubscriptionError::Undecided))), "{planned:?}");
        billing.decide("sub_1", CatchUp::Skip).await.expect("resumes");
        assert_eq!(billing::pause(&billing.ctx, &id("sub_1")).await.expect("pauses").status, SubscriptionStatus::Paused);
        let again = billing.decide("sub_1", CatchUp::Skip).await;
        assert!(matches!(again, Err(ResumeBillingError::NotOnHold)), "{again:?}");
    }

    async fn no_decision_is_taken_by_a_clock_that_is_not_trusted(db: &TestDatabase) {
        let mut billing = held(db, 1).await;
        let doubt = ClockDoubt { source: TimeSource::Network, ahead_seconds: 900 };
        let doubt = StoredDoubt { process: "1f".to_owned(), host: "h".to_owned(), doubt, at: billing.start, renewals: 0 };
        let mut unit = billing.ctx.store.begin().await.expect("begins");
        unit.clock_states().raise(&doubt, 0).await.expect("raises");
        unit.commit().await.expect("commits");
        for choice in CatchUp::ALL {
            let refused = billing.decide("sub_1", choice).await;
            assert!(matches!(refused, Err(ResumeBillingError::ClockNotTrusted)), "{refused:?}");
            let refused = billing::resume_all_billing(&billing.ctx, Mode::Test, choice).await;
            assert!(matches!(refused, Err(ResumeBillingError::ClockNotTrusted)), "{refused:?}");
        }
        operation::confirm_clock(&billing.ctx).await.expect("confirms");
        let trust = std::mem::replace(&mut billing.ctx.trust, Arc::new(DoubtedClock));
        assert!(billing.decide("sub_1", CatchUp::Skip).await.is_err(), "this process has not stored its doubt yet");
        billing.ctx.trust = trust;
        billing.decide("sub_1", CatchUp::Skip).await.expect("resumes");
    }

    async fn skipping_bills_the_usage_of_the_last_billed_period_and_none_of_the_skipped_ones(db: &TestDatabase) {
        let billing = Billing::open(db, 1_000).await;
        let price = billing.price("price_1", 1, metered(Aggregate::Sum)).await;
        for name in ["sub_1", "sub_2"] {
            billing.insert(&billing.subscription(name, &price, DAY * 20)).await;
        }
        let report = async |quantity: u64| {
            billing.report("si_1", quantity).await;
            billing.report("si_2", quantity).await;
        };
        let paid = async |name: &str| {
            let invoices = billing.invoices().await;
            assert!(invoices.iter().all(|invoice| invoice.status == InvoiceStatus::Paid));
            let of = invoices.iter().filter(|invoice| invoice.subscription_id == Some(id(name)));
            of.map(|invoice| invoice.total.base_units() / UNIT).sum::<u128>()
        };
        report(7).await;
        // For the period after it, which the engine has not begun.
        billing.wait(DAY * 20);
        report(50).await;
        billing.wait(DAY * 84);
        report(3).await;
        billing.wait(HOUR);
        billing.settle_rounds().await;
        assert_eq!(billing.held_count().await, 2);
        billing.decide("sub_1", CatchUp::CurrentPeriod).await.expect("resumes");
        billing.decide("sub_2", CatchUp::Skip).await.expect("resumes");
        billing.settle_rounds().await;
        assert_eq!((paid("sub_1").await, paid("sub_2").await), (7, 7));
        report(2).await;
        billing.wait(DAY * 30);
        billing.settle_rounds().await;
        assert_eq!((paid("sub_1").await, paid("sub_2").await), (7 + 3 + 2, 7 + 2));
        assert_eq!(billing.networks.store_balance().await, 21);
    }

    async fn skipping_credits_usage_that_was_billed_too_high_before(db: &TestDatabase) {
        let billing = seats_and_calls(db).await;
        billing.used("si_1", 100).await;
        // The last report counts.
        billing.used("si_1", 30).await;
        billing.wait(DAY * 134);
        billing.settle_rounds().await;
        assert_eq!((billing.held_count().await, billing.networks.store_balance().await), (1, 100));
        billing.decide("sub_1", CatchUp::Skip).await.expect("resumes");
        billing.settle_rounds().await;
        assert_eq!(billing.spent().await, 30, "the rest is credited");
    }

    async fn usage_counts_on_hold_although_the_dunning_deadline_would_have_passed(db: &TestDatabase) {
        let billing = Billing::open(db, 1_000).await;
        let price = billing.price("price_1", 1, metered(Aggregate::Sum)).await;
        let one = billing.subscription("sub_1", &price, DAY * 29);
        billing.insert(&Subscription { status: SubscriptionStatus::PastDue, past_due_since: Some(billing.start.minus(DAY * 20)), ..one }).await;
        billing.write("UPDATE subscriptions SET on_hold = 'other'").await;
        billing.wait(DAY * 2);
        billing.report("si_1", 1).await;
    }
}
