//! While the clock is not trusted, reconciling learns and concludes nothing from the time that has passed, and no period begins or ends by a
//! customer's request.

use super::bench::{Billing, DAY, DoubtedClock, MONTHLY, at_once};
use crate::checkout_fixtures::id;
use crate::ledger::bench::UNIT;
use souk_adapters::on_one;
use souk_domain::billing::{
    self, CancelAt, CancelTerms, InvoiceStatus, RefundChoice, Requester, ResumeError, Scope, Stake, StakeChoice, SubscriptionStatus,
};
use souk_domain::payment::check_due;
use souk_domain::shared::{Amount, Mode};
use std::sync::Arc;

on_one! {
    async fn a_stake_that_the_network_does_not_show_counts_as_revoked_only_while_the_clock_is_trusted(db: &TestDatabase) {
        let mut billing = Billing::open(db, 10).await;
        let price = billing.price("price_1", 5, MONTHLY).await;
        let mut one = billing.subscription("sub_1", &price, DAY);
        one.stake_id = Some(billing.stake(&one, 10).await.id);
        billing.insert(&one).await;
        let before = billing.find_stake("stk_1").await;
        // The second half was placed long ago according to a wrong clock.
        let grown = Stake { amount_requested: Amount::new(20 * UNIT), amount: Amount::new(20 * UNIT), ..before.clone() };
        let mut unit = billing.ctx.store.begin().await.expect("begins");
        assert!(unit.stakes().update(&before, &grown).await.expect("writes"));
        unit.commit().await.expect("commits");
        let trust = std::mem::replace(&mut billing.ctx.trust, Arc::new(DoubtedClock));
        assert_eq!(billing::check_stakes(&billing.ctx, 9).await.expect("looks"), 1);
        assert!(!billing.stake_of("sub_1").await.is_revoked());
        billing.ctx.trust = trust;
        billing.wait(billing::STAKE_CHECK_INTERVAL);
        assert_eq!(billing::check_stakes(&billing.ctx, 9).await.expect("looks"), 1);
        assert!(billing.stake_of("sub_1").await.is_revoked());
    }

    async fn the_decline_of_a_resent_transaction_is_final_only_while_the_clock_is_trusted(db: &TestDatabase) {
        let mut billing = Billing::open(db, 2_000).await;
        // More than the customer has.
        let price = billing.price("price_1", 1_500, MONTHLY).await;
        billing.insert(&billing.subscription("sub_1", &price, DAY * 30)).await;
        let round = billing::renew_due(&billing.ctx, &Scope::Wall, billing.start, 9).await.expect("renews");
        let mut unit = billing.ctx.store.begin().await.expect("begins");
        let claimed = unit.attempts().claim_unsent(&round.attempts, billing.start, billing.start.plus(DAY)).await.expect("claims");
        assert_eq!(claimed.len(), 1, "a process sends it, and ends");
        unit.commit().await.expect("commits");
        billing.wait(DAY * 2);
        let trust = std::mem::replace(&mut billing.ctx.trust, Arc::new(DoubtedClock));
        assert_eq!(check_due(&billing.ctx, 9).await.expect("looks"), 1);
        assert_eq!(billing.statuses().await, [InvoiceStatus::Open], "it may have settled at another node");
        billing.ctx.trust = trust;
        billing.wait(DAY);
        assert_eq!(check_due(&billing.ctx, 9).await.expect("looks"), 1);
        assert_eq!(billing.statuses().await, [InvoiceStatus::Uncollectible]);
    }

    async fn no_subscription_is_resumed_while_the_clock_is_not_trusted_except_on_a_test_clock(db: &TestDatabase) {
        let mut billing = Billing::open(db, 10).await;
        let price = billing.price("price_1", 5, MONTHLY).await;
        billing.insert(&billing.subscription("sub_1", &price, DAY * 20)).await;
        billing::pause(&billing.ctx, &id("sub_1")).await.expect("pauses");
        billing.wait(DAY * 40);
        billing.ctx.trust = Arc::new(DoubtedClock);
        let refused = billing::resume(&billing.ctx, &id("sub_1")).await;
        assert!(matches!(refused, Err(ResumeError::ClockNotTrusted)), "{refused:?}");
        assert_eq!((billing.find("sub_1").await.status, billing.invoices().await.len()), (SubscriptionStatus::Paused, 0));
        billing::create_clock(&billing.ctx, Mode::Test, &billing.find("sub_1").await.customer_id, "A year").await.expect("creates");
        billing::resume(&billing.ctx, &id("sub_1")).await.expect("resumes");
    }

    async fn a_cancellation_at_the_end_of_the_period_ends_nothing_while_the_clock_is_not_trusted(db: &TestDatabase) {
        let mut billing = Billing::open(db, 10).await;
        let price = billing.price("price_1", 5, MONTHLY).await;
        billing.insert(&billing.subscription("sub_1", &price, DAY * 20)).await;
        billing.wait(DAY * 3_650);
        let trust = std::mem::replace(&mut billing.ctx.trust, Arc::new(DoubtedClock));
        let terms = CancelTerms { at: CancelAt::PeriodEnd, ..at_once(RefundChoice::None, StakeChoice::None) };
        let canceled = billing::cancel(&billing.ctx, Requester::Customer, &id("sub_1"), &terms).await.expect("cancels");
        assert_eq!((canceled.status, canceled.cancel_at_period_end), (SubscriptionStatus::Active, true), "a wrong clock may say that it is over");
        billing.ctx.trust = trust;
        billing.round().await;
        assert_eq!(billing.find("sub_1").await.status, SubscriptionStatus::Canceled, "it was over");
    }
}
