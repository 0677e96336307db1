use crate::routes::checkout_sessions::TextModel;
use crate::state::App;
use poem::web::Data;
use poem_openapi::payload::Json;
use poem_openapi::types::ToJSON;
use poem_openapi::{Object, OpenApi};
use souk_domain::payment::Sandbox;
use std::sync::Arc;

#[derive(Debug, Clone, Object)]
#[oai(rename = "Analytics")]
pub struct AnalyticsModel {
    /// URL of an analytics script to load. Page views are reported to this store in any case.
    #[oai(nullable)]
    pub script: Option<String>,
}

#[derive(Debug, Clone, Object)]
#[oai(rename = "ErrorReporting")]
pub struct ErrorReportingModel {
    /// The URL to which a page posts `{message, stack, path}`.
    #[oai(nullable)]
    pub url: Option<String>,
    /// The share of errors to post, from 0 to 1.
    pub sample_rate: f64,
}

#[derive(Debug, Clone, Object)]
#[oai(rename = "Store")]
pub struct StoreModel {
    pub name: String,
    pub description: TextModel,
    pub url: String,
    /// The store's DID, which names its realtime channel.
    #[oai(rename = "appPid")]
    pub app_pid: String,
    pub logo: String,
    /// Whether this is a demo store, where a new browser starts in test mode.
    pub demo: bool,
    /// Whether test mode's sandbox is on. While it is off, test payments are neither made nor lost.
    pub sandbox: bool,
    /// Whether emails are sent. Without a mail server they are files in the store's mail folder. Test mode sends emails to confirmed
    /// addresses only.
    pub mail_server: bool,
    pub languages: Vec<String>,
    pub analytics: AnalyticsModel,
    pub errors: ErrorReportingModel,
}

impl StoreModel {
    /// The model as JSON text.
    #[must_use]
    pub fn json(&self) -> String {
        self.to_json_string()
    }

    #[must_use]
    pub fn of(app: &App) -> Self {
        let site = &app.site;
        Self {
            name: site.name.clone(),
            description: TextModel::from(&site.description),
            url: site.address("/"),
            app_pid: app.did_auth_tokens.app_did().to_string(),
            logo: "/logo.svg".to_owned(),
            demo: site.demo,
            sandbox: app.ctx.networks.sandbox() == Sandbox::On,
            mail_server: site.has_mail_server,
            languages: vec!["en".to_owned(), "zh".to_owned()],
            analytics: AnalyticsModel { script: site.analytics_script.as_ref().map(ToString::to_string) },
            errors: ErrorReportingModel { url: site.errors_url.as_ref().map(ToString::to_string), sample_rate: site.errors_sample_rate },
        }
    }
}

pub struct StoreApi;

#[OpenApi(prefix_path = "/api/store")]
impl StoreApi {
    /// The store's name, languages and settings, which every page loads first.
    #[oai(path = "/", method = "get")]
    async fn store(&self, app: Data<&Arc<App>>) -> Json<StoreModel> {
        Json(StoreModel::of(&app))
    }
}
