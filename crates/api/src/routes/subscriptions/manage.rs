use super::api::{AuthorizedAction, authorize_action, authorize_linked, show};
use super::model::SubscriptionModel;
use crate::auth::{Actor, LinkActor, LinkHolder, Writes, resources};
use crate::lossless_json::{Decimal, LosslessJson};
use crate::problem::Problem;
use crate::routes::stakes::OverdraftModel;
use crate::state::App;
use poem::web::Data;
use poem_openapi::param::Path;
use poem_openapi::payload::Json;
use poem_openapi::{Object, OpenApi};
use souk_domain::billing::{
    self, CancelAt, CancelTerms, CatchUp, Feedback, RefundChoice, Requester, StakeChoice, Subscription, find_subscription,
};
use souk_domain::shared::{Amount, SubscriptionId, Timestamp};
use std::sync::Arc;

/// The terms of a cancellation. A customer may choose the end of the period and give feedback and a comment.
#[derive(Debug, Clone, Object)]
#[oai(rename = "Cancellation")]
pub struct CancelModel {
    /// now, current_period_end or custom.
    pub at: Option<String>,
    /// For `custom`, in unix seconds.
    pub time: Option<i64>,
    /// none, proration or last.
    pub refund: Option<String>,
    pub feedback: Option<String>,
    pub comment: Option<String>,
    /// none, proration or slash.
    pub staking: Option<String>,
    #[oai(rename = "slashReason")]
    pub slash_reason: Option<String>,
    /// `customer`: an admin of the store cancels as the customer.
    pub cancel_from: Option<String>,
}

impl CancelModel {
    fn read(self) -> Result<CancelTerms, Problem> {
        fn choice<T>(name: &str, value: Option<String>, fallback: T, read: fn(&str) -> Option<T>) -> Result<T, Problem> {
            match value.filter(|value| !value.is_empty()) {
                Some(value) => read(&value).ok_or_else(|| Problem::invalid(name)),
                None => Ok(fallback),
            }
        }
        let at = match self.at.as_deref() {
            None | Some("" | "current_period_end") => CancelAt::PeriodEnd,
            Some("now") => CancelAt::Now,
            Some("custom") => CancelAt::Time(self.time.map(Timestamp::from_seconds).ok_or_else(|| Problem::required("time"))?),
            Some(_) => return Err(Problem::invalid("at")),
        };
        Ok(CancelTerms {
            at,
            refund: choice("refund", self.refund, RefundChoice::None, RefundChoice::from_name)?,
            stake: choice("staking", self.staking, StakeChoice::None, StakeChoice::from_name)?,
            slash_reason: self.slash_reason.unwrap_or_default(),
            feedback: choice("feedback", self.feedback, None, |name| Feedback::from_name(name).map(Some))?,
            comment: self.comment.unwrap_or_default(),
        })
    }
}

#[derive(Debug, Clone, Object)]
#[oai(rename = "Recovery")]
pub struct RecoveryModel {
    pub subscription: SubscriptionModel,
    /// The stake was revoked: the wallet has to place a new one (action `re-stake`) before the subscription continues.
    #[oai(rename = "needStake")]
    pub need_stake: bool,
}

#[derive(Debug, Clone, Object)]
#[oai(rename = "StakeReturn")]
pub struct StakeReturnModel {
    pub success: bool,
    #[oai(rename = "subscriptionId")]
    pub subscription_id: String,
}

#[derive(Debug, Clone, Object)]
#[oai(rename = "StakeSlash")]
pub struct SlashModel {
    /// A human decimal; absent: the whole stake.
    pub amount: Option<Decimal>,
    pub reason: String,
}

/// How billing continues.
#[derive(Debug, Clone, Object)]
#[oai(rename = "BillingResumption")]
pub struct ResumptionModel {
    /// What happens to the periods that have begun without an invoice. every_period: each is billed. current_period: only the current one
    /// is billed. skip: none is billed. Required when they are the reason of the hold.
    pub mode: Option<String>,
}

impl ResumptionModel {
    fn read(self) -> Result<Option<CatchUp>, Problem> {
        let named = self.mode.filter(|mode| !mode.is_empty());
        named.map(|mode| CatchUp::from_name(&mode).ok_or_else(|| Problem::invalid("mode"))).transpose()
    }
}

