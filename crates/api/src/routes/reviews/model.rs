use crate::problem::Problem;
use poem_openapi::Object;
use souk_domain::publishing::ReviewType;
use souk_domain::publishing::review::{
    CancelReason, QueuedVersion, ReviewDetails, ReviewedApp, ReviewedVersion, RiskyDifferences, Step, ThreadEntry, UploadedVersions,
};
use souk_domain::shared::{CategoryId, Listed, Timestamp};
use std::collections::BTreeMap;

#[derive(Debug, Clone, Object)]
#[oai(rename = "UploadedApp")]
pub struct UploadedAppModel {
    pub did: String,
    pub name: String,
    /// The DID of the developer.
    pub owner: String,
    /// The highest version that was uploaded.
    pub latest: String,
    /// Why the app is blocked; `null`: it is not.
    #[oai(nullable)]
    pub block_reason: Option<String>,
    /// `null`: none was chosen yet.
    #[oai(nullable)]
    pub category_id: Option<String>,
    /// `FIRST` or `EACH`; `null`: that of the preferences.
    #[oai(nullable)]
    pub review_type: Option<String>,
    /// When automatic publishing of updates ends; `null`: it is off.
    #[oai(nullable)]
    pub auto_publish_until: Option<String>,
    /// Whether the app is unlisted: it can be opened and installed by its link only.
    pub private: bool,
}

impl From<ReviewedApp> for UploadedAppModel {
    fn from(app: ReviewedApp) -> Self {
        Self {
            did: app.did.to_string(),
            name: app.name,
            owner: app.owner.to_string(),
            latest: app.latest.to_string(),
            block_reason: app.block_reason,
            category_id: app.category.map(|id| id.to_string()),
            review_type: app.review_type.map(|kind| kind.name().to_owned()),
            auto_publish_until: app.auto_publish_until.map(|at| at.to_iso()),
            private: app.is_private,
        }
    }
}

#[derive(Debug, Clone, Object)]
#[oai(rename = "UploadedAppList")]
pub struct UploadedAppListModel {
    pub count: u64,
    pub list: Vec<UploadedAppModel>,
}

impl From<Listed<ReviewedApp>> for UploadedAppListModel {
    fn from(apps: Listed<ReviewedApp>) -> Self {
        Self { count: apps.count, list: apps.list.into_iter().map(UploadedAppModel::from).collect() }
    }
}

#[derive(Debug, Clone, Object)]
#[oai(rename = "UploadedVersion")]
pub struct UploadedVersionModel {
    pub version: String,
    /// DRAFT, PENDING_REVIEW, IN_REVIEW, APPROVED, REJECTED, PUBLISHED or CANCELLED.
    pub status: String,
    /// The DID of the reviewer who judges it.
    #[oai(nullable)]
    pub claimed_by: Option<String>,
    #[oai(nullable)]
    pub claimed_until: Option<String>,
    pub changes_requested: bool,
    /// The DID of the reviewer who has approved or rejected it.
    #[oai(nullable)]
    pub decided_by: Option<String>,
    /// open, granted or denied; `null`: the rejection was not appealed.
    #[oai(nullable)]
    pub appeal: Option<String>,
    /// The version that has replaced it.
    #[oai(nullable)]
    pub replaced_by: Option<String>,
    /// Who has yanked it: developer or store; `null`: it is not yanked.
    #[oai(nullable)]
    pub yanked_by: Option<String>,
    pub uploaded_at: String,
    #[oai(nullable)]
    pub requested_at: Option<String>,
    #[oai(nullable)]
    pub published_at: Option<String>,
    /// When the store publishes it, once that is allowed; `null`: its publication is not scheduled.
    #[oai(nullable)]
    pub publish_at: Option<String>,
}

