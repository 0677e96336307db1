//! Reverses payouts to beneficiaries that were recorded by mistake: with a wrong amount, or for somebody else. The right payout is recorded
//! afterwards.

use super::share_payouts::{PAYOUT_REASON_MAX, SharePayout};
use crate::access::{Caller, Role};
use crate::context::Context;
use crate::ledger::{Account, Entry, EntryType, LedgerError, Posting};
use crate::operation::RestoreHeld;
use crate::shared::{EntryId, InputError, Mode, SharePayoutId, StorageError, check_text};

#[derive(Debug, thiserror::Error)]
pub enum ReversePayoutError {
    #[error("Sorry, you are not authorized to access this page.")]
    NotOwner,
    #[error("Sorry, the page you visited does not exist.")]
    NotFound,
    #[error("A reason is required")]
    ReasonRequired,
    /// A payout that was reversed by mistake is recorded again.
    #[error("A reversal can't be reversed. Record the payout again.")]
    IsReversal,
    #[error("This payout has been reversed")]
    Reversed,
    /// Payouts and reversals that were recorded after the backup are not known.
    #[error(transparent)]
    Held(#[from] RestoreHeld),
    #[error(transparent)]
    Input(#[from] InputError),
    #[error(transparent)]
    Ledger(#[from] LedgerError),
    #[error(transparent)]
    Storage(StorageError),
}

impl From<StorageError> for ReversePayoutError {
    fn from(error: StorageError) -> Self {
        match error {
            StorageError::Duplicate(_) => Self::Reversed,
            error => Self::Storage(error),
        }
    }
}

/// Takes back the whole of a payout that an owner has recorded, as an entry of the journal. Its amount is payable again.
///
/// # Errors
/// The caller is no owner, or there is no such payout, or it was reversed before. Then nothing is recorded.
#[tracing::instrument(skip_all, fields(payout = %id))]
pub async fn reverse_share_payout(
    ctx: &Context,
    caller: &Caller,
    mode: Mode,
    id: &SharePayoutId,
    reason: &str,
) -> Result<SharePayout, ReversePayoutError> {
    if !caller.holds(Role::Owner) {
        return Err(ReversePayoutError::NotOwner);
    }
    if ctx.networks.is_held() {
        return Err(RestoreHeld.into());
    }
    let reason = check_text("reason", reason, PAYOUT_REASON_MAX)?;
    if reason.is_empty() {
        return Err(ReversePayoutError::ReasonRequired);
    }
    let now = ctx.now();
    let mut unit = ctx.store.begin().await?;
    let payout = unit.payees().find_payout(mode, id).await?.ok_or(ReversePayoutError::NotFound)?;
    if payout.reverses.is_some() {
        return Err(ReversePayoutError::IsReversal);
    }
    if payout.is_reversed {
        return Err(ReversePayoutError::Reversed);
    }
    let payee = unit.payees().lock(mode, &payout.beneficiary, &payout.currency_id).await?.ok_or(ReversePayoutError::NotFound)?;
    let reversal = SharePayout {
        id: SharePayoutId::new(now, ctx.random.as_ref()),
        paid_before: payee.recorded,
        reverses: Some(payout.id.clone()),
        reason,
        recorded_by: caller.user.did.clone(),
        created_at: now,
        ..payout
    };
    if !unit.payees().reverse(&reversal, payee.reversed).await? {
        return Err(ReversePayoutError::Storage(StorageError::Conflict));
    }
    unit.journal().post(&entry_of(ctx, &reversal)?).await?;
    unit.commit().await?;
    Ok(reversal)
}

/// The opposite of the entry of the payout.
fn entry_of(ctx: &Context, reversal: &SharePayout) -> Result<Entry, LedgerError> {
    let postings = vec![
        Posting::debit(Account::cash(&reversal.method_id), reversal.amount, &reversal.currency_id),
        Posting::credit(Account::payable(reversal.beneficiary.as_str()), reversal.amount, &reversal.currency_id),
    ];
    let id = EntryId::new(ctx.now(), ctx.random.as_ref());
    Entry::new(id, reversal.mode, EntryType::SharePayoutReversed, reversal.id.as_str(), reversal.created_at, postings)
}
