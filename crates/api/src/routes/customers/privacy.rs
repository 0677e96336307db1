use super::named_customer;
use crate::auth::{SignedIn, Writes, resources};
use crate::problem::Problem;
use crate::state::App;
use futures_util::stream::{self, StreamExt, TryStreamExt};
use poem::Body;
use poem::http::StatusCode;
use poem::web::Data;
use poem_openapi::param::Path;
use poem_openapi::payload::{Attachment, AttachmentType, Json};
use poem_openapi::{ApiResponse, Object, OpenApi};
use souk_domain::privacy::{self, Obstacle};
use std::io;
use std::sync::Arc;

/// What stands in the way of an erasure.
#[derive(Debug, Clone, Object)]
#[oai(rename = "Erasure")]
pub struct ErasureModel {
    /// `role`, `active_subscription`, `unpaid_invoice`, `money_in_flight`, `open_dispute`, `deposit`, `balance` or `earnings`. Empty: the data
    /// can be erased now.
    pub obstacles: Vec<String>,
}

#[derive(Debug, Clone, Object)]
#[oai(rename = "Erased")]
pub struct ErasedModel {
    pub erased_at: String,
}

#[derive(ApiResponse)]
pub enum ExportResponse {
    /// A JSON document with an array of records for each kind of object.
    #[oai(status = 200)]
    Export(Attachment<Body>),
}

pub struct PrivacyApi;

#[OpenApi(prefix_path = "/api/customers")]
impl PrivacyApi {
    /// Download everything that is stored about the signed-in user, in both modes; at most ten times an hour.
    #[oai(path = "/me/export", method = "get")]
    async fn export(&self, app: Data<&Arc<App>>, caller: SignedIn) -> Result<ExportResponse, Problem> {
        let did = &caller.0.user.did;
        privacy::count_export(&app.ctx, did).await?;
        let mut pieces = app.exports.export(did, app.ctx.now());
        // Until the first piece, a failure is answered; later it interrupts the download.
        let first = pieces.next().await.transpose()?;
        let pieces = stream::iter(first.map(Ok)).chain(pieces).map_err(io::Error::other);
        let document = Attachment::new(Body::from_bytes_stream(pieces));
        Ok(ExportResponse::Export(document.attachment_type(AttachmentType::Attachment).filename("my-data.json")))
    }

    /// What stands in the way of the erasure of the signed-in user's data.
    #[oai(path = "/me/erasure", method = "get")]
    async fn erasure(&self, app: Data<&Arc<App>>, caller: SignedIn) -> Result<Json<ErasureModel>, Problem> {
        let obstacles = privacy::obstacles(&app.ctx, &caller.0.user.did).await?;
        Ok(Json(ErasureModel { obstacles: obstacles.into_iter().map(|obstacle| obstacle.name().to_owned()).collect() }))
    }

    /// Erase the personal data of the signed-in user and end all logins. Invoices, credit notes and the journal are kept. Needs a recent
    /// sign-in.
    #[oai(path = "/me/erasure", method = "post")]
    async fn erase_own(&self, app: Data<&Arc<App>>, caller: SignedIn) -> Result<Json<ErasedModel>, Problem> {
        caller.check_recent(&app)?;
        privacy::erase(&app.ctx, &caller.0.user.did).await?;
        Ok(Json(ErasedModel { erased_at: app.ctx.now().to_iso() }))
    }

    /// Erase the personal data of a customer who has asked for it, in both modes; `id` is the customer's id or DID. Needs a recent sign-in.
    #[oai(path = "/:id/erasure", method = "post")]
    async fn erase(
        &self,
        app: Data<&Arc<App>>,
        writes: Writes<resources::Customers>,
        id: Path<String>,
    ) -> Result<Json<ErasedModel>, Problem> {
        writes.check_recent(&app)?;
        let customer = named_customer(&app, app.ctx.store.read().await?.as_mut(), writes.mode, &id).await?;
        let customer = customer.filter(|customer| customer.mode == writes.mode).ok_or_else(Problem::not_found)?;
        privacy::erase(&app.ctx, &customer.did).await?;
        Ok(Json(ErasedModel { erased_at: app.ctx.now().to_iso() }))
    }
}

impl From<privacy::ErasureError> for Problem {
    fn from(error: privacy::ErasureError) -> Self {
        let message = error.to_string();
        match error {
            privacy::ErasureError::NotFound => Self::not_found(),
            privacy::ErasureError::Obstacle(obstacle) => obstructed(message, obstacle),
            privacy::ErasureError::TooMany => Self::new(StatusCode::TOO_MANY_REQUESTS, message).code("TOO_MANY_ERASURES"),
            privacy::ErasureError::Storage(error) => error.into(),
        }
    }
}

impl From<privacy::ExportError> for Problem {
    fn from(error: privacy::ExportError) -> Self {
        let message = error.to_string();
        match error {
            privacy::ExportError::TooMany => Self::new(StatusCode::TOO_MANY_REQUESTS, message).code("TOO_MANY_EXPORTS"),
            privacy::ExportError::Storage(error) => error.into(),
        }
    }
}

fn obstructed(message: String, obstacle: Obstacle) -> Problem {
    Problem::new(StatusCode::CONFLICT, message).code("ERASURE_OBSTACLE").param("obstacle", obstacle.name())
}
