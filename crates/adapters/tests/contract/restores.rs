//! Restores of a store from backups, whose times can be those of different clocks.

use crate::checkout_fixtures::{at, begin};
use souk_adapters::on_both;
use souk_adapters::persistence::Database;
use souk_domain::operation::Restore;

async fn insert(db: &Database, restore: Restore) -> Restore {
    let mut unit = begin(db).await;
    let stored = unit.restores().insert(restore).await.expect("inserts");
    unit.commit().await.expect("commits");
    stored
}

async fn state_stopped(db: &Database, now: i64) -> bool {
    let mut unit = begin(db).await;
    let is_recorded = unit.restores().state_stopped("an owner", at(now)).await.expect("records");
    unit.commit().await.expect("commits");
    is_recorded
}

async fn record(db: &Database, restore: &Restore, began: i64, failure: Option<&str>) {
    let mut unit = begin(db).await;
    unit.restores().record_import(restore, at(began), failure).await.expect("records");
    unit.commit().await.expect("commits");
}

async fn latest(db: &Database) -> Restore {
    begin(db).await.restores().latest().await.expect("reads").expect("was restored")
}

on_both! {
    async fn imports_before_the_original_was_stopped_do_not_count_whatever_the_clocks_say(db: &TestDatabase) {
        let restored = insert(db, Restore::of(at(600), at(1_200))).await;
        // The clock of the process that imports is ahead.
        record(db, &restored, 9_000, None).await;
        assert_eq!(latest(db).await.imported_at, Some(at(9_000)));
        assert!(state_stopped(db, 1_300).await && !state_stopped(db, 1_301).await);
        let stopped = latest(db).await;
        assert!(stopped.needs_import() && !stopped.is_ready());
        // An import that began before the statement ends after it.
        record(db, &restored, 9_001, None).await;
        record(db, &restored, 9_002, Some("no answer")).await;
        assert_eq!(latest(db).await, stopped);
        record(db, &stopped, 1_310, Some("no answer")).await;
        assert!(latest(db).await.import_failure.is_some_and(|failure| failure.at == at(1_310)));
        record(db, &stopped, 1_250, None).await;
        let imported = latest(db).await;
        assert!(imported.is_ready() && imported.import_failure.is_none());
    }

    async fn the_last_restore_counts_also_if_an_earlier_one_has_a_later_time(db: &TestDatabase) {
        let first = insert(db, Restore { released_at: Some(at(9_100)), ..Restore::of(at(600), at(9_000)) }).await;
        assert_eq!(first.restored_at, at(9_000));
        let second = insert(db, Restore::of(at(1_000), at(1_200))).await;
        assert!(second.restored_at > first.restored_at && second.is_held());
        assert_eq!(latest(db).await, second);
    }
}
