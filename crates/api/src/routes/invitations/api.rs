use super::model::{InvitationPreviewModel, InvitationTokenModel};
use crate::auth::{SignedIn, token_hash};
use crate::problem::Problem;
use crate::routes::session::{SessionModel, session_of};
use crate::state::App;
use poem::web::Data;
use poem_openapi::OpenApi;
use poem_openapi::payload::Json;
use souk_domain::publishing::invitations;
use std::sync::Arc;

pub struct InvitationsApi;

#[OpenApi(prefix_path = "/api/invitations")]
impl InvitationsApi {
    /// What the signed-in holder of an invitation's link would accept. Changes nothing; it is a POST so that the secret stands in no address.
    #[oai(path = "/preview", method = "post")]
    async fn preview(
        &self,
        app: Data<&Arc<App>>,
        _caller: SignedIn,
        link: Json<InvitationTokenModel>,
    ) -> Result<Json<InvitationPreviewModel>, Problem> {
        let invitation = invitations::find_invitation(&app.ctx, &token_hash(&link.token)).await?;
        let inviter = app.ctx.store.read().await?.users().find(&invitation.created_by).await?;
        Ok(Json(InvitationPreviewModel {
            role: invitation.role.name().to_owned(),
            invited_by: inviter.map(|user| user.full_name).unwrap_or_default(),
            expires_at: invitation.expires_at.to_iso(),
        }))
    }

    /// Accept an invitation as the signed-in user: its role from then on. A link can be used once.
    #[oai(path = "/accept", method = "post")]
    async fn accept(
        &self,
        app: Data<&Arc<App>>,
        caller: SignedIn,
        link: Json<InvitationTokenModel>,
    ) -> Result<Json<SessionModel>, Problem> {
        invitations::accept_invitation(&app.ctx, &caller.0.user.did, &token_hash(&link.token)).await?;
        session_of(&app, caller.0).await
    }
}
