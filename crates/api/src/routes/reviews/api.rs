use super::comparison::VersionComparisonModel;
use super::model::{
    AutoPublishInputModel, DeveloperAppListModel, DeveloperAppModel, QueuedVersionListModel, ReviewStepInputModel, UploadedAppModel,
    UploadedVersionListModel, VersionReviewModel, VisibilityInputModel,
};
use crate::auth::{DeveloperUser, Publisher, RequestContext, ReviewerUser, SignedIn};
use crate::problem::Problem;
use crate::routes::apps::{BinaryResponse, private_picture};
use crate::routes::managed_apps::names_of;
use crate::routes::selling::{ListedTerms, VersionTermsModel};
use crate::routes::versions::{Named, named};
use crate::state::App;
use poem::web::Data;
use poem_openapi::OpenApi;
use poem_openapi::param::{Path, Query};
use poem_openapi::payload::Json;
use souk_domain::publishing::access_tokens::TokenAct;
use souk_domain::publishing::comparison::{compare_version, find_picture};
use souk_domain::publishing::managed_apps::{DeveloperApp, list_own_apps};
use souk_domain::publishing::moderation::{block_app, change_offer, unblock_app};
use souk_domain::publishing::publication::{PublishPorts, publish_version, set_auto_publish, set_private};
use souk_domain::publishing::review::{QueueFilter, Step, find_review, list_reviews, list_uploads, take_review_step};
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
        context: RequestContext,
        page: Query<Option<u32>>,
        #[oai(name = "pageSize")] page_size: Query<Option<u32>>,
    ) -> Result<Json<DeveloperAppListModel>, Problem> {
        let found = list_own_apps(&app.ctx, &caller.0.0, &Page::new(page.0, page_size.0)).await?;
        let dids: Vec<_> = found.list.iter().map(|own| own.app.did.clone()).collect();
        let mut unit = app.ctx.store.read().await?;
        let terms = ListedTerms::read(unit.as_mut(), &caller.0.0, context.mode, &dids).await?;
        let model = |own: DeveloperApp| {
            let terms = terms.of(&own.app.did);
            DeveloperAppModel::new(own, terms)
        };
        Ok(Json(DeveloperAppListModel { count: found.count, list: found.list.into_iter().map(model).collect() }))
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

    /// Turn automatic publishing of an app's updates on for a number of days, after a recent sign-in, or off.
    #[oai(path = "/:did/auto-publish", method = "put")]
    async fn set_auto_publish(
        &self,
        app: Data<&Arc<App>>,
        caller: SignedIn,
        did: Path<String>,
        input: Json<AutoPublishInputModel>,
    ) -> Result<Json<UploadedAppModel>, Problem> {
        if input.days.is_some() {
            caller.check_recent(&app)?;
        }
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
        publisher: Publisher,
        did: Path<String>,
        page: Query<Option<u32>>,
        #[oai(name = "pageSize")] page_size: Query<Option<u32>>,
    ) -> Result<Json<UploadedVersionListModel>, Problem> {
        let did = app.did_auth_tokens.parse_did(&did).ok_or_else(Problem::not_found)?;
        let caller = publisher.act(&app, &did, TokenAct::Read).await?;
        Ok(Json(list_uploads(&app.ctx, &caller, &did, &Page::new(page.0, page_size.0)).await?.into()))
    }

    /// The review of a version with its thread, for its developer and for reviewers.
    #[oai(path = "/:did/versions/:version/review", method = "get")]
    async fn find(
        &self,
        app: Data<&Arc<App>>,
        publisher: Publisher,
        did: Path<String>,
        version: Path<String>,
    ) -> Result<Json<VersionReviewModel>, Problem> {
        let Named { did, version } = named(&app, &did, &version)?;
        let caller = publisher.act(&app, &did, TokenAct::Read).await?;
        Ok(Json(find_review(&app.ctx, &caller, &did, &version).await?.into()))
    }

    /// What differs between a version and the published one, for its developer and for reviewers.
    #[oai(path = "/:did/versions/:version/comparison", method = "get")]
    async fn compare(
        &self,
        app: Data<&Arc<App>>,
        caller: SignedIn,
        did: Path<String>,
        version: Path<String>,
    ) -> Result<Json<VersionComparisonModel>, Problem> {
        let Named { did, version } = named(&app, &did, &version)?;
        let comparison = compare_version(&app.ctx, &ports(&app), &caller.0, &did, &version).await?;
        let terms = VersionTermsModel::of_all(&app, &caller.0, &comparison.terms).await?;
        Ok(Json(VersionComparisonModel::new(comparison, terms)))
    }

    /// A picture of a version that may not be published, for its developer and for reviewers.
    #[oai(path = "/:did/versions/:version/pictures/:sha256", method = "get")]
    async fn picture(
        &self,
        app: Data<&Arc<App>>,
        caller: SignedIn,
        did: Path<String>,
        version: Path<String>,
        sha256: Path<String>,
    ) -> Result<BinaryResponse, Problem> {
        let Named { did, version } = named(&app, &did, &version)?;
        let file = find_picture(&app.ctx, &caller.0, &did, &version, &sha256).await?;
        Ok(BinaryResponse(private_picture(&app, &file).await?))
    }

    /// Take a step of the review, publish or yank the version, or block its app.
    #[oai(path = "/:did/versions/:version/review", method = "put")]
    async fn take(
        &self,
        app: Data<&Arc<App>>,
        publisher: Publisher,
        did: Path<String>,
        version: Path<String>,
        step: Json<ReviewStepInputModel>,
    ) -> Result<Json<VersionReviewModel>, Problem> {
        let Named { did, version } = named(&app, &did, &version)?;
        let taken = step.read()?;
        let caller = publisher.act(&app, &did, TokenAct::Step(&taken)).await?;
        match taken {
            Step::Publish => {
                publish_version(&app.ctx, &ports(&app), &caller, &did, &version, step.category()?.as_ref()).await?;
            }
            step @ (Step::Yank { .. } | Step::UndoYank | Step::RollBack) => {
                change_offer(&app.ctx, &ports(&app), &caller, &did, &version, &step).await?;
            }
            Step::Block { reason } => drop(block_app(&app.ctx, &caller, &did, &version, &reason, step.forfeit_deposit).await?),
            Step::Unblock => drop(unblock_app(&app.ctx, &caller, &did, &version).await?),
            step => drop(take_review_step(&app.ctx, &caller, &did, &version, &step).await?),
        }
        Ok(Json(find_review(&app.ctx, &caller, &did, &version).await?.into()))
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
        let queue = list_reviews(&app.ctx, &caller.0.0, filter, &page).await?;
        let mut unit = app.ctx.store.read().await?;
        let names = names_of(unit.as_mut(), QueuedVersionListModel::people(&queue)).await?;
        Ok(Json(QueuedVersionListModel::new(queue, &names)))
    }
}
