//! What the outcomes of attempts outside of a checkout session mean: one handler for each purpose.

mod mandate;
mod payment;
mod recharge;
mod refund;
mod stake;

pub use mandate::MandateChange;
pub(crate) use mandate::{mandate_declined, mandate_given};
pub use payment::InvoicePayment;
pub use recharge::Recharge;
pub use refund::RefundPayment;
pub(super) use stake::leave_behind;
pub use stake::{StakePlacement, StakeReturn, StakeSlash};

use super::BillingError;
use crate::context::Context;
use crate::ledger::{Entry, Movement, Reason};
use crate::payment::{Attempt, SettlementError};
use crate::shared::{EntryId, Mode, Timestamp};
use crate::storage::UnitOfWork;

impl From<BillingError> for SettlementError {
    fn from(error: BillingError) -> Self {
        match error {
            BillingError::Orphan => Self::Orphan,
            BillingError::Contended => Self::Contended,
            BillingError::Amount(error) => Self::Amount(error),
            BillingError::Ledger(error) => Self::Ledger(error),
            BillingError::Rail(error) => Self::Rail(error),
            BillingError::Settlement(error) => error,
            BillingError::Storage(error) => Self::Storage(error),
            other @ BillingError::Unwritable { .. } => Self::Handler(Box::new(other)),
        }
    }
}

impl From<SettlementError> for BillingError {
    fn from(error: SettlementError) -> Self {
        match error {
            SettlementError::Orphan => Self::Orphan,
            SettlementError::Contended => Self::Contended,
            SettlementError::Amount(error) => Self::Amount(error),
            SettlementError::Ledger(error) => Self::Ledger(error),
            SettlementError::Rail(error) => Self::Rail(error),
            SettlementError::Storage(error) => Self::Storage(error),
            other @ (SettlementError::Unsupported(_) | SettlementError::Handler(_)) => Self::Settlement(other),
        }
    }
}

/// The journal entry of money that an attempt moved.
async fn book(
    ctx: &Context,
    unit: &mut dyn UnitOfWork,
    attempt: &Attempt,
    mode: Mode,
    reason: Reason,
    now: Timestamp,
) -> Result<(), BillingError> {
    let movement = Movement { method_id: &attempt.method_id, currency_id: &attempt.currency_id, amount: attempt.amount };
    let id = EntryId::new(ctx.now(), ctx.random.as_ref());
    let entry = Entry::of_movement(id, mode, reason, attempt.id.as_str(), now, &movement)?;
    unit.journal().book(&entry).await?;
    Ok(())
}
