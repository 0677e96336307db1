//! Measures the free space of the disks on which the store writes.

use crate::system::host_name;
use souk_domain::operation::{DiskShortage, DiskSpace};
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};

/// The disks of these folders. Logs the begin and the end of a shortage.
#[derive(Debug)]
pub struct SystemDisks {
    folders: Vec<PathBuf>,
    reserve_bytes: u64,
    was_short: AtomicBool,
}

impl SystemDisks {
    /// `reserve_bytes`: 0 switches the check off.
    #[must_use]
    pub const fn new(folders: Vec<PathBuf>, reserve_bytes: u64) -> Self {
        Self { folders, reserve_bytes, was_short: AtomicBool::new(false) }
    }

    fn smallest(&self) -> Option<DiskShortage> {
        let measured = self.folders.iter().filter_map(|folder| match rustix::fs::statvfs(folder) {
            Ok(disk) => Some((folder, disk.f_bavail.saturating_mul(disk.f_frsize))),
            Err(error) => {
                tracing::warn!(folder = %folder.display(), %error, "the free disk space could not be read");
                None
            }
        });
        let (folder, free_bytes) = measured.min_by_key(|(_, free)| *free)?;
        Some(DiskShortage { host: host_name(), folder: folder.display().to_string(), free_bytes, reserve_bytes: self.reserve_bytes })
    }
}

impl DiskSpace for SystemDisks {
    fn shortage(&self) -> Option<DiskShortage> {
        let shortage = self.smallest().filter(|disk| disk.free_bytes < disk.reserve_bytes);
        let was_short = self.was_short.swap(shortage.is_some(), Ordering::Relaxed);
        match &shortage {
            Some(disk) if !was_short => tracing::error!(
                folder = disk.folder,
                free_bytes = disk.free_bytes,
                reserve_bytes = disk.reserve_bytes,
                "the free disk space is below the reserve: new sessions and uploads are refused until space is freed"
            ),
            None if was_short => tracing::warn!("enough disk space is free again: new sessions and uploads are accepted"),
            _ => {}
        }
        shortage
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_disk_is_short_while_less_than_the_reserve_is_free() {
        let folder = tempfile::tempdir().expect("a folder");
        let disks = |reserve| SystemDisks::new(vec![folder.path().to_owned()], reserve);
        assert_eq!(disks(0).shortage(), None);
        assert_eq!(disks(1).shortage(), None, "at least a byte is free");
        let shortage = disks(u64::MAX).shortage().expect("no disk has as much");
        assert_eq!((shortage.folder, shortage.reserve_bytes), (folder.path().display().to_string(), u64::MAX));
        assert!(shortage.free_bytes > 0, "the space is measured");
    }

    #[test]
    fn a_folder_that_cannot_be_measured_refuses_nothing() {
        let folder = tempfile::tempdir().expect("a folder");
        assert_eq!(SystemDisks::new(vec![folder.path().join("absent")], u64::MAX).shortage(), None);
    }
}
