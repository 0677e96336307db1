use super::model::{
    QueuedVersionListModel, ReviewStepInputModel, UploadedAppListModel, UploadedVersionListModel, UploadedVersionModel, VersionReviewModel,
};
use crate::auth::{DeveloperUser, ReviewerUser, SignedIn};
use crate::problem::Problem;
use crate::routes::versions::{Named, named};
use crate::state::App;
use poem::web::Data;
use poem_openapi::OpenApi;
use poem_openapi::param::{Path, Query};
use poem_openapi::payload::Json;
use souk_domain::publishing::publication::{PublishPorts, publish_version};
use souk_domain::publishing::review::{
    QueueFilter, Step, UploadedVersions, find_review, list_own_apps, list_reviews, list_uploads, take_review_step,
};
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
        let found = list_uploads(&app.ctx, &caller.0, &did, &Page::new(page.0, page_size.0)).await?;
        let UploadedVersions { app, versions } = found;
        let list = versions.list.into_iter().map(UploadedVersionModel::from).collect();
        Ok(Json(UploadedVersionListModel { app: app.into(), count: versions.count, list }))
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

    /// Take a step of the review, or publish the version.
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
                let publishing = &app.publishing;
                let (dids, reader, files) = (publishing.dids.as_ref(), publishing.reader.as_ref(), app.files.as_ref());
                let ports = PublishPorts { dids, reader, files };
                publish_version(&app.ctx, &ports, &caller.0, &did, &version, step.category()?.as_ref()).await?;
            }
            step => drop(take_review_step(&app.ctx, &caller.0, &did, &version, &step).await?),
        }
        Ok(Json(find_review(&app.ctx, &caller.0, &did, &version).await?.into()))
    }
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
