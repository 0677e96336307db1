//! Requested cancellations take effect, and deposits are returned.

use super::bench::{Billing, DAY, HOUR, MONTHLY};
use crate::checkout_fixtures::all_at_once;
use crate::ledger::stakes::revoke;
use souk_adapters::on_one;
use souk_domain::billing::{
    self, BillingReason, CancelReason, InvoiceStatus, STAKE_WAITING, StakeStatus, Subscription, SubscriptionStatus,
};
use souk_domain::payment;

on_one! {
    async fn a_requested_cancellation_replaces_the_renewal(db: &TestDatabase) {
        let billing = Billing::open(db, 10).await;
        let price = billing.price("price_1", 5, MONTHLY).await;
        let one = Subscription { cancel_at_period_end: true, ..billing.subscription("sub_1", &price, DAY * 30) };
        billing.insert(&one).await;
        billing.round().await;
        let ended = billing.find("sub_1").await;
        assert_eq!((ended.status, ended.ended_at), (SubscriptionStatus::Canceled, Some(billing.start)));
        assert!(billing.invoices().await.is_empty() && billing.networks.transfers().await.is_empty());
    }

    async fn a_deposit_is_returned_after_its_waiting_period(db: &TestDatabase) {
        let billing = Billing::open(db, 10).await;
        let price = billing.price("price_1", 5, MONTHLY).await;
        let mut one = Subscription { cancel_at_period_end: true, ..billing.subscription("sub_1", &price, DAY * 30) };
        one.stake_id = Some(billing.stake(&one, 50).await.id);
        billing.insert(&one).await;
        billing.round().await;
        assert_eq!(billing.stake_of("sub_1").await.status, StakeStatus::Releasing);
        assert_eq!((billing.networks.balance().await, billing.networks.staked("stk_1").await), (950, (50, 0)));
        billing.wait(STAKE_WAITING);
        assert_eq!(billing.round().await, 1);
        assert_eq!(billing.stake_of("sub_1").await.status, StakeStatus::Final);
        assert_eq!(billing.networks.balance().await, 1_000);
        let [listed] = <[_; 1]>::try_from(billing.statements().await).expect("one statement");
        assert_eq!((listed.reason, listed.status, listed.number), (BillingReason::ReturnStake, InvoiceStatus::Paid, Some(1)));
        assert_eq!((billing.cash().await, billing.round().await), (0, 0));
    }

    async fn a_revoked_stake_ends_the_subscription_with_its_period(db: &TestDatabase) {
        let billing = Billing::open(db, 10).await;
        let price = billing.price("price_1", 5, MONTHLY).await;
        let mut one = billing.subscription("sub_1", &price, DAY);
        one.stake_id = Some(billing.stake(&one, 50).await.id);
        billing.insert(&one).await;
        let mut other = billing.subscription("sub_2", &price, DAY);
        other.stake_id = Some(billing.stake(&other, 50).await.id);
        billing.insert(&other).await;
        assert_eq!(billing::check_stakes(&billing.ctx, 9).await.expect("looks"), 2);
        assert_eq!(billing.stake_of("sub_1").await.status, StakeStatus::Held);
        assert_eq!(billing.networks.wallet_sends(2, revoke(&billing.networks, "stk_1", 50)).await.0, "OK");
        assert_eq!(billing::check_stakes(&billing.ctx, 9).await.expect("looks"), 0, "each comes up again after five minutes");
        billing.wait(billing::STAKE_CHECK_INTERVAL);
        let looks = all_at_once(db, 3, |_, _| {
            let ctx = billing.ctx.clone();
            async move { billing::check_stakes(&ctx, 9).await.expect("looks") }
        });
        assert_eq!(looks.await.iter().sum::<usize>(), 2);
        let revoked = billing.find("sub_1").await;
        assert_eq!((revoked.cancel_at_period_end, billing.stake_of("sub_1").await.is_revoked()), (true, true));
        assert_eq!(revoked.cancellation.as_ref().expect("a reason").reason, CancelReason::StakeRevoked);
        assert!(revoked.is_recoverable(), "a new stake lets it go on");
        let other = billing.find("sub_2").await;
        assert_eq!((other.cancel_at_period_end, billing.stake_of("sub_2").await.status), (false, StakeStatus::Held));
        billing.wait(DAY * 30);
        billing.round().await;
        assert_eq!(billing.find("sub_1").await.status, SubscriptionStatus::Canceled);
    }

    async fn an_overdue_invoice_is_paid_from_a_revoked_stake_during_its_waiting_period(db: &TestDatabase) {
        let billing = Billing::open(db, 2_000).await;
        let price = billing.price("price_1", 700, MONTHLY).await;
        let mut one = billing.subscription("sub_1", &price, DAY * 30);
        one.stake_id = Some(billing.stake(&one, 800).await.id);
        billing.insert(&one).await;
        billing.round().await;
        billing.wait(DAY * 14);
        assert_eq!(billing.networks.wallet_sends(2, revoke(&billing.networks, "stk_1", 800)).await.0, "OK");
        assert_eq!(billing::check_stakes(&billing.ctx, 9).await.expect("looks"), 1);
        assert!(billing.stake_of("sub_1").await.is_revoked());
        billing.wait(DAY);
        billing.retry().await;
        billing.round().await;
        assert_eq!(billing.networks.store_balance().await, 700);
    }

    async fn an_overdue_invoice_is_paid_from_a_revoked_stake_for_every_reason_of_the_end(db: &TestDatabase) {
        let billing = Billing::open(db, 2_000).await;
        let price = billing.price("price_1", 700, MONTHLY).await;
        let mut one = Subscription { days_until_cancel: 60, ..billing.subscription("sub_1", &price, DAY * 30) };
        one.stake_id = Some(billing.stake(&one, 800).await.id);
        billing.insert(&one).await;
        billing.round().await;
        billing.wait(DAY);
        assert_eq!(billing.networks.wallet_sends(2, revoke(&billing.networks, "stk_1", 800)).await.0, "OK");
        billing::check_stakes(&billing.ctx, 9).await.expect("looks");
        billing.wait(DAY * 30);
        billing.round().await;
        let ended = billing.find("sub_1").await;
        assert_eq!((ended.status, ended.cancellation.expect("a reason").reason), (SubscriptionStatus::Canceled, CancelReason::StakeRevoked));
        assert_eq!((billing.networks.store_balance().await, billing.networks.staked("stk_1").await), (700, (0, 100)));
        assert_eq!(billing.statuses().await, [InvoiceStatus::Paid]);
    }

    async fn an_overdue_invoice_found_after_the_end_is_paid_from_a_revoked_stake(db: &TestDatabase) {
        let billing = Billing::open(db, 2_000).await;
        let price = billing.price("price_1", 700, MONTHLY).await;
        let mut one = billing.subscription("sub_1", &price, DAY * 30);
        one.stake_id = Some(billing.stake(&one, 800).await.id);
        billing.insert(&Subscription { cancel_at: Some(billing.start.plus(DAY)), ..one }).await;
        let charge = billing.round_unsent().await;
        assert_eq!(billing.networks.wallet_sends(2, revoke(&billing.networks, "stk_1", 800)).await.0, "OK");
        billing::check_stakes(&billing.ctx, 9).await.expect("looks");
        billing.wait(DAY);
        billing.round().await;
        assert_eq!((billing.find("sub_1").await.status, billing.stake_of("sub_1").await.is_revoked()), (SubscriptionStatus::Canceled, true));
        assert!(billing.stake_of("sub_1").await.reservation.is_none(), "it may be paid yet");
        payment::charge(&billing.ctx, &charge).await.expect("charges");
        billing.wait(HOUR * 6);
        billing.round().await;
        assert_eq!((billing.networks.store_balance().await, billing.statuses().await), (700, vec![InvoiceStatus::Paid]));
    }
}
