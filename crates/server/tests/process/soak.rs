//! Everything at once, for a long time: purchases, renewals and refunds, while a process is killed, Redis is emptied, networks hang, and
//! strangers hold connections and ask for sessions at ten times the limits. Nothing may be lost or doubled (invariants 1, 2, 3, 5, 6, 10),
//! memory must not grow, and strangers must not slow down customers. A backup is taken in the middle, and a long run restores it at its end.
//! `make soak` runs for 30 minutes, `make test` for two, and `SOAK_MINUTES` selects another length.

mod disturbances;
mod emails;
mod losses;
mod measures;
mod shoppers;
mod strangers;

use crate::audit::report;
use crate::backup::printed;
use crate::buyer::Plan;
use crate::drain::drain_submitted;
use crate::plans::{Payer, insert_subscriptions};
use crate::restored::{Original, charges, numbers, paid, sandbox_of};
use crate::scale::free_port;
use crate::souk::{Settings, Souk};
use crate::store_client::StoreClient;
use crate::storm::{check_sooner, count};
use disturbances::{Disturber, OPEN_FILES};
use emails::Emails;
use measures::{Measures, Memory, Speed};
use shoppers::Shop;
use souk_adapters::persistence::Database;
use souk_adapters::system::SystemRandom;
use souk_adapters::testing::{RunningClock, TestDatabase, required};
use souk_domain::shared::Clock;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};
use tokio::task::JoinSet;
use url::Url;

const MINUTES: &str = "SOAK_MINUTES";
const MINUTES_DEFAULT: u64 = 2;
const SEED: &str = "SOAK_SEED";
const MINUTE: Duration = Duration::from_secs(60);
/// The customers who buy at any time.
const SHOPPERS: u64 = 6;
/// The wallets among which the subscriptions are spread.
const PAYERS: u32 = 8;
/// Renewals that become due in each minute.
const RENEWALS_PER_MINUTE: u64 = 60;
/// Maximum time until all renewals are paid after the end.
const RENEWED: Duration = Duration::from_secs(180);
const POLL: Duration = Duration::from_millis(500);

/// The store under test.
pub struct Stage {
    /// What the processes share, except for their addresses.
    settings: Settings,
    database: TestDatabase,
    redis: String,
    /// The process that runs the payment networks and nothing else. It lives through the run, as networks do.
    networks: Souk,
    /// The customers' requests, which go to both processes of the store in turn.
    client: Arc<StoreClient>,
    /// Requests to the networks' process.
    at_networks: StoreClient,
    measures: Arc<Measures>,
}

impl Stage {
    async fn set(folder: &Path) -> Self {
        let redis = required("TEST_REDIS", "a Redis server");
        let database = TestDatabase::postgres().await;
        let port = free_port();
        let settings = Settings {
            data: folder.to_owned(),
            database: Some(database.address().to_owned()),
            redis: Some(redis.clone()),
            listen: format!("127.0.0.1:{port}"),
            options: vec![format!("--public-url=http://127.0.0.1:{port}"), format!("--secret-key={}", "5a".repeat(32))],
            log: "networks.log".to_owned(),
        };
        let only_networks = Settings { options: [&settings.options[..], &["--no-workers".to_owned()]].concat(), ..settings.clone() };
        let networks = only_networks.start().await;
        let at_networks = StoreClient::new();
        at_networks.move_to(vec![networks.address.clone()]);
        let (client, measures) = (Arc::new(StoreClient::new()), Arc::new(Measures::default()));
        Self { settings, database, redis, networks, client, at_networks, measures }
    }

    /// The settings of a process of the store, which keeps its port when it is started again.
    fn process(&self, name: &str) -> Settings {
        Settings { listen: format!("127.0.0.1:{}", free_port()), log: format!("{name}.log"), ..self.settings.clone() }
    }

