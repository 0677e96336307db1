//! Kills the process at random moments during purchases, then audits the result (invariants 1, 3, 4, 5, 6, 8, 11). `store` does so during
//! uploads, checks, publications and downloads.

mod store;

use crate::audit::{audit, emails_in, receipts, report};
use crate::buyer::{Buyer, End, Plan, any_number, below};
use crate::drain::drain;
use crate::souk::{Settings, Souk};
use crate::store_client::StoreClient;
use serde_json::json;
use souk_adapters::persistence::Database;
use souk_adapters::system::SystemRandom;
use souk_adapters::testing::{SeededRandom, TestDatabase};
use souk_domain::shared::Random;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};
use tempfile::TempDir;

const BUYERS: u64 = 6;
/// Maximum lifetime of a process after it has opened, in milliseconds.
const LIFE_MS: u32 = 1_600;
/// Maximum lifetime of a process that is killed while it starts, in milliseconds.
const START_MS: u32 = 700;
/// Maximum time of one purchase.
const DEADLINE: Duration = Duration::from_secs(25);
const ROUNDS: &str = "SOUK_CRASH_ROUNDS";
const SEED: &str = "SOUK_CRASH_SEED";

fn setting(name: &str) -> Option<u64> {
    std::env::var(name).ok().map(|text| text.parse().unwrap_or_else(|_| panic!("{name} is a number, not {text}")))
}

/// The seed of `SOUK_CRASH_SEED`, which repeats a run, or a random one.
fn seed() -> u64 {
    setting(SEED).unwrap_or_else(|| any_number(&SystemRandom))
}

/// Half of `SOUK_CRASH_ROUNDS`, which counts the rounds on both databases together.
fn rounds() -> u64 {
    setting(ROUNDS).unwrap_or(4).div_ceil(2)
}

/// A store whose processes are killed. It is removed when this is dropped.
struct Victim {
    /// The name of its database's engine.
    name: &'static str,
    settings: Settings,
    /// The address of its database.
    address: String,
    _database: Option<TestDatabase>,
    _folder: TempDir,
}

impl Victim {
    fn on_sqlite() -> Self {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let address = format!("sqlite://{}", folder.path().join("souk.db").display());
        Self { name: "SQLite", settings: Settings::sqlite(folder.path()), address, _database: None, _folder: folder }
    }

    async fn on_postgres() -> Self {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let database = TestDatabase::postgres().await;
        let address = database.address().to_owned();
        let settings = Settings { database: Some(address.clone()), ..Settings::sqlite(folder.path()) };
        Self { name: "PostgreSQL", settings, address, _database: Some(database), _folder: folder }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn kills_during_purchases_cause_no_double_charge_and_no_loss_on_sqlite() {
    run(&Victim::on_sqlite()).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn kills_during_purchases_cause_no_double_charge_and_no_loss_on_postgres() {
    run(&Victim::on_postgres().await).await;
}

async fn run(Victim { name, settings, address, .. }: &Victim) {
    let (seed, rounds) = (seed(), rounds());
    println!("crash test on {name}: {rounds} rounds, {SEED}={seed}");
    let begun = Instant::now();
    let random = SeededRandom::new(seed);
    let client = Arc::new(StoreClient::new());
    let closing = Arc::new(AtomicBool::new(false));
    let buyers: Vec<_> = (1..=BUYERS).map(|number| tokio::spawn(shop(Arc::clone(&client), seed ^ number, Arc::clone(&closing)))).collect();

    for _ in 0..rounds {
        kill_once(settings, &client, &random).await;
    }
    let souk = settings.start().await;
    client.move_to(vec![souk.address.clone()]);
    closing.store(true, Ordering::Relaxed);
    let mut bought = Vec::new();
    for buyer in buyers {
        bought.extend(buyer.await.expect("a visitor's own code does not fail"));
    }

    let database = Database::open(address).await.expect("opens");
    let (shopped, drained) = (begun.elapsed(), Instant::now());
    let left = drain(&database).await;
    let drained = drained.elapsed();
    let mut counts = audit(&client, &database).await;
    counts.push(receipts(&database, &emails_in(&settings.data.join("mail"))).await);
    let complete = bought.iter().filter(|end| matches!(end, End::Complete(_))).count();
    let title = format!(
        "{name}: killed {rounds} times in {} s, drained in {} s; {} purchases begun, {complete} seen complete by their visitors",
        shopped.as_secs(),
        drained.as_secs(),
        bought.len()
    );
    let wrong = report(&title, &counts);
    let failures = client.failures.lock().expect("no panic").clone();
    database.close().await;
    assert!(left.is_empty(), "after the drain there were {left:?}; {SEED}={seed}; {wrong}; the log ends:\n{}", souk.log());
    assert_eq!(wrong, "", "{SEED}={seed} repeats it; the log ends:\n{}", souk.log());
    assert!(failures.is_empty(), "the store answered 500: {failures:?}; {SEED}={seed}");
    assert!(complete > 0, "nobody could buy anything; {SEED}={seed}");
    souk.kill().await;
}

/// Starts a process and kills it after a random time or while it starts. Sometimes a network loses responses.
async fn kill_once(settings: &Settings, client: &StoreClient, random: &dyn Random) {
    let Some(souk) = start_or_kill(settings, random).await else { return };
    client.move_to(vec![souk.address.clone()]);
    for network in ["sandbox/arcblock/faults", "sandbox/stripe/faults"] {
        if below(random, 3) == 0 {
            let order = json!({ "mode": "drop_answer", "count": 1 + below(random, 2) });
            client.post(network, None, order).await.unwrap_or_else(|error| panic!("the sandbox takes orders: {error:?}; {}", souk.log()));
        }
    }
    kill_later(souk, client, random).await;
}

/// Starts a process. `None`: it was killed while it started.
async fn start_or_kill(settings: &Settings, random: &dyn Random) -> Option<Souk> {
    let starting = settings.spawn();
    if below(random, 8) == 0 {
        tokio::time::sleep(Duration::from_millis(below(random, START_MS).into())).await;
        starting.kill().await;
        return None;
    }
    Some(starting.opened().await)
}

/// Kills a process after a random time. From then on the clients wait for the next one.
async fn kill_later(souk: Souk, client: &StoreClient, random: &dyn Random) {
    tokio::time::sleep(Duration::from_millis(below(random, LIFE_MS).into())).await;
    client.move_to(Vec::new());
    souk.kill().await;
}

/// Buys repeatedly until the store closes.
async fn shop(client: Arc<StoreClient>, seed: u64, closing: Arc<AtomicBool>) -> Vec<End> {
    let buyer = Buyer::arrive(Arc::clone(&client), seed).await;
    let links = links(&client).await;
    let mut ends = Vec::new();
    // Alternate between links, because two starts of one link within 3 s give one session.
    let mut turn = usize::try_from(seed % 100).expect("small");
    loop {
        turn += 1;
        let link = &links[turn % links.len()];
        let plan = Plan::any(buyer.random());
        ends.push(tokio::time::timeout(DEADLINE, buyer.buy(link, plan)).await.unwrap_or(End::Left));
        if closing.load(Ordering::Relaxed) {
            return ends;
        }
    }
}

/// The payment links of all paid apps.
pub async fn links(client: &StoreClient) -> Vec<String> {
    loop {
        if let Ok(body) = client.get("api/apps?livemode=false&price=paid&pageSize=100", None).await {
            let links = body["list"].as_array().into_iter().flatten().filter_map(|app| app["payment_link_id"].as_str());
            return links.map(ToOwned::to_owned).collect();
        }
    }
}
