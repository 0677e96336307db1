//! Payments that settle with an amount other than the requested one, and payments that a network reverses.

use super::bench::MONTHLY;
use super::card_bench::{CardBuyer, InvoiceSummary, Used};
use super::plans::subscribed;
use crate::checkout_fixtures::id;
use souk_adapters::persistence::{Backlog, backlog};
use souk_adapters::{on_both, on_one};
use souk_domain::billing::{self, Invoice, InvoiceStatus, PayoutOrder, SubscriptionStatus, SuspenseError, SuspenseTo};
use souk_domain::context::Context;
use souk_domain::ledger::EntryType;
use souk_domain::payment::{
    self, AMOUNT_DIFFERS, AttemptContext, AttemptStatus, Breakers, CardHint, Decline, Origin, Outcome, PurposeHandlers, RECHECK_AFTER,
    Reversal, Settlement, Trigger,
};
use souk_domain::shared::{Amount, AttemptId, Mode};
use std::sync::Arc;
use std::time::Duration;

impl CardBuyer {
    /// Records an outcome that the network reports for an attempt.
    async fn record_outcome(&self, id: &AttemptId, outcome: &Outcome) {
        let attempt = self.attempt(id).await;
        let context = AttemptContext { attempt, method: self.method.clone(), currency: self.currency.clone() };
        let mut unit = self.billing.ctx.store.begin().await.expect("begins");
        payment::record(&self.billing.ctx, unit.as_mut(), &context, outcome, Trigger::Reconciler).await.expect("is recorded");
        unit.commit().await.expect("commits");
    }

    async fn reverse(&self, id: &AttemptId, cents: u128) {
        let attempt = self.attempt(id).await;
        let handlers: &PurposeHandlers = &self.billing.ctx.handlers;
        let handler = handlers.find(&attempt.purpose, Origin::of(&attempt)).expect("a handler");
        let reversal = Reversal { reference: "reorganized".to_owned(), amount: Amount::new(cents) };
        let mut unit = self.billing.ctx.store.begin().await.expect("begins");
        handler.reversed(&self.billing.ctx, unit.as_mut(), &attempt, &reversal).await.expect("is reversed");
        unit.commit().await.expect("commits");
    }
}

fn settled(cents: u128) -> Outcome {
    settled_as("pi_provider", cents)
}

fn settled_as(reference: &str, cents: u128) -> Outcome {
    let amount = Amount::new(cents);
    Outcome::Settled(Settlement { reference: reference.to_owned(), payer: String::new(), amount, card: None })
}

/// The customer's payment of an invoice of 10.00 moves another amount. Returns the invoice, the attempt, and the provider's id of the
/// payment.
async fn on_hold(buyer: &CardBuyer, name: &str, cents: u128) -> (Invoice, AttemptId, String) {
    let invoice = buyer.invoice(&format!("in_{name}"), 1_000).await;
    let attempt = buyer.begin(name, std::slice::from_ref(&invoice)).await;
    let payment = buyer.enter_card(&attempt).await;
    buyer.record_outcome(&attempt, &settled_as(&payment, cents)).await;
    (invoice, attempt, payment)
}