#[derive(Debug, Clone, Object)]
#[oai(rename = "ResumedBilling")]
pub struct ResumedModel {
    /// The number of subscriptions whose billing was resumed.
    pub resumed: u64,
}

pub struct ManageApi;

#[OpenApi(prefix_path = "/api/subscriptions")]
impl ManageApi {
    /// Cancel a subscription. A trial ends immediately.
    #[oai(path = "/:id/cancel", method = "put")]
    async fn cancel(
        &self,
        app: Data<&Arc<App>>,
        actor: Actor<resources::Subscriptions>,
        id: Path<String>,
        terms: Json<CancelModel>,
    ) -> Result<Json<SubscriptionModel>, Problem> {
        let AuthorizedAction { subscription, requester } = authorize_action(&app, &actor, &id).await?;
        let by = if terms.cancel_from.as_deref() == Some("customer") { Requester::Customer } else { requester };
        let terms = terms.0.read()?;
        if terms.refund != RefundChoice::None {
            actor.0.check_recent(&app)?;
        }
        billing::cancel(&app.ctx, by, &subscription.id, &terms).await?;
        show(&app, &subscription.id).await
    }

    /// Check whether a scheduled cancellation can be undone, and whether that requires a new stake.
    #[oai(path = "/:id/recover-info", method = "get")]
    async fn recover_info(
        &self,
        app: Data<&Arc<App>>,
        visitor: LinkHolder<resources::Subscriptions>,
        id: Path<String>,
    ) -> Result<Json<RecoveryModel>, Problem> {
        let AuthorizedAction { subscription, requester } = authorize_linked(&app, &visitor, &id).await?;
        let recovery = billing::recovery(&app.ctx, requester, &subscription.id).await?;
        recovery_model(&app, &subscription, recovery.needs_stake).await
    }

    /// Undo a scheduled cancellation, also by the link of an email about the subscription. If `needStake` is true, nothing has changed yet.
    #[oai(path = "/:id/recover", method = "put")]
    async fn recover(
        &self,
        app: Data<&Arc<App>>,
        actor: LinkActor<resources::Subscriptions>,
        id: Path<String>,
    ) -> Result<Json<RecoveryModel>, Problem> {
        let AuthorizedAction { subscription, requester } = authorize_linked(&app, &actor.0, &id).await?;
        let recovery = billing::recover(&app.ctx, requester, &subscription.id).await?;
        recovery_model(&app, &subscription, recovery.needs_stake).await
    }

    /// Pause a subscription: no period is billed until it is resumed. Existing invoices are still collected.
    #[oai(path = "/:id/pause", method = "put")]
    async fn pause(
        &self,
        app: Data<&Arc<App>>,
        writes: Writes<resources::Subscriptions>,
        id: Path<String>,
    ) -> Result<Json<SubscriptionModel>, Problem> {
        let id = authorize_write(&app, writes, &id).await?;
        billing::pause(&app.ctx, &id).await?;
        show(&app, &id).await
    }

    /// Resume a paused subscription. A new period begins once the old one is over.
    #[oai(path = "/:id/resume", method = "put")]
    async fn resume(
        &self,
        app: Data<&Arc<App>>,
        writes: Writes<resources::Subscriptions>,
        id: Path<String>,
    ) -> Result<Json<SubscriptionModel>, Problem> {
        let id = authorize_write(&app, writes, &id).await?;
        billing::resume(&app.ctx, &id).await?;
        show(&app, &id).await
    }

    /// Resume billing of all subscriptions on hold because of their unbilled periods.
    #[oai(path = "/resume-billing", method = "put")]
    async fn resume_all_billing(
        &self,
        app: Data<&Arc<App>>,
        writes: Writes<resources::Subscriptions>,
        resumption: Json<ResumptionModel>,
    ) -> Result<Json<ResumedModel>, Problem> {
        let choice = resumption.0.read()?.ok_or_else(|| Problem::required("mode"))?;
        Ok(Json(ResumedModel { resumed: billing::resume_all_billing(&app.ctx, writes.mode, choice).await? }))
    }

