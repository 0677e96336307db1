//! Attempts on hold: their lists, and that only an owner's decision ends a hold.

use crate::checkout_fixtures::{at, begin, card_attempt, id, insert_checkout, intent, invoice, read};
use souk_adapters::on_both;
use souk_adapters::persistence::Database;
use souk_domain::payment::{
    AMOUNT_DIFFERS, Attempt, AttemptStatus, Decline, HoldClass, Intent, IntentStatus, Moved, PaymentOnHold, PlannedPayment, Purpose,
    payments_on_hold,
};
use souk_domain::shared::{Amount, AttemptId, Listed, Mode, Page, RefundId};

fn differs() -> Decline {
    Decline { code: AMOUNT_DIFFERS.to_owned(), message: String::new() }
}

fn moved(amount: u128) -> Moved {
    Moved { amount: Amount::new(amount), reference: "pi_provider".to_owned() }
}

fn on_hold(name: &str, intent: &str) -> Attempt {
    let (status, last_error) = (AttemptStatus::Unknown, Some(differs()));
    Attempt { status, last_error, moved: Some(moved(300)), ..card_attempt(name, intent) }
}

fn refund_on_hold(name: &str, refund: &str) -> Attempt {
    let refund: RefundId = id(refund);
    Attempt { purpose: Purpose::Refund(refund), session_id: None, ..on_hold(name, "pi_1") }
}

/// The ids of the intents that were to be paid.
async fn listed(db: &Database, mode: Mode, page: Page) -> Listed<String> {
    let Listed { count, list } = payments_on_hold(read(db).await.as_mut(), mode, &page).await.expect("reads");
    Listed { count, list: list.into_iter().map(|payment| payment.asked.id.to_string()).collect() }
}

