//! What a command line needs to install apps: which version it gets, signed by the store; the license for an app that its user has bought;
//! and requests that the key of its computer has signed.

mod device_request;
mod license;
mod release;
mod statement;

pub use device_request::{DeviceRequestError, verify_device_request};
pub use license::{LICENSE_LIFETIME, License, LicenseError, entitled_mode, issue_license};
pub use release::{RELEASE_LIFETIME, Release, ReleaseError, ReleaseStage, find_release};
pub use statement::SignedStatement;
