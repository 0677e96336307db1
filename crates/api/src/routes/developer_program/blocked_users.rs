use crate::auth::AdminUser;
use crate::problem::Problem;
use crate::state::App;
use poem::web::Data;
use poem_openapi::param::Path;
use poem_openapi::payload::Json;
use poem_openapi::{Object, OpenApi};
use souk_domain::access::BlockedUser;
use souk_domain::publishing::staking::{BLOCKED_USERS_MAX, block_user, unblock_user};
use std::sync::Arc;

/// A user who gets no passport.
#[derive(Debug, Clone, Object)]
#[oai(rename = "BlockedUser")]
pub struct BlockedUserModel {
    pub did: String,
    /// Empty if they have none.
    pub name: String,
    pub blocked_at: String,
}

impl From<BlockedUser> for BlockedUserModel {
    fn from(blocked: BlockedUser) -> Self {
        let BlockedUser { user, blocked_at } = blocked;
        Self { did: user.did.to_string(), name: user.full_name, blocked_at: blocked_at.to_iso() }
    }
}

#[derive(Debug, Clone, Object)]
#[oai(rename = "BlockedUserList")]
pub struct BlockedUserListModel {
    pub count: u64,
    /// Those who were blocked last come first.
    pub list: Vec<BlockedUserModel>,
}

pub struct BlockedUsersApi;

#[OpenApi(prefix_path = "/api/console/blocked-users")]
impl BlockedUsersApi {
    /// The users whose access was revoked, for administrators.
    #[oai(path = "/", method = "get")]
    async fn list(&self, app: Data<&Arc<App>>, _caller: AdminUser) -> Result<Json<BlockedUserListModel>, Problem> {
        list(&app).await
    }

    /// Block a user, after a recent sign-in: all their passports are withdrawn, the deposits by which they were obtained are returned, and
    /// they get no other one. Administrators block customers, developers and reviewers, owners administrators as well.
    #[oai(path = "/:did", method = "put")]
    async fn block(&self, app: Data<&Arc<App>>, caller: AdminUser, did: Path<String>) -> Result<Json<BlockedUserListModel>, Problem> {
        caller.0.check_recent(&app)?;
        let did = app.did_auth_tokens.parse_did(&did).ok_or_else(Problem::not_found)?;
        block_user(&app.ctx, &caller.0.0, &did).await?;
        list(&app).await
    }

    /// End the block of a user. Their passports do not come back.
    #[oai(path = "/:did", method = "delete")]
    async fn unblock(&self, app: Data<&Arc<App>>, caller: AdminUser, did: Path<String>) -> Result<Json<BlockedUserListModel>, Problem> {
        caller.0.check_recent(&app)?;
        let did = app.did_auth_tokens.parse_did(&did).ok_or_else(Problem::not_found)?;
        unblock_user(&app.ctx, &caller.0.0, &did).await?;
        list(&app).await
    }
}

async fn list(app: &App) -> Result<Json<BlockedUserListModel>, Problem> {
    let found = app.ctx.store.read().await?.users().blocked(BLOCKED_USERS_MAX).await?;
    Ok(Json(BlockedUserListModel { count: found.len() as u64, list: found.into_iter().map(BlockedUserModel::from).collect() }))
}
