use super::model::{
    AppEarningModel, AppPriceInputModel, AppPriceModel, EarningsModel, Named, PayeeListModel, PayeeModel, SharePayoutInputModel,
    SharePayoutListModel, SharePayoutModel, SharePayoutReversalInputModel, known_beneficiaries,
};
use crate::auth::{Caller, OwnerUser, RequestContext, SignedIn};
use crate::problem::Problem;
use crate::routes::input::page;
use crate::state::App;
use poem::web::Data;
use poem_openapi::OpenApi;
use poem_openapi::param::{Path, Query};
use poem_openapi::payload::Json;
use souk_domain::access::Did;
use souk_domain::billing::{SharePayout, SharePayoutOrder, record_share_payout, reverse_share_payout};
use souk_domain::publishing::selling::{AppPricing, find_pricing, set_price, withdraw_price};
use souk_domain::shared::{Amount, CurrencyId, Mode, Page, SharePayoutId};
use souk_domain::storage::UnitOfWork;
use std::sync::Arc;

pub struct AppPriceApi;

#[OpenApi(prefix_path = "/api/developer/apps")]
impl AppPriceApi {
    /// How an app is sold, for its developer and for reviewers.
    #[oai(path = "/:did/price", method = "get")]
    async fn find(
        &self,
        app: Data<&Arc<App>>,
        caller: SignedIn,
        context: RequestContext,
        did: Path<String>,
    ) -> Result<Json<AppPriceModel>, Problem> {
        let did = app.did_auth_tokens.parse_did(&did).ok_or_else(Problem::not_found)?;
        let pricing = find_pricing(&app.ctx, &caller.0, &did, context.mode).await?;
        price_model(&app, &caller.0, &pricing, false).await
    }

    /// Set the price of an app of the caller, or propose it for the next version where versions are reviewed. It needs a recent sign-in.
    #[oai(path = "/:did/price", method = "put")]
    async fn set(
        &self,
        app: Data<&Arc<App>>,
        caller: SignedIn,
        context: RequestContext,
        did: Path<String>,
        input: Json<AppPriceInputModel>,
    ) -> Result<Json<AppPriceModel>, Problem> {
        caller.check_recent(&app)?;
        let did = app.did_auth_tokens.parse_did(&did).ok_or_else(Problem::not_found)?;
        let change = set_price(&app.ctx, &caller.0, &did, context.mode, &input.read(&app)?).await?;
        price_model(&app, &caller.0, &change.pricing, change.ended_auto_publish).await
    }

    /// Withdraw the proposed price of an app of the caller. What is in force stays so. It needs a recent sign-in.
    #[oai(path = "/:did/price/proposal", method = "delete")]
    async fn withdraw(
        &self,
        app: Data<&Arc<App>>,
        caller: SignedIn,
        context: RequestContext,
        did: Path<String>,
    ) -> Result<Json<AppPriceModel>, Problem> {
        caller.check_recent(&app)?;
        let did = app.did_auth_tokens.parse_did(&did).ok_or_else(Problem::not_found)?;
        let pricing = withdraw_price(&app.ctx, &caller.0, &did, context.mode).await?;
        price_model(&app, &caller.0, &pricing, false).await
    }
}

async fn price_model(app: &App, caller: &Caller, pricing: &AppPricing, ended_auto_publish: bool) -> Result<Json<AppPriceModel>, Problem> {
    let mut unit = app.ctx.store.read().await?;
    let currencies = unit.methods().currencies(pricing.terms.mode).await?;
    let known = known_beneficiaries(caller, pricing.terms.in_force.iter().chain(&pricing.terms.proposed));
    let named = Named { currencies, ..Named::default() }.with_users(unit.as_mut(), known).await?;
    Ok(Json(AppPriceModel::new(pricing, ended_auto_publish, &named)))
}

pub struct EarningsApi;

