//! The signature of a manifest: ed25519 over the SHA3-256 of the canonical text, in which the entry of the signature lacks only the
//! signature itself (reference/store.md 5.1).

use super::error::{ManifestErrors, ManifestProblem};
use super::fields::{Fields, Length, TEXT_MAX};
use crate::access::Did;
use crate::shared::{Json, Timestamp};
use std::time::Duration;

/// How long a signature can be used for an upload. Clients sign when they upload; an upload takes at most 30 minutes.
pub const SIGNATURE_LIFETIME: Duration = Duration::from_secs(24 * 3_600);
/// How far the clock of a developer may be ahead.
const AHEAD_MAX: Duration = Duration::from_secs(300);
const MEMBERS: [&str; 6] = ["type", "name", "signer", "pk", "created", "sig"];

/// Why a signature is refused.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum SignatureError {
    #[error("invalid signature")]
    Invalid,
    #[error("invalid signature: it was created more than 24 hours ago, or in the future")]
    NotFresh,
}

/// The one signature of an uploaded manifest.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ManifestSignature {
    /// The DID of the access token, or of the developer.
    pub signer: Did,
    /// Multibase base58 of the ed25519 key.
    pub public_key: String,
    pub created: Timestamp,
    /// Multibase base58.
    pub signature: String,
    /// The text whose SHA3-256 is signed.
    pub signed: String,
}

impl ManifestSignature {
    /// Checks that the signature was made for this upload, and not long ago for another one.
    ///
    /// # Errors
    /// [`SignatureError::NotFresh`].
    pub fn check_fresh(&self, now: Timestamp) -> Result<(), SignatureError> {
        let is_fresh = self.created >= now.minus(SIGNATURE_LIFETIME) && self.created <= now.plus(AHEAD_MAX);
        if is_fresh { Ok(()) } else { Err(SignatureError::NotFresh) }
    }
}

/// Reads the signature of a manifest, which must be its only one. Later signatures, of the store and of the developer, are added when
/// it is published.
pub(super) fn read(
    manifest: &Json,
    fields: &Fields<'_>,
    parse_did: &dyn Fn(&str) -> Option<Did>,
    errors: &mut ManifestErrors,
) -> Option<ManifestSignature> {
    let list_at = fields.at.member("signatures");
    fields.require("signatures", errors)?;
    let [entry] = fields.list("signatures", 1, errors) else {
        errors.add(&list_at, ManifestProblem::Expected("a list of one signature"));
        return None;
    };
    let entry_at = list_at.item(0);
    let one = Fields::of(entry, entry_at, errors)?;
    for name in one.names().filter(|name| !MEMBERS.contains(name)) {
        errors.add(&one.at.member(name), ManifestProblem::NotAllowed);
    }
    let length = Length { min: 1, max: TEXT_MAX, wide: false };
    let mut text = |name: &str| one.required_text(name, length, errors);
    let (kind, signer, public_key, created, signature) = (text("type"), text("signer"), text("pk"), text("created"), text("sig"));
    let (kind, signer, public_key, created, signature) = (kind?, signer?, public_key?, created?, signature?);
    if !kind.eq_ignore_ascii_case("ed25519") {
        errors.add(&one.at.member("type"), ManifestProblem::Expected("ED25519"));
    }
    let signer = parse_did(signer).or_else(|| {
        errors.add(&one.at.member("signer"), ManifestProblem::Expected("a DID"));
        None
    });
    let created = Timestamp::parse_iso(created).or_else(|| {
        errors.add(&one.at.member("created"), ManifestProblem::Expected("a time such as 2026-01-31T12:00:00.000Z"));
        None
    });
    let Json::Object(mut members) = manifest.clone() else { return None };
    members.insert("signatures".to_owned(), Json::List(vec![entry.clone().without(&["sig"])]));
    let signed = Json::Object(members).canonical();
    Some(ManifestSignature {
        signer: signer?,
        public_key: public_key.to_owned(),
        created: created?,
        signature: signature.to_owned(),
        signed,
    })
}
