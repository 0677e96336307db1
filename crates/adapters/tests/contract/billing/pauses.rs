//! Pausing and resuming subscriptions.

use super::bench::{Billing, DAY, MONTHLY};
use super::thresholds::metered;
use crate::checkout_fixtures::id;
use crate::ledger::bench::UNIT;
use souk_adapters::on_one;
use souk_domain::billing::{self, ResumeError, Subscription, SubscriptionStatus, UsageAction, UsageReport};
use souk_domain::pricing::Aggregate;
use souk_domain::shared::{Amount, Mode};

on_one! {
    async fn an_overdue_invoice_does_not_age_during_a_pause(db: &TestDatabase) {
        let billing = Billing::open(db, 10).await;
        let price = billing.price("price_1", 5, MONTHLY).await;
        let one = billing.subscription("sub_1", &price, DAY * 20);
        let behind = Subscription { status: SubscriptionStatus::PastDue, past_due_since: Some(billing.start.minus(DAY * 10)), ..one };
        billing.insert(&behind).await;
        billing.insert_invoice(&billing.overdue_invoice("in_1", &behind, 1, Amount::new(9))).await;
        billing::pause(&billing.ctx, &behind.id).await.expect("pauses");
        billing.wait(DAY * 40);
        assert_eq!(billing.round().await, 0);
        let resumed = billing::resume(&billing.ctx, &behind.id).await.expect("goes on");
        assert_eq!((resumed.status, resumed.past_due_since), (SubscriptionStatus::PastDue, Some(billing.start.plus(DAY * 30))));
        billing.round().await;
        assert_eq!(billing.find("sub_1").await.status, SubscriptionStatus::PastDue, "five days are left to pay it");
        billing.send_all().await;
        billing.wait(DAY * 5);
        billing.round().await;
        assert_eq!(billing.find("sub_1").await.status, SubscriptionStatus::Canceled);
    }

    async fn a_subscription_past_its_end_cannot_be_resumed(db: &TestDatabase) {
        let billing = Billing::open(db, 10).await;
        let price = billing.price("price_1", 5, MONTHLY).await;
        let one = Subscription { cancel_at: Some(billing.start.plus(DAY)), ..billing.subscription("sub_1", &price, DAY * 29) };
        billing.insert(&one).await;
        billing::pause(&billing.ctx, &one.id).await.expect("pauses");
        billing.wait(DAY * 2);
        let resumed = billing::resume(&billing.ctx, &one.id).await;
        assert!(matches!(resumed, Err(ResumeError::NotRecoverable)), "{resumed:?}");
        billing.round().await;
        assert_eq!(billing.find("sub_1").await.status, SubscriptionStatus::Canceled);
        assert!(billing.invoices().await.is_empty());
    }

    async fn a_resumed_trial_continues_until_its_end(db: &TestDatabase) {
        let billing = Billing::open(db, 10).await;
        let price = billing.price("price_1", 5, MONTHLY).await;
        let one = billing.trial("sub_1", &price, DAY * 5);
        billing.insert(&one).await;
        billing::pause(&billing.ctx, &one.id).await.expect("pauses");
        billing.wait(DAY);
        assert_eq!(billing::resume(&billing.ctx, &one.id).await.expect("goes on").status, SubscriptionStatus::Trialing);
        billing::pause(&billing.ctx, &one.id).await.expect("pauses");
        billing.wait(DAY * 9);
        let resumed = billing::resume(&billing.ctx, &one.id).await.expect("goes on");
        assert_eq!((resumed.status, resumed.index), (SubscriptionStatus::Active, Some(0)), "its first paid period begins");
    }

    async fn usage_before_the_pause_is_billed_on_resumption_and_on_cancellation(db: &TestDatabase) {
        let billing = Billing::open(db, 1_000).await;
        let calls = billing.price("price_1", 1, metered(Aggregate::Sum)).await;
        for (name, quantity, end) in [("sub_1", 7, None), ("sub_2", 9, Some(billing.start.plus(DAY * 3)))] {
            // The round is late: the period ended a day ago.
            let one = Subscription { cancel_at: end, ..billing.subscription(name, &calls, DAY * 32) };
            billing.insert(&one).await;
            let item = one.items[0].id.clone();
            let used = UsageReport { item, quantity, action: UsageAction::Increment, at: None, identifier: None };
            billing::report_usage(&billing.ctx, Mode::Test, &used).await.expect("is taken");
            billing::pause(&billing.ctx, &one.id).await.expect("pauses");
        }
        billing.wait(DAY * 4);
        billing::resume(&billing.ctx, &id("sub_1")).await.expect("goes on");
        billing.round().await;
        billing.send_all().await;
        assert_eq!(billing.find("sub_2").await.status, SubscriptionStatus::Canceled);
        let billed: Vec<_> = billing.invoices().await.iter().map(|invoice| invoice.total.base_units()).collect();
        assert_eq!(billed, [7 * UNIT, 9 * UNIT]);
    }
}
