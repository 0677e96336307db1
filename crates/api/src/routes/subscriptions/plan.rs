use super::api::{authorize_action, show};
use super::model::SubscriptionModel;
use super::payment::{ConnectOrderModel, ConnectParamsModel};
use crate::auth::{Actor, resources};
use crate::problem::Problem;
use crate::routes::checkout_sessions::TextModel;
use crate::routes::invoices::{LineDescription, formula, formula_text};
use crate::routes::prices::{PriceModel, ProductModel};
use crate::state::App;
use poem::web::Data;
use poem_openapi::param::Path;
use poem_openapi::payload::Json;
use poem_openapi::{Object, OpenApi, Union};
use souk_domain::billing::{
    self, InvoiceItem, ManageError, PlanChoice, PlanOrder, PlanPreview, PlanSwitch, PricingFormula, Requester, UnusedTime,
};
use souk_domain::payment::Currency;
use souk_domain::shared::{Amount, PriceId, SubscriptionItemId, Timestamp};
use std::collections::BTreeMap;
use std::sync::Arc;

#[derive(Debug, Clone, Object)]
#[oai(rename = "Plans")]
pub struct PlansModel {
    pub plans: Vec<PriceModel>,
}

#[derive(Debug, Clone, Object)]
#[oai(rename = "PlanChoice")]
pub struct ChoiceModel {
    pub price_id: String,
    /// Absent: as many as now.
    pub quantity: Option<u64>,
    /// The item that is changed; absent: the one of the same product.
    pub item_id: Option<String>,
}

#[derive(Debug, Clone, Object)]
#[oai(rename = "PlanChange")]
pub struct ChangeModel {
    pub price_id: String,
    pub quantity: Option<u64>,
    pub item_id: Option<String>,
    /// The preview's.
    pub proration_date: i64,
    /// The preview's `total`.
    pub expected_total: String,
    /// The preview's `credited`; absent: whatever is kept.
    pub expected_credited: Option<String>,
}

#[derive(Debug, Clone, Object)]
#[oai(rename = "PlanPreviewLine")]
pub struct PreviewLineModel {
    /// In English.
    pub description: String,
    /// The same as a code, and the parameters of its text: see `InvoiceLine`.
    pub description_code: String,
    pub description_params: BTreeMap<String, String>,
    pub amount: String,
    /// credit or charge.
    pub kind: String,
    pub formula: serde_json::Value,
    /// The formula in words.
    pub text: TextModel,
}

impl PreviewLineModel {
    fn charge(line: &InvoiceItem, currency: &Currency) -> Self {
        Self::new(LineDescription::of(line), "charge", line.amount, &line.calculation, currency)
    }

    fn credit(unused: &UnusedTime, currency: &Currency) -> Self {
        let calculation = PricingFormula::from(&unused.credit);
        let description = LineDescription::of_credit(&unused.line, Some(&calculation));
        Self::new(description, "credit", unused.credit.amount, &calculation, currency)
    }

    fn new(description: LineDescription, kind: &str, amount: Amount, calculation: &PricingFormula, currency: &Currency) -> Self {
        Self {
            description: description.english(),
            description_code: description.code.to_owned(),
            description_params: description.params,
            amount: amount.to_string(),
            kind: kind.to_owned(),
            formula: formula(calculation),
            text: formula_text(calculation, currency),
        }
    }
}

#[derive(Debug, Clone, Object)]
#[oai(rename = "PlanPreview")]
pub struct PreviewModel {
    pub proration_date: i64,
    /// What is credited of the old plan, then what the new one asks for.
    pub lines: Vec<PreviewLineModel>,
    /// What is credited for the unused time of the old plan.
    pub credit: String,
    /// What the new one asks for until the end of the period.
    pub charge: String,
    /// What the customer's balance pays of it, `credit` included.
    pub applied_credit: String,
    /// Due now.
    pub total: String,
    /// Added to the balance.
    pub credited: String,
    pub current_period_end: i64,
    pub next_amount: String,
    /// What the wallet is to leave as a further deposit before the plan changes, which goes back in the end: no part of `total`.
    pub stake: String,
}

impl PreviewModel {
    fn new(preview: &PlanPreview, currency: &Currency, requester: Requester) -> Self {
        let credits = preview.unused.iter().map(|unused| PreviewLineModel::credit(unused, currency));
        let charges = preview.lines.iter().map(|line| PreviewLineModel::charge(line, currency));
        Self {
            proration_date: preview.at.seconds(),
            lines: credits.chain(charges).collect(),
            credit: preview.credit.to_string(),
            charge: preview.charge.to_string(),
            applied_credit: preview.applied.to_string(),
            total: preview.total.to_string(),
            credited: preview.credited.to_string(),
            current_period_end: preview.period.end.seconds(),
            next_amount: preview.next.to_string(),
            // The store changes it whatever is staked.
            stake: if requester == Requester::Store { Amount::ZERO } else { preview.stake }.to_string(),
        }
    }
}

