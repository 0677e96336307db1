//! The process that is killed: it runs workers and histories. It prints one line per event, because only its output survives a kill.

use super::actions::{act, end};
use super::clock::ShiftedClock;
use super::fixtures::Fixtures;
use super::network_client::NetworkClient;
use crate::{Failure, Host, Pace, ProcessArgs, Site};
use souk_adapters::queue::{Backoff, QueueConfig};
use std::sync::Arc;
use std::time::Duration;
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;
use url::Url;

/// Minimum number of steps of a history.
pub const STEPS_MIN: u32 = 40;
const PAUSE: Duration = Duration::from_millis(60);
/// Pause between steps once a history has enough of them and only waits for its kills.
const IDLE: Duration = Duration::from_millis(250);
/// Number of tries of a step before it is skipped.
const TRIES: u32 = 5;

/// The progress of a history.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Progress {
    pub number: u32,
    pub step: u32,
    /// Number of kills that the history has survived.
    pub kills: u32,
}

impl Progress {
    /// Parses `number:step:kills`.
    pub fn parse(text: &str) -> Result<Self, String> {
        let mut parts = text.split(':').map(|part| part.parse().map_err(|_| format!("expected number:step:kills, not {text}")));
        let mut next = || parts.next().unwrap_or_else(|| Err(format!("expected number:step:kills, not {text}")));
        Ok(Self { number: next()?, step: next()?, kills: next()? })
    }
}

impl std::fmt::Display for Progress {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}:{}:{}", self.number, self.step, self.kills)
    }
}

/// A queue with short periods, so that much happens in a few seconds.
pub fn fast_queue() -> QueueConfig {
    QueueConfig {
        lease: Duration::from_secs(2),
        heartbeat: Duration::from_millis(600),
        relay_poll: Duration::from_millis(200),
        delivery_poll: Duration::from_millis(50),
        shutdown_timeout: Duration::from_secs(2),
        backoff: Backoff { first: Duration::from_millis(300), cap: Duration::from_secs(5) },
        ..QueueConfig::default()
    }
}

/// Runs the histories of `args` on the existing store at `site` until the process is killed.
pub async fn run(host: &dyn Host, site: &Site, args: ProcessArgs) -> Result<(), Failure> {
    let networks = Url::parse(&args.networks)?;
    let pace = Pace { clock: Arc::new(ShiftedClock::by(args.ahead)), queue: fast_queue() };
    let store = Arc::new(host.compose(site, &networks, pace).await?);
    let client = Arc::new(NetworkClient::open(Arc::clone(&store), &args.networks, args.seed).await?);
    println!("open");
    let shutdown = CancellationToken::new();
    tokio::spawn((store.work)(shutdown.clone()));

    let histories: JoinSet<()> = args.progress.into_iter().map(|progress| run_history(Arc::clone(&client), progress, args.kills)).collect();
    histories.join_all().await;
    println!("idle");
    // The workers keep running until the process is killed.
    std::future::pending::<()>().await;
    Ok(())
}

/// Continues a history until it has enough steps and has survived its kills.
async fn run_history(client: Arc<NetworkClient>, mut progress: Progress, kills: u32) {
    let number = progress.number;
    let fixtures = match Fixtures::of(client.seed, number) {
        Ok(fixtures) => fixtures,
        Err(error) => return println!("trouble {number} {error}"),
    };
    let mut tries = 0;
    loop {
        let ending = progress.step >= STEPS_MIN && progress.kills >= kills;
        let result = if ending { end(&client, &fixtures).await } else { act(&client, &fixtures, progress.step).await.map(|()| true) };
        match result {
            Ok(true) if ending => return println!("ended {number}"),
            Ok(true) => {
                tries = 0;
                progress.step += 1;
                println!("at {number} {}", progress.step);
                if progress.step > STEPS_MIN {
                    tokio::time::sleep(IDLE).await;
                }
            }
            Ok(false) => tokio::time::sleep(PAUSE).await,
            Err(error) => {
                tries += 1;
                tokio::time::sleep(PAUSE * tries).await;
                if tries == TRIES && ending {
                    eprintln!("history {number} step {}: {error}", progress.step);
                    tries = 0;
                } else if tries == TRIES {
                    println!("trouble {number} step {}: {error}", progress.step);
                    tries = 0;
                    progress.step += 1;
                    println!("at {number} {}", progress.step);
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn progress_round_trips_through_its_text() {
        let progress = Progress { number: 7, step: 3, kills: 2 };
        assert_eq!(Progress::parse(&progress.to_string()), Ok(progress));
        assert!(Progress::parse("7:3").is_err() && Progress::parse("7:x:2").is_err());
    }
}
