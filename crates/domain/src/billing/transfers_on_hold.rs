//! Lists the transfers on hold.

use super::transfer_decision::{HoldDecision, TransferType};
use crate::payment::{Attempt, HoldClass, Moved, Purpose};
use crate::shared::{CustomerId, InvoiceId, Listed, Mode, Page, StorageError, SubscriptionId};
use crate::storage::UnitOfWork;

/// A transfer on hold, with what an owner needs to decide about it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TransferOnHold {
    pub attempt: Attempt,
    pub kind: TransferType,
    pub moved: Moved,
    /// `None`: it is a mandate without a customer of its own.
    pub customer_id: Option<CustomerId>,
    /// The refunded invoice.
    pub invoice_id: Option<InvoiceId>,
    /// The subscription that the deposit was placed for, or whose account was topped up.
    pub subscription_id: Option<SubscriptionId>,
}

impl TransferOnHold {
    #[must_use]
    pub fn decisions(&self) -> &'static [HoldDecision] {
        self.kind.decisions(self.attempt.amount, self.moved.amount)
    }
}

/// One page of the transfers on hold, newest first.
///
/// # Errors
/// If the storage fails.
pub async fn transfers_on_hold(unit: &mut dyn UnitOfWork, mode: Mode, page: &Page) -> Result<Listed<TransferOnHold>, StorageError> {
    let Listed { count, list } = unit.attempts().on_hold(HoldClass::Transfers, mode, page).await?;
    let (mut refunds, mut stakes, mut subscriptions, mut mandates) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
    for attempt in &list {
        match &attempt.purpose {
            Purpose::Refund(id) => refunds.push(id.clone()),
            Purpose::Stake(id) | Purpose::ReturnStake(id) | Purpose::Slash(id) => stakes.push(id.clone()),
            Purpose::Recharge(id) => subscriptions.push(id.clone()),
            Purpose::Mandate(id) => mandates.push(id.clone()),
            Purpose::Payment(_) => {}
        }
    }
    let refunds = if refunds.is_empty() { Vec::new() } else { unit.refunds().find_all(&refunds).await? };
    let stakes = if stakes.is_empty() { Vec::new() } else { unit.stakes().find_all(&stakes).await? };
    let subscriptions = if subscriptions.is_empty() { Vec::new() } else { unit.subscriptions().find_all(&subscriptions).await? };
    let mandates = if mandates.is_empty() { Vec::new() } else { unit.mandates().find_all(&mandates).await? };
    let with_object = |attempt: Attempt| {
        let (moved, other) = (attempt.moved.clone()?, TransferType::of_other(&attempt));
        let (kind, customer_id, invoice_id, subscription_id) = match &attempt.purpose {
            Purpose::Payment(_) => return None,
            Purpose::Refund(id) => {
                let refund = refunds.iter().find(|refund| refund.id == *id)?;
                let (invoice, subscription) = (refund.invoice_id.clone(), refund.subscription_id.clone());
                (TransferType::of_refund(refund.kind), Some(refund.customer_id.clone()), invoice, subscription)
            }
            Purpose::Stake(id) | Purpose::ReturnStake(id) | Purpose::Slash(id) => {
                let stake = stakes.iter().find(|stake| stake.id == *id)?;
                (other?, Some(stake.customer_id.clone()), None, stake.subject.subscription().cloned())
            }
            Purpose::Recharge(id) => {
                let subscription = subscriptions.iter().find(|subscription| subscription.id == *id)?;
                (other?, Some(subscription.customer_id.clone()), None, Some(id.clone()))
            }
            Purpose::Mandate(id) => (other?, mandates.iter().find(|one| one.id == *id).map(|one| one.customer_id.clone()), None, None),
        };
        Some(TransferOnHold { attempt, kind, moved, customer_id, invoice_id, subscription_id })
    };
    Ok(Listed { count, list: list.into_iter().filter_map(with_object).collect() })
}
