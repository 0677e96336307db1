//! Connect sessions between a browser and a wallet: exactly one caller takes each step.

use crate::checkout_fixtures::{all_at_once, at, begin, did, read};
use souk_adapters::on_both;
use souk_domain::access::{ConnectAction, ConnectSession, ConnectStatus, ConnectStep, ConnectTransition, Wallet};
use souk_domain::operation::VisitorNetwork;
use std::time::Duration;

pub fn session() -> ConnectSession {
    ConnectSession {
        token: "00ff".to_owned(),
        action: ConnectAction::Payment,
        status: ConnectStatus::Created,
        step: ConnectStep::Principal,
        challenge: "AA".to_owned(),
        browser: [3; 32],
        params: [("checkoutSessionId".to_owned(), "cs_1".to_owned())].into(),
        wallet: None,
        nonce: u64::MAX - 1,
        error: String::new(),
        error_code: String::new(),
        error_params: Default::default(),
        browser_session: None,
        created_at: at(0),
        updated_at: at(0),
        expires_at: at(300),
    }
}

fn scanned() -> ConnectSession {
    ConnectSession {
        status: ConnectStatus::Scanned,
        step: ConnectStep::Transfer,
        challenge: "BB".to_owned(),
        wallet: Some(Wallet { did: did("z1anna"), public_key: "zKey".to_owned() }),
        nonce: 7,
        updated_at: at(1),
        ..session()
    }
}

