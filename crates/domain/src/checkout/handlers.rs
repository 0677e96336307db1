//! Handlers for the outcomes of a session's attempts. The session's next step is taken in the unit of work that records the outcome, so
//! that a crash cannot leave the session waiting.

use super::advance::{Step, step};
use super::complete::{PaidBy, complete};
use super::{Session, SessionStatus};
use crate::billing::{self, BillingError, ReleaseReason};
use crate::context::Context;
use crate::ledger::EntryType;
use crate::payment::{Attempt, Decline, IntentStatus, Purpose, PurposeHandler, Reversal, Settlement, SettlementError, current_token};
use crate::shared::{AttemptId, Timestamp};
use crate::storage::UnitOfWork;
use async_trait::async_trait;

/// Handles the payment of the amount due now, which completes the session.
#[derive(Debug, Clone, Copy)]
pub struct SessionPayment;

/// Handles the mandate for later charges.
#[derive(Debug, Clone, Copy)]
pub struct SessionMandate;

/// Handles the stake that secures the session's subscriptions.
#[derive(Debug, Clone, Copy)]
pub struct SessionStake;

#[async_trait]
impl PurposeHandler for SessionPayment {
    /// Attempt, session, intent, invoices, stock, entitlements and journal change in one unit of work, for exactly one caller.
    async fn settled(
        &self,
        ctx: &Context,
        unit: &mut dyn UnitOfWork,
        attempt: &Attempt,
        settlement: &Settlement,
    ) -> Result<Vec<AttemptId>, SettlementError> {
        let session = lock(unit, attempt).await?;
        if let Some(mandate) = session.mandate_id.as_ref().filter(|_| settlement.card.is_some()) {
            billing::mandate_settled(ctx, unit, mandate, settlement).await?;
        }
        match complete(ctx, unit, session, PaidBy::Network { attempt, settlement }, ctx.now()).await? {
            true => Ok(Vec::new()),
            false => Err(SettlementError::Contended),
        }
    }

    async fn declined(
        &self,
        ctx: &Context,
        unit: &mut dyn UnitOfWork,
        attempt: &Attempt,
        decline: &Decline,
    ) -> Result<(), SettlementError> {
        let Purpose::Payment(intent) = &attempt.purpose else { return Err(SettlementError::unsupported(attempt)) };
        let now = ctx.now();
        if decline.is_for_mandate() {
            // The mandate no longer suffices, so the wallet is asked for a new one. If the session was changed meanwhile, the next try
            // finds out again.
            let session = lock(unit, attempt).await?;
            unit.sessions().update(&Session { mandate_id: None, updated_at: now, ..session }).await?;
        }
        unit.intents().set_status(intent, IntentStatus::RequiresAction, Some(decline), now).await?;
        Ok(())
    }

    async fn reversed(
        &self,
        ctx: &Context,
        unit: &mut dyn UnitOfWork,
        attempt: &Attempt,
        reversal: &Reversal,
    ) -> Result<(), SettlementError> {
        let Purpose::Payment(intent) = &attempt.purpose else { return Err(SettlementError::unsupported(attempt)) };
        Ok(billing::reverse_payment(ctx, unit, attempt, intent, reversal).await?)
    }
}

#[async_trait]
impl PurposeHandler for SessionMandate {
    async fn settled(
        &self,
        ctx: &Context,
        unit: &mut dyn UnitOfWork,
        attempt: &Attempt,
        settlement: &Settlement,
    ) -> Result<Vec<AttemptId>, SettlementError> {
        let Purpose::Mandate(mandate) = &attempt.purpose else { return Err(SettlementError::unsupported(attempt)) };
        let now = ctx.now();
        let session = lock(unit, attempt).await?;
        billing::mandate_settled(ctx, unit, mandate, settlement).await?;
        if let Some(intent) = &session.intent_id {
            unit.intents().set_status(intent, IntentStatus::Processing, None, now).await?;
        }
        next_step(ctx, unit, session, attempt, now).await
    }

    async fn declined(
        &self,
        ctx: &Context,
        unit: &mut dyn UnitOfWork,
        attempt: &Attempt,
        decline: &Decline,
    ) -> Result<(), SettlementError> {
        let Purpose::Mandate(mandate) = &attempt.purpose else { return Err(SettlementError::unsupported(attempt)) };
        billing::mandate_declined(ctx, unit, mandate).await?;
        show_decline(ctx, unit, attempt, decline).await
    }
}

#[async_trait]
impl PurposeHandler for SessionStake {
    async fn settled(
        &self,
        ctx: &Context,
        unit: &mut dyn UnitOfWork,
        attempt: &Attempt,
        settlement: &Settlement,
    ) -> Result<Vec<AttemptId>, SettlementError> {
        let Purpose::Stake(id) = &attempt.purpose else { return Err(SettlementError::unsupported(attempt)) };
        let now = ctx.now();
        let session = lock(unit, attempt).await?;
        let before = unit.stakes().lock(id).await?.ok_or(SettlementError::Orphan)?;
        let mut after = before.placed(attempt.amount, &settlement.reference, now).map_err(BillingError::from)?;
        let is_needed = session.stake_id.as_ref() == Some(id) && session.status != SessionStatus::Expired;
        if !is_needed {
            // The session no longer needs the stake, so it is released.
            after = after.released(ReleaseReason::Abandoned, now, now);
        }
        if !unit.stakes().update(&before, &after).await? {
            return Err(SettlementError::Contended);
        }
        billing::post_stake(ctx, unit, attempt, &after, EntryType::StakePlaced, now).await?;
        next_step(ctx, unit, session, attempt, now).await
    }

    async fn declined(
        &self,
        ctx: &Context,
        unit: &mut dyn UnitOfWork,
        attempt: &Attempt,
        decline: &Decline,
    ) -> Result<(), SettlementError> {
        show_decline(ctx, unit, attempt, decline).await
    }
}

/// Locks the session of an attempt. Outcomes of its attempts that are recorded at the same time wait for each other: the last one sees what
/// the others have settled, and takes the next step.
async fn lock(unit: &mut dyn UnitOfWork, attempt: &Attempt) -> Result<Session, SettlementError> {
    let id = attempt.session_id.as_ref().ok_or(SettlementError::Orphan)?;
    unit.sessions().lock(id).await?.ok_or(SettlementError::Orphan)
}

/// Takes the session's next step after `attempt` has settled, and returns the charge that it inserted. The wallet that signed the attempt's
/// transaction waits for that charge as well.
async fn next_step(
    ctx: &Context,
    unit: &mut dyn UnitOfWork,
    session: Session,
    attempt: &Attempt,
    now: Timestamp,
) -> Result<Vec<AttemptId>, SettlementError> {
    let connect_token = current_token(unit, attempt).await?;
    match step(ctx, unit, session, connect_token.as_deref(), now).await? {
        Step::Raced => Err(SettlementError::Contended),
        Step::Charge(charge) => Ok(vec![charge]),
        Step::Nothing | Step::Completed => Ok(Vec::new()),
    }
}

/// Records on the session's intent why the signed transaction was declined.
async fn show_decline(ctx: &Context, unit: &mut dyn UnitOfWork, attempt: &Attempt, decline: &Decline) -> Result<(), SettlementError> {
    let session = lock(unit, attempt).await?;
    if let Some(intent) = &session.intent_id {
        unit.intents().set_status(intent, IntentStatus::RequiresAction, Some(decline), ctx.now()).await?;
    }
    Ok(())
}
