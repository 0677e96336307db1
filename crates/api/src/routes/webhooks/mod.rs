//! Webhooks of card processors. The signature is verified, and the event is stored and acknowledged. A worker then queries the
//! result from the processor itself (invariant 10).

use crate::problem::Problem;
use crate::state::App;
use poem::http::StatusCode;
use poem::web::{Data, Path};
use poem::{Body, Request, handler};
use souk_domain::billing::receive_card_event;
use souk_domain::payment::EventError;
use souk_domain::shared::MethodId;
use std::sync::Arc;

/// Maximum size of an event, in bytes.
const EVENT_MAX: usize = 512 * 1024;

/// `POST /api/webhooks/{method id}`.
#[handler]
pub async fn receive(app: Data<&Arc<App>>, request: &Request, method: Path<String>, body: Body) -> Result<StatusCode, Problem> {
    let method = MethodId::parse(&method)?;
    let signature = request.header("stripe-signature").ok_or_else(|| Problem::bad("Bad Request").code("BAD_SIGNATURE"))?;
    let body = body.into_bytes_limit(EVENT_MAX).await.map_err(|_| Problem::body_too_large())?;
    let method = app.ctx.store.read().await?.methods().find(&method).await?.ok_or_else(Problem::not_found)?;
    let rail = app.ctx.networks.card(method.kind).ok_or_else(Problem::not_found)?;
    let event = rail.read_event(&method, &body, signature, app.ctx.now()).map_err(|error| match error {
        EventError::BadSignature => Problem::new(StatusCode::UNAUTHORIZED, error.to_string()).code("BAD_SIGNATURE"),
        EventError::Malformed => Problem::bad(error.to_string()).code("BAD_EVENT"),
    })?;
    receive_card_event(&app.ctx, &method, &event).await?;
    Ok(StatusCode::OK)
}
