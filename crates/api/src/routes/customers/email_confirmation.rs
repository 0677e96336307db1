//! Confirms email addresses by a link, because test mode sends emails to confirmed addresses only.

use super::api::email_of;
use crate::auth::{RequestContext, SignedIn};
use crate::problem::Problem;
use crate::state::App;
use poem::Request;
use poem::web::Data;
use poem_openapi::payload::Json;
use poem_openapi::{Object, OpenApi};
use souk_domain::mail::{self, CONFIRMATION_INTERVAL};
use std::sync::Arc;

/// Whether the customer's address gets the emails of test mode.
#[derive(Debug, Clone, Object)]
#[oai(rename = "EmailConfirmation")]
pub struct EmailConfirmationModel {
    pub email: String,
    pub confirmed: bool,
    /// Whether a link was requested within the last 24 hours. An address gets one in this time.
    pub requested: bool,
}

#[derive(Debug, Clone, Object)]
#[oai(rename = "ConfirmationLink")]
pub struct ConfirmationLinkModel {
    /// The token of the link.
    #[oai(validator(max_length = 300))]
    pub token: String,
}

#[derive(Debug, Clone, Object)]
#[oai(rename = "ConfirmedEmail")]
pub struct ConfirmedEmailModel {
    pub email: String,
}

pub struct EmailConfirmationsApi;

#[OpenApi(prefix_path = "/api")]
impl EmailConfirmationsApi {
    /// Whether the signed-in customer's address is confirmed.
    #[oai(path = "/customers/me/email-confirmation", method = "get")]
    async fn read(&self, app: Data<&Arc<App>>, caller: SignedIn, context: RequestContext) -> Result<Json<EmailConfirmationModel>, Problem> {
        state(&app, email_of(&app, &caller.0, context.mode).await?).await
    }

    /// Send a link that confirms the signed-in customer's address. One per address and day, and few per network and hour.
    #[oai(path = "/customers/me/email-confirmation", method = "post")]
    async fn request(
        &self,
        app: Data<&Arc<App>>,
        request: &Request,
        caller: SignedIn,
        context: RequestContext,
    ) -> Result<Json<EmailConfirmationModel>, Problem> {
        let email = email_of(&app, &caller.0, context.mode).await?;
        let visitor = app.limits.visitor_network(request, &app.tokens);
        mail::request_confirmation(&app.ctx, &email, context.language, &visitor).await?;
        state(&app, email).await
    }

    /// Confirm the address of a link. Anybody with the link can, once.
    #[oai(path = "/email-confirmations", method = "post")]
    async fn confirm(&self, app: Data<&Arc<App>>, link: Json<ConfirmationLinkModel>) -> Result<Json<ConfirmedEmailModel>, Problem> {
        let request = app.tokens.confirmed_request(&link.token, app.ctx.now()).ok_or(mail::ConfirmationError::LinkInvalid)?;
        let address = mail::confirm_address(&app.ctx, request).await?;
        Ok(Json(ConfirmedEmailModel { email: address.as_str().to_owned() }))
    }
}

async fn state(app: &App, email: String) -> Result<Json<EmailConfirmationModel>, Problem> {
    let known = mail::known_address(&app.ctx, &email).await?;
    let since = app.ctx.now().minus(CONFIRMATION_INTERVAL);
    Ok(Json(EmailConfirmationModel {
        email,
        confirmed: known.as_ref().is_some_and(|known| known.confirmed_at.is_some()),
        requested: known.is_some_and(|known| known.confirmed_at.is_none() && known.requested_at > since),
    }))
}
