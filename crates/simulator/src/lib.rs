//! Random histories of customers behind `souk verify --history N --kills K --seed S`.
//!
//! Many histories run concurrently in a process that is killed repeatedly, until each history has survived its kills. The networks run
//! in the supervising process, outside the store, like real networks. Simulated time passes between two processes. At the end the
//! database is verified and compared with the networks. The [`Host`] composes the stores.

mod actions;
mod args;
mod card_incidents;
mod clock;
mod count;
mod decisions;
mod expected_errors;
mod fixtures;
mod host;
mod network_client;
mod open_work;
mod process;
mod purchase;
mod refunds;
mod rng;
mod sequence;
mod supervisor;
mod temp_store;

pub use args::{HistoryArgs, ProcessArgs};
pub use count::Records;
pub use host::{Host, Pace, Run, Sandbox, Site, Store, StoreWithSandbox};
pub use process::{Progress, run as run_process};
pub use sequence::{Sequence, check_sequence};

use clock::ShiftedClock;
use count::Counted;
use poem::listener::{Acceptor, Listener, TcpAcceptor, TcpListener};
use poem::{Route, Server};
use souk_adapters::queue::QueueConfig;
use souk_adapters::system::SystemRandom;
use souk_adapters::verify::{Check, verify};
use souk_domain::shared::Random;
use std::sync::Arc;
use std::time::{Duration, Instant};
use supervisor::Supervisor;
use temp_store::TempStore;
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;
use url::Url;

/// An error with a message for the operator.
pub type Failure = Box<dyn std::error::Error + Send + Sync>;

/// Maximum time for the networks to finish requests of a killed process.
const DRAIN_TIMEOUT: Duration = Duration::from_secs(10);

/// The sandbox networks, which run in this process.
struct Networks {
    routes: Arc<Route>,
    store: Arc<Store>,
    clock: Arc<ShiftedClock>,
    /// The URL at which this process reaches them.
    address: String,
    stop: CancellationToken,
}

/// The server through which one process reaches the networks. It is closed with the process before the clock jumps, so that no
/// request from before a jump is answered after it.
struct NetworkListener {
    address: String,
    closing: CancellationToken,
    serving: JoinHandle<std::io::Result<()>>,
}

impl Networks {
    async fn open(host: &dyn Host, site: &Site, queue: QueueConfig) -> Result<Self, Failure> {
        let LocalListener { acceptor, address } = listen().await?;
        let url = Url::parse(&address)?;
        let clock = Arc::new(ShiftedClock::default());
        let pace = Pace { clock: Arc::clone(&clock) as _, queue };
        let StoreWithSandbox { store, sandbox } = host.compose_with_sandbox(site, &url, pace).await?;
        let stop = CancellationToken::new();
        tokio::spawn((sandbox.run)(stop.clone()));
        let routes = Arc::new(sandbox.routes);
        let server = Server::new_with_acceptor(acceptor).run(Arc::clone(&routes));
        tokio::spawn(stop.clone().run_until_cancelled_owned(server));
        Ok(Self { routes, store: Arc::new(store), clock, address, stop })
    }

    async fn listener(&self) -> Result<NetworkListener, Failure> {
        let LocalListener { acceptor, address } = listen().await?;
        let closing = CancellationToken::new();
        let server = Server::new_with_acceptor(acceptor);
        let until = closing.clone().cancelled_owned();
        let serving = tokio::spawn(server.run_with_graceful_shutdown(Arc::clone(&self.routes), until, Some(DRAIN_TIMEOUT)));
        Ok(NetworkListener { address, closing, serving })
    }

    /// Removes injected faults that have not occurred yet.
    async fn clear_faults(&self) -> Result<(), Failure> {
        let http = reqwest::Client::builder().no_proxy().build()?;
        for network in ["arcblock", "stripe"] {
            http.delete(format!("{}/sandbox/{network}/faults", self.address)).send().await?.error_for_status()?;
        }
        Ok(())
    }
}

/// A listener on a free port of this machine.
struct LocalListener {
    acceptor: TcpAcceptor,
    /// Its URL.
    address: String,
}

