//! The state of the installation: whether the clock can be trusted, and how much strangers have made it keep.

mod clock_guard;
mod clock_judgment;
mod clock_watch;
mod hourly_counts;
mod visitor_limits;

pub use clock_guard::{CLOCK_TOLERANCE, ClockDoubt, ClockGuard, Moment, TimeSource};
pub(crate) use clock_watch::is_trusted_by_all;
pub use clock_watch::{
    ClockState, ClockStates, ClockTrust, ClockWatch, StoredDoubt, TrustedClock, UptimeClock, check_clock, confirm_clock,
};
pub use hourly_counts::{HOUR, HourlyCounts, hour_of};
pub use visitor_limits::*;
