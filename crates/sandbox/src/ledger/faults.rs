//! Bad days on demand, for transactions that are sent.

use serde::Deserialize;
use std::collections::VecDeque;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// More would be a mistake in a test.
const MAX_COUNT: u32 = 10_000;
const MAX_DELAY_MS: u64 = 120_000;

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Mode {
    /// The transaction takes effect, the answer is lost.
    DropAnswer,
    /// The request is lost: no effect, no answer.
    DropRequest,
    /// Refused without a trace.
    Refuse,
    /// Takes effect at once, answers `value` milliseconds later.
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
    Refuse,
    Delay { millis: u64 },
}

/// Faults that are still to strike, in the order they were asked for.
#[derive(Debug, Default)]
pub struct Faults(Mutex<VecDeque<PlannedFault>>);

impl Faults {
    /// Fails when the order is out of range.
    pub fn add(&self, order: PlannedFault) -> Result<(), &'static str> {
        if order.count == 0 || order.count > MAX_COUNT || order.value > MAX_DELAY_MS {
            return Err("count is 1 to 10000, value at most 120000");
        }
        self.lock().push_back(order);
        Ok(())
    }

    pub fn clear(&self) {
        self.lock().clear();
    }

    /// The fault that strikes the next transaction.
    pub fn next(&self) -> Option<Fault> {
        let mut orders = self.lock();
        let first = orders.front_mut()?;
        let fault = match first.mode {
            Mode::DropAnswer => Fault::DropAnswer,
            Mode::DropRequest => Fault::DropRequest,
            Mode::Refuse => Fault::Refuse,
            Mode::DelayMs => Fault::Delay { millis: first.value },
        };
        first.count -= 1;
        if first.count == 0 {
            orders.pop_front();
        }
        Some(fault)
    }

    fn lock(&self) -> MutexGuard<'_, VecDeque<PlannedFault>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
