use super::model::{StakeModel, stakes};
use crate::auth::{Reader, Writes, resources};
use crate::problem::Problem;
use crate::routes::customers::list_owner;
use crate::routes::input::{id_filter, page};
use crate::state::App;
use poem::web::Data;
use poem_openapi::param::{Path, Query};
use poem_openapi::payload::Json;
use poem_openapi::{Object, OpenApi};
use souk_domain::billing::{self, Stake, StakeFilter, StakePurpose, StakeStatus};
use souk_domain::shared::{StakeId, SubscriptionId};
use souk_domain::storage::UnitOfWork;
use std::sync::Arc;

#[derive(Debug, Clone, Object)]
#[oai(rename = "StakeList")]
pub struct StakeListModel {
    pub count: u64,
    pub list: Vec<StakeModel>,
}

pub struct StakesApi;

#[OpenApi(prefix_path = "/api/stakes")]
impl StakesApi {
    /// Stakes, newest first: the caller's own, or all of the store; optionally of one subscription, for one purpose, or with some
    /// statuses.
    #[expect(clippy::too_many_arguments, reason = "each is a parameter of the address")]
    #[oai(path = "/", method = "get")]
    async fn list(
        &self,
        app: Data<&Arc<App>>,
        reader: Reader<resources::Subscriptions>,
        customer_id: Query<Option<String>>,
        subscription_id: Query<Option<String>>,
        purpose: Query<Option<String>>,
        /// One or more statuses, separated by commas.
        status: Query<Option<String>>,
        /// Only stakes whose transfer the network has declined repeatedly.
        needs_attention: Query<Option<bool>>,
        #[oai(name = "page")] number: Query<Option<u32>>,
        #[oai(name = "pageSize")] page_size: Query<Option<u32>>,
        limit: Query<Option<u32>>,
        starting_after: Query<Option<String>>,
    ) -> Result<Json<StakeListModel>, Problem> {
        let page = page::<StakeId>(number.0, page_size.0.or(limit.0), starting_after.0)?;
        let nothing = || Ok(Json(StakeListModel { count: 0, list: Vec::new() }));
        let mut unit = app.ctx.store.read().await?;
        let Some(customer_id) = list_owner(&app, unit.as_mut(), &reader, customer_id.0).await?.filter() else { return nothing() };
        // An invalid filter value matches nothing, so that a typing error does not widen the list.
        let Ok(subscription_id) = id_filter::<SubscriptionId>(subscription_id.0) else { return nothing() };
        let Some(statuses) = named(status.0.as_deref(), StakeStatus::from_name) else { return nothing() };
        let Some(purposes) = named(purpose.0.as_deref(), StakePurpose::from_name) else { return nothing() };
        let filter = StakeFilter {
            statuses,
            purpose: purposes.into_iter().next(),
            customer_id,
            subscription_id,
            needs_attention: needs_attention.0.unwrap_or_default(),
            returns: None,
        };
        let found = unit.stakes().list(reader.mode(), &filter, &page).await?;
        let list = stakes(unit.as_mut(), reader.mode(), &found.list, reader.is_store()).await?;
        Ok(Json(StakeListModel { count: found.count, list }))
    }

    /// Read a stake.
    #[oai(path = "/:id", method = "get")]
    async fn retrieve(
        &self,
        app: Data<&Arc<App>>,
        reader: Reader<resources::Subscriptions>,
        id: Path<String>,
    ) -> Result<Json<StakeModel>, Problem> {
        let mut unit = app.ctx.store.read().await?;
        let stake = unit.stakes().find(&StakeId::parse(&id)?).await?.ok_or_else(Problem::not_found)?;
        let customer = unit.customers().find(&stake.customer_id).await?.ok_or_else(Problem::not_found)?;
        match reader.may_read(&customer.did, stake.mode) {
            true => show(unit.as_mut(), &stake, reader.is_store()).await,
            false => Err(Problem::not_found()),
        }
    }

    /// Return a released stake now: before its waiting time is over, or again after the network declined.
    #[oai(path = "/:id/return", method = "put")]
    async fn return_now(
        &self,
        app: Data<&Arc<App>>,
        writes: Writes<resources::Subscriptions>,
        id: Path<String>,
    ) -> Result<Json<StakeModel>, Problem> {
        let id = StakeId::parse(&id)?;
        find(&app, &writes, &id).await?;
        billing::return_released(&app.ctx, &id).await?;
        let stake = find(&app, &writes, &id).await?;
        show(app.ctx.store.read().await?.as_mut(), &stake, true).await
    }
}

async fn show(unit: &mut dyn UnitOfWork, stake: &Stake, is_store: bool) -> Result<Json<StakeModel>, Problem> {
    let model = stakes(unit, stake.mode, std::slice::from_ref(stake), is_store).await?.pop();
    Ok(Json(model.ok_or_else(Problem::not_found)?))
}

/// A stake of the writer's mode.
async fn find(app: &App, writes: &Writes<resources::Subscriptions>, id: &StakeId) -> Result<Stake, Problem> {
    let mut unit = app.ctx.store.read().await?;
    let found = unit.stakes().find(id).await?;
    found.filter(|stake| stake.mode == writes.mode).ok_or_else(Problem::not_found)
}

/// Parses the comma-separated names of a filter. Returns `None` if one of them is unknown.
fn named<T>(names: Option<&str>, read: fn(&str) -> Option<T>) -> Option<Vec<T>> {
    let names = names.unwrap_or_default().split(',').map(str::trim).filter(|name| !name.is_empty());
    names.map(read).collect()
}
