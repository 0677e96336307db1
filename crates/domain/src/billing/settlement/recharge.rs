//! Handles top-ups of the account that a subscription is charged by.

use crate::billing::recharge::recharged;
use crate::context::Context;
use crate::payment::{Attempt, Decline, Purpose, PurposeHandler, Settlement, SettlementError};
use crate::shared::AttemptId;
use crate::storage::UnitOfWork;
use async_trait::async_trait;

/// Handles top-ups of the account that a subscription is charged by.
#[derive(Debug, Clone, Copy)]
pub struct Recharge;

#[async_trait]
impl PurposeHandler for Recharge {
    async fn settled(
        &self,
        ctx: &Context,
        unit: &mut dyn UnitOfWork,
        attempt: &Attempt,
        settlement: &Settlement,
    ) -> Result<Vec<AttemptId>, SettlementError> {
        let Purpose::Recharge(subscription) = &attempt.purpose else { return Err(SettlementError::unsupported(attempt)) };
        recharged(ctx, unit, attempt, subscription, &settlement.reference).await?;
        Ok(Vec::new())
    }

    /// Nothing depends on a declined top-up; the wallet of its payer shows the decline.
    async fn declined(
        &self,
        _ctx: &Context,
        _unit: &mut dyn UnitOfWork,
        _attempt: &Attempt,
        _decline: &Decline,
    ) -> Result<(), SettlementError> {
        Ok(())
    }
}
