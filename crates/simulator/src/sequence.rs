//! One history without kills. After each step the whole database is checked, and compared with the networks as soon as no attempt is
//! in flight.

use super::actions::{act, end};
use super::card_incidents::settle_all;
use super::fixtures::Fixtures;
use super::money_back::move_all_failed;
use super::network_client::NetworkClient;
use super::process::fast_queue;
use super::supervisor::LAST_DAYS;
use super::temp_store::TempStore;
use super::{Networks, count, open_work, problems};
use crate::{Failure, Host};
use souk_adapters::verify::verify;
use std::sync::Arc;
use std::time::{Duration, Instant};
use tokio_util::sync::CancellationToken;

/// How often a step is tried: a network on a bad day answers later.
const TRIES: u32 = 5;
const POLL: Duration = Duration::from_millis(20);
/// Attempts that are in flight, while nothing is due for so long, wait for a later time.
const STILL: Duration = Duration::from_millis(300);
/// The time that passes then, in seconds, and how often.
const JUMP: u64 = 600;
const JUMPS: u32 = 4;
/// The longest time that a step may keep the workers busy.
const STEP_LIMIT: Duration = Duration::from_secs(30);

/// A history and its steps. Each number determines all random decisions of its step, so a sequence can be shortened.
#[derive(Debug, Clone)]
pub struct Sequence {
    /// Determines the customer and the subscriptions.
    pub seed: u64,
    pub steps: Vec<u32>,
}

/// Runs a sequence on a temporary database.
///
/// # Errors
/// Every breach after every step, with the number of the step.
pub async fn check_sequence(host: &dyn Host, sequence: &Sequence) -> Result<(), Failure> {
    let temp = TempStore::create(host.database_url()).await?;
    let networks = Networks::open(host, &temp.site, fast_queue()).await?;
    let stop = CancellationToken::new();
    let workers = tokio::spawn((networks.store.work)(stop.clone()));
    let checked = History::enter(&networks, sequence).await?.run(&sequence.steps).await;
    stop.cancel();
    workers.await?;
    networks.stop.cancel();
    networks.store.database.close().await;
    drop(networks);
    temp.remove().await?;
    checked
}

struct History<'a> {
    networks: &'a Networks,
    client: NetworkClient,
    fixtures: Fixtures,
}

impl<'a> History<'a> {
    async fn enter(networks: &'a Networks, sequence: &Sequence) -> Result<Self, Failure> {
        let client = NetworkClient::open(Arc::clone(&networks.store), &networks.address, sequence.seed).await?;
        let fixtures = Fixtures::of(sequence.seed, 0)?;
        fixtures.enter(&client).await?;
        Ok(Self { networks, client, fixtures })
    }

    async fn run(&self, steps: &[u32]) -> Result<(), Failure> {
        for (index, step) in steps.iter().enumerate() {
            let name = format!("step {index} ({step})");
            self.act(*step).await.map_err(|error| format!("{name}: {error}"))?;
            if self.fixtures.clock.is_none() {
                // Without a test clock the customer lives in the time of the store.
                self.networks.clock.jump(u64::from(*step) % self.fixtures.rhythm().as_secs().max(1));
            }
            let is_at_rest = self.rest().await?;
            self.check(&name, is_at_rest).await?;
        }
        self.finish().await
    }

    async fn act(&self, step: u32) -> Result<(), Failure> {
        let mut tries = 0;
        loop {
            match act(&self.client, &self.fixtures, step).await {
                Err(_) if tries < TRIES => tries += 1,
                done => return done,
            }
            tokio::time::sleep(POLL * tries).await;
        }
    }

    /// Waits until nothing is due, and lets some time pass for attempts that wait. True: no attempt is in flight.
    async fn rest(&self) -> Result<bool, Failure> {
        let store = &self.networks.store;
        let begun = Instant::now();
        let (mut idle_since, mut jumps) = (begun, 0);
        loop {
            let (due, in_flight) = (open_work::due(store).await?, open_work::in_flight(store).await?);
            if due == 0 && in_flight == 0 {
                return Ok(true);
            }
            if due > 0 {
                idle_since = Instant::now();
            }
            if begun.elapsed() > STEP_LIMIT {
                return Err(format!("the workers did not finish: {:?}", open_work::left(store).await?).into());
            }
            if idle_since.elapsed() > STILL {
                if jumps == JUMPS {
                    return Ok(false);
                }
                jumps += 1;
                self.networks.clock.jump(JUMP);
                idle_since = Instant::now();
            }
            tokio::time::sleep(POLL).await;
        }
    }

    /// The guards, the journal and the oracle; at rest also what the networks say.
    async fn check(&self, name: &str, is_at_rest: bool) -> Result<(), Failure> {
        let store = &self.networks.store;
        let mut found = Vec::new();
        verify(&store.database, &mut |check| found.extend(problems(&check).cloned())).await?;
        if is_at_rest {
            let counted = count::count(store, &self.networks.address).await?;
            found.extend(counted.checks.iter().flat_map(problems).cloned());
            found.extend((counted.doubled > 0).then(|| format!("{} attempts were carried out twice", counted.doubled)));
        }
        if found.is_empty() { Ok(()) } else { Err(format!("{name}: {}", found.join("; ")).into()) }
    }

    /// The customer leaves, the networks are well, and days pass until nothing is open.
    async fn finish(&self) -> Result<(), Failure> {
        let store = &self.networks.store;
        let mut has_ended = false;
        for days in LAST_DAYS {
            self.networks.clear_faults().await?;
            settle_all(&self.client).await?;
            move_all_failed(&self.client).await?;
            has_ended = has_ended || end(&self.client, &self.fixtures).await?;
            self.networks.clock.jump(days * 86_400);
            let is_at_rest = self.rest().await?;
            if has_ended && is_at_rest && open_work::left(store).await?.is_empty() {
                return self.check("the end", true).await;
            }
        }
        Err(format!("never came to an end: {:?}", open_work::left(store).await?).into())
    }
}
