//! Mandates that are granted outside a checkout session.

use crate::billing::BillingError;
use crate::billing::change_payment::{give_up_change, switch_over};
use crate::billing::pay_by_card::pay_with_saved;
use crate::context::Context;
use crate::payment::{Attempt, Decline, Mandate, MandateDetails, MandateStatus, Purpose, PurposeHandler, Settlement, SettlementError};
use crate::shared::{AttemptId, MandateId};
use crate::storage::UnitOfWork;
use async_trait::async_trait;

/// Handles new mandates: subscriptions are charged by them from now on, or a saved card pays invoices once.
#[derive(Debug, Clone, Copy)]
pub struct MandateChange;

#[async_trait]
impl PurposeHandler for MandateChange {
    async fn settled(
        &self,
        ctx: &Context,
        unit: &mut dyn UnitOfWork,
        attempt: &Attempt,
        settlement: &Settlement,
    ) -> Result<Vec<AttemptId>, SettlementError> {
        let Purpose::Mandate(mandate) = &attempt.purpose else { return Err(SettlementError::unsupported(attempt)) };
        mandate_settled(ctx, unit, mandate, settlement).await?;
        switch_over(ctx, unit, attempt, mandate).await?;
        pay_with_saved(ctx, unit, attempt, mandate).await?;
        Ok(Vec::new())
    }

    async fn declined(
        &self,
        ctx: &Context,
        unit: &mut dyn UnitOfWork,
        attempt: &Attempt,
        decline: &Decline,
    ) -> Result<(), SettlementError> {
        let Purpose::Mandate(mandate) = &attempt.purpose else { return Err(SettlementError::unsupported(attempt)) };
        mandate_declined(ctx, unit, mandate).await?;
        Ok(give_up_change(ctx, unit, attempt, mandate, decline).await?)
    }
}

/// Ends a mandate that was declined.
pub(crate) async fn mandate_declined(ctx: &Context, unit: &mut dyn UnitOfWork, id: &MandateId) -> Result<(), BillingError> {
    let mandate = unit.mandates().find(id).await?.ok_or(BillingError::Orphan)?;
    let ended = Mandate { status: MandateStatus::Ended, updated_at: ctx.now(), ..mandate };
    unit.mandates().upsert(&ended).await?;
    Ok(())
}

/// Activates a mandate: a delegation that was granted, or a card that was saved.
pub(crate) async fn mandate_settled(
    ctx: &Context,
    unit: &mut dyn UnitOfWork,
    id: &MandateId,
    settlement: &Settlement,
) -> Result<(), BillingError> {
    let mandate = unit.mandates().find(id).await?.ok_or(BillingError::Orphan)?;
    let details = settlement.card.clone().map(MandateDetails::Card).or(mandate.details);
    let active = Mandate { status: MandateStatus::Active, details, updated_at: ctx.now(), ..mandate };
    unit.mandates().upsert(&active).await?;
    Ok(())
}
