//! Every row of every table reaches the other database as it was.

use super::rows::{BUNDLE, Schema};
use super::{back_up, back_up_with, passphrase, restore, store_bundle};
use souk_adapters::backup::{BackupError, EXCLUDED, MissingFiles, inspect};
use souk_adapters::testing::TestDatabase;
use std::collections::BTreeSet;
use std::os::unix::fs::PermissionsExt;

async fn copies_every_table(source: TestDatabase, target: TestDatabase, protection: Option<&str>) {
    let (schema, folder) = (Schema::read().await, tempfile::tempdir().expect("a folder"));
    schema.fill(&source).await;
    let archive = folder.path().join("souk.backup");
    let incomplete = back_up(&source, &archive, None).await.expect_err("a bundle is missing");
    assert!(matches!(&incomplete, BackupError::MissingFiles { count: 1, .. }), "{incomplete}");
    assert!(!archive.exists(), "an incomplete backup was left");
    let without = back_up_with(&source, &folder.path().join("without"), None, MissingFiles::Omit).await.expect("backs up the rest");
    assert_eq!((without.files, without.missing), (0, 1));
    let hash = store_bundle(&archive);
    // A file that was not completed.
    std::fs::write(folder.path().join("files").join(&hash[..2]).join(format!(".{hash}.1.0")), "a bun").expect("writes");

    let summary = back_up(&source, &archive, protection.and_then(passphrase)).await.expect("backs up");
    assert_eq!(summary.files, 1);
    assert_eq!(std::fs::metadata(&archive).expect("an archive").permissions().mode() & 0o777, 0o600);
    let inspected = inspect(&archive, protection.and_then(passphrase)).await.expect("a backup");
    assert_eq!((inspected.key.as_str(), inspected.manifest.store.as_str()), (super::KEY, "zNKstore"));

    let restored = folder.path().join("restored");
    restore(&inspected, &target, &restored).await.expect("restores");
    assert_eq!(std::fs::read(restored.join(&hash[..2]).join(&hash)).expect("the file"), BUNDLE);
    assert_eq!(std::fs::read_dir(restored.join(&hash[..2])).expect("lists").count(), 1);

    // A table that was added to the schema is copied or has a reason.
    let excluded: BTreeSet<_> = EXCLUDED.iter().map(|(table, _)| (*table).to_owned()).collect();
    let copied: BTreeSet<_> = inspected.manifest.database.keys().cloned().collect();
    assert_eq!(copied, schema.table_names().difference(&excluded).cloned().collect());
    let (before, after) = (schema.rows(&source).await, schema.rows(&target).await);
    for (table, rows) in &before {
        assert!(!rows.is_empty(), "the test has no rows of {table}");
        match excluded.contains(table) {
            true => assert!(after[table].is_empty(), "{table} was copied"),
            false => assert_eq!(&after[table], rows, "{table}"),
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_row_of_every_table_is_restored_from_sqlite_to_sqlite() {
    copies_every_table(TestDatabase::sqlite().await, TestDatabase::sqlite().await, Some("correct horse battery")).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_row_of_every_table_is_restored_from_sqlite_to_postgres() {
    copies_every_table(TestDatabase::sqlite().await, TestDatabase::postgres().await, None).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_row_of_every_table_is_restored_from_postgres_to_sqlite() {
    copies_every_table(TestDatabase::postgres().await, TestDatabase::sqlite().await, None).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_row_of_every_table_is_restored_from_postgres_to_postgres() {
    copies_every_table(TestDatabase::postgres().await, TestDatabase::postgres().await, None).await;
}
