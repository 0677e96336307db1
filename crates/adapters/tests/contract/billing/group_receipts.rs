//! Receipts that are recorded in one group: each pays its own invoice, and nothing is lost if they cannot be applied together.

use super::bench::{Billing, DAY, MONTHLY};
use crate::checkout_fixtures::{id, intent, wallet_attempt};
use crate::ledger::bench::UNIT;
use souk_adapters::on_both;
use souk_domain::billing::{InvoiceStatus, Subscription};
use souk_domain::payment::{
    self, Attempt, AttemptKind, Intent, Origin, PlannedPayment, Purpose, SettledAttempt, Settlement, SettlementError, StoreTransaction,
};
use souk_domain::shared::{Amount, InvoiceId};

/// A charge of ten tokens for an invoice, ready to be sent.
async fn charge(billing: &Billing, number: u64, of: &Subscription, invoice: &InvoiceId) -> Attempt {
    let amount = Amount::new(10 * UNIT);
    let payer = billing.networks.wallet.did().clone();
    let signed = billing.networks.signed_store_tx(StoreTransaction::Pull { payer: payer.clone() }, 10, 100 + number);
    let name = format!("pi_{number}");
    let intent = Intent {
        amount,
        method_id: of.method_id.clone(),
        currency_id: of.currency_id.clone(),
        customer_id: of.customer_id.clone(),
        subscription_id: Some(of.id.clone()),
        session_id: None,
        invoices: vec![invoice.clone()],
        ..intent(&name)
    };
    let attempt = Attempt {
        purpose: Purpose::Payment(intent.id.clone()),
        session_id: None,
        method_id: of.method_id.clone(),
        currency_id: of.currency_id.clone(),
        amount,
        kind: AttemptKind::Wallet { payer, bytes: signed.bytes, hash: signed.hash },
        check_at: billing.ctx.now(),
        sent_at: None,
        ..wallet_attempt(&format!("att_{number}"), &name, "0x0")
    };
    let mut unit = billing.ctx.store.begin().await.expect("begins");
    unit.intents().upsert(&intent).await.expect("inserts");
    unit.attempts().insert(&attempt, &[PlannedPayment { invoice_id: invoice.clone(), amount }]).await.expect("inserts");
    unit.commit().await.expect("commits");
    attempt
}

/// A subscription with overdue invoices of ten tokens each.
async fn with_overdue(db: &souk_adapters::testing::TestDatabase, names: &[&str]) -> (Billing, Subscription) {
    let billing = Billing::open(db, 100).await;
    let price = billing.price("price_1", 10, MONTHLY).await;
    let one = billing.subscription("sub_1", &price, DAY);
    billing.insert(&one).await;
    for (age, name) in (1..).zip(names) {
        billing.insert_invoice(&billing.overdue_invoice(name, &one, age, Amount::new(10 * UNIT))).await;
    }
    (billing, one)
}

/// Applies settlements of attempts together, without committing.
async fn settle_together(billing: &Billing, attempts: &[Attempt]) -> Result<(), SettlementError> {
    let payer = billing.networks.wallet.did().to_string();
    let settlement = Settlement { reference: "0x1".to_owned(), payer, amount: attempts[0].amount, card: None };
    let group: Vec<_> = attempts.iter().map(|attempt| SettledAttempt { attempt, settlement: &settlement }).collect();
    let handler = billing.ctx.handlers.find(&attempts[0].purpose, Origin::of(&attempts[0])).expect("a handler");
    let mut unit = billing.ctx.store.begin().await.expect("begins");
    handler.settled_all(&billing.ctx, unit.as_mut(), &group).await.map(drop)
}

on_both! {
    async fn two_receipts_of_one_invoice_in_a_group_are_recorded_one_by_one_and_the_second_goes_to_the_balance(db: &TestDatabase) {
        let (billing, one) = with_overdue(db, &["in_1"]).await;
        let mut attempts = vec![charge(&billing, 1, &one, &id("in_1")).await];
        // The invoice can be charged again, as after a decline.
        billing.write("UPDATE attempt_invoices SET open = (1 = 0)").await;
        attempts.push(charge(&billing, 2, &one, &id("in_1")).await);
        let together = settle_together(&billing, &attempts).await;
        assert!(matches!(together, Err(SettlementError::Contended)), "{together:?}");
        let ids: Vec<_> = attempts.iter().map(|attempt| attempt.id.clone()).collect();
        payment::charge(&billing.ctx, &ids).await.expect("charges");
        assert_eq!((billing.statuses().await, billing.customer_balance().await), (vec![InvoiceStatus::Paid], 10 * UNIT));
        assert_eq!((billing.networks.store_balance().await, billing.cash().await), (20, 20));
        billing.is_sound().await;
    }

    async fn a_planned_invoice_that_is_missing_does_not_affect_the_other_receipts_of_its_group(db: &TestDatabase) {
        let (billing, one) = with_overdue(db, &["in_1", "in_2"]).await;
        let attempts = [charge(&billing, 1, &one, &id("in_1")).await, charge(&billing, 2, &one, &id("in_2")).await];
        settle_together(&billing, &attempts).await.expect("both can be applied together");
        billing.write("UPDATE attempt_invoices SET invoice_id = 'in_none' WHERE attempt_id = 'att_2'").await;
        let together = settle_together(&billing, &attempts).await;
        assert!(matches!(together, Err(SettlementError::Contended)), "{together:?}");
        payment::charge(&billing.ctx, &attempts.map(|attempt| attempt.id)).await.expect("charges");
        let mut statuses = billing.statuses().await;
        statuses.sort_by_key(|status| status.name());
        assert_eq!(statuses, [InvoiceStatus::Paid, InvoiceStatus::Uncollectible]);
        assert_eq!((billing.customer_balance().await, billing.cash().await), (10 * UNIT, 20), "the customer's money is not lost");
    }
}
