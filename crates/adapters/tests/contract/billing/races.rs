//! Concurrent units of work, each stopped at the point where it could conflict with the other.

use super::bench::{Billing, DAY, HOUR, MONTHLY, planned};
use crate::checkout_fixtures::{id, wallet_attempt};
use crate::ledger::bench::UNIT;
use souk_adapters::on_both;
use souk_domain::billing::{
    self, CancelError, DocumentType, Invoice, InvoiceStatus, Period, PlanChoice, PlanError, PlanOrder, PlanSwitch, RefundChoice,
    ReportUsageError, Requester, Scope, Subscription, SubscriptionError, SubscriptionStatus, UsageAction, UsageReport, VoidError,
};
use souk_domain::context::Context;
use souk_domain::payment::{self, Attempt, AttemptContext, Decline, Outcome, Purpose, Settlement, SettlementError, Trigger};
use souk_domain::pricing::{Aggregate, Recurring, Usage};
use souk_domain::shared::{Amount, AttemptId, Mode, StorageError};
use souk_domain::storage::UnitOfWork;
use std::sync::atomic::{AtomicBool, Ordering};

/// Records the network's report that an attempt has settled.
async fn settle(
    ctx: &Context,
    unit: &mut dyn UnitOfWork,
    billing: &Billing,
    attempt: &AttemptId,
) -> Result<Vec<AttemptId>, SettlementError> {
    let attempt = unit.attempts().find(attempt).await?.expect("exists");
    let settlement = Settlement { reference: attempt.id.to_string(), payer: String::new(), amount: attempt.amount, card: None };
    let context = AttemptContext { attempt, method: billing.networks.method.clone(), currency: billing.networks.currency.clone() };
    payment::record(ctx, unit, &context, &Outcome::Settled(settlement), Trigger::Reconciler).await
}

/// Runs `action` while a payment of an invoice is being written, and declines the payment afterwards.
async fn while_paying<T>(billing: &Billing, name: &str, invoice: &Invoice, action: impl Future<Output = T>) -> T {
    let (method_id, currency_id, amount) = (invoice.method_id.clone(), invoice.currency_id.clone(), invoice.remaining());
    let attempt = wallet_attempt(&format!("att_{name}"), "pi_own", &format!("0x{name}"));
    let own = Attempt { method_id, currency_id, session_id: None, amount, ..attempt };
    let mut payment = billing.ctx.store.begin().await.expect("begins");
    payment.attempts().insert(&own, &planned(invoice)).await.expect("inserts");
    let done = AtomicBool::new(false);
    let acted = async {
        let answer = action.await;
        done.store(true, Ordering::Relaxed);
        answer
    };
    let commit = async {
        billing.until_blocked(1, || done.load(Ordering::Relaxed)).await;
        payment.commit().await.expect("commits");
    };
    let (answer, ()) = tokio::join!(acted, commit);
    let mut unit = billing.ctx.store.begin().await.expect("begins");
    unit.attempts().decline_claimed(&own.id, None, billing.start).await.expect("declines");
    unit.commit().await.expect("commits");
    answer
}

