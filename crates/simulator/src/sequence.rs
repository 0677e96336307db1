//! One history without kills. After each step the whole database is verified, and compared with the networks if no attempt is in
//! flight.

use super::actions::{act, end};
use super::card_incidents::settle_all;
use super::fixtures::Fixtures;
use super::network_client::NetworkClient;
use super::process::fast_queue;
use super::refunds::move_all_failed;
use super::supervisor::FINAL_JUMPS;
use super::temp_store::TempStore;
use super::{Networks, count, open_work, problems};
use crate::{Failure, Host};
use souk_adapters::verify::verify;
use std::sync::Arc;
use std::time::{Duration, Instant};
use tokio_util::sync::CancellationToken;

/// Number of retries of a step, because injected network faults are transient.
const TRIES: u32 = 5;
const POLL: Duration = Duration::from_millis(20);
/// If nothing is due for this long, undecided attempts and clocks are waiting for a later time, and the clock jumps.
const IDLE_TIMEOUT: Duration = Duration::from_millis(300);
/// Length of a clock jump in seconds, and maximum number of jumps per step.
const JUMP: u64 = 600;
const JUMPS_MAX: u32 = 4;
/// Maximum time for the workers to finish a step.
const STEP_TIMEOUT: Duration = Duration::from_secs(30);

/// A history and its steps. Each number determines all random decisions of its step, so that a failing sequence can be shrunk.
#[derive(Debug, Clone)]
pub struct Sequence {
    /// Determines the customer and the subscriptions.
    pub seed: u64,
    pub steps: Vec<u32>,
}

/// Runs a sequence on a temporary database.
///
/// # Errors
/// Fails with the breaches after the first step that has any, and the number of that step.
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
                // Without a test clock the customer follows the store's clock.
                self.networks.clock.jump(u64::from(*step) % self.fixtures.shortest_interval().as_secs().max(1));
            }
            let is_settled = self.wait_until_idle().await?;
            self.check(&name, is_settled).await?;
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

    /// Waits until nothing is due, and lets time pass for attempts and clocks that wait for a later time. Returns whether none is undecided.
    async fn wait_until_idle(&self) -> Result<bool, Failure> {
        let store = &self.networks.store;
        let started = Instant::now();
        let (mut idle_since, mut jumps) = (started, 0);
        loop {
            let (due, undecided) = (open_work::due(store).await?, open_work::undecided(store).await?);
            if due == 0 && undecided == 0 {
                return Ok(true);
            }
            if due > 0 {
                idle_since = Instant::now();
            }
            if started.elapsed() > STEP_TIMEOUT {
                return Err(format!("the workers did not finish: {:?}", open_work::unfinished(store).await?).into());
            }
            if idle_since.elapsed() > IDLE_TIMEOUT {
                if jumps == JUMPS_MAX {
                    return Ok(false);
                }
                jumps += 1;
                self.networks.clock.jump(JUMP);
                idle_since = Instant::now();
            }
            tokio::time::sleep(POLL).await;
        }
    }

    /// Verifies the guards, the journal and the oracle; if nothing is in flight, also compares with the networks.
    async fn check(&self, name: &str, is_settled: bool) -> Result<(), Failure> {
        let store = &self.networks.store;
        let mut found = Vec::new();
        verify(&store.database, &mut |check| found.extend(problems(&check).cloned())).await?;
        if is_settled {
            let comparison = count::count(store.records(), &self.networks.address).await?;
            found.extend(comparison.checks.iter().flat_map(problems).cloned());
            found.extend((comparison.duplicated > 0).then(|| format!("{} attempts were carried out twice", comparison.duplicated)));
        }
        if found.is_empty() { Ok(()) } else { Err(format!("{name}: {}", found.join("; ")).into()) }
    }

    /// Ends the history: subscriptions are canceled, faults are cleared, and days pass until nothing is open.
    async fn finish(&self) -> Result<(), Failure> {
        let store = &self.networks.store;
        let mut has_ended = false;
        for days in FINAL_JUMPS {
            self.networks.clear_faults().await?;
            settle_all(&self.client).await?;
            move_all_failed(&self.client).await?;
            has_ended = has_ended || end(&self.client, &self.fixtures).await?;
            self.networks.clock.jump(days * 86_400);
            let is_settled = self.wait_until_idle().await?;
            if has_ended && is_settled && open_work::unfinished(store).await?.is_empty() {
                return self.check("the end", true).await;
            }
        }
        Err(format!("the history did not finish: {:?}", open_work::unfinished(store).await?).into())
    }
}
