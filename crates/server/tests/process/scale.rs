//! Two processes on one PostgreSQL and one Redis share the work, and a flushed Redis loses none of it (invariant 6).

use crate::audit::{audit, emails_in, receipts, report};
use crate::buyer::{Buyer, End, GOOD, Plan};
use crate::crash::links;
use crate::drain::drain;
use crate::souk::{Settings, Souk};
use crate::store_client::StoreClient;
use souk_adapters::persistence::Database;
use souk_adapters::testing::{TestDatabase, required};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

const PURCHASES: &str = "SOUK_SCALE_PURCHASES";
/// Number of concurrent purchases.
const BUYERS: usize = 8;
/// Maximum time of one purchase, including retries.
const DEADLINE: Duration = Duration::from_secs(60);
/// The log message of a process for each completed job.
const JOB_DONE: &str = "a job is done";

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn two_processes_share_the_purchases_and_a_flushed_redis_loses_none() {
    let wanted: usize = std::env::var(PURCHASES).map_or(40, |text| text.parse().expect("SOUK_SCALE_PURCHASES is a number"));
    let redis = required("TEST_REDIS", "a Redis server");
    let begun = Instant::now();
    let folder = tempfile::tempdir().expect("a temporary folder");
    let database = TestDatabase::postgres().await;
    let ports = [free_port(), free_port()];
    let settings = ports.map(|port| Settings {
        data: folder.path().to_owned(),
        database: Some(database.address().to_owned()),
        redis: Some(redis.clone()),
        listen: format!("127.0.0.1:{port}"),
        options: vec![format!("--public-url=http://127.0.0.1:{}", ports[0]), format!("--secret-key={}", "5a".repeat(32))],
        log: format!("souk-{port}.log"),
    });
    // Both start at once on an empty database, and one of them loads the demo store.
    let (first, second) = tokio::join!(settings[0].start(), settings[1].start());
    let client = Arc::new(StoreClient::new());
    client.move_to(vec![first.address.clone(), second.address.clone()]);

    let done = Arc::new(AtomicUsize::new(0));
    let started = Arc::new(AtomicUsize::new(0));
    let buyers = (0..BUYERS).map(|number| {
        let (client, started, done) = (Arc::clone(&client), Arc::clone(&started), Arc::clone(&done));
        tokio::spawn(async move { shop(client, number, wanted, &started, &done).await })
    });
    let buyers: Vec<_> = buyers.collect();
    while done.load(Ordering::Relaxed) < wanted / 2 {
        assert!(begun.elapsed() < DEADLINE * 10, "half of the purchases took too long; the log ends:\n{}", first.log());
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    flush(&redis).await;
    let mut bought = Vec::new();
    for buyer in buyers {
        bought.extend(buyer.await.expect("a visitor's own code does not fail"));
    }
    let lasted = begun.elapsed();

    let left = drain(&database).await;
    let mut counts = audit(&client, &database).await;
    counts.push(receipts(&database, &emails_in(&folder.path().join("mail"))).await);
    let complete = bought.iter().filter(|end| matches!(end, End::Complete(_))).count();
    let jobs = [jobs(&first), jobs(&second)];
    let title = format!(
        "two processes: {complete} of {wanted} purchases complete in {} s, Redis flushed after {}; jobs done by each: {jobs:?}",
        lasted.as_secs(),
        wanted / 2
    );
    let wrong = report(&title, &counts);
    assert_eq!(wrong, "", "the log ends:\n{}\n{}", first.log(), second.log());
    assert_eq!(complete, wanted, "purchases were lost: {bought:?}");
    assert!(left.is_empty(), "after the drain there were {left:?}");
    assert!(jobs.iter().all(|jobs| *jobs > 0), "one process did all the work: {jobs:?}");
    let failures = client.failures.lock().expect("no panic").clone();
    assert!(failures.is_empty(), "the store answered 500: {failures:?}");
    Database::clone(&database).close().await;
    first.kill().await;
    second.kill().await;
}

/// Buys until all tasks together have started `wanted` purchases. Each is by a new visitor, so that none counts as a repeated start.
async fn shop(client: Arc<StoreClient>, number: usize, wanted: usize, started: &AtomicUsize, done: &AtomicUsize) -> Vec<End> {
    let mut ends = Vec::new();
    let mut links = links(&client).await;
    // Skip products with limited stock, because they would sell out.
    links.truncate(7);
    loop {
        let turn = started.fetch_add(1, Ordering::Relaxed);
        if turn >= wanted {
            return ends;
        }
        let buyer = Buyer::arrive(Arc::clone(&client), 0x5000 + turn as u64).await;
        let plan = if (turn + number).is_multiple_of(2) { Plan::Wallet } else { Plan::Card(GOOD) };
        let link = &links[turn % links.len()];
        ends.push(tokio::time::timeout(DEADLINE, buyer.buy(link, plan)).await.unwrap_or(End::Left));
        done.fetch_add(1, Ordering::Relaxed);
    }
}

fn jobs(souk: &Souk) -> usize {
    souk.whole_log().lines().filter(|line| line.contains(JOB_DONE)).count()
}

/// A port that was just free.
pub fn free_port() -> u16 {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").expect("a port");
    listener.local_addr().expect("an address").port()
}

/// Deletes all data of Redis.
pub async fn flush(redis: &str) {
    let address = redis.trim_start_matches("redis://").trim_end_matches('/');
    let mut connection = TcpStream::connect(address).await.expect("connects to Redis");
    connection.write_all(b"FLUSHALL\r\n").await.expect("queries");
    let mut answer = [0; 5];
    connection.read_exact(&mut answer).await.expect("answers");
    assert_eq!(&answer, b"+OK\r\n");
}
