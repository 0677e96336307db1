//! Errors of publishing (reference/store.md 1.3).

use super::Problem;
use crate::state::Site;
use poem::http::StatusCode;
use souk_domain::publishing::access_tokens::TokenError;
use souk_domain::publishing::bundle::checks::RunChecksError;
use souk_domain::publishing::bundle::{PictureError, SignatureError, UploadError};

impl From<RunChecksError> for Problem {
    fn from(error: RunChecksError) -> Self {
        match error {
            RunChecksError::NotFound => Self::not_found(),
            RunChecksError::Storage(error) => error.into(),
        }
    }
}

impl Problem {
    /// The refusal of an upload, with the address where the developer can go on.
    #[must_use]
    pub fn of_upload(error: UploadError, site: &Site) -> Self {
        let text = error.to_string();
        let at = |path: &str| format!("{text}: {}", site.address(path));
        let bad = || Self::bad(text.clone());
        match error {
            UploadError::Storage(error) => error.into(),
            UploadError::NoSpace(error) => error.into(),
            UploadError::EmptyManifest | UploadError::NotJson(_) => bad().code("MANIFEST_INVALID"),
            UploadError::Manifest(errors) => {
                let paths: Vec<_> = errors.0.iter().map(|error| error.path.as_str()).collect();
                bad().code("MANIFEST_INVALID").param("paths", paths.join(","))
            }
            UploadError::ManifestTooLarge => Self::new(StatusCode::PAYLOAD_TOO_LARGE, text).code("MANIFEST_TOO_LARGE"),
            UploadError::Signature(error) => Self::new(StatusCode::UNAUTHORIZED, text).code(match error {
                SignatureError::Invalid => "SIGNATURE_INVALID",
                SignatureError::NotFresh => "SIGNATURE_NOT_FRESH",
            }),
            UploadError::Token(TokenError::Unknown) => {
                Self::new(StatusCode::UNAUTHORIZED, at("/developer/access-tokens")).code("ACCESS_TOKEN_UNKNOWN")
            }
            UploadError::Token(error) => error.into(),
            UploadError::NotOwner => Self::new(StatusCode::FORBIDDEN, at("/developer/apps")).code("NOT_OWNER"),
            UploadError::Blocked { did } => Self::bad(at("/")).code("APP_BLOCKED").param("did", did),
            UploadError::InReview { did } => bad().code("APP_IN_REVIEW").param("did", did),
            UploadError::NotHigher { latest } => bad().code("VERSION_NOT_HIGHER").param("latest", latest),
            UploadError::NameTaken => bad().code("NAME_TAKEN"),
            UploadError::NameChanged { name } => bad().code("NAME_CHANGED").param("name", name),
            UploadError::TarballTaken { name } => bad().code("TARBALL_TAKEN").param("name", name),
            UploadError::Paid => Self::new(StatusCode::FORBIDDEN, text).code("PAID_NOT_ALLOWED"),
            UploadError::BundleTooLarge { size, max, .. } => {
                Self::new(StatusCode::PAYLOAD_TOO_LARGE, text).code("BUNDLE_TOO_LARGE").param("size", size).param("max", max)
            }
            UploadError::EmptyBundle | UploadError::Integrity => bad().code("BUNDLE_INVALID"),
            UploadError::Size { actual, expected } => bad().code("BUNDLE_INVALID").param("actual", actual).param("expected", expected),
            UploadError::Archive(error) => bad().code("BUNDLE_INVALID").param("detail", error),
            UploadError::Pictures(errors) => {
                let details: Vec<_> = errors.iter().map(PictureError::to_string).collect();
                bad().code("PICTURES_INVALID").param("detail", details.join("\n"))
            }
            UploadError::Contended => Self::new(StatusCode::CONFLICT, text).code("UPLOAD_CONTENDED"),
        }
    }

    /// The store receives as many uploads at a time as it can.
    #[must_use]
    pub fn too_many_uploads() -> Self {
        let message = "Too many uploads are in progress, please try again later";
        Self::new(StatusCode::SERVICE_UNAVAILABLE, message).code("TOO_MANY_UPLOADS")
    }
}
