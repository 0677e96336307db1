use super::model::{OverdueModel, PayingBalanceModel, SubscriptionListModel, SubscriptionModel, ThresholdsModel, overdue_model};
use crate::auth::{Actor, LinkHolder, Reader, Writes, resources};
use crate::problem::Problem;
use crate::routes::customers::named_customer;
use crate::routes::input::{metadata_filter, page, read_metadata, words};
use crate::state::App;
use poem::Request;
use poem::web::Data;
use poem_openapi::param::{Path, Query};
use poem_openapi::payload::Json;
use poem_openapi::{Object, OpenApi};
use souk_domain::access::Did;
use souk_domain::billing::{
    self, ExpandedSubscription, Requester, Subscription, SubscriptionFields, SubscriptionFilter, SubscriptionStatus, expand_subscriptions,
    overdue_of,
};
use souk_domain::payment;
use souk_domain::shared::{CustomerId, Mode, Page, SubscriptionId};
use std::sync::Arc;

/// The fields of a subscription that the store can change. Absent fields keep their value.
#[derive(Debug, Clone, Object)]
#[oai(rename = "SubscriptionUpdate")]
pub struct UpdateModel {
    pub description: Option<String>,
    /// Replaces the existing metadata.
    pub metadata: Option<serde_json::Value>,
    pub billing_thresholds: Option<ThresholdsModel>,
}

pub struct SubscriptionsApi;

#[OpenApi(prefix_path = "/api/subscriptions")]
impl SubscriptionsApi {
    /// Subscriptions, newest first: the caller's own. The store may name a customer by id or DID, or `all`.
    #[oai(path = "/", method = "get")]
    #[expect(clippy::too_many_arguments, reason = "each is a parameter of the address")]
    async fn list(
        &self,
        app: Data<&Arc<App>>,
        request: &Request,
        reader: Reader<resources::Subscriptions>,
        customer_id: Query<Option<String>>,
        status: Query<Option<String>>,
        /// true: only subscriptions whose billing is on hold.
        on_hold: Query<Option<bool>>,
        #[oai(name = "page")] number: Query<Option<u32>>,
        #[oai(name = "pageSize")] page_size: Query<Option<u32>>,
        limit: Query<Option<u32>>,
        starting_after: Query<Option<String>>,
    ) -> Result<Json<SubscriptionListModel>, Problem> {
        let page = page::<SubscriptionId>(number.0, page_size.0.or(limit.0), starting_after.0)?;
        let named = status.0.as_deref().unwrap_or_default();
        let statuses: Vec<_> = named.split(',').filter_map(SubscriptionStatus::from_name).collect();
        if statuses.is_empty() && !matches!(named, "" | "all") {
            return Ok(Json(SubscriptionListModel { count: 0, list: Vec::new() }));
        }
        let Some(customer_id) = list_filter(&app, &reader, customer_id.0.as_deref()).await? else {
            return Ok(Json(SubscriptionListModel { count: 0, list: Vec::new() }));
        };
        let filter = SubscriptionFilter {
            statuses,
            customer_id: customer_id.0,
            metadata: metadata_filter(request)?,
            on_hold: on_hold.0.unwrap_or_default(),
            ..Default::default()
        };
        listed(&app, reader.mode(), &filter, &page).await
    }

    /// Subscriptions whose description contains a text, or whose id equals it.
    #[oai(path = "/search", method = "get")]
    async fn search(
        &self,
        app: Data<&Arc<App>>,
        reader: Reader<resources::Subscriptions>,
        query: Query<Option<String>>,
        #[oai(name = "page")] number: Query<Option<u32>>,
        #[oai(name = "pageSize")] page_size: Query<Option<u32>>,
    ) -> Result<Json<SubscriptionListModel>, Problem> {
        let customer_id = if reader.is_store() { Some(CustomerFilter(None)) } else { list_filter(&app, &reader, None).await? };
        let Some(customer_id) = customer_id else { return Ok(Json(SubscriptionListModel { count: 0, list: Vec::new() })) };
        let filter = SubscriptionFilter { customer_id: customer_id.0, query: words(query.0), ..Default::default() };
        listed(&app, reader.mode(), &filter, &Page::new(number.0, page_size.0)).await
    }

