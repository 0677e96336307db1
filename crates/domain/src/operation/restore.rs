//! A store that was restored from a backup. Its original may still be running, or have run after the backup was taken. So the restored
//! store sends nothing and lets no time pass for its customers, until an owner has stated that the original is stopped and what the
//! networks did since the backup is imported. Meanwhile it reads, and reconciles what it knows.

use crate::context::Context;
use crate::shared::{StorageError, Timestamp};
use async_trait::async_trait;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

/// How long a job that cannot stay due waits before it is looked at again.
pub const RESTORE_PAUSE: Duration = Duration::from_secs(30);

/// The first import numbers documents while the original may still be running. So the numbers that a restore skips first suffice until the
/// original has run beside the restored store for this long.
pub const PARALLEL_RUN_ALLOWANCE: Duration = Duration::from_secs(7 * 24 * 3_600);

/// The restore of this store from a backup.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Restore {
    pub restored_at: Timestamp,
    /// When the backup was taken.
    pub backup_at: Timestamp,
    /// When an owner stated that the original is stopped and will not be started again.
    pub stopped_at: Option<Timestamp>,
    /// The user or command that stated it.
    pub stopped_by: Option<String>,
    /// When the complete import from the networks began: the first one, or since the original was stopped, the one after that.
    pub imported_at: Option<Timestamp>,
    /// Why the import that is missing is not complete, and when it was tried.
    pub import_failure: Option<ImportFailure>,
    /// Since when the store sends again.
    pub released_at: Option<Timestamp>,
}

/// Why an import from the networks is not complete.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ImportFailure {
    pub reason: String,
    pub at: Timestamp,
}

/// How long after the statement that the original is stopped the last import begins. A network lists a payment that the original has sent
/// at its end only after a moment: a chain once it is in a block and its index.
pub const SETTLING_TIME: Duration = Duration::from_secs(120);

/// An incomplete import is repeated after this time, because it asks the networks for everything again.
const IMPORT_RETRY_DELAY: Duration = Duration::from_secs(30);

impl Restore {
    #[must_use]
    pub const fn of(backup_at: Timestamp, restored_at: Timestamp) -> Self {
        Self { restored_at, backup_at, stopped_at: None, stopped_by: None, imported_at: None, import_failure: None, released_at: None }
    }

    #[must_use]
    pub const fn is_held(&self) -> bool {
        self.released_at.is_none()
    }

    /// Whether an import is missing: the first one, or the one after the original was stopped, which is complete. No times are compared,
    /// because they can be those of different clocks.
    #[must_use]
    pub const fn needs_import(&self) -> bool {
        self.is_held() && self.imported_at.is_none()
    }

    /// Whether an import begins at `now`: it is needed, and was not tried a moment ago.
    #[must_use]
    pub fn imports_at(&self, now: Timestamp) -> bool {
        // A time in the future was written by a clock that was ahead.
        let is_retry_due = |failure: &ImportFailure| now < failure.at || now >= failure.at.plus(IMPORT_RETRY_DELAY);
        self.needs_import() && self.import_failure.as_ref().is_none_or(is_retry_due)
    }

    /// Whether the store may send: its original is stopped, and everything that the original did is imported.
    #[must_use]
    pub fn is_ready(&self) -> bool {
        self.is_held() && self.stopped_at.is_some() && !self.needs_import()
    }
}

#[async_trait]
pub trait Restores: Send {
    /// The last restore; `None`: the store was not restored from a backup.
    async fn latest(&mut self) -> Result<Option<Restore>, StorageError>;
    /// Stores the last restore. It becomes later than those before it, also if its clock says otherwise. Returns it as it is stored.
    async fn insert(&mut self, restore: Restore) -> Result<Restore, StorageError>;
    /// Records an owner's statement that the original is stopped; imports before it do not count any more. False: the store is not held,
    /// or somebody has stated it before.
    async fn state_stopped(&mut self, by: &str, now: Timestamp) -> Result<bool, StorageError>;
    /// Skips the document numbers that the original can have used from the backup until `until`, and records them as gaps. Called again with
    /// a later time, it skips more; numbers that were used since the restore stay.
    async fn skip_numbers(&mut self, restore: &Restore, until: Timestamp) -> Result<(), StorageError>;
    /// Records an import that began at `began` with this `restore`; `failure`: why it is not complete. If the original was stated to be
    /// stopped since, nothing is recorded, because it may have gone on after the import.
    async fn record_import(&mut self, restore: &Restore, began: Timestamp, failure: Option<&str>) -> Result<(), StorageError>;
    /// Ends the hold of every restore.
    async fn release(&mut self, now: Timestamp) -> Result<(), StorageError>;
}

