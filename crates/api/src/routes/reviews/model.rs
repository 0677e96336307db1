use crate::problem::Problem;
use crate::routes::managed_apps::LatestVersionModel;
use crate::routes::selling::TermsModel;
use poem_openapi::Object;
use souk_domain::access::Did;
use souk_domain::publishing::ReviewType;
use souk_domain::publishing::managed_apps::DeveloperApp;
use souk_domain::publishing::review::{
    Appeal, CancelReason, QueuedVersion, ReviewDetails, ReviewRole, ReviewedApp, ReviewedVersion, RiskyDifferences, Step, ThreadEntry,
    UploadedVersions,
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

/// An app in the list of its developer.
#[derive(Debug, Clone, Object)]
#[oai(rename = "DeveloperApp")]
pub struct DeveloperAppModel {
    #[oai(flatten)]
    pub app: UploadedAppModel,
    pub latest_version: LatestVersionModel,
    /// The version that the catalogue shows; `null`: none was published.
    #[oai(nullable)]
    pub version: Option<String>,
    /// When that version was published.
    #[oai(nullable)]
    pub published_at: Option<String>,
    /// How it is sold now.
    pub terms: TermsModel,
    pub downloads: u64,
    pub created_at: String,
}

impl DeveloperAppModel {
    pub fn new(own: DeveloperApp, terms: TermsModel) -> Self {
        Self {
            app: own.app.into(),
            latest_version: own.latest.into(),
            version: own.shown,
            published_at: own.published_at.map(|at| at.to_iso()),
            terms,
            downloads: own.downloads,
            created_at: own.created_at.to_iso(),
        }
    }
}

#[derive(Debug, Clone, Object)]
#[oai(rename = "DeveloperAppList")]
pub struct DeveloperAppListModel {
    pub count: u64,
    pub list: Vec<DeveloperAppModel>,
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
    /// What kind of app it is: dapp, static, gateway or pack; `null`: a resource without a screen of its own.
    #[oai(rename = "type", nullable)]
    pub kind: Option<String>,
    /// The bytes of the bundle.
    pub size: u64,
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
            kind: version.group.map(|group| group.name().to_owned()),
            size: version.size,
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
    /// The DID of the developer.
    pub owner: String,
    /// Empty: the developer has no name.
    pub developer_name: String,
    /// The name of the reviewer who judges it, or else of the one who has decided; empty: there is none, or they have no name.
    pub reviewer_name: String,
    /// first_version, every_version, risky_differences, or appeal: against its rejection. `null`: its developer has asked for a review that it
    /// does not need.
    #[oai(nullable)]
    pub reason: Option<String>,
    pub version: UploadedVersionModel,
}

#[derive(Debug, Clone, Object)]
#[oai(rename = "QueuedVersionList")]
pub struct QueuedVersionListModel {
    pub count: u64,
    /// Those that wait longest come first.
    pub list: Vec<QueuedVersionModel>,
}

/// The reviewer of a version: the one who judges it, or else the one who has decided.
fn reviewer(queued: &QueuedVersion) -> Option<&Did> {
    let review = &queued.version.review;
    review.claim.as_ref().map(|claim| &claim.reviewer).or(review.decided_by.as_ref())
}

impl QueuedVersionListModel {
    /// The users whose names the list shows.
    pub fn people(queue: &Listed<QueuedVersion>) -> Vec<Did> {
        queue.list.iter().flat_map(|queued| [Some(&queued.owner), reviewer(queued)]).flatten().cloned().collect()
    }

    pub fn new(queue: Listed<QueuedVersion>, names: &BTreeMap<Did, String>) -> Self {
        let name = |did: Option<&Did>| did.and_then(|did| names.get(did)).cloned().unwrap_or_default();
        let model = |queued: QueuedVersion| QueuedVersionModel {
            app_did: queued.version.app.to_string(),
            developer_name: name(Some(&queued.owner)),
            reviewer_name: name(reviewer(&queued)),
            app_name: queued.app_name,
            owner: queued.owner.to_string(),
            reason: match queued.version.review.appeal {
                Some(Appeal::Open) => Some("appeal".to_owned()),
                _ => queued.version.need.map(|need| need.name().to_owned()),
            },
            version: queued.version.into(),
        };
        Self { count: queue.count, list: queue.list.into_iter().map(model).collect() }
    }
}

/// What a version adds to the one with which it is compared.
#[derive(Debug, Clone, Object)]
#[oai(rename = "RiskyDifferences")]
pub struct RiskyDifferencesModel {
    pub permissions: Vec<String>,
    /// Scripts that are added or changed.
    pub scripts: Vec<String>,
    pub hosts: Vec<String>,
    /// It has another price, or other shares, once the version is published.
    pub price: bool,
}

impl From<RiskyDifferences> for RiskyDifferencesModel {
    fn from(differences: RiskyDifferences) -> Self {
        let RiskyDifferences { permissions, lifecycle_scripts: scripts, outgoing_hosts: hosts, price } = differences;
        Self { permissions, scripts, hosts, price }
    }
}

#[derive(Debug, Clone, Object)]
#[oai(rename = "ReviewEntry")]
pub struct ReviewEntryModel {
    pub id: String,
    /// What was done, such as `requested` or `approved`.
    pub kind: String,
    /// The DID of who did it. Of what the store itself did, that of the developer.
    pub actor: String,
    /// Empty: they have no name, or the store itself did it.
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
    /// Empty: the developer has no name.
    pub developer_name: String,
    pub version: UploadedVersionModel,
    /// In which role the caller acts: app_owner, reviewer, admin or store_owner.
    pub role: String,
    /// Why it needs a review: first_version, every_version or risky_differences; `null`: it can be published without one.
    #[oai(nullable)]
    pub need: Option<String>,
    /// The version that new installs get.
    #[oai(nullable)]
    pub current: Option<String>,
    /// The highest version that was published, also one that was yanked: a lower one cannot be published any more.
    #[oai(nullable)]
    pub latest_published: Option<String>,
    /// The version with which it is compared; `null`: there is none.
    #[oai(nullable)]
    pub base: Option<String>,
    pub differences: RiskyDifferencesModel,
    /// Whether the store publishes the version automatically: it is scheduled, or it updates an app with automatic publishing.
    pub published_by_store: bool,
    /// Oldest first; at most the latest 500.
    pub thread: Vec<ReviewEntryModel>,
}

impl From<ReviewDetails> for VersionReviewModel {
    fn from(details: ReviewDetails) -> Self {
        let names = details.names;
        let entry = |entry: ThreadEntry, names: &BTreeMap<_, String>| ReviewEntryModel {
            id: entry.id.to_string(),
            kind: entry.kind.name().to_owned(),
            actor_name: names.get(&entry.actor).filter(|_| entry.role != ReviewRole::System).cloned().unwrap_or_default(),
            actor: entry.actor.to_string(),
            role: entry.role.name().to_owned(),
            comment: entry.comment,
            at: entry.at.to_iso(),
        };
        Self {
            developer_name: names.get(&details.app.owner).cloned().unwrap_or_default(),
            app: details.app.into(),
            version: details.version.into(),
            role: details.role.name().to_owned(),
            need: details.need.map(|need| need.name().to_owned()),
            current: details.current.map(|version| version.to_string()),
            latest_published: details.latest_published.map(|version| version.to_string()),
            base: details.base.map(|version| version.to_string()),
            differences: details.differences.into(),
            published_by_store: details.is_due_by_store,
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
    /// Only with `block`, refused with any other step: the store also keeps the deposit for the app, also if the app is blocked already.
    #[oai(default)]
    pub forfeit_deposit: bool,
}

impl ReviewStepInputModel {
    pub fn category(&self) -> Result<Option<CategoryId>, Problem> {
        self.category_id.as_deref().map(CategoryId::parse).transpose().map_err(|_| Problem::invalid("category_id"))
    }

    pub fn read(&self) -> Result<Step, Problem> {
        let comment = self.comment.clone();
        let review_type =
            self.review_type.as_deref().map(|name| ReviewType::from_name(name).ok_or_else(|| Problem::invalid("review_type")));
        if self.forfeit_deposit && self.step != "block" {
            return Err(Problem::invalid("forfeit_deposit"));
        }
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
