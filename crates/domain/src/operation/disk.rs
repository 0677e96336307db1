//! The reserve of disk space: below it, the store takes nothing new, so that payments in progress can still be recorded.

/// A disk with less free space than the reserve.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DiskShortage {
    /// The machine.
    pub host: String,
    /// A folder on the disk in which the store writes.
    pub folder: String,
    pub free_bytes: u64,
    pub reserve_bytes: u64,
}

/// Something new is not accepted, because the remaining disk space is reserved for payments in progress.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("Sorry, the store is out of disk space and cannot accept this at the moment. Please try again later.")]
pub struct NoSpace;

/// The disks on which this process writes.
pub trait DiskSpace: Send + Sync + std::fmt::Debug {
    /// The disk with the least free space, if that is below the reserve. Called for each new session, so it must be fast.
    fn shortage(&self) -> Option<DiskShortage>;
}

/// For processes that accept nothing from visitors.
#[derive(Debug, Clone, Copy, Default)]
pub struct UnlimitedDisk;

impl DiskSpace for UnlimitedDisk {
    fn shortage(&self) -> Option<DiskShortage> {
        None
    }
}
