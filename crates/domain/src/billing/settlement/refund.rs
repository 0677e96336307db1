//! Handles refunds of payments and payouts of the balance.

use crate::billing::credit::{refund_declined, refund_settled};
use crate::context::Context;
use crate::payment::{Attempt, Decline, Purpose, PurposeHandler, Settlement, SettlementError};
use crate::shared::AttemptId;
use crate::storage::UnitOfWork;
use async_trait::async_trait;

/// Handles a refund of a payment, or a payout of the balance.
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
        refund_settled(ctx, unit, id, attempt, &settlement.reference).await?;
        Ok(Vec::new())
    }

    async fn declined(
        &self,
        ctx: &Context,
        unit: &mut dyn UnitOfWork,
        attempt: &Attempt,
        decline: &Decline,
    ) -> Result<(), SettlementError> {
        let Purpose::Refund(id) = &attempt.purpose else { return Err(SettlementError::unsupported(attempt)) };
        Ok(refund_declined(ctx, unit, id, decline).await?)
    }
}