    /// Resume billing of a subscription on hold, after the cause was fixed.
    #[oai(path = "/:id/resume-billing", method = "put")]
    async fn resume_billing(
        &self,
        app: Data<&Arc<App>>,
        writes: Writes<resources::Subscriptions>,
        id: Path<String>,
        resumption: Json<Option<ResumptionModel>>,
    ) -> Result<Json<SubscriptionModel>, Problem> {
        let id = authorize_write(&app, writes, &id).await?;
        let choice = resumption.0.map_or(Ok(None), ResumptionModel::read)?;
        billing::resume_billing(&app.ctx, &id, choice).await?;
        show(&app, &id).await
    }

    /// The overdraft protection of a subscription. The wallet action `overdraft-protection` enables it and tops it up.
    #[oai(path = "/:id/overdraft-protection", method = "get")]
    async fn overdraft_protection(
        &self,
        app: Data<&Arc<App>>,
        actor: Actor<resources::Subscriptions>,
        id: Path<String>,
    ) -> Result<Json<OverdraftModel>, Problem> {
        let subscription = authorize_action(&app, &actor, &id).await?.subscription;
        Ok(Json(OverdraftModel::from(&billing::overdraft_protection(&app.ctx, &subscription.id).await?)))
    }

    /// Disable the overdraft protection; its stake is returned immediately.
    #[oai(path = "/:id/overdraft-protection", method = "delete")]
    async fn end_overdraft_protection(
        &self,
        app: Data<&Arc<App>>,
        actor: Actor<resources::Subscriptions>,
        id: Path<String>,
    ) -> Result<Json<OverdraftModel>, Problem> {
        let subscription = authorize_action(&app, &actor, &id).await?.subscription;
        billing::end_overdraft_protection(&app.ctx, &subscription.id).await?;
        Ok(Json(OverdraftModel::from(&billing::overdraft_protection(&app.ctx, &subscription.id).await?)))
    }

    /// Return the stake of an ended subscription now, before its waiting time is over.
    #[oai(path = "/:id/return-stake", method = "put")]
    async fn return_stake(
        &self,
        app: Data<&Arc<App>>,
        writes: Writes<resources::Subscriptions>,
        id: Path<String>,
    ) -> Result<Json<StakeReturnModel>, Problem> {
        let id = authorize_write(&app, writes, &id).await?;
        billing::return_stake(&app.ctx, &id).await?;
        Ok(Json(StakeReturnModel { success: true, subscription_id: id.to_string() }))
    }

    /// Forfeit a stake, or a part of it. It pays overdue invoices first.
    #[oai(path = "/:id/slash-stake", method = "put")]
    async fn slash_stake(
        &self,
        app: Data<&Arc<App>>,
        writes: Writes<resources::Subscriptions>,
        id: Path<String>,
        slash: LosslessJson<SlashModel>,
    ) -> Result<Json<SubscriptionModel>, Problem> {
        let id = authorize_write(&app, writes, &id).await?;
        let mut unit = app.ctx.store.read().await?;
        let subscription = find_subscription(unit.as_mut(), writes.mode, &id).await?;
        let currency = unit.methods().find_currency(&subscription.currency_id).await?.ok_or_else(Problem::not_found)?;
        drop(unit);
        let amount = slash.0.amount.map(|amount| Amount::parse_decimal(&amount.0, currency.decimals, currency.decimals)).transpose();
        billing::slash_stake(&app.ctx, &id, amount?, &slash.0.reason).await?;
        show(&app, &id).await
    }
}

async fn recovery_model(app: &App, subscription: &Subscription, need_stake: bool) -> Result<Json<RecoveryModel>, Problem> {
    Ok(Json(RecoveryModel { subscription: show(app, &subscription.id).await?.0, need_stake }))
}

/// Returns the id of a subscription in the writer's mode.
///
/// # Errors
/// 404 if there is no such subscription.
async fn authorize_write(app: &App, writes: Writes<resources::Subscriptions>, id: &str) -> Result<SubscriptionId, Problem> {
    let id = SubscriptionId::parse(id)?;
    let mut unit = app.ctx.store.read().await?;
    find_subscription(unit.as_mut(), writes.mode, &id).await?;
    Ok(id)
}
