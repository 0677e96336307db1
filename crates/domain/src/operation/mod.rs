//! The state of the installation: whether the clock can be trusted, and what is wrong or risky.

mod clock_guard;
mod clock_judgment;
mod clock_watch;
mod finding;
mod installation;

pub use clock_guard::{CLOCK_TOLERANCE, ClockDoubt, ClockGuard, Moment, TimeSource};
pub(crate) use clock_watch::is_trusted_by_all;
pub use clock_watch::{
    ClockState, ClockStates, ClockTrust, ClockWatch, StoredDoubt, TrustedClock, UptimeClock, check_clock, confirm_clock,
};
pub use finding::{Finding, FindingCode, OwnerNotices, Severity};
pub use installation::{DiskSpace, Installation, InstallationProbe, KeyPlace, KnownInstallation, SeenProxy};
