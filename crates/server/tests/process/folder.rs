//! The start of a process: what it refuses, what it says, and what it leaves in the data folder.

use crate::souk::Settings;
use souk_adapters::backup::inspect;
use souk_adapters::persistence::{Database, known_schema, migrate_to};
use souk_adapters::testing::TestDatabase;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::Output;
use std::time::{Duration, Instant};

/// Maximum time of the process to end after SIGTERM.
const SHUTDOWN_TIMEOUT: Duration = Duration::from_secs(10);
/// A value that no message may contain.
const SECRET: &str = "hunter2hunter2";

async fn run(settings: &Settings, words: &[&str]) -> Output {
    settings.command(words).output().await.expect("souk runs")
}

/// The message of a command that must fail.
async fn refused(settings: &Settings, words: &[&str]) -> String {
    let output = run(settings, words).await;
    let message = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(!output.status.success(), "souk {words:?} was not refused");
    message
}

async fn accepted(settings: &Settings, words: &[&str]) {
    let output = run(settings, words).await;
    assert!(output.status.success(), "souk {words:?}: {}", String::from_utf8_lossy(&output.stderr));
}

#[tokio::test]
async fn messages_name_host_and_path_and_never_a_secret() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let settings = Settings::sqlite(folder.path());
    let database = format!("postgres://shop:{SECRET}@127.0.0.1:1/shop");
    let redis = format!("redis://:{SECRET}@127.0.0.1:1");
    let cases = [
        ("SOUK_SECRET_KEY", SECRET.to_owned(), "64 hex digits"),
        ("DATABASE_URL", format!("mysql://shop:{SECRET}@db.example/shop"), "postgres://user@host/name"),
        ("DATABASE_URL", format!("postgres://shop:{SECRET}@db.example:port/shop"), "postgres://user@host/name"),
        ("DATABASE_URL", database, "postgres://127.0.0.1:1/shop"),
        ("REDIS_URL", format!("http://{SECRET}"), "redis://host:6379"),
        ("REDIS_URL", redis, "redis://127.0.0.1:1"),
        ("SMTP_URL", format!("mailto:{SECRET}"), "smtps://"),
        ("SOUK_METRICS_TOKEN", format!("{SECRET} {SECRET}"), "without spaces"),
        ("SOUK_LOG", "souk=loud".to_owned(), "SOUK_LOG: expected levels"),
    ];
    for (variable, value, expected) in cases {
        let output = settings.command(&["serve", "--listen", "127.0.0.1:0"]).env(variable, &value).output().await.expect("runs");
        let message = format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
        assert!(!output.status.success(), "{variable}={value} was accepted");
        assert!(message.contains(expected), "{variable}={value}: {message}");
        assert!(!message.contains(SECRET), "{variable} is printed: {message}");
    }
}

#[tokio::test]
async fn a_secret_is_read_from_the_file_that_a_variable_names() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let settings = Settings::sqlite(folder.path().join("data"));
    let file = folder.path().join("key");
    std::fs::write(&file, format!("{}\n", "5a".repeat(32))).expect("writes");
    let output = settings.command(&["migrate"]).env("SOUK_SECRET_KEY_FILE", &file).output().await.expect("runs");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    assert!(!folder.path().join("data/secret.key").exists(), "a second key was created");
}

#[tokio::test]
async fn a_folder_of_a_store_refuses_to_start_without_its_database() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let settings = Settings::sqlite(folder.path());
    accepted(&settings, &["migrate"]).await;
    accepted(&settings, &["migrate"]).await;
    for file in ["souk.db", "souk.db-wal", "souk.db-shm"] {
        if let Err(error) = std::fs::remove_file(folder.path().join(file)) {
            assert_eq!(error.kind(), std::io::ErrorKind::NotFound, "{file} is removed, or was missing");
        }
    }
    std::fs::remove_file(folder.path().join("secret.key")).expect("removes the key");
    for words in [vec!["serve", "--listen", "127.0.0.1:0"], vec!["migrate"], vec!["key", "list"]] {
        let message = refused(&settings, &words).await;
        assert!(message.contains("souk.db is missing or empty") && message.contains("--new"), "{message}");
        assert!(message.contains(&folder.path().display().to_string()), "{message}");
    }
    assert!(!folder.path().join("souk.db").exists(), "the refusal created a database");
    assert!(!folder.path().join("secret.key").exists(), "the refusal replaced the key");
    std::fs::write(folder.path().join("souk.db"), "").expect("writes");
    assert!(refused(&settings, &["migrate"]).await.contains("missing or empty"));
    accepted(&settings, &["migrate", "--new"]).await;
    accepted(&settings, &["migrate"]).await;
}

