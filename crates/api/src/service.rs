//! All routes together.

use crate::outer::Outer;
use crate::routes;
use crate::state::App;
use poem::{EndpointExt, IntoEndpoint, Route};
use poem_openapi::{OpenApi, OpenApiService};
use std::sync::Arc;

fn resources() -> impl OpenApi {
    (
        routes::checkout_sessions::CheckoutApi,
        routes::settings::SettingsApi,
        routes::customers::CustomersApi,
        routes::payment_intents::PaymentIntentsApi,
    )
}

/// The OpenAPI document: kept in the repository, compared by a test, the source of the web client's types.
#[must_use]
pub fn document() -> String {
    OpenApiService::new(resources(), "Souk", "1").spec()
}

/// The API, to be mounted at the root. `pages` answers whatever is no route of ours: the web entries.
pub fn service(app: Arc<App>, pages: impl IntoEndpoint<Endpoint: 'static>) -> impl poem::Endpoint<Output = poem::Response> {
    let api = OpenApiService::new(resources(), "Souk", "1");
    let document = api.spec_endpoint();
    Route::new().at("/openapi.json", document).nest("/", api).with(Outer(Arc::clone(&app))).data(app)
}
