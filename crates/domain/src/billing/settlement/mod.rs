//! What the outcomes of attempts outside of a checkout session mean: one handler for each purpose.

mod mandate;
mod payment;
mod recharge;
mod refund;
mod stake;

pub use mandate::MandateChange;
pub(crate) use mandate::{mandate_declined, mandate_given};
pub use payment::InvoiceCollection;
pub(super) use payment::recovered;
pub use recharge::Recharge;
pub use refund::RefundPayment;
pub(super) use stake::leave_behind;
pub use stake::{StakePlacement, StakeReturn, StakeSlash};

use super::BillingError;
use crate::context::Context;
use crate::ledger::{Account, Entry, EntryType, Posting};
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
            other @ (BillingError::Unwritable { .. } | BillingError::Credit(_)) => Self::Handler(Box::new(other)),
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

/// Posts the transaction of a deposit. That of a forfeit is posted by [`crate::billing::invoice::settle`].
pub(crate) async fn post_stake(
    ctx: &Context,
    unit: &mut dyn UnitOfWork,
    attempt: &Attempt,
    mode: Mode,
    kind: EntryType,
    now: Timestamp,
) -> Result<(), BillingError> {
    let (held, payable) = (Account::stakes_held(&attempt.method_id), Account::StakesPayable);
    let (debit, credit) = if kind == EntryType::StakePlaced { (held, payable) } else { (payable, held) };
    let postings =
        vec![Posting::debit(debit, attempt.amount, &attempt.currency_id), Posting::credit(credit, attempt.amount, &attempt.currency_id)];
    let id = EntryId::new(ctx.now(), ctx.random.as_ref());
    unit.journal().post(&Entry::new(id, mode, kind, attempt.id.as_str(), now, postings)?).await?;
    Ok(())
}