async fn listen() -> Result<LocalListener, Failure> {
    let acceptor = TcpListener::bind("127.0.0.1:0").into_acceptor().await?;
    let bound = acceptor.local_addr().first().and_then(|address| address.as_socket_addr().copied()).ok_or("no address")?;
    Ok(LocalListener { acceptor, address: format!("http://{bound}") })
}

impl NetworkListener {
    /// Closes the server and waits until all requests are answered.
    async fn close(self) -> Result<(), Failure> {
        self.closing.cancel();
        Ok(self.serving.await??)
    }
}

/// Runs the histories and verifies the result.
///
/// # Errors
/// Fails if a check found a breach.
pub async fn run(host: &dyn Host, count: u32, args: &HistoryArgs) -> Result<(), Failure> {
    let seed = args.seed.unwrap_or_else(|| u64::from(u32::from_le_bytes((&SystemRandom as &dyn Random).bytes())));
    let temp = TempStore::create(host.database_url()).await?;
    eprintln!("{} histories, {} kills each, --seed {seed}, in {}", count, args.kills, temp.location());
    let started = Instant::now();
    let networks = Networks::open(host, &temp.site, QueueConfig::default()).await?;
    let mut supervisor = Supervisor::new(host, &temp, &networks, count, args, seed).await?;
    supervisor.run_all().await?;
    supervisor.run_until_nothing_is_open().await?;
    let (kills, steps) = (supervisor.kills, supervisor.steps);
    let totals = report(&networks, &supervisor.troubles, count).await?;
    networks.stop.cancel();
    println!(
        "{count} histories of {steps} steps, each killed {} times at least, by {kills} kills{}: {} invoices, {} transfers, {} card charges \
         and {} card refunds at the networks, {} of them doubled, {} breaches; {} s, --seed {seed}",
        args.kills,
        if args.wipe_queue { ", the queue wiped at random" } else { "" },
        totals.invoices,
        totals.transfers,
        totals.charges,
        totals.card_refunds,
        totals.duplicated,
        totals.breaches,
        started.elapsed().as_secs()
    );
    networks.store.database.close().await;
    if totals.breaches > 0 {
        return Err(format!("there are {} breaches; the store is left in {}", totals.breaches, temp.location()).into());
    }
    drop(networks);
    temp.remove().await
}

/// Compares a store's records with the movements at the sandbox's networks, which another process runs at `networks`. That process must
/// have been started with fault injection. Nothing may be in progress.
///
/// # Errors
/// Fails if the networks do not answer.
pub async fn compare_with_networks(store: Records<'_>, networks: &Url) -> Result<Vec<Check>, Failure> {
    Ok(count::count(store, networks.as_str().trim_end_matches('/')).await?.checks)
}

/// The totals of a run.
struct Totals {
    invoices: u64,
    transfers: usize,
    charges: usize,
    card_refunds: usize,
    /// Number of attempts that a network executed more than once.
    duplicated: usize,
    breaches: usize,
}

/// Runs all checks and prints their results.
async fn report(networks: &Networks, troubles: &[String], histories: u32) -> Result<Totals, Failure> {
    let mut breaches = 0;
    let mut print = |check: Check| {
        breaches += problems(&check).count();
        println!("{check}");
    };
    verify(&networks.store.database, &mut print).await?;
    let comparison = count::count(networks.store.records(), &networks.address).await?;
    let coverage = (histories >= count::COVERAGE_FROM).then(|| comparison.reached.check());
    for check in comparison.checks.iter().chain(&coverage) {
        breaches += check.breaches.len();
        println!("{check}");
    }
    println!("reached   {}", comparison.reached);
    for trouble in troubles {
        println!("    trouble: {trouble}");
    }
    let row = networks.store.database.read().await?.query("SELECT count(*) AS n FROM invoices").one().await?;
    let Counted { transfers, charges, card_refunds, duplicated, .. } = comparison;
    Ok(Totals { invoices: row.get("n")?, transfers, charges, card_refunds, duplicated, breaches: breaches + troubles.len() })
}

/// The problems that a check found. In a history, a subscription or payment on hold is a problem as well.
fn problems(check: &Check) -> impl Iterator<Item = &String> {
    check.breaches.iter().chain(check.notes.iter().filter(|note| note.ends_with("is on hold")))
}
