//! The state of the installation: whether the clock can be trusted, whether disk space is left, how much strangers have made the store
//! keep, whether the store was restored from a backup, and what is wrong or risky.

mod clock_guard;
mod clock_judgment;
mod clock_watch;
mod disk;
mod finding;
mod found_payment;
mod hourly_counts;
mod installation;
mod process_report;
mod restore;
mod visitor_limits;

pub use clock_guard::{CLOCK_TOLERANCE, ClockDoubt, ClockGuard, Moment, TimeSource};
pub(crate) use clock_watch::is_trusted_by_all;
pub use clock_watch::{
    ClockState, ClockStates, ClockTrust, ClockWatch, StoredDoubt, TrustedClock, UptimeClock, check_clock, confirm_clock,
};
pub use disk::{DiskShortage, DiskSpace, NoSpace, UnlimitedDisk};
pub use finding::{Finding, FindingCode, OwnerNotices, Severity};
pub use found_payment::{FOUND_PAYMENTS_MAX, FoundPayment, FoundPayments};
pub use hourly_counts::{HOUR, HourlyCounts, hour_of};
pub use installation::{Installation, InstallationProbe, KeyPlace, KnownInstallation, SeenProxy};
pub use process_report::{ProcessReport, ProcessReports, REPORT_LIFETIME, ReportKind};
pub use restore::{
    ConfirmStoppedError, ImportFailure, PARALLEL_RUN_ALLOWANCE, RESTORE_PAUSE, Restore, RestoreHeld, RestoreHold, Restores, SETTLING_TIME,
    check_restore_hold, confirm_stopped, find_import, find_restore, skip_import,
};
pub use visitor_limits::*;
