//! Idempotency keys: the first call runs, and repeated calls get its response.

use crate::checkout_fixtures::{all_at_once, at, begin, insert_checkout, intent, session, store};
use souk_adapters::on_both;
use souk_domain::shared::{StorageError, Timestamp};
use souk_domain::storage::{CallState, KeyedCall, Store, StoredCall};
use std::time::Duration;

/// How long a claim lasts in these tests.
const LEASE: Duration = Duration::from_secs(60);

fn call(caller: &str, key: &str, claimed_at: i64) -> KeyedCall {
    KeyedCall { caller: caller.to_owned(), key: key.to_owned(), claimed_at: at(claimed_at), objects: &["cs_", "pi_"] }
}

fn stored(claimed_at: i64, state: CallState) -> Option<StoredCall> {
    Some(StoredCall { fingerprint: "first".to_owned(), claimed_at: at(claimed_at), state })
}

fn fenced(objects: &[&str]) -> Option<StoredCall> {
    stored(0, CallState::Fenced { objects: objects.iter().map(|id| (*id).to_owned()).collect() })
}

fn lease(call: &KeyedCall) -> Timestamp {
    call.claimed_at.plus(LEASE)
}

async fn claim(store: &dyn Store, call: &KeyedCall) -> Option<StoredCall> {
    let mut unit = store.begin().await.expect("begins");
    let stored = unit.idempotency().claim(call, "first", lease(call)).await.expect("claims");
    unit.commit().await.expect("commits");
    stored
}

/// Commits a unit of work of a call that notes no object.
async fn write(store: &dyn Store) -> Result<(), StorageError> {
    let mut unit = store.begin().await?;
    unit.browser_sessions().insert_owner_link(&[1; 32], at(0)).await?;
    unit.commit().await
}

