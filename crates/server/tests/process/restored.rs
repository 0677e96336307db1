//! A backup is taken while a store sells and renews, and restored after the original, and with it the networks, have moved on: nothing is
//! charged or numbered twice, and the restored store sells.

use crate::backup::{printed, shop};
use crate::buyer::{Buyer, End, Plan};
use crate::crash::links;
use crate::drain::drain_submitted;
use crate::plans::{Payer, insert_subscriptions};
use crate::souk::{Settings, Souk};
use crate::store_client::{CallError, StoreClient};
use futures_util::TryStreamExt;
use serde_json::json;
use souk_adapters::persistence::{Database, NUMBERS_SKIPPED_MIN, Row, TableColumn, dump, tables};
use souk_adapters::testing::{RunningClock, TestDatabase};
use souk_domain::shared::Clock;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};
use tokio::task::JoinSet;

const PAYERS: u32 = 3;
const SUBSCRIPTIONS: u64 = 30;
/// The customers who buy while the backup is taken.
const SHOPPERS: u64 = 3;
/// Payments of orders before the backup is taken, and payments after it.
const ORDERS: u64 = 4;
/// Longer than a lease of the queue and several periods of every job.
const LIMIT: Duration = Duration::from_secs(90);
const POLL: Duration = Duration::from_millis(100);
const GOOD: &str = "4242424242424242";

async fn count(database: &Database, sql: &'static str) -> u64 {
    database.read().await.expect("reads").query(sql).one().await.expect("reads").get("n").expect("a number")
}

async fn until(what: &str, souk: &Souk, database: &Database, sql: &'static str, least: u64) {
    let begun = Instant::now();
    loop {
        let found = count(database, sql).await;
        if found >= least {
            return;
        }
        assert!(begun.elapsed() < LIMIT, "{what}: {found} instead of {least}; the log ends:\n{}", souk.log());
        tokio::time::sleep(POLL).await;
    }
}

const RENEWED: &str = "SELECT count(*) AS n FROM invoices WHERE reason = 'subscription_cycle' AND status = 'paid'";

/// Copies all tables of one database into another one with the same tables.
async fn copy(from: &Database, to: &Database) {
    let (mut source, mut target) = (from.snapshot().await.expect("a snapshot"), to.begin_unlimited().await.expect("begins"));
    let known: BTreeMap<_, _> = tables(&mut target).await.expect("tables").into_iter().map(|table| (table.name.clone(), table)).collect();
    for table in tables(&mut source).await.expect("tables") {
        let into = &known[&table.name];
        dump::clear(&mut target, into).await.expect("clears");
        let rows: Vec<_> = dump::rows(&mut source, &table).try_collect().await.expect("rows");
        let by_name = |column: &TableColumn| into.columns.iter().find(|known| known.name == column.name).expect("the same columns");
        let columns: Vec<_> = table.columns.iter().map(by_name).collect();
        dump::insert(&mut target, into, &columns, rows).await.expect("inserts");
    }
    target.commit().await.expect("commits");
}

/// The invoice of each number of a store, by mode.
async fn numbers(database: &Database) -> BTreeMap<(bool, u64), String> {
    let select = "SELECT id, livemode, number FROM invoices WHERE number IS NOT NULL AND document = 'invoice'";
    let rows = database.read().await.expect("reads").query(select).all().await.expect("reads");
    let number = |row: &Row| {
        let key = (row.get("livemode").expect("a mode"), row.get("number").expect("a number"));
        (key, row.get("id").expect("an id"))
    };
    rows.iter().map(number).collect()
}

/// The payments of orders that have arrived.
const PAID: &str = "SELECT count(*) AS n FROM attempts a JOIN payment_intents i ON i.id = a.subject
                    WHERE i.session_id IS NOT NULL AND a.purpose = 'payment' AND a.status = 'settled'";

async fn paid(database: &Database) -> BTreeSet<String> {
    let select = "SELECT a.id FROM attempts a JOIN payment_intents i ON i.id = a.subject
                  WHERE i.session_id IS NOT NULL AND a.purpose = 'payment' AND a.status = 'settled'";
    let rows = database.read().await.expect("reads").query(select).all().await.expect("reads");
    rows.iter().map(|row| row.get("id").expect("an id")).collect()
}

/// Lets subscriptions become due one after another, so that renewals surround the backup.
async fn spread_due_times(database: &Database) {
    let later = ["anchor", "period_start", "period_end", "due_at"]
        .map(|column| format!("{column} = {column} + (CAST(substr(id, -8) AS INTEGER) - 10000000) * 300000"));
    let update = format!("UPDATE subscriptions SET {} WHERE id LIKE 'sub!_storm!_%' ESCAPE '!'", later.join(", "));
    let mut connection = database.begin().await.expect("begins");
    assert_ne!(connection.query(update.leak()).execute().await.expect("writes"), 0);
    connection.commit().await.expect("commits");
}

