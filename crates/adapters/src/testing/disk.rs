//! A disk whose space a test sets.

use souk_domain::operation::{DiskShortage, DiskSpace};
use std::sync::atomic::{AtomicBool, Ordering};

/// A disk that has enough space until a test says otherwise.
#[derive(Debug, Default)]
pub struct TestDisk(AtomicBool);

impl TestDisk {
    pub fn set_short(&self, is_short: bool) {
        self.0.store(is_short, Ordering::SeqCst);
    }
}

impl DiskSpace for TestDisk {
    fn shortage(&self) -> Option<DiskShortage> {
        let disk = DiskShortage { host: "shop-1".to_owned(), folder: "/srv/souk".to_owned(), free_bytes: 1_000, reserve_bytes: 2_000 };
        self.0.load(Ordering::SeqCst).then_some(disk)
    }
}
