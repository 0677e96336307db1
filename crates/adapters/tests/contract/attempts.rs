//! Attempts: an intent is charged at most once (invariant 1).

use crate::till::{all_at_once, at, begin, card_attempt, id, open_till, read, wallet_attempt};
use souk_adapters::on_both;
use souk_domain::payment::{Attempt, AttemptKind, AttemptStatus, Decline};
use souk_domain::shared::{AttemptId, StorageError};

fn decline() -> Decline {
    Decline { code: "declined".to_owned(), message: "No".to_owned() }
}

on_both! {
    async fn attempts_of_both_kinds_come_back_as_they_went_in(db: &TestDatabase) {
        open_till(db, &["pi_1", "pi_2"]).await;
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

    async fn of_many_attempts_at_once_one_is_open_and_the_others_are_duplicates(db: &TestDatabase) {
        open_till(db, &["pi_1"]).await;
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

    async fn an_unknown_attempt_stands_in_the_way_and_a_refused_one_does_not(db: &TestDatabase) {
        open_till(db, &["pi_1"]).await;
        let mut unit = begin(db).await;
        unit.attempts().insert(&card_attempt("att_1", "pi_1"), &[]).await.expect("inserts");
        unit.attempts().reschedule(&id("att_1"), AttemptStatus::Unknown, None, Some(at(20)), at(6)).await.expect("postpones");
        let second = unit.attempts().insert(&card_attempt("att_2", "pi_1"), &[]).await;
        assert!(matches!(second, Err(StorageError::Duplicate(_))), "{second:?}");
        // A duplicate does not spoil the unit of work.
        assert!(unit.attempts().finish(&id("att_1"), AttemptStatus::Declined, Some(&decline()), at(7)).await.expect("finishes"));
        unit.attempts().insert(&card_attempt("att_2", "pi_1"), &[]).await.expect("inserts");
        unit.commit().await.expect("commits");
        let open = read(db).await.attempts().open_of_intent(&id("pi_1")).await.expect("reads").expect("is there");
        assert_eq!(open.id, id("att_2"));
    }

    async fn a_wallets_transaction_serves_one_attempt_only(db: &TestDatabase) {
        open_till(db, &["pi_1", "pi_2"]).await;
        let mut unit = begin(db).await;
        unit.attempts().insert(&wallet_attempt("att_1", "pi_1", "0xab"), &[]).await.expect("inserts");
        unit.attempts().finish(&id("att_1"), AttemptStatus::Settled, None, at(7)).await.expect("finishes");
        let second = unit.attempts().insert(&wallet_attempt("att_2", "pi_2", "0xab"), &[]).await;
        assert!(matches!(second, Err(StorageError::Duplicate(_))), "{second:?}");
    }

    async fn an_attempt_finishes_for_exactly_one_caller(db: &TestDatabase) {
        open_till(db, &["pi_1"]).await;
        let mut unit = begin(db).await;
        unit.attempts().insert(&card_attempt("att_1", "pi_1"), &[]).await.expect("inserts");
        unit.commit().await.expect("commits");
        let finished = all_at_once(db, 8, |db, _| async move {
            let mut unit = begin(&db).await;
            let finished = unit.attempts().finish(&id("att_1"), AttemptStatus::Settled, None, at(6)).await.expect("finishes");
            unit.commit().await.expect("commits");
            finished
        });
        assert_eq!(finished.await.into_iter().filter(|won| *won).count(), 1);
        let mut unit = begin(db).await;
        unit.attempts().reschedule(&id("att_1"), AttemptStatus::Unknown, None, Some(at(20)), at(8)).await.expect("postpones");
        assert_eq!(unit.attempts().find(&id("att_1")).await.expect("reads").expect("is there").status, AttemptStatus::Settled);
    }

    async fn a_card_is_named_once_and_its_client_secret_is_encrypted(db: &TestDatabase) {
        open_till(db, &["pi_1"]).await;
        let mut unit = begin(db).await;
        unit.attempts().insert(&card_attempt("att_1", "pi_1"), &[]).await.expect("inserts");
        unit.attempts().set_provider_ids(&id("att_1"), "pi_provider", "pi_provider_secret_x", at(6)).await.expect("names");
        unit.attempts().set_provider_ids(&id("att_1"), "pi_other", "pi_other_secret_y", at(7)).await.expect("names");
        unit.commit().await.expect("commits");
        let named = read(db).await.attempts().find_by_provider(&id("pm_card"), "pi_provider").await.expect("reads").expect("is there");
        let kind = AttemptKind::Card { provider_id: "pi_provider".to_owned(), client_secret: "pi_provider_secret_x".to_owned(), keep_for: None };
        assert!(named.kind == kind && named.updated_at == at(6), "{named:?}");
        assert_eq!(read(db).await.attempts().find_by_provider(&id("pm_card"), "pi_other").await.expect("reads"), None);
        let mut session = db.read().await.expect("reads");
        let row = session.query("SELECT client_secret FROM attempts").one().await.expect("reads");
        let stored: Vec<u8> = row.get("client_secret").expect("bytes");
        assert!(!stored.windows(6).any(|window| window == b"secret"));
    }

    async fn an_ended_attempt_is_not_postponed(db: &TestDatabase) {
        open_till(db, &["pi_1"]).await;
        let mut unit = begin(db).await;
        unit.attempts().insert(&card_attempt("att_1", "pi_1"), &[]).await.expect("inserts");
        assert!(unit.attempts().finish(&id("att_1"), AttemptStatus::Declined, Some(&decline()), at(7)).await.expect("finishes"));
        assert!(!unit.attempts().reschedule(&id("att_1"), AttemptStatus::Open, None, Some(at(20)), at(8)).await.expect("answers"));
    }

    async fn a_postponed_attempt_counts_its_checks(db: &TestDatabase) {
        open_till(db, &["pi_1"]).await;
        let mut unit = begin(db).await;
        unit.attempts().insert(&card_attempt("att_1", "pi_1"), &[]).await.expect("inserts");
        for now in [6, 7] {
            let postponed = unit.attempts().reschedule(&id("att_1"), AttemptStatus::Unknown, Some(&decline()), Some(at(20)), at(now)).await;
            assert!(postponed.expect("postpones"));
        }
        let found = unit.attempts().find(&id("att_1")).await.expect("reads").expect("is there");
        let wanted = Attempt {
            status: AttemptStatus::Unknown,
            last_error: Some(decline()),
            checks: 2,
            check_at: at(20),
            updated_at: at(7),
            ..card_attempt("att_1", "pi_1")
        };
        assert_eq!(found, wanted);
    }

    async fn what_the_reconciler_took_in_hand_is_nobodys_first_sending(db: &TestDatabase) {
        open_till(db, &["pi_1"]).await;
        let mut unit = begin(db).await;
        unit.attempts().insert(&wallet_attempt("att_1", "pi_1", "0xab"), &[]).await.expect("inserts");
        assert_eq!(unit.attempts().claim_due(at(5), at(65), 1).await.expect("claims"), [id("att_1")]);
        assert!(unit.attempts().claim_unsent(&[id("att_1")], at(6), at(300)).await.expect("asks").is_empty());
        let found = unit.attempts().find(&id("att_1")).await.expect("reads").expect("is there");
        assert_eq!((found.sent_at, found.check_at), (Some(at(5)), at(65)));
        assert_eq!(unit.attempts().claim_due(at(65), at(125), 1).await.expect("claims"), [id("att_1")]);
        let found = unit.attempts().find(&id("att_1")).await.expect("reads").expect("is there");
        assert_eq!(found.sent_at, Some(at(5)), "the first time is kept");
    }

    async fn what_is_sent_first_is_left_alone_by_the_reconciler_for_its_time(db: &TestDatabase) {
        open_till(db, &["pi_1"]).await;
        let mut unit = begin(db).await;
        unit.attempts().insert(&wallet_attempt("att_1", "pi_1", "0xab"), &[]).await.expect("inserts");
        assert_eq!(unit.attempts().claim_unsent(&[id("att_1")], at(5), at(300)).await.expect("claims"), [id("att_1")]);
        assert!(unit.attempts().claim_due(at(299), at(400), 1).await.expect("claims").is_empty());
        assert_eq!(unit.attempts().claim_due(at(300), at(400), 1).await.expect("claims"), [id("att_1")]);
    }

    async fn a_refusal_does_not_end_what_somebody_else_has_taken_in_hand(db: &TestDatabase) {
        open_till(db, &["pi_1"]).await;
        let mut unit = begin(db).await;
        unit.attempts().insert(&wallet_attempt("att_1", "pi_1", "0xab"), &[]).await.expect("inserts");
        unit.attempts().claim_unsent(&[id("att_1")], at(5), at(6)).await.expect("claims");
        let late = unit.attempts().find(&id("att_1")).await.expect("reads").expect("is there");
        unit.attempts().claim_due(at(6), at(66), 1).await.expect("claims");
        assert!(!unit.attempts().decline(&late, &decline(), at(7)).await.expect("answers"));
        let held = unit.attempts().find(&id("att_1")).await.expect("reads").expect("is there");
        assert_eq!((held.status, &held.last_error), (AttemptStatus::Open, &None));
        assert!(unit.attempts().decline(&held, &decline(), at(8)).await.expect("refuses"));
        assert!(!unit.attempts().decline(&held, &decline(), at(9)).await.expect("answers"), "it has ended");
        let ended = unit.attempts().find(&id("att_1")).await.expect("reads").expect("is there");
        assert_eq!((ended.status, ended.last_error, ended.updated_at), (AttemptStatus::Declined, Some(decline()), at(8)));
    }

    async fn a_due_attempt_is_claimed_by_one_reconciler(db: &TestDatabase) {
        let intents: Vec<String> = (0..12).map(|number| format!("pi_{number}")).collect();
        open_till(db, &intents.iter().map(String::as_str).collect::<Vec<_>>()).await;
        let mut unit = begin(db).await;
        for (number, intent) in intents.iter().enumerate() {
            unit.attempts().insert(&card_attempt(&format!("att_{number}"), intent), &[]).await.expect("inserts");
        }
        unit.attempts().finish(&id("att_11"), AttemptStatus::Declined, None, at(1)).await.expect("finishes");
        unit.commit().await.expect("commits");
        assert!(begin(db).await.attempts().claim_due(at(4), at(60), 99).await.expect("claims").is_empty());
        let claimed = all_at_once(db, 6, |db, _| async move {
            let mut unit = begin(&db).await;
            let mut claimed = unit.attempts().claim_due(at(5), at(65), 3).await.expect("claims");
            claimed.extend(unit.attempts().claim_due(at(5), at(65), 2).await.expect("claims"));
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
