//! What the deposit for an app secures: the right to publish it.

use super::app_deposit::block_if_required;
use crate::access::Did;
use crate::billing::{BillingError, ReleaseReason, Stake, StakePurpose, StakeUse, Unneeded};
use crate::context::Context;
use crate::shared::{StorageError, Timestamp};
use crate::storage::UnitOfWork;
use async_trait::async_trait;

/// The use of stakes with the purpose [`crate::billing::StakePurpose::Publication`].
#[derive(Debug, Clone, Copy)]
pub struct Publication;

fn app(stake: &Stake) -> Result<&Did, BillingError> {
    stake.subject.app().ok_or(BillingError::Orphan)
}

#[async_trait]
impl StakeUse for Publication {
    async fn lock(&self, unit: &mut dyn UnitOfWork, stake: &Stake) -> Result<(), StorageError> {
        if let Some(app) = stake.subject.app() {
            unit.reviews().lock_app(app).await?;
        }
        Ok(())
    }

    async fn held(&self, _ctx: &Context, unit: &mut dyn UnitOfWork, stake: &Stake) -> Result<Option<Unneeded>, BillingError> {
        if !stake.is_complete() {
            return Ok(None);
        }
        // An app needs one deposit; two are placed at once only if the currency of the settings has changed meanwhile.
        let others = unit.stakes().open_of_subject(&stake.subject, StakePurpose::Publication).await?;
        let is_superseded = others.iter().any(|other| other.id != stake.id && other.is_complete());
        Ok(is_superseded.then_some(Unneeded { reason: ReleaseReason::Superseded, now: true }))
    }

    async fn revoked(&self, ctx: &Context, unit: &mut dyn UnitOfWork, stake: &Stake) -> Result<(), BillingError> {
        let others = unit.stakes().open_of_subject(&stake.subject, StakePurpose::Publication).await?;
        if others.iter().any(|other| other.id != stake.id && other.is_complete()) {
            return Ok(());
        }
        let Some(found) = unit.reviews().lock_app(app(stake)?).await? else { return Ok(()) };
        Ok(block_if_required(ctx, unit, found).await?)
    }

    async fn unneeded(&self, unit: &mut dyn UnitOfWork, stake: &Stake, _now: Timestamp) -> Result<Option<Unneeded>, BillingError> {
        let is_gone = unit.reviews().find_app(app(stake)?).await?.is_none();
        Ok(is_gone.then_some(Unneeded { reason: ReleaseReason::Ended, now: false }))
    }
}
