//! Fault injection: answers that are lost, delayed or replaced by an error after the effect was committed.

use super::call::ApiError;
use serde::Deserialize;
use std::collections::VecDeque;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// Limits that catch mistakes in tests.
const MAX_COUNT: u32 = 10_000;
const MAX_DELAY_MS: u64 = 120_000;

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Mode {
    DropAnswer,
    #[serde(rename = "error_500")]
    Error500,
    DelayMs,
}

/// `{mode, value?, count?}`, the body of `POST /faults`.
#[derive(Debug, Clone, Copy, Deserialize)]
struct PlannedFault {
    mode: Mode,
    /// Milliseconds of `delay_ms`.
    #[serde(default)]
    value: u64,
    #[serde(default = "once")]
    count: u32,
}

const fn once() -> u32 {
    1
}

/// The fault of one answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Fault {
    DropAnswer,
    Error500,
    Delay { millis: u64 },
}

/// The pending faults of this process, in the order of injection.
#[derive(Debug, Default)]
pub(super) struct Faults(Mutex<VecDeque<PlannedFault>>);

impl Faults {
    pub fn add(&self, body: &[u8]) -> Result<(), ApiError> {
        let fault: PlannedFault =
            serde_json::from_slice(body).map_err(|error| ApiError::invalid("parameter_invalid", error.to_string()))?;
        if fault.count == 0 || fault.count > MAX_COUNT || fault.value > MAX_DELAY_MS {
            return Err(ApiError::invalid("parameter_invalid", "count is 1 to 10000, value at most 120000".to_owned()));
        }
        self.lock().push_back(fault);
        Ok(())
    }

    /// Removes all pending faults.
    pub fn clear(&self) {
        self.lock().clear();
    }

    /// Takes the fault for the next answer.
    pub fn next(&self) -> Option<Fault> {
        let mut pending = self.lock();
        let first = pending.front_mut()?;
        let fault = match first.mode {
            Mode::DropAnswer => Fault::DropAnswer,
            Mode::Error500 => Fault::Error500,
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
