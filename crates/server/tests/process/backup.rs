//! Backups of a running store, and what is restored from them.

use crate::buyer::{Buyer, Plan};
use crate::crash::links;
use crate::souk::Settings;
use crate::store_client::StoreClient;
use souk_adapters::persistence::Database;
use souk_adapters::testing::TestDatabase;
use std::path::Path;
use std::process::Output;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

const PASSPHRASE: &str = "correct horse battery staple";

async fn run(settings: &Settings, words: &[&str]) -> Output {
    settings.command(words).env("SOUK_BACKUP_PASSPHRASE", PASSPHRASE).output().await.expect("souk runs")
}

/// The output of a command, which must succeed.
pub async fn printed(settings: &Settings, words: &[&str]) -> String {
    let output = run(settings, words).await;
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    assert!(output.status.success(), "souk {words:?}: {}{}", text(&output.stdout), text(&output.stderr));
    text(&output.stdout)
}

/// The message of a command that must fail.
async fn refused(settings: &Settings, words: &[&str]) -> String {
    let output = run(settings, words).await;
    assert!(!output.status.success(), "souk {words:?} was not refused");
    String::from_utf8_lossy(&output.stderr).into_owned()
}

fn text(path: &Path) -> &str {
    path.to_str().expect("text")
}

async fn count(database: &Database, sql: &'static str) -> i64 {
    database.read().await.expect("reads").query(sql).one().await.expect("reads").get("n").expect("a number")
}