on_both! {
    async fn a_session_is_read_as_written_until_it_expires(db: &TestDatabase) {
        let mut unit = begin(db).await;
        unit.connect_sessions().insert(&session(), &VisitorNetwork::default()).await.expect("inserts");
        assert_eq!(unit.connect_sessions().find("00ff", at(299)).await.expect("reads"), Some(session()));
        assert_eq!(unit.connect_sessions().find("00ff", at(300)).await.expect("reads"), None);
        assert_eq!(unit.connect_sessions().prune(at(299), 10).await.expect("prunes"), 0);
        assert_eq!(unit.connect_sessions().prune(at(300), 10).await.expect("prunes"), 1);
    }

    async fn a_step_requires_the_status_and_the_challenge_that_were_read(db: &TestDatabase) {
        let mut unit = begin(db).await;
        unit.connect_sessions().insert(&session(), &VisitorNetwork::default()).await.expect("inserts");
        let next = scanned();
        let good = ConnectTransition { token: "00ff", from: ConnectStatus::Created, challenge: "AA", next: &next };
        let stale = ConnectTransition { challenge: "CC", ..good.clone() };
        assert!(!unit.connect_sessions().advance(&stale).await.expect("advances"));
        let early = ConnectTransition { from: ConnectStatus::Scanned, ..good.clone() };
        assert!(!unit.connect_sessions().advance(&early).await.expect("advances"));
        assert!(unit.connect_sessions().advance(&good).await.expect("advances"));
        assert!(!unit.connect_sessions().advance(&good).await.expect("advances"));
        assert_eq!(unit.connect_sessions().find("00ff", at(0)).await.expect("reads"), Some(next));
    }

    async fn each_step_is_later_than_the_previous_one(db: &TestDatabase) {
        let mut unit = begin(db).await;
        unit.connect_sessions().insert(&session(), &VisitorNetwork::default()).await.expect("inserts");
        let scanned = ConnectSession { updated_at: at(0), ..scanned() };
        let failed = ConnectSession { status: ConnectStatus::Error, updated_at: at(0), ..scanned.clone() };
        for (from, challenge, next, millis) in [(ConnectStatus::Created, "AA", &scanned, 1), (ConnectStatus::Scanned, "BB", &failed, 2)] {
            assert!(unit.connect_sessions().advance(&ConnectTransition { token: "00ff", from, challenge, next }).await.expect("advances"));
            let found = unit.connect_sessions().find("00ff", at(0)).await.expect("reads").expect("is there");
            assert_eq!(found.updated_at, at(0).plus(Duration::from_millis(millis)));
        }
    }

    async fn of_concurrent_responses_to_one_challenge_one_is_accepted(db: &TestDatabase) {
        let mut unit = begin(db).await;
        unit.connect_sessions().insert(&session(), &VisitorNetwork::default()).await.expect("inserts");
        unit.commit().await.expect("commits");
        let moved = all_at_once(db, 8, |db, _| async move {
            let mut unit = begin(&db).await;
            let next = scanned();
            let step = ConnectTransition { token: "00ff", from: ConnectStatus::Created, challenge: "AA", next: &next };
            let moved = unit.connect_sessions().advance(&step).await.expect("advances");
            unit.commit().await.expect("commits");
            moved
        });
        assert_eq!(moved.await.into_iter().filter(|moved| *moved).count(), 1);
    }

    async fn a_login_requires_the_latest_state_of_the_session(db: &TestDatabase) {
        let mut unit = begin(db).await;
        unit.connect_sessions().insert(&scanned(), &VisitorNetwork::default()).await.expect("inserts");
        assert!(!unit.connect_sessions().redeem_connect_session("00ff", None, &[1; 32]).await.expect("answers"), "it has not succeeded");
        let done = ConnectSession { token: "11ff".to_owned(), status: ConnectStatus::Succeed, ..scanned() };
        unit.connect_sessions().insert(&done, &VisitorNetwork::default()).await.expect("inserts");
        assert!(unit.connect_sessions().redeem_connect_session("11ff", None, &[1; 32]).await.expect("answers"));
        assert!(!unit.connect_sessions().redeem_connect_session("11ff", None, &[2; 32]).await.expect("answers"));
        assert!(unit.connect_sessions().redeem_connect_session("11ff", Some(&[1; 32]), &[3; 32]).await.expect("answers"));
        let found = unit.connect_sessions().find("11ff", at(0)).await.expect("reads").expect("is there");
        assert_eq!(found.browser_session, Some([3; 32]));
    }

    async fn a_scanned_session_is_not_abandoned(db: &TestDatabase) {
        let mut unit = begin(db).await;
        unit.connect_sessions().insert(&scanned(), &VisitorNetwork::default()).await.expect("inserts");
        unit.connect_sessions().delete("00ff").await.expect("deletes");
        assert!(unit.connect_sessions().find("00ff", at(0)).await.expect("reads").is_some());
        unit.connect_sessions().insert(&ConnectSession { token: "11ff".to_owned(), ..session() }, &VisitorNetwork::default()).await.expect("inserts");
        unit.connect_sessions().delete("11ff").await.expect("deletes");
        unit.commit().await.expect("commits");
        assert!(read(db).await.connect_sessions().find("11ff", at(0)).await.expect("reads").is_none());
    }

    async fn an_expired_session_that_a_wallet_has_scanned_is_deleted_only_after_its_end(db: &TestDatabase) {
        let mut unit = begin(db).await;
        for status in ConnectStatus::ALL {
            unit.connect_sessions().insert(&ConnectSession { token: status.name().to_owned(), status, ..scanned() }, &VisitorNetwork::default()).await.expect("inserts");
        }
        assert!(unit.connect_sessions().lapsed(at(299), 10).await.expect("reads").is_empty());
        let lapsed = unit.connect_sessions().lapsed(at(300), 10).await.expect("reads");
        let mut tokens: Vec<_> = lapsed.iter().map(|session| session.token.as_str()).collect();
        tokens.sort_unstable();
        assert_eq!(tokens, ["confirming", "scanned", "working"]);
        assert_eq!(unit.connect_sessions().lapsed(at(300), 2).await.expect("reads").len(), 2);
        assert_eq!(unit.connect_sessions().prune(at(300), 10).await.expect("prunes"), 5);
        let session = lapsed.first().expect("a session");
        let ended = ConnectSession { status: ConnectStatus::Error, expires_at: at(360), ..session.clone() };
        let step = ConnectTransition { token: &session.token, from: session.status, challenge: &session.challenge, next: &ended };
        assert!(unit.connect_sessions().advance(&step).await.expect("advances"));
        assert!(unit.connect_sessions().find(&session.token, at(359)).await.expect("reads").is_some());
        assert_eq!(unit.connect_sessions().prune(at(360), 10).await.expect("prunes"), 1);
    }

    async fn an_expired_session_is_found_as_lapsed_until_it_has_a_final_state(db: &TestDatabase) {
        let mut unit = begin(db).await;
        unit.connect_sessions().insert(&scanned(), &VisitorNetwork::default()).await.expect("inserts");
        unit.connect_sessions().insert(&ConnectSession { token: "11ff".to_owned(), status: ConnectStatus::Error, ..scanned() }, &VisitorNetwork::default()).await.expect("inserts");
        assert_eq!(unit.connect_sessions().find_lapsed("00ff", at(299)).await.expect("reads"), None);
        assert_eq!(unit.connect_sessions().find_lapsed("00ff", at(300)).await.expect("reads"), Some(scanned()));
        assert_eq!(unit.connect_sessions().find_lapsed("11ff", at(300)).await.expect("reads"), None);
        assert_eq!(unit.connect_sessions().lock("00ff").await.expect("reads"), Some(scanned()), "whatever the time");
        assert_eq!(unit.connect_sessions().lock("22ff").await.expect("reads"), None);
    }

    async fn a_locked_session_does_not_change_until_the_unit_of_work_ends(db: &TestDatabase) {
        let mut unit = begin(db).await;
        unit.connect_sessions().insert(&scanned(), &VisitorNetwork::default()).await.expect("inserts");
        unit.commit().await.expect("commits");
        let mut holder = begin(db).await;
        holder.connect_sessions().lock("00ff").await.expect("reads").expect("is there");
        let other = async {
            let mut unit = begin(db).await;
            let next = ConnectSession { status: ConnectStatus::Error, ..scanned() };
            let step = ConnectTransition { token: "00ff", from: ConnectStatus::Scanned, challenge: "BB", next: &next };
            let moved = unit.connect_sessions().advance(&step).await.expect("advances");
            unit.commit().await.expect("commits");
            moved
        };
        let mut other = std::pin::pin!(other);
        assert!(tokio::time::timeout(Duration::from_millis(200), &mut other).await.is_err(), "it waits");
        drop(holder);
        assert!(other.await);
    }

    async fn a_page_cannot_delete_a_session_whose_payment_is_being_confirmed(db: &TestDatabase) {
        let mut unit = begin(db).await;
        unit.connect_sessions().insert(&ConnectSession { status: ConnectStatus::Confirming, ..scanned() }, &VisitorNetwork::default()).await.expect("inserts");
        unit.connect_sessions().delete("00ff").await.expect("deletes");
        assert!(unit.connect_sessions().find("00ff", at(0)).await.expect("reads").is_some());
    }
}
