//! Watches the clock for all processes of a store: what one of them doubts stops the automatic work of all.

use super::{ClockDoubt, ClockGuard, Moment, TimeSource};
use crate::context::Context;
use crate::shared::{Clock, StorageError, Timestamp};
use async_trait::async_trait;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

/// How often the mark is written.
const MARK_INTERVAL: Duration = Duration::from_secs(60);
/// The database as a witness.
const DATABASE: &str = "database";

/// A clock that nobody sets and that does not stop while the machine sleeps.
pub trait UptimeClock: Send + Sync {
    /// The time since the machine was started.
    fn uptime(&self) -> Duration;
}

/// Whether automatic work may run.
pub trait ClockTrust: Send + Sync {
    fn is_trusted(&self) -> bool;
}

/// A doubt that a process of the store has stored.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StoredDoubt {
    pub doubt: ClockDoubt,
    /// The machine whose clock is doubted. Only a process on it can withdraw the doubt; an owner can confirm it away.
    pub host: String,
    /// By the doubted clock.
    pub at: Timestamp,
}

/// What the store knows about its clocks: one row.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ClockState {
    /// The latest time at which the clock was trusted.
    pub mark: Option<Timestamp>,
    /// How often an owner has confirmed the clock.
    pub confirmations: u64,
    pub doubt: Option<StoredDoubt>,
}

#[async_trait]
pub trait ClockStates: Send {
    /// The default before the first write.
    async fn read(&mut self) -> Result<ClockState, StorageError>;
    /// The time of the database's machine; `None` if the database runs in this process.
    async fn server_time(&mut self) -> Result<Option<Timestamp>, StorageError>;
    /// Sets the mark, unless the stored one is later. With `reset` it is set in any case.
    async fn set_mark(&mut self, mark: Timestamp, reset: bool) -> Result<(), StorageError>;
    /// Stores a doubt if there is none, and the number of confirmations is still the one that was read.
    async fn raise(&mut self, doubt: &StoredDoubt, confirmations: u64) -> Result<(), StorageError>;
    /// Removes the doubt about a machine.
    async fn withdraw(&mut self, host: &str) -> Result<(), StorageError>;
    /// Removes any doubt, counts a confirmation, and sets the mark.
    async fn confirm(&mut self, now: Timestamp) -> Result<(), StorageError>;
}

#[derive(Default)]
struct Watched {
    guard: ClockGuard,
    /// The confirmations that this process has taken note of; `None` before its first check.
    confirmations: Option<u64>,
    /// The store has a doubt, of whichever process.
    is_doubted: bool,
}

/// The watch of one process. Networks report their time to it, and recurring jobs ask it.
pub struct ClockWatch {
    clock: Arc<dyn Clock>,
    uptime: Arc<dyn UptimeClock>,
    host: String,
    watched: Mutex<Watched>,
}

impl ClockWatch {
    /// `host`: the name of this machine.
    #[must_use]
    pub fn new(clock: Arc<dyn Clock>, uptime: Arc<dyn UptimeClock>, host: String) -> Self {
        Self { clock, uptime, host, watched: Mutex::default() }
    }

    fn now(&self) -> Moment {
        Moment { wall: self.clock.now(), uptime: self.uptime.uptime() }
    }

    fn with<T>(&self, change: impl FnOnce(&mut Watched) -> T) -> T {
        change(&mut self.watched.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// A network has sent its time.
    pub fn hear_network(&self, name: &str, theirs: Timestamp) {
        let now = self.now();
        self.with(|watched| watched.guard.hear(name, TimeSource::Network, theirs, now));
    }
}

impl ClockTrust for ClockWatch {
    /// Compares the clocks at this moment, so that a jump is noticed before any work that it would cause. Before the first check of the
    /// store's state nothing runs.
    fn is_trusted(&self) -> bool {
        let now = self.now();
        self.with(|watched| {
            watched.guard.tick(now);
            watched.confirmations.is_some() && !watched.is_doubted && watched.guard.doubt().is_none()
        })
    }
}

/// Compares the clock with the database and the stored mark, and shares the result with the other processes.
#[tracing::instrument(skip_all)]
pub async fn check_clock(ctx: &Context, watch: &ClockWatch) -> Result<(), StorageError> {
    let mut unit = ctx.store.read().await?;
    let stored = unit.clock_states().read().await?;
    let server_time = unit.clock_states().server_time().await?;
    drop(unit);
    let now = watch.now();
    let doubt = watch.with(|watched| {
        match watched.confirmations {
            Some(known) if known < stored.confirmations => watched.guard.confirm(now),
            Some(_) => {}
            // A restart is no reason to trust the clock again.
            None => {
                if let Some(doubt) = stored.doubt.as_ref().filter(|doubt| doubt.host == watch.host) {
                    watched.guard.inherit(doubt.doubt);
                }
            }
        }
        watched.confirmations = Some(stored.confirmations);
        watched.guard.tick(now);
        if let Some(mark) = stored.mark {
            watched.guard.compare_mark(now, mark);
        }
        if let Some(theirs) = server_time {
            watched.guard.hear(DATABASE, TimeSource::Database, theirs, now);
        }
        let is_own = stored.doubt.as_ref().is_some_and(|doubt| doubt.host == watch.host);
        watched.is_doubted = stored.doubt.is_some() && !is_own;
        watched.guard.doubt()
    });
    share(ctx, watch, &stored, doubt, now.wall).await
}

async fn share(
    ctx: &Context,
    watch: &ClockWatch,
    stored: &ClockState,
    doubt: Option<ClockDoubt>,
    now: Timestamp,
) -> Result<(), StorageError> {
    let mut unit = ctx.store.begin().await?;
    match (doubt, &stored.doubt) {
        (Some(doubt), None) => {
            tracing::error!(
                source = doubt.source.name(),
                ahead_seconds = doubt.ahead_seconds,
                "the clock of this machine is doubted: automatic billing stops until it agrees or an owner confirms it"
            );
            let doubt = StoredDoubt { doubt, host: watch.host.clone(), at: now };
            unit.clock_states().raise(&doubt, stored.confirmations).await?;
        }
        (None, Some(before)) if before.host == watch.host => {
            tracing::warn!("the clock of this machine is trusted again: automatic billing continues");
            unit.clock_states().withdraw(&watch.host).await?;
            unit.clock_states().set_mark(now, true).await?;
        }
        (None, None) if stored.mark.is_none_or(|mark| now.since(mark) >= MARK_INTERVAL) => {
            unit.clock_states().set_mark(now, false).await?;
        }
        _ => return Ok(()),
    }
    unit.commit().await
}

/// Records that an owner has checked the clocks of all machines. Each process continues at its next check.
#[tracing::instrument(skip_all)]
pub async fn confirm_clock(ctx: &Context) -> Result<(), StorageError> {
    let mut unit = ctx.store.begin().await?;
    unit.clock_states().confirm(ctx.now()).await?;
    unit.commit().await
}
