//! The refusals of blocked digests.

use super::{Problem, conflict, rejected};
use souk_domain::publishing::digests::{BLOCKED_DIGESTS_MAX, DigestError};
use souk_domain::publishing::review::BLOCK_REASON_MAX;

impl From<DigestError> for Problem {
    fn from(error: DigestError) -> Self {
        match error {
            DigestError::NoDigest => rejected(&error, "DIGEST_INVALID"),
            DigestError::ReasonRequired => rejected(&error, "DIGEST_REASON_REQUIRED"),
            DigestError::ReasonTooLong => rejected(&error, "DIGEST_REASON_TOO_LONG").param("max", BLOCK_REASON_MAX),
            DigestError::TooMany => conflict(&error, "TOO_MANY_BLOCKED_DIGESTS").param("max", BLOCKED_DIGESTS_MAX),
            DigestError::NotFound => Self::not_found(),
            DigestError::Input(error) => error.into(),
            DigestError::Storage(error) => error.into(),
        }
    }
}
