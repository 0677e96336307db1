//! `souk verify --history N --kills K --seed S`: random histories of customers, many beside each other, in a process that is
//! killed again and again until each history has met its kills. The networks stand outside, in this process, as networks do;
//! between two lives some time passes. Then everything is counted.

mod cast;
mod choice;
mod count;
mod deed;
mod dice;
mod life;
mod lives;
mod purchase;
mod rules;
mod scratch;
mod teller;
mod time;

pub use life::{Standing, live};

use crate::compose::{Failure, Pace, Parts, compose_at};
use crate::config::{Common, HistoryArgs};
use crate::sandbox;
use crate::verify::{checked, text};
use count::Counted;
use lives::Lives;
use poem::listener::{Acceptor, Listener, TcpAcceptor, TcpListener};
use poem::{Route, Server};
use scratch::Scratch;
use souk_adapters::queue::QueueConfig;
use souk_adapters::system::SystemRandom;
use souk_adapters::verify::Check;
use souk_domain::shared::Random;
use std::sync::Arc;
use std::time::{Duration, Instant};
use time::Ahead;
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;
use url::Url;

/// How long a network may take to answer what the dead have asked.
const LAST_ANSWERS: Duration = Duration::from_secs(10);

/// The networks, in this process.
struct Networks {
    routes: Arc<Route>,
    parts: Arc<Parts>,
    clock: Arc<Ahead>,
    /// Where this process itself reaches them.
    address: String,
    stop: CancellationToken,
}

/// The networks' door during one life. It closes when the life is over, before any time passes: no call that was made before a
/// jump is answered after it.
struct Door {
    address: String,
    closing: CancellationToken,
    serving: JoinHandle<std::io::Result<()>>,
}

impl Networks {
    async fn open(common: &Common) -> Result<Self, Failure> {
        let (acceptor, address) = listen().await?;
        let own = Url::parse(&address)?;
        let clock = Arc::new(Ahead::default());
        let pace = Pace { clock: Arc::clone(&clock) as _, queue: QueueConfig::default() };
        let parts = compose_at(common, own.clone(), own.clone(), pace).await?;
        // Before there are methods: then the processor has nobody to send its events to.
        let opened = sandbox::open(&parts, &own, true).await?;
        sandbox::install_methods(&parts).await?;
        let stop = CancellationToken::new();
        let (processor, until) = (opened.processor, stop.clone());
        tokio::spawn(async move { processor.run(until).await });
        let routes = Arc::new(Route::new().nest("/sandbox/arcblock", opened.ledger).nest("/sandbox/stripe", opened.cards));
        let server = Server::new_with_acceptor(acceptor).run(Arc::clone(&routes));
        tokio::spawn(stop.clone().run_until_cancelled_owned(server));
        Ok(Self { routes, parts: Arc::new(parts), clock, address, stop })
    }

    async fn door(&self) -> Result<Door, Failure> {
        let (acceptor, address) = listen().await?;
        let closing = CancellationToken::new();
        let server = Server::new_with_acceptor(acceptor);
        let until = closing.clone().cancelled_owned();
        let serving = tokio::spawn(server.run_with_graceful_shutdown(Arc::clone(&self.routes), until, Some(LAST_ANSWERS)));
        Ok(Door { address, closing, serving })
    }

    /// What was ordered to go wrong and has not yet does not.
    async fn end_bad_days(&self) -> Result<(), Failure> {
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

impl Door {
    /// Returns when the last call has been answered.
    async fn close(self) -> Result<(), Failure> {
        self.closing.cancel();
        Ok(self.serving.await??)
    }
}

/// Runs the histories and counts. A breach is an error.
pub async fn run(common: &Common, count: u32, args: &HistoryArgs) -> Result<(), Failure> {
    let seed = args.seed.unwrap_or_else(|| u64::from(u32::from_le_bytes((&SystemRandom as &dyn Random).bytes())));
    let scratch = Scratch::make(common).await?;
    eprintln!("{} histories, {} kills each, --seed {seed}, in {}", count, args.kills, scratch.told());
    let begun = Instant::now();
    let networks = Networks::open(&scratch.common).await?;
    let mut lives = Lives::new(&scratch, &networks, count, args, seed).await?;
    lives.until_all_have_ended().await?;
    lives.until_nothing_is_open().await?;
    let (kills, steps) = (lives.kills, lives.steps);
    let figures = told(&networks, &lives.troubles).await?;
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
    networks.parts.database.close().await;
    if figures.breaches > 0 {
        return Err(format!("there are {} breaches; the store is left in {}", figures.breaches, scratch.told()).into());
    }
    drop(networks);
    scratch.remove().await
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

/// Prints all checks. In a history nothing may be parked or go wrong either.
async fn told(networks: &Networks, troubles: &[String]) -> Result<Figures, Failure> {
    let mut parked = 0;
    let mut tell = |check: Check| {
        parked += check.notes.iter().filter(|note| note.ends_with("is parked")).count();
        println!("{}", text(&check));
    };
    let mut breaches = checked(&networks.parts.database, &mut tell).await?;
    let counted = count::count(&networks.parts, &networks.address).await?;
    for check in &counted.checks {
        breaches += check.breaches.len();
        println!("{}", text(check));
    }
    println!("reached   {}", counted.reached);
    for trouble in troubles {
        println!("    trouble: {trouble}");
    }
    let row = networks.parts.database.read().await?.query("SELECT count(*) AS n FROM invoices").one().await?;
    let Counted { transfers, charges, card_refunds, doubled, .. } = counted;
    Ok(Figures { invoices: row.get("n")?, transfers, charges, card_refunds, doubled, breaches: breaches + parked + troubles.len() })
}
