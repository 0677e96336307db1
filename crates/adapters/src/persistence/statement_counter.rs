//! Counts the statements and commits of this process, for tests and benchmarks.

use std::sync::atomic::{AtomicU64, Ordering};

static STATEMENTS: AtomicU64 = AtomicU64::new(0);
static COMMITS: AtomicU64 = AtomicU64::new(0);

pub(super) fn statement() {
    STATEMENTS.fetch_add(1, Ordering::Relaxed);
}

pub(super) fn commit() {
    COMMITS.fetch_add(1, Ordering::Relaxed);
}

/// Returns the number of statements and the number of commits since the process started.
#[must_use]
pub fn made() -> (u64, u64) {
    (STATEMENTS.load(Ordering::Relaxed), COMMITS.load(Ordering::Relaxed))
}
