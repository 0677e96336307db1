//! Publishing: the preferences of the store, developers with their access tokens and tools, what developers upload, the review of versions,
//! the prices of apps, and what command lines install.

pub mod access_tokens;
pub mod bundle;
pub mod comparison;
pub mod digests;
mod earlier;
pub mod installing;
pub mod instances;
pub mod invitations;
pub mod managed_apps;
pub mod moderation;
mod named;
mod preferences;
mod preferences_admin;
pub mod publication;
pub mod publication_log;
pub mod review;
pub mod selling;
pub mod staking;
pub mod tools;
pub mod trusted;
mod version;

pub use preferences::{
    BUNDLE_MAX_MB, MAX_DECIMALS, PermissionMode, PreferenceError, PreferenceProblem, Preferences, ReviewType, StakePreference,
};
pub use preferences_admin::{ChangePreferencesError, PreferencesRecord, StoredPreferences, change_preferences, find_preferences};
