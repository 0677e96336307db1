//! A backup is taken while a store sells and renews, and restored after the original, and with it the networks, have moved on: nothing is
//! charged or numbered twice, and the restored store sells.

mod check;

use crate::backup::{printed, shop};
use crate::buyer::Plan;
use crate::crash::links;
use crate::drain::drain_submitted;
use crate::plans::{Payer, insert_subscriptions};
use crate::souk::Settings;
use crate::store_client::StoreClient;
pub use check::{Original, charges, numbers, paid, sandbox_of};
use check::{PAID, RENEWED, count, until};
use souk_adapters::persistence::Database;
use souk_adapters::testing::RunningClock;
use souk_domain::shared::Clock;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use tokio::task::JoinSet;

const PAYERS: u32 = 3;
const SUBSCRIPTIONS: u64 = 30;
/// The customers who buy while the backup is taken.
const SHOPPERS: u64 = 3;
const GOOD: &str = "4242424242424242";
/// Payments of orders before the backup is taken, and payments after it.
const ORDERS: u64 = 4;

/// Lets subscriptions become due one after another, so that renewals surround the backup.
async fn spread_due_times(database: &Database) {
    let later = ["anchor", "period_start", "period_end", "due_at"]
        .map(|column| format!("{column} = {column} + (CAST(substr(id, -8) AS INTEGER) - 10000000) * 600000"));
    let update = format!("UPDATE subscriptions SET {} WHERE id LIKE 'sub!_storm!_%' ESCAPE '!'", later.join(", "));
    let mut connection = database.begin().await.expect("begins");
    assert_ne!(connection.query(update.leak()).execute().await.expect("writes"), 0);
    connection.commit().await.expect("commits");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_store_restored_on_sqlite_after_the_networks_moved_on_charges_and_numbers_nothing_twice() {
    let folder = tempfile::tempdir().expect("a folder");
    original(folder.path()).await.check_restored_on_sqlite(&folder.path().join("restored")).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_store_restored_on_postgres_after_the_networks_moved_on_charges_and_numbers_nothing_twice() {
    let folder = tempfile::tempdir().expect("a folder");
    original(folder.path()).await.check_restored_on_postgres(&folder.path().join("restored")).await;
}

/// Sells and renews on SQLite, during which the backup is taken, and goes on.
async fn original(folder: &Path) -> Original {
    let original = Settings::sqlite(folder.join("original"));
    std::fs::create_dir_all(&original.data).expect("a folder");
    // The key that the test's customers grant their mandates to.
    std::fs::write(original.data.join("secret.key"), "5a".repeat(32)).expect("writes");
    let idle = Settings { options: vec!["--no-workers".to_owned()], ..original.clone() };
    let souk = idle.start().await;
    let mut payers = Vec::new();
    for number in 0..PAYERS {
        payers.push(Payer::arrive(&souk.address, number).await);
    }
    let books = Database::open_file(&original.data.join("souk.db")).await.expect("opens");
    insert_subscriptions(&books, &payers, SUBSCRIPTIONS, RunningClock.now()).await;
    spread_due_times(&books).await;
    souk.kill().await;

    // The backup is taken while the store sells and renews, and the original goes on.
    let souk = original.start().await;
    let client = Arc::new(StoreClient::new());
    client.move_to(vec![souk.address.clone()]);
    let links = links(&client).await;
    let closing = Arc::new(AtomicBool::default());
    let mut shoppers = JoinSet::new();
    for number in 1..=SHOPPERS {
        shoppers.spawn(shop(Arc::clone(&client), number, Arc::clone(&closing)));
    }
    until("orders before the backup", &souk, &books, PAID, ORDERS).await;
    until("renewals before the backup", &souk, &books, RENEWED, 1).await;
    let archive = folder.join("souk.age");
    printed(&original, &["backup", "--output", archive.to_str().expect("text")]).await;
    let orders = count(&books, PAID).await;
    assert!(count(&books, RENEWED).await < SUBSCRIPTIONS, "everything was renewed before the backup");
    until("renewals after the backup", &souk, &books, RENEWED, SUBSCRIPTIONS).await;
    until("orders after the backup", &souk, &books, PAID, orders + ORDERS).await;
    closing.store(true, Ordering::Relaxed);
    shoppers.join_all().await;
    let left = drain_submitted(&books).await;
    assert!(left.is_empty(), "{left:?}");
    let charged = charges(&souk, PAYERS).await;
    assert_eq!(charged.iter().sum::<u64>(), SUBSCRIPTIONS);
    let (numbers, paid) = (numbers(&books).await, paid(&books).await);
    souk.kill().await;
    let networks = Database::open_file(&original.data.join("sandbox.db")).await.expect("opens");
    Original { archive, networks, renewals: SUBSCRIPTIONS, charged, numbers, paid, links, plans: vec![Plan::Wallet, Plan::Card(GOOD)] }
}
