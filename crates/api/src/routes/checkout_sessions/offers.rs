//! Changes that a buyer can make to a session (upsell, cross-sell, custom amount), and payment without the wallet.

use super::api::{load_for, may_see};
use super::model::SessionModel;
use crate::auth::{MaybeUser, SignedIn};
use crate::problem::Problem;
use crate::routes::prices::PriceModel;
use crate::state::App;
use poem::web::Data;
use poem_openapi::param::{Path, Query};
use poem_openapi::payload::Json;
use poem_openapi::{Object, OpenApi, Union};
use souk_domain::checkout::{self, FastConsent, FastPaySource};
use souk_domain::pricing::CatalogueItem;
use souk_domain::shared::{Amount, CurrencyId, PriceId, SessionId};
use std::sync::Arc;

#[derive(Debug, Clone, Object)]
#[oai(rename = "UpsellChoice")]
pub struct UpsellInputModel {
    /// The price of an item.
    pub from: String,
    /// The price that it upsells to.
    pub to: String,
    /// The currency that the buyer has chosen; absent: the session's currency.
    pub currency_id: Option<String>,
}

#[derive(Debug, Clone, Object)]
#[oai(rename = "DownsellChoice")]
pub struct DownsellInputModel {
    /// The price that the buyer chose, or the original price.
    pub from: String,
}

#[derive(Debug, Clone, Object)]
#[oai(rename = "CrossSellChoice")]
pub struct CrossSellInputModel {
    /// The price that is offered.
    pub to: String,
    /// The currency that the buyer has chosen.
    pub currency_id: Option<String>,
}

#[derive(Debug, Clone, Object)]
#[oai(rename = "CustomAmountChoice", rename_all = "camelCase")]
pub struct AmountInputModel {
    pub price_id: String,
    /// Base units.
    pub amount: String,
    /// Absent: the session's currency.
    pub currency_id: Option<String>,
}

#[derive(Debug, Clone, Object)]
#[oai(rename = "FastPaid", rename_all = "camelCase")]
pub struct FastPaidModel {
    /// `false`: the wallet has to authorize the payment.
    pub fast_paid: bool,
}

#[derive(Debug, Clone, Object)]
#[oai(rename = "NothingOffered")]
pub struct NothingOfferedModel {
    pub error: String,
}

/// The offered price with its product; or, with `skipError`, the message that nothing is offered.
#[derive(Debug, Clone, Union)]
#[oai(rename = "OfferedCrossSell")]
pub enum OfferedModel {
    Price(Box<PriceModel>),
    Nothing(NothingOfferedModel),
}

const NOTHING: &str = "This item isn't available with your order";

pub struct OffersApi;

#[OpenApi(prefix_path = "/api/checkout-sessions")]
impl OffersApi {
    /// Replace an item's price by the price with a longer interval that it offers.
    #[oai(path = "/:id/upsell", method = "put")]
    async fn upsell(
        &self,
        app: Data<&Arc<App>>,
        user: MaybeUser,
        id: Path<String>,
        change: Json<UpsellInputModel>,
    ) -> Result<Json<SessionModel>, Problem> {
        let id = authorize_change(&app, &user, &id).await?;
        let currency = change.currency_id.as_deref().map(CurrencyId::parse).transpose()?;
        checkout::upsell(&app.ctx, &id, &PriceId::parse(&change.from)?, &PriceId::parse(&change.to)?, currency.as_ref()).await?;
        show(&app, &user, &id).await
    }

    /// Undo an upsell.
    #[oai(path = "/:id/downsell", method = "put")]
    async fn downsell(
        &self,
        app: Data<&Arc<App>>,
        user: MaybeUser,
        id: Path<String>,
        change: Json<DownsellInputModel>,
    ) -> Result<Json<SessionModel>, Problem> {
        let id = authorize_change(&app, &user, &id).await?;
        checkout::downsell(&app.ctx, &id, &PriceId::parse(&change.from)?).await?;
        show(&app, &user, &id).await
    }

    /// The cross-sell offer of the session, in the currency that the buyer has chosen. `skipError`: if there is no offer, return
    /// `{error}` with status 200.
    #[oai(path = "/:id/cross-sell", method = "get")]
    async fn offered(
        &self,
        app: Data<&Arc<App>>,
        id: Path<String>,
        currency_id: Query<Option<String>>,
        #[oai(name = "skipError")] skip_error: Query<Option<bool>>,
    ) -> Result<Json<OfferedModel>, Problem> {
        let currency = currency_id.as_deref().map(CurrencyId::parse).transpose()?;
        let offered = checkout::offered_cross_sell(&app.ctx, &SessionId::parse(&id)?, currency.as_ref()).await?;
        match offered {
            Some(CatalogueItem { mut price, mut product }) => {
                price.metadata.clear();
                product.metadata.clear();
                Ok(Json(OfferedModel::Price(Box::new(PriceModel::from(&price).with_product(Some(&product))))))
            }
            None if skip_error.0 == Some(true) => Ok(Json(OfferedModel::Nothing(NothingOfferedModel { error: NOTHING.to_owned() }))),
            None => Err(Problem::bad(NOTHING).code("NOT_OFFERED")),
        }
    }

