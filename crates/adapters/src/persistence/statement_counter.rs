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

/// What was sent to the databases since the process started.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Sent {
    pub statements: u64,
    pub commits: u64,
}

#[must_use]
pub fn sent() -> Sent {
    Sent { statements: STATEMENTS.load(Ordering::Relaxed), commits: COMMITS.load(Ordering::Relaxed) }
}
