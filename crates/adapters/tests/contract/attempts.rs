//! Attempts: each payment is charged at most once (invariant 1).

use crate::checkout_fixtures::{all_at_once, at, begin, card_attempt, did, id, insert_checkout, invoice, issue, read, wallet_attempt};
use souk_adapters::on_both;
use souk_adapters::persistence::{Database, statement_counter};
use souk_domain::billing::{Invoice, InvoiceStatus};
use souk_domain::payment::{Attempt, AttemptKind, AttemptStatus, Decline, NewAttempt, PlannedPayment, TransactionKey};
use souk_domain::shared::{Amount, AttemptId, InvoiceId, MethodId, StorageError};
use std::collections::HashMap;

fn decline() -> Decline {
    Decline { code: "declined".to_owned(), message: "No".to_owned() }
}

fn planned(invoice: &str, amount: u128) -> PlannedPayment {
    PlannedPayment { invoice_id: id(invoice), amount: Amount::new(amount) }
}

/// Sets an invoice's paid and credited amounts.
async fn amounts(db: &Database, of: &str, paid: u128, credited: u128) -> Invoice {
    let mut unit = begin(db).await;
    let before = unit.invoices().lock(&id(of)).await.expect("locks").expect("is there");
    let after = before.with_amounts(Amount::new(paid), Amount::new(credited), at(1)).expect("within the total");
    assert!(unit.invoices().update(&before, &after).await.expect("writes"));
    unit.commit().await.expect("commits");
    after
}