    /// Read a subscription with its related objects.
    #[oai(path = "/:id", method = "get")]
    async fn retrieve(
        &self,
        app: Data<&Arc<App>>,
        visitor: LinkHolder<resources::Subscriptions>,
        id: Path<String>,
    ) -> Result<Json<SubscriptionModel>, Problem> {
        let found = expanded(&app, &SubscriptionId::parse(&id)?).await?;
        if !visitor.may_open(&[&id], &found.customer.did, found.subscription.mode) {
            return Err(Problem::not_found());
        }
        // A customer who has just saved a card is waiting for it to be charged.
        match payment::poll_for_subscription(&app.ctx, &found.subscription.id).await? {
            true => show(&app, &found.subscription.id).await,
            false => Ok(Json(SubscriptionModel::new(&found, &app))),
        }
    }

    /// Change the description, the metadata, or the billing threshold.
    #[oai(path = "/:id", method = "put")]
    async fn update(
        &self,
        app: Data<&Arc<App>>,
        writes: Writes<resources::Subscriptions>,
        id: Path<String>,
        update: Json<UpdateModel>,
    ) -> Result<Json<SubscriptionModel>, Problem> {
        let id = SubscriptionId::parse(&id)?;
        let metadata = update.0.metadata.map(read_metadata).transpose()?.map(|input| input.metadata);
        let threshold = update.0.billing_thresholds.map(ThresholdsModel::read).transpose()?;
        let fields = SubscriptionFields { description: update.0.description, metadata, threshold };
        billing::update_subscription(&app.ctx, writes.mode, &id, fields).await?;
        show(&app, &id).await
    }

    /// The paying account of a subscription: its balance, and the price of a period. The wallet action `recharge` adds funds.
    #[oai(path = "/:id/paying-balance", method = "get")]
    async fn paying_balance(
        &self,
        app: Data<&Arc<App>>,
        reader: Reader<resources::Subscriptions>,
        id: Path<String>,
    ) -> Result<Json<PayingBalanceModel>, Problem> {
        let id = SubscriptionId::parse(&id)?;
        let mut unit = app.ctx.store.read().await?;
        let subscription = unit.subscriptions().find(&id).await?.ok_or_else(Problem::not_found)?;
        let customer = unit.customers().find(&subscription.customer_id).await?.ok_or_else(Problem::not_found)?;
        drop(unit);
        // The link of an email authorizes payments only; it must not reveal the balance of an account.
        match reader.may_read(&customer.did, subscription.mode) {
            true => Ok(Json(PayingBalanceModel::from(&billing::paying_balance_of(&app.ctx, &id).await?))),
            false => Err(Problem::not_found()),
        }
    }

    /// The overdue invoices of a subscription and their sums by currency.
    #[oai(path = "/:id/overdue/invoices", method = "get")]
    async fn overdue(
        &self,
        app: Data<&Arc<App>>,
        visitor: LinkHolder<resources::Subscriptions>,
        id: Path<String>,
    ) -> Result<Json<OverdueModel>, Problem> {
        let id = SubscriptionId::parse(&id)?;
        let mut unit = app.ctx.store.read().await?;
        let subscription = unit.subscriptions().find(&id).await?.ok_or_else(Problem::not_found)?;
        let overdue = overdue_of(unit.as_mut(), &subscription.customer_id, Some(&id)).await?;
        match visitor.may_open(&[id.as_str()], &overdue.customer.did, subscription.mode) {
            true => Ok(Json(overdue_model(&overdue, Some(&subscription), &app.site))),
            false => Err(Problem::not_found()),
        }
    }
}

/// The customer whose subscriptions are listed; `None`: all customers of the store.
struct CustomerFilter(Option<CustomerId>);

