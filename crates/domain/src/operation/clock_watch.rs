//! Watches the clock for all processes of a store: what one of them doubts stops the automatic work of all.

use super::clock_judgment::{ClockJudgment, Findings, Process};
use super::{ClockDoubt, Moment};
use crate::context::Context;
use crate::shared::{Clock, Random, StorageError, Timestamp};
use async_trait::async_trait;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

/// A clock that nobody sets and that does not stop while the machine sleeps.
pub trait UptimeClock: Send + Sync {
    /// The time since the machine was started.
    fn uptime(&self) -> Duration;
}

/// Whether automatic work may run.
pub trait ClockTrust: Send + Sync {
    fn is_trusted(&self) -> bool;
    /// Whether the time of this process is right as far as it can know: it trusts its clock, or corrects it by evidence. What depends on
    /// the time and cannot be undone, as an email, waits for that.
    fn knows_time(&self) -> bool {
        true
    }
}

/// For processes that only answer commands, and for simulated clocks, which jump on purpose.
#[derive(Debug, Clone, Copy, Default)]
pub struct TrustedClock;

impl ClockTrust for TrustedClock {
    fn is_trusted(&self) -> bool {
        true
    }
}

/// A doubt that a process of the store has stored.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StoredDoubt {
    /// The process that doubts: a random id, of which it knows no other.
    pub process: String,
    /// Its machine.
    pub host: String,
    pub doubt: ClockDoubt,
    /// When the process began to doubt, by the doubted clock.
    pub at: Timestamp,
    /// Grows while the process still doubts. A number that stands still belongs to a process that has ended.
    pub renewals: u64,
}

/// What the store knows about its clocks.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ClockState {
    /// The latest time at which the clock was trusted.
    pub mark: Option<Timestamp>,
    /// How often an owner has confirmed the clock.
    pub confirmations: u64,
    /// At most one of each process, earliest first.
    pub doubts: Vec<StoredDoubt>,
}

#[async_trait]
pub trait ClockStates: Send {
    /// The default before the first write.
    async fn read(&mut self) -> Result<ClockState, StorageError>;
    /// The time of the database's machine; `None` if the database runs in this process.
    async fn server_time(&mut self) -> Result<Option<Timestamp>, StorageError>;
    /// Sets the mark, unless the stored one is later. With `reset` it is set in any case.
    async fn set_mark(&mut self, mark: Timestamp, reset: bool) -> Result<(), StorageError>;
    /// Stores the doubt of a process, or renews it, if the number of confirmations is still the one that was read. A renewed doubt keeps the
    /// time at which it began.
    async fn raise(&mut self, doubt: &StoredDoubt, confirmations: u64) -> Result<(), StorageError>;
    /// Removes the doubt of a process.
    async fn withdraw(&mut self, process: &str) -> Result<(), StorageError>;
    /// Removes all doubts and the mark, and counts a confirmation.
    async fn confirm(&mut self) -> Result<(), StorageError>;
    /// Makes due in time what a wrong clock has written too far ahead of `now`: checks of attempts, of stakes and of lists of card events,
    /// and messages that wait for a retry or were published by that clock. Times that no interval of the store explains are replaced.
    async fn pull_forward(&mut self, now: Timestamp) -> Result<(), StorageError>;
}

/// The watch of one process. Networks report their time to it, and recurring jobs ask it. It is also the clock of the process: while the
/// machine's clock is doubted, its time is the best one known ([`ClockGuard::time`](super::ClockGuard::time)), so that what is written
/// meanwhile (due times, leases, periods) is right when the clock is right again.
pub struct ClockWatch {
    clock: Arc<dyn Clock>,
    uptime: Arc<dyn UptimeClock>,
    process: Process,
    judgment: Mutex<ClockJudgment>,
}

impl ClockWatch {
    /// `host`: the name of this machine.
    #[must_use]
    pub fn new(clock: Arc<dyn Clock>, uptime: Arc<dyn UptimeClock>, host: String, random: &dyn Random) -> Self {
        let mut id = [0; 16];
        random.fill(&mut id);
        let process = Process { id: format!("{:032x}", u128::from_be_bytes(id)), host };
        let judgment = ClockJudgment::new(Moment { wall: clock.now(), uptime: uptime.uptime() });
        Self { clock, uptime, process, judgment: Mutex::new(judgment) }
    }

