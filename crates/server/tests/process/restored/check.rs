//! A restored store beside what its original has done.

use crate::backup::printed;
use crate::buyer::{Buyer, End, Plan};
use crate::drain::drain_submitted;
use crate::plans::Payer;
use crate::souk::{Settings, Souk};
use crate::store_client::{CallError, StoreClient};
use futures_util::TryStreamExt;
use serde_json::json;
use souk_adapters::persistence::{Database, NUMBERS_SKIPPED_MIN, Row, TableColumn, dump, tables};
use souk_adapters::testing::TestDatabase;
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};
use url::Url;

/// Longer than a lease of the queue and several periods of every job.
const LIMIT: Duration = Duration::from_secs(90);
const POLL: Duration = Duration::from_millis(100);

/// A backed-up store after it was stopped: what it has done until then, and its networks.
pub struct Original {
    pub archive: PathBuf,
    pub networks: Database,
    /// Its renewals are all paid.
    pub renewals: u64,
    /// The charges of each wallet at the ledger.
    pub charged: Vec<u64>,
    pub numbers: Numbers,
    /// The payments of orders.
    pub paid: BTreeSet<String>,
    /// The payment links of its products. Those with unlimited stock come first.
    pub links: Vec<String>,
    /// How a customer of the restored store pays for the first products.
    pub plans: Vec<Plan>,
}

impl Original {
    pub async fn check_restored_on_sqlite(&self, data: &Path) {
        let target = Settings::sqlite(data);
        let sandbox = format!("sqlite://{}", data.join("sandbox.db").display());
        let database = format!("sqlite://{}", data.join("souk.db").display());
        self.check_restored(&target, &database, &sandbox).await;
    }

    pub async fn check_restored_on_postgres(&self, data: &Path) {
        let empty = TestDatabase::postgres_without_schema().await;
        let target = Settings { database: Some(empty.address().to_owned()), ..Settings::sqlite(data) };
        self.check_restored(&target, empty.address(), &sandbox_of(empty.address())).await;
    }

    /// `database` and `sandbox`: the addresses of the restored store's databases.
    async fn check_restored(&self, target: &Settings, database: &str, sandbox: &str) {
        let said = printed(target, &["restore", self.archive.to_str().expect("text")]).await;
        assert!(said.contains("souk verify finds no breach") && said.contains("until you confirm that the original is stopped"), "{said}");
        // The networks are where the original has left them, and not where the backup was.
        copy(&self.networks, &Database::open(sandbox).await.expect("opens")).await;

        let souk = target.start_plain(&[]).await;
        let books = Database::open(database).await.expect("opens");
        assert!(souk.said.iter().any(|line| line.contains("sandbox")), "{:?}", souk.said);
        let client = Arc::new(StoreClient::new());
        client.move_to(vec![souk.address.clone()]);
        let start = format!("api/checkout-sessions/start/{}?livemode=false", self.links[0]);
        let held = client.post(&start, None, json!({})).await.expect_err("an order starts in a held store");
        assert!(matches!(&held, CallError::Rejected { status: 503, code, .. } if code == "RESTORE_HELD"), "{held:?}");
        until("imported renewals", &souk, &books, RENEWED, self.renewals).await;
        until("a complete import", &souk, &books, "SELECT count(*) AS n FROM restores WHERE imported_at IS NOT NULL", 1).await;
        assert_eq!(charges(&souk, self.payers()).await, self.charged, "the import has charged somebody");
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
        assert!(found > 0 && arrived.is_subset(&self.paid), "{found} found payments; {arrived:?}");
        assert_eq!(found, self.paid.difference(&arrived).count() as u64);
        let buyer = Buyer::arrive(Arc::clone(&client), 8).await;
        for (link, plan) in self.links.iter().zip(&self.plans) {
            let end = tokio::time::timeout(LIMIT, buyer.buy(link, *plan)).await;
            assert!(matches!(end, Ok(End::Complete(_))), "the restored store does not sell: {}", souk.log());
        }
        assert_eq!(charges(&souk, self.payers()).await, self.charged, "a period was charged twice");
        let ours = numbers(&books).await;
        let twice: Vec<_> = ours.iter().filter(|(number, id)| self.numbers.get(number).is_some_and(|other| other != *id)).collect();
        assert!(twice.is_empty(), "numbers are used twice: {twice:?}");
        let new = ours.iter().filter(|(number, _)| !self.numbers.contains_key(number));
        assert!(new.clone().count() >= self.plans.len() && new.clone().all(|((_, number), _)| *number > NUMBERS_SKIPPED_MIN), "{ours:?}");
        let verified = printed(target, &["verify"]).await;
        println!("{verified}");
        souk.kill().await;
    }

    fn payers(&self) -> u32 {
        u32::try_from(self.charged.len()).expect("few")
    }
}

/// The renewals that are paid.
pub const RENEWED: &str = "SELECT count(*) AS n FROM invoices WHERE reason = 'subscription_cycle' AND status = 'paid'";

/// The address of the networks in the PostgreSQL database of a store.
pub fn sandbox_of(database: &str) -> String {
    let mut sandbox = Url::parse(database).expect("an address");
    sandbox.query_pairs_mut().append_pair("options[search_path]", "sandbox");
    sandbox.into()
}

pub async fn count(database: &Database, sql: &'static str) -> u64 {
    database.read().await.expect("reads").query(sql).one().await.expect("reads").get("n").expect("a number")
}

pub async fn until(what: &str, souk: &Souk, database: &Database, sql: &'static str, least: u64) {
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
pub type Numbers = BTreeMap<(bool, u64), String>;

pub async fn numbers(database: &Database) -> Numbers {
    let select = "SELECT id, livemode, number FROM invoices WHERE number IS NOT NULL AND document = 'invoice'";
    let rows = database.read().await.expect("reads").query(select).all().await.expect("reads");
    let number = |row: &Row| {
        let key = (row.get("livemode").expect("a mode"), row.get("number").expect("a number"));
        (key, row.get("id").expect("an id"))
    };
    rows.iter().map(number).collect()
}

/// The number of payments of orders that have arrived.
pub const PAID: &str = "SELECT count(*) AS n FROM attempts a JOIN payment_intents i ON i.id = a.subject
                    WHERE i.session_id IS NOT NULL AND a.purpose = 'payment' AND a.status = 'settled'";

/// The payments of orders that have arrived.
pub async fn paid(database: &Database) -> BTreeSet<String> {
    let select = "SELECT a.id FROM attempts a JOIN payment_intents i ON i.id = a.subject
                  WHERE i.session_id IS NOT NULL AND a.purpose = 'payment' AND a.status = 'settled'";
    let rows = database.read().await.expect("reads").query(select).all().await.expect("reads");
    rows.iter().map(|row| row.get("id").expect("an id")).collect()
}

pub async fn charges(store: &Souk, payers: u32) -> Vec<u64> {
    let mut charges = Vec::new();
    for number in 0..payers {
        charges.push(Payer::known(&store.address, number).charges().await);
    }
    charges
}
