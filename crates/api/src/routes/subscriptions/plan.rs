use super::api::{acted_on, show};
use super::model::SubscriptionModel;
use crate::auth::{Actor, resources};
use crate::problem::Problem;
use crate::routes::checkout_sessions::TextModel;
use crate::routes::invoices::{formula, formula_text};
use crate::routes::prices::{PriceModel, ProductModel};
use crate::state::App;
use poem::web::Data;
use poem_openapi::param::Path;
use poem_openapi::payload::Json;
use poem_openapi::{Object, OpenApi};
use souk_domain::billing::{self, Calculation, InvoiceItem, PlanPreview};
use souk_domain::payment::Currency;
use souk_domain::shared::{Amount, PriceId, Timestamp};
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
}

#[derive(Debug, Clone, Object)]
#[oai(rename = "PlanChange")]
pub struct ChangeModel {
    pub price_id: String,
    pub quantity: Option<u64>,
    /// The preview's.
    pub proration_date: i64,
    /// The preview's `total`.
    pub expected_total: String,
}

#[derive(Debug, Clone, Object)]
#[oai(rename = "PlanPreviewLine")]
pub struct PreviewLineModel {
    pub description: String,
    pub amount: String,
    /// credit or charge.
    pub kind: String,
    pub formula: serde_json::Value,
    /// The formula in words.
    pub text: TextModel,
}

impl PreviewLineModel {
    fn new(line: &InvoiceItem, currency: &Currency) -> Self {
        Self {
            description: line.description.clone(),
            amount: line.amount.to_string(),
            kind: if line.calculation.is_credit() { "credit" } else { "charge" }.to_owned(),
            formula: formula(&line.calculation),
            text: formula_text(&line.calculation, currency),
        }
    }
}

#[derive(Debug, Clone, Object)]
#[oai(rename = "PlanPreview")]
pub struct PreviewModel {
    pub proration_date: i64,
    pub lines: Vec<PreviewLineModel>,
    /// What the old plan gives back.
    pub credit: String,
    /// What the new one asks for until the end of the period.
    pub charge: String,
    /// Credit of earlier changes that is used up.
    pub applied_credit: String,
    /// Due now.
    pub total: String,
    /// Kept for the next invoices.
    pub credited: String,
    pub current_period_end: i64,
    pub next_amount: String,
    /// How much the wallet has to permit per payment before, where it permits less: the action `change-payment` with this
    /// `priceId` asks it.
    pub permission: Option<String>,
}

impl PreviewModel {
    fn new(preview: &PlanPreview, currency: &Currency) -> Self {
        // What is kept is told by `credited`, and is no line of what is due.
        let shown = preview.lines.iter().filter(|line| !matches!(line.calculation, Calculation::Flat { .. }));
        Self {
            proration_date: preview.at.seconds(),
            lines: shown.map(|line| PreviewLineModel::new(line, currency)).collect(),
            credit: preview.credit.to_string(),
            charge: preview.charge.to_string(),
            applied_credit: preview.applied.to_string(),
            total: preview.total.to_string(),
            credited: preview.credited.to_string(),
            current_period_end: preview.period.end.seconds(),
            next_amount: preview.next.to_string(),
            permission: preview.permission.map(|most| most.to_string()),
        }
    }
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
        let (subscription, _) = acted_on(&app, &actor, &id).await?;
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
        let (subscription, _) = acted_on(&app, &actor, &id).await?;
        let price = PriceId::parse(&choice.price_id)?;
        let preview = billing::preview_plan(&app.ctx, &subscription.id, &price, choice.quantity).await?;
        let currency = app.ctx.store.read().await?.methods().find_currency(&subscription.currency_id).await?;
        let currency = currency.ok_or_else(Problem::not_found)?;
        Ok(Json(PreviewModel::new(&preview, &currency)))
    }

    /// Make the change that was shown. 409 with code `PREVIEW_CHANGED` when it comes to another total by now.
    #[oai(path = "/:id/change-plan", method = "put")]
    async fn change(
        &self,
        app: Data<&Arc<App>>,
        actor: Actor<resources::Subscriptions>,
        id: Path<String>,
        change: Json<ChangeModel>,
    ) -> Result<Json<SubscriptionModel>, Problem> {
        let (subscription, _) = acted_on(&app, &actor, &id).await?;
        let price = PriceId::parse(&change.price_id)?;
        let expected = Amount::parse_base_units(&change.expected_total).map_err(|error| Problem::bad(error.to_string()))?;
        let at = Timestamp::from_seconds(change.proration_date);
        billing::switch_plan(&app.ctx, &subscription.id, &price, change.quantity, at, expected).await?;
        show(&app, &subscription.id).await
    }
}
