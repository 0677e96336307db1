//! Value types that all modules share.

mod address;
mod amount;
mod currency;
mod find_error;
mod ids;
mod input;
mod json;
mod page;
mod picture_format;
mod storage_error;
mod text;
mod timestamp;

pub use address::Address;
pub use amount::{Amount, AmountError, MAX_DECIMALS, Quotient};
pub use currency::Currency;
pub use find_error::FindError;
pub use ids::*;
pub use input::*;
pub use json::Json;
pub use page::{DEFAULT_PAGE_SIZE, Listed, MAX_PAGE_SIZE, Page};
pub use picture_format::PictureFormat;
pub use storage_error::StorageError;
pub use text::{Language, Text};
pub use timestamp::{Clock, Timestamp};

/// Test or live mode. Objects of the two modes never refer to each other (invariant 9).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Mode {
    Test,
    Live,
}

impl Mode {
    #[must_use]
    pub const fn from_livemode(livemode: bool) -> Self {
        if livemode { Self::Live } else { Self::Test }
    }

    #[must_use]
    pub const fn is_live(self) -> bool {
        matches!(self, Self::Live)
    }
}