#[tokio::test]
async fn a_folder_of_a_store_refuses_an_empty_postgres_database() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let database = TestDatabase::postgres().await;
    let settings = Settings { database: Some(database.address().to_owned()), ..Settings::sqlite(folder.path()) };
    accepted(&settings, &["migrate"]).await;
    let mut connection = database.begin().await.expect("begins");
    connection.query("DROP TABLE _sqlx_migrations").execute().await.expect("drops");
    connection.commit().await.expect("commits");
    let message = refused(&settings, &["migrate"]).await;
    assert!(message.contains("missing or empty") && message.contains("postgres://"), "{message}");
}

#[tokio::test]
async fn a_lost_key_is_not_replaced() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let settings = Settings::sqlite(folder.path());
    accepted(&settings, &["migrate"]).await;
    let key = folder.path().join("secret.key");
    let kept = std::fs::read(&key).expect("reads");
    std::fs::remove_file(&key).expect("removes the key");
    for words in [["migrate"].as_slice(), &["migrate", "--new"]] {
        let message = refused(&settings, words).await;
        assert!(message.contains("secret.key is missing"), "{message}");
        assert!(!key.exists(), "{words:?} replaced the key");
    }
    std::fs::write(&key, kept).expect("writes");
    accepted(&settings, &["migrate"]).await;
}

#[tokio::test]
async fn a_newer_schema_is_refused() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let settings = Settings::sqlite(folder.path());
    accepted(&settings, &["migrate"]).await;
    let database = Database::open_file(&folder.path().join("souk.db")).await.expect("opens");
    let mut connection = database.begin().await.expect("begins");
    let insert = "INSERT INTO _sqlx_migrations (version, description, success, checksum, execution_time)
                  VALUES (9999, 'of tomorrow', TRUE, x'00', 0)";
    connection.query(insert).execute().await.expect("inserts");
    connection.commit().await.expect("commits");
    database.close().await;
    for words in [["migrate"].as_slice(), &["verify"], &["key", "list"]] {
        let message = refused(&settings, words).await;
        assert!(message.contains("newer version of Souk") && message.contains("9999"), "{message}");
    }
}

