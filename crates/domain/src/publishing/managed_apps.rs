//! All apps of the store, for its administrators, and the apps of a developer.

use super::ReviewType;
use super::bundle::{Group, UploadSource};
use super::named::named;
use super::review::{ReviewError, ReviewedApp, VersionStatus, Yank};
use crate::access::{Caller, Did, Role};
use crate::context::Context;
use crate::shared::{CategoryId, Listed, Page, StorageError, Text, Timestamp};
use async_trait::async_trait;
use semver::Version;

named! {
    /// Where an app is.
    AppState {
        Available = "available",
        /// Its developer may not have published anything yet.
        Blocked = "blocked",
        /// All of its versions were yanked.
        Withdrawn = "withdrawn",
        /// It was uploaded, and the catalogue does not have it.
        Unpublished = "unpublished",
    }
}

/// The highest version of an app that was uploaded.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LatestVersion {
    pub version: Version,
    pub status: VersionStatus,
    pub changes_requested: bool,
    pub yank: Option<Yank>,
    /// `None`: it is a resource.
    pub group: Option<Group>,
    pub source: UploadSource,
}

/// An app that was uploaded, is in the catalogue, or both.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ManagedApp {
    pub did: Did,
    pub name: String,
    /// As the catalogue shows it; `None`: it never had it.
    pub title: Option<Text>,
    pub developer: Did,
    /// As the catalogue shows it; `None`: it never had the app.
    pub developer_name: Option<String>,
    pub category: Option<CategoryId>,
    /// Chosen by a reviewer or an administrator; `None`: that of the preferences.
    pub review_type: Option<ReviewType>,
    /// `None`: the app was not uploaded.
    pub latest: Option<LatestVersion>,
    /// The version that the catalogue shows.
    pub shown: Option<String>,
    pub state: AppState,
    /// It is not listed, but found and installed by its link.
    pub is_private: bool,
    pub block_reason: Option<String>,
    pub downloads: u64,
    pub created_at: Timestamp,
    /// When a version was uploaded, or a setting of the app changed; of an app that was not uploaded, when the catalogue changed.
    pub updated_at: Timestamp,
}

/// An uploaded app in the list of its developer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DeveloperApp {
    pub app: ReviewedApp,
    pub latest: LatestVersion,
    /// The version that the catalogue shows.
    pub shown: Option<String>,
    /// When that version was published.
    pub published_at: Option<Timestamp>,
    pub downloads: u64,
    pub created_at: Timestamp,
}

#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ManagedAppFilter {
    /// Each word must be a part of the name, the DID, the developer's DID, or what the search of the catalogue finds.
    pub keyword: String,
    /// Of the latest version.
    pub status: Option<VersionStatus>,
    pub state: Option<AppState>,
    pub category: Option<CategoryId>,
}

#[async_trait]
pub trait ManagedApps: Send {
    /// Those that were updated last come first.
    async fn list(&mut self, filter: &ManagedAppFilter, page: &Page) -> Result<Listed<ManagedApp>, StorageError>;
    async fn find(&mut self, did: &Did) -> Result<Option<ManagedApp>, StorageError>;
    /// A developer's apps, those that were changed last come first.
    async fn of_developer(&mut self, developer: &Did, page: &Page) -> Result<Listed<DeveloperApp>, StorageError>;
}

/// The apps of the caller.
///
/// # Errors
/// The caller is no developer.
pub async fn list_own_apps(ctx: &Context, caller: &Caller, page: &Page) -> Result<Listed<DeveloperApp>, ReviewError> {
    if !caller.holds(Role::Developer) {
        return Err(ReviewError::NotDeveloper);
    }
    Ok(ctx.store.read().await?.managed_apps().of_developer(&caller.user.did, page).await?)
}

#[derive(Debug, thiserror::Error)]
pub enum SetCategoryError {
    #[error("App not found")]
    NotFound,
    #[error("The category is required")]
    CategoryRequired,
    #[error("The category does not exist")]
    UnknownCategory,
    /// Otherwise an administrator could publish without a review.
    #[error("Another administrator chooses which versions of your app are reviewed")]
    OwnApp,
    /// Nobody reviews it.
    #[error("This app has no uploaded version")]
    NotUploaded,
    #[error(transparent)]
    Storage(#[from] StorageError),
}

/// Moves an app to a category, and chooses which of its versions are reviewed; a review type of `None` stays as it is.
///
/// # Errors
/// The app or the category does not exist, or the caller may not choose the review type. Then nothing has changed.
#[tracing::instrument(skip_all, fields(app = %app))]
pub async fn set_app_category(
    ctx: &Context,
    caller: &Caller,
    app: &Did,
    category: Option<&CategoryId>,
    review_type: Option<ReviewType>,
) -> Result<(), SetCategoryError> {
    let category = category.ok_or(SetCategoryError::CategoryRequired)?;
    let mut unit = ctx.store.begin().await?;
    let uploaded = unit.reviews().lock_app(app).await?;
    if !unit.apps().hold_category(category).await? {
        return Err(SetCategoryError::UnknownCategory);
    }
    let is_shown = unit.apps().set_category(app, category).await?;
    match &uploaded {
        Some(uploaded) => {
            let chooses = review_type.is_some() && review_type != uploaded.review_type;
            if chooses && uploaded.owner == caller.user.did {
                return Err(SetCategoryError::OwnApp);
            }
            unit.reviews().decide(app, category, review_type).await?;
        }
        None if !is_shown => return Err(SetCategoryError::NotFound),
        None if review_type.is_some() => return Err(SetCategoryError::NotUploaded),
        None => {}
    }
    unit.commit().await?;
    Ok(())
}