/// Whether this process holds back what a restored store must not do yet. It begins with the stored state, and can only end: a database
/// that a process has opened is not empty, so nobody restores into it.
#[derive(Debug, Default)]
pub struct RestoreHold {
    is_held: AtomicBool,
    /// [`SETTLING_TIME`], except in tests.
    settling_time: Duration,
    /// The statement that this process has seen last, and when.
    seen: Mutex<Option<SeenStatement>>,
}

#[derive(Debug, Clone, Copy)]
struct SeenStatement {
    stopped_at: Timestamp,
    seen_at: Timestamp,
}

impl RestoreHold {
    #[must_use]
    pub const fn new(is_held: bool, settling_time: Duration) -> Self {
        Self { is_held: AtomicBool::new(is_held), settling_time, seen: Mutex::new(None) }
    }

    #[must_use]
    pub fn is_held(&self) -> bool {
        self.is_held.load(Ordering::Acquire)
    }

    fn end(&self) {
        self.is_held.store(false, Ordering::Release);
    }

    /// Whether networks list by now what the original had sent when it was stopped. Measured by this process alone, because the clock of
    /// the one that recorded the statement can be another.
    fn has_settled(&self, stopped_at: Timestamp, now: Timestamp) -> bool {
        let mut seen = self.seen.lock().unwrap_or_else(PoisonError::into_inner);
        let since = match *seen {
            Some(SeenStatement { stopped_at: before, seen_at }) if before == stopped_at && seen_at <= now => seen_at,
            _ => {
                *seen = Some(SeenStatement { stopped_at, seen_at: now });
                now
            }
        };
        now >= since.plus(self.settling_time)
    }
}

/// The store was restored from a backup and is held.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error(
    "This store was restored from a backup. Orders, payments and emails continue once an owner has confirmed that its original is stopped."
)]
pub struct RestoreHeld;