    /// Creates an API key that may refund.
    async fn key(&self) -> String {
        let secret_key = &self.settings.options[1];
        let create = ["key", secret_key.as_str(), "create", "--name", "soak", "--scope", "refunds:write"];
        let created = self.settings.command(&create).output().await.expect("runs");
        let printed = String::from_utf8_lossy(&created.stdout).into_owned();
        let secret = printed.split_whitespace().nth(1).map(ToOwned::to_owned);
        secret.unwrap_or_else(|| panic!("no key: {printed}{}", String::from_utf8_lossy(&created.stderr)))
    }

    /// Inserts subscriptions that become due one after another, until the end.
    async fn subscribe(&self, minutes: u64) -> Vec<Payer> {
        let mut payers = Vec::new();
        for number in 0..PAYERS {
            payers.push(Payer::arrive(&self.networks.address, number).await);
        }
        let renewals = minutes * RENEWALS_PER_MINUTE;
        insert_subscriptions(&self.database, &payers, renewals, RunningClock.now()).await;
        spread_due_times(&self.database, MINUTE / u32::try_from(RENEWALS_PER_MINUTE).expect("few")).await;
        payers
    }

    /// Takes a backup in the middle of the run.
    async fn back_up(&self, archive: &Path, middle: Instant) {
        tokio::time::sleep_until(middle.into()).await;
        let words = ["backup", self.settings.options[1].as_str(), "--output", archive.to_str().expect("text")];
        printed(&self.settings, &words).await;
    }

    /// What the store has done, and its networks, for a comparison with the restored backup.
    async fn original(&self, archive: PathBuf, shop: &Shop, renewals: u64) -> Original {
        Original {
            archive,
            networks: Database::open(&sandbox_of(self.database.address())).await.expect("opens"),
            renewals,
            charged: charges(&self.networks, PAYERS).await,
            numbers: numbers(&self.database).await,
            paid: paid(&self.database).await,
            links: shop.links().to_vec(),
            // Cards are limited per visitor and hour, and the customers of a long run have reached that limit.
            plans: vec![Plan::Wallet, Plan::Wallet],
        }
    }
}

fn number(variable: &str) -> Option<u64> {
    std::env::var(variable).ok().map(|text| text.parse().unwrap_or_else(|_| panic!("{variable} is a number, not {text}")))
}

