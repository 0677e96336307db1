use super::model::{
    AutoPublishInputModel, QueuedVersionListModel, ReviewStepInputModel, UploadedAppListModel, UploadedAppModel, UploadedVersionListModel,
    VersionReviewModel, VisibilityInputModel,
};
use crate::auth::{DeveloperUser, ReviewerUser, SignedIn};
use crate::problem::Problem;
use crate::routes::versions::{Named, named};
use crate::state::App;
use poem::web::Data;
use poem_openapi::OpenApi;
use poem_openapi::param::{Path, Query};
use poem_openapi::payload::Json;
use souk_domain::publishing::moderation::{block_app, change_offer, unblock_app};
use souk_domain::publishing::publication::{PublishPorts, publish_version, set_auto_publish, set_private};
use souk_domain::publishing::review::{QueueFilter, Step, find_review, list_own_apps, list_reviews, list_uploads, take_review_step};
use souk_domain::shared::Page;
use std::sync::Arc;

pub struct DeveloperAppsApi;

#[OpenApi(prefix_path = "/api/developer/apps")]
impl DeveloperAppsApi {
    /// The apps of the signed-in developer. Those that were changed last come first.
    #[oai(path = "/", method = "get")]
    async fn list(
        &self,
        app: Data<&Arc<App>>,
        caller: DeveloperUser,
        page: Query<Option<u32>>,
        #[oai(name = "pageSize")] page_size: Query<Option<u32>>,
    ) -> Result<Json<UploadedAppListModel>, Problem> {
        let page = Page::new(page.0, page_size.0);
        Ok(Json(list_own_apps(&app.ctx, &caller.0.0, &page).await?.into()))
    }

    /// Make an app private, or list it again.
    #[oai(path = "/:did/visibility", method = "put")]
    async fn set_visibility(
        &self,
        app: Data<&Arc<App>>,
        caller: SignedIn,
        did: Path<String>,
        input: Json<VisibilityInputModel>,
    ) -> Result<Json<UploadedAppModel>, Problem> {
        let did = app.did_auth_tokens.parse_did(&did).ok_or_else(Problem::not_found)?;
        Ok(Json(set_private(&app.ctx, &caller.0, &did, input.private).await?.into()))
    }

    /// Turn automatic publishing of an app's updates on for a number of days, or off.
    #[oai(path = "/:did/auto-publish", method = "put")]
    async fn set_auto_publish(
        &self,
        app: Data<&Arc<App>>,
        caller: SignedIn,
        did: Path<String>,
        input: Json<AutoPublishInputModel>,
    ) -> Result<Json<UploadedAppModel>, Problem> {
        let did = app.did_auth_tokens.parse_did(&did).ok_or_else(Problem::not_found)?;
        Ok(Json(set_auto_publish(&app.ctx, &caller.0, &did, input.days).await?.into()))
    }
}

pub struct ReviewsApi;

#[OpenApi(prefix_path = "/api/apps")]
impl ReviewsApi {
    /// An uploaded app and its versions, for its developer and for reviewers.
    #[oai(path = "/:did/uploads", method = "get")]
    async fn uploads(
        &self,
        app: Data<&Arc<App>>,
        caller: SignedIn,
        did: Path<String>,
        page: Query<Option<u32>>,
        #[oai(name = "pageSize")] page_size: Query<Option<u32>>,
    ) -> Result<Json<UploadedVersionListModel>, Problem> {
        let did = app.did_auth_tokens.parse_did(&did).ok_or_else(Problem::not_found)?;
        Ok(Json(list_uploads(&app.ctx, &caller.0, &did, &Page::new(page.0, page_size.0)).await?.into()))
    }

    /// The review of a version with its thread, for its developer and for reviewers.
    #[oai(path = "/:did/versions/:version/review", method = "get")]
    async fn find(
        &self,
        app: Data<&Arc<App>>,
        caller: SignedIn,
        did: Path<String>,
        version: Path<String>,
    ) -> Result<Json<VersionReviewModel>, Problem> {
        let Named { did, version } = named(&app, &did, &version)?;
        Ok(Json(find_review(&app.ctx, &caller.0, &did, &version).await?.into()))
    }

    /// Take a step of the review, publish or yank the version, or block its app.
    #[oai(path = "/:did/versions/:version/review", method = "put")]
    async fn take(
        &self,
        app: Data<&Arc<App>>,
        caller: SignedIn,
        did: Path<String>,
        version: Path<String>,
        step: Json<ReviewStepInputModel>,
    ) -> Result<Json<VersionReviewModel>, Problem> {
        let Named { did, version } = named(&app, &did, &version)?;
        match step.read()? {
            Step::Publish => {
                publish_version(&app.ctx, &ports(&app), &caller.0, &did, &version, step.category()?.as_ref()).await?;
            }
            step @ (Step::Yank { .. } | Step::UndoYank | Step::RollBack) => {
                change_offer(&app.ctx, &ports(&app), &caller.0, &did, &version, &step).await?;
            }
            Step::Block { reason } => drop(block_app(&app.ctx, &caller.0, &did, &version, &reason).await?),
            Step::Unblock => drop(unblock_app(&app.ctx, &caller.0, &did, &version).await?),
            step => drop(take_review_step(&app.ctx, &caller.0, &did, &version, &step).await?),
        }
        Ok(Json(find_review(&app.ctx, &caller.0, &did, &version).await?.into()))
    }
}

fn ports(app: &App) -> PublishPorts<'_> {
    let publishing = &app.publishing;
    PublishPorts { dids: publishing.dids.as_ref(), reader: publishing.reader.as_ref(), files: app.files.as_ref() }
}

pub struct ConsoleReviewsApi;

#[OpenApi(prefix_path = "/api/console/reviews")]
impl ConsoleReviewsApi {
    /// The versions that wait for a reviewer, or with `filter=decided` those that were decided.
    #[oai(path = "/", method = "get")]
    async fn list(
        &self,
        app: Data<&Arc<App>>,
        caller: ReviewerUser,
        filter: Query<Option<String>>,
        page: Query<Option<u32>>,
        #[oai(name = "pageSize")] page_size: Query<Option<u32>>,
    ) -> Result<Json<QueuedVersionListModel>, Problem> {
        let filter = match filter.0.as_deref() {
            None | Some("open") => QueueFilter::Open,
            Some("decided") => QueueFilter::Decided,
            Some(_) => return Err(Problem::invalid("filter")),
        };
        let page = Page::new(page.0, page_size.0);
        Ok(Json(list_reviews(&app.ctx, &caller.0.0, filter, &page).await?.into()))
    }
}
