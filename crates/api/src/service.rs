//! Assembles the routes.

use crate::middleware::RequestMiddleware;
use crate::routes;
use crate::state::App;
use poem::{Endpoint, EndpointExt, IntoEndpoint, Response, Route, get, post};
use poem_openapi::{OpenApi, OpenApiService};
use std::sync::Arc;

fn resources() -> impl OpenApi {
    (
        (
            routes::store::StoreApi,
            routes::session::SessionApi,
            routes::session::LoginsApi,
            routes::session::PictureApi,
            routes::devices::DevicesApi,
        ),
        (routes::apps::AppsApi, routes::apps::CategoriesApi, routes::apps::EntitlementsApi, routes::versions::VersionChecksApi),
        (
            routes::checkout_sessions::CheckoutApi,
            routes::checkout_sessions::OffersApi,
            routes::checkout_sessions::ManageSessionsApi,
            routes::settings::SettingsApi,
        ),
        (routes::products::ProductsApi, routes::prices::PricesApi, routes::payment_links::PaymentLinksApi),
        (routes::payment_methods::PaymentMethodsApi, routes::payment_currencies::PaymentCurrenciesApi),
        (
            routes::customers::CustomersApi,
            routes::customers::EmailConfirmationsApi,
            routes::customers::PrivacyApi,
            routes::balances::BalancesApi,
            routes::payment_intents::PaymentIntentsApi,
            routes::invoices::InvoicesApi,
            routes::invoices::OverdueApi,
        ),
        (routes::subscriptions::SubscriptionsApi, routes::subscriptions::ManageApi),
        (routes::subscriptions::PlansApi, routes::subscriptions::PaymentChangesApi),
        (routes::credit_notes::CreditNotesApi, routes::refunds::RefundsApi, routes::disputes::DisputesApi, routes::stakes::StakesApi),
        routes::transfers::TransfersApi,
        (routes::usage_records::UsageRecordsApi, routes::test_clocks::TestClocksApi),
        (routes::clock::ClockApi, routes::disk::DiskApi, routes::restore::RestoreApi),
        (routes::audit_log::AuditLogApi, routes::doctor::DoctorApi),
        (
            routes::preferences::PreferencesApi,
            routes::managed_apps::ManagedAppsApi,
            routes::categories::ConsoleCategoriesApi,
            routes::blocked_digests::BlockedDigestsApi,
        ),
        (
            routes::developer_program::DeveloperProgramApi,
            routes::developer_program::AppDepositsApi,
            routes::developer_program::BlockedUsersApi,
            routes::invitations::InvitationsApi,
            routes::invitations::ConsoleInvitationsApi,
            routes::invitations::DevelopersApi,
        ),
        (
            routes::tool_sessions::ToolSessionsApi,
            routes::installing::InstallingApi,
            routes::access_tokens::AccessTokensApi,
            routes::trusted_publishers::TrustedPublishersApi,
            routes::trusted_publishers::TrustedPublishingApi,
            routes::reviews::DeveloperAppsApi,
            routes::reviews::ReviewsApi,
            routes::reviews::ConsoleReviewsApi,
            routes::publication_log::PublicationLogApi,
            (routes::selling::AppPriceApi, routes::selling::EarningsApi, routes::selling::PayablesApi),
        ),
    )
}

/// The OpenAPI document. It is committed, a test compares it, and the types of the web client are generated from it.
#[must_use]
pub fn document() -> String {
    OpenApiService::new(resources(), "Souk", "1").spec()
}

/// The whole HTTP service. `pages` handles all other paths: the web pages, and the sandbox if it is enabled.
pub fn service<E: Endpoint + 'static>(app: Arc<App>, pages: impl IntoEndpoint<Endpoint = E>) -> impl Endpoint<Output = Response> {
    let api = OpenApiService::new(resources(), "Souk", "1");
    let document = api.spec_endpoint();
    Route::new()
        .at("/openapi.json", document)
        .at("/healthz", get(routes::health::alive))
        .at("/readyz", get(routes::health::ready))
        .at("/__blocklet__.js", get(routes::well_known::blocklet))
        .nest("/.well-known/service/relay", routes::realtime::routes())
        .nest("/.well-known", routes::well_known::routes())
        .nest("/api/did", routes::connect::routes())
        .at("/api/webhooks/:method", post(routes::webhooks::receive))
        .at("/api/store.json", get(routes::blocklets::store_json))
        .nest("/api/blocklets", routes::blocklets::routes())
        .nest("/api/blocklet-instances", routes::blocklet_instances::routes())
        .nest_no_strip("/api", api)
        .nest_no_strip("/", pages)
        .with(RequestMiddleware(Arc::clone(&app)))
        .data(app)
}
