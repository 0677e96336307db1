//! The computers on which a user is signed in with the command line. Each has a key of its own, which fetches what the user has bought,
//! reads the versions that they may see, and does nothing else.

use super::Did;
use crate::context::Context;
use crate::shared::{StorageError, Timestamp};
use async_trait::async_trait;
use std::time::Duration;

/// How many days a computer stays signed in.
pub const DEVICE_LIFETIME_DAYS: u64 = 365;
/// The most computers on which a user is signed in.
pub const DEVICES_MAX: u32 = 20;

/// The shortest time between two stored uses of a computer.
pub const DEVICE_USE_INTERVAL: Duration = Duration::from_secs(60);

/// A computer on which a user is signed in.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Device {
    /// The DID of its key, by which requests and licenses name it.
    pub id: Did,
    pub user: Did,
    /// What the command line calls itself. Nobody has verified it.
    pub name: String,
    /// Multibase base58btc. The secret half is on the computer only.
    pub public_key: String,
    pub created_at: Timestamp,
    /// The last use, to a minute.
    pub used_at: Timestamp,
    pub expires_at: Timestamp,
}

#[async_trait]
pub trait Devices: Send {
    async fn insert(&mut self, device: &Device) -> Result<(), StorageError>;
    /// Finds a device whose sign-in has not expired.
    async fn find(&mut self, id: &Did, now: Timestamp) -> Result<Option<Device>, StorageError>;
    /// Until this unit of work ends, no other one that locks the user signs them in.
    async fn lock_user(&mut self, user: &Did) -> Result<(), StorageError>;
    /// A user's devices whose sign-in has not expired, the last used one first, at most `limit`.
    async fn list(&mut self, user: &Did, now: Timestamp, limit: u32) -> Result<Vec<Device>, StorageError>;
    /// Stores the last use, at most once in [`DEVICE_USE_INTERVAL`].
    async fn touch(&mut self, id: &Did, now: Timestamp) -> Result<(), StorageError>;
    /// Signs a user out on a device. False: the user has no such device.
    async fn delete(&mut self, user: &Did, id: &Did) -> Result<bool, StorageError>;
    /// Signs a user out on all devices. Returns how many.
    async fn delete_all(&mut self, user: &Did) -> Result<u64, StorageError>;
    /// Deletes devices whose sign-in has expired, at most `limit`. Returns their number.
    async fn prune(&mut self, now: Timestamp, limit: u32) -> Result<u64, StorageError>;
}

/// Lists the computers on which a user is signed in; the last used one comes first.
#[tracing::instrument(skip_all)]
pub async fn list_devices(ctx: &Context, user: &Did) -> Result<Vec<Device>, StorageError> {
    ctx.store.read().await?.devices().list(user, ctx.now(), DEVICES_MAX).await
}

/// Signs a user out on a computer. False: the user is not signed in there.
#[tracing::instrument(skip_all)]
pub async fn end_device(ctx: &Context, user: &Did, id: &Did) -> Result<bool, StorageError> {
    let mut unit = ctx.store.begin().await?;
    let ended = unit.devices().delete(user, id).await?;
    unit.commit().await?;
    Ok(ended)
}