/// Buys without a pause until `stop`.
pub async fn shop(client: Arc<StoreClient>, seed: u64, stop: Arc<AtomicBool>) {
    let buyer = Buyer::arrive(Arc::clone(&client), seed).await;
    let links = links(&client).await;
    for link in links.iter().cycle() {
        if stop.load(Ordering::Relaxed) {
            return;
        }
        let plan = Plan::any(buyer.random());
        // The end of the test interrupts a purchase.
        drop(tokio::time::timeout(Duration::from_secs(20), buyer.buy(link, plan)).await);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_backup_during_purchases_is_consistent_and_restored_into_both_databases() {
    let folder = tempfile::tempdir().expect("a folder");
    let original = Settings::sqlite(folder.path().join("original"));
    let souk = original.start().await;
    let client = Arc::new(StoreClient::new());
    client.move_to(vec![souk.address.clone()]);
    let stop = Arc::new(AtomicBool::new(false));
    let buyers: Vec<_> = (1..=3).map(|seed| tokio::spawn(shop(Arc::clone(&client), seed, Arc::clone(&stop)))).collect();
    let database = Database::open_file(&original.data.join("souk.db")).await.expect("opens");
    while count(&database, "SELECT COUNT(*) AS n FROM invoices WHERE status = 'paid'").await < 3 {
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    let archive = folder.path().join("souk.tar.gz.age");
    printed(&original, &["backup", "--output", text(&archive)]).await;
    stop.store(true, Ordering::Relaxed);
    for buyer in buyers {
        buyer.await.expect("a visitor's own code does not fail");
    }
    souk.kill().await;
    let key = std::fs::read(original.data.join("secret.key")).expect("a key");

    let postgres = TestDatabase::postgres_without_schema().await;
    let targets = [
        Settings::sqlite(folder.path().join("on_sqlite")),
        Settings { database: Some(postgres.address().to_owned()), ..Settings::sqlite(folder.path().join("on_postgres")) },
    ];
    for target in &targets {
        let said = printed(target, &["restore", text(&archive)]).await;
        assert!(said.contains("souk verify finds no breach"), "{said}");
        printed(target, &["verify"]).await;
        assert_eq!(std::fs::read(target.data.join("secret.key")).expect("a key"), key);
        let again = refused(target, &["restore", text(&archive)]).await;
        assert!(again.contains("belongs to a store") && again.contains(text(&target.data)), "{again}");
        let replaced = refused(target, &["restore", text(&archive), "--new"]).await;
        assert!(replaced.contains("is not empty"), "{replaced}");
        let souk = target.start_plain(&[]).await;
        let client = StoreClient::new();
        client.move_to(vec![souk.address.clone()]);
        assert!(!links(&client).await.is_empty(), "the restored store has no apps");
        souk.kill().await;
    }
    let restored = Database::open_file(&targets[0].data.join("souk.db")).await.expect("opens");
    assert!(count(&restored, "SELECT COUNT(*) AS n FROM invoices WHERE status = 'paid'").await >= 3);
}

#[tokio::test]
async fn a_backup_is_encrypted_unless_it_is_plain_and_refusals_name_no_secret() {
    let folder = tempfile::tempdir().expect("a folder");
    let settings = Settings::sqlite(folder.path().join("original"));
    let archive = folder.path().join("souk.age");
    let without = |words: &'static [&'static str]| settings.command(words);
    let unprotected = without(&["backup", "--output", "x"]).output().await.expect("runs");
    assert!(String::from_utf8_lossy(&unprotected.stderr).contains("--passphrase-file"));
    let empty = refused(&settings, &["backup", "--output", text(&archive)]).await;
    assert!(empty.contains("does not exist"), "{empty}");
    printed(&settings, &["migrate"]).await;
    printed(&settings, &["backup", "--output", text(&archive)]).await;
    let again = refused(&settings, &["backup", "--output", text(&archive)]).await;
    assert!(again.contains("exists already"), "{again}");

    let file = folder.path().join("passphrase");
    std::fs::write(&file, "another passphrase\n").expect("writes");
    let target = Settings::sqlite(folder.path().join("restored"));
    let output = target.command(&["restore", text(&archive), "--passphrase-file", text(&file)]).output().await.expect("runs");
    let message = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(!output.status.success() && message.contains("the passphrase does not open"), "{message}");
    assert!(!message.contains("another passphrase"), "{message}");
    assert!(!target.data.join("souk.db").exists() && !target.data.join("secret.key").exists(), "a refused restore wrote something");

    let other = Settings::sqlite(folder.path().join("other"));
    printed(&other, &["migrate"]).await;
    std::fs::remove_file(other.data.join("souk.db")).expect("loses the database");
    let message = refused(&other, &["restore", text(&archive), "--new"]).await;
    assert!(message.contains("secret.key is another key than that of the backup"), "{message}");
    let plain = folder.path().join("souk.tar.gz");
    let output = settings.command(&["backup", "--plain", "--output", text(&plain)]).output().await.expect("runs");
    assert!(output.status.success() && String::from_utf8_lossy(&output.stdout).contains("The backup is not encrypted"));
    assert!(std::fs::read(&plain).expect("reads").starts_with(&[0x1f, 0x8b]));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_killed_backup_leaves_no_archive_and_a_killed_restore_can_be_repeated() {
    let folder = tempfile::tempdir().expect("a folder");
    let original = Settings::sqlite(folder.path().join("original"));
    original.start().await.kill().await;
    let archive = folder.path().join("souk.tar.gz");
    let mut is_complete = false;
    for delay in (1_u64..).map(|step| step * 15) {
        let mut backup = original.command(&["backup", "--plain", "--output", text(&archive)]).spawn().expect("starts");
        tokio::time::sleep(Duration::from_millis(delay)).await;
        backup.kill().await.expect("kills");
        if archive.exists() {
            is_complete = true;
            break;
        }
    }
    assert!(is_complete);
    let mut kills = 0;
    let target = Settings::sqlite(folder.path().join("restored"));
    for delay in (0_u64..).map(|step| step * 15) {
        let mut restore = target.command(&["restore", text(&archive)]).spawn().expect("starts");
        tokio::time::sleep(Duration::from_millis(delay)).await;
        let ended = restore.try_wait().expect("waits");
        restore.kill().await.expect("kills");
        match ended {
            Some(status) => {
                assert!(status.success(), "a repeated restore failed");
                break;
            }
            None => kills += 1,
        }
        // A restore that was killed after its commit is complete, and is not repeated.
        if target.data.join("store.mark").exists() {
            break;
        }
    }
    assert!(kills > 0, "no restore was killed");
    printed(&target, &["verify"]).await;
    let modes = std::fs::read_dir(&target.data).expect("lists").flatten().filter(|entry| entry.path().is_file());
    assert!(modes.count() > 1);
}
