//! What goes wrong during the run: a process is killed, Redis is emptied, networks hang and lose answers.

use super::{MINUTE, Stage};
use crate::buyer::below;
use crate::scale::flush;
use crate::souk::{Settings, Souk};
use reqwest::Method;
use serde_json::json;
use souk_adapters::testing::SeededRandom;
use std::time::{Duration, Instant};
use url::Url;

/// The open files of each process, so that strangers reach the limit of connections.
pub const OPEN_FILES: u32 = 256;
/// How long a network hangs.
const HANG: Duration = Duration::from_secs(12);
/// How long each of its answers takes then: longer than any call waits.
const ANSWER_DELAY: Duration = Duration::from_secs(60);
/// Customers' calls that began while a network hung have ended after this time.
const AFTER_HANG: Duration = Duration::from_secs(6);
/// A new process has opened its connections after this time.
const AFTER_START: Duration = Duration::from_secs(2);
/// A disturbance begins at least this many seconds before the end of its minute.
const MARGIN: u32 = 20;
const NETWORKS: [&str; 2] = ["sandbox/arcblock/faults", "sandbox/stripe/faults"];

pub struct Disturber<'a> {
    pub stage: &'a Stage,
    /// The address of the process that is never killed.
    pub survivor: Url,
    /// The settings of the one that is.
    pub victim: Settings,
    pub begun: Instant,
    pub minutes: u64,
    pub seed: u64,
}

impl Disturber<'_> {
    /// Waits for a random moment of a minute.
    async fn moment(&self, random: &SeededRandom, minute: u64) {
        let minutes = MINUTE * u32::try_from(minute).expect("few minutes");
        let within = Duration::from_millis(below(random, (60 - MARGIN) * 1_000).into());
        tokio::time::sleep_until((self.begun + minutes + within).into()).await;
    }

    /// Sends SIGKILL to one of the two processes in each minute and starts it again. The other one lives, so that its memory can be
    /// compared. Returns the last process.
    pub async fn kill_each_minute(&self, mut running: Souk) -> Souk {
        let random = SeededRandom::new(self.seed ^ 1);
        let address = running.address.clone();
        for minute in 0..self.minutes {
            self.moment(&random, minute).await;
            let from = Instant::now();
            running.kill().await;
            self.stage.client.move_to(vec![self.survivor.clone()]);
            running = self.victim.start_with_open_files(OPEN_FILES).await;
            self.stage.client.move_to(vec![self.survivor.clone(), address.clone()]);
            tokio::time::sleep(AFTER_START).await;
            self.stage.measures.disturbed_since(from);
            self.stage.measures.count(|done| done.kills += 1);
        }
        running
    }

    pub async fn empty_redis_each_minute(&self) {
        let random = SeededRandom::new(self.seed ^ 2);
        for minute in 0..self.minutes {
            self.moment(&random, minute).await;
            flush(&self.stage.redis).await;
            self.stage.measures.count(|done| done.flushes += 1);
        }
    }

    /// In each minute, one of the networks carries out what it is asked to do and does not answer, recovers, and then loses a few answers.
    pub async fn hang_networks(&self) {
        let random = SeededRandom::new(self.seed ^ 3);
        for minute in 0..self.minutes {
            self.moment(&random, minute).await;
            let faults = NETWORKS[usize::try_from(minute % 2).expect("a bit")];
            let at_networks = &self.stage.at_networks;
            let from = Instant::now();
            let delay = u64::try_from(ANSWER_DELAY.as_millis()).expect("short");
            at_networks.post(faults, None, json!({ "mode": "delay_ms", "value": delay, "count": 10_000 })).await.expect("takes orders");
            tokio::time::sleep(HANG).await;
            at_networks.call(Method::DELETE, faults, Default::default()).await.expect("recovers");
            let lost = json!({ "mode": "drop_answer", "count": 1 + below(&random, 3) });
            at_networks.post(faults, None, lost).await.expect("takes orders");
            tokio::time::sleep(AFTER_HANG).await;
            self.stage.measures.disturbed_since(from);
            self.stage.measures.count(|done| done.hangs += 1);
        }
    }
}
