//! Late rounds, and failing subscriptions that must not block others.

use super::bench::{Billing, DAY, HOUR, HOURLY, MONTHLY};
use crate::checkout_fixtures::id;
use souk_adapters::on_one;
use souk_domain::billing::{
    self, HoldReason, InvoiceStatus, OnHold, Scope, StakeStatus, Subscription, SubscriptionItem, SubscriptionStatus,
};
use souk_domain::payment::{Method, MethodSettings};
use souk_domain::shared::Amount;
use std::time::Duration;

/// Sets the address of the method's network, to a valid or an invalid one.
async fn configure(billing: &Billing, address: &str) {
    let MethodSettings::Arcblock { chain_id, explorer_host, .. } = billing.networks.method.settings.clone() else {
        panic!("another method")
    };
    let settings = MethodSettings::Arcblock { chain_id, api_host: address.to_owned(), explorer_host };
    let mut unit = billing.ctx.store.begin().await.expect("begins");
    unit.methods().update(&Method { settings, ..billing.networks.method.clone() }).await.expect("writes");
    unit.commit().await.expect("commits");
}

on_one! {
    async fn a_late_round_bills_the_periods_before_a_requested_cancellation(db: &TestDatabase) {
        let billing = Billing::open(db, 10).await;
        let price = billing.price("price_1", 1, HOURLY).await;
        let one = billing.subscription("sub_1", &price, Duration::ZERO);
        billing.insert(&Subscription { cancel_at: Some(billing.start.plus(HOUR * 5)), ..one }).await;
        billing.wait(HOUR * 8);
        while billing.round().await > 0 {}
        assert_eq!(billing.statuses().await, [InvoiceStatus::Paid; 4], "the first hour was paid before");
        assert_eq!(billing.find("sub_1").await.status, SubscriptionStatus::Canceled);
        assert_eq!(billing.networks.store_balance().await, 4);
    }

    async fn a_late_round_bills_the_periods_before_the_dunning_deadline(db: &TestDatabase) {
        let billing = Billing::open(db, 10).await;
        let price = billing.price("price_1", 1, HOURLY).await;
        let one = billing.subscription("sub_1", &price, Duration::ZERO);
        let behind = Subscription {
            status: SubscriptionStatus::PastDue,
            past_due_since: Some(billing.start.minus(DAY * 15).plus(HOUR * 2)),
            ..one
        };
        billing.insert(&behind).await;
        billing.insert_invoice(&billing.overdue_invoice("in_1", &behind, 1, Amount::new(9))).await;
        billing.wait(HOUR * 6);
        while billing.round().await > 0 {}
        assert_eq!(billing.statuses().await, [InvoiceStatus::Uncollectible, InvoiceStatus::Paid]);
        assert_eq!(billing.find("sub_1").await.status, SubscriptionStatus::Canceled);
    }

    async fn a_subscription_is_not_canceled_for_a_paid_overdue_invoice(db: &TestDatabase) {
        let billing = Billing::open(db, 10).await;
        let price = billing.price("price_1", 5, MONTHLY).await;
        let one = billing.subscription("sub_1", &price, DAY);
        let forgotten = Subscription { status: SubscriptionStatus::PastDue, past_due_since: Some(billing.start.minus(DAY * 20)), ..one };
        billing.insert(&forgotten).await;
        assert_eq!(billing.round().await, 1);
        let recovered = billing.find("sub_1").await;
        assert_eq!((recovered.status, recovered.past_due_since, recovered.ended_at), (SubscriptionStatus::Active, None, None));
        assert_eq!(billing.round().await, 0);
    }

    async fn a_subscription_that_cannot_be_ended_is_put_on_hold_and_others_are_renewed(db: &TestDatabase) {
        let billing = Billing::open(db, 10).await;
        let price = billing.price("price_1", 5, MONTHLY).await;
        let one = billing.subscription("sub_1", &price, DAY * 31);
        let stake_id = Some(billing.stake(&one, 50).await.id);
        billing.write("UPDATE stakes SET status = 'releasing', release_reason = 'revoked'").await;
        let one = Subscription { cancel_at_period_end: true, stake_id, ..one };
        billing.insert(&one).await;
        // More than the largest possible amount.
        for number in 1..=2 {
            billing.insert_invoice(&billing.overdue_invoice(&format!("in_{number}"), &one, number, Amount::new(u128::MAX))).await;
        }
        billing.insert(&billing.subscription("sub_2", &price, DAY * 30)).await;
        billing.insert(&billing.subscription("sub_3", &price, DAY * 30)).await;
        billing.round().await;
        assert_eq!(billing.find("sub_1").await.on_hold.map(|on_hold| on_hold.reason), Some(HoldReason::AmountOutOfRange));
        assert_eq!((billing.find("sub_2").await.index, billing.find("sub_3").await.index), (Some(1), Some(1)));
        assert_eq!(billing.round().await, 0);
    }

    async fn an_unreadable_subscription_is_put_on_hold_and_others_are_renewed(db: &TestDatabase) {
        let billing = Billing::open(db, 10).await;
        let price = billing.price("price_1", 5, MONTHLY).await;
        billing.insert(&billing.subscription("sub_1", &price, DAY * 31)).await;
        billing.insert(&billing.subscription("sub_2", &price, DAY * 30)).await;
        billing.write("UPDATE subscriptions SET status = 'unheard_of' WHERE id = 'sub_1'").await;
        billing.round().await;
        assert_eq!(billing.find("sub_2").await.index, Some(1));
        billing.write("UPDATE subscriptions SET status = 'active' WHERE id = 'sub_1'").await;
        let OnHold { reason, detail } = billing.find("sub_1").await.on_hold.expect("a reason");
        assert!(reason == HoldReason::Unreadable && detail.starts_with("stored subscriptions.status is not valid"), "{detail}");
    }

    async fn invalid_method_settings_put_no_subscription_on_hold_and_charges_resume_once_fixed(db: &TestDatabase) {
        let billing = Billing::open(db, 10).await;
        let price = billing.price("price_1", 5, MONTHLY).await;
        billing.insert(&billing.subscription("sub_1", &price, DAY * 30)).await;
        configure(&billing, "gopher://nowhere").await;
        let round = billing::renew_due(&billing.ctx, &Scope::Wall, billing.start, 9).await.expect("renews");
        assert!(round.trouble.is_some() && round.attempts.is_empty(), "{round:?}");
        assert_eq!((billing.find("sub_1").await.on_hold, billing.statuses().await), (None, vec![InvoiceStatus::Uncollectible]));
        billing.wait(DAY);
        let round = billing::retry_due(&billing.ctx, &Scope::Wall, billing.ctx.now(), 9).await.expect("goes on");
        assert!(round.trouble.is_some() && round.attempts.is_empty(), "{round:?}");
        configure(&billing, "/sandbox/arcblock/api/").await;
        billing.wait(DAY * 2);
        assert_eq!(billing.retry().await, 1, "the schedule stands");
        assert_eq!(billing.statuses().await, [InvoiceStatus::Paid]);
    }

    async fn a_subscription_on_hold_continues_once_an_owner_resumes_it(db: &TestDatabase) {
        let billing = Billing::open(db, 10).await;
        let price = billing.price("price_1", 5, MONTHLY).await;
        let gone = SubscriptionItem { id: id("si_1"), price_id: id("price_2"), quantity: 1, billed: None };
        billing.insert(&Subscription { items: vec![gone], ..billing.subscription("sub_1", &price, DAY * 30) }).await;
        billing.round().await;
        assert!(billing.find("sub_1").await.on_hold.is_some());
        billing.price("price_2", 3, MONTHLY).await;
        assert_eq!(billing.round().await, 0);
        billing::resume_billing(&billing.ctx, &id("sub_1"), None).await.expect("goes on");
        assert_eq!(billing.round().await, 1);
        assert_eq!((billing.find("sub_1").await.on_hold, billing.networks.store_balance().await), (None, 3));
    }

    async fn a_stake_that_cannot_be_moved_does_not_block_others(db: &TestDatabase) {
        let billing = Billing::open(db, 10).await;
        let price = billing.price("price_1", 5, MONTHLY).await;
        let mut one = Subscription { cancel_at_period_end: true, ..billing.subscription("sub_1", &price, DAY * 30) };
        one.stake_id = Some(billing.stake(&one, 50).await.id);
        billing.insert(&one).await;
        billing.round().await;
        billing.wait(billing::STAKE_WAITING);
        billing.insert(&Subscription { cancel_at_period_end: true, ..billing.subscription("sub_3", &price, DAY * 60) }).await;
        configure(&billing, "gopher://nowhere").await;
        let moved = billing::move_due_stakes(&billing.ctx, &Scope::Wall, billing.ctx.now(), 9).await;
        assert!(moved.is_err(), "the store's settings are wrong");
        billing::renew_due(&billing.ctx, &Scope::Wall, billing.ctx.now(), 9).await.expect("goes on");
        assert_eq!(billing.find("sub_3").await.status, SubscriptionStatus::Canceled);
        configure(&billing, "/sandbox/arcblock/api/").await;
        billing.wait(billing::STAKE_RETRY_DELAY);
        billing.round().await;
        assert_eq!(billing.stake_of("sub_1").await.status, StakeStatus::Final);
    }
}
