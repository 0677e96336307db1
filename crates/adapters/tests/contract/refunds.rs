//! Refunds: exactly one caller makes each change.

use crate::checkout_fixtures::{all_at_once, at, begin, customer, id, insert_checkout, issue, read};
use souk_adapters::on_both;
use souk_adapters::persistence::Database;
use souk_domain::billing::{CreditNote, CreditNoteReason, InvoicePayment, PaymentSource};
use souk_domain::payment::{Decline, Refund, RefundFilter, RefundStatus, RefundType, UnsettledRefund};
use souk_domain::shared::{Amount, Mode, Page};

fn refund(name: &str) -> Refund {
    Refund {
        id: id(name),
        mode: Mode::Test,
        kind: RefundType::Refund,
        status: RefundStatus::Pending,
        amount: Amount::new(u128::MAX),
        currency_id: id("pc_1"),
        method_id: id("pm_card"),
        customer_id: id("cus_1"),
        intent_id: Some(id("pi_1")),
        payment_id: Some(id("inpay_1")),
        credit_note_id: Some(id("cn_1")),
        invoice_id: Some(id("in_1")),
        subscription_id: Some(id("sub_1")),
        reason: "requested_by_customer".to_owned(),
        description: "Sorry".to_owned(),
        reference: String::new(),
        failure: None,
        failure_count: 0,
        ordered_at: Some(at(0)),
        created_at: at(0),
        updated_at: at(0),
    }
}

/// A payout of the balance: a refund without a credit note.
fn payout(name: &str) -> Refund {
    let kind = RefundType::BalancePayout;
    Refund { kind, intent_id: None, payment_id: None, credit_note_id: None, invoice_id: None, subscription_id: None, ..refund(name) }
}

fn failure() -> Decline {
    Decline { code: "expired_or_canceled_card".to_owned(), message: "The card is closed".to_owned() }
}

/// Inserts the payment, the invoice payment and the credit note that the refunds reference, and the refunds.
async fn open(db: &Database, refunds: &[Refund]) {
    insert_checkout(db, &["pi_1"]).await;
    issue(db, 2).await;
    let source = PaymentSource::Network { attempt: id("att_1"), intent: id("pi_1") };
    let payment = InvoicePayment::new(id("inpay_1"), id("in_1"), source, Amount::new(1_000), at(0));
    let note = CreditNote {
        id: id("cn_1"),
        mode: Mode::Test,
        number: 1,
        invoice_id: id("in_1"),
        subscription_id: None,
        customer_id: id("cus_1"),
        currency_id: id("pc_1"),
        method_id: id("pm_card"),
        reason: CreditNoteReason::Other,
        memo: String::new(),
        total: Amount::new(1),
        due_reduced: Amount::ZERO,
        to_balance: Amount::ZERO,
        refunded: Amount::new(1),
        created_at: at(0),
    };
    let mut unit = begin(db).await;
    unit.customers().upsert(&customer("cus_2", "z1other")).await.expect("inserts");
    unit.invoice_payments().insert_all(&[payment]).await.expect("inserts");
    unit.credit_notes().insert(&note, &[]).await.expect("inserts");
    for refund in refunds {
        unit.refunds().insert(refund).await.expect("inserts");
    }
    unit.commit().await.expect("commits");
}

