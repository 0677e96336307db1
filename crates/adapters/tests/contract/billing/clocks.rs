//! Test clocks: advancing a clock runs all events in order, each at its own time.

use super::bench::{Billing, DAY, MONTHLY};
use super::stakes::pay_overdue;
use crate::checkout_fixtures::id;
use crate::ledger::bench::UNIT;
use souk_adapters::on_one;
use souk_domain::billing::{
    self, AdvanceError, BalanceTransactionType, ClockStep, CreditNoteOrder, CreditNoteReason, CreditTo, InvoiceStatus, PayoutOrder, Scope,
    Subscription, SubscriptionStatus, TestClock, TimelineEvent,
};
use souk_domain::payment::{Purpose, RefundStatus, check_due};
use souk_domain::shared::{Amount, ClockId, Mode, Page, Timestamp};
use std::time::Duration;

pub async fn clock(billing: &Billing) -> ClockId {
    let clock = TestClock {
        id: id("clock_1"),
        name: "A year".to_owned(),
        customer_id: id("cus_1"),
        now: billing.start,
        target: None,
        timeline: Vec::new(),
        created_at: billing.start,
    };
    let mut unit = billing.ctx.store.begin().await.expect("begins");
    unit.clocks().insert(&clock).await.expect("inserts");
    unit.commit().await.expect("commits");
    clock.id
}

async fn advance(billing: &Billing, clock: &ClockId, to: Timestamp) {
    billing::aim_clock(&billing.ctx, clock, to).await.expect("aims");
    while !billing::advance_clock(&billing.ctx, clock).await.expect("advances") {}
}