fn address_of(url: &Url) -> std::net::SocketAddr {
    url.socket_addrs(|| None).expect("an address")[0]
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "takes minutes; a step of its own of `make test`, and `make soak`"]
async fn soak_of_kills_hanging_networks_and_strangers_loses_and_doubles_nothing() {
    let minutes = number(MINUTES).unwrap_or(MINUTES_DEFAULT).max(1);
    let seed = number(SEED).unwrap_or_else(|| crate::buyer::any_number(&SystemRandom));
    let length = MINUTE * u32::try_from(minutes).expect("few minutes");
    let folder = tempfile::tempdir().expect("a temporary folder");
    let stage = Stage::set(folder.path()).await;
    let survivor = stage.process("survivor").start_with_open_files(OPEN_FILES).await;
    let victim = stage.process("victim");
    let killed = victim.start_with_open_files(OPEN_FILES).await;
    stage.client.move_to(vec![survivor.address.clone(), killed.address.clone()]);
    let key = stage.key().await;
    let payers = stage.subscribe(minutes).await;
    println!("soak: {minutes} minutes on PostgreSQL and Redis with two processes, {SEED}={seed}");

    let begun = Instant::now();
    let shop = Arc::new(Shop::open(&stage, key, seed).await);
    let mut shoppers = JoinSet::new();
    for number in 1..=SHOPPERS {
        shoppers.spawn(Arc::clone(&shop).shop(number));
    }
    let memory = Memory::watch(&survivor, begun);
    let emails = Emails::watch(stage.settings.data.join("mail"));
    let targets = [address_of(&survivor.address), address_of(&killed.address)];
    let strangers = strangers::harass(Arc::clone(&stage.measures), targets, shop.links().to_vec(), begun, minutes);
    let disturber = Disturber { stage: &stage, survivor: survivor.address.clone(), victim, begun, minutes, seed };
    let archive = folder.path().join("soak.age");
    let (killed, (), (), (), strangers) = tokio::join!(
        disturber.kill_each_minute(killed),
        disturber.empty_redis_each_minute(),
        disturber.hang_networks(),
        stage.back_up(&archive, begun + length / 2),
        strangers
    );
    tokio::time::sleep(length.saturating_sub(begun.elapsed())).await;
    shop.closing.store(true, Ordering::Relaxed);
    shoppers.join_all().await;
    let memory = memory.stop();

    renewed(&stage.database, minutes * RENEWALS_PER_MINUTE).await;
    // Twice, because a breaker that has opened waits a minute for its next test.
    let mut left = drain_submitted(&stage.database).await;
    if !left.is_empty() {
        left = drain_submitted(&stage.database).await;
    }
    let speed = Speed::of(&stage.client, &stage.measures);
    let counts = losses::count_losses(&stage, &shop, &payers, &emails.stop()).await;
    let did = stage.measures.done();
    let title = format!(
        "soak of {minutes} minutes, {SEED}={seed}: {} purchases begun, {} seen complete, {} refunded, {} renewals; {} kills, Redis emptied \
         {} times, networks hung {} times; strangers opened {} connections and asked for {} sessions, of which {} were refused",
        shop.begun.load(Ordering::Relaxed),
        shop.complete().len(),
        shop.refunded().len(),
        minutes * RENEWALS_PER_MINUTE,
        did.kills,
        did.flushes,
        did.hangs,
        strangers.connections,
        strangers.sessions,
        strangers.refused,
    );
    let wrong = report(&title, &counts);
    println!("{memory}\n{speed}");
    let logs = format!("the logs end:\n{}\n{}", survivor.log(), killed.log());
    assert_eq!(wrong, "", "{SEED}={seed}; unfinished: {left:?}; {logs}");
    assert!(left.is_empty(), "after the drain there were {left:?}; {logs}");
    assert!(!shop.complete().is_empty() && !shop.refunded().is_empty(), "nobody could buy or was refunded; {logs}");
    assert!(strangers.refused > 0 && strangers.connections > 0, "the strangers reached no limit");
    if minutes >= measures::MINUTES_MIN {
        assert!(memory.is_bounded(), "{memory}");
        assert!(speed.is_bounded(), "{speed}");
    }
    let original = stage.original(archive, &shop, minutes * RENEWALS_PER_MINUTE).await;
    Database::clone(&stage.database).close().await;
    killed.kill().await;
    survivor.kill().await;
    stage.networks.kill().await;
    // The tests in `restored` do this in each run, with less data.
    if minutes >= measures::MINUTES_MIN {
        original.check_restored_on_sqlite(&folder.path().join("on-sqlite")).await;
        original.check_restored_on_postgres(&folder.path().join("on-postgres")).await;
        println!("the backup was restored on both databases after the networks had moved on: nothing was charged or numbered twice");
    }
}

/// Lets the subscriptions of [`insert_subscriptions`] become due one after another, this far apart.
async fn spread_due_times(database: &Database, apart: Duration) {
    let shift = "(right(id, 8)::bigint - 10000000) * $1 * interval '1 microsecond'";
    let columns = ["anchor", "period_start", "period_end", "due_at"].map(|column| format!("{column} = {column} + {shift}"));
    let update = format!("UPDATE subscriptions SET {} WHERE id LIKE 'sub!_storm!_%' ESCAPE '!'", columns.join(", "));
    let mut connection = database.begin().await.expect("begins");
    let apart = u64::try_from(apart.as_micros()).expect("short");
    connection.query(update.leak()).bind(apart).execute().await.expect("writes");
    connection.commit().await.expect("commits");
}

/// Waits until no renewal is due or undecided.
async fn renewed(database: &Database, wanted: u64) {
    let begun = Instant::now();
    let paid = "SELECT count(*) AS n FROM invoices WHERE reason = 'subscription_cycle' AND status = 'paid'";
    while count(database, paid).await < wanted && begun.elapsed() < RENEWED {
        check_sooner(database).await;
        tokio::time::sleep(POLL).await;
    }
}