async fn charges(store: &Souk) -> Vec<u64> {
    let mut charges = Vec::new();
    for number in 0..PAYERS {
        charges.push(Payer::known(&store.address, number).charges().await);
    }
    charges
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_store_restored_on_sqlite_after_the_networks_moved_on_charges_and_numbers_nothing_twice() {
    let folder = tempfile::tempdir().expect("a folder");
    let target = Settings::sqlite(folder.path().join("restored"));
    let sandbox = format!("sqlite://{}", target.data.join("sandbox.db").display());
    let database = format!("sqlite://{}", target.data.join("souk.db").display());
    restore_beside_original(folder.path(), &target, &database, &sandbox).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_store_restored_on_postgres_after_the_networks_moved_on_charges_and_numbers_nothing_twice() {
    let folder = tempfile::tempdir().expect("a folder");
    let empty = TestDatabase::postgres_without_schema().await;
    let target = Settings { database: Some(empty.address().to_owned()), ..Settings::sqlite(folder.path().join("restored")) };
    let mut sandbox = url::Url::parse(empty.address()).expect("an address");
    sandbox.query_pairs_mut().append_pair("options[search_path]", "sandbox");
    restore_beside_original(folder.path(), &target, empty.address(), sandbox.as_str()).await;
}

/// `database` and `sandbox`: the addresses of the restored store's databases.
async fn restore_beside_original(folder: &std::path::Path, target: &Settings, database: &str, sandbox: &str) {
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
    let charged = charges(&souk).await;
    assert_eq!(charged.iter().sum::<u64>(), SUBSCRIPTIONS);
    let (used, paid_before) = (numbers(&books).await, paid(&books).await);
    souk.kill().await;

    // The networks are where the original has left them, and not where the backup was.
    let said = printed(target, &["restore", archive.to_str().expect("text")]).await;
    assert!(said.contains("souk verify finds no breach") && said.contains("until you confirm that the original is stopped"), "{said}");
    let networks = Database::open_file(&original.data.join("sandbox.db")).await.expect("opens");
    copy(&networks, &Database::open(sandbox).await.expect("opens")).await;

    let souk = target.start_plain(&[]).await;
    let books = Database::open(database).await.expect("opens");
    assert!(souk.said.iter().any(|line| line.contains("sandbox")), "{:?}", souk.said);
    let client = Arc::new(StoreClient::new());
    client.move_to(vec![souk.address.clone()]);
    let start = format!("api/checkout-sessions/start/{}?livemode=false", links[0]);
    let held = client.post(&start, None, json!({})).await.expect_err("an order starts in a held store");
    assert!(matches!(&held, CallError::Rejected { status: 503, code, .. } if code == "RESTORE_HELD"), "{held:?}");
    until("imported renewals", &souk, &books, RENEWED, SUBSCRIPTIONS).await;
    until("a complete import", &souk, &books, "SELECT count(*) AS n FROM restores WHERE imported_at IS NOT NULL", 1).await;
    assert_eq!(charges(&souk).await, charged, "the import has charged somebody");
    assert_eq!(std::fs::read_dir(target.data.join("mail")).map_or(0, Iterator::count), 0, "a held store has sent emails");

    printed(target, &["restore", "confirm"]).await;
    until("the end of the hold", &souk, &books, "SELECT count(*) AS n FROM restores WHERE released_at IS NOT NULL", 1).await;
    let status = printed(target, &["restore", "status"]).await;
    assert!(status.contains("It continues since"), "{status}");
    let begun = Instant::now();
    // The process that serves learns of the end a moment later.
    while client.post(&start, None, json!({})).await.is_err() {
        assert!(begun.elapsed() < LIMIT, "no order starts after the end of the hold");
        tokio::time::sleep(POLL).await;
    }
    let left = drain_submitted(&books).await;
    assert!(left.is_empty(), "{left:?}");
    // A payment of an order after the backup belongs to nothing in the restored store. The owner sees each of them.
    let arrived = paid(&books).await;
    let found = count(&books, "SELECT count(*) AS n FROM found_payments WHERE incoming AND handled_at IS NULL").await;
    assert!(found >= ORDERS && arrived.is_subset(&paid_before), "{found} found payments; {arrived:?}");
    assert_eq!(found, paid_before.difference(&arrived).count() as u64);
    let buyer = Buyer::arrive(Arc::clone(&client), 8).await;
    // Products with unlimited stock come first.
    for (link, plan) in links.iter().zip([Plan::Wallet, Plan::Card(GOOD)]) {
        assert!(matches!(buyer.buy(link, plan).await, End::Complete(_)), "the restored store does not sell: {}", souk.log());
    }
    assert_eq!(charges(&souk).await, charged, "a period was charged twice");
    let ours = numbers(&books).await;
    let twice: Vec<_> = ours.iter().filter(|(number, id)| used.get(number).is_some_and(|other| other != *id)).collect();
    assert!(twice.is_empty(), "numbers are used twice: {twice:?}");
    let new = ours.iter().filter(|(number, _)| !used.contains_key(number));
    assert!(new.clone().count() >= 2 && new.clone().all(|((_, number), _)| *number > NUMBERS_SKIPPED_MIN), "{ours:?}");
    let verified = printed(target, &["verify"]).await;
    println!("{verified}");
    souk.kill().await;
}
