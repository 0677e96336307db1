use super::api::{AuthorizedAction, authorize_action, show};
use super::model::SubscriptionModel;
use super::payment::{ConnectOrderModel, ConnectParamsModel};
use crate::auth::{Actor, resources};
use crate::problem::Problem;
use crate::routes::invoices::formula;
use crate::routes::payments::{description_params, description_text};
use crate::routes::prices::{PriceModel, ProductModel};
use crate::state::App;
use poem::web::Data;
use poem_openapi::param::Path;
use poem_openapi::payload::Json;
use poem_openapi::{Object, OpenApi, Union};
use souk_domain::billing::{
    self, InvoiceItem, PlanChoice, PlanError, PlanOrder, PlanPreview, PlanSwitch, PricingFormula, Requester, UnusedTime,
};
use souk_domain::payment::Description;
use souk_domain::pricing::CatalogueItem;
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
    /// Absent: the current quantity.
    pub quantity: Option<u64>,
    /// The item to change; absent: the item of the same product.
    pub item_id: Option<String>,
}

#[derive(Debug, Clone, Object)]
#[oai(rename = "PlanChange")]
pub struct ChangeModel {
    pub price_id: String,
    pub quantity: Option<u64>,
    pub item_id: Option<String>,
    /// The preview's `proration_date`.
    pub proration_date: i64,
    /// The preview's `total`.
    pub expected_total: String,
    /// The preview's `credited`; absent: not compared.
    pub expected_credited: Option<String>,
}

#[derive(Debug, Clone, Object)]
#[oai(rename = "PlanPreviewLine")]
pub struct PreviewLineModel {
    /// The description in English.
    pub description: String,
    /// The description as a code with parameters; see `InvoiceLine`.
    pub description_code: String,
    pub description_params: BTreeMap<String, String>,
    pub amount: String,
    /// credit or charge.
    pub kind: String,
    /// The formula (`kind`) of the amount with its inputs.
    pub formula: serde_json::Value,
}

impl PreviewLineModel {
    fn charge(line: &InvoiceItem) -> Self {
        Self::new(&line.description, "charge", line.amount, &line.pricing_formula)
    }

    fn credit(unused: &UnusedTime) -> Self {
        let pricing_formula = PricingFormula::from(&unused.credit);
        Self::new(&unused.line.description.unused_time(), "credit", unused.credit.amount, &pricing_formula)
    }

    fn new(description: &Description, kind: &str, amount: Amount, pricing_formula: &PricingFormula) -> Self {
        Self {
            description: description_text(description),
            description_code: description.code().to_owned(),
            description_params: description_params(description),
            amount: amount.to_string(),
            kind: kind.to_owned(),
            formula: formula(pricing_formula),
        }
    }
}

#[derive(Debug, Clone, Object)]
#[oai(rename = "PlanPreview")]
pub struct PreviewModel {
    pub proration_date: i64,
    /// The credits of the old plan, then the charges of the new plan.
    pub lines: Vec<PreviewLineModel>,
    /// The credit for the unused time of the old plan.
    pub credit: String,
    /// The charge of the new plan until the end of the period.
    pub charge: String,
    /// The part of the charge that the customer's balance pays, including `credit`.
    pub applied_credit: String,
    /// The amount due now.
    pub total: String,
    /// The amount added to the customer's balance.
    pub credited: String,
    pub current_period_end: i64,
    pub next_amount: String,
    /// The additional refundable deposit that the wallet has to place before the plan changes. Not part of `total`.
    pub stake: String,
}

impl PreviewModel {
    fn new(preview: &PlanPreview, requester: Requester) -> Self {
        let credits = preview.unused.iter().map(PreviewLineModel::credit);
        let charges = preview.lines.iter().map(PreviewLineModel::charge);
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
            // The store can change the plan without an additional stake.
            stake: if requester == Requester::Store { Amount::ZERO } else { preview.stake }.to_string(),
        }
    }
}

fn read_choice(price: &str, quantity: Option<u64>, item: Option<&str>) -> Result<PlanChoice, Problem> {
    Ok(PlanChoice { price: PriceId::parse(price)?, quantity, item: item.map(SubscriptionItemId::parse).transpose()? })
}

/// The wallet has to authorize the plan first.
#[derive(Debug, Clone, Object)]
#[oai(rename = "PlanConnect")]
pub struct PlanConnectModel {
    pub connect: ConnectOrderModel,
}

/// The subscription with its new plan, or the wallet action that has to authorize it first.
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
        let subscription = authorize_action(&app, &actor, &id).await?.subscription;
        let plans = billing::plans(&app.ctx, &subscription.id).await?;
        let plan = |plan: &CatalogueItem| PriceModel {
            product: Some(Box::new(ProductModel::from(&plan.product))),
            ..PriceModel::from(&plan.price)
        };
        Ok(Json(PlansModel { plans: plans.iter().map(plan).collect() }))
    }

    /// Preview the cost of a plan change now, prorated to the second.
    #[oai(path = "/:id/change-plan/preview", method = "post")]
    async fn preview(
        &self,
        app: Data<&Arc<App>>,
        actor: Actor<resources::Subscriptions>,
        id: Path<String>,
        choice: Json<ChoiceModel>,
    ) -> Result<Json<PreviewModel>, Problem> {
        let AuthorizedAction { subscription, requester } = authorize_action(&app, &actor, &id).await?;
        let choice = read_choice(&choice.price_id, choice.quantity, choice.item_id.as_deref())?;
        let preview = billing::preview_plan(&app.ctx, &subscription.id, &choice).await?;
        if requester == Requester::Customer {
            preview.check_stake().map_err(PlanError::from)?;
        }
        Ok(Json(PreviewModel::new(&preview, requester)))
    }

    /// Apply a previewed plan change. Fails with 409 and code `PREVIEW_CHANGED` if the cost or the plan has changed since the preview. If
    /// the wallet's delegation or stake is too low for the new plan, nothing changes yet and `connect` is the wallet action that requests
    /// a new delegation and then a stake. After the last signature the plan changes once the network has granted both;
    /// `pending_plan_change` of the subscription says so meanwhile. If the wallet or the network declines one, the plan stays, and an
    /// additional stake is returned. The store can change the plan without an additional stake.
    #[oai(path = "/:id/change-plan", method = "put")]
    async fn change(
        &self,
        app: Data<&Arc<App>>,
        actor: Actor<resources::Subscriptions>,
        id: Path<String>,
        change: Json<ChangeModel>,
    ) -> Result<Json<PlanSwitchModel>, Problem> {
        let AuthorizedAction { subscription, requester } = authorize_action(&app, &actor, &id).await?;
        let choice = read_choice(&change.price_id, change.quantity, change.item_id.as_deref())?;
        let amount = |text: &String| Amount::parse_base_units(text);
        let credited = change.expected_credited.as_ref().map(amount).transpose()?;
        let at = Timestamp::from_seconds(change.proration_date);
        let order = PlanOrder { choice, at, expected: amount(&change.expected_total)?, credited };
        let done = billing::switch_plan(&app.ctx, &subscription.id, &order, requester).await?;
        match (done, requester) {
            (PlanSwitch::Switched, _) => Ok(Json(PlanSwitchModel::Subscription(Box::new(show(&app, &subscription.id).await?.0)))),
            (PlanSwitch::NeedsPermission, Requester::Store) => Err(PlanError::NeedsPermission.into()),
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
