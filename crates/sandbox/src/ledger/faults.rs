//! Fault injection for sent transactions.

use serde::Deserialize;
use std::collections::VecDeque;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// Limits that catch mistakes in tests.
const MAX_COUNT: u32 = 10_000;
const MAX_DELAY_MS: u64 = 120_000;

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Mode {
    /// The transaction takes effect, but the answer is lost.
    DropAnswer,
    /// The request is lost: no effect, no answer.
    DropRequest,
    /// The transaction is rejected and not recorded.
    Decline,
    /// If the transaction is rejected, it is recorded under its hash, whatever the reason.
    RecordRejection,
    /// The transaction takes effect immediately, and the answer is sent `value` milliseconds later.
    DelayMs,
}

/// `{mode, value?, count?}`, the body of `POST /faults`.
#[derive(Debug, Clone, Copy, Deserialize)]
pub struct PlannedFault {
    mode: Mode,
    #[serde(default)]
    value: u64,
    #[serde(default = "once")]
    count: u32,
}

const fn once() -> u32 {
    1
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fault {
    DropAnswer,
    DropRequest,
    Decline,
    RecordRejection,
    Delay { millis: u64 },
}

/// The pending faults, in the order of injection.
#[derive(Debug, Default)]
pub struct Faults(Mutex<VecDeque<PlannedFault>>);

impl Faults {
    /// Adds a fault. Fails if its values are out of range.
    pub fn add(&self, fault: PlannedFault) -> Result<(), &'static str> {
        if fault.count == 0 || fault.count > MAX_COUNT || fault.value > MAX_DELAY_MS {
            return Err("count is 1 to 10000, value at most 120000");
        }
        self.lock().push_back(fault);
        Ok(())
    }

    pub fn clear(&self) {
        self.lock().clear();
    }

    /// Takes the fault for the next transaction.
    pub fn next(&self) -> Option<Fault> {
        let mut pending = self.lock();
        let first = pending.front_mut()?;
        let fault = match first.mode {
            Mode::DropAnswer => Fault::DropAnswer,
            Mode::DropRequest => Fault::DropRequest,
            Mode::Decline => Fault::Decline,
            Mode::RecordRejection => Fault::RecordRejection,
            Mode::DelayMs => Fault::Delay { millis: first.value },
        };
        first.count -= 1;
        if first.count == 0 {
            pending.pop_front();
        }
        Some(fault)
    }

    fn lock(&self) -> MutexGuard<'_, VecDeque<PlannedFault>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