#[OpenApi(prefix_path = "/api/developer")]
impl EarningsApi {
    /// What the sales of apps have brought to the signed-in user.
    #[oai(path = "/earnings", method = "get")]
    async fn earnings(
        &self,
        app: Data<&Arc<App>>,
        caller: SignedIn,
        context: RequestContext,
        page: Query<Option<u32>>,
        #[oai(name = "pageSize")] page_size: Query<Option<u32>>,
    ) -> Result<Json<EarningsModel>, Problem> {
        let (did, mode) = (&caller.0.user.did, context.mode);
        let mut unit = app.ctx.store.read().await?;
        let earnings = unit.payees().earnings(mode, did, &Page::new(page.0, page_size.0)).await?;
        let totals = unit.payees().of_beneficiary(mode, did).await?;
        let currencies = unit.methods().currencies(mode).await?;
        let dids: Vec<Did> = earnings.list.iter().filter_map(|earning| earning.app.clone()).collect();
        let apps = unit.apps().find_all(&dids).await?.into_iter().map(|app| (app.did, app.title)).collect();
        let named = Named { currencies, apps, ..Named::default() }.with_users(unit.as_mut(), [did]).await?;
        Ok(Json(EarningsModel {
            count: earnings.count,
            list: earnings.list.into_iter().map(|earning| AppEarningModel::new(earning, &named)).collect(),
            totals: totals.iter().map(|payee| PayeeModel::new(payee, &named)).collect(),
        }))
    }

    /// The payouts to the signed-in user, newest first.
    #[oai(path = "/payouts", method = "get")]
    async fn payouts(
        &self,
        app: Data<&Arc<App>>,
        caller: SignedIn,
        context: RequestContext,
        #[oai(name = "page")] number: Query<Option<u32>>,
        #[oai(name = "pageSize")] page_size: Query<Option<u32>>,
    ) -> Result<Json<SharePayoutListModel>, Problem> {
        payouts(&app, context.mode, Some(&caller.0.user.did), &Page::new(number.0, page_size.0)).await
    }
}

pub struct PayablesApi;

#[OpenApi(prefix_path = "/api/console")]
impl PayablesApi {
    /// The beneficiaries of sales, with what is payable to them, for owners.
    #[oai(path = "/payables", method = "get")]
    async fn list(
        &self,
        app: Data<&Arc<App>>,
        _caller: OwnerUser,
        context: RequestContext,
        page: Query<Option<u32>>,
        #[oai(name = "pageSize")] page_size: Query<Option<u32>>,
    ) -> Result<Json<PayeeListModel>, Problem> {
        let mut unit = app.ctx.store.read().await?;
        let payees = unit.payees().list(context.mode, &Page::new(page.0, page_size.0)).await?;
        let currencies = unit.methods().currencies(context.mode).await?;
        let beneficiaries: Vec<_> = payees.list.iter().map(|payee| &payee.beneficiary).collect();
        let named = Named { currencies, ..Named::default() }.with_users(unit.as_mut(), beneficiaries).await?;
        let list = payees.list.iter().map(|payee| PayeeModel::new(payee, &named)).collect();
        Ok(Json(PayeeListModel { count: payees.count, list }))
    }

    /// What is payable to a beneficiary in a currency, for owners.
    #[oai(path = "/payables/:beneficiary/:currency_id", method = "get")]
    async fn find(
        &self,
        app: Data<&Arc<App>>,
        _caller: OwnerUser,
        context: RequestContext,
        beneficiary: Path<String>,
        currency_id: Path<String>,
    ) -> Result<Json<PayeeModel>, Problem> {
        let NamedPayee { beneficiary, currency_id } = named_payee(&app, &beneficiary, &currency_id)?;
        payee(&app, context.mode, &beneficiary, &currency_id).await
    }

    /// Record a payout that an owner has made to a beneficiary. The store sends nothing: the entry lowers what is payable. It needs a recent
    /// sign-in.
    #[oai(path = "/payables/:beneficiary/:currency_id/payouts", method = "post")]
    async fn record(
        &self,
        app: Data<&Arc<App>>,
        caller: OwnerUser,
        context: RequestContext,
        beneficiary: Path<String>,
        currency_id: Path<String>,
        input: Json<SharePayoutInputModel>,
    ) -> Result<Json<PayeeModel>, Problem> {
        caller.0.check_recent(&app)?;
        let NamedPayee { beneficiary, currency_id } = named_payee(&app, &beneficiary, &currency_id)?;
        let amount = |field, text: &str| Amount::parse_base_units(text).map_err(|_| Problem::invalid(field));
        let order = SharePayoutOrder {
            amount: amount("amount", &input.amount)?,
            paid_before: amount("paid_before", &input.paid_before)?,
            reason: input.reason.clone(),
            beneficiary,
            currency_id,
        };
        record_share_payout(&app.ctx, &caller.0.0, context.mode, &order).await?;
        payee(&app, context.mode, &order.beneficiary, &order.currency_id).await
    }

