//! The state of the installation: whether the clock can be trusted, and whether disk space is left.

mod clock_guard;
mod clock_judgment;
mod clock_watch;
mod disk;

pub use clock_guard::{CLOCK_TOLERANCE, ClockDoubt, ClockGuard, Moment, TimeSource};
pub(crate) use clock_watch::is_trusted_by_all;
pub use clock_watch::{
    ClockState, ClockStates, ClockTrust, ClockWatch, StoredDoubt, TrustedClock, UptimeClock, check_clock, confirm_clock,
};
pub use disk::{DiskShortage, DiskSpace, NoSpace, UnlimitedDisk};
