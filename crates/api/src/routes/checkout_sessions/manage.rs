//! Session endpoints for integrators: create, list, read, expire, and replace metadata.

use super::api::load;
use super::model::{PhoneCollectionModel, SessionModel};
use super::terms::{SubscriptionDataInputModel, read_mode, requires_cross_sell};
use crate::auth::{Reads, Writes, resources};
use crate::lossless_json::LosslessJson;
use crate::problem::Problem;
use crate::routes::input::{MetadataInput, metadata_filter, page, read_metadata};
use crate::routes::payment_links::{AddressCollection, LineItemInputModel};
use crate::state::App;
use poem::Request;
use poem::web::Data;
use poem_openapi::param::{Path, Query};
use poem_openapi::payload::Json;
use poem_openapi::{Object, OpenApi};
use souk_domain::checkout::{self, Buyer, Expanded, FormOptions, NewSession, Session, SessionFilter, SessionStatus};
use souk_domain::shared::{CurrencyId, Mode, PaymentLinkId, SessionId, Timestamp};
use std::sync::Arc;

#[derive(Debug, Clone, Object)]
#[oai(rename = "CheckoutSessionInput")]
pub struct NewSessionModel {
    /// `payment`, `subscription` or `setup`; absent: derived from the items.
    pub mode: Option<String>,
    pub line_items: Vec<LineItemInputModel>,
    /// Absent: the currency of the first item's price.
    pub currency_id: Option<String>,
    pub success_url: Option<String>,
    pub cancel_url: Option<String>,
    /// Unix seconds, at most 30 days ahead. Absent: one day.
    pub expires_at: Option<i64>,
    pub phone_number_collection: Option<PhoneCollectionModel>,
    pub billing_address_collection: Option<AddressCollection>,
    /// Terms of the subscriptions that the session creates.
    pub subscription_data: Option<SubscriptionDataInputModel>,
    /// `auto`, or `required`: the buyer must accept the cross-sell offer.
    pub cross_sell_behavior: Option<String>,
    /// String values, and `page_info`.
    pub metadata: Option<serde_json::Value>,
}

impl NewSessionModel {
    fn read(self, mode: Mode) -> Result<NewSession, Problem> {
        let kind = read_mode(self.mode.as_deref())?;
        let MetadataInput { metadata, page_info } = self.metadata.map(read_metadata).transpose()?.unwrap_or_default();
        let currency_id = self.currency_id.map(|id| CurrencyId::parse(&id)).transpose();
        Ok(NewSession {
            mode,
            kind,
            items: self.line_items.into_iter().map(LineItemInputModel::read).collect::<Result<_, _>>()?,
            currency_id: currency_id.map_err(|_| Problem::invalid_value("currency_id", "currency_id is not the id of a currency"))?,
            form: FormOptions {
                collect_phone: self.phone_number_collection.is_some_and(|collection| collection.enabled),
                require_address: self.billing_address_collection == Some(AddressCollection::Required),
                page_info: page_info.unwrap_or_default(),
            },
            terms: self.subscription_data.map(SubscriptionDataInputModel::read).transpose()?.unwrap_or_default(),
            requires_cross_sell: requires_cross_sell(self.cross_sell_behavior.as_deref()),
            success_url: self.success_url,
            cancel_url: self.cancel_url,
            metadata,
            expires_at: self.expires_at.map(Timestamp::from_seconds),
        })
    }
}

#[derive(Debug, Clone, Object)]
#[oai(rename = "CheckoutSessionUpdate")]
pub struct SessionUpdateModel {
    /// Replaces the existing metadata.
    pub metadata: serde_json::Value,
}

#[derive(Debug, Clone, Object)]
#[oai(rename = "CheckoutSessionList")]
pub struct SessionListModel {
    pub count: u64,
    pub list: Vec<SessionModel>,
}

pub struct ManageSessionsApi;

#[OpenApi(prefix_path = "/api/checkout-sessions")]
impl ManageSessionsApi {
    /// Create a session for the given items; the buyer pays at its `url`.
    #[oai(path = "/", method = "post")]
    async fn create(
        &self,
        app: Data<&Arc<App>>,
        writes: Writes<resources::CheckoutSessions>,
        session: LosslessJson<NewSessionModel>,
    ) -> Result<Json<SessionModel>, Problem> {
        let id = checkout::open_session(&app.ctx, session.0.read(writes.mode)?).await?;
        show(&app, writes.mode, &id).await
    }

