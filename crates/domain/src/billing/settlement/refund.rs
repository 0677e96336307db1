//! Money that goes back over the network that brought it.

use super::book;
use crate::billing::give_back::not_given_back;
use crate::billing::{Notification, notify};
use crate::context::Context;
use crate::ledger::Reason;
use crate::payment::{Attempt, Decline, Purpose, PurposeHandler, RefundStatus, Settlement, SettlementError};
use crate::shared::AttemptId;
use crate::storage::UnitOfWork;
use async_trait::async_trait;

/// A refund.
#[derive(Debug, Clone, Copy)]
pub struct RefundPayment;

#[async_trait]
impl PurposeHandler for RefundPayment {
    async fn settled(
        &self,
        ctx: &Context,
        unit: &mut dyn UnitOfWork,
        attempt: &Attempt,
        settlement: &Settlement,
    ) -> Result<Vec<AttemptId>, SettlementError> {
        let Purpose::Refund(id) = &attempt.purpose else { return Err(SettlementError::unsupported(attempt)) };
        let refund = unit.refunds().find(id).await?.ok_or(SettlementError::Orphan)?;
        unit.refunds().finish(id, RefundStatus::Succeeded, &settlement.reference, ctx.now()).await?;
        book(ctx, unit, attempt, refund.mode, Reason::Refund, ctx.now()).await?;
        notify(ctx, unit, &Notification::Refunded(id.clone()), ctx.now()).await?;
        Ok(Vec::new())
    }

    async fn declined(
        &self,
        ctx: &Context,
        unit: &mut dyn UnitOfWork,
        attempt: &Attempt,
        _decline: &Decline,
    ) -> Result<(), SettlementError> {
        let Purpose::Refund(id) = &attempt.purpose else { return Err(SettlementError::unsupported(attempt)) };
        Ok(not_given_back(ctx, unit, id).await?)
    }
}
