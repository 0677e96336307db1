//! Idempotency keys: the first call runs, and repeated calls get its response.

use crate::checkout_fixtures::{all_at_once, at, begin};
use souk_adapters::on_both;
use souk_domain::storage::StoredResponse;

fn stored_response(answer: Option<(u16, &str)>) -> Option<StoredResponse> {
    Some(StoredResponse { fingerprint: "first".to_owned(), answer: answer.map(|(status, body)| (status, body.to_owned())) })
}

on_both! {
    async fn a_taken_key_returns_its_fingerprint_and_later_the_first_response(db: &TestDatabase) {
        let mut unit = begin(db).await;
        let mut keys = unit.idempotency();
        assert_eq!(keys.take("anna", "k1", "first", at(0), at(-60)).await.expect("takes"), None);
        assert_eq!(keys.take("anna", "k1", "second", at(1), at(-59)).await.expect("takes"), stored_response(None));
        assert_eq!(keys.take("bob", "k1", "second", at(1), at(-59)).await.expect("takes"), None);
        keys.keep("anna", "k1", 201, "{}").await.expect("keeps");
        keys.keep("anna", "k1", 500, "later").await.expect("keeps");
        assert_eq!(keys.take("anna", "k1", "first", at(999), at(998)).await.expect("takes"), stored_response(Some((201, "{}"))));
        keys.free("anna", "k1").await.expect("frees");
        assert_eq!(keys.take("anna", "k1", "first", at(999), at(998)).await.expect("takes"), stored_response(Some((201, "{}"))));
    }

    async fn a_key_is_free_again_if_its_call_failed_or_never_completed(db: &TestDatabase) {
        let mut unit = begin(db).await;
        let mut keys = unit.idempotency();
        keys.take("anna", "k1", "first", at(0), at(-60)).await.expect("takes");
        assert_eq!(keys.take("anna", "k1", "second", at(60), at(0)).await.expect("takes"), stored_response(None));
        assert_eq!(keys.take("anna", "k1", "second", at(61), at(1)).await.expect("takes"), None);
        keys.free("anna", "k1").await.expect("frees");
        assert_eq!(keys.take("anna", "k1", "third", at(62), at(2)).await.expect("takes"), None);
    }

    async fn of_concurrent_calls_with_one_key_one_runs(db: &TestDatabase) {
        let taken = all_at_once(db, 10, |db, _| async move {
            let mut unit = begin(&db).await;
            let taken = unit.idempotency().take("anna", "k1", "first", at(0), at(-60)).await.expect("takes");
            unit.commit().await.expect("commits");
            taken.is_none()
        });
        assert_eq!(taken.await.into_iter().filter(|won| *won).count(), 1);
    }

    async fn a_stored_response_is_encrypted_for_its_caller_and_key(db: &TestDatabase) {
        let mut unit = begin(db).await;
        let mut keys = unit.idempotency();
        for key in ["k1", "k2"] {
            keys.take("anna", key, "first", at(0), at(-60)).await.expect("takes");
            keys.keep("anna", key, 200, "pi_1_secret_x of anna@shop.example").await.expect("keeps");
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
        let found = unit.idempotency().take("anna", "k1", "first", at(1), at(0)).await;
        assert!(found.is_err(), "one answer cannot be put in the place of another");
    }

    async fn old_keys_are_pruned_in_batches(db: &TestDatabase) {
        let mut unit = begin(db).await;
        let mut keys = unit.idempotency();
        for (key, seconds) in [("k1", 0), ("k2", 1), ("k3", 2)] {
            keys.take("anna", key, "first", at(seconds), at(-60)).await.expect("takes");
        }
        assert_eq!(keys.prune(at(2), 1).await.expect("prunes"), 1);
        assert_eq!(keys.prune(at(2), 9).await.expect("prunes"), 1);
        assert_eq!(keys.take("anna", "k3", "first", at(3), at(-60)).await.expect("takes"), stored_response(None));
    }
}
