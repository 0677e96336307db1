//! The state of the installation: whether the clock can be trusted.

mod clock_guard;
mod clock_watch;

pub use clock_guard::{CLOCK_TOLERANCE, ClockDoubt, ClockGuard, Moment, TimeSource};
pub use clock_watch::{ClockState, ClockStates, ClockTrust, ClockWatch, StoredDoubt, UptimeClock, check_clock, confirm_clock};
