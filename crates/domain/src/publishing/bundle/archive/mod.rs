//! The subset of tar that bundles may use. It contains nothing that two readers read differently: POSIX `ustar` and GNU headers with
//! strict fields, pax records of known keys, and GNU long names. Everything else is refused by name.
//!
//! Pure: the adapters read blocks, and [`ArchiveRules`] decides about each.

mod entries;
mod error;
mod header;
mod pax;

pub use entries::{ArchiveRules, BlockRole, Entry, EntryKind};
pub use error::{ArchiveError, HeaderField};
pub use header::BLOCK;

/// The limits of a bundle (the issue of publishing).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ArchiveLimits {
    /// The bytes of the compressed bundle.
    pub compressed_max: u64,
    pub entries_max: u64,
    /// The bytes of the tar stream.
    pub unpacked_max: u64,
    /// How many times as long as the compressed bundle the tar stream may be, beyond [`RATIO_FREE`].
    pub ratio_max: u64,
}

/// The bytes that any bundle may unpack to, whatever its ratio: padding alone makes a small archive compress well.
pub const RATIO_FREE: u64 = 1 << 20;

impl Default for ArchiveLimits {
    fn default() -> Self {
        Self { compressed_max: 500 << 20, entries_max: 100_000, unpacked_max: 2 << 30, ratio_max: 200 }
    }
}

impl ArchiveLimits {
    /// Checks how much a bundle of `compressed` bytes has unpacked so far.
    ///
    /// # Errors
    /// The limit that it exceeds.
    pub const fn check_unpacked(&self, compressed: u64, unpacked: u64) -> Result<(), ArchiveError> {
        if unpacked > self.unpacked_max {
            return Err(ArchiveError::UnpackedTooLarge { max: self.unpacked_max });
        }
        if unpacked > RATIO_FREE && unpacked > compressed.saturating_mul(self.ratio_max) {
            return Err(ArchiveError::RatioTooHigh { max: self.ratio_max });
        }
        Ok(())
    }
}
