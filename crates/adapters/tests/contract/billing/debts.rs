//! Customers who fall behind, and catch up.

use super::bench::{Billing, DAY, MONTHLY};
use crate::ledger::bench::UNIT;
use souk_adapters::on_both;
use souk_domain::billing::{CancelReason, InvoiceStatus, SubscriptionStatus};
use souk_domain::payment::{Mandate, MandateStatus};
use souk_domain::shared::Amount;

on_both! {
    async fn too_little_money_is_past_due_and_tried_again_until_it_is_there(db: &TestDatabase) {
        let billing = Billing::open(db, 2_000).await;
        let price = billing.price("price_1", 1_500, MONTHLY).await;
        billing.insert(&billing.subscription("sub_1", &price, DAY * 30)).await;
        billing.round().await;
        assert_eq!(billing.statuses().await, [InvoiceStatus::Uncollectible]);
        let behind = billing.find("sub_1").await;
        assert_eq!((behind.status, behind.past_due_since), (SubscriptionStatus::PastDue, Some(billing.start)));
        let invoice = &billing.invoices().await[0];
        assert_eq!((invoice.refusals, invoice.retry_at), (1, Some(billing.start.plus(DAY))));
        assert_eq!(billing.retry().await, 0, "not before its time");

        billing.wait(DAY);
        assert_eq!(billing.retry().await, 1);
        let invoice = &billing.invoices().await[0];
        assert_eq!((invoice.refusals, invoice.retry_at), (2, Some(billing.start.plus(DAY * 3))));
        billing.networks.faucet().await;
        billing.wait(DAY * 2);
        assert_eq!(billing.retry().await, 1);
        assert_eq!(billing.statuses().await, [InvoiceStatus::Paid]);
        let healed = billing.find("sub_1").await;
        assert_eq!((healed.status, healed.past_due_since), (SubscriptionStatus::Active, None));
        assert_eq!((billing.networks.earned().await, billing.income().await), (1_500, 1_500));
    }

    async fn a_refusal_that_cannot_heal_is_not_tried_again(db: &TestDatabase) {
        let billing = Billing::open(db, 4).await;
        let price = billing.price("price_1", 5, MONTHLY).await;
        billing.insert(&billing.subscription("sub_1", &price, DAY * 30)).await;
        let mut unit = billing.ctx.store.begin().await.expect("begins");
        let mandate = unit.mandates().find(&crate::till::id("man_1")).await.expect("reads").expect("stands");
        unit.mandates().put(&Mandate { status: MandateStatus::Ended, ..mandate }).await.expect("writes");
        unit.commit().await.expect("commits");
        billing.round().await;
        assert_eq!(billing.statuses().await, [InvoiceStatus::Uncollectible]);
        billing.wait(DAY * 20);
        assert_eq!(billing.retry().await, 0);
        assert!(billing.networks.transfers().await.is_empty());
    }

    async fn a_debt_that_stands_too_long_ends_the_subscription_and_nothing_is_tried_any_more(db: &TestDatabase) {
        let billing = Billing::open(db, 2_000).await;
        let price = billing.price("price_1", 1_500, MONTHLY).await;
        billing.insert(&billing.subscription("sub_1", &price, DAY * 30)).await;
        billing.round().await;
        billing.wait(DAY * 15);
        assert_eq!(billing.round().await, 1);
        let ended = billing.find("sub_1").await;
        assert_eq!((ended.status, ended.ended_at), (SubscriptionStatus::Canceled, Some(billing.start.plus(DAY * 15))));
        assert_eq!(ended.cancellation.expect("a reason").reason, CancelReason::PaymentFailed);
        billing.networks.faucet().await;
        assert_eq!((billing.retry().await, billing.round().await), (0, 0));
        assert_eq!(billing.statuses().await, [InvoiceStatus::Uncollectible]);
        billing.wait(DAY * 30);
        assert_eq!((billing.retry().await, billing.round().await), (0, 0));
    }

    async fn the_deposit_pays_what_was_owed_when_the_engine_gives_up(db: &TestDatabase) {
        let billing = Billing::open(db, 2_000).await;
        let price = billing.price("price_1", 700, MONTHLY).await;
        let mut one = billing.subscription("sub_1", &price, DAY * 30);
        one.stake = Some(billing.stake(&one, 800).await);
        billing.insert(&one).await;
        billing.round().await;
        assert_eq!(billing.statuses().await, [InvoiceStatus::Uncollectible], "200 are left after the deposit");
        billing.wait(DAY * 15);
        billing.round().await;
        assert_eq!(billing.statuses().await, [InvoiceStatus::Void, InvoiceStatus::Paid]);
        assert_eq!(billing.invoices().await[1].total, Amount::new(700 * UNIT));
        assert_eq!((billing.networks.earned().await, billing.income().await), (700, 700));
        assert_eq!(billing.networks.staked("sub_1").await, (100, 0));
    }
}
