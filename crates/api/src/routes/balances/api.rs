use super::model::{BalanceListModel, BalanceModel, BalanceTransactionListModel, BalanceTransactionModel, PayoutInputModel};
use crate::auth::{Reader, RequestContext, SignedIn, Writes, resources};
use crate::lossless_json::LosslessJson;
use crate::problem::Problem;
use crate::routes::customers::{named_customer, readable_customer};
use crate::routes::input::{id_filter, page};
use crate::routes::refunds::{RefundListModel, refund_models};
use crate::state::App;
use poem::web::Data;
use poem_openapi::OpenApi;
use poem_openapi::param::{Path, Query};
use poem_openapi::payload::Json;
use souk_domain::billing::{self, PayoutOrder, payout_limit};
use souk_domain::customer::Customer;
use souk_domain::shared::{Amount, BalanceTransactionId, CurrencyId, Page};
use souk_domain::storage::UnitOfWork;
use std::sync::Arc;

pub struct BalancesApi;

#[OpenApi(prefix_path = "/api/customers")]
impl BalancesApi {
    /// The balances of the signed-in customer.
    #[oai(path = "/me/balance", method = "get")]
    async fn mine(&self, app: Data<&Arc<App>>, caller: SignedIn, context: RequestContext) -> Result<Json<BalanceListModel>, Problem> {
        let mut unit = app.ctx.store.read().await?;
        let customer = unit.customers().find_by_did(context.mode, &caller.0.user.did).await?;
        match customer {
            Some(customer) => balances(&app, unit.as_mut(), &customer, false).await,
            None => Ok(Json(BalanceListModel { count: 0, list: Vec::new() })),
        }
    }

    /// The balance transactions of the signed-in customer, newest first; `currency_id` restricts the list to one currency.
    #[expect(clippy::too_many_arguments, reason = "each is a parameter of the address")]
    #[oai(path = "/me/balance-transactions", method = "get")]
    async fn my_transactions(
        &self,
        app: Data<&Arc<App>>,
        caller: SignedIn,
        context: RequestContext,
        currency_id: Query<Option<String>>,
        #[oai(name = "page")] number: Query<Option<u32>>,
        #[oai(name = "pageSize")] page_size: Query<Option<u32>>,
        limit: Query<Option<u32>>,
        starting_after: Query<Option<String>>,
    ) -> Result<Json<BalanceTransactionListModel>, Problem> {
        let page = page::<BalanceTransactionId>(number.0, page_size.0.or(limit.0), starting_after.0)?;
        let mut unit = app.ctx.store.read().await?;
        let customer = unit.customers().find_by_did(context.mode, &caller.0.user.did).await?;
        match customer {
            Some(customer) => transactions(unit.as_mut(), &customer, currency_id.0, &page).await,
            None => Ok(Json(BalanceTransactionListModel { count: 0, list: Vec::new() })),
        }
    }

    /// The balances of a customer; `id` is the customer's id or DID.
    #[oai(path = "/:id/balance", method = "get")]
    async fn list(
        &self,
        app: Data<&Arc<App>>,
        reader: Reader<resources::Customers>,
        id: Path<String>,
    ) -> Result<Json<BalanceListModel>, Problem> {
        let mut unit = app.ctx.store.read().await?;
        let customer = readable_customer(&app, unit.as_mut(), &reader, &id).await?;
        balances(&app, unit.as_mut(), &customer, reader.is_store()).await
    }

    /// The balance transactions of a customer, newest first; `currency_id` restricts the list to one currency.
    #[expect(clippy::too_many_arguments, reason = "each is a parameter of the address")]
    #[oai(path = "/:id/balance-transactions", method = "get")]
    async fn transactions(
        &self,
        app: Data<&Arc<App>>,
        reader: Reader<resources::Customers>,
        id: Path<String>,
        currency_id: Query<Option<String>>,
        #[oai(name = "page")] number: Query<Option<u32>>,
        #[oai(name = "pageSize")] page_size: Query<Option<u32>>,
        limit: Query<Option<u32>>,
        starting_after: Query<Option<String>>,
    ) -> Result<Json<BalanceTransactionListModel>, Problem> {
        let page = page::<BalanceTransactionId>(number.0, page_size.0.or(limit.0), starting_after.0)?;
        let mut unit = app.ctx.store.read().await?;
        let customer = readable_customer(&app, unit.as_mut(), &reader, &id).await?;
        transactions(unit.as_mut(), &customer, currency_id.0, &page).await
    }

    /// Pay out a balance, or a part of it: as refunds of the customer's card payments, or to the wallet that paid last. The balance is
    /// debited immediately and restored if the network declines the payout.
    #[oai(path = "/:id/balance/payout", method = "post")]
    async fn pay_out(
        &self,
        app: Data<&Arc<App>>,
        writes: Writes<resources::Customers>,
        id: Path<String>,
        input: LosslessJson<PayoutInputModel>,
    ) -> Result<Json<RefundListModel>, Problem> {
        writes.check_recent(&app)?;
        let input = input.0;
        let mut unit = app.ctx.store.read().await?;
        let customer = named_customer(&app, unit.as_mut(), writes.mode, &id).await?.filter(|customer| customer.mode == writes.mode);
        let customer = customer.ok_or_else(Problem::not_found)?;
        let currency = unit.methods().find_currency(&CurrencyId::parse(&input.currency_id)?).await?;
        let currency = currency.filter(|currency| currency.mode == writes.mode).ok_or_else(Problem::not_found)?;
        drop(unit);
        let amount = input.amount.map(|amount| Amount::parse_decimal(&amount.0, currency.decimals, currency.decimals)).transpose()?;
        let order = PayoutOrder { customer_id: customer.id, currency_id: currency.id, amount, memo: input.memo.unwrap_or_default() };
        let refunds = billing::pay_out_balance(&app.ctx, writes.mode, &order).await?;
        let list = refund_models(&app, app.ctx.store.read().await?.as_mut(), &refunds).await?;
        Ok(Json(RefundListModel { count: list.len() as u64, list }))
    }
}

async fn balances(app: &App, unit: &mut dyn UnitOfWork, customer: &Customer, for_store: bool) -> Result<Json<BalanceListModel>, Problem> {
    let found = unit.balances().of_all(std::slice::from_ref(&customer.id)).await?;
    let methods = unit.methods().list(customer.mode).await?;
    let currencies = unit.methods().currencies(customer.mode).await?;
    let mut list = Vec::with_capacity(found.len());
    for balance in &found {
        let limit = match for_store {
            true => Some(payout_limit(unit, &customer.id, &balance.currency_id).await?),
            false => None,
        };
        list.push(BalanceModel::new(balance, limit, &currencies, &methods, &app.site));
    }
    Ok(Json(BalanceListModel { count: list.len() as u64, list }))
}

async fn transactions(
    unit: &mut dyn UnitOfWork,
    customer: &Customer,
    currency: Option<String>,
    page: &Page,
) -> Result<Json<BalanceTransactionListModel>, Problem> {
    // An invalid id matches nothing, so that a typing error does not widen the list.
    let Ok(currency) = id_filter::<CurrencyId>(currency) else {
        return Ok(Json(BalanceTransactionListModel { count: 0, list: Vec::new() }));
    };
    let found = unit.balances().transactions(customer.mode, &customer.id, currency.as_ref(), page).await?;
    let currencies = unit.methods().currencies(customer.mode).await?;
    let list = found.list.iter().map(|transaction| BalanceTransactionModel::new(transaction, &currencies)).collect();
    Ok(Json(BalanceTransactionListModel { count: found.count, list }))
}