/// Why a statement about the original is not recorded.
#[derive(Debug, thiserror::Error)]
pub enum ConfirmStoppedError {
    #[error("This store does not wait for a confirmation")]
    NotWaiting,
    #[error(transparent)]
    Storage(#[from] StorageError),
}

/// The last restore of this store.
pub async fn find_restore(ctx: &Context) -> Result<Option<Restore>, StorageError> {
    ctx.store.read().await?.restores().latest().await
}

/// Records the statement of an owner that the original of this store is stopped and will not be started again. Only now it is known how
/// long the original can have used document numbers, so no later document of this store has one of them.
#[tracing::instrument(skip_all)]
pub async fn confirm_stopped(ctx: &Context, by: &str) -> Result<Restore, ConfirmStoppedError> {
    let (mut unit, now) = (ctx.store.begin().await?, ctx.now());
    if !unit.restores().state_stopped(by, now).await? {
        return Err(ConfirmStoppedError::NotWaiting);
    }
    let restore = unit.restores().latest().await?.ok_or(ConfirmStoppedError::NotWaiting)?;
    unit.restores().skip_numbers(&restore, now).await?;
    unit.commit().await?;
    tracing::warn!(by, "the original of this restored store is confirmed to be stopped");
    Ok(restore)
}

/// The restore of a held store if an import begins at `now`: see [`Restore::imports_at`]. After the statement of an owner it begins once the
/// networks list what the original had sent at its end.
pub async fn find_import(ctx: &Context, now: Timestamp) -> Result<Option<Restore>, StorageError> {
    let restore = find_restore(ctx).await?.filter(|restore| restore.imports_at(now));
    let has_settled = |restore: &Restore| match (restore.stopped_at, ctx.networks.restore_hold()) {
        (Some(stopped_at), Some(hold)) => hold.has_settled(stopped_at, now),
        _ => true,
    };
    Ok(restore.filter(has_settled))
}

/// Counts the import as complete although a network cannot be asked, such as one whose account is closed. An owner answers for what it may
/// have moved since the backup.
pub async fn skip_import(ctx: &Context) -> Result<(), StorageError> {
    let mut unit = ctx.store.begin().await?;
    let Some(restore) = unit.restores().latest().await? else { return Ok(()) };
    unit.restores().record_import(&restore, ctx.now(), None).await?;
    unit.commit().await?;
    tracing::warn!("the restored store continues without a complete import from its networks");
    Ok(())
}

/// Ends the hold if the store may send, or learns that another process has ended it. Returns whether it continues.
#[tracing::instrument(skip_all)]
pub async fn check_restore_hold(ctx: &Context) -> Result<bool, StorageError> {
    let Some(hold) = ctx.networks.restore_hold().filter(|hold| hold.is_held()) else { return Ok(false) };
    let restore = find_restore(ctx).await?;
    if restore.as_ref().is_some_and(Restore::is_ready) {
        let mut unit = ctx.store.begin().await?;
        unit.restores().release(ctx.now()).await?;
        unit.commit().await?;
        tracing::warn!("the restored store continues: it charges, refunds and sends emails again");
    } else if restore.as_ref().is_some_and(Restore::is_held) {
        return Ok(true);
    }
    hold.end();
    Ok(false)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(seconds: i64) -> Timestamp {
        Timestamp::from_seconds(seconds)
    }

    #[test]
    fn a_restored_store_sends_after_an_import_since_the_original_was_stopped() {
        let restored = Restore::of(at(100), at(200));
        assert!(restored.is_held() && restored.needs_import() && !restored.is_ready());
        let imported = Restore { imported_at: Some(at(210)), ..restored.clone() };
        assert!(!imported.needs_import() && !imported.is_ready());
        // The original may have gone on after that import.
        let stopped = Restore { stopped_at: Some(at(220)), ..restored };
        assert!(stopped.needs_import() && !stopped.is_ready());
        // The process that imports may have another clock than the one at which the owner confirmed.
        for time in [at(220), at(100), at(100_000)] {
            let again = Restore { imported_at: Some(time), ..stopped.clone() };
            assert!(!again.needs_import() && again.is_ready());
        }
        let again = Restore { imported_at: Some(at(220)), ..stopped };
        let released = Restore { released_at: Some(at(230)), ..again };
        assert!(!released.is_held() && !released.needs_import() && !released.is_ready());
    }

    #[test]
    fn an_incomplete_import_is_repeated_after_a_while() {
        let restored = Restore::of(at(100), at(200));
        assert!(restored.imports_at(at(200)));
        let failed = Restore { import_failure: Some(ImportFailure { reason: "no answer".to_owned(), at: at(200) }), ..restored };
        assert!(!failed.imports_at(at(229)) && failed.imports_at(at(230)));
        assert!(failed.imports_at(at(199)), "the clock was ahead when the import failed");
    }

    #[test]
    fn a_hold_begins_as_stored_and_only_ends() {
        let hold = RestoreHold::new(true, Duration::ZERO);
        assert!(hold.is_held());
        hold.end();
        assert!(!hold.is_held());
        assert!(!RestoreHold::default().is_held());
    }

    #[test]
    fn the_last_import_begins_a_while_after_this_process_has_seen_the_statement() {
        let hold = RestoreHold::new(true, Duration::from_secs(120));
        for (stopped, now, expected) in [
            (100, 5_000, false),
            (100, 5_119, false),
            (100, 5_120, true),
            // Another restore was confirmed.
            (200, 5_121, false),
            // The clock was set back.
            (200, 4_000, false),
            (200, 4_120, true),
        ] {
            assert_eq!(hold.has_settled(at(stopped), at(now)), expected, "stopped at {stopped}, seen at {now}");
        }
        assert!(RestoreHold::new(true, Duration::ZERO).has_settled(at(1), at(1)));
    }
}
