use super::model::{
    BlockedDigestInputModel, BlockedDigestListModel, BlockedDigestModel, ContainingVersionListModel, ContainingVersionModel,
};
use crate::auth::AdminUser;
use crate::problem::Problem;
use crate::state::App;
use poem::web::Data;
use poem_openapi::param::{Path, Query};
use poem_openapi::payload::Json;
use poem_openapi::{ApiResponse, OpenApi};
use souk_domain::publishing::digests::{DIGEST_KEYWORD_MAX, block_digest, parse_digest, unblock_digest};
use souk_domain::shared::Page;
use std::sync::Arc;

#[derive(ApiResponse)]
pub enum Unblocked {
    #[oai(status = 204)]
    Done,
}

pub struct BlockedDigestsApi;

#[OpenApi(prefix_path = "/api/console/blocked-digests")]
impl BlockedDigestsApi {
    /// The blocked digests, for administrators, newest first. `keyword` is the beginning of a digest or a part of a reason.
    #[oai(path = "/", method = "get")]
    async fn list(
        &self,
        app: Data<&Arc<App>>,
        _caller: AdminUser,
        keyword: Query<Option<String>>,
        page: Query<Option<u32>>,
        #[oai(name = "pageSize")] page_size: Query<Option<u32>>,
    ) -> Result<Json<BlockedDigestListModel>, Problem> {
        let keyword: String = keyword.0.unwrap_or_default().chars().take(DIGEST_KEYWORD_MAX).collect();
        let found = app.ctx.store.read().await?.digests().list(&keyword, &Page::new(page.0, page_size.0)).await?;
        Ok(Json(BlockedDigestListModel { count: found.count, list: found.list.into_iter().map(BlockedDigestModel::from).collect() }))
    }

    /// The uploaded versions that contain some content, for administrators.
    #[oai(path = "/:sha256/versions", method = "get")]
    async fn versions(
        &self,
        app: Data<&Arc<App>>,
        _caller: AdminUser,
        sha256: Path<String>,
        page: Query<Option<u32>>,
        #[oai(name = "pageSize")] page_size: Query<Option<u32>>,
    ) -> Result<Json<ContainingVersionListModel>, Problem> {
        let sha256 = parse_digest(&sha256)?;
        let found = app.ctx.store.read().await?.digests().versions_with(&sha256, &Page::new(page.0, page_size.0)).await?;
        let list = found.list.into_iter().map(ContainingVersionModel::from).collect();
        Ok(Json(ContainingVersionListModel { count: found.count, list }))
    }

    /// Block content by its SHA-256 as an administrator, or change the reason. Versions that were published with it stay published.
    #[oai(path = "/:sha256", method = "put")]
    async fn block(
        &self,
        app: Data<&Arc<App>>,
        _caller: AdminUser,
        sha256: Path<String>,
        input: Json<BlockedDigestInputModel>,
    ) -> Result<Json<BlockedDigestModel>, Problem> {
        Ok(Json(block_digest(&app.ctx, &sha256, &input.reason).await?.into()))
    }

    /// Unblock content as an administrator.
    #[oai(path = "/:sha256", method = "delete")]
    async fn unblock(&self, app: Data<&Arc<App>>, _caller: AdminUser, sha256: Path<String>) -> Result<Unblocked, Problem> {
        unblock_digest(&app.ctx, &sha256).await?;
        Ok(Unblocked::Done)
    }
}
