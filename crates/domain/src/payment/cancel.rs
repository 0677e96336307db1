//! Cancels attempts that will not be completed: at their provider first, then in the store.

use super::query::not_requested;
use super::reconcile::{load, settle_unsent};
use super::settlement::record_alone;
use super::{
    AttemptContext, AttemptKind, Outcome, RailError, SettlementError, Trigger, card_request, not_opened, query_or_send, setup_outcome,
    setup_request,
};
use crate::context::Context;
use crate::shared::AttemptId;

/// Cancels the attempt at its network. Returns whether the attempt is no longer open. Does nothing while the attempt's jobs are paused, while it
/// is on hold, or while a restored store is held.
#[tracing::instrument(skip_all, fields(attempt = %id))]
pub async fn cancel_attempt(ctx: &Context, id: &AttemptId) -> Result<bool, SettlementError> {
    let Some(context) = load(ctx, id).await? else { return Ok(true) };
    // The owner decides about an attempt on hold.
    if ctx.networks.is_paused(&context.method) || ctx.networks.is_held() || context.attempt.is_on_hold() {
        return Ok(false);
    }
    let outcome = cancel_at_network(ctx, &context).await;
    let trigger = if matches!(context.attempt.kind, AttemptKind::Wallet { .. }) { Trigger::Poll } else { Trigger::Reconciler };
    for next in record_alone(ctx, &context, &outcome, trigger).await? {
        settle_unsent(ctx, &next).await?;
    }
    Ok(load(ctx, id).await?.is_none())
}

async fn cancel_at_network(ctx: &Context, context: &AttemptContext) -> Outcome {
    let AttemptContext { attempt, method, currency } = context;
    let outcome = match (&attempt.kind, ctx.networks.card(method.kind)) {
        (AttemptKind::Card { provider_id, .. }, Some(rail)) if !provider_id.is_empty() => rail.cancel(method, currency, provider_id).await,
        (AttemptKind::CardSetup { provider_id, .. }, Some(rail)) if !provider_id.is_empty() => {
            setup_outcome(provider_id, rail.cancel_setup(method, provider_id).await)
        }
        (AttemptKind::CardSetup { holder, .. }, Some(rail)) => {
            let request = match setup_request(ctx, method, &attempt.id, holder).await {
                Ok(request) => request,
                Err(error) => return not_requested(ctx, method, error),
            };
            match rail.open_setup(method, &request).await {
                Ok(setup) => setup_outcome(&setup.provider_id, rail.cancel_setup(method, &setup.provider_id).await),
                Err(error) => not_opened(error),
            }
        }
        (AttemptKind::Card { .. }, Some(rail)) => {
            let request = match card_request(ctx, method, attempt).await {
                Ok(request) => request,
                Err(error) => return not_requested(ctx, method, error),
            };
            match rail.open(method, currency, &request).await {
                // The provider may have opened the intent although its answer was lost: the same key finds it, and its id cancels it.
                Ok(intent) => rail.cancel(method, currency, &intent.provider_id).await,
                Err(error) => not_opened(error),
            }
        }
        // Only queries: the reconciler alone sends signed transactions.
        _ => return query_or_send(ctx, context, Trigger::Poll).await,
    };
    ctx.networks.heard(method, outcome, ctx.now())
}

/// Records that a card intent could not be opened.
#[tracing::instrument(skip_all, fields(attempt = %id))]
pub async fn record_not_opened(ctx: &Context, id: &AttemptId, error: RailError) -> Result<(), SettlementError> {
    let Some(context) = load(ctx, id).await? else { return Ok(()) };
    match &context.attempt.kind {
        // Another page has opened it meanwhile and stored the provider's ids.
        AttemptKind::Card { provider_id, .. } | AttemptKind::CardSetup { provider_id, .. } if !provider_id.is_empty() => Ok(()),
        _ => record_alone(ctx, &context, &not_opened(error), Trigger::Initial).await.map(drop),
    }
}
