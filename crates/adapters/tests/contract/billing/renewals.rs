//! Automatic renewals: each period is billed once and charged once (invariants 1, 2, 11).

use super::bench::{Billing, DAY, HOUR, MONTHLY};
use crate::checkout_fixtures::{begin, id, read};
use crate::ledger::bench::UNIT;
use souk_adapters::persistence::statement_counter;
use souk_adapters::{on_both, on_one};
use souk_domain::billing::{
    self, BillingReason, CatchUp, HoldReason, InvoiceStatus, OnHold, Scope, Subscription, SubscriptionItem, SubscriptionStatus,
    UsageAction, UsageRecord,
};
use souk_domain::payment::{self, Origin, SettledAttempt, Settlement};
use souk_domain::pricing::{Aggregate, Anchoring, Interval, Recurring, RecurringInterval, Usage};
use souk_domain::shared::*;

on_one! {
    async fn a_period_that_ends_is_followed_by_a_paid_one(db: &TestDatabase) {
        let billing = Billing::open(db, 10).await;
        let price = billing.price("price_1", 5, MONTHLY).await;
        billing.insert(&billing.subscription("sub_1", &price, DAY * 30)).await;
        assert_eq!(billing.round().await, 1);
        let renewed = billing.find("sub_1").await;
        assert_eq!((renewed.status, renewed.index), (SubscriptionStatus::Active, Some(1)));
        assert_eq!((renewed.period.start, renewed.period.end), (billing.start, billing.start.plus(DAY * 30)));
        let invoices = billing.invoices().await;
        let [invoice] = invoices.as_slice() else { panic!("{invoices:?}") };
        assert_eq!((invoice.status, invoice.reason), (InvoiceStatus::Paid, BillingReason::SubscriptionCycle));
        assert_eq!((invoice.number, invoice.period), (Some(1), Some(renewed.period)));
        assert_eq!((invoice.total, invoice.amount_paid), (Amount::new(5 * UNIT), Amount::new(5 * UNIT)));
        assert_eq!(renewed.latest_invoice_id.as_ref(), Some(&invoice.id));
        assert_eq!((billing.networks.balance().await, billing.networks.store_balance().await, billing.cash().await), (995, 5, 5));
        assert_eq!(billing.round().await, 0);
    }
}

on_both! {
    async fn concurrent_rounds_renew_each_subscription_once(db: &TestDatabase) {
        let billing = Billing::open(db, 10).await;
        let price = billing.price("price_1", 5, MONTHLY).await;
        for number in 1..=12 {
            billing.insert(&billing.subscription(&format!("sub_{number}"), &price, DAY * 30)).await;
        }
        let rounds = futures_util::future::join_all((0..4).map(|_| billing.round())).await;
        assert_eq!(rounds.iter().sum::<usize>(), 12, "{rounds:?}");
        let mut numbers: Vec<_> = billing.invoices().await.iter().map(|invoice| invoice.number.expect("a number")).collect();
        numbers.sort_unstable();
        assert_eq!(numbers, (1..=12).collect::<Vec<_>>());
        assert_eq!((billing.networks.store_balance().await, billing.cash().await), (60, 60));
    }
}

on_both! {
    async fn charges_that_settle_together_are_written_by_fewer_statements_than_there_are_charges(db: &TestDatabase) {
        const CHARGES: u32 = 16;
        let billing = Billing::open(db, 10).await;
        let price = billing.price("price_1", 5, MONTHLY).await;
        for number in 1..=CHARGES {
            billing.insert(&billing.subscription(&format!("sub_{number}"), &price, DAY * 30)).await;
        }
        let renewed = billing::renew_due(&billing.ctx, &Scope::Wall, billing.start, CHARGES).await.expect("renews");
        let attempts = read(db).await.attempts().find_all(&renewed.attempts).await.expect("reads");
        let settlement = Settlement { reference: "0x1".to_owned(), payer: "z1payer".to_owned(), amount: Amount::new(5 * UNIT), card: None };
        let settled: Vec<_> = attempts.iter().map(|attempt| SettledAttempt { attempt, settlement: &settlement }).collect();
        let handler = billing.ctx.handlers.find(&attempts[0].purpose, Origin::Direct).expect("a handler");
        let mut unit = begin(db).await;
        let before = statement_counter::sent().statements;
        handler.settled_all(&billing.ctx, unit.as_mut(), &settled).await.expect("settles");
        unit.commit().await.expect("commits");
        let statements = statement_counter::sent().statements - before;
        assert!(statements < u64::from(CHARGES), "{statements}");
        assert!(billing.invoices().await.iter().all(|invoice| invoice.status == InvoiceStatus::Paid));
        assert_eq!(billing.cash().await, 5 * u128::from(CHARGES));
    }
}

