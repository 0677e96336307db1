//! What stakes secure besides subscriptions. The modules above implement [`StakeUse`], and the composition root puts the table of them into
//! the context.

use super::{ReleaseReason, ReleaseTime, Stake, StakePurpose};
use crate::billing::BillingError;
use crate::context::Context;
use crate::shared::{StorageError, Timestamp};
use crate::storage::UnitOfWork;
use async_trait::async_trait;
use std::collections::HashMap;
use std::sync::Arc;

/// Why and when a stake is released that nothing needs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Unneeded {
    pub reason: ReleaseReason,
    /// Whether it is returned at once; otherwise after its waiting time.
    pub now: bool,
}

impl Unneeded {
    /// The stake after its release.
    #[must_use]
    pub fn release(self, stake: &Stake, now: Timestamp) -> Stake {
        let at = if self.now { ReleaseTime::Now } else { ReleaseTime::AfterWaiting };
        stake.released(self.reason, at.after(stake, now), now)
    }
}

/// What the stakes of one purpose secure. Each method runs in the unit of work that changes the stake, so that a crash leaves neither
/// change without the other.
#[async_trait]
pub trait StakeUse: Send + Sync {
    /// Locks what the stake secures until this unit of work ends. The caller locks the stake after it.
    async fn lock(&self, unit: &mut dyn UnitOfWork, stake: &Stake) -> Result<(), StorageError>;

    /// Lets the stake secure its object, now that its network holds `stake`, which may be less than was requested. Returns why the stake is
    /// not needed; the caller then releases it. Must have no further effect if it is called again.
    async fn held(&self, ctx: &Context, unit: &mut dyn UnitOfWork, stake: &Stake) -> Result<Option<Unneeded>, BillingError>;

    /// Ends what the stake has secured, because its payer has revoked it at the network.
    async fn revoked(&self, ctx: &Context, unit: &mut dyn UnitOfWork, stake: &Stake) -> Result<(), BillingError>;

    /// Why a held stake is not needed any more. `None`: it is. `now`: the time of its customer.
    async fn unneeded(&self, unit: &mut dyn UnitOfWork, stake: &Stake, now: Timestamp) -> Result<Option<Unneeded>, BillingError>;
}

/// The uses of stakes, by their purpose. Stakes of subscriptions have none here.
#[derive(Clone, Default)]
pub struct StakeUses {
    table: HashMap<StakePurpose, Arc<dyn StakeUse>>,
}

impl StakeUses {
    #[must_use]
    pub fn with(mut self, purpose: StakePurpose, of: Arc<dyn StakeUse>) -> Self {
        self.table.insert(purpose, of);
        self
    }

    #[must_use]
    pub fn find(&self, purpose: StakePurpose) -> Option<&dyn StakeUse> {
        self.table.get(&purpose).map(AsRef::as_ref)
    }
}
