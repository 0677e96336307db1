//! Subscriptions end when that was asked for, and deposits go back.

use super::bench::{Billing, DAY, MONTHLY};
use souk_adapters::on_both;
use souk_domain::billing::{BillingReason, InvoiceStatus, STAKE_WAITING, StakeStatus, Subscription, SubscriptionStatus};

on_both! {
    async fn an_end_that_was_asked_for_comes_instead_of_the_renewal(db: &TestDatabase) {
        let billing = Billing::open(db, 10).await;
        let price = billing.price("price_1", 5, MONTHLY).await;
        let one = Subscription { cancel_at_period_end: true, ..billing.subscription("sub_1", &price, DAY * 30) };
        billing.insert(&one).await;
        billing.round().await;
        let ended = billing.find("sub_1").await;
        assert_eq!((ended.status, ended.ended_at), (SubscriptionStatus::Canceled, Some(billing.start)));
        assert!(billing.invoices().await.is_empty() && billing.networks.transfers().await.is_empty());
    }

    async fn a_deposit_goes_back_when_its_waiting_time_is_over(db: &TestDatabase) {
        let billing = Billing::open(db, 10).await;
        let price = billing.price("price_1", 5, MONTHLY).await;
        let mut one = Subscription { cancel_at_period_end: true, ..billing.subscription("sub_1", &price, DAY * 30) };
        one.stake = Some(billing.stake(&one, 50).await);
        billing.insert(&one).await;
        billing.round().await;
        assert_eq!(billing.find("sub_1").await.stake.expect("a deposit").status, StakeStatus::Waiting);
        assert_eq!((billing.networks.balance().await, billing.networks.staked("sub_1").await), (950, (50, 0)));
        billing.wait(STAKE_WAITING);
        assert_eq!(billing.round().await, 1);
        assert_eq!(billing.find("sub_1").await.stake.expect("a deposit").status, StakeStatus::Returned);
        assert_eq!(billing.networks.balance().await, 1_000);
        let invoices = billing.invoices().await;
        assert_eq!((invoices[0].reason, invoices[0].status), (BillingReason::ReturnStake, InvoiceStatus::Paid));
        assert_eq!((billing.income().await, billing.round().await), (0, 0));
    }
}
