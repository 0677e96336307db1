//! Publishing: the preferences of the store, developers and their access tokens, what developers upload, and the review of
//! versions.

pub mod access_tokens;
pub mod bundle;
pub mod invitations;
pub mod moderation;
mod named;
mod picture_format;
mod preferences;
mod preferences_admin;
pub mod publication;
pub mod publication_log;
pub mod review;
mod version;

pub use preferences::{MAX_DECIMALS, PermissionMode, PreferenceError, PreferenceProblem, Preferences, ReviewType, StakePreference};
pub use preferences_admin::{ChangePreferencesError, PreferencesRecord, StoredPreferences, change_preferences, find_preferences};