impl From<ReviewedVersion> for UploadedVersionModel {
    fn from(version: ReviewedVersion) -> Self {
        let review = version.review;
        let replaced_by = match review.cancel_reason {
            Some(CancelReason::ReplacedBy(version)) => Some(version),
            Some(CancelReason::Cancelled) | None => None,
        };
        Self {
            version: version.version.to_string(),
            status: review.status.name().to_owned(),
            claimed_by: review.claim.as_ref().map(|claim| claim.reviewer.to_string()),
            claimed_until: review.claim.map(|claim| claim.until.to_iso()),
            changes_requested: review.changes_requested,
            decided_by: review.decided_by.map(|did| did.to_string()),
            appeal: review.appeal.map(|appeal| appeal.name().to_owned()),
            replaced_by,
            yanked_by: review.yank.map(|yank| yank.name().to_owned()),
            uploaded_at: version.uploaded_at.to_iso(),
            requested_at: version.requested_at.map(|at| at.to_iso()),
            published_at: version.published_at.map(|at| at.to_iso()),
            publish_at: review.publish_at.map(|at| at.to_iso()),
        }
    }
}

#[derive(Debug, Clone, Object)]
#[oai(rename = "UploadedVersionList")]
pub struct UploadedVersionListModel {
    pub app: UploadedAppModel,
    pub count: u64,
    /// Newest first.
    pub list: Vec<UploadedVersionModel>,
}

impl From<UploadedVersions> for UploadedVersionListModel {
    fn from(found: UploadedVersions) -> Self {
        let list = found.versions.list.into_iter().map(UploadedVersionModel::from).collect();
        Self { app: found.app.into(), count: found.versions.count, list }
    }
}

#[derive(Debug, Clone, Object)]
#[oai(rename = "QueuedVersion")]
pub struct QueuedVersionModel {
    pub app_did: String,
    pub app_name: String,
    pub owner: String,
    pub version: UploadedVersionModel,
}

#[derive(Debug, Clone, Object)]
#[oai(rename = "QueuedVersionList")]
pub struct QueuedVersionListModel {
    pub count: u64,
    /// Those that wait longest come first.
    pub list: Vec<QueuedVersionModel>,
}

impl From<Listed<QueuedVersion>> for QueuedVersionListModel {
    fn from(queue: Listed<QueuedVersion>) -> Self {
        let model = |queued: QueuedVersion| QueuedVersionModel {
            app_did: queued.version.app.to_string(),
            app_name: queued.app_name,
            owner: queued.owner.to_string(),
            version: queued.version.into(),
        };
        Self { count: queue.count, list: queue.list.into_iter().map(model).collect() }
    }
}

/// What a version adds to the one that new installs get.
#[derive(Debug, Clone, Object)]
#[oai(rename = "RiskyDifferences")]
pub struct RiskyDifferencesModel {
    pub permissions: Vec<String>,
    /// Scripts that are added or changed.
    pub scripts: Vec<String>,
    pub hosts: Vec<String>,
}

impl From<RiskyDifferences> for RiskyDifferencesModel {
    fn from(differences: RiskyDifferences) -> Self {
        let RiskyDifferences { permissions, lifecycle_scripts: scripts, outgoing_hosts: hosts, .. } = differences;
        Self { permissions, scripts, hosts }
    }
}

#[derive(Debug, Clone, Object)]
#[oai(rename = "ReviewEntry")]
pub struct ReviewEntryModel {
    pub id: String,
    /// What was done, such as `requested` or `approved`.
    pub kind: String,
    pub actor: String,
    /// Empty: they have no name.
    pub actor_name: String,
    /// app_owner, reviewer, admin, store_owner or system.
    pub role: String,
    pub comment: String,
    pub at: String,
}

#[derive(Debug, Clone, Object)]
#[oai(rename = "VersionReview")]
pub struct VersionReviewModel {
    pub app: UploadedAppModel,
    pub version: UploadedVersionModel,
    /// In which role the caller acts: app_owner, reviewer, admin or store_owner.
    pub role: String,
    /// Why it needs a review: first_version, every_version or risky_differences; `null`: it can be published without one.
    #[oai(nullable)]
    pub need: Option<String>,
    /// The version that new installs get.
    #[oai(nullable)]
    pub current: Option<String>,
    pub differences: RiskyDifferencesModel,
    /// Oldest first; at most the latest 500.
    pub thread: Vec<ReviewEntryModel>,
}

