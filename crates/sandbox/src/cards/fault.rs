//! Answers that get lost on demand, after the effect: what a network does on a bad day.

use super::call::ApiError;
use serde::Deserialize;
use std::collections::VecDeque;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// More would be a mistake in a test.
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

/// What happens to one answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Fault {
    DropAnswer,
    Error500,
    Delay { millis: u64 },
}

/// Faults of this process that are still to strike, in the order they were asked for.
#[derive(Debug, Default)]
pub(super) struct Faults(Mutex<VecDeque<PlannedFault>>);

impl Faults {
    pub fn add(&self, body: &[u8]) -> Result<(), ApiError> {
        let order: PlannedFault =
            serde_json::from_slice(body).map_err(|error| ApiError::invalid("parameter_invalid", error.to_string()))?;
        if order.count == 0 || order.count > MAX_COUNT || order.value > MAX_DELAY_MS {
            return Err(ApiError::invalid("parameter_invalid", "count is 1 to 10000, value at most 120000".to_owned()));
        }
        self.lock().push_back(order);
        Ok(())
    }

    /// Forgets all that have not struck.
    pub fn clear(&self) {
        self.lock().clear();
    }

    /// The fault that strikes the next answer.
    pub fn next(&self) -> Option<Fault> {
        let mut orders = self.lock();
        let first = orders.front_mut()?;
        let fault = match first.mode {
            Mode::DropAnswer => Fault::DropAnswer,
            Mode::Error500 => Fault::Error500,
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