on_one! {
    async fn a_clock_advances_a_year_in_order_and_affects_no_other_customer(db: &TestDatabase) {
        let billing = Billing::open(db, 10).await;
        let price = billing.price("price_1", 5, MONTHLY).await;
        let clock = clock(&billing).await;
        let trial = billing.trial("sub_1", &price, DAY * 5);
        billing.insert(&Subscription { clock_id: Some(clock.clone()), ..trial }).await;
        billing.insert(&billing.subscription("sub_2", &price, DAY)).await;
        let year = billing.start.plus(DAY * 365);
        advance(&billing, &clock, year).await;
        let invoices = billing.invoices().await;
        let starts: Vec<_> = invoices.iter().map(|invoice| invoice.period.expect("a period").start).collect();
        assert_eq!(starts, (0..13).map(|n| billing.start.plus(DAY * 5).plus(DAY * 30 * n)).collect::<Vec<_>>());
        assert!(invoices.iter().all(|invoice| invoice.status == InvoiceStatus::Paid && invoice.paid_at == Some(invoice.created_at)));
        assert_eq!((billing.networks.store_balance().await, billing.cash().await), (65, 65));
        assert_eq!(billing.find("sub_2").await.index, Some(0));
        let mut unit = billing.ctx.store.read().await.expect("reads");
        let found = unit.clocks().find(&clock).await.expect("reads").expect("exists");
        assert_eq!((found.now, found.target), (year, None));
        let listed: Vec<_> = found.timeline.iter().map(|event| event.what).collect();
        assert_eq!(listed[..4], [TimelineEvent::TrialEnded, TimelineEvent::Paid, TimelineEvent::Renewed, TimelineEvent::Paid]);
        assert_eq!(listed.len(), 26);
    }

    async fn the_regular_round_skips_customers_with_a_clock(db: &TestDatabase) {
        let billing = Billing::open(db, 10).await;
        let price = billing.price("price_1", 5, MONTHLY).await;
        let clock = clock(&billing).await;
        let one = billing.subscription("sub_1", &price, DAY * 30);
        billing.insert(&Subscription { clock_id: Some(clock.clone()), ..one }).await;
        assert_eq!(billing.round().await, 0);
        let round = billing::renew_due(&billing.ctx, &Scope::Clock(clock), billing.start, 10).await.expect("renews");
        assert_eq!(round.due, 1);
    }

    async fn an_unpaid_invoice_is_retried_and_abandoned_by_the_clocks_time(db: &TestDatabase) {
        let billing = Billing::open(db, 2_000).await;
        let price = billing.price("price_1", 1_500, MONTHLY).await;
        let clock = clock(&billing).await;
        let one = billing.subscription("sub_1", &price, DAY * 29);
        billing.insert(&Subscription { clock_id: Some(clock.clone()), ..one }).await;
        advance(&billing, &clock, billing.start.plus(DAY * 2)).await;
        assert_eq!(billing.find("sub_1").await.status, SubscriptionStatus::PastDue);
        advance(&billing, &clock, billing.start.plus(DAY * 60)).await;
        let ended = billing.find("sub_1").await;
        assert_eq!((ended.status, ended.ended_at), (SubscriptionStatus::Canceled, Some(billing.start.plus(DAY * 16))));
        let invoice = &billing.invoices().await[0];
        assert_eq!((invoice.status, invoice.failure_count), (InvoiceStatus::Uncollectible, 7));
        let found = billing.ctx.store.read().await.expect("reads").clocks().find(&clock).await.expect("reads").expect("exists");
        let listed: Vec<_> = found.timeline.iter().map(|event| event.what).collect();
        assert_eq!(listed[..3], [TimelineEvent::Renewed, TimelineEvent::PaymentDeclined, TimelineEvent::PastDue]);
        assert_eq!(listed[3..5], [TimelineEvent::Retried, TimelineEvent::PaymentDeclined]);
        let count = |what| listed.iter().filter(|listed| **listed == what).count();
        let counts = (count(TimelineEvent::PaymentDeclined), count(TimelineEvent::PastDue));
        assert_eq!((counts, listed.last()), ((7, 1), Some(&TimelineEvent::Canceled)));
        assert!(found.timeline.iter().all(|event| event.what != TimelineEvent::PaymentDeclined || event.subject == invoice.id.as_str()));
    }

    async fn a_clock_waits_until_the_outcome_of_a_charge_is_known(db: &TestDatabase) {
        let billing = Billing::open(db, 10).await;
        let price = billing.price("price_1", 5, MONTHLY).await;
        let clock = clock(&billing).await;
        let one = billing.subscription("sub_1", &price, DAY * 29);
        billing.insert(&Subscription { clock_id: Some(clock.clone()), ..one }).await;
        billing.networks.fault("drop_answer").await;
        let target = billing.start.plus(DAY * 40);
        advance(&billing, &clock, target).await;
        let found = || async { billing.ctx.store.read().await.expect("reads").clocks().find(&clock).await.expect("reads").expect("exists") };
        let stored = found().await;
        assert_eq!((stored.now, stored.target), (billing.start.plus(DAY), Some(target)));
        assert_eq!(billing.statuses().await, [InvoiceStatus::Open]);
        billing.wait(billing::CLOCK_LEASE + Duration::from_secs(1));
        assert!(!billing::advance_clock(&billing.ctx, &clock).await.expect("waits on"));
        billing.wait(billing::CLOCK_LEASE + Duration::from_secs(1));
        assert_eq!(check_due(&billing.ctx, 9).await.expect("queries"), 1);
        assert!(billing::advance_clock(&billing.ctx, &clock).await.expect("goes on"));
        assert_eq!((found().await.now, found().await.target), (target, None));
        let invoices = billing.invoices().await;
        assert_eq!(invoices.len(), 2);
        assert!(invoices.iter().all(|invoice| invoice.status == InvoiceStatus::Paid && invoice.paid_at == Some(invoice.created_at)));
    }

    async fn a_clock_advances_by_two_years_at_most_and_once_at_a_time(db: &TestDatabase) {
        let billing = Billing::open(db, 10).await;
        let clock = clock(&billing).await;
        let aim = |to: Timestamp| billing::aim_clock(&billing.ctx, &clock, to);
        assert!(matches!(aim(billing.start).await, Err(AdvanceError::BadTarget)));
        assert!(matches!(aim(billing.start.plus(Duration::from_secs(3 * 366 * 86_400))).await, Err(AdvanceError::BadTarget)));
        aim(billing.start.plus(DAY)).await.expect("aims");
        assert!(matches!(aim(billing.start.plus(DAY * 2)).await, Err(AdvanceError::UnderWay)));
    }

    async fn a_clock_also_advances_past_paused_subscriptions_and_unscheduled_overdue_invoices(db: &TestDatabase) {
        let billing = Billing::open(db, 10).await;
        let price = billing.price("price_1", 5, MONTHLY).await;
        let one = billing.subscription("sub_1", &price, DAY * 29);
        billing.insert(&one).await;
        billing::pause(&billing.ctx, &one.id).await.expect("pauses");
        billing.insert_invoice(&billing.overdue_invoice("in_1", &one, 1, Amount::new(9))).await;
        let made = billing::create_clock(&billing.ctx, Mode::Test, &one.customer_id, "A year").await.expect("makes");
        assert_eq!(billing.find("sub_1").await.clock_id.as_ref(), Some(&made.id));
        assert_eq!(billing.invoices().await[0].clock_id.as_ref(), Some(&made.id));
        billing::resume(&billing.ctx, &one.id).await.expect("goes on");
        billing.wait(DAY * 9);
        assert_eq!(billing.round().await, 0, "it follows its own clock");
    }

    async fn a_payment_of_overdue_invoices_is_dated_by_the_customers_clock(db: &TestDatabase) {
        let billing = Billing::open(db, 2_000).await;
        let price = billing.price("price_1", 1_500, MONTHLY).await;
        let clock = clock(&billing).await;
        let one = billing.subscription("sub_1", &price, DAY * 30);
        billing.insert(&Subscription { clock_id: Some(clock.clone()), ..one }).await;
        let target = billing.start.plus(DAY * 10);
        advance(&billing, &clock, target).await;
        assert_eq!(billing.statuses().await, [InvoiceStatus::Uncollectible]);
        billing.networks.faucet().await;
        assert_eq!(pay_overdue(&billing).await.expect("is paid"), 1_500);
        let mut unit = billing.ctx.store.read().await.expect("reads");
        let intents = unit.intents().of_customer(&id("cus_1"), &Page::new(None, None)).await.expect("lists").list;
        let paid: Vec<_> = intents.iter().filter(|intent| intent.subscription_id.is_none()).map(|intent| intent.created_at).collect();
        assert_eq!(paid, [target]);
    }

    async fn refunds_and_payouts_are_dated_by_the_customers_clock(db: &TestDatabase) {
        let billing = Billing::open(db, 100).await;
        let price = billing.price("price_1", 30, MONTHLY).await;
        let clock = clock(&billing).await;
        let one = billing.subscription("sub_1", &price, DAY * 30);
        billing.insert(&Subscription { clock_id: Some(clock.clone()), ..one }).await;
        let target = billing.start.plus(DAY * 10);
        advance(&billing, &clock, target).await;
        let invoice = billing.last().await;
        let note = CreditNoteOrder {
            invoice_id: invoice.id.clone(),
            items: Vec::new(),
            amount: Some(Amount::new(20 * UNIT)),
            reason: CreditNoteReason::Other,
            memo: String::new(),
            to: CreditTo::Balance,
        };
        billing::create_credit_note(&billing.ctx, Mode::Test, &note).await.expect("is issued");
        let order = PayoutOrder { customer_id: id("cus_1"), currency_id: invoice.currency_id.clone(), amount: None, memo: String::new() };
        let refunded = billing.refund(&invoice, Some(10 * UNIT)).await.expect("is ordered").refunds.remove(0);
        for is_declined in [true, false] {
            let paid_out = billing::pay_out_balance(&billing.ctx, Mode::Test, &order).await.expect("is ordered").remove(0);
            assert_eq!((paid_out.created_at, paid_out.updated_at), (target, target));
            if is_declined {
                billing.networks.fault("decline").await;
                billing.send(&Purpose::Refund(paid_out.id)).await;
            }
        }
        billing.send_all().await;
        let mut unit = billing.ctx.store.read().await.expect("reads");
        let listed = unit.balances().transactions(Mode::Test, &id("cus_1"), None, &Page::new(None, None)).await.expect("reads").list;
        use BalanceTransactionType as T;
        let kinds: Vec<_> = listed.iter().map(|one| (one.kind, one.created_at)).collect();
        assert_eq!(kinds, [T::Payout, T::PayoutRestored, T::Payout, T::CreditNote].map(|kind| (kind, target)));
        let sent = unit.refunds().find(&refunded.id).await.expect("reads").expect("exists");
        assert_eq!((sent.status, sent.created_at, sent.updated_at), (RefundStatus::Succeeded, target, target));
        drop(unit);
        billing.is_sound().await;
    }

    async fn a_run_that_lost_its_lease_on_a_clock_writes_nothing(db: &TestDatabase) {
        let billing = Billing::open(db, 10).await;
        let clock = clock(&billing).await;
        billing::aim_clock(&billing.ctx, &clock, billing.start.plus(DAY)).await.expect("aims");
        let (one, other) = (billing.start.plus(Duration::from_secs(1)), billing.start.plus(Duration::from_secs(90)));
        let step = ClockStep { now: billing.start.plus(DAY), timeline: &[], arrived: true };
        let mut unit = billing.ctx.store.begin().await.expect("begins");
        assert!(unit.clocks().claim(&clock, billing.start, one).await.expect("claims"));
        assert!(unit.clocks().claim(&clock, one, other).await.expect("claims"), "the first has been silent for long");
        assert!(!unit.clocks().record_step(&clock, &step, one, other).await.expect("answers"));
        assert!(unit.clocks().record_step(&clock, &step, other, other).await.expect("answers"));
        unit.commit().await.expect("commits");
    }
}
