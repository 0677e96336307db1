//! Errors of installing: releases, licenses, and requests that computers have signed.

use super::Problem;
use poem::http::StatusCode;
use souk_domain::publishing::installing::{DeviceRequestError, LicenseError, ReleaseError};

impl From<DeviceRequestError> for Problem {
    fn from(error: DeviceRequestError) -> Self {
        match error {
            DeviceRequestError::SignedOut => Self::device_signed_out(),
            DeviceRequestError::InvalidSignature => Self::new(StatusCode::UNAUTHORIZED, error.to_string()).code("SIGNATURE_INVALID"),
            DeviceRequestError::Request(error) => error.into(),
            DeviceRequestError::Storage(error) => error.into(),
        }
    }
}

impl From<ReleaseError> for Problem {
    fn from(error: ReleaseError) -> Self {
        let text = error.to_string();
        match error {
            ReleaseError::NotFound => Self::not_found(),
            ReleaseError::Unsigned => Self::new(StatusCode::NOT_FOUND, text).code("RELEASE_UNSIGNED"),
            ReleaseError::Blocked => Self::new(StatusCode::FORBIDDEN, text).code("APP_BLOCKED"),
            ReleaseError::Yanked => Self::new(StatusCode::GONE, text).code("VERSION_YANKED"),
            ReleaseError::Withdrawn => Self::new(StatusCode::GONE, text).code("APP_WITHDRAWN"),
            ReleaseError::OnlyPreReleases => Self::new(StatusCode::NOT_FOUND, text).code("ONLY_PRE_RELEASES"),
            ReleaseError::Storage(error) => error.into(),
        }
    }
}

impl From<LicenseError> for Problem {
    fn from(error: LicenseError) -> Self {
        let text = error.to_string();
        match error {
            LicenseError::NotFound => Self::not_found(),
            LicenseError::Blocked => Self::new(StatusCode::FORBIDDEN, text).code("APP_BLOCKED"),
            LicenseError::Free => Self::new(StatusCode::CONFLICT, text).code("LICENSE_NOT_NEEDED"),
            LicenseError::NotBought => Self::new(StatusCode::FORBIDDEN, text).code("PURCHASE_REQUIRED"),
            LicenseError::SignedOut => Self::device_signed_out(),
            LicenseError::Storage(error) => error.into(),
        }
    }
}

impl Problem {
    fn device_signed_out() -> Self {
        Self::new(StatusCode::UNAUTHORIZED, DeviceRequestError::SignedOut.to_string()).code("DEVICE_SIGNED_OUT")
    }
}
