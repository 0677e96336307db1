//! Overdue invoices: retries, recovery and cancellation.

use super::bench::{Billing, DAY, MONTHLY, planned};
use crate::checkout_fixtures::{id, wallet_attempt};
use crate::ledger::bench::UNIT;
use souk_adapters::on_one;
use souk_domain::access::Wallet;
use souk_domain::billing::{self, CancelReason, InvoiceStatus, OverdueTarget, STAKE_WAITING, Subscription, SubscriptionStatus};
use souk_domain::payment::{self, Attempt, Mandate, MandateStatus};
use souk_domain::shared::Amount;

on_one! {
    async fn insufficient_funds_make_a_subscription_past_due_and_are_retried_until_paid(db: &TestDatabase) {
        let billing = Billing::open(db, 2_000).await;
        let price = billing.price("price_1", 1_500, MONTHLY).await;
        billing.insert(&billing.subscription("sub_1", &price, DAY * 30)).await;
        billing.round().await;
        assert_eq!(billing.statuses().await, [InvoiceStatus::Uncollectible]);
        let behind = billing.find("sub_1").await;
        assert_eq!((behind.status, behind.past_due_since), (SubscriptionStatus::PastDue, Some(billing.start)));
        let invoice = &billing.invoices().await[0];
        assert_eq!((invoice.failure_count, invoice.retry_at), (1, Some(billing.start.plus(DAY))));
        assert_eq!(billing.retry().await, 0, "not before its time");

        billing.wait(DAY);
        assert_eq!(billing.retry().await, 1);
        let invoice = &billing.invoices().await[0];
        assert_eq!((invoice.failure_count, invoice.retry_at), (2, Some(billing.start.plus(DAY * 3))));
        billing.networks.faucet().await;
        billing.wait(DAY * 2);
        assert_eq!(billing.retry().await, 1);
        assert_eq!(billing.statuses().await, [InvoiceStatus::Paid]);
        let recovered = billing.find("sub_1").await;
        assert_eq!((recovered.status, recovered.past_due_since), (SubscriptionStatus::Active, None));
        assert_eq!((billing.networks.store_balance().await, billing.cash().await), (1_500, 1_500));
    }

    async fn a_late_round_does_not_shorten_the_retry_schedule(db: &TestDatabase) {
        let billing = Billing::open(db, 2_000).await;
        let price = billing.price("price_1", 1_500, MONTHLY).await;
        billing.insert(&billing.subscription("sub_1", &price, DAY * 30)).await;
        // It has no mandate, so it cannot be charged.
        billing.insert(&Subscription { mandate_id: None, ..billing.subscription("sub_2", &price, DAY * 30) }).await;
        billing.wait(DAY * 16);
        let caught_up = billing.ctx.now();
        billing.round().await;
        for invoice in billing.invoices().await {
            assert_eq!((invoice.failure_count, invoice.retry_at), (1, Some(caught_up.plus(DAY))));
            assert_eq!((invoice.created_at, invoice.finalized_at), (billing.start, Some(caught_up)));
        }
        billing.round().await;
        for name in ["sub_1", "sub_2"] {
            let behind = billing.find(name).await;
            assert_eq!((behind.status, behind.past_due_since), (SubscriptionStatus::PastDue, Some(caught_up)), "{name}");
        }
    }

    async fn a_hard_decline_is_not_retried(db: &TestDatabase) {
        let billing = Billing::open(db, 4).await;
        let price = billing.price("price_1", 5, MONTHLY).await;
        billing.insert(&billing.subscription("sub_1", &price, DAY * 30)).await;
        let mut unit = billing.ctx.store.begin().await.expect("begins");
        let mandate = unit.mandates().find(&id("man_1")).await.expect("reads").expect("exists");
        unit.mandates().upsert(&Mandate { status: MandateStatus::Ended, ..mandate }).await.expect("writes");
        unit.commit().await.expect("commits");
        billing.round().await;
        assert_eq!(billing.statuses().await, [InvoiceStatus::Uncollectible]);
        billing.wait(DAY * 20);
        assert_eq!(billing.retry().await, 0);
        assert!(billing.networks.transfers().await.is_empty());
    }

    async fn an_overdue_invoice_past_the_dunning_deadline_ends_the_subscription_and_its_retries(db: &TestDatabase) {
        let billing = Billing::open(db, 2_000).await;
        let price = billing.price("price_1", 1_500, MONTHLY).await;
        billing.insert(&billing.subscription("sub_1", &price, DAY * 30)).await;
        billing.round().await;
        billing.wait(DAY * 15);
        assert_eq!((billing.retry().await, billing.round().await), (1, 1));
        let ended = billing.find("sub_1").await;
        assert_eq!((ended.status, ended.ended_at), (SubscriptionStatus::Canceled, Some(billing.start.plus(DAY * 15))));
        assert_eq!(ended.cancellation.expect("a reason").reason, CancelReason::PaymentFailed);
        billing.networks.faucet().await;
        assert_eq!((billing.retry().await, billing.round().await), (0, 0));
        assert_eq!(billing.statuses().await, [InvoiceStatus::Uncollectible]);
        billing.wait(DAY * 30);
        assert_eq!((billing.retry().await, billing.round().await), (0, 0));
    }

    async fn a_subscription_is_not_canceled_before_its_due_retries_were_made(db: &TestDatabase) {
        let billing = Billing::open(db, 2_000).await;
        let price = billing.price("price_1", 1_500, MONTHLY).await;
        billing.insert(&billing.subscription("sub_1", &price, DAY * 30)).await;
        billing.round().await;
        billing.networks.faucet().await;
        // No round ran from day 1 to day 16.
        billing.wait(DAY * 16);
        assert_eq!(billing.round().await, 1);
        assert_eq!((billing.find("sub_1").await.status, billing.round().await), (SubscriptionStatus::PastDue, 0));
        assert_eq!(billing.retry().await, 1);
        assert_eq!(billing.find("sub_1").await.status, SubscriptionStatus::Active);
        billing.wait(DAY);
        assert_eq!((billing.round().await, billing.statuses().await), (0, vec![InvoiceStatus::Paid]));
    }

    async fn a_subscription_is_not_canceled_while_a_payment_is_in_flight(db: &TestDatabase) {
        let billing = Billing::open(db, 2_000).await;
        let price = billing.price("price_1", 1_500, MONTHLY).await;
        billing.insert(&billing.subscription("sub_1", &price, DAY * 30)).await;
        billing.round().await;
        billing.networks.faucet().await;
        billing.wait(DAY * 14);
        let retried = billing.retry_unsent().await;
        for _ in 0..17 {
            billing.wait(DAY);
            assert_eq!((billing.round().await, billing.round().await), (1, 0), "it is looked at from time to time");
            assert_eq!(billing.find("sub_1").await.status, SubscriptionStatus::PastDue);
            billing.is_sound().await;
        }
        payment::charge(&billing.ctx, &retried).await.expect("charges");
        assert_eq!(billing.find("sub_1").await.status, SubscriptionStatus::Active);
        billing.round().await;
        assert_eq!(billing.find("sub_1").await.index, Some(2), "the period that has begun meanwhile is billed");
    }

    async fn a_final_decline_ends_a_subscription_at_once_and_so_does_a_requested_cancellation(db: &TestDatabase) {
        let billing = Billing::open(db, 2_000).await;
        let price = billing.price("price_1", 1_500, MONTHLY).await;
        billing.insert(&billing.subscription("sub_1", &price, DAY * 30)).await;
        let scheduled = Subscription { cancel_at: Some(billing.start.plus(DAY * 16)), ..billing.subscription("sub_2", &price, DAY * 30) };
        billing.insert(&scheduled).await;
        billing.round().await;
        billing.wait(DAY * 14);
        let retried = billing.retry_unsent().await;
        billing.wait(DAY);
        assert_eq!(billing.round().await, 2);
        billing.wait(DAY);
        billing.round().await;
        let ended = billing.find("sub_2").await;
        assert_eq!((ended.status, ended.cancellation.expect("a reason").reason), (SubscriptionStatus::Canceled, CancelReason::CancellationRequested));
        assert_eq!(billing.find("sub_1").await.status, SubscriptionStatus::PastDue);
        payment::charge(&billing.ctx, &retried).await.expect("charges");
        assert_eq!(billing.round().await, 1);
        let ended = billing.find("sub_1").await;
        assert_eq!((ended.status, ended.cancellation.expect("a reason").reason), (SubscriptionStatus::Canceled, CancelReason::PaymentFailed));
    }

    async fn the_deposit_pays_the_overdue_invoice_at_the_dunning_deadline(db: &TestDatabase) {
        let billing = Billing::open(db, 2_000).await;
        let price = billing.price("price_1", 700, MONTHLY).await;
        let mut one = billing.subscription("sub_1", &price, DAY * 30);
        one.stake_id = Some(billing.stake(&one, 800).await.id);
        billing.insert(&one).await;
        billing.round().await;
        assert_eq!(billing.statuses().await, [InvoiceStatus::Uncollectible], "200 are left after the deposit");
        billing.wait(DAY * 15);
        billing.retry().await;
        billing.round().await;
        assert_eq!(billing.statuses().await, [InvoiceStatus::Paid]);
        assert_eq!(billing.paid_by(&billing.last().await).await, [("stake", 700 * UNIT)]);
        assert_eq!(billing.statements().await[0].total, Amount::new(700 * UNIT));
        assert_eq!((billing.networks.store_balance().await, billing.cash().await), (700, 700));
        assert_eq!(billing.networks.staked("stk_1").await, (100, 0));
        billing.wait(STAKE_WAITING);
        billing.round().await;
        assert_eq!((billing.networks.staked("stk_1").await, billing.networks.balance().await), ((0, 0), 300), "the rest goes back");
    }

    async fn a_scheduled_retry_that_cannot_charge_is_followed_by_others(db: &TestDatabase) {
        let billing = Billing::open(db, 2_000).await;
        let price = billing.price("price_1", 1_500, MONTHLY).await;
        billing.insert(&billing.subscription("sub_1", &price, DAY * 30)).await;
        billing.round().await;
        let overdue = billing.invoices().await[0].clone();
        // On day 1 the customer's own transfer is in flight; it is declined.
        let mut unit = billing.ctx.store.begin().await.expect("begins");
        let own = Attempt {
            method_id: overdue.method_id.clone(),
            currency_id: overdue.currency_id.clone(),
            session_id: None,
            check_at: billing.start.plus(DAY * 9),
            ..wallet_attempt("att_own", "pi_own", "0x0")
        };
        unit.attempts().insert(&own, &planned(&overdue)).await.expect("inserts");
        unit.commit().await.expect("commits");
        billing.wait(DAY);
        assert_eq!(billing.retry().await, 0);
        assert_eq!(billing.invoices().await[0].retry_at, Some(billing.start.plus(DAY * 3)));
        let mut unit = billing.ctx.store.begin().await.expect("begins");
        unit.attempts().decline_claimed(&own.id, None, billing.ctx.now()).await.expect("declines");
        // On day 3 there is no mandate; on day 5 there is one again.
        let mandate = unit.mandates().find(&id("man_1")).await.expect("reads").expect("exists");
        unit.mandates().upsert(&Mandate { status: MandateStatus::Ended, ..mandate.clone() }).await.expect("writes");
        unit.commit().await.expect("commits");
        billing.wait(DAY * 2);
        assert_eq!(billing.retry().await, 0);
        let mut unit = billing.ctx.store.begin().await.expect("begins");
        unit.mandates().upsert(&mandate).await.expect("writes");
        unit.commit().await.expect("commits");
        billing.networks.faucet().await;
        billing.wait(DAY * 2);
        assert_eq!(billing.retry().await, 1);
        assert_eq!(billing.statuses().await, [InvoiceStatus::Paid]);
    }

    async fn a_hundred_overdue_invoices_of_one_subscription_do_not_hide_those_of_another(db: &TestDatabase) {
        let billing = Billing::open(db, 10).await;
        let price = billing.price("price_1", 5, MONTHLY).await;
        let (one, other) = (billing.subscription("sub_1", &price, DAY), billing.subscription("sub_2", &price, DAY));
        billing.insert(&one).await;
        billing.insert(&other).await;
        for number in 1..=100 {
            billing.insert_invoice(&billing.overdue_invoice(&format!("in_1{number:03}"), &one, number, Amount::new(9))).await;
        }
        billing.insert_invoice(&billing.overdue_invoice("in_2", &other, 101, Amount::new(9))).await;
        let mut unit = billing.ctx.store.read().await.expect("reads");
        assert_eq!(unit.invoices().overdue_of(&one.id).await.expect("reads").len(), 100);
        let overdue: Vec<_> = unit.invoices().overdue_of(&other.id).await.expect("reads").into_iter().map(|invoice| invoice.id).collect();
        assert_eq!(overdue, [id("in_2")]);
        let overdue = billing::overdue_of(unit.as_mut(), &id("cus_1"), Some(&other.id)).await.expect("reads");
        assert_eq!(overdue.invoices.len(), 1);
        // The overdue sum must include the invoices beyond the first hundred, and paying some of them must not count as paying all.
        let all = billing::overdue_of(unit.as_mut(), &id("cus_1"), None).await.expect("reads");
        assert_eq!((all.invoices.len(), all.sums[0].amount, all.subscriptions), (101, Amount::new(101 * 9), 2));
        drop(unit);
        let wallet = &billing.networks.wallet;
        let payer = Wallet { did: wallet.did().clone(), public_key: wallet.public_key_base58() };
        let target = OverdueTarget::OfCustomer(id("cus_1"), one.currency_id.clone());
        let prepared = billing::prepare_overdue_payment(&billing.ctx, &target, &payer, 7).await.expect("prepares");
        assert_eq!((prepared.amount, prepared.invoices.len()), (Amount::new(101 * 9), 101));
    }
}
