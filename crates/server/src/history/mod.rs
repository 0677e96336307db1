//! `souk verify --history N --kills K --seed S`: random histories of customers, many beside each other, in a process that is
//! killed again and again until each history has met its kills. The networks stand outside, in this process, as networks do;
//! between two lives some time passes. Then everything is counted.

mod cast;
mod count;
mod deed;
mod dice;
mod life;
mod lives;
mod scratch;
mod teller;
mod time;

pub use life::{Standing, live};

use crate::compose::{Failure, Pace, Parts, compose_at};
use crate::config::{Common, HistoryArgs};
use crate::sandbox;
use crate::verify::{checked, text};
use lives::Lives;
use poem::listener::{Acceptor, Listener, TcpListener};
use poem::{Route, Server};
use scratch::Scratch;
use souk_adapters::queue::QueueConfig;
use souk_adapters::system::SystemRandom;
use souk_adapters::verify::Check;
use souk_domain::shared::Random;
use std::sync::Arc;
use std::time::Instant;
use time::Ahead;
use tokio_util::sync::CancellationToken;
use url::Url;

/// The networks, in this process.
struct Networks {
    address: String,
    parts: Parts,
    clock: Arc<Ahead>,
    stop: CancellationToken,
}

impl Networks {
    async fn open(common: &Common) -> Result<Self, Failure> {
        let acceptor = TcpListener::bind("127.0.0.1:0").into_acceptor().await?;
        let bound = acceptor.local_addr().first().and_then(|address| address.as_socket_addr().copied()).ok_or("no address")?;
        let address = format!("http://{bound}");
        let own = Url::parse(&address)?;
        let clock = Arc::new(Ahead::default());
        let pace = Pace { clock: Arc::clone(&clock) as _, queue: QueueConfig::default() };
        let parts = compose_at(common, own.clone(), own.clone(), pace).await?;
        sandbox::install_methods(&parts).await?;
        let opened = sandbox::open(&parts, &own, true).await?;
        let stop = CancellationToken::new();
        let (processor, until) = (opened.processor, stop.clone());
        tokio::spawn(async move { processor.run(until).await });
        let routes = Route::new().nest("/sandbox/arcblock", opened.ledger).nest("/sandbox/stripe", opened.cards);
        tokio::spawn(stop.clone().run_until_cancelled_owned(Server::new_with_acceptor(acceptor).run(routes)));
        Ok(Self { address, parts, clock, stop })
    }
}

/// Runs the histories and counts. A breach is an error.
pub async fn run(common: &Common, count: u32, args: &HistoryArgs) -> Result<(), Failure> {
    let seed = args.seed.unwrap_or_else(|| u64::from(u32::from_le_bytes((&SystemRandom as &dyn Random).bytes())));
    let scratch = Scratch::make(common).await?;
    eprintln!("{} histories, {} kills each, --seed {seed}, in {}", count, args.kills, scratch.told());
    let begun = Instant::now();
    let networks = Networks::open(&scratch.common).await?;
    let mut lives = Lives::new(&scratch, &networks, count, args, seed);
    lives.until_all_have_ended().await?;
    lives.until_nothing_is_open().await?;
    let (kills, steps) = (lives.kills, lives.steps);
    let breaches = told(&networks, &lives.troubles).await?;
    networks.stop.cancel();
    println!(
        "{} histories, {steps} steps, {kills} kills{} in {} s; seed {seed}",
        count,
        if args.wipe_queue { ", the queue wiped at random," } else { "" },
        begun.elapsed().as_secs()
    );
    networks.parts.database.close().await;
    if breaches > 0 {
        return Err(format!("there are {breaches} breaches; the store is left in {}", scratch.told()).into());
    }
    drop(networks);
    scratch.remove().await
}

/// Prints all checks; answers how many breaches there are. In a history nothing may be parked or go wrong either.
async fn told(networks: &Networks, troubles: &[String]) -> Result<usize, Failure> {
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
    for trouble in troubles {
        println!("    trouble: {trouble}");
    }
    println!("{} transfers and {} card charges at the networks", counted.transfers, counted.charges);
    Ok(breaches + parked + troubles.len())
}
