//! Checks whether a wallet's delegation covers a new plan. If not, the plan changes once the delegation is extended.

use super::plan_preview::{PlannedChange, planned};
use super::{ChargedItem, MandateLimits, PlanError, PlanOrder, Requester, Subscription, SubscriptionError, mandate_limit};
use crate::context::Context;
use crate::payment::MandateDetails;
use crate::shared::{PriceId, SubscriptionId};
use crate::storage::UnitOfWork;

/// Adds to `others` the mandate limit of a subscription with the ordered plan, at least the amount due now.
///
/// # Errors
/// [`SubscriptionError::PaymentInFlight`] for a customer whose deposit is not known yet: [`super::PlanPreview::check_stake`].
pub(super) async fn with_plan(
    ctx: &Context,
    unit: &mut dyn UnitOfWork,
    subscription: Subscription,
    order: &PlanOrder,
    requester: Requester,
    mut others: MandateLimits,
) -> Result<MandateLimits, PlanError> {
    let PlannedChange { after, preview } = planned(ctx, unit, subscription, order).await?;
    if requester == Requester::Customer {
        preview.check_stake()?;
    }
    let ids: Vec<_> = after.items.iter().map(|item| item.price_id.clone()).collect();
    let prices = unit.prices().find_all(&ids).await?;
    let priced = |price: &PriceId| prices.iter().find(|found| found.id == *price);
    let items = after.items.iter().filter_map(|item| Some(ChargedItem { price: priced(&item.price_id)?, quantity: item.quantity }));
    others.add(
        &after.currency_id,
        mandate_limit(&ctx.policy, items, after.billing_threshold.map(|threshold| threshold.amount), &after.currency_id)?,
    )?;
    others.raise(&after.currency_id, preview.total);
    Ok(others)
}

/// Queries the network whether the wallet's delegation covers the plan. Cards have no limit.
pub(super) async fn mandate_allows(ctx: &Context, id: &SubscriptionId, order: &PlanOrder, requester: Requester) -> Result<bool, PlanError> {
    let mut unit = ctx.store.read().await?;
    let subscription = super::subscription_admin::load(unit.as_mut(), id).await?;
    let Some(mandate) = subscription.mandate_id.clone() else { return Ok(true) };
    let Some(MandateDetails::Delegation { payer, .. }) = unit.mandates().find(&mandate).await?.and_then(|mandate| mandate.details) else {
        return Ok(true);
    };
    let method = unit.methods().find(&subscription.method_id).await?.ok_or(SubscriptionError::NotFound)?;
    let currency = unit.methods().find_currency(&subscription.currency_id).await?.ok_or(SubscriptionError::NotFound)?;
    let Some(rail) = ctx.networks.wallet(method.kind) else { return Ok(true) };
    let most = with_plan(ctx, unit.as_mut(), subscription, order, requester, MandateLimits::default()).await?;
    drop(unit);
    let most = most.of(&currency.id).unwrap_or_default();
    Ok(rail.mandate_allows(&method, &currency, &payer, most).await?)
}
