//! The browsers in which a user is signed in.

use super::{Did, TokenHash};
use crate::context::Context;
use crate::shared::{LoginId, Random, StorageError, Timestamp};
use std::time::Duration;

/// The longest stored description of a device, in characters.
const DEVICE_MAX: usize = 300;
/// The shortest time between two updates of a login's last use, so that reading pages seldom writes.
const USE_INTERVAL: Duration = Duration::from_secs(600);
/// The most logins of a user that a list shows.
pub const LOGINS_MAX: u32 = 100;

/// A browser in which a user is signed in.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Login {
    pub id: LoginId,
    pub user: Did,
    /// The browser's description of itself (its `User-Agent`), for the user to recognize it.
    pub device: String,
    pub created_at: Timestamp,
    /// When the user last proved their identity in it, which can be later than its beginning.
    pub signed_in_at: Timestamp,
    /// The last use, to ten minutes.
    pub used_at: Timestamp,
    pub expires_at: Timestamp,
}

/// Makes the id of a login from the hash of its token, which the token cannot be computed from.
pub(super) struct FromHash(pub TokenHash);

impl Random for FromHash {
    fn fill(&self, bytes: &mut [u8]) {
        bytes.iter_mut().zip(self.0).for_each(|(byte, of_hash)| *byte = of_hash);
    }
}

/// A description of a device as it is stored: one line of limited length.
#[must_use]
pub fn device_text(text: &str) -> String {
    text.trim().chars().filter(|c| !c.is_control()).take(DEVICE_MAX).collect()
}

/// Stores that a login is in use, if that is not known yet.
pub(super) async fn note_login_use(ctx: &Context, token: &TokenHash) -> Result<(), StorageError> {
    let now = ctx.now();
    let login = ctx.store.read().await?.browser_sessions().find_login(token, now).await?;
    if login.is_none_or(|login| now.since(login.used_at) < USE_INTERVAL) {
        return Ok(());
    }
    let mut unit = ctx.store.begin().await?;
    unit.browser_sessions().touch(token, now).await?;
    unit.commit().await
}

/// A user's logins, and which of them is the caller's.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LoginList {
    /// The last used one comes first.
    pub list: Vec<Login>,
    pub current: Option<LoginId>,
}

/// Lists the browsers in which a user is signed in.
#[tracing::instrument(skip_all)]
pub async fn list_logins(ctx: &Context, user: &Did, token: &TokenHash) -> Result<LoginList, StorageError> {
    let mut unit = ctx.store.read().await?;
    let list = unit.browser_sessions().list(user, ctx.now(), LOGINS_MAX).await?;
    let current = unit.browser_sessions().find_login(token, ctx.now()).await?.filter(|login| login.user == *user);
    Ok(LoginList { list, current: current.map(|login| login.id) })
}

/// Ends one login of a user. False: the user has no such login.
#[tracing::instrument(skip_all)]
pub async fn end_login(ctx: &Context, user: &Did, id: &LoginId) -> Result<bool, StorageError> {
    let mut unit = ctx.store.begin().await?;
    let ended = unit.browser_sessions().end(user, id).await?;
    unit.commit().await?;
    Ok(ended)
}

/// Ends all logins of a user except the one with this token, and signs the user out on all computers. Returns how many.
#[tracing::instrument(skip_all)]
pub async fn end_other_logins(ctx: &Context, user: &Did, token: &TokenHash) -> Result<u64, StorageError> {
    let mut unit = ctx.store.begin().await?;
    let logins = unit.browser_sessions().end_others(user, Some(token)).await?;
    let computers = unit.devices().delete_all(user).await?;
    unit.commit().await?;
    Ok(logins + computers)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_text_of_a_device_is_one_line_of_limited_length() {
        assert_eq!(device_text(" Mozilla/5.0\r\n(X11) "), "Mozilla/5.0(X11)");
        assert_eq!(device_text(&"a".repeat(999)).len(), 300);
    }
}
