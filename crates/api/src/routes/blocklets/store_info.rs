//! `GET /api/store.json`: what published tools need to know of the store (reference/store.md 1.1).

use crate::problem::Problem;
use crate::state::App;
use poem::handler;
use poem::web::{Data, Json};
use serde_json::{Value, json};
use souk_domain::payment::{MethodKind, MethodSettings};
use souk_domain::shared::Mode;
use std::sync::Arc;

#[handler]
pub async fn store_json(app: Data<&Arc<App>>) -> Result<Json<Value>, Problem> {
    let mut unit = app.ctx.store.read().await?;
    let methods = unit.methods().list(Mode::Live).await?;
    let chain =
        methods.iter().filter(|method| method.active && method.kind == MethodKind::Arcblock).find_map(|method| match &method.settings {
            MethodSettings::Arcblock { api_host, .. } => Some(app.site.host(api_host)),
            _ => None,
        });
    let (site, tokens) = (&app.site, &app.did_auth_tokens);
    // Tools require a description.
    let description = if site.description.en.is_empty() { &site.name } else { &site.description.en };
    let megabytes = unit.preferences().find().await?.preferences.bundle_max_mb;
    Ok(Json(json!({
        "id": tokens.app_did().as_str(),
        "pk": tokens.app_key(),
        "name": site.name,
        "description": description,
        "logoUrl": site.address("/logo.svg"),
        "chainHost": chain.unwrap_or_default(),
        "version": env!("CARGO_PKG_VERSION"),
        // As a text with its unit: tools ignore a bare number.
        "maxBundleSize": format!("{megabytes} MB"),
    })))
}
