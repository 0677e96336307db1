//! Reads and changes the preferences. Two administrators who edit them at once do not overwrite each other: each change names the version
//! that it is based on.

use super::staking::has_stake_currency;
use super::{PermissionMode, PreferenceError, PreferenceProblem, Preferences};
use crate::context::Context;
use crate::shared::{StorageError, Timestamp};
use async_trait::async_trait;

/// The preferences as they are stored.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct PreferencesRecord {
    pub preferences: Preferences,
    /// Grows by one with each change; 0: nobody has changed the defaults.
    pub version: u64,
    pub changed_at: Option<Timestamp>,
}

#[async_trait]
pub trait StoredPreferences: Send {
    /// The preferences, or the defaults with version 0.
    async fn find(&mut self) -> Result<PreferencesRecord, StorageError>;
    /// Replaces those of version `record.version - 1`. False: they have another version.
    async fn replace(&mut self, record: &PreferencesRecord) -> Result<bool, StorageError>;
}

#[derive(Debug, thiserror::Error)]
pub enum ChangePreferencesError {
    #[error("{}", .0.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n"))]
    Invalid(Vec<PreferenceError>),
    #[error("The settings were changed in the meantime. Please reload them.")]
    Changed,
    #[error(transparent)]
    Storage(#[from] StorageError),
}

#[tracing::instrument(skip_all)]
pub async fn find_preferences(ctx: &Context) -> Result<PreferencesRecord, StorageError> {
    ctx.store.read().await?.preferences().find().await
}

/// Replaces the preferences of the version that the caller has seen. Equal preferences change nothing and keep their version.
#[tracing::instrument(skip_all)]
pub async fn change_preferences(ctx: &Context, seen: u64, preferences: Preferences) -> Result<PreferencesRecord, ChangePreferencesError> {
    let errors = preferences.errors();
    if !errors.is_empty() {
        return Err(ChangePreferencesError::Invalid(errors));
    }
    let mut unit = ctx.store.begin().await?;
    let stored = unit.preferences().find().await?;
    if stored.version != seen {
        return Err(ChangePreferencesError::Changed);
    }
    if stored.preferences == preferences {
        return Ok(stored);
    }
    // Otherwise nobody could become a developer.
    let is_checked = preferences.permission_mode == PermissionMode::Staking && stored.preferences.is_sensitive_change(&preferences);
    if is_checked && !has_stake_currency(ctx, unit.as_mut(), &preferences).await? {
        let error = PreferenceError { field: "stake_currency", problem: PreferenceProblem::NoDeposits };
        return Err(ChangePreferencesError::Invalid(vec![error]));
    }
    let record = PreferencesRecord { preferences, version: seen + 1, changed_at: Some(ctx.now()) };
    if !unit.preferences().replace(&record).await? {
        return Err(ChangePreferencesError::Changed);
    }
    unit.commit().await?;
    Ok(record)
}