    /// The store's sessions, newest first. `status` takes several values separated by commas; `metadata.{name}={value}` filters the
    /// list.
    #[oai(path = "/", method = "get")]
    #[expect(clippy::too_many_arguments, reason = "each is a parameter of the call")]
    async fn list(
        &self,
        app: Data<&Arc<App>>,
        request: &Request,
        reads: Reads<resources::CheckoutSessions>,
        #[oai(name = "page")] number: Query<Option<u32>>,
        #[oai(name = "pageSize")] page_size: Query<Option<u32>>,
        limit: Query<Option<u32>>,
        starting_after: Query<Option<String>>,
        status: Query<Option<String>>,
        payment_link_id: Query<Option<String>>,
    ) -> Result<Json<SessionListModel>, Problem> {
        let page = page::<SessionId>(number.0, page_size.0.or(limit.0), starting_after.0)?;
        let statuses = status.0.as_deref().unwrap_or_default().split(',').map(str::trim).filter(|status| !status.is_empty());
        let statuses =
            statuses.map(|name| SessionStatus::from_name(name).ok_or_else(|| Problem::invalid_value("status", "status is not known")));
        let link = payment_link_id.0.map(|id| PaymentLinkId::parse(&id)).transpose();
        let filter = SessionFilter {
            statuses: statuses.collect::<Result<_, _>>()?,
            link: link.map_err(|_| Problem::invalid_value("payment_link_id", "payment_link_id is not the id of a payment link"))?,
            metadata: metadata_filter(request)?,
        };
        let now = app.ctx.now();
        let found = app.ctx.store.read().await?.sessions().list(reads.mode, &filter, &page).await?;
        let list = found.list.into_iter().map(|session| SessionModel::new(&unexpanded(session, now), &app.site, true)).collect();
        Ok(Json(SessionListModel { count: found.count, list }))
    }

    /// Read a session with its items.
    #[oai(path = "/:id", method = "get")]
    async fn read(
        &self,
        app: Data<&Arc<App>>,
        reads: Reads<resources::CheckoutSessions>,
        id: Path<String>,
    ) -> Result<Json<SessionModel>, Problem> {
        show(&app, reads.mode, &SessionId::parse(&id)?).await
    }

    /// Replace the metadata of a session. Its other fields cannot be changed.
    #[oai(path = "/:id", method = "put")]
    async fn update_metadata(
        &self,
        app: Data<&Arc<App>>,
        writes: Writes<resources::CheckoutSessions>,
        id: Path<String>,
        label: Json<SessionUpdateModel>,
    ) -> Result<Json<SessionModel>, Problem> {
        let id = SessionId::parse(&id)?;
        let metadata = read_metadata(label.0.metadata)?.metadata;
        checkout::update_session_metadata(&app.ctx, writes.mode, &id, metadata).await?;
        show(&app, writes.mode, &id).await
    }

    /// Expire an open session: it can no longer be paid, and its stock is released.
    #[oai(path = "/:id/expire", method = "put")]
    async fn expire(
        &self,
        app: Data<&Arc<App>>,
        writes: Writes<resources::CheckoutSessions>,
        id: Path<String>,
    ) -> Result<Json<SessionModel>, Problem> {
        let id = SessionId::parse(&id)?;
        checkout::find_session(app.ctx.store.read().await?.as_mut(), writes.mode, &id).await?;
        checkout::expire_session(&app.ctx, &id).await?;
        show(&app, writes.mode, &id).await
    }
}

async fn show(app: &App, mode: Mode, id: &SessionId) -> Result<Json<SessionModel>, Problem> {
    let expanded = load(app, id, None).await?;
    if expanded.session.mode != mode {
        return Err(Problem::not_found());
    }
    Ok(Json(SessionModel::new(&expanded, &app.site, true)))
}

/// A session without related objects: lists do not expand them.
fn unexpanded(session: Session, now: Timestamp) -> Expanded {
    Expanded {
        session,
        link: None,
        items: Vec::new(),
        methods: Vec::new(),
        currencies: Vec::new(),
        intent: None,
        attempt: None,
        invoice: None,
        stake: None,
        customer: None,
        entitlements: Vec::new(),
        subscriptions: Vec::new(),
        upsells: Vec::new(),
        buyer: Buyer::default(),
        now,
    }
}