on_both! {
    async fn concurrent_payments_of_two_overdue_invoices_end_the_past_due_state(db: &TestDatabase) {
        let billing = Billing::open(db, 2_000).await;
        let price = billing.price("price_1", 1_500, MONTHLY).await;
        billing.insert(&billing.subscription("sub_1", &price, DAY * 60)).await;
        billing.round().await;
        billing.round().await;
        assert_eq!(billing.statuses().await, [InvoiceStatus::Uncollectible; 2]);
        billing.write("UPDATE invoices SET retry_at = finalized_at").await;
        let round = billing::retry_due(&billing.ctx, &Scope::Wall, billing.start, 9).await.expect("retries");
        let [one, other] = round.attempts.as_slice() else { panic!("{round:?}") };
        let mut first = billing.ctx.store.begin().await.expect("begins");
        settle(&billing.ctx, first.as_mut(), &billing, one).await.expect("is written");
        let done = AtomicBool::new(false);
        let second = async {
            let mut unit = billing.ctx.store.begin().await.expect("begins");
            settle(&billing.ctx, unit.as_mut(), &billing, other).await.expect("is written");
            unit.commit().await.expect("commits");
            done.store(true, Ordering::Relaxed);
        };
        let commit = async {
            billing.until_blocked(1, || done.load(Ordering::Relaxed)).await;
            first.commit().await.expect("commits");
        };
        tokio::join!(second, commit);
        assert_eq!(billing.statuses().await, [InvoiceStatus::Paid; 2]);
        let recovered = billing.find("sub_1").await;
        assert_eq!((recovered.status, recovered.past_due_since), (SubscriptionStatus::Active, None));
    }

    async fn a_concurrent_poll_does_not_prevent_a_decline_from_being_recorded(db: &TestDatabase) {
        let billing = Billing::open(db, 10).await;
        let price = billing.price("price_1", 5, MONTHLY).await;
        billing.insert(&billing.subscription("sub_1", &price, DAY * 30)).await;
        let sent = billing.round_unsent().await;
        let mut unit = billing.ctx.store.begin().await.expect("begins");
        unit.attempts().claim_unsent(&sent, billing.start, billing.start.plus(HOUR)).await.expect("claims");
        let attempt = unit.attempts().find(&sent[0]).await.expect("reads").expect("exists");
        unit.commit().await.expect("commits");
        let context = AttemptContext { attempt, method: billing.networks.method.clone(), currency: billing.networks.currency.clone() };
        let decline = Decline { code: "INSUFFICIENT_FUND".to_owned(), message: "It is not that much".to_owned() };
        for (outcome, trigger) in [(Outcome::NotFound, Trigger::Poll), (Outcome::Declined(decline), Trigger::Initial)] {
            let mut unit = billing.ctx.store.begin().await.expect("begins");
            payment::record(&billing.ctx, unit.as_mut(), &context, &outcome, trigger).await.expect("is noted");
            unit.commit().await.expect("commits");
        }
        assert_eq!(billing.statuses().await, [InvoiceStatus::Uncollectible]);
    }

    async fn an_invoice_is_not_voided_while_its_payment_is_being_written(db: &TestDatabase) {
        let billing = Billing::open(db, 10).await;
        let price = billing.price("price_1", 5, MONTHLY).await;
        let one = billing.subscription("sub_1", &price, DAY);
        billing.insert(&one).await;
        let unpaid = billing.overdue_invoice("in_1", &one, 1, Amount::new(9));
        billing.insert_invoice(&unpaid).await;
        let (method_id, currency_id) = (unpaid.method_id.clone(), unpaid.currency_id.clone());
        let own = Attempt { method_id, currency_id, session_id: None, ..wallet_attempt("att_own", "pi_own", "0x0") };
        let mut payment = billing.ctx.store.begin().await.expect("begins");
        payment.attempts().insert(&own, &planned(&unpaid)).await.expect("inserts");
        let done = AtomicBool::new(false);
        let voided = async {
            let answer = billing::void_invoice(&billing.ctx, &unpaid.id).await;
            done.store(true, Ordering::Relaxed);
            answer
        };
        let commit = async {
            billing.until_blocked(1, || done.load(Ordering::Relaxed)).await;
            payment.commit().await.expect("commits");
        };
        let (answer, ()) = tokio::join!(voided, commit);
        assert!(matches!(answer, Err(VoidError::Subscription(SubscriptionError::PaymentInFlight))), "{answer:?}");
        assert_eq!(billing.statuses().await, [InvoiceStatus::Uncollectible]);
        let mut unit = billing.ctx.store.begin().await.expect("begins");
        unit.attempts().decline_claimed(&own.id, None, billing.start).await.expect("declines");
        unit.commit().await.expect("commits");

        // In the opposite order, the payment finds the invoice void.
        let mut voiding = billing.ctx.store.begin().await.expect("begins");
        let overdue = voiding.invoices().lock(&unpaid.id).await.expect("locks").expect("exists");
        assert!(voiding.attempts().lock_not_in_flight(&unpaid.id).await.expect("keeps"));
        let void = overdue.with_amounts(Amount::ZERO, overdue.total, billing.start).expect("is void");
        assert!(voiding.invoices().update(&overdue, &void).await.expect("is void"));
        let next = Attempt { id: id("att_next"), purpose: Purpose::Payment(id("pi_next")), ..wallet_attempt("att_next", "pi_next", "0x1") };
        let next = Attempt { method_id: unpaid.method_id.clone(), currency_id: unpaid.currency_id.clone(), session_id: None, ..next };
        let done = AtomicBool::new(false);
        let payment = async {
            let mut unit = billing.ctx.store.begin().await.expect("begins");
            let answer = unit.attempts().insert(&next, &planned(&unpaid)).await;
            done.store(true, Ordering::Relaxed);
            answer
        };
        let commit = async {
            billing.until_blocked(1, || done.load(Ordering::Relaxed)).await;
            voiding.commit().await.expect("commits");
        };
        let (answer, ()) = tokio::join!(payment, commit);
        assert!(matches!(answer, Err(StorageError::Duplicate(_))), "{answer:?}");
        assert_eq!(billing.statuses().await, [InvoiceStatus::Void]);
    }

    async fn unused_time_is_not_credited_while_a_payment_of_its_invoice_is_being_written(db: &TestDatabase) {
        let billing = Billing::open(db, 100).await;
        let price = billing.price("price_1", 30, MONTHLY).await;
        let larger = billing.price("price_2", 60, MONTHLY).await;
        billing.insert(&billing.subscription("sub_1", &price, DAY * 30)).await;
        // The month's invoice is open, and nobody is paying it.
        let renewal = billing.round_unsent().await;
        let mut unit = billing.ctx.store.begin().await.expect("begins");
        unit.attempts().decline_claimed(&renewal[0], None, billing.start).await.expect("declines");
        unit.commit().await.expect("commits");
        let invoice = billing.last().await;
        let choice = PlanChoice { price: larger.id.clone(), quantity: None, item: None };
        let shown = billing::preview_plan(&billing.ctx, &id("sub_1"), &choice).await.expect("is shown");
        let order = PlanOrder { choice, at: shown.at, expected: shown.total, credited: Some(shown.credited) };
        let sub = id("sub_1");
        let changed = while_paying(&billing, "change", &invoice, billing::switch_plan(&billing.ctx, &sub, &order, Requester::Customer)).await;
        assert!(matches!(changed, Err(PlanError::Subscription(SubscriptionError::PaymentInFlight))), "{changed:?}");
        for (name, refund) in [("share", RefundChoice::Proration), ("last", RefundChoice::Last)] {
            let ended = while_paying(&billing, name, &invoice, billing.end_with(refund)).await;
            assert!(matches!(ended, Err(CancelError::Subscription(SubscriptionError::PaymentInFlight))), "{name}: {ended:?}");
        }
        assert_eq!((billing.statuses().await, billing.notes().await.len()), (vec![InvoiceStatus::Open], 0));
        assert_eq!((billing.find("sub_1").await.status, &billing.find("sub_1").await.items[0].price_id), (SubscriptionStatus::Active, &price.id));
    }

    async fn a_renewal_and_a_plan_change_wait_for_each_others_use_of_the_balance(db: &TestDatabase) {
        let billing = Billing::open(db, 100).await;
        let price = billing.price("price_1", 5, MONTHLY).await;
        let larger = billing.price("price_2", 50, MONTHLY).await;
        billing.insert(&billing.subscription("sub_1", &price, DAY * 30)).await;
        let other = billing.subscription("sub_2", &price, DAY);
        billing.insert(&other).await;
        billing.overpay(900 * UNIT).await;
        let choice = PlanChoice { price: larger.id.clone(), quantity: None, item: None };
        let shown = billing::preview_plan(&billing.ctx, &other.id, &choice).await.expect("is shown");
        assert!(!shown.applied.is_zero(), "{shown:?}");

        // Another transaction holds the number series meanwhile, so that both units of work get as far as they can.
        let mut busy = billing.ctx.store.begin().await.expect("begins");
        busy.invoices().allocate_numbers(Mode::Test, DocumentType::Invoice, 1).await.expect("takes");
        let renewal = async {
            billing::renew_due(&billing.ctx, &Scope::Wall, billing.start, 9).await.map(|round| round.due)
        };
        let change = async {
            billing.until_blocked(1, || false).await;
            let order = PlanOrder { choice, at: shown.at, expected: shown.total, credited: Some(shown.credited) };
            billing::switch_plan(&billing.ctx, &other.id, &order, Requester::Customer).await
        };
        let release = async {
            billing.until_blocked(2, || false).await;
            drop(busy);
        };
        let (renewed, changed, ()) = tokio::join!(renewal, change, release);
        assert!(matches!((&renewed, &changed), (Ok(1), Ok(PlanSwitch::Switched))), "{renewed:?} {changed:?}");
        assert_eq!((billing.find("sub_1").await.index, &billing.find("sub_2").await.items[0].price_id), (Some(1), &larger.id));
        let (plan, month) = (shown.applied.base_units(), price.unit_amount.base_units());
        assert_eq!(billing.customer_balance().await, 900 * UNIT - plan - month);
    }

    async fn usage_is_not_recorded_for_a_period_that_a_renewal_is_ending(db: &TestDatabase) {
        let billing = Billing::open(db, 100).await;
        let metered = Recurring { usage: Usage::Metered(Aggregate::Sum), ..MONTHLY };
        let price = billing.price("price_1", 3, metered).await;
        let one = billing.subscription("sub_1", &price, DAY * 30);
        billing.insert(&one).await;
        let mut round = billing.ctx.store.begin().await.expect("begins");
        let due = round.subscriptions().lock_due(&Scope::Wall, billing.start, 9, &[]).await.expect("locks");
        let next = Period { start: one.period.end, end: one.period.end.plus(DAY * 30) };
        let renewed = Subscription { index: Some(1), period: next, ..due[0].clone() };
        assert!(round.subscriptions().update(&renewed).await.expect("writes"));
        let report = UsageReport {
            item: one.items[0].id.clone(),
            quantity: 4,
            action: UsageAction::Increment,
            at: Some(billing.start.minus(HOUR)),
            identifier: None,
        };
        let done = AtomicBool::new(false);
        let reported = async {
            let reported = billing::report_usage(&billing.ctx, Mode::Test, &report).await;
            done.store(true, Ordering::Relaxed);
            reported
        };
        let commit = async {
            billing.until_blocked(1, || done.load(Ordering::Relaxed)).await;
            round.commit().await.expect("commits");
        };
        let (reported, ()) = tokio::join!(reported, commit);
        assert!(matches!(reported, Err(ReportUsageError::UsageOutOfPeriod)), "{reported:?}");
    }
}