on_both! {
    async fn a_claimed_key_returns_its_fingerprint_and_later_the_first_response(db: &TestDatabase) {
        let mut unit = begin(db).await;
        let mut keys = unit.idempotency();
        for (call, fingerprint, found) in [
            (call("anna", "k1", 0), "first", None),
            (call("anna", "k1", 1), "second", stored(0, CallState::Running)),
            (call("bob", "k1", 1), "second", None),
        ] {
            assert_eq!(keys.claim(&call, fingerprint, lease(&call)).await.expect("claims"), found);
        }
        keys.keep(&call("anna", "k1", 0), 201, "{}").await.expect("keeps");
        keys.keep(&call("anna", "k1", 0), 500, "later").await.expect("keeps");
        let answered = || stored(0, CallState::Answered { status: 201, body: "{}".to_owned() });
        assert_eq!(keys.claim(&call("anna", "k1", 999), "first", at(1_059)).await.expect("claims"), answered());
        assert!(!keys.free(&call("anna", "k1", 0), at(999)).await.expect("frees"));
        assert_eq!(keys.claim(&call("anna", "k1", 999), "first", at(1_059)).await.expect("claims"), answered());
    }

    async fn a_key_is_free_again_if_its_call_failed_or_died_without_a_commit(db: &TestDatabase) {
        let store = store(db);
        assert_eq!(claim(&store, &call("anna", "k1", 0)).await, None);
        assert_eq!(claim(&store, &call("anna", "k1", 59)).await, stored(0, CallState::Running));
        assert_eq!(claim(&store, &call("anna", "k1", 60)).await, None);
        let mut unit = begin(db).await;
        assert!(!unit.idempotency().free(&call("anna", "k1", 0), at(61)).await.expect("frees"), "another call has claimed it");
        assert!(unit.idempotency().free(&call("anna", "k1", 60), at(61)).await.expect("frees"));
        unit.commit().await.expect("commits");
        assert_eq!(claim(&store, &call("anna", "k1", 62)).await, None);
    }

    async fn a_key_that_a_wrong_clock_has_claimed_is_free_again_when_its_call_must_have_ended(db: &TestDatabase) {
        let store = store(db);
        assert_eq!(claim(&store, &call("anna", "k1", 999_999)).await, None);
        assert_eq!(claim(&store, &call("anna", "k2", 0)).await, None);
        let mut unit = store.begin().await.expect("begins");
        unit.clock_states().pull_forward(at(10)).await.expect("writes");
        unit.commit().await.expect("commits");
        assert_eq!(claim(&store, &call("anna", "k1", 609)).await, stored(999_999, CallState::Running));
        assert_eq!(claim(&store, &call("anna", "k1", 610)).await, None);
        assert_eq!(claim(&store, &call("anna", "k2", 60)).await, None, "a right lease is kept");
    }

    async fn a_call_that_committed_something_never_runs_again_and_names_its_objects(db: &TestDatabase) {
        insert_checkout(db, &[]).await;
        let store = store(db);
        let first = call("anna", "k1", 0);
        claim(&store, &first).await;
        let keyed = store.for_call(first.clone());
        write(keyed.as_ref()).await.expect("commits");
        assert_eq!(claim(&store, &call("anna", "k1", 1)).await, stored(0, CallState::Running));
        assert_eq!(claim(&store, &call("anna", "k1", 60)).await, fenced(&[]), "even after its lease");
        // A later unit of work of the same call creates the objects; the first kind counts.
        let mut unit = keyed.begin().await.expect("begins");
        unit.intents().upsert(&intent("pi_new")).await.expect("inserts");
        unit.sessions().insert(&session("cs_new1")).await.expect("inserts");
        unit.sessions().insert(&session("cs_new2")).await.expect("inserts");
        unit.commit().await.expect("commits");
        let mut unit = keyed.begin().await.expect("begins");
        unit.sessions().insert(&session("cs_new3")).await.expect("inserts");
        unit.commit().await.expect("commits");
        let mut unit = begin(db).await;
        assert!(!unit.idempotency().free(&first, at(2)).await.expect("frees"), "only its lease ends");
        unit.commit().await.expect("commits");
        assert_eq!(claim(&store, &call("anna", "k1", 2)).await, fenced(&["cs_new1", "cs_new2"]));
    }

    async fn a_unit_of_work_that_is_not_committed_writes_no_fence(db: &TestDatabase) {
        let store = store(db);
        let first = call("anna", "k1", 0);
        claim(&store, &first).await;
        let keyed = store.for_call(first.clone());
        let mut unit = keyed.begin().await.expect("begins");
        unit.browser_sessions().insert_owner_link(&[2; 32], at(0)).await.expect("inserts");
        unit.rollback().await.expect("rolls back");
        keyed.begin().await.expect("begins").commit().await.expect("an empty unit of work commits");
        assert_eq!(claim(&store, &call("anna", "k1", 60)).await, None);
    }

    async fn a_call_whose_key_another_call_has_claimed_can_commit_nothing(db: &TestDatabase) {
        let store = store(db);
        let (slow, next) = (call("anna", "k1", 0), call("anna", "k1", 60));
        claim(&store, &slow).await;
        assert_eq!(claim(&store, &next).await, None);
        assert!(matches!(write(store.for_call(slow).as_ref()).await, Err(StorageError::Conflict)));
        write(store.for_call(next).as_ref()).await.expect("commits");
    }

    async fn a_unit_of_work_commits_together_with_its_fence_or_not_at_all(db: &TestDatabase) {
        let store = store(db);
        let first = call("anna", "k1", 0);
        claim(&store, &first).await;
        let keyed = store.for_call(first.clone());
        let mut unit = begin(db).await;
        unit.idempotency().keep(&first, 200, "{}").await.expect("keeps");
        unit.commit().await.expect("commits");
        assert!(matches!(write(keyed.as_ref()).await, Err(StorageError::Conflict)), "the call was answered");
        let mut unit = begin(db).await;
        unit.browser_sessions().insert_owner_link(&[1; 32], at(0)).await.expect("the refused unit of work wrote nothing");
    }

    async fn of_concurrent_calls_with_one_key_one_runs(db: &TestDatabase) {
        let claimed = all_at_once(db, 10, |db, _| async move { claim(&store(&db), &call("anna", "k1", 0)).await.is_none() });
        assert_eq!(claimed.await.into_iter().filter(|won| *won).count(), 1);
    }

    async fn a_stored_response_is_encrypted_for_its_caller_and_key(db: &TestDatabase) {
        let mut unit = begin(db).await;
        let mut keys = unit.idempotency();
        for key in ["k1", "k2"] {
            let call = call("anna", key, 0);
            keys.claim(&call, "first", lease(&call)).await.expect("claims");
            keys.keep(&call, 200, "pi_1_secret_x of anna@shop.example").await.expect("keeps");
        }
        drop(keys);
        unit.commit().await.expect("commits");
        let mut connection = db.begin().await.expect("begins");
        for row in connection.query("SELECT body FROM idempotency_keys").all().await.expect("reads") {
            let body: Vec<u8> = row.get("body").expect("bytes");
            assert!(!body.windows(6).any(|window| window == b"secret" || window == b"@shop."), "it can be read");
        }
        let swap = "UPDATE idempotency_keys SET body = (SELECT body FROM idempotency_keys WHERE key = 'k2') WHERE key = 'k1'";
        connection.query(swap).execute().await.expect("writes");
        connection.commit().await.expect("commits");
        let mut unit = begin(db).await;
        let found = unit.idempotency().claim(&call("anna", "k1", 1), "first", at(61)).await;
        assert!(found.is_err(), "one answer cannot be put in the place of another");
    }

    async fn old_keys_are_pruned_in_batches(db: &TestDatabase) {
        let mut unit = begin(db).await;
        let mut keys = unit.idempotency();
        for (key, seconds) in [("k1", 0), ("k2", 1), ("k3", 2)] {
            let call = call("anna", key, seconds);
            keys.claim(&call, "first", lease(&call)).await.expect("claims");
        }
        assert_eq!(keys.prune(at(2), 1).await.expect("prunes"), 1);
        assert_eq!(keys.prune(at(2), 9).await.expect("prunes"), 1);
        assert_eq!(keys.claim(&call("anna", "k3", 3), "first", at(63)).await.expect("claims"), stored(2, CallState::Running));
    }
}