#[tokio::test]
async fn a_migration_of_an_existing_store_is_preceded_by_a_backup() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let settings = Settings::sqlite(folder.path());
    let earlier = known_schema() - 1;
    let database = Database::open_file(&folder.path().join("souk.db")).await.expect("opens");
    migrate_to(&database, earlier).await.expect("migrates");
    database.close().await;
    std::fs::write(folder.path().join("secret.key"), "5a".repeat(32)).expect("writes");
    accepted(&settings, &["migrate"]).await;
    let backups = || std::fs::read_dir(folder.path().join("backups")).expect("lists").flatten().collect::<Vec<_>>();
    let [backup] = backups().try_into().expect("one backup");
    assert_eq!(backup.metadata().expect("reads").permissions().mode() & 0o777, 0o600);
    let inspected = inspect(&backup.path(), None).await.expect("a complete backup");
    assert_eq!((inspected.manifest.schema, inspected.key), (earlier, "5a".repeat(32)));
    // Nothing is left to migrate, so nothing is backed up.
    accepted(&settings, &["migrate"]).await;
    assert_eq!(backups().len(), 1);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn one_process_serves_a_sqlite_database_whatever_its_data_folder() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let (database, link) = (folder.path().join("shop.db"), folder.path().join("link.db"));
    let at = |data: &str, file: &Path| Settings {
        database: Some(format!("sqlite://{}", file.display())),
        ..Settings::sqlite(folder.path().join(data))
    };
    let souk = at("one", &database).start().await;
    std::os::unix::fs::symlink(&database, &link).expect("links");
    for (words, message) in [
        (["serve", "--listen", "127.0.0.1:0"].as_slice(), "another souk serve or souk work uses the database"),
        (["work", "--public-url", "http://127.0.0.1:1"].as_slice(), "another souk serve or souk work uses the database"),
        (["rotate-key"].as_slice(), "another souk command uses the database"),
        (["restore", "souk.age"].as_slice(), "another souk command uses the database"),
    ] {
        for file in [&database, &link] {
            let refused = refused(&at("two", file), words).await;
            assert!(refused.contains(message) && refused.contains("shop.db"), "{words:?}: {refused}");
        }
    }
    accepted(&at("one", &link), &["key", "list"]).await;
    souk.kill().await;
    at("one", &database).start().await.kill().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn one_process_serves_a_folder_and_commands_share_it() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let settings = Settings::sqlite(folder.path());
    let mut souk = settings.start().await;
    let path = folder.path().display().to_string();
    for words in [["serve", "--listen", "127.0.0.1:0"].as_slice(), &["work", "--public-url", "http://127.0.0.1:1"]] {
        let message = refused(&settings, words).await;
        assert!(message.contains("another souk serve or souk work uses the data folder") && message.contains(&path), "{message}");
    }
    accepted(&settings, &["key", "list"]).await;
    let message = refused(&settings, &["migrate", "--new"]).await;
    assert!(message.contains("another souk command uses the data folder"), "{message}");
    souk.terminate().await;
    assert!(souk.ended(SHUTDOWN_TIMEOUT).await.is_some());
    // A killed process leaves no lock.
    let again = settings.start().await;
    again.kill().await;
    settings.start().await.kill().await;
}

/// Every file below the folder, with its mode.
fn modes(folder: &Path, found: &mut Vec<(String, u32)>) {
    for entry in std::fs::read_dir(folder).expect("lists").flatten() {
        let metadata = entry.metadata().expect("reads");
        if metadata.is_dir() {
            modes(&entry.path(), found);
        } else {
            found.push((entry.file_name().to_string_lossy().into_owned(), metadata.permissions().mode() & 0o777));
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn files_of_the_data_folder_are_private_in_an_open_folder() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    std::fs::set_permissions(folder.path(), std::fs::Permissions::from_mode(0o777)).expect("opens the folder");
    let settings = Settings::sqlite(folder.path());
    accepted(&settings, &["migrate"]).await;
    // As an earlier version may have left it.
    std::fs::set_permissions(folder.path().join("souk.db"), std::fs::Permissions::from_mode(0o644)).expect("sets a mode");
    let souk = settings.start().await;
    let client = std::sync::Arc::new(crate::store_client::StoreClient::new());
    client.move_to(vec![souk.address.clone()]);
    let link = crate::crash::links(&client).await.remove(0);
    let buyer = crate::buyer::Buyer::arrive(client, 1).await;
    let bought = buyer.buy(&link, crate::buyer::Plan::Wallet).await;
    assert!(matches!(bought, crate::buyer::End::Complete(_)), "{bought:?}");
    let begun = Instant::now();
    let is_mail = |(name, _): &(String, u32)| name.ends_with(".eml") && !name.starts_with('.');
    let files = loop {
        let mut files = Vec::new();
        modes(folder.path(), &mut files);
        if files.iter().any(is_mail) {
            break files;
        }
        assert!(begun.elapsed() < Duration::from_secs(60), "no mail was written: {files:?}");
        tokio::time::sleep(Duration::from_millis(50)).await;
    };
    souk.kill().await;
    assert!(files.len() > 8, "{files:?}");
    // The test itself opened the log.
    let others: Vec<_> = files.iter().filter(|(name, mode)| *mode != 0o600 && name != "souk.log").collect();
    assert!(others.is_empty(), "{others:?}");
}
