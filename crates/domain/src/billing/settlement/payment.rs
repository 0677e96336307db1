//! Handles payments of invoices: by renewals, by retries, or by the customer.

use crate::billing::balance::apply_after_decline;
use crate::billing::clock::time_of;
use crate::billing::dunning::decline_invoice;
use crate::billing::invoice::{Receipt, settle};
use crate::billing::recovery::recovered;
use crate::billing::reversal::reverse_payment;
use crate::billing::{BillingError, Subscription};
use crate::context::Context;
use crate::payment::{
    Attempt, AttemptKind, Decline, IntentStatus, MandateDetails, Purpose, PurposeHandler, Reversal, SavedCard, Settlement, SettlementError,
};
use crate::shared::{AttemptId, PaymentIntentId};
use crate::storage::UnitOfWork;
use async_trait::async_trait;
use std::collections::BTreeSet;

/// Handles payments of invoices: by renewals, by retries, or by the customer.
#[derive(Debug, Clone, Copy)]
pub struct InvoiceCollection;

#[async_trait]
impl PurposeHandler for InvoiceCollection {
    async fn settled(
        &self,
        ctx: &Context,
        unit: &mut dyn UnitOfWork,
        attempt: &Attempt,
        settlement: &Settlement,
    ) -> Result<Vec<AttemptId>, SettlementError> {
        let Purpose::Payment(intent) = &attempt.purpose else { return Err(SettlementError::unsupported(attempt)) };
        collected(ctx, unit, attempt, intent, settlement).await?;
        Ok(Vec::new())
    }

    async fn declined(
        &self,
        ctx: &Context,
        unit: &mut dyn UnitOfWork,
        attempt: &Attempt,
        decline: &Decline,
    ) -> Result<(), SettlementError> {
        let Purpose::Payment(intent) = &attempt.purpose else { return Err(SettlementError::unsupported(attempt)) };
        Ok(collection_declined(ctx, unit, intent, decline).await?)
    }

    async fn reversed(
        &self,
        ctx: &Context,
        unit: &mut dyn UnitOfWork,
        attempt: &Attempt,
        reversal: &Reversal,
    ) -> Result<(), SettlementError> {
        let Purpose::Payment(intent) = &attempt.purpose else { return Err(SettlementError::unsupported(attempt)) };
        Ok(reverse_payment(ctx, unit, attempt, intent, reversal).await?)
    }
}

async fn collected(
    ctx: &Context,
    unit: &mut dyn UnitOfWork,
    attempt: &Attempt,
    intent: &PaymentIntentId,
    settlement: &Settlement,
) -> Result<(), BillingError> {
    let wall = ctx.now();
    unit.intents().succeed(intent, attempt.amount, &settlement.reference, &settlement.payer, wall).await?;
    let intent = unit.intents().find(intent).await?.ok_or(BillingError::Orphan)?;
    let invoices = unit.invoices().find_all(&intent.invoices).await?;
    let subscriptions: BTreeSet<_> = invoices.iter().filter_map(|invoice| invoice.subscription_id.clone()).collect();
    for subscription in &subscriptions {
        let locked = unit.subscriptions().lock(subscription).await?;
        if let (AttemptKind::OffSession { card, .. }, Some(reported), Some(locked)) = (&attempt.kind, &settlement.card, locked)
            && reported != card
        {
            update_card_details(ctx, unit, &locked, reported).await?;
        }
    }
    let at = time_of(ctx, unit, invoices.first().and_then(|invoice| invoice.clock_id.as_ref())).await?;
    let receipt = Receipt { mode: intent.mode, customer_id: &intent.customer_id, attempt, intent: Some(&intent.id), at };
    let settled = settle(ctx, unit, &receipt).await?;
    Ok(recovered(ctx, unit, &settled, at).await?)
}

/// Updates the card details of a mandate. Banks replace cards, and providers keep the card's id while its details change.
async fn update_card_details(
    ctx: &Context,
    unit: &mut dyn UnitOfWork,
    subscription: &Subscription,
    reported: &SavedCard,
) -> Result<(), BillingError> {
    let Some(id) = &subscription.mandate_id else { return Ok(()) };
    let Some(mandate) = unit.mandates().find(id).await? else { return Err(BillingError::Orphan) };
    let is_same_card = matches!(&mandate.details, Some(MandateDetails::Card(card)) if card.card == reported.card);
    if is_same_card {
        unit.mandates().update_details(id, &MandateDetails::Card(reported.clone()), ctx.now()).await?;
    }
    Ok(())
}

async fn collection_declined(
    ctx: &Context,
    unit: &mut dyn UnitOfWork,
    intent: &PaymentIntentId,
    decline: &Decline,
) -> Result<(), BillingError> {
    let wall = ctx.now();
    let intent = unit.intents().find(intent).await?.ok_or(BillingError::Orphan)?;
    unit.intents().set_status(&intent.id, IntentStatus::RequiresAction, Some(decline), wall).await?;
    apply_after_decline(ctx, unit, &intent.customer_id, &intent.currency_id).await?;
    // A declined manual payment does not affect the invoice or its retry schedule.
    let Some(id) = &intent.subscription_id else { return Ok(()) };
    let Some(mut subscription) = unit.subscriptions().lock(id).await? else { return Ok(()) };
    let now = time_of(ctx, unit, subscription.clock_id.as_ref()).await?;
    let invoices = unit.invoices().find_all(&intent.invoices).await?;
    for invoice in invoices {
        decline_invoice(ctx, unit, &invoice, &mut subscription, decline, now).await?;
    }
    match unit.subscriptions().update(&subscription).await? {
        true => Ok(()),
        false => Err(BillingError::Contended),
    }
}
