//! Requests that the key of a computer has signed, in the form of those of access tokens.

use super::super::access_tokens::{SignedRequest, SignedRequestError, TokenKeys, check_form};
use crate::access::Device;
use crate::context::Context;
use crate::shared::StorageError;

#[derive(Debug, thiserror::Error)]
pub enum DeviceRequestError {
    #[error("This computer is not signed in, or its sign-in has expired")]
    SignedOut,
    #[error("invalid signature")]
    InvalidSignature,
    /// The form or the time of the request is refused.
    #[error(transparent)]
    Request(#[from] SignedRequestError),
    #[error(transparent)]
    Storage(#[from] StorageError),
}

/// Verifies a signed request of a computer on which a user is signed in. It can be repeated as long as its time is accepted, so it is only
/// for what may happen twice: reading, and signing out.
#[tracing::instrument(skip_all, fields(device = %request.token))]
pub async fn verify_device_request(ctx: &Context, keys: &dyn TokenKeys, request: &SignedRequest<'_>) -> Result<Device, DeviceRequestError> {
    let now = ctx.now();
    check_form(request, now)?;
    let device = ctx.store.read().await?.devices().find(request.token, now).await?.ok_or(DeviceRequestError::SignedOut)?;
    match keys.is_valid(&device.public_key, &keys.digest(request.text().as_bytes()), request.signature) {
        true => Ok(device),
        false => Err(DeviceRequestError::InvalidSignature),
    }
}
