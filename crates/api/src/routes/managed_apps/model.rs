use crate::problem::Problem;
use crate::routes::checkout_sessions::TextModel;
use crate::routes::selling::TermsModel;
use poem_openapi::Object;
use souk_domain::publishing::ReviewType;
use souk_domain::publishing::managed_apps::{LatestVersion, ManagedApp};
use souk_domain::shared::CategoryId;

/// The highest version of an app that was uploaded.
#[derive(Debug, Clone, Object)]
#[oai(rename = "LatestVersion")]
pub struct LatestVersionModel {
    pub version: String,
    /// DRAFT, PENDING_REVIEW, IN_REVIEW, APPROVED, REJECTED, PUBLISHED or CANCELLED.
    pub status: String,
    pub changes_requested: bool,
    /// Who has yanked it: developer or store; `null`: it is not yanked.
    #[oai(nullable)]
    pub yanked_by: Option<String>,
    /// What kind of app it is: dapp, static, gateway or pack; `null`: a resource without a screen of its own.
    #[oai(rename = "type", nullable)]
    pub kind: Option<String>,
    /// Where it was uploaded from: WEBSITE, STUDIO or CLI.
    pub source: String,
}

impl From<LatestVersion> for LatestVersionModel {
    fn from(latest: LatestVersion) -> Self {
        Self {
            version: latest.version.to_string(),
            status: latest.status.name().to_owned(),
            changes_requested: latest.changes_requested,
            yanked_by: latest.yank.map(|yank| yank.name().to_owned()),
            kind: latest.group.map(|group| group.name().to_owned()),
            source: latest.source.name().to_owned(),
        }
    }
}

#[derive(Debug, Clone, Object)]
#[oai(rename = "ManagedApp")]
pub struct ManagedAppModel {
    pub did: String,
    pub name: String,
    /// As the catalogue shows it; `null`: it never had the app.
    #[oai(nullable)]
    pub title: Option<TextModel>,
    /// The DID of the developer.
    pub developer: String,
    /// Empty: the developer has no name.
    pub developer_name: String,
    #[oai(nullable)]
    pub category_id: Option<String>,
    /// Which versions are reviewed: `FIRST` or `EACH`; `null`: as the preferences say.
    #[oai(nullable)]
    pub review_type: Option<String>,
    /// `null`: the app was not uploaded.
    #[oai(nullable)]
    pub latest: Option<LatestVersionModel>,
    /// The version that the catalogue shows.
    #[oai(nullable)]
    pub version: Option<String>,
    /// available, blocked, withdrawn (it has no version that is offered) or unpublished.
    pub state: String,
    /// Whether the app is unlisted: it can be opened and installed by its link only.
    pub private: bool,
    #[oai(nullable)]
    pub block_reason: Option<String>,
    /// How it is sold now.
    pub terms: TermsModel,
    pub downloads: u64,
    pub created_at: String,
    pub updated_at: String,
}

impl ManagedAppModel {
    /// `developer_name`: the name of the developer now; `None`: the store does not know the user.
    pub fn new(app: ManagedApp, developer_name: Option<&str>, terms: TermsModel) -> Self {
        let shown_name = app.developer_name.unwrap_or_default();
        Self {
            did: app.did.to_string(),
            name: app.name,
            title: app.title.as_ref().map(TextModel::from),
            developer: app.developer.to_string(),
            developer_name: developer_name.map_or(shown_name, ToOwned::to_owned),
            category_id: app.category.map(|id| id.to_string()),
            review_type: app.review_type.map(|kind| kind.name().to_owned()),
            latest: app.latest.map(LatestVersionModel::from),
            version: app.shown,
            state: app.state.name().to_owned(),
            private: app.is_private,
            block_reason: app.block_reason,
            terms,
            downloads: app.downloads,
            created_at: app.created_at.to_iso(),
            updated_at: app.updated_at.to_iso(),
        }
    }
}

#[derive(Debug, Clone, Object)]
#[oai(rename = "ManagedAppList")]
pub struct ManagedAppListModel {
    pub count: u64,
    /// Those that were updated last come first.
    pub list: Vec<ManagedAppModel>,
}

#[derive(Debug, Clone, Object)]
#[oai(rename = "AppCategoryInput")]
pub struct AppCategoryInputModel {
    #[oai(default)]
    pub category_id: String,
    /// Which versions are reviewed: `FIRST` or `EACH`; `null`: as before.
    #[oai(nullable)]
    pub review_type: Option<String>,
}

impl AppCategoryInputModel {
    /// `None`: no category is named.
    pub fn category(&self) -> Result<Option<CategoryId>, Problem> {
        let named = Some(self.category_id.as_str()).filter(|id| !id.is_empty());
        named.map(CategoryId::parse).transpose().map_err(|_| Problem::invalid("category_id"))
    }

    pub fn review_type(&self) -> Result<Option<ReviewType>, Problem> {
        let read = |name: &str| ReviewType::from_name(name).ok_or_else(|| Problem::invalid("review_type"));
        self.review_type.as_deref().map(read).transpose()
    }
}