fn read_choice(price: &str, quantity: Option<u64>, item: Option<&str>) -> Result<PlanChoice, Problem> {
    Ok(PlanChoice { price: PriceId::parse(price)?, quantity, item: item.map(SubscriptionItemId::parse).transpose()? })
}

/// The plan waits for the wallet.
#[derive(Debug, Clone, Object)]
#[oai(rename = "PlanConnect")]
pub struct PlanConnectModel {
    pub connect: ConnectOrderModel,
}

/// The subscription with its new plan; or what the wallet is to be asked for first.
#[derive(Debug, Clone, Union)]
#[oai(rename = "PlanSwitch")]
pub enum PlanSwitchModel {
    Subscription(Box<SubscriptionModel>),
    Connect(Box<PlanConnectModel>),
}

pub struct PlansApi;

#[OpenApi(prefix_path = "/api/subscriptions")]
impl PlansApi {
    /// The plans that a subscription can change to.
    #[oai(path = "/:id/change-plan", method = "get")]
    async fn plans(
        &self,
        app: Data<&Arc<App>>,
        actor: Actor<resources::Subscriptions>,
        id: Path<String>,
    ) -> Result<Json<PlansModel>, Problem> {
        let (subscription, _) = authorize_action(&app, &actor, &id).await?;
        let plans = billing::plans(&app.ctx, &subscription.id).await?;
        let plan =
            |(price, product): &(_, _)| PriceModel { product: Some(Box::new(ProductModel::from(product))), ..PriceModel::from(price) };
        Ok(Json(PlansModel { plans: plans.iter().map(plan).collect() }))
    }

    /// What a change would cost now, to the second.
    #[oai(path = "/:id/change-plan/preview", method = "post")]
    async fn preview(
        &self,
        app: Data<&Arc<App>>,
        actor: Actor<resources::Subscriptions>,
        id: Path<String>,
        choice: Json<ChoiceModel>,
    ) -> Result<Json<PreviewModel>, Problem> {
        let (subscription, requester) = authorize_action(&app, &actor, &id).await?;
        let choice = read_choice(&choice.price_id, choice.quantity, choice.item_id.as_deref())?;
        let preview = billing::preview_plan(&app.ctx, &subscription.id, &choice).await?;
        let currency = app.ctx.store.read().await?.methods().find_currency(&subscription.currency_id).await?;
        let currency = currency.ok_or_else(Problem::not_found)?;
        Ok(Json(PreviewModel::new(&preview, &currency, requester)))
    }

    /// Make the change that was shown. 409 with code `PREVIEW_CHANGED` when it comes to another price by now, or the plan has changed
    /// since. Where the wallet permits less than the plan can cost at a time, or has staked less than it asks for, nothing changes yet:
    /// `connect` is the wallet action that asks for more, a permission and then a stake, and makes the change after the last of these: where
    /// the wallet declines one, nothing has changed. The store changes it whatever is staked.
    #[oai(path = "/:id/change-plan", method = "put")]
    async fn change(
        &self,
        app: Data<&Arc<App>>,
        actor: Actor<resources::Subscriptions>,
        id: Path<String>,
        change: Json<ChangeModel>,
    ) -> Result<Json<PlanSwitchModel>, Problem> {
        let (subscription, requester) = authorize_action(&app, &actor, &id).await?;
        let choice = read_choice(&change.price_id, change.quantity, change.item_id.as_deref())?;
        let amount = |text: &String| Amount::parse_base_units(text).map_err(|error| Problem::bad(error.to_string()));
        let credited = change.expected_credited.as_ref().map(amount).transpose()?;
        let at = Timestamp::from_seconds(change.proration_date);
        let order = PlanOrder { choice, at, expected: amount(&change.expected_total)?, credited };
        let done = billing::switch_plan(&app.ctx, &subscription.id, &order, requester).await?;
        match (done, requester) {
            (PlanSwitch::Switched, _) => Ok(Json(PlanSwitchModel::Subscription(Box::new(show(&app, &subscription.id).await?.0)))),
            (PlanSwitch::NeedsPermission, Requester::Store) => Err(ManageError::NeedsPermission.into()),
            (PlanSwitch::NeedsPermission, Requester::Customer) => {
                let extra_params = ConnectParamsModel {
                    subscription_id: subscription.id.to_string(),
                    currency_id: subscription.currency_id.to_string(),
                    price_id: Some(change.0.price_id),
                    quantity: change.0.quantity.map(|quantity| quantity.to_string()),
                    item_id: change.0.item_id,
                    proration_date: Some(change.0.proration_date.to_string()),
                    expected_total: Some(change.0.expected_total),
                    expected_credited: change.0.expected_credited,
                };
                let connect = ConnectOrderModel { action: "change-payment".to_owned(), extra_params };
                Ok(Json(PlanSwitchModel::Connect(Box::new(PlanConnectModel { connect }))))
            }
        }
    }
}
