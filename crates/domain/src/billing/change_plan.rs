//! Changes a subscription's plan at the price that the customer was shown.

use super::billing_batch::BillingBatch;
use super::charges::{nonce, publish_charges};
use super::credit::{CreditNoteReason, Destination, is_contested, publish_refunds};
use super::issue_invoice::{Bill, issue};
use super::plan_mandate::mandate_allows;
use super::plan_preview::{PlanDraft, draft, shown_for};
use super::stake::{lock_security, supersede_plan_change};
use super::subscription_admin::{lock, save};
use super::{BillingReason, InvoiceItem, NoteError, Period, PlanError, PlanOrder, Requester, Subscription, time_of};
use crate::context::Context;
use crate::pricing::{QuantityError, lock_prices};
use crate::shared::{EntitlementId, InvoiceId, SubscriptionId, Timestamp};
use crate::storage::UnitOfWork;
use crate::store::Entitlement;
use std::time::Duration;

/// The outcome of a plan order.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PlanSwitch {
    Switched,
    /// The wallet's delegation or stake does not cover the new plan, and must be extended first. Nothing has changed.
    NeedsPermission,
}

/// Makes the plan change if its price still equals the previewed one, and the wallet's delegation and stake cover the new plan. The stake
/// is not required when the store requests the change, since the stake secures the store.
#[tracing::instrument(skip_all, fields(subscription = %id))]
pub async fn switch_plan(ctx: &Context, id: &SubscriptionId, order: &PlanOrder, requester: Requester) -> Result<PlanSwitch, PlanError> {
    if !mandate_allows(ctx, id, order, requester).await? {
        return Ok(PlanSwitch::NeedsPermission);
    }
    let mut unit = ctx.store.begin().await?;
    let subscription = lock(unit.as_mut(), id).await?;
    let ordered = unit.plan_changes().find(id).await?;
    lock_security(unit.as_mut(), &subscription, ordered.as_ref()).await?;
    let now = time_of(ctx, unit.as_mut(), subscription.clock_id.as_ref()).await?;
    let at = shown_for(unit.as_mut(), order, &subscription, now).await?;
    // Changes within one second (a test clock can stand still for longer) start a microsecond apart: no two invoices of one reason share a
    // start (invariant 2).
    let changed_at = unit.invoices().last_start(id, BillingReason::SubscriptionUpdate).await?;
    let changed_in_same_second = changed_at.filter(|changed_at| changed_at.seconds() == at.seconds());
    let start = changed_in_same_second.map_or(at, |changed_at| changed_at.plus(Duration::from_micros(1)).max(at));
    // Before the draft reads its amounts.
    let chosen = unit.prices().find_all(std::slice::from_ref(&order.choice.price)).await?;
    lock_prices(unit.as_mut(), &chosen).await?;
    let drafted = draft(ctx, unit.as_mut(), subscription, &order.choice, at).await?;
    let PlanDraft { mut subscription, mut batch, invoice, preview, unused, corrections, stock_returned, stock_taken } = drafted;
    if !order.fits(&preview) {
        return Err(PlanError::PreviewChanged);
    }
    if requester == Requester::Customer {
        preview.check_stake()?;
        if !preview.stake.is_zero() {
            return Ok(PlanSwitch::NeedsPermission);
        }
    }
    // Lock order: invoices, stock, balance, number series.
    unused.lock(unit.as_mut()).await?;
    if let Some(session) = &subscription.session_id
        && !unit.prices().swap(session, &stock_returned, &stock_taken, now).await?
    {
        return Err(QuantityError::ExceedInventory.into());
    }
    subscription.updated_at = now;
    // Without a charge there is no invoice.
    let lines = if preview.charge.is_zero() { Vec::new() } else { preview.lines };
    grant(ctx, unit.as_mut(), &subscription, &batch, &lines, &invoice, now).await?;
    let added = unused.to_balance(&subscription)?;
    let reason = CreditNoteReason::PlanChange;
    let refunds = unused.issue(ctx, unit.as_mut(), &subscription, reason, &Destination::Balance, now).await?;
    let billed_period = Period { start, end: preview.period.end };
    let reason = BillingReason::SubscriptionUpdate;
    let bill = Bill { id: invoice, reason, period: billed_period, lines, corrections, added };
    let charge = issue(ctx, unit.as_mut(), &mut batch, &mut subscription, bill, nonce(ctx), now).await?;
    save(unit.as_mut(), &subscription).await?;
    unit.subscriptions().put_items(&subscription).await?;
    if let Some(ordered) = &ordered {
        supersede_plan_change(ctx, unit.as_mut(), ordered).await?;
    }
    publish_charges(ctx, unit.as_mut(), charge.as_slice()).await?;
    publish_refunds(ctx, unit.as_mut(), requester.into(), &refunds).await.map_err(NoteError::from)?;
    unit.commit().await?;
    Ok(PlanSwitch::Switched)
}

/// Grants the apps of the new plan, suspended while a payment of the subscription is disputed. Access to the old plan's apps ends because
/// no item of the subscription contains them any more.
async fn grant(
    ctx: &Context,
    unit: &mut dyn UnitOfWork,
    subscription: &Subscription,
    batch: &BillingBatch,
    lines: &[InvoiceItem],
    invoice: &InvoiceId,
    now: Timestamp,
) -> Result<(), PlanError> {
    let (Some(session), Some(customer)) = (&subscription.session_id, batch.customers.get(&subscription.customer_id)) else { return Ok(()) };
    let suspended_at = is_contested(unit, subscription).await?.then(|| ctx.now());
    let mut granted = Vec::with_capacity(subscription.items.len());
    for item in &subscription.items {
        let product = batch.prices.get(&item.price_id).and_then(|price| batch.products.get(&price.product_id));
        let Some(app) = product.and_then(|product| product.app.clone()) else { continue };
        let line = lines.iter().find(|line| line.subscription_item_id.as_ref() == Some(&item.id));
        granted.push(Entitlement {
            id: EntitlementId::new(ctx.now(), ctx.random.as_ref()),
            mode: subscription.mode,
            holder: customer.did.clone(),
            app,
            session_id: session.clone(),
            subscription_id: Some(subscription.id.clone()),
            invoice_id: line.map(|_| invoice.clone()).or_else(|| subscription.latest_invoice_id.clone()),
            invoice_item_id: line.map(|line| line.id.clone()),
            acquired_at: now,
            revoked_at: None,
            suspended_at,
        });
    }
    Ok(unit.entitlements().grant_all(&granted).await?)
}
