//! Random histories of customers behind `souk verify --history N --kills K --seed S`.
//!
//! Many histories run beside each other in a process that is killed again and again, until each of them has survived its kills. The
//! networks run in the supervising process, outside the store, as real networks do. Between two processes some time passes. At the end
//! everything is counted. How a store is composed is up to the [`Host`].

mod actions;
mod args;
mod card_incidents;
mod clock;
mod count;
mod decisions;
mod expected_errors;
mod fixtures;
mod host;
mod money_back;
mod network_client;
mod open_work;
mod process;
mod purchase;
mod rng;
mod sequence;
mod supervisor;
mod temp_store;

pub use args::{HistoryArgs, ProcessArgs};
pub use host::{Host, Pace, Run, Sandbox, Site, Store};
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

/// A failure, as a sentence.
pub type Failure = Box<dyn std::error::Error + Send + Sync>;

/// How long a network may take to answer the calls of a process that was killed.
const LAST_ANSWERS: Duration = Duration::from_secs(10);

/// The networks, in this process.
struct Networks {
    routes: Arc<Route>,
    store: Arc<Store>,
    clock: Arc<ShiftedClock>,
    /// Where this process itself reaches them.
    address: String,
    stop: CancellationToken,
}

/// Where one process reaches the networks. It closes with the process, before any time passes: no call that was made before a jump is
/// answered after it.
struct NetworkListener {
    address: String,
    closing: CancellationToken,
    serving: JoinHandle<std::io::Result<()>>,
}

impl Networks {
    async fn open(host: &dyn Host, site: &Site, queue: QueueConfig) -> Result<Self, Failure> {
        let (acceptor, address) = listen().await?;
        let own = Url::parse(&address)?;
        let clock = Arc::new(ShiftedClock::default());
        let pace = Pace { clock: Arc::clone(&clock) as _, queue };
        let (store, sandbox) = host.compose_with_sandbox(site, &own, pace).await?;
        let stop = CancellationToken::new();
        tokio::spawn((sandbox.run)(stop.clone()));
        let routes = Arc::new(sandbox.routes);
        let server = Server::new_with_acceptor(acceptor).run(Arc::clone(&routes));
        tokio::spawn(stop.clone().run_until_cancelled_owned(server));
        Ok(Self { routes, store: Arc::new(store), clock, address, stop })
    }

    async fn listener(&self) -> Result<NetworkListener, Failure> {
        let (acceptor, address) = listen().await?;
        let closing = CancellationToken::new();
        let server = Server::new_with_acceptor(acceptor);
        let until = closing.clone().cancelled_owned();
        let serving = tokio::spawn(server.run_with_graceful_shutdown(Arc::clone(&self.routes), until, Some(LAST_ANSWERS)));
        Ok(NetworkListener { address, closing, serving })
    }

    /// Withdraws the faults that have not struck yet.
    async fn clear_faults(&self) -> Result<(), Failure> {
        let http = reqwest::Client::builder().no_proxy().build()?;
        for network in ["arcblock", "stripe"] {
            http.delete(format!("{}/sandbox/{network}/faults", self.address)).send().await?.error_for_status()?;
        }
        Ok(())
    }
}

async fn listen() -> Result<(TcpAcceptor, String), Failure> {
    let acceptor = TcpListener::bind("127.0.0.1:0").into_acceptor().await?;
    let bound = acceptor.local_addr().first().and_then(|address| address.as_socket_addr().copied()).ok_or("no address")?;
    Ok((acceptor, format!("http://{bound}")))
}

impl NetworkListener {
    /// Returns when the last call has been answered.
    async fn close(self) -> Result<(), Failure> {
        self.closing.cancel();
        Ok(self.serving.await??)
    }
}

/// Runs the histories and counts. A breach is an error.
pub async fn run(host: &dyn Host, count: u32, args: &HistoryArgs) -> Result<(), Failure> {
    let seed = args.seed.unwrap_or_else(|| u64::from(u32::from_le_bytes((&SystemRandom as &dyn Random).bytes())));
    let temp = TempStore::create(host.database_url()).await?;
    eprintln!("{} histories, {} kills each, --seed {seed}, in {}", count, args.kills, temp.location());
    let begun = Instant::now();
    let networks = Networks::open(host, &temp.site, QueueConfig::default()).await?;
    let mut supervisor = Supervisor::new(host, &temp, &networks, count, args, seed).await?;
    supervisor.run_all().await?;
    supervisor.run_until_nothing_is_open().await?;
    let (kills, steps) = (supervisor.kills, supervisor.steps);
    let figures = report(&networks, &supervisor.troubles).await?;
    networks.stop.cancel();
    println!(
        "{count} histories of {steps} steps, each killed {} times at least, by {kills} kills{}: {} invoices, {} transfers, {} card charges \
         and {} card refunds at the networks, {} of them doubled, {} breaches; {} s, --seed {seed}",
        args.kills,
        if args.wipe_queue { ", the queue wiped at random" } else { "" },
        figures.invoices,
        figures.transfers,
        figures.charges,
        figures.card_refunds,
        figures.doubled,
        figures.breaches,
        begun.elapsed().as_secs()
    );
    networks.store.database.close().await;
    if figures.breaches > 0 {
        return Err(format!("there are {} breaches; the store is left in {}", figures.breaches, temp.location()).into());
    }
    drop(networks);
    temp.remove().await
}

/// What a run comes to.
struct Figures {
    invoices: u64,
    transfers: usize,
    charges: usize,
    card_refunds: usize,
    /// Attempts that a network carried out more than once.
    doubled: usize,
    breaches: usize,
}

/// Prints all checks.
async fn report(networks: &Networks, troubles: &[String]) -> Result<Figures, Failure> {
    let mut breaches = 0;
    let mut print = |check: Check| {
        breaches += problems(&check).count();
        println!("{check}");
    };
    verify(&networks.store.database, &mut print).await?;
    let counted = count::count(&networks.store, &networks.address).await?;
    for check in &counted.checks {
        breaches += check.breaches.len();
        println!("{check}");
    }
    println!("reached   {}", counted.reached);
    for trouble in troubles {
        println!("    trouble: {trouble}");
    }
    let row = networks.store.database.read().await?.query("SELECT count(*) AS n FROM invoices").one().await?;
    let Counted { transfers, charges, card_refunds, doubled, .. } = counted;
    Ok(Figures { invoices: row.get("n")?, transfers, charges, card_refunds, doubled, breaches: breaches + troubles.len() })
}

/// What a check found wrong. In a history nothing may be on hold either.
fn problems(check: &Check) -> impl Iterator<Item = &String> {
    check.breaches.iter().chain(check.notes.iter().filter(|note| note.ends_with("is on hold")))
}
