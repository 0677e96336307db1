//! Each process of a store creates the sandbox's tables when it starts, while other processes use them.

use souk_adapters::persistence::Database;
use souk_adapters::testing::TestDatabase;
use souk_sandbox::store::SandboxDb;

const SCHEMA: [&str; 4] = [
    "CREATE TABLE IF NOT EXISTS first (n BIGINT NOT NULL)",
    "CREATE INDEX IF NOT EXISTS first_n ON first (n)",
    "CREATE TABLE IF NOT EXISTS second (n BIGINT NOT NULL)",
    "CREATE INDEX IF NOT EXISTS second_n ON second (n)",
];

/// Waits until a transaction waits for a lock.
async fn until_blocked(database: &Database) {
    let select = "SELECT count(*) AS n FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'";
    let mut connection = database.read().await.expect("reads");
    while connection.query(select).one().await.expect("counts").get::<u64>("n").expect("a number") == 0 {
        tokio::task::yield_now().await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_process_that_starts_does_not_deadlock_with_those_that_run() {
    let database = TestDatabase::postgres().await;
    let sandbox = SandboxDb::open_postgres(database.address()).await.expect("opens");
    sandbox.create_tables(&SCHEMA).await.expect("creates");
    let mut running = sandbox.begin().await.expect("begins");
    running.execute("INSERT INTO second (n) VALUES (1)", &[]).await.expect("writes");
    let starting = {
        let sandbox = sandbox.clone();
        tokio::spawn(async move { sandbox.create_tables(&SCHEMA).await })
    };
    until_blocked(&database).await;
    running.execute("INSERT INTO first (n) VALUES (1)", &[]).await.expect("does not wait for the other process");
    running.commit().await.expect("commits");
    starting.await.expect("no panic").expect("finds its tables");
}