    /// Take back a payout that was recorded by mistake. Its amount is payable again. It needs a recent sign-in.
    #[oai(path = "/payouts/:id/reverse", method = "post")]
    async fn reverse(
        &self,
        app: Data<&Arc<App>>,
        caller: OwnerUser,
        context: RequestContext,
        id: Path<String>,
        input: Json<SharePayoutReversalInputModel>,
    ) -> Result<Json<SharePayoutModel>, Problem> {
        caller.0.check_recent(&app)?;
        let id = SharePayoutId::parse(&id).map_err(|_| Problem::not_found())?;
        let reversal = reverse_share_payout(&app.ctx, &caller.0.0, context.mode, &id, &input.reason).await?;
        let mut unit = app.ctx.store.read().await?;
        payout_models(unit.as_mut(), context.mode, vec![reversal]).await?.pop().map(Json).ok_or_else(Problem::internal)
    }

    /// The recorded payouts to beneficiaries and their reversals, newest first, for owners.
    #[oai(path = "/payouts", method = "get")]
    async fn payouts(
        &self,
        app: Data<&Arc<App>>,
        _caller: OwnerUser,
        context: RequestContext,
        #[oai(name = "page")] number: Query<Option<u32>>,
        #[oai(name = "pageSize")] page_size: Query<Option<u32>>,
        starting_after: Query<Option<String>>,
    ) -> Result<Json<SharePayoutListModel>, Problem> {
        let page = page::<SharePayoutId>(number.0, page_size.0, starting_after.0)?;
        payouts(&app, context.mode, None, &page).await
    }
}

/// What a path names.
struct NamedPayee {
    beneficiary: Did,
    currency_id: CurrencyId,
}

fn named_payee(app: &App, beneficiary: &str, currency_id: &str) -> Result<NamedPayee, Problem> {
    let beneficiary = app.did_auth_tokens.parse_did(beneficiary).ok_or_else(Problem::not_found)?;
    let currency_id = CurrencyId::parse(currency_id).map_err(|_| Problem::not_found())?;
    Ok(NamedPayee { beneficiary, currency_id })
}

async fn payee(app: &App, mode: Mode, beneficiary: &Did, currency: &CurrencyId) -> Result<Json<PayeeModel>, Problem> {
    let mut unit = app.ctx.store.read().await?;
    let payees = unit.payees().of_beneficiary(mode, beneficiary).await?;
    let payee = payees.into_iter().find(|payee| payee.currency_id == *currency).ok_or_else(Problem::not_found)?;
    let currencies = unit.methods().currencies(mode).await?;
    let named = Named { currencies, ..Named::default() }.with_users(unit.as_mut(), [beneficiary]).await?;
    Ok(Json(PayeeModel::new(&payee, &named)))
}

async fn payouts(app: &App, mode: Mode, beneficiary: Option<&Did>, page: &Page) -> Result<Json<SharePayoutListModel>, Problem> {
    let mut unit = app.ctx.store.read().await?;
    let found = unit.payees().payouts(mode, beneficiary, page).await?;
    Ok(Json(SharePayoutListModel { count: found.count, list: payout_models(unit.as_mut(), mode, found.list).await? }))
}

async fn payout_models(unit: &mut dyn UnitOfWork, mode: Mode, payouts: Vec<SharePayout>) -> Result<Vec<SharePayoutModel>, Problem> {
    let currencies = unit.methods().currencies(mode).await?;
    let beneficiaries: Vec<_> = payouts.iter().map(|payout| &payout.beneficiary).collect();
    let named = Named { currencies, ..Named::default() }.with_users(unit, beneficiaries).await?;
    Ok(payouts.into_iter().map(|payout| SharePayoutModel::new(payout, &named)).collect())
}