on_both! {
    async fn refunds_are_read_as_written(db: &TestDatabase) {
        let failed = Refund { status: RefundStatus::Failed, failure: Some(failure()), failure_count: 2, ..payout("re_2") };
        open(db, &[refund("re_1"), failed.clone()]).await;
        let mut unit = begin(db).await;
        for expected in [refund("re_1"), failed] {
            assert_eq!(unit.refunds().find(&expected.id).await.expect("reads"), Some(expected.clone()));
            assert_eq!(unit.refunds().lock(&expected.id).await.expect("locks"), Some(expected));
        }
        assert_eq!(unit.refunds().find(&id("re_9")).await.expect("reads"), None);
        assert_eq!(unit.refunds().lock(&id("re_9")).await.expect("locks"), None);
    }

    async fn refunds_whose_money_is_not_back_are_read_for_many_invoices_at_once(db: &TestDatabase) {
        let of = |name: &str, kind, status, amount| Refund { kind, status, amount: Amount::new(amount), ..refund(name) };
        let other = Refund { invoice_id: Some(id("in_2")), ..of("re_6", RefundType::Refund, RefundStatus::Pending, 6) };
        let refunds = [
            of("re_1", RefundType::Refund, RefundStatus::Pending, 1),
            of("re_2", RefundType::Refund, RefundStatus::Failed, 2),
            of("re_3", RefundType::Refund, RefundStatus::Succeeded, 3),
            of("re_4", RefundType::Refund, RefundStatus::Canceled, 4),
            of("re_5", RefundType::Dashboard, RefundStatus::Failed, 5),
            other,
            of("re_7", RefundType::Dashboard, RefundStatus::Pending, 7),
            Refund { status: RefundStatus::Failed, ..payout("re_8") },
        ];
        open(db, &refunds).await;
        let unsettled = |invoice: &str, amount, has_failed| UnsettledRefund { invoice_id: id(invoice), amount: Amount::new(amount), has_failed };
        let mut unit = read(db).await;
        let [first, second] = ["in_1", "in_2"].map(id);
        let found = unit.refunds().unsettled_of(&[first, second, id("in_9")]).await.expect("reads");
        assert_eq!(found, [unsettled("in_1", 1, false), unsettled("in_1", 2, true), unsettled("in_2", 6, false), unsettled("in_1", 7, false)]);
        assert_eq!(unit.refunds().unsettled_of(&[id("in_2")]).await.expect("reads"), [unsettled("in_2", 6, false)]);
        assert_eq!(unit.refunds().unsettled_of(&[]).await.expect("reads"), []);
    }

    async fn the_amounts_of_a_day_are_those_that_were_ordered_in_it_and_left_the_store(db: &TestDatabase) {
        let of = |name: &str, kind, status, amount| Refund { kind, status, amount: Amount::new(amount), ordered_at: Some(at(9)), ..refund(name) };
        let refunds = [
            Refund { ordered_at: Some(at(8)), ..of("re_1", RefundType::Refund, RefundStatus::Pending, 1) },
            of("re_2", RefundType::Refund, RefundStatus::Pending, 2),
            of("re_3", RefundType::Refund, RefundStatus::Failed, 4),
            of("re_4", RefundType::Refund, RefundStatus::Canceled, 8),
            Refund { ordered_at: None, ..of("re_5", RefundType::Dashboard, RefundStatus::Succeeded, 16) },
            Refund { status: RefundStatus::Failed, amount: Amount::new(32), ordered_at: Some(at(9)), ..payout("re_6") },
            Refund { status: RefundStatus::Succeeded, amount: Amount::new(64), ordered_at: Some(at(9)), ..payout("re_7") },
        ];
        open(db, &refunds).await;
        let mut unit = begin(db).await;
        let amounts = unit.refunds().amounts_since(Mode::Test, &id("pc_1"), at(9)).await.expect("reads");
        assert_eq!(Amount::sum(amounts).expect("adds"), Amount::new(2 + 4 + 64));
        assert_eq!(unit.refunds().amounts_since(Mode::Live, &id("pc_1"), at(8)).await.expect("reads"), []);
        assert_eq!(unit.refunds().amounts_since(Mode::Test, &id("pc_2"), at(8)).await.expect("reads"), []);
        let again = Refund { ordered_at: Some(at(9)), ..refunds[0].clone() };
        assert!(unit.refunds().update(&refunds[0], &again).await.expect("writes"));
        let amounts = unit.refunds().amounts_since(Mode::Test, &id("pc_1"), at(9)).await.expect("reads");
        assert_eq!(Amount::sum(amounts).expect("adds"), Amount::new(1 + 2 + 4 + 64), "one that was ordered again counts from then on");
    }

    async fn exactly_one_caller_finishes_a_refund(db: &TestDatabase) {
        open(db, &[refund("re_1")]).await;
        let finished = all_at_once(db, 8, |db, number| async move {
            let status = if number % 2 == 0 { RefundStatus::Succeeded } else { RefundStatus::Failed };
            let after = Refund { status, reference: format!("re_provider_{number}"), ..refund("re_1") };
            let mut unit = begin(&db).await;
            let finished = unit.refunds().update(&refund("re_1"), &after).await.expect("writes");
            unit.commit().await.expect("commits");
            finished
        });
        assert_eq!(finished.await.into_iter().filter(|won| *won).count(), 1);
    }

    async fn a_failure_is_distinguished_from_the_failure_of_an_earlier_try(db: &TestDatabase) {
        open(db, &[refund("re_1")]).await;
        let first = Refund { status: RefundStatus::Failed, failure: Some(failure()), failure_count: 1, updated_at: at(1), ..refund("re_1") };
        let again = Refund { status: RefundStatus::Pending, updated_at: at(2), ..first.clone() };
        let second = Refund { failure_count: 2, updated_at: at(3), ..first.clone() };
        let mut unit = begin(db).await;
        assert!(unit.refunds().update(&refund("re_1"), &first).await.expect("writes"));
        assert!(unit.refunds().update(&first, &again).await.expect("writes"));
        assert!(!unit.refunds().update(&refund("re_1"), &first).await.expect("writes"), "it has failed once since");
        assert!(unit.refunds().update(&again, &second).await.expect("writes"));
        assert!(!unit.refunds().update(&first, &again).await.expect("writes"), "it has failed twice since");
        assert_eq!(unit.refunds().find(&id("re_1")).await.expect("reads"), Some(second));
    }

    async fn a_lock_on_a_refund_blocks_other_changes(db: &TestDatabase) {
        open(db, &[refund("re_1")]).await;
        let counts = all_at_once(db, 8, |db, _| async move {
            let mut unit = begin(&db).await;
            let before = unit.refunds().lock(&id("re_1")).await.expect("locks").expect("is there");
            let after = Refund { failure_count: before.failure_count + 1, ..before.clone() };
            assert!(unit.refunds().update(&before, &after).await.expect("writes"));
            unit.commit().await.expect("commits");
            after.failure_count
        });
        let mut counts = counts.await;
        counts.sort_unstable();
        assert_eq!(counts, (1..=8).collect::<Vec<u32>>());
    }

    async fn refunds_are_found_by_credit_note_and_by_network_reference(db: &TestDatabase) {
        let named = |refund: Refund, reference: &str| Refund { reference: reference.to_owned(), ..refund };
        let refunds = [
            named(refund("re_1"), "re_x"),
            named(payout("re_2"), "re_x"),
            Refund { method_id: id("pm_2"), ..named(payout("re_3"), "re_x") },
            named(payout("re_4"), ""),
        ];
        open(db, &refunds).await;
        let mut unit = read(db).await;
        let split = unit.refunds().find_by_reference(&id("pm_card"), "re_x").await.expect("reads");
        assert_eq!(split, refunds[..2]);
        assert!(unit.refunds().find_by_reference(&id("pm_card"), "").await.expect("reads").is_empty());
        assert_eq!(unit.refunds().of_note(&id("cn_1")).await.expect("reads"), refunds[..1]);
        assert!(unit.refunds().of_note(&id("cn_2")).await.expect("reads").is_empty());
    }

    async fn refunds_are_listed_by_customer_invoice_and_status_newest_first(db: &TestDatabase) {
        let refunds = [
            refund("re_1"),
            Refund { invoice_id: Some(id("in_2")), status: RefundStatus::Failed, ..refund("re_2") },
            Refund { customer_id: id("cus_2"), ..payout("re_3") },
            Refund { mode: Mode::Live, ..payout("re_4") },
        ];
        open(db, &refunds).await;
        let all = RefundFilter::default();
        let cases = [
            (all.clone(), vec!["re_3", "re_2", "re_1"]),
            (RefundFilter { customer_id: Some(id("cus_1")), ..all.clone() }, vec!["re_2", "re_1"]),
            (RefundFilter { invoice_id: Some(id("in_1")), ..all.clone() }, vec!["re_1"]),
            (RefundFilter { invoice_id: Some(id("in_1")), customer_id: Some(id("cus_2")), ..all.clone() }, vec![]),
            (RefundFilter { status: Some(RefundStatus::Failed), ..all.clone() }, vec!["re_2"]),
            (RefundFilter { kind: Some(RefundType::BalancePayout), ..all.clone() }, vec!["re_3"]),
            (RefundFilter { kind: Some(RefundType::Refund), customer_id: Some(id("cus_1")), ..all.clone() }, vec!["re_2", "re_1"]),
            (RefundFilter { status: Some(RefundStatus::Pending), customer_id: Some(id("cus_1")), ..all }, vec!["re_1"]),
        ];
        let mut unit = read(db).await;
        for (filter, expected) in cases {
            let listed = unit.refunds().list(Mode::Test, &filter, &Page::new(None, None)).await.expect("lists");
            let names: Vec<_> = listed.list.iter().map(|refund| refund.id.as_str()).collect();
            assert_eq!((listed.count, names), (expected.len() as u64, expected), "{filter:?}");
        }
    }
}