    fn moment(&self) -> Moment {
        Moment { wall: self.clock.now(), uptime: self.uptime.uptime() }
    }

    fn with<T>(&self, change: impl FnOnce(&mut ClockJudgment) -> T) -> T {
        change(&mut self.judgment.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// A network has sent its time.
    pub fn hear_network(&self, name: &str, theirs: Timestamp) {
        let now = self.moment();
        self.with(|judgment| judgment.guard.hear_network(name, theirs, now));
    }
}

impl ClockTrust for ClockWatch {
    /// Compares the clocks at this moment, so that a jump is noticed before any work that it would cause. Before the first check of the
    /// store's state nothing runs.
    fn is_trusted(&self) -> bool {
        let now = self.moment();
        self.with(|judgment| judgment.is_trusted(now))
    }

    fn knows_time(&self) -> bool {
        let now = self.moment();
        self.with(|judgment| judgment.knows_time(now))
    }
}

impl Clock for ClockWatch {
    fn now(&self) -> Timestamp {
        let now = self.moment();
        self.with(|judgment| judgment.guard.time(now))
    }
}

/// Compares the clock with the database and the stored mark, and shares the result with the other processes.
#[tracing::instrument(skip_all)]
pub async fn check_clock(ctx: &Context, watch: &ClockWatch) -> Result<(), StorageError> {
    let mut unit = ctx.store.read().await?;
    let stored = unit.clock_states().read().await?;
    let server_time = unit.clock_states().server_time().await?;
    drop(unit);
    let now = watch.moment();
    let findings = watch.with(|judgment| judgment.judge(&watch.process, &stored, server_time, now));
    if findings != Findings::default() {
        record(ctx, watch, &stored, findings).await?;
    }
    if watch.with(|judgment| judgment.has_turned) {
        let mut unit = ctx.store.begin().await?;
        unit.clock_states().pull_forward(watch.now()).await?;
        unit.commit().await?;
        watch.with(|judgment| judgment.has_turned = false);
    }
    Ok(())
}

async fn record(ctx: &Context, watch: &ClockWatch, stored: &ClockState, findings: Findings) -> Result<(), StorageError> {
    let Findings { raise, withdraw, mark } = findings;
    let is_new = |doubt: &StoredDoubt| stored.doubts.iter().all(|known| known.process != doubt.process);
    if let Some(StoredDoubt { doubt, .. }) = raise.as_ref().filter(|doubt| is_new(doubt)) {
        tracing::error!(
            source = doubt.source.name(),
            ahead_seconds = doubt.ahead_seconds,
            "the clock of this machine is doubted: automatic billing stops until it agrees or an owner confirms it"
        );
    }
    let mut unit = ctx.store.begin().await?;
    for process in &withdraw {
        tracing::warn!(process, own = *process == watch.process.id, "a doubt about the clock has ended");
        unit.clock_states().withdraw(process).await?;
    }
    if let Some(doubt) = &raise {
        unit.clock_states().raise(doubt, stored.confirmations).await?;
    }
    if let Some(mark) = mark {
        unit.clock_states().set_mark(mark.at, mark.reset).await?;
    }
    unit.commit().await
}

/// Records that an owner has checked the clocks of all machines. Each process continues at its next check, which sets the mark by the clock
/// of its machine.
#[tracing::instrument(skip_all)]
pub async fn confirm_clock(ctx: &Context) -> Result<(), StorageError> {
    let mut unit = ctx.store.begin().await?;
    unit.clock_states().confirm().await?;
    unit.commit().await
}

/// Whether the clock is trusted by this process and by all others.
pub(crate) async fn is_trusted_by_all(ctx: &Context, unit: &mut dyn crate::storage::UnitOfWork) -> Result<bool, StorageError> {
    Ok(ctx.trust.is_trusted() && unit.clock_states().read().await?.doubts.is_empty())
}