    /// Accept the cross-sell offer.
    #[oai(path = "/:id/cross-sell", method = "put")]
    async fn cross_sell(
        &self,
        app: Data<&Arc<App>>,
        user: MaybeUser,
        id: Path<String>,
        change: Json<CrossSellInputModel>,
    ) -> Result<Json<SessionModel>, Problem> {
        let id = authorize_change(&app, &user, &id).await?;
        let currency = change.currency_id.as_deref().map(CurrencyId::parse).transpose()?;
        checkout::add_cross_sell(&app.ctx, &id, &PriceId::parse(&change.to)?, currency.as_ref()).await?;
        show(&app, &user, &id).await
    }

    /// Remove the cross-sell item.
    #[oai(path = "/:id/cross-sell", method = "delete")]
    async fn without_cross_sell(&self, app: Data<&Arc<App>>, user: MaybeUser, id: Path<String>) -> Result<Json<SessionModel>, Problem> {
        let id = authorize_change(&app, &user, &id).await?;
        checkout::remove_cross_sell(&app.ctx, &id).await?;
        show(&app, &user, &id).await
    }

    /// Set the amount of an item whose price lets the buyer choose it.
    #[oai(path = "/:id/amount", method = "put")]
    async fn amount(
        &self,
        app: Data<&Arc<App>>,
        user: MaybeUser,
        id: Path<String>,
        change: Json<AmountInputModel>,
    ) -> Result<Json<SessionModel>, Problem> {
        let id = authorize_change(&app, &user, &id).await?;
        let amount = Amount::parse_base_units(&change.amount)?;
        let currency = change.currency_id.as_deref().map(CurrencyId::parse).transpose()?;
        checkout::set_amount(&app.ctx, &id, &PriceId::parse(&change.price_id)?, amount, currency.as_ref()).await?;
        show(&app, &user, &id).await
    }

    /// Pay without the wallet: from the balance with the store, or by an existing delegation. If `type` and `amount` are given, only
    /// exactly that payment is made.
    #[oai(path = "/:id/fast-checkout-confirm", method = "post")]
    async fn fast_checkout_confirm(
        &self,
        app: Data<&Arc<App>>,
        caller: SignedIn,
        id: Path<String>,
        /// The `type` of `fastPayInfo`.
        #[oai(name = "type")]
        kind: Query<Option<String>>,
        /// The `amount` of `fastPayInfo`, in base units.
        amount: Query<Option<String>>,
    ) -> Result<Json<FastPaidModel>, Problem> {
        let agreed = match (&kind.0, &amount.0) {
            (Some(kind), Some(amount)) => Some(FastConsent {
                by: FastPaySource::from_name(kind).ok_or_else(|| Problem::invalid_value("type", "type is credit or delegation"))?,
                amount: Amount::parse_base_units(amount)?,
            }),
            (None, None) => None,
            _ => return Err(Problem::invalid_value("amount", "type and amount must be sent together")),
        };
        let fast_paid = checkout::pay_fast(&app.ctx, &SessionId::parse(&id)?, &caller.0.user.did, agreed).await?;
        Ok(Json(FastPaidModel { fast_paid }))
    }

    /// Read whether the order is paid, or its payment is in flight: for a caller who lost the answer of `fast-checkout-confirm`.
    #[oai(path = "/:id/fast-checkout-confirm", method = "get")]
    async fn fast_paid(&self, app: Data<&Arc<App>>, caller: SignedIn, id: Path<String>) -> Result<Json<FastPaidModel>, Problem> {
        let fast_paid = checkout::is_fast_paid(&app.ctx, &SessionId::parse(&id)?, &caller.0.user.did).await?;
        Ok(Json(FastPaidModel { fast_paid }))
    }
}

/// Once a session was submitted, only its payer and admins may change it.
async fn authorize_change(app: &App, user: &MaybeUser, id: &str) -> Result<SessionId, Problem> {
    let id = SessionId::parse(id)?;
    let expanded = load_for(app, &id, user.0.as_ref()).await?;
    if expanded.session.payer.is_some() && !may_see(&expanded, user.0.as_ref()) {
        return Err(Problem::forbidden());
    }
    Ok(id)
}

async fn show(app: &App, user: &MaybeUser, id: &SessionId) -> Result<Json<SessionModel>, Problem> {
    let expanded = load_for(app, id, user.0.as_ref()).await?;
    let private = may_see(&expanded, user.0.as_ref());
    Ok(Json(SessionModel::new(&expanded, &app.site, private)))
}