on_one! {
    async fn missed_periods_are_billed_with_one_invoice_each(db: &TestDatabase) {
        let billing = Billing::open(db, 10).await;
        let daily = Recurring { cycle: RecurringInterval::new(Interval::Day, 1, Anchoring::Fixed).expect("a cycle"), usage: Usage::Licensed };
        let price = billing.price("price_1", 2, daily).await;
        billing.insert(&billing.subscription("sub_1", &price, DAY * 4)).await;
        // More than two days are unbilled, so an owner decides.
        billing.round().await;
        assert!(billing.invoices().await.is_empty());
        billing::resume_billing(&billing.ctx, &id("sub_1"), Some(CatchUp::EveryPeriod)).await.expect("resumes");
        while billing.round().await > 0 {}
        let starts: Vec<_> = billing.invoices().await.iter().map(|invoice| invoice.period.expect("a period").start).collect();
        assert_eq!(starts, (0..4).map(|day| billing.start.minus(DAY * 3).plus(DAY * day)).collect::<Vec<_>>());
        assert_eq!(billing.networks.store_balance().await, 8);
    }

    async fn the_first_paid_period_follows_the_trial(db: &TestDatabase) {
        let billing = Billing::open(db, 10).await;
        let price = billing.price("price_1", 5, MONTHLY).await;
        billing.insert(&billing.trial("sub_1", &price, DAY * 2)).await;
        assert_eq!(billing.round().await, 0);
        billing.wait(DAY * 2);
        assert_eq!(billing.round().await, 1);
        let begun = billing.find("sub_1").await;
        assert_eq!((begun.status, begun.index, begun.period.start), (SubscriptionStatus::Active, Some(0), billing.start.plus(DAY * 2)));
        assert_eq!(billing.statuses().await, [InvoiceStatus::Paid]);
    }

    async fn a_renewal_of_zero_calls_no_network(db: &TestDatabase) {
        let billing = Billing::open(db, 10).await;
        let price = billing.price("price_1", 0, MONTHLY).await;
        let unmandated = Subscription { mandate_id: None, ..billing.subscription("sub_1", &price, DAY * 30) };
        billing.insert(&unmandated).await;
        billing.round().await;
        assert_eq!(billing.statuses().await, [InvoiceStatus::Paid]);
        assert!(billing.networks.transfers().await.is_empty());
    }

    async fn usage_is_billed_when_its_period_is_over(db: &TestDatabase) {
        let billing = Billing::open(db, 100).await;
        let metered = Recurring { usage: Usage::Metered(Aggregate::Sum), ..MONTHLY };
        let price = billing.price("price_1", 3, metered).await;
        let one = billing.subscription("sub_1", &price, DAY * 29);
        billing.insert(&one).await;
        let record = |name: &str, quantity: u64, at: Timestamp| UsageRecord {
            id: id(&format!("ur_{name}")),
            item_id: one.items[0].id.clone(),
            identifier: name.to_owned(),
            quantity,
            action: UsageAction::Increment,
            at,
            created_at: at,
        };
        let mut unit = billing.ctx.store.begin().await.expect("begins");
        assert!(unit.usage().insert(&record("a", 4, billing.start)).await.expect("inserts"));
        assert!(!unit.usage().insert(&record("a", 9, billing.start)).await.expect("answers"), "an identifier counts once");
        assert!(unit.usage().insert(&record("b", 1, one.period.end)).await.expect("inserts"), "of the next period");
        unit.commit().await.expect("commits");
        billing.wait(DAY);
        billing.round().await;
        let invoices = billing.invoices().await;
        assert_eq!(invoices[0].total, Amount::new(12 * UNIT));
        let mut unit = billing.ctx.store.read().await.expect("reads");
        let items = unit.invoices().items(&invoices[0].id).await.expect("reads");
        assert_eq!((items[0].quantity, items[0].period), (4, Some(one.period)));
        assert_eq!(items[0].pricing_formula.amount(), Ok(items[0].amount));
    }

    async fn a_lost_response_is_unknown_until_the_network_is_queried_and_is_charged_once(db: &TestDatabase) {
        let billing = Billing::open(db, 10).await;
        let price = billing.price("price_1", 5, MONTHLY).await;
        billing.insert(&billing.subscription("sub_1", &price, DAY * 30)).await;
        billing.networks.fault("drop_answer").await;
        billing.round().await;
        billing.wait(std::time::Duration::from_secs(120));
        payment::check_due(&billing.ctx, 10).await.expect("queries");
        assert_eq!(billing.statuses().await, [InvoiceStatus::Paid]);
        assert_eq!((billing.networks.store_balance().await, billing.cash().await, billing.networks.transfers().await.len()), (5, 5, 1));
    }

    async fn the_reconciler_sends_the_charges_of_a_round_that_crashed(db: &TestDatabase) {
        let billing = Billing::open(db, 10).await;
        let price = billing.price("price_1", 5, MONTHLY).await;
        billing.insert(&billing.subscription("sub_1", &price, DAY * 30)).await;
        let round = billing::renew_due(&billing.ctx, &Scope::Wall, billing.ctx.now(), 10).await.expect("renews");
        assert_eq!(billing.statuses().await, [InvoiceStatus::Open]);
        billing.wait(std::time::Duration::from_secs(900));
        payment::check_due(&billing.ctx, 10).await.expect("queries");
        payment::charge(&billing.ctx, &round.attempts).await.expect("comes late, and finds nothing to do");
        assert_eq!(billing.statuses().await, [InvoiceStatus::Paid]);
        assert_eq!(billing.networks.transfers().await.len(), 1);
    }

    async fn a_decline_is_not_recorded_while_another_sender_may_have_sent_the_attempt(db: &TestDatabase) {
        let billing = Billing::open(db, 10).await;
        let price = billing.price("price_1", 5, MONTHLY).await;
        billing.insert(&billing.subscription("sub_1", &price, DAY * 30)).await;
        let round = billing::renew_due(&billing.ctx, &Scope::Wall, billing.ctx.now(), 10).await.expect("renews");
        // The worker that had the message may have sent the attempt and crashed before the response.
        let (now, mut unit) = (billing.ctx.now(), billing.ctx.store.begin().await.expect("begins"));
        assert_eq!(unit.attempts().claim_unsent(&round.attempts, now, now.plus(HOUR)).await.expect("claims"), round.attempts);
        unit.commit().await.expect("commits");
        billing.wait(HOUR * 2);
        billing.networks.fault("decline").await;
        payment::check_due(&billing.ctx, 10).await.expect("queries");
        assert_eq!(billing.statuses().await, [InvoiceStatus::Open], "one decline is not final yet");
        payment::charge(&billing.ctx, &round.attempts).await.expect("leaves it to the reconciler");
        assert_eq!((billing.statuses().await, billing.networks.transfers().await.len()), (vec![InvoiceStatus::Open], 0));
        billing.wait(DAY);
        payment::check_due(&billing.ctx, 10).await.expect("queries");
        assert_eq!((billing.statuses().await, billing.networks.transfers().await.len()), (vec![InvoiceStatus::Paid], 1));
    }

    async fn a_decline_of_an_attempt_first_sent_by_the_reconciler_is_recorded_at_once(db: &TestDatabase) {
        let billing = Billing::open(db, 10).await;
        let price = billing.price("price_1", 5, MONTHLY).await;
        billing.insert(&billing.subscription("sub_1", &price, DAY * 30)).await;
        let sent = billing.round_unsent().await;
        // The message waits behind many others, so the reconciler is the first to send; the message must not be handled at the same time.
        billing.wait(HOUR);
        billing.networks.fault("decline").await;
        payment::check_due(&billing.ctx, 10).await.expect("queries");
        assert_eq!(billing.statuses().await, [InvoiceStatus::Uncollectible]);
        payment::charge(&billing.ctx, &sent).await.expect("finds nothing to send");
        assert_eq!((billing.statuses().await, billing.networks.transfers().await.len()), (vec![InvoiceStatus::Uncollectible], 0));
    }

    async fn a_worker_does_not_send_an_attempt_claimed_by_the_reconciler(db: &TestDatabase) {
        let billing = Billing::open(db, 10).await;
        let price = billing.price("price_1", 5, MONTHLY).await;
        billing.insert(&billing.subscription("sub_1", &price, DAY * 30)).await;
        let sent = billing.round_unsent().await;
        // The reconciler has claimed the attempt and may be sending it now.
        billing.wait(DAY);
        let now = billing.ctx.now();
        let mut unit = billing.ctx.store.begin().await.expect("begins");
        assert_eq!(unit.attempts().claim_due(&billing.networks.method.id, now, now.plus(HOUR), 10).await.expect("claims"), sent);
        unit.commit().await.expect("commits");
        payment::settle_unsent(&billing.ctx, &sent[0]).await.expect("queries");
        assert_eq!((billing.statuses().await, billing.networks.transfers().await.len()), (vec![InvoiceStatus::Open], 0), "the reconciler's to send");
        billing.wait(DAY);
        payment::check_due(&billing.ctx, 10).await.expect("queries");
        assert_eq!((billing.statuses().await, billing.networks.transfers().await.len()), (vec![InvoiceStatus::Paid], 1));
    }

    async fn a_subscription_that_cannot_be_billed_is_put_on_hold_and_blocks_no_other(db: &TestDatabase) {
        let billing = Billing::open(db, 10).await;
        let price = billing.price("price_1", 5, MONTHLY).await;
        let gone = SubscriptionItem { id: id("si_gone"), price_id: id("price_gone"), quantity: 1, billed: None };
        billing.insert(&Subscription { items: vec![gone], ..billing.subscription("sub_1", &price, DAY * 31) }).await;
        billing.insert(&billing.subscription("sub_2", &price, DAY * 30)).await;
        assert_eq!(billing.round().await, 2);
        let on_hold = OnHold { reason: HoldReason::PriceMissing, detail: "one of its prices no longer exists".to_owned() };
        assert_eq!(billing.find("sub_1").await.on_hold, Some(on_hold));
        assert_eq!(billing.statuses().await, [InvoiceStatus::Paid]);
        assert_eq!(billing.round().await, 0);
        let permits = billing.networks.rail.mandate_allows(&billing.networks.method, &billing.networks.currency, billing.networks.wallet.did(), price.unit_amount);
        assert_eq!(permits.await, Ok(true));
    }

    async fn a_subscription_whose_period_is_already_billed_is_put_on_hold_and_others_continue(db: &TestDatabase) {
        let billing = Billing::open(db, 10).await;
        let price = billing.price("price_1", 5, MONTHLY).await;
        billing.insert(&billing.subscription("sub_1", &price, DAY * 31)).await;
        billing.insert(&billing.subscription("sub_2", &price, DAY * 30)).await;
        billing.round().await;
        // Simulates that the first subscription's new period was not written although its invoice exists.
        let before = billing.find("sub_1").await;
        let torn = Subscription { index: Some(0), period: billing.subscription("sub_1", &price, DAY * 31).period, ..before };
        let mut unit = billing.ctx.store.begin().await.expect("begins");
        assert!(unit.subscriptions().update(&torn).await.expect("writes"));
        unit.commit().await.expect("commits");
        billing.insert(&billing.subscription("sub_3", &price, DAY * 30)).await;
        billing.round().await;
        let OnHold { reason, detail } = billing.find("sub_1").await.on_hold.expect("a reason");
        assert!(reason == HoldReason::AlreadyBilled && detail.contains("invoices: one of this subscription"), "{detail}");
        assert_eq!(billing.find("sub_3").await.index, Some(1));
        assert_eq!(billing.networks.store_balance().await, 15);
    }
}
