//! Whether a wallet's permission suffices for another plan. Where it does not, the plan changes when there is a wider one.

use super::change_plan::planned;
use super::{ManageError, MandateLimits, PlanChoice, PlanPreview, Subscription, mandate_limit};
use crate::context::Context;
use crate::payment::MandateDetails;
use crate::shared::{Amount, PriceId, SubscriptionId, Timestamp};
use crate::storage::UnitOfWork;

/// A change of plan as it was shown and agreed to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PlanOrder {
    pub choice: PlanChoice,
    /// The moment that it was shown for.
    pub at: Timestamp,
    /// What was shown to be due.
    pub expected: Amount,
    /// What was shown to be kept for the next invoices; absent: nobody looked at it.
    pub credited: Option<Amount>,
}

impl PlanOrder {
    /// Whether it still comes to what was shown.
    #[must_use]
    pub fn fits(&self, preview: &PlanPreview) -> bool {
        preview.total == self.expected && self.credited.is_none_or(|credited| preview.credited == credited)
    }
}

/// What became of an order.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PlanSwitch {
    Switched,
    /// The wallet permits less than the plan can cost at a time, or has staked less than it asks for: it is to be asked for more, and
    /// nothing has changed.
    NeedsPermission,
}

/// What a subscription with the plan of an order can cost at a time, at least what is due now, beside what `others` can.
pub(super) async fn with_plan(
    ctx: &Context,
    unit: &mut dyn UnitOfWork,
    subscription: Subscription,
    order: &PlanOrder,
    mut others: MandateLimits,
) -> Result<MandateLimits, ManageError> {
    let (after, due) = planned(ctx, unit, subscription, order).await?;
    let ids: Vec<_> = after.items.iter().map(|item| item.price_id.clone()).collect();
    let prices = unit.prices().find_all(&ids).await?;
    let priced = |price: &PriceId| prices.iter().find(|found| found.id == *price);
    let items = after.items.iter().filter_map(|item| Some((priced(&item.price_id)?, item.quantity)));
    others.add(
        &after.currency_id,
        mandate_limit(&ctx.policy, items, after.billing_threshold.map(|threshold| threshold.amount), &after.currency_id)?,
    )?;
    others.raise(&after.currency_id, due);
    Ok(others)
}

/// Asks the network whether the wallet permits what the plan can cost. A card has no limit.
pub(super) async fn permits(ctx: &Context, id: &SubscriptionId, order: &PlanOrder) -> Result<bool, ManageError> {
    let mut unit = ctx.store.read().await?;
    let subscription = super::subscription_admin::load(unit.as_mut(), id).await?;
    let Some(mandate) = subscription.mandate_id.clone() else { return Ok(true) };
    let Some(MandateDetails::Delegation { payer, .. }) = unit.mandates().find(&mandate).await?.and_then(|mandate| mandate.grant) else {
        return Ok(true);
    };
    let method = unit.methods().find(&subscription.method_id).await?.ok_or(ManageError::NotFound)?;
    let currency = unit.methods().find_currency(&subscription.currency_id).await?.ok_or(ManageError::NotFound)?;
    let Some(rail) = ctx.networks.wallet(method.kind) else { return Ok(true) };
    let most = with_plan(ctx, unit.as_mut(), subscription, order, MandateLimits::default()).await?;
    drop(unit);
    let most = most.of(&currency.id).unwrap_or_default();
    Ok(rail.permits(&method, &currency, &payer, most).await?)
}
