//! A short run of random histories on each database; `souk verify --history 1000 --kills 5` is the long one.

use crate::souk::Settings;
use souk_adapters::testing::required;

async fn run(database: Option<String>) {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let settings = Settings { database, ..Settings::sqlite(folder.path()) };
    let words = ["verify", "--history", "12", "--kills", "2", "--at-once", "12", "--lifetime", "3000", "--wipe-queue"];
    let output = settings.command(&words).output().await.expect("souk verify runs");
    let (output_text, error_text) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert!(output.status.success(), "{output_text}\n{error_text}");
    assert!(output_text.contains("0 of them doubled, 0 breaches"), "{output_text}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn histories_that_are_killed_leave_no_breach_on_sqlite() {
    run(None).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn histories_that_are_killed_leave_no_breach_on_postgres() {
    run(Some(required("TEST_PG", "a PostgreSQL server"))).await;
}
