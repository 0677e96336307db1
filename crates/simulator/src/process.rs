//! The process that is killed: workers, and the histories that go on in it. It prints what has happened, a line each, because nothing
//! else survives.

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

/// A history has at least so many steps.
pub const LEAST_STEPS: u32 = 40;
const PAUSE: Duration = Duration::from_millis(60);
/// Between the steps of a history that has had enough of them, and waits for its kills.
const IDLE: Duration = Duration::from_millis(250);
/// How often a step is tried before it is left out.
const TRIES: u32 = 5;

/// Where a history stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Progress {
    pub number: u32,
    pub step: u32,
    /// The kills it has met.
    pub met: u32,
}

impl Progress {
    /// `number:step:met`.
    pub fn parse(text: &str) -> Result<Self, String> {
        let mut parts = text.split(':').map(|part| part.parse().map_err(|_| format!("expected number:step:met, not {text}")));
        let mut next = || parts.next().unwrap_or_else(|| Err(format!("expected number:step:met, not {text}")));
        Ok(Self { number: next()?, step: next()?, met: next()? })
    }
}

impl std::fmt::Display for Progress {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}:{}:{}", self.number, self.step, self.met)
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

/// Runs the histories of `args` on `site`, which is there, until somebody kills the process.
pub async fn run(host: &dyn Host, site: &Site, args: ProcessArgs) -> Result<(), Failure> {
    let networks = Url::parse(&args.networks)?;
    let pace = Pace { clock: Arc::new(ShiftedClock::by(args.ahead)), queue: fast_queue() };
    let store = Arc::new(host.compose(site, &networks, pace).await?);
    let client = Arc::new(NetworkClient::open(Arc::clone(&store), &args.networks, args.seed).await?);
    println!("open");
    let shutdown = CancellationToken::new();
    tokio::spawn((store.work)(shutdown.clone()));

    let histories: JoinSet<()> = args.progress.into_iter().map(|progress| go_on(Arc::clone(&client), progress, args.kills)).collect();
    histories.join_all().await;
    println!("idle");
    // The workers go on until somebody ends this process.
    std::future::pending::<()>().await;
    Ok(())
}

/// Goes on until it has had its steps and met its kills.
async fn go_on(client: Arc<NetworkClient>, mut progress: Progress, kills: u32) {
    let number = progress.number;
    let fixtures = match Fixtures::of(client.seed, number) {
        Ok(fixtures) => fixtures,
        Err(error) => return println!("trouble {number} {error}"),
    };
    let mut tries = 0;
    loop {
        let ending = progress.step >= LEAST_STEPS && progress.met >= kills;
        let done = if ending { end(&client, &fixtures).await } else { act(&client, &fixtures, progress.step).await.map(|()| true) };
        match done {
            Ok(true) if ending => return println!("ended {number}"),
            Ok(true) => {
                tries = 0;
                progress.step += 1;
                println!("at {number} {}", progress.step);
                if progress.step > LEAST_STEPS {
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
    fn a_standing_reads_back() {
        let progress = Progress { number: 7, step: 3, met: 2 };
        assert_eq!(Progress::parse(&progress.to_string()), Ok(progress));
        assert!(Progress::parse("7:3").is_err() && Progress::parse("7:x:2").is_err());
    }
}