on_both! {
    async fn only_payments_whose_amount_differs_are_listed_page_by_page(db: &TestDatabase) {
        insert_checkout(db, &["pi_1", "pi_2", "pi_3", "pi_4", "pi_5", "pi_6"]).await;
        let mut unit = begin(db).await;
        for attempt in [
            // The list follows the intents, whatever the order of the attempts.
            on_hold("att_9", "pi_1"),
            on_hold("att_5", "pi_3"),
            on_hold("att_1", "pi_5"),
            Attempt { moved: None, ..on_hold("att_2", "pi_2") },
            Attempt { status: AttemptStatus::Declined, ..on_hold("att_4", "pi_4") },
            Attempt { last_error: None, moved: None, status: AttemptStatus::Open, ..on_hold("att_6", "pi_6") },
            refund_on_hold("att_7", "re_1"),
            refund_on_hold("att_8", "re_2"),
        ] {
            unit.attempts().insert(&attempt, &[]).await.expect("inserts");
        }
        unit.commit().await.expect("commits");
        let page = |number, size| Page::new(Some(number), Some(size));
        let after = |intent: &str| Page { starting_after: Some(intent.to_owned()), ..page(1, 2) };
        for (asked, expected) in [
            (page(1, 2), vec!["pi_5", "pi_3"]),
            (page(2, 2), vec!["pi_1"]),
            (after("pi_5"), vec!["pi_3", "pi_1"]),
            (after("pi_1"), vec![]),
        ] {
            let found = listed(db, Mode::Test, asked.clone()).await;
            assert_eq!((found.count, found.list), (3, expected.into_iter().map(str::to_owned).collect()), "{asked:?}");
        }
        assert_eq!(listed(db, Mode::Live, page(1, 20)).await, Listed { count: 0, list: Vec::new() }, "the method is of the other mode");
    }

    async fn a_payment_on_hold_names_what_was_asked_and_what_was_moved(db: &TestDatabase) {
        insert_checkout(db, &["pi_1", "pi_2"]).await;
        let (moved, nothing_moved) = (on_hold("att_1", "pi_1"), on_hold("att_2", "pi_2"));
        let held = Intent {
            status: IntentStatus::Succeeded,
            amount: Amount::new(300),
            amount_received: Amount::new(300),
            session_id: None,
            held_attempt_id: Some(id("att_1")),
            reference: "pi_provider".to_owned(),
            created_at: at(9),
            updated_at: at(9),
            ..intent("pi_held")
        };
        let planned = vec![PlannedPayment { invoice_id: id("in_1"), amount: Amount::new(1_000) }];
        let mut unit = begin(db).await;
        unit.invoices().insert_draft(&invoice("in_1"), &[]).await.expect("inserts");
        unit.attempts().insert(&moved, &planned).await.expect("inserts");
        unit.attempts().insert(&nothing_moved, &[]).await.expect("inserts");
        unit.intents().upsert(&held).await.expect("inserts");
        unit.commit().await.expect("commits");
        let found = payments_on_hold(read(db).await.as_mut(), Mode::Test, &Page::new(None, None)).await.expect("reads");
        assert_eq!(
            found.list,
            [
                PaymentOnHold { attempt: nothing_moved, asked: intent("pi_2"), held: None, planned: Vec::new() },
                PaymentOnHold { attempt: moved, asked: intent("pi_1"), held: Some(held), planned },
            ]
        );
    }

    async fn transfers_on_hold_are_listed_apart_from_payments(db: &TestDatabase) {
        insert_checkout(db, &["pi_1", "pi_2"]).await;
        let mut unit = begin(db).await;
        for attempt in [on_hold("att_1", "pi_1"), refund_on_hold("att_2", "re_9"), refund_on_hold("att_3", "re_1"), refund_on_hold("att_4", "re_5")] {
            unit.attempts().insert(&attempt, &[]).await.expect("inserts");
        }
        unit.commit().await.expect("commits");
        let mut unit = read(db).await;
        for (class, limit, count) in [(HoldClass::Payments, 9, 1), (HoldClass::Transfers, 9, 3), (HoldClass::Transfers, 2, 2)] {
            assert_eq!(unit.attempts().count_on_hold(class, limit).await.expect("counts"), count, "{class:?} {limit}");
        }
        let after = |attempt: &str| Page { starting_after: Some(attempt.to_owned()), ..Page::new(Some(1), Some(2)) };
        for (mode, page, expected) in [
            (Mode::Test, Page::new(Some(1), Some(2)), vec!["att_4", "att_3"]),
            (Mode::Test, Page::new(Some(2), Some(2)), vec!["att_2"]),
            (Mode::Test, after("att_4"), vec!["att_3", "att_2"]),
            (Mode::Live, Page::new(None, None), vec![]),
        ] {
            let found = unit.attempts().on_hold(HoldClass::Transfers, mode, &page).await.expect("reads");
            let ids: Vec<AttemptId> = found.list.into_iter().map(|attempt| attempt.id).collect();
            assert_eq!((found.count, ids), (if mode == Mode::Test { 3 } else { 0 }, expected.into_iter().map(id).collect()), "{page:?}");
        }
    }

    async fn an_open_attempt_is_put_on_hold_once_and_keeps_what_was_moved(db: &TestDatabase) {
        insert_checkout(db, &["pi_1", "pi_2"]).await;
        let mut unit = begin(db).await;
        unit.attempts().insert(&card_attempt("att_1", "pi_1"), &[]).await.expect("inserts");
        assert!(unit.attempts().hold(&id("att_1"), &moved(7), &differs(), at(3)).await.expect("writes"));
        let held = unit.attempts().find(&id("att_1")).await.expect("reads").expect("exists");
        assert!(held.is_on_hold());
        assert_eq!((held.moved.clone(), held.last_error.clone(), held.updated_at), (Some(moved(7)), Some(differs()), at(3)));
        assert!(!unit.attempts().hold(&id("att_1"), &moved(8), &differs(), at(4)).await.expect("writes"), "it is on hold already");
        let ended = Attempt { status: AttemptStatus::Declined, ..card_attempt("att_2", "pi_2") };
        unit.attempts().insert(&ended, &[]).await.expect("inserts");
        assert!(!unit.attempts().hold(&id("att_2"), &moved(8), &differs(), at(4)).await.expect("writes"), "it has ended");
        assert_eq!(unit.attempts().find(&id("att_1")).await.expect("reads"), Some(held));
    }

    async fn only_a_decision_ends_a_hold(db: &TestDatabase) {
        insert_checkout(db, &["pi_1"]).await;
        let held = on_hold("att_1", "pi_1");
        let mut unit = begin(db).await;
        unit.attempts().insert(&held, &[]).await.expect("inserts");
        let mut attempts = unit.attempts();
        assert!(attempts.settle_all(&[id("att_1")], at(9)).await.expect("writes").is_empty());
        assert!(!attempts.decline(&held, &differs(), at(9)).await.expect("writes"));
        assert!(!attempts.decline_claimed(&id("att_1"), None, at(9)).await.expect("writes"));
        assert!(!attempts.reschedule(&id("att_1"), AttemptStatus::Open, None, Some(at(9)), at(9)).await.expect("writes"));
        assert!(!attempts.claim_poll(&id("att_1"), at(99), at(99)).await.expect("writes"));
        assert!(attempts.claim_due(&held.method_id, at(99), at(999), 9).await.expect("writes").is_empty());
        drop(attempts);
        assert_eq!(unit.attempts().find(&id("att_1")).await.expect("reads"), Some(held));
    }

    async fn a_hold_ends_once_with_a_settlement_or_a_decline(db: &TestDatabase) {
        insert_checkout(db, &["pi_1", "pi_2"]).await;
        let planned = [PlannedPayment { invoice_id: id("in_1"), amount: Amount::new(1_000) }];
        let mut unit = begin(db).await;
        unit.invoices().insert_draft(&invoice("in_1"), &[]).await.expect("inserts");
        unit.attempts().insert(&on_hold("att_1", "pi_1"), &planned).await.expect("inserts");
        unit.attempts().insert(&on_hold("att_2", "pi_2"), &[]).await.expect("inserts");
        assert!(unit.attempts().settle_held(&id("att_1"), Amount::new(300), at(4)).await.expect("writes"));
        assert!(unit.attempts().decline_held(&id("att_2"), &differs(), at(4)).await.expect("writes"));
        for name in ["att_1", "att_2"] {
            assert!(!unit.attempts().settle_held(&id(name), Amount::new(1), at(5)).await.expect("writes"), "{name}");
            assert!(!unit.attempts().decline_held(&id(name), &differs(), at(5)).await.expect("writes"), "{name}");
        }
        let settled = unit.attempts().find(&id("att_1")).await.expect("reads").expect("exists");
        assert_eq!((settled.status, settled.amount, settled.last_error), (AttemptStatus::Settled, Amount::new(300), Some(differs())));
        let declined = unit.attempts().find(&id("att_2")).await.expect("reads").expect("exists");
        assert_eq!((declined.status, declined.amount, declined.moved), (AttemptStatus::Declined, Amount::new(1_000), Some(moved(300))));
        assert!(unit.attempts().in_flight(&[id("in_1")]).await.expect("reads").is_empty(), "the invoice can be paid again");
    }
}