async fn list_filter(app: &App, reader: &Reader<resources::Subscriptions>, named: Option<&str>) -> Result<Option<CustomerFilter>, Problem> {
    let named = named.filter(|named| !named.is_empty());
    let mut unit = app.ctx.store.read().await?;
    let mode = reader.mode();
    match (reader, named) {
        (_, Some("all") | None) if reader.is_store() && (named.is_some() || matches!(reader, Reader::Key(..))) => {
            Ok(Some(CustomerFilter(None)))
        }
        (Reader::Key(..), None) => Ok(Some(CustomerFilter(None))),
        (Reader::Person(caller, _), None) => {
            Ok(unit.customers().find_by_did(mode, &caller.user.did).await?.map(|customer| CustomerFilter(Some(customer.id))))
        }
        (reader, Some(named)) => match named_customer(app, unit.as_mut(), mode, named).await? {
            Some(customer) if reader.may_read(&customer.did, customer.mode) => Ok(Some(CustomerFilter(Some(customer.id)))),
            Some(_) => Err(Problem::forbidden()),
            None => Ok(None),
        },
    }
}

async fn listed(app: &App, mode: Mode, filter: &SubscriptionFilter, page: &Page) -> Result<Json<SubscriptionListModel>, Problem> {
    let mut unit = app.ctx.store.read().await?;
    let found = unit.subscriptions().list(mode, filter, page).await?;
    let expanded = expand_subscriptions(&app.ctx, unit.as_mut(), found.list).await?;
    let list = expanded.iter().map(|subscription| SubscriptionModel::new(subscription, app)).collect();
    Ok(Json(SubscriptionListModel { count: found.count, list }))
}

async fn expanded(app: &App, id: &SubscriptionId) -> Result<ExpandedSubscription, Problem> {
    let mut unit = app.ctx.store.read().await?;
    let subscription = unit.subscriptions().find(id).await?.ok_or_else(Problem::not_found)?;
    expand_subscriptions(&app.ctx, unit.as_mut(), vec![subscription]).await?.pop().ok_or_else(Problem::not_found)
}

/// Reads the subscription and returns its model.
pub(super) async fn show(app: &App, id: &SubscriptionId) -> Result<Json<SubscriptionModel>, Problem> {
    Ok(Json(SubscriptionModel::new(&expanded(app, id).await?, app)))
}

/// A subscription that an actor may change.
pub(super) struct AuthorizedAction {
    pub subscription: Subscription,
    /// Whether the actor changes it for the store or as its customer.
    pub requester: Requester,
}

/// Returns the subscription, and for whom the actor changes it.
///
/// # Errors
/// 404 if the subscription does not exist or the actor may not change it.
pub(super) async fn authorize_action(app: &App, actor: &Actor<resources::Subscriptions>, id: &str) -> Result<AuthorizedAction, Problem> {
    let found = find_with_holder(app, id).await?;
    let requester = if actor.0.is_store() { Requester::Store } else { Requester::Customer };
    found.authorized(requester, |found| actor.0.may_read(&found.holder, found.subscription.mode))
}

/// As [`authorize_action`], also for the holder of the subscription's link.
pub(super) async fn authorize_linked(
    app: &App,
    visitor: &LinkHolder<resources::Subscriptions>,
    id: &str,
) -> Result<AuthorizedAction, Problem> {
    let found = find_with_holder(app, id).await?;
    let requester = if visitor.is_store() { Requester::Store } else { Requester::Customer };
    found.authorized(requester, |found| visitor.may_open(&[found.subscription.id.as_str()], &found.holder, found.subscription.mode))
}

/// A subscription, and the DID of its customer.
struct FoundSubscription {
    subscription: Subscription,
    holder: Did,
}

impl FoundSubscription {
    fn authorized(self, requester: Requester, is_allowed: impl FnOnce(&Self) -> bool) -> Result<AuthorizedAction, Problem> {
        match is_allowed(&self) {
            true => Ok(AuthorizedAction { subscription: self.subscription, requester }),
            false => Err(Problem::not_found()),
        }
    }
}

async fn find_with_holder(app: &App, id: &str) -> Result<FoundSubscription, Problem> {
    let id = SubscriptionId::parse(id)?;
    let mut unit = app.ctx.store.read().await?;
    let subscription = unit.subscriptions().find(&id).await?.ok_or_else(Problem::not_found)?;
    let customer = unit.customers().find(&subscription.customer_id).await?.ok_or_else(Problem::not_found)?;
    Ok(FoundSubscription { subscription, holder: customer.did })
}