impl From<ReviewDetails> for VersionReviewModel {
    fn from(details: ReviewDetails) -> Self {
        let names = details.names;
        let entry = |entry: ThreadEntry, names: &BTreeMap<_, String>| ReviewEntryModel {
            id: entry.id.to_string(),
            kind: entry.kind.name().to_owned(),
            actor_name: names.get(&entry.actor).cloned().unwrap_or_default(),
            actor: entry.actor.to_string(),
            role: entry.role.name().to_owned(),
            comment: entry.comment,
            at: entry.at.to_iso(),
        };
        Self {
            app: details.app.into(),
            version: details.version.into(),
            role: details.role.name().to_owned(),
            need: details.need.map(|need| need.name().to_owned()),
            current: details.current.map(|version| version.to_string()),
            differences: details.differences.into(),
            thread: details.thread.into_iter().map(|one| entry(one, &names)).collect(),
        }
    }
}

#[derive(Debug, Clone, Object)]
#[oai(rename = "VisibilityInput")]
pub struct VisibilityInputModel {
    pub private: bool,
}

#[derive(Debug, Clone, Object)]
#[oai(rename = "AutoPublishInput")]
pub struct AutoPublishInputModel {
    /// The number of days for which updates are published automatically, 1 to 365; `null` turns it off.
    #[oai(nullable)]
    pub days: Option<u32>,
}

#[derive(Debug, Clone, Object)]
#[oai(rename = "ReviewStepInput")]
pub struct ReviewStepInputModel {
    /// request, start, renew, take_over, comment, request_changes, approve, reject, cancel, appeal, grant_appeal, deny_appeal, publish,
    /// schedule, unschedule, yank, undo_yank, roll_back, block or unblock. The last two concern the app.
    pub step: String,
    #[oai(default)]
    pub comment: String,
    /// Of the app: required to approve, and to publish an app that has none.
    #[oai(nullable)]
    pub category_id: Option<String>,
    /// Which later versions of the app are reviewed: `FIRST` or `EACH`; `null`: as before.
    #[oai(nullable)]
    pub review_type: Option<String>,
    /// When the store publishes the version: required to schedule it.
    #[oai(nullable)]
    pub publish_at: Option<String>,
}

impl ReviewStepInputModel {
    pub fn category(&self) -> Result<Option<CategoryId>, Problem> {
        self.category_id.as_deref().map(CategoryId::parse).transpose().map_err(|_| Problem::invalid("category_id"))
    }

    pub fn read(&self) -> Result<Step, Problem> {
        let comment = self.comment.clone();
        let review_type =
            self.review_type.as_deref().map(|name| ReviewType::from_name(name).ok_or_else(|| Problem::invalid("review_type")));
        Ok(match self.step.as_str() {
            "request" => Step::Request,
            "start" => Step::Start,
            "renew" => Step::Renew,
            "take_over" => Step::TakeOver,
            "comment" => Step::Comment { comment },
            "request_changes" => Step::RequestChanges { comment },
            "approve" => Step::Approve { comment, category: self.category()?, review_type: review_type.transpose()? },
            "reject" => Step::Reject { comment },
            "cancel" => Step::Cancel,
            "appeal" => Step::Appeal { comment },
            "grant_appeal" => Step::GrantAppeal { comment },
            "deny_appeal" => Step::DenyAppeal { comment },
            "publish" => Step::Publish,
            "schedule" => {
                let at = self.publish_at.as_deref().and_then(Timestamp::parse_iso);
                Step::Schedule { at: at.ok_or_else(|| Problem::invalid("publish_at"))? }
            }
            "unschedule" => Step::Unschedule,
            "yank" => Step::Yank { reason: comment },
            "undo_yank" => Step::UndoYank,
            "roll_back" => Step::RollBack,
            "block" => Step::Block { reason: comment },
            "unblock" => Step::Unblock,
            _ => return Err(Problem::invalid("step")),
        })
    }
}