on_both! {
    async fn a_differing_amount_stays_in_suspense_until_an_owner_moves_it_to_the_balance(db: &TestDatabase) {
        let buyer = CardBuyer::open(db).await;
        let invoice = buyer.invoice("in_1", 1_000).await;
        let attempt = buyer.begin("1", std::slice::from_ref(&invoice)).await;
        for _ in 0..2 {
            buyer.record_outcome(&attempt, &settled(700)).await;
        }
        // A later report of the network changes nothing.
        buyer.record_outcome(&attempt, &settled(1_000)).await;
        buyer.record_outcome(&attempt, &Outcome::Unknown("no answer".to_owned())).await;
        buyer.record_outcome(&attempt, &Outcome::Declined(Decline { code: "canceled".to_owned(), message: String::new() })).await;
        let held = buyer.attempt(&attempt).await;
        assert_eq!((held.status, held.last_error.map(|error| error.code).as_deref()), (AttemptStatus::Unknown, Some(AMOUNT_DIFFERS)));
        assert_eq!(buyer.summary(&invoice).await, InvoiceSummary { status: InvoiceStatus::Open, total: 1_000, paid: 0, credited: 0 });
        assert_eq!(buyer.entries(attempt.as_str()).await, [EntryType::SuspenseReceived]);
        buyer.billing.is_sound().await;

        let resolve = async || billing::resolve_suspense(&buyer.billing.ctx, Mode::Test, &attempt, SuspenseTo::Balance).await;
        assert!(matches!(billing::resolve_suspense(&buyer.billing.ctx, Mode::Live, &attempt, SuspenseTo::Balance).await, Err(SuspenseError::NotFound)));
        assert_eq!(resolve().await.expect("is resolved").amount, Amount::new(700));
        assert!(matches!(resolve().await, Err(SuspenseError::NotOnHold)));
        assert_eq!(buyer.attempt(&attempt).await.status, AttemptStatus::Declined);
        assert_eq!(buyer.billing.customer_balance().await, 700);
        buyer.billing.is_sound().await;

        buyer.billing.deliver().await;
        assert_eq!(buyer.summary(&invoice).await, InvoiceSummary { status: InvoiceStatus::Open, total: 1_000, paid: 700, credited: 0 }, "the balance pays a part of the invoice");
        let invoice = buyer.billing.reload(&invoice).await;
        buyer.pay("2", std::slice::from_ref(&invoice)).await;
        assert_eq!(buyer.summary(&invoice).await, InvoiceSummary { status: InvoiceStatus::Paid, total: 1_000, paid: 1_000, credited: 0 }, "the rest can be paid again");
        buyer.billing.is_sound().await;
    }

    async fn the_network_is_not_asked_about_a_payment_on_hold(db: &TestDatabase) {
        let buyer = CardBuyer::open(db).await;
        let (_, id, payment) = on_hold(&buyer, "1", 700).await;
        buyer.billing.wait(Duration::from_secs(2 * 86_400));
        // Breakers list the networks that were called.
        let breakers = Arc::new(Breakers::default());
        let ctx = &buyer.billing.ctx;
        let ctx = Context { networks: ctx.networks.clone().with_breakers(breakers.clone()), ..ctx.clone() };
        let before = buyer.attempt(&id).await;
        assert_eq!((payment::networks_due(&ctx).await.expect("reads"), payment::check_due(&ctx, 100).await.expect("looks")), (Vec::new(), 0));
        let Backlog { due, waiting, .. } = backlog(buyer.billing.database(), ctx.now(), &[]).await.expect("reads");
        assert!(due.contains(&("attempts", Duration::ZERO)) && waiting.contains(&("payments", 1)), "{due:?} {waiting:?}");
        payment::settle(&ctx, &id).await.expect("does nothing");
        assert!(!payment::poll_network(&ctx, &before).await.expect("does nothing"));
        assert!(!payment::cancel_attempt(&ctx, &id).await.expect("does nothing"), "it is still open");
        assert_eq!((buyer.attempt(&id).await, breakers.statuses().len()), (before, 0));

        buyer.refund_in_dashboard(&payment, 200).await;
        buyer.check(&payment).await;
        let resolved = billing::resolve_suspense(&ctx, Mode::Test, &id, SuspenseTo::Balance).await.expect("is resolved");
        assert_eq!((resolved.amount, buyer.billing.customer_balance().await), (Amount::new(500), 500));
        buyer.billing.is_sound().await;
    }

    async fn money_of_a_resolved_hold_is_paid_out_over_its_payment(db: &TestDatabase) {
        let buyer = CardBuyer::open(db).await;
        let (invoice, attempt, _) = on_hold(&buyer, "1", 700).await;
        let ctx = &buyer.billing.ctx;
        buyer.credit_to_balance(&invoice, 1_000).await;
        let payout = PayoutOrder { customer_id: id("cus_1"), currency_id: buyer.currency.id.clone(), amount: None, memo: String::new() };
        billing::resolve_suspense(ctx, Mode::Test, &attempt, SuspenseTo::Balance).await.expect("is resolved");
        assert_eq!(buyer.billing.customer_balance().await, 700);
        billing::pay_out_balance(ctx, Mode::Test, &payout).await.expect("is ordered");
        buyer.billing.send_all().await;
        assert_eq!((buyer.billing.customer_balance().await, buyer.cards.held().await), (0, 300));
        buyer.billing.is_sound().await;
    }

    async fn a_hold_is_resolved_to_its_invoice_and_the_rest_to_the_balance(db: &TestDatabase) {
        let buyer = CardBuyer::open(db).await;
        let (paid, partly) = (InvoiceSummary { status: InvoiceStatus::Paid, total: 1_000, paid: 1_000, credited: 0 }, InvoiceSummary { status: InvoiceStatus::Open, total: 1_000, paid: 700, credited: 0 });
        for (name, cents, summary) in [("1", 1_200, paid), ("2", 700, partly)] {
            let (invoice, attempt, _) = on_hold(&buyer, name, cents).await;
            let resolved = billing::resolve_suspense(&buyer.billing.ctx, Mode::Test, &attempt, SuspenseTo::Invoices).await.expect("is resolved");
            assert_eq!((resolved.amount, resolved.invoices), (Amount::new(cents), vec![invoice.id.clone()]));
            assert_eq!((buyer.summary(&invoice).await, buyer.billing.customer_balance().await), (summary, 200));
            assert!(buyer.accounts().await.iter().all(|(name, _)| name != "liabilities:suspense"));
            buyer.billing.is_sound().await;
        }
    }

    async fn a_hold_without_money_ends_and_its_invoice_can_be_paid_again(db: &TestDatabase) {
        let buyer = CardBuyer::open(db).await;
        for (name, to) in [("1", SuspenseTo::Balance), ("2", SuspenseTo::Invoices), ("3", SuspenseTo::Refund)] {
            let (invoice, attempt, _) = on_hold(&buyer, name, 0).await;
            let resolved = billing::resolve_suspense(&buyer.billing.ctx, Mode::Test, &attempt, to).await.expect("is resolved");
            assert_eq!((resolved.amount, resolved.transaction, resolved.refund), (Amount::ZERO, None, None));
            assert_eq!(buyer.attempt(&attempt).await.status, AttemptStatus::Declined);
            buyer.pay(&format!("{name}_again"), std::slice::from_ref(&invoice)).await;
            assert_eq!(buyer.summary(&invoice).await, InvoiceSummary { status: InvoiceStatus::Paid, total: 1_000, paid: 1_000, credited: 0 });
            buyer.billing.is_sound().await;
        }
    }

    async fn a_hold_is_refunded_over_its_payment(db: &TestDatabase) {
        let buyer = CardBuyer::open(db).await;
        let (invoice, attempt, _) = on_hold(&buyer, "1", 700).await;
        let resolved = billing::resolve_suspense(&buyer.billing.ctx, Mode::Test, &attempt, SuspenseTo::Refund).await.expect("is resolved");
        assert_eq!(resolved.refund.expect("a refund").amount, Amount::new(700));
        buyer.billing.is_sound().await;
        buyer.billing.send_all().await;
        assert_eq!((buyer.cards.held().await, buyer.summary(&invoice).await.paid), (300, 0));
        assert_eq!(buyer.accounts().await, [("assets:receivable".to_owned(), 1_000), ("income:revenue".to_owned(), -1_000)]);
        buyer.billing.is_sound().await;
    }

    async fn a_dashboard_refund_of_a_payment_on_hold_is_posted(db: &TestDatabase) {
        let buyer = CardBuyer::open(db).await;
        let (_, attempt, payment) = on_hold(&buyer, "1", 700).await;
        let refund = buyer.refund_in_dashboard(&payment, 500).await;
        buyer.check(&payment).await;
        let suspense = async || {
            let accounts = buyer.accounts().await;
            accounts.iter().find(|(name, _)| name == "liabilities:suspense").map_or(0, |(_, sum)| *sum)
        };
        assert_eq!(suspense().await, -200);
        buyer.billing.is_sound().await;
        buyer.fail_refund(&refund).await;
        buyer.check(&payment).await;
        assert_eq!(suspense().await, -700);
        buyer.refund_in_dashboard(&payment, 300).await;
        buyer.check(&payment).await;
        let resolve = async || billing::resolve_suspense(&buyer.billing.ctx, Mode::Test, &attempt, SuspenseTo::Balance).await;
        assert_eq!(resolve().await.expect("is resolved").amount, Amount::new(400), "the remaining amount");
        assert_eq!((suspense().await, buyer.billing.customer_balance().await), (0, 400));
        buyer.billing.is_sound().await;
    }

    async fn a_reversed_payment_is_owed_again_and_not_retried(db: &TestDatabase) {
        let buyer = CardBuyer::open(db).await;
        let (invoice, _) = buyer.paid(1_000).await;
        let attempt = AttemptId::parse("att_1").expect("an id");
        buyer.reverse(&attempt, 600).await;
        assert_eq!(buyer.summary(&invoice).await, InvoiceSummary { status: InvoiceStatus::Uncollectible, total: 1_000, paid: 400, credited: 0 });
        assert_eq!(buyer.used(&invoice).await, Used { refunded: 0, disputed: 0, reversed: 600 });
        assert_eq!(buyer.billing.reload(&invoice).await.retry_at, None);
        assert_eq!(buyer.entries("att_1").await.last(), Some(&EntryType::PaymentReversed));
        buyer.billing.is_sound().await;
    }

    async fn a_card_payment_that_fails_after_it_succeeded_is_reversed_once(db: &TestDatabase) {
        let buyer = CardBuyer::open(db).await;
        let (invoice, payment) = buyer.paid(1_000).await;
        let ctx = &buyer.billing.ctx;
        let hint = CardHint::Failure { payment: payment.clone() };
        billing::check_card_hint(ctx, &buyer.method.id, &hint).await.expect("is asked");
        assert_eq!(buyer.summary(&invoice).await, InvoiceSummary { status: InvoiceStatus::Paid, total: 1_000, paid: 1_000, credited: 0 }, "an event is only a hint");

        buyer.cards.post_test_endpoint(&format!("payment_intents/{payment}"), &[]).await;
        buyer.billing.wait(billing::EVENT_LIST_INTERVAL);
        billing::read_event_lists(ctx).await.expect("reads");
        let mut connection = buyer.billing.database().read().await.expect("reads");
        let rows = connection.query("SELECT payload FROM outbox WHERE topic = 'check_card'").all().await.expect("reads");
        let failures: Vec<_> = rows.iter().map(|row| row.get::<serde_json::Value>("payload").expect("ids")["failure"].clone()).collect();
        assert_eq!(failures, [payment.as_str()], "found without a webhook delivery");
        drop(connection);
        for _ in 0..2 {
            billing::check_card_hint(ctx, &buyer.method.id, &hint).await.expect("is reversed");
        }
        assert_eq!(buyer.summary(&invoice).await, InvoiceSummary { status: InvoiceStatus::Uncollectible, total: 1_000, paid: 0, credited: 0 });
        assert_eq!(buyer.entries("att_1").await, [EntryType::Payment, EntryType::PaymentReversed]);
        buyer.billing.is_sound().await;

        let owed = buyer.billing.reload(&invoice).await;
        buyer.pay("2", std::slice::from_ref(&owed)).await;
        assert_eq!((buyer.summary(&invoice).await, buyer.cards.held().await), (InvoiceSummary { status: InvoiceStatus::Paid, total: 1_000, paid: 1_000, credited: 0 }, 1_000));
        buyer.billing.is_sound().await;
    }

    async fn a_wallet_payment_that_its_network_forgot_is_reversed_after_a_second_look(db: &TestDatabase) {
        let billing = subscribed(db, 30, 1, MONTHLY).await;
        let invoice = billing.last().await;
        let recheck = async || payment::recheck_settled(&billing.ctx, 100).await.expect("looks");
        let hash = billing.networks.transfers().await[0]["hash"].as_str().expect("a hash").to_owned();
        assert_eq!(recheck().await, 0, "not final yet");
        billing.networks.forget(&hash).await;
        for (looks, status) in [(1, InvoiceStatus::Paid), (1, InvoiceStatus::Uncollectible), (0, InvoiceStatus::Uncollectible)] {
            billing.wait(RECHECK_AFTER);
            assert_eq!((recheck().await, billing.reload(&invoice).await.status), (looks, status));
        }
        let one = billing.find("sub_1").await;
        assert_eq!((one.status, one.past_due_since), (SubscriptionStatus::PastDue, Some(billing.ctx.now().minus(RECHECK_AFTER))));
        billing.is_sound().await;
    }

    async fn a_wallet_payment_that_stands_is_looked_up_once(db: &TestDatabase) {
        let billing = subscribed(db, 30, 1, MONTHLY).await;
        for looks in [1, 0] {
            billing.wait(RECHECK_AFTER);
            assert_eq!(payment::recheck_settled(&billing.ctx, 100).await.expect("looks"), looks);
        }
        assert_eq!(billing.last().await.status, InvoiceStatus::Paid);
    }
}

on_one! {
    async fn a_payment_that_is_not_on_hold_has_nothing_to_resolve(db: &TestDatabase) {
        let buyer = CardBuyer::open(db).await;
        buyer.paid(1_000).await;
        let attempt = AttemptId::parse("att_1").expect("an id");
        let resolved = billing::resolve_suspense(&buyer.billing.ctx, Mode::Test, &attempt, SuspenseTo::Balance).await;
        assert!(matches!(resolved, Err(SuspenseError::NotOnHold)));
    }
}
