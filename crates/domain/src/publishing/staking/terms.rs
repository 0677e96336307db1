//! The terms that a user agrees to before becoming a developer (SPEC.md 5). Pages show the text of the version.

use crate::access::{Caller, Did};
use crate::context::Context;
use crate::publishing::PermissionMode;
use crate::shared::{StorageError, Timestamp};
use async_trait::async_trait;

/// The version of the terms that users are asked to agree to. Raise it together with the text of the page.
pub const TERMS_VERSION: u32 = 1;

/// A user's agreement to a version of the terms.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Agreement {
    pub version: u32,
    pub agreed_at: Timestamp,
}

#[async_trait]
pub trait Agreements: Send {
    /// Records an agreement. The time of the first one to a version stays.
    async fn record(&mut self, user: &Did, agreement: &Agreement) -> Result<(), StorageError>;
    /// A user's agreement to a version.
    async fn find(&mut self, user: &Did, version: u32) -> Result<Option<Agreement>, StorageError>;
}

#[derive(Debug, thiserror::Error)]
pub enum AgreeError {
    #[error("This store does not accept developers by a deposit")]
    NotOffered,
    /// The page showed another version.
    #[error("The developer terms have changed. Please read them again.")]
    Outdated,
    #[error(transparent)]
    Storage(#[from] StorageError),
}

/// Records that the caller agrees to a version of the terms.
///
/// # Errors
/// The store does not offer to become a developer by a deposit, or the version is not the current one.
#[tracing::instrument(skip_all, fields(version))]
pub async fn agree_to_terms(ctx: &Context, caller: &Caller, version: u32) -> Result<Agreement, AgreeError> {
    let mut unit = ctx.store.begin().await?;
    if unit.preferences().find().await?.preferences.permission_mode != PermissionMode::Staking {
        return Err(AgreeError::NotOffered);
    }
    if version != TERMS_VERSION {
        return Err(AgreeError::Outdated);
    }
    unit.agreements().record(&caller.user.did, &Agreement { version, agreed_at: ctx.now() }).await?;
    let recorded = unit.agreements().find(&caller.user.did, version).await?;
    unit.commit().await?;
    Ok(recorded.unwrap_or(Agreement { version, agreed_at: ctx.now() }))
}
