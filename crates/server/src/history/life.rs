//! One life of the process that is killed: workers, and the histories that go on in it. What has happened is told on the
//! output, a line each, because nothing else survives.

use super::cast::Cast;
use super::deed::{act, end};
use super::teller::Teller;
use super::time::Ahead;
use crate::compose::{Failure, Pace, compose_at};
use crate::config::LifeArgs;
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
pub struct Standing {
    pub number: u32,
    pub step: u32,
    /// The kills it has met.
    pub met: u32,
}

impl Standing {
    /// `number:step:met`.
    pub fn parse(text: &str) -> Result<Self, String> {
        let mut parts = text.split(':').map(|part| part.parse().map_err(|_| format!("expected number:step:met, not {text}")));
        let mut next = || parts.next().unwrap_or_else(|| Err(format!("expected number:step:met, not {text}")));
        Ok(Self { number: next()?, step: next()?, met: next()? })
    }
}

impl std::fmt::Display for Standing {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}:{}:{}", self.number, self.step, self.met)
    }
}

pub async fn live(args: LifeArgs) -> Result<(), Failure> {
    let networks = Url::parse(&args.networks)?;
    let queue = QueueConfig {
        lease: Duration::from_secs(2),
        heartbeat: Duration::from_millis(600),
        relay_poll: Duration::from_millis(200),
        delivery_poll: Duration::from_millis(50),
        patience: Duration::from_secs(2),
        backoff: Backoff { first: Duration::from_millis(300), cap: Duration::from_secs(5) },
        ..QueueConfig::default()
    };
    let pace = Pace { clock: Arc::new(Ahead::by(args.ahead)), queue };
    let parts = Arc::new(compose_at(&args.common, networks.clone(), networks, pace).await?);
    let teller = Arc::new(Teller::open(Arc::clone(&parts), &args.networks, args.seed).await?);
    println!("open");
    let shutdown = CancellationToken::new();
    let stop = shutdown.clone();
    tokio::spawn(async move { parts.work(stop).await });

    let histories: JoinSet<()> = args.stories.into_iter().map(|standing| go_on(Arc::clone(&teller), standing, args.kills)).collect();
    histories.join_all().await;
    println!("idle");
    // The workers go on until somebody ends this process.
    std::future::pending::<()>().await;
    Ok(())
}

/// Goes on until it has had its steps and met its kills.
async fn go_on(teller: Arc<Teller>, mut standing: Standing, kills: u32) {
    let number = standing.number;
    let cast = match Cast::of(teller.seed, number) {
        Ok(cast) => cast,
        Err(error) => return println!("trouble {number} {error}"),
    };
    let mut tries = 0;
    loop {
        let ending = standing.step >= LEAST_STEPS && standing.met >= kills;
        let done = if ending { end(&teller, &cast).await } else { act(&teller, &cast, standing.step).await.map(|()| true) };
        match done {
            Ok(true) if ending => return println!("ended {number}"),
            Ok(true) => {
                tries = 0;
                standing.step += 1;
                println!("at {number} {}", standing.step);
                if standing.step > LEAST_STEPS {
                    tokio::time::sleep(IDLE).await;
                }
            }
            Ok(false) => tokio::time::sleep(PAUSE).await,
            Err(error) => {
                tries += 1;
                tokio::time::sleep(PAUSE * tries).await;
                if tries == TRIES && ending {
                    eprintln!("history {number} step {}: {error}", standing.step);
                    tries = 0;
                } else if tries == TRIES {
                    println!("trouble {number} step {}: {error}", standing.step);
                    tries = 0;
                    standing.step += 1;
                    println!("at {number} {}", standing.step);
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
        let standing = Standing { number: 7, step: 3, met: 2 };
        assert_eq!(Standing::parse(&standing.to_string()), Ok(standing));
        assert!(Standing::parse("7:3").is_err() && Standing::parse("7:x:2").is_err());
    }
}
