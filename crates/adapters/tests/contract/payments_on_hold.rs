//! Lists of payments on hold.

use crate::checkout_fixtures::{at, begin, card_attempt, id, insert_checkout, intent, invoice, read};
use souk_adapters::on_both;
use souk_adapters::persistence::Database;
use souk_domain::payment::{
    AMOUNT_DIFFERS, Attempt, AttemptStatus, Decline, Intent, IntentStatus, PaymentOnHold, PlannedPayment, Purpose, payments_on_hold,
};
use souk_domain::shared::{Amount, Listed, Mode, Page, RefundId};

fn with(name: &str, intent: &str, status: AttemptStatus, code: &str) -> Attempt {
    let last_error = Some(Decline { code: code.to_owned(), message: String::new() });
    Attempt { status, last_error, ..card_attempt(name, intent) }
}

fn on_hold(name: &str, intent: &str) -> Attempt {
    with(name, intent, AttemptStatus::Unknown, AMOUNT_DIFFERS)
}

/// The ids of the intents that were to be paid.
async fn listed(db: &Database, mode: Mode, page: Page) -> Listed<String> {
    let Listed { count, list } = payments_on_hold(read(db).await.as_mut(), mode, &page).await.expect("reads");
    Listed { count, list: list.into_iter().map(|payment| payment.asked.id.to_string()).collect() }
}

on_both! {
    async fn only_payments_whose_amount_differs_are_listed_page_by_page(db: &TestDatabase) {
        insert_checkout(db, &["pi_1", "pi_2", "pi_3", "pi_4", "pi_5", "pi_6"]).await;
        let refund = Purpose::Refund(RefundId::parse("re_1").expect("an id"));
        let mut unit = begin(db).await;
        for attempt in [
            // The list follows the intents, whatever the order of the attempts.
            on_hold("att_9", "pi_1"),
            on_hold("att_5", "pi_3"),
            on_hold("att_1", "pi_5"),
            with("att_2", "pi_2", AttemptStatus::Unknown, "no_answer"),
            with("att_4", "pi_4", AttemptStatus::Declined, AMOUNT_DIFFERS),
            Attempt { last_error: None, status: AttemptStatus::Open, ..on_hold("att_6", "pi_6") },
            Attempt { purpose: refund, ..on_hold("att_7", "pi_6") },
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
}
