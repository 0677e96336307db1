//! All subscriptions are due at once: two workers on one PostgreSQL and one Redis renew each of them exactly once (invariants 1
//! and 2). `make storm` uses 100,000 subscriptions.

use crate::plans::{Payer, insert_subscriptions};
use crate::souk::Settings;
use souk_adapters::persistence::Database;
use souk_adapters::testing::{RunningClock, TestDatabase, required};
use souk_domain::shared::{Clock, Timestamp};
use std::process::Stdio;
use std::time::{Duration, Instant};
use tokio::process::Child;

const SUBSCRIPTIONS: &str = "SOUK_STORM";
/// Number of wallets among which the subscriptions are spread, because the ledger processes transactions of an account one by one.
const PAYERS: u32 = 40;
/// Minimum number of renewals per second of a worker in a test build.
const MIN_RATE: u64 = 5;
const POLL: Duration = Duration::from_millis(500);
/// The log message of a worker for each completed job.
const JOB_DONE: &str = "a job is done";

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn two_workers_renew_each_subscription_exactly_once() {
    let wanted: u64 = std::env::var(SUBSCRIPTIONS).map_or(400, |text| text.parse().expect("SOUK_STORM is a number"));
    let redis = required("TEST_REDIS", "a Redis server");
    let folder = tempfile::tempdir().expect("a temporary folder");
    let database = TestDatabase::postgres().await;
    let secret = "5a".repeat(32);
    let settings = Settings {
        data: folder.path().to_owned(),
        database: Some(database.address().to_owned()),
        redis: Some(redis),
        listen: "127.0.0.1:0".to_owned(),
        options: vec!["--no-workers".to_owned(), format!("--secret-key={secret}")],
        log: "server.log".to_owned(),
    };
    // This process runs the networks and no workers.
    let server = settings.start().await;
    let mut payers = Vec::new();
    for number in 0..PAYERS {
        payers.push(Payer::arrive(&server.address, number).await);
    }
    let now = RunningClock.now();
    insert_subscriptions(&database, &payers, wanted, now).await;

    let begun = Instant::now();
    let workers = [1, 2].map(|number| worker(&settings, &server.address, &secret, number));
    let limit = Duration::from_secs(60 + wanted / MIN_RATE);
    let mut written = None;
    loop {
        let (due, open) = (due(&database, now).await, open(&database).await);
        if due == 0 {
            written.get_or_insert_with(|| begun.elapsed());
            if open == 0 {
                break;
            }
            check_sooner(&database).await;
        }
        assert!(begun.elapsed() < limit, "{due} are due and {open} attempts are open after {} s", begun.elapsed().as_secs());
        tokio::time::sleep(POLL).await;
    }
    let (written, charged) = (written.expect("set when nothing was due").as_secs_f64(), begun.elapsed().as_secs_f64());
    let jobs = [1, 2].map(|number| {
        let log = std::fs::read_to_string(folder.path().join(format!("work-{number}.log"))).unwrap_or_default();
        log.lines().filter(|line| line.contains(JOB_DONE)).count()
    });
    println!(
        "storm: {wanted} subscriptions due at once; invoices written in {written:.1} s, charged in {charged:.1} s; jobs of each: {jobs:?}"
    );

    let count = |sql: &'static str| count(&database, sql);
    assert_eq!(count("SELECT count(*) AS n FROM invoices WHERE reason = 'subscription_cycle' AND status = 'paid'").await, wanted);
    assert_eq!(count("SELECT count(DISTINCT subscription_id) AS n FROM invoices").await, wanted);
    assert_eq!(count("SELECT count(*) AS n FROM attempts WHERE status = 'settled' AND purpose = 'payment'").await, wanted);
    assert_eq!(count("SELECT count(*) AS n FROM subscriptions WHERE period_index = 0 AND status = 'active'").await, wanted);
    let mut moved = 0;
    for payer in &payers {
        moved += payer.charges().await;
    }
    assert_eq!(moved, wanted, "the ledger recorded a different number of transfers");
    assert!(jobs.iter().all(|jobs| *jobs > 0), "one worker did all the work: {jobs:?}");
    let verdict = settings.command(&["verify"]).output().await.expect("souk verify runs");
    assert!(verdict.status.success(), "{}", String::from_utf8_lossy(&verdict.stdout));
    for mut worker in workers {
        worker.kill().await.expect("kills");
    }
    Database::clone(&database).close().await;
    server.kill().await;
}

fn worker(settings: &Settings, address: &url::Url, secret: &str, number: u32) -> Child {
    let log = std::fs::File::create(settings.data.join(format!("work-{number}.log"))).expect("a log");
    let options = [format!("--public-url={address}"), format!("--secret-key={secret}")];
    settings.command(&["work"]).args(options).stdout(Stdio::null()).stderr(log).spawn().expect("a worker starts")
}

/// Schedules pending checks earlier, because the test need not wait minutes for the retry of a timed-out request.
pub async fn check_sooner(database: &Database) {
    let now = RunningClock.now();
    let mut connection = database.begin().await.expect("begins");
    let update =
        "UPDATE attempts SET check_at = $1 WHERE status IN ('open', 'unknown') AND check_at > $1 AND checks > 0 AND updated_at < $2";
    connection.query(update).bind(now).bind(now.minus(Duration::from_secs(2))).execute().await.expect("asks sooner");
    connection.commit().await.expect("commits");
}

async fn due(database: &Database, now: Timestamp) -> u64 {
    let sql = "SELECT count(*) AS n FROM subscriptions WHERE due_at <= $1";
    let row = database.read().await.expect("reads").query(sql).bind(now).one().await;
    row.expect("reads").get("n").expect("a number")
}

async fn open(database: &Database) -> u64 {
    count(database, "SELECT count(*) AS n FROM attempts WHERE status IN ('open', 'unknown')").await
}

pub async fn count(database: &Database, sql: &'static str) -> u64 {
    database.read().await.expect("reads").query(sql).one().await.expect("reads").get("n").expect("a number")
}
