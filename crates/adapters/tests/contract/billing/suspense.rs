//! Payments that settle with an amount other than the requested one, and payments that a network reverses.

use super::card_bench::CardBuyer;
use souk_adapters::{on_both, on_one};
use souk_domain::billing::{self, InvoiceStatus, SuspenseError};
use souk_domain::ledger::EntryType;
use souk_domain::payment::{
    self, AMOUNT_DIFFERS, AttemptContext, AttemptStatus, Decline, Origin, Outcome, PurposeHandlers, Reversal, Settlement, Trigger,
};
use souk_domain::shared::{Amount, AttemptId, Mode};

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
    let amount = Amount::new(cents);
    Outcome::Settled(Settlement { reference: "pi_provider".to_owned(), payer: String::new(), amount, card: None })
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
        assert_eq!(buyer.standing(&invoice).await, (InvoiceStatus::Open, 1_000, 0, 0));
        assert_eq!(buyer.entries(attempt.as_str()).await, [EntryType::SuspenseReceived]);
        buyer.billing.is_sound().await;

        let resolve = async || billing::resolve_suspense(&buyer.billing.ctx, Mode::Test, &attempt).await;
        assert!(matches!(billing::resolve_suspense(&buyer.billing.ctx, Mode::Live, &attempt).await, Err(SuspenseError::NotFound)));
        assert_eq!(resolve().await.expect("is resolved").amount, Amount::new(700));
        assert!(matches!(resolve().await, Err(SuspenseError::NotOnHold)));
        assert_eq!(buyer.attempt(&attempt).await.status, AttemptStatus::Declined);
        assert_eq!(buyer.billing.customer_balance().await, 700);
        buyer.billing.is_sound().await;

        buyer.billing.deliver().await;
        assert_eq!(buyer.standing(&invoice).await, (InvoiceStatus::Open, 1_000, 700, 0), "the balance pays what it can");
        let invoice = buyer.billing.reload(&invoice).await;
        buyer.pay("2", std::slice::from_ref(&invoice)).await;
        assert_eq!(buyer.standing(&invoice).await, (InvoiceStatus::Paid, 1_000, 1_000, 0), "the rest can be paid again");
        buyer.billing.is_sound().await;
    }

    async fn a_reversed_payment_is_owed_again_and_not_retried(db: &TestDatabase) {
        let buyer = CardBuyer::open(db).await;
        let (invoice, _) = buyer.paid(1_000).await;
        let attempt = AttemptId::parse("att_1").expect("an id");
        buyer.reverse(&attempt, 600).await;
        assert_eq!(buyer.standing(&invoice).await, (InvoiceStatus::Uncollectible, 1_000, 400, 0));
        assert_eq!(buyer.used(&invoice).await, (0, 0, 600));
        assert_eq!(buyer.billing.reload(&invoice).await.retry_at, None);
        assert_eq!(buyer.entries("att_1").await.last(), Some(&EntryType::PaymentReversed));
        buyer.billing.is_sound().await;
    }
}

on_one! {
    async fn a_payment_that_is_not_on_hold_has_nothing_to_resolve(db: &TestDatabase) {
        let buyer = CardBuyer::open(db).await;
        buyer.paid(1_000).await;
        let attempt = AttemptId::parse("att_1").expect("an id");
        let resolved = billing::resolve_suspense(&buyer.billing.ctx, Mode::Test, &attempt).await;
        assert!(matches!(resolved, Err(SuspenseError::NotOnHold)));
    }
}