on_both! {
    async fn planned_payments_are_read_oldest_invoice_first(db: &TestDatabase) {
        insert_checkout(db, &["pi_1"]).await;
        issue(db, 3).await;
        let mut unit = begin(db).await;
        unit.attempts().insert(&card_attempt("att_1", "pi_1"), &[planned("in_3", 1_000), planned("in_1", 7)]).await.expect("inserts");
        assert_eq!(unit.attempts().planned_by(&id("att_1")).await.expect("reads"), [planned("in_1", 7), planned("in_3", 1_000)]);
        let all: Vec<InvoiceId> = (1..=3).map(|number| id(&format!("in_{number}"))).collect();
        let mut covered = unit.attempts().in_flight(&all).await.expect("reads");
        covered.sort();
        assert_eq!(covered, [id("in_1"), id("in_3")]);
        assert!(unit.attempts().decline_claimed(&id("att_1"), Some(&decline()), at(7)).await.expect("declines"));
        assert!(unit.attempts().in_flight(&all).await.expect("reads").is_empty());
        assert_eq!(unit.attempts().planned_by(&id("att_1")).await.expect("reads").len(), 2, "what was planned is kept");
    }

    async fn a_planned_payment_never_exceeds_the_remaining_amount(db: &TestDatabase) {
        insert_checkout(db, &["pi_1"]).await;
        issue(db, 4).await;
        let mut unit = begin(db).await;
        unit.invoices().insert_draft(&invoice("in_5"), &[]).await.expect("inserts");
        let dropped = Invoice { id: id("in_6"), ..invoice("in_6") };
        unit.invoices().insert_draft(&dropped, &[]).await.expect("inserts");
        assert!(unit.invoices().drop_draft(&id("in_6"), at(1)).await.expect("drops"));
        unit.commit().await.expect("commits");
        assert_eq!(amounts(db, "in_1", 300, 200).await.remaining(), Amount::new(500));
        assert_eq!(amounts(db, "in_2", 1_000, 0).await.status, InvoiceStatus::Paid);
        assert_eq!(amounts(db, "in_3", 0, 1_000).await.status, InvoiceStatus::Void);
        let cases: [(&[PlannedPayment], bool); 9] = [
            (&[planned("in_1", 501)], false),
            (&[planned("in_1", 500)], true),
            (&[planned("in_2", 0)], false),
            (&[planned("in_3", 0)], false),
            (&[planned("in_4", 1_000)], true),
            (&[planned("in_4", 1_000), planned("in_1", 501)], false),
            (&[planned("in_5", 1_000)], true),
            (&[planned("in_5", 1_001)], false),
            (&[planned("in_6", 1)], false),
        ];
        for (number, (planned, is_written)) in cases.into_iter().enumerate() {
            let mut unit = begin(db).await;
            let inserted = unit.attempts().insert(&card_attempt(&format!("att_{number}"), "pi_1"), planned).await;
            match inserted {
                Ok(()) => assert!(is_written, "{planned:?}"),
                Err(StorageError::Duplicate(_)) => assert!(!is_written, "{planned:?}"),
                Err(error) => panic!("{error}"),
            }
        }
    }

    async fn the_wallets_of_transactions_are_found_by_method_and_hash(db: &TestDatabase) {
        insert_checkout(db, &["pi_1", "pi_2", "pi_3"]).await;
        let mut unit = begin(db).await;
        for attempt in [wallet_attempt("att_1", "pi_1", "AB"), wallet_attempt("att_2", "pi_2", "CD"), card_attempt("att_3", "pi_3")] {
            unit.attempts().insert(&attempt, &[]).await.expect("inserts");
        }
        let method = card_attempt("att_1", "pi_1").method_id;
        let transaction = |method: &MethodId, hash: &str| TransactionKey { method_id: method.clone(), hash: hash.to_owned() };
        let asked = [transaction(&method, "AB"), transaction(&method, "EF"), transaction(&id("pm_other"), "CD")];
        let found = unit.attempts().wallets_of(&asked).await.expect("reads");
        assert_eq!(found.get(&asked[0]), Some(&did("z1buyer")));
        assert!(asked[1..].iter().all(|transaction| !found.contains_key(transaction)), "{found:?}");
        assert!(unit.attempts().wallets_of(&[]).await.expect("reads").is_empty());
    }

    async fn the_attempts_of_a_connect_session_are_found_by_its_token_oldest_first(db: &TestDatabase) {
        insert_checkout(db, &["pi_1", "pi_2", "pi_3"]).await;
        let signed = |name: &str, intent: &str, token: &str, seconds| Attempt {
            connect_token: Some(token.to_owned()),
            created_at: at(seconds),
            ..wallet_attempt(name, intent, name)
        };
        let mut unit = begin(db).await;
        for attempt in [signed("att_1", "pi_1", "00ff", 2), signed("att_2", "pi_2", "00ff", 1), signed("att_3", "pi_3", "11ff", 1)] {
            unit.attempts().insert(&attempt, &[]).await.expect("inserts");
        }
        unit.attempts().insert(&card_attempt("att_4", "pi_4"), &[]).await.expect("inserts");
        let found = unit.attempts().of_connect_session("00ff").await.expect("reads");
        assert_eq!(found, [signed("att_2", "pi_2", "00ff", 1), signed("att_1", "pi_1", "00ff", 2)]);
        assert!(unit.attempts().of_connect_session("22ff").await.expect("reads").is_empty());
    }

    async fn an_invoice_has_at_most_one_open_attempt(db: &TestDatabase) {
        let intents: Vec<String> = (0..8).map(|number| format!("pi_{number}")).collect();
        insert_checkout(db, &intents.iter().map(String::as_str).collect::<Vec<_>>()).await;
        issue(db, 2).await;
        let inserted = all_at_once(db, 8, |db, number| async move {
            let both = [planned("in_1", 1_000), planned("in_2", 1_000)];
            // Invoices are locked in the order of their ids, regardless of the order in which they are given.
            let both = if number % 2 == 0 { both.to_vec() } else { both.into_iter().rev().collect() };
            let mut unit = begin(&db).await;
            let attempt = wallet_attempt(&format!("att_{number}"), &format!("pi_{number}"), &format!("0x{number}"));
            let inserted = unit.attempts().insert(&attempt, &both).await;
            match inserted {
                Ok(()) => unit.commit().await.map(|()| Some(attempt.id)).expect("commits"),
                Err(StorageError::Duplicate(_)) => None,
                Err(error) => panic!("{error}"),
            }
        });
        let open: Vec<AttemptId> = inserted.await.into_iter().flatten().collect();
        assert_eq!(open.len(), 1);
        let mut unit = begin(db).await;
        assert!(!unit.attempts().lock_not_in_flight(&id("in_1")).await.expect("queries"));
        assert!(unit.attempts().decline_claimed(&open[0], Some(&decline()), at(7)).await.expect("declines"));
        assert!(unit.attempts().lock_not_in_flight(&id("in_1")).await.expect("queries"));
        unit.attempts().insert(&card_attempt("att_9", "pi_1"), &[planned("in_2", 1_000)]).await.expect("inserts");
    }

    async fn an_attempt_that_plans_more_than_remains_after_a_credit_note_is_not_written(db: &TestDatabase) {
        let intents: Vec<String> = (0..6).map(|number| format!("pi_{number}")).collect();
        insert_checkout(db, &intents.iter().map(String::as_str).collect::<Vec<_>>()).await;
        issue(db, 6).await;
        let written = all_at_once(db, 12, |db, number| async move {
            let name = format!("in_{}", number / 2 + 1);
            if number % 2 == 0 {
                amounts(&db, &name, 0, 400).await;
                return None;
            }
            let mut unit = begin(&db).await;
            let attempt = card_attempt(&format!("att_{number}"), &format!("pi_{}", number / 2));
            let inserted = unit.attempts().insert(&attempt, &[planned(&name, 1_000)]).await;
            match inserted {
                Ok(()) => {
                    let locked = unit.invoices().find(&id(&name)).await.expect("reads").expect("is there");
                    unit.commit().await.expect("commits");
                    Some(locked.remaining())
                }
                Err(StorageError::Duplicate(_)) => None,
                Err(error) => panic!("{error}"),
            }
        });
        let remained: Vec<Amount> = written.await.into_iter().flatten().collect();
        assert!(remained.iter().all(|remaining| *remaining == Amount::new(1_000)), "{remained:?}");
    }

    async fn a_new_attempt_does_not_wait_for_one_that_is_ending(db: &TestDatabase) {
        insert_checkout(db, &["pi_1", "pi_2"]).await;
        issue(db, 1).await;
        let mut unit = begin(db).await;
        unit.attempts().insert(&card_attempt("att_1", "pi_1"), &[planned("in_1", 1_000)]).await.expect("inserts");
        unit.commit().await.expect("commits");
        let mut settling = begin(db).await;
        assert_eq!(settling.attempts().settle_all(&[id("att_1")], at(6)).await.expect("settles"), [id("att_1")]);
        let other = Database::clone(db);
        let covering = tokio::spawn(async move {
            let mut unit = begin(&other).await;
            let inserted = unit.attempts().insert(&card_attempt("att_2", "pi_2"), &[planned("in_1", 1_000)]).await;
            // On PostgreSQL, this transaction holds the invoice's lock meanwhile, and the other one waits for it.
            tokio::time::sleep(std::time::Duration::from_millis(200)).await;
            unit.rollback().await.expect("rolls back");
            inserted
        });
        tokio::time::sleep(std::time::Duration::from_millis(100)).await;
        let before = settling.invoices().lock(&id("in_1")).await.expect("locks").expect("is there");
        let after = before.with_amounts(before.total, Amount::ZERO, at(6)).expect("within the total");
        assert!(settling.invoices().update(&before, &after).await.expect("writes"));
        settling.commit().await.expect("commits");
        let refused = covering.await.expect("ends");
        assert!(matches!(refused, Err(StorageError::Duplicate(_))), "{refused:?}");
    }

    async fn many_attempts_are_written_by_few_statements(db: &TestDatabase) {
        let intents: Vec<String> = (1..=64).map(|number| format!("pi_{number}")).collect();
        insert_checkout(db, &intents.iter().map(String::as_str).collect::<Vec<_>>()).await;
        issue(db, 64).await;
        let attempts: Vec<_> = (1..=64)
            .map(|number| NewAttempt {
                attempt: card_attempt(&format!("att_{number}"), &format!("pi_{number}")),
                planned: vec![planned(&format!("in_{number}"), 1_000)],
            })
            .collect();
        let mut unit = begin(db).await;
        let before = statement_counter::sent().statements;
        unit.attempts().insert_all(&attempts).await.expect("inserts");
        assert_eq!(statement_counter::sent().statements - before, 4);
        unit.commit().await.expect("commits");
    }

    async fn attempts_for_new_invoices_neither_read_nor_exceed_them(db: &TestDatabase) {
        insert_checkout(db, &["pi_1"]).await;
        let attempts = [NewAttempt { attempt: card_attempt("att_1", "pi_1"), planned: vec![planned("in_1", 1_000)] }];
        let remaining = |invoice: &str, amount| HashMap::from([(id(invoice), Amount::new(amount))]);
        for too_little in [remaining("in_1", 999), remaining("in_2", 1_000)] {
            let refused = begin(db).await.attempts().insert_all_for_new_invoices(&attempts, &too_little).await;
            assert!(matches!(refused, Err(StorageError::Duplicate(_))), "{refused:?}");
        }
        issue(db, 1).await;
        let mut unit = begin(db).await;
        let before = statement_counter::sent().statements;
        unit.attempts().insert_all_for_new_invoices(&attempts, &remaining("in_1", 1_000)).await.expect("inserts");
        assert_eq!(statement_counter::sent().statements - before, 2);
        assert_eq!(unit.attempts().planned_by(&id("att_1")).await.expect("reads"), [planned("in_1", 1_000)]);
        let again = [NewAttempt { attempt: card_attempt("att_2", "pi_1"), ..attempts[0].clone() }];
        let refused = unit.attempts().insert_all_for_new_invoices(&again, &remaining("in_1", 1_000)).await;
        assert!(matches!(refused, Err(StorageError::Duplicate(_))), "the invoice has an open attempt: {refused:?}");
    }

    async fn the_lock_on_an_invoice_without_attempts_blocks_new_attempts(db: &TestDatabase) {
        insert_checkout(db, &["pi_1"]).await;
        issue(db, 1).await;
        let mut unit = begin(db).await;
        assert!(unit.attempts().lock_not_in_flight(&id("in_1")).await.expect("queries"));
        let other = Database::clone(db);
        let inserted = tokio::spawn(async move {
            let mut unit = begin(&other).await;
            let inserted = unit.attempts().insert(&card_attempt("att_1", "pi_1"), &[planned("in_1", 1_000)]).await;
            (inserted.is_ok(), unit.commit().await.is_ok())
        });
        tokio::time::sleep(std::time::Duration::from_millis(200)).await;
        assert!(!inserted.is_finished());
        let before = unit.invoices().find(&id("in_1")).await.expect("reads").expect("is there");
        let void = before.with_amounts(Amount::ZERO, before.total, at(1)).expect("within the total");
        assert!(unit.invoices().update(&before, &void).await.expect("writes"));
        unit.commit().await.expect("commits");
        assert!(!inserted.await.expect("ends").0, "it is void");
    }

    async fn attempts_of_both_kinds_are_read_as_written(db: &TestDatabase) {
        insert_checkout(db, &["pi_1", "pi_2"]).await;
        let wallet = Attempt { last_error: Some(decline()), checks: 3, ..wallet_attempt("att_1", "pi_1", "0xab") };
        let card = card_attempt("att_2", "pi_2");
        let mut unit = begin(db).await;
        for attempt in [&wallet, &card] {
            unit.attempts().insert(attempt, &[]).await.expect("inserts");
        }
        assert_eq!(unit.attempts().find(&wallet.id).await.expect("reads"), Some(wallet.clone()));
        assert_eq!(unit.attempts().find(&card.id).await.expect("reads"), Some(card));
        assert_eq!(unit.attempts().open_of_intent(&id("pi_1")).await.expect("reads"), Some(wallet));
        assert_eq!(unit.attempts().open_of_intent(&id("pi_3")).await.expect("reads"), None);
    }

    async fn of_concurrent_attempts_one_is_open_and_the_others_are_duplicates(db: &TestDatabase) {
        insert_checkout(db, &["pi_1"]).await;
        let inserted = all_at_once(db, 8, |db, number| async move {
            let mut unit = begin(&db).await;
            let attempt = wallet_attempt(&format!("att_{number}"), "pi_1", &format!("0x{number}"));
            let answer = unit.attempts().insert(&attempt, &[]).await;
            match answer {
                Ok(()) => unit.commit().await.map(|()| true).expect("commits"),
                Err(StorageError::Duplicate(_)) => false,
                Err(error) => panic!("{error}"),
            }
        });
        assert_eq!(inserted.await.into_iter().filter(|won| *won).count(), 1);
    }

    async fn an_unknown_attempt_blocks_a_new_one_and_a_declined_one_does_not(db: &TestDatabase) {
        insert_checkout(db, &["pi_1"]).await;
        let mut unit = begin(db).await;
        unit.attempts().insert(&card_attempt("att_1", "pi_1"), &[]).await.expect("inserts");
        unit.attempts().reschedule(&id("att_1"), AttemptStatus::Unknown, None, Some(at(20)), at(6)).await.expect("reschedules");
        let second = unit.attempts().insert(&card_attempt("att_2", "pi_1"), &[]).await;
        assert!(matches!(second, Err(StorageError::Duplicate(_))), "{second:?}");
        // A duplicate leaves the unit of work usable.
        assert!(unit.attempts().decline_claimed(&id("att_1"), Some(&decline()), at(7)).await.expect("declines"));
        unit.attempts().insert(&card_attempt("att_2", "pi_1"), &[]).await.expect("inserts");
        unit.commit().await.expect("commits");
        let open = read(db).await.attempts().open_of_intent(&id("pi_1")).await.expect("reads").expect("is there");
        assert_eq!(open.id, id("att_2"));
    }

    async fn a_wallet_transaction_belongs_to_one_attempt_only(db: &TestDatabase) {
        insert_checkout(db, &["pi_1", "pi_2"]).await;
        let mut unit = begin(db).await;
        unit.attempts().insert(&wallet_attempt("att_1", "pi_1", "0xab"), &[]).await.expect("inserts");
        unit.attempts().settle_all(&[id("att_1")], at(7)).await.expect("settles");
        let second = unit.attempts().insert(&wallet_attempt("att_2", "pi_2", "0xab"), &[]).await;
        assert!(matches!(second, Err(StorageError::Duplicate(_))), "{second:?}");
    }

    async fn exactly_one_caller_settles_an_attempt(db: &TestDatabase) {
        insert_checkout(db, &["pi_1"]).await;
        let mut unit = begin(db).await;
        unit.attempts().insert(&card_attempt("att_1", "pi_1"), &[]).await.expect("inserts");
        unit.commit().await.expect("commits");
        let settled = all_at_once(db, 8, |db, _| async move {
            let mut unit = begin(&db).await;
            let settled = unit.attempts().settle_all(&[id("att_1")], at(6)).await.expect("settles");
            unit.commit().await.expect("commits");
            settled
        });
        assert_eq!(settled.await.concat(), [id("att_1")]);
        let mut unit = begin(db).await;
        unit.attempts().reschedule(&id("att_1"), AttemptStatus::Unknown, None, Some(at(20)), at(8)).await.expect("reschedules");
        assert_eq!(unit.attempts().find(&id("att_1")).await.expect("reads").expect("is there").status, AttemptStatus::Settled);
    }

    async fn provider_ids_are_set_once_and_the_client_secret_is_encrypted(db: &TestDatabase) {
        insert_checkout(db, &["pi_1"]).await;
        let mut unit = begin(db).await;
        unit.attempts().insert(&card_attempt("att_1", "pi_1"), &[]).await.expect("inserts");
        unit.attempts().set_provider_ids(&id("att_1"), "pi_provider", "pi_provider_secret_x", at(6)).await.expect("names");
        unit.attempts().set_provider_ids(&id("att_1"), "pi_other", "pi_other_secret_y", at(7)).await.expect("names");
        unit.commit().await.expect("commits");
        let named = read(db).await.attempts().find_by_provider(&id("pm_card"), "pi_provider").await.expect("reads").expect("is there");
        let kind = AttemptKind::Card { provider_id: "pi_provider".to_owned(), client_secret: "pi_provider_secret_x".to_owned(), setup_future_usage: None };
        assert!(named.kind == kind && named.updated_at == at(6), "{named:?}");
        assert_eq!(read(db).await.attempts().find_by_provider(&id("pm_card"), "pi_other").await.expect("reads"), None);
        let mut connection = db.read().await.expect("reads");
        let row = connection.query("SELECT client_secret FROM attempts").one().await.expect("reads");
        let stored: Vec<u8> = row.get("client_secret").expect("bytes");
        assert!(!stored.windows(6).any(|window| window == b"secret"));
    }

    async fn an_ended_attempt_is_not_rescheduled(db: &TestDatabase) {
        insert_checkout(db, &["pi_1"]).await;
        let mut unit = begin(db).await;
        unit.attempts().insert(&card_attempt("att_1", "pi_1"), &[]).await.expect("inserts");
        assert!(unit.attempts().decline_claimed(&id("att_1"), Some(&decline()), at(7)).await.expect("declines"));
        assert!(!unit.attempts().reschedule(&id("att_1"), AttemptStatus::Open, None, Some(at(20)), at(8)).await.expect("answers"));
    }

    async fn a_rescheduled_attempt_counts_its_checks(db: &TestDatabase) {
        insert_checkout(db, &["pi_1"]).await;
        let mut unit = begin(db).await;
        unit.attempts().insert(&card_attempt("att_1", "pi_1"), &[]).await.expect("inserts");
        for now in [6, 7] {
            let rescheduled = unit.attempts().reschedule(&id("att_1"), AttemptStatus::Unknown, Some(&decline()), Some(at(20)), at(now)).await;
            assert!(rescheduled.expect("reschedules"));
        }
        let found = unit.attempts().find(&id("att_1")).await.expect("reads").expect("is there");
        let expected = Attempt {
            status: AttemptStatus::Unknown,
            last_error: Some(decline()),
            checks: 2,
            check_at: at(20),
            updated_at: at(7),
            ..card_attempt("att_1", "pi_1")
        };
        assert_eq!(found, expected);
    }

    async fn an_attempt_claimed_by_the_reconciler_is_not_claimed_as_unsent(db: &TestDatabase) {
        insert_checkout(db, &["pi_1"]).await;
        let mut unit = begin(db).await;
        unit.attempts().insert(&wallet_attempt("att_1", "pi_1", "0xab"), &[]).await.expect("inserts");
        assert_eq!(unit.attempts().claim_due(&id("pm_card"), at(5), at(65), 1).await.expect("claims"), [id("att_1")]);
        assert!(unit.attempts().claim_unsent(&[id("att_1")], at(6), at(300)).await.expect("queries").is_empty());
        let found = unit.attempts().find(&id("att_1")).await.expect("reads").expect("is there");
        assert_eq!((found.sent_at, found.check_at), (Some(at(5)), at(65)));
        assert_eq!(unit.attempts().claim_due(&id("pm_card"), at(65), at(125), 1).await.expect("claims"), [id("att_1")]);
        let found = unit.attempts().find(&id("att_1")).await.expect("reads").expect("is there");
        assert_eq!(found.sent_at, Some(at(5)), "the first time is kept");
    }

    async fn an_open_attempt_can_become_part_of_another_connect_session(db: &TestDatabase) {
        insert_checkout(db, &["pi_1", "pi_2"]).await;
        let mut unit = begin(db).await;
        unit.attempts().insert(&wallet_attempt("att_1", "pi_1", "0xab"), &[]).await.expect("inserts");
        unit.attempts().insert(&wallet_attempt("att_2", "pi_2", "0xcd"), &[]).await.expect("inserts");
        unit.attempts().decline_claimed(&id("att_2"), Some(&decline()), at(1)).await.expect("declines");
        for (attempt, is_open) in [("att_1", true), ("att_2", false)] {
            assert_eq!(unit.attempts().set_connect_token(&id(attempt), "11ff").await.expect("writes"), is_open);
        }
        let found = unit.attempts().of_connect_session("11ff").await.expect("reads");
        assert_eq!(found.iter().map(|attempt| attempt.id.as_str()).collect::<Vec<_>>(), ["att_1"], "an ended one stays where it was");
    }

    async fn the_reconciler_does_not_claim_an_attempt_that_was_just_sent(db: &TestDatabase) {
        insert_checkout(db, &["pi_1"]).await;
        let mut unit = begin(db).await;
        unit.attempts().insert(&wallet_attempt("att_1", "pi_1", "0xab"), &[]).await.expect("inserts");
        assert_eq!(unit.attempts().claim_unsent(&[id("att_1")], at(5), at(300)).await.expect("claims"), [id("att_1")]);
        assert!(unit.attempts().claim_due(&id("pm_card"), at(299), at(400), 1).await.expect("claims").is_empty());
        assert_eq!(unit.attempts().claim_due(&id("pm_card"), at(300), at(400), 1).await.expect("claims"), [id("att_1")]);
    }

    async fn a_released_attempt_is_due_and_unsent_again_unless_another_caller_has_claimed_it(db: &TestDatabase) {
        insert_checkout(db, &["pi_1", "pi_2"]).await;
        let mut unit = begin(db).await;
        unit.attempts().insert(&wallet_attempt("att_1", "pi_1", "0xab"), &[]).await.expect("inserts");
        unit.attempts().insert(&wallet_attempt("att_2", "pi_2", "0xcd"), &[]).await.expect("inserts");
        let both = [id("att_1"), id("att_2")];
        assert_eq!(unit.attempts().claim_unsent(&both, at(5), at(300)).await.expect("claims").len(), 2);
        unit.attempts().release(&both[..1], at(5), at(299), at(10)).await.expect("is another lease");
        unit.attempts().release(&both[..1], at(5), at(300), at(10)).await.expect("releases");
        let found = unit.attempts().find(&both[0]).await.expect("reads").expect("is there");
        assert_eq!((found.sent_at, found.check_at, found.checks), (None, at(10), 0));
        assert!(unit.attempts().networks_due(at(9)).await.expect("reads").is_empty());
        assert_eq!(unit.attempts().networks_due(at(10)).await.expect("reads"), [id("pm_card")]);
        assert!(unit.attempts().claim_due(&id("pm_other"), at(10), at(60), 9).await.expect("claims").is_empty());
        assert_eq!(unit.attempts().claim_due(&id("pm_card"), at(10), at(60), 9).await.expect("claims"), [id("att_1")]);
        unit.attempts().release(&both, at(5), at(300), at(11)).await.expect("releases the other one");
        unit.attempts().claim_unsent(&both[1..], at(12), at(300)).await.expect("claims");
        unit.attempts().claim_due(&id("pm_card"), at(300), at(400), 9).await.expect("claims");
        unit.attempts().release(&both[1..], at(300), at(400), at(301)).await.expect("releases");
        let found = unit.attempts().find(&both[1]).await.expect("reads").expect("is there");
        assert_eq!((found.sent_at, found.check_at), (Some(at(12)), at(301)), "it was claimed before, and may have been sent");
    }

    async fn a_decline_does_not_end_an_attempt_that_another_caller_has_claimed(db: &TestDatabase) {
        insert_checkout(db, &["pi_1"]).await;
        let mut unit = begin(db).await;
        unit.attempts().insert(&wallet_attempt("att_1", "pi_1", "0xab"), &[]).await.expect("inserts");
        unit.attempts().claim_unsent(&[id("att_1")], at(5), at(6)).await.expect("claims");
        let late = unit.attempts().find(&id("att_1")).await.expect("reads").expect("is there");
        unit.attempts().claim_due(&id("pm_card"), at(6), at(66), 1).await.expect("claims");
        assert!(!unit.attempts().decline(&late, &decline(), at(7)).await.expect("answers"));
        let held = unit.attempts().find(&id("att_1")).await.expect("reads").expect("is there");
        assert_eq!((held.status, &held.last_error), (AttemptStatus::Open, &None));
        assert!(unit.attempts().decline(&held, &decline(), at(8)).await.expect("declines"));
        assert!(!unit.attempts().decline(&held, &decline(), at(9)).await.expect("answers"), "it has ended");
        let ended = unit.attempts().find(&id("att_1")).await.expect("reads").expect("is there");
        assert_eq!((ended.status, ended.last_error, ended.updated_at), (AttemptStatus::Declined, Some(decline()), at(8)));
    }

    async fn one_reconciler_claims_a_due_attempt(db: &TestDatabase) {
        let intents: Vec<String> = (0..12).map(|number| format!("pi_{number}")).collect();
        insert_checkout(db, &intents.iter().map(String::as_str).collect::<Vec<_>>()).await;
        let mut unit = begin(db).await;
        for (number, intent) in intents.iter().enumerate() {
            unit.attempts().insert(&card_attempt(&format!("att_{number}"), intent), &[]).await.expect("inserts");
        }
        unit.attempts().decline_claimed(&id("att_11"), None, at(1)).await.expect("declines");
        unit.commit().await.expect("commits");
        assert!(begin(db).await.attempts().claim_due(&id("pm_card"), at(4), at(60), 99).await.expect("claims").is_empty());
        let claimed = all_at_once(db, 6, |db, _| async move {
            let mut unit = begin(&db).await;
            let mut claimed = unit.attempts().claim_due(&id("pm_card"), at(5), at(65), 3).await.expect("claims");
            claimed.extend(unit.attempts().claim_due(&id("pm_card"), at(5), at(65), 2).await.expect("claims"));
            unit.commit().await.expect("commits");
            claimed
        });
        let mut claimed: Vec<AttemptId> = claimed.await.into_iter().flatten().collect();
        claimed.sort();
        let total = claimed.len();
        claimed.dedup();
        assert_eq!((total, claimed.len()), (11, 11));
    }
}
