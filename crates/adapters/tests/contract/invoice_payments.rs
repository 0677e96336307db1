//! Invoice payments: no part of a payment is refunded, disputed or reversed twice (invariant 8).

use crate::checkout_fixtures::{all_at_once, at, begin, id, insert_checkout, issue, read};
use souk_adapters::on_both;
use souk_adapters::persistence::Database;
use souk_domain::billing::{InvoicePayment, PaymentSource};
use souk_domain::shared::{Amount, StorageError};

fn payment(name: &str, invoice: &str) -> InvoicePayment {
    let source = PaymentSource::Network { attempt: id("att_1"), intent: id("pi_1") };
    InvoicePayment::new(id(name), id(invoice), source, Amount::new(1_000), at(0))
}

async fn pay(db: &Database, payments: &[InvoicePayment]) {
    insert_checkout(db, &["pi_1"]).await;
    issue(db, 3).await;
    let mut unit = begin(db).await;
    unit.invoice_payments().insert_all(payments).await.expect("inserts");
    unit.commit().await.expect("commits");
}

on_both! {
    async fn payments_of_each_source_are_read_oldest_first(db: &TestDatabase) {
        let network = payment("inpay_2", "in_1");
        let balance = InvoicePayment { source: PaymentSource::Balance(id("cbtxn_1")), ..payment("inpay_1", "in_2") };
        let stake = InvoicePayment { source: PaymentSource::Stake(id("att_2")), ..payment("inpay_3", "in_2") };
        let used = InvoicePayment {
            refunded: Amount::new(1),
            disputed: Amount::new(2),
            reversed: Amount::new(3),
            ..payment("inpay_4", "in_3")
        };
        pay(db, &[used.clone(), stake.clone(), network.clone(), balance.clone()]).await;
        let mut unit = read(db).await;
        let both = unit.invoice_payments().of_invoices(&[id("in_1"), id("in_2")]).await.expect("reads");
        assert_eq!(both, [balance, network.clone(), stake]);
        assert_eq!(unit.invoice_payments().of_intent(&id("pi_1")).await.expect("reads"), [network, used]);
        assert!(unit.invoice_payments().of_intent(&id("pi_2")).await.expect("reads").is_empty());
        assert!(unit.invoice_payments().of_invoices(&[id("in_9")]).await.expect("reads").is_empty());
    }

    async fn concurrent_refunds_never_exceed_the_payment(db: &TestDatabase) {
        pay(db, &[payment("inpay_1", "in_1")]).await;
        let refunded = all_at_once(db, 8, |db, number| async move {
            for _ in 0..20 {
                let before = read(&db).await.invoice_payments().of_invoices(&[id("in_1")]).await.expect("reads").remove(0);
                let part = Amount::new(300);
                let Ok(after) = (if number % 2 == 0 { before.refund(part) } else { before.reverse(part) }) else { return 0 };
                let mut unit = begin(&db).await;
                if unit.invoice_payments().update(&before, &after).await.expect("writes") {
                    unit.commit().await.expect("commits");
                    return 300;
                }
            }
            panic!("somebody else is always first");
        });
        assert_eq!(refunded.await.into_iter().sum::<u128>(), 900);
        let left = read(db).await.invoice_payments().of_intent(&id("pi_1")).await.expect("reads").remove(0);
        assert_eq!(left.room(), Amount::new(100));
    }

    async fn an_update_based_on_an_old_state_of_a_payment_is_rejected(db: &TestDatabase) {
        let before = payment("inpay_1", "in_1");
        pay(db, std::slice::from_ref(&before)).await;
        let disputed = InvoicePayment { disputed: Amount::new(700), ..before.clone() };
        let lost = InvoicePayment { disputed: Amount::ZERO, reversed: Amount::new(700), ..before.clone() };
        let mut unit = begin(db).await;
        assert!(unit.invoice_payments().update(&before, &disputed).await.expect("writes"));
        assert!(!unit.invoice_payments().update(&before, &disputed).await.expect("writes"));
        assert!(unit.invoice_payments().update(&disputed, &lost).await.expect("writes"));
        assert_eq!(unit.invoice_payments().of_invoices(&[id("in_1")]).await.expect("reads"), std::slice::from_ref(&lost));
        let beyond = InvoicePayment { refunded: Amount::new(1_001), ..lost.clone() };
        assert!(unit.invoice_payments().update(&lost, &beyond).await.is_err(), "the schema refuses it");
    }

    async fn a_payment_without_the_id_of_its_source_is_corrupt(db: &TestDatabase) {
        pay(db, &[payment("inpay_1", "in_1")]).await;
        let mut connection = db.begin().await.expect("begins");
        connection.query("UPDATE invoice_payments SET intent_id = NULL").execute().await.expect("writes");
        connection.commit().await.expect("commits");
        let refused = read(db).await.invoice_payments().of_invoices(&[id("in_1")]).await;
        assert!(matches!(refused, Err(StorageError::Corrupt { table: "invoice_payments", .. })), "{refused:?}");
    }
}
