//! Moves money out of a stake: one attempt at a time, which reserves its amount in the stake's row.

use super::{OverdueInvoices, Stake, StakeError, StakeReservation, StakeTransferKind};
use crate::billing::BillingError;
use crate::billing::nonce;
use crate::context::Context;
use crate::payment::{Attempt, AttemptKind, MethodAmount, PlannedPayment, Purpose, StoreTransaction, StoreTransactionRequest};
use crate::shared::{Amount, AttemptId, StorageError, Timestamp};
use crate::storage::UnitOfWork;

/// A return or a forfeit of a part of a stake.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::billing) struct StakeTransfer {
    kind: StakeTransferKind,
    amount: Amount,
    /// The invoices that a forfeit pays. The attempt covers them, so no other attempt collects them meanwhile.
    planned: Vec<PlannedPayment>,
}

impl StakeTransfer {
    pub const fn returning(amount: Amount) -> Self {
        Self { kind: StakeTransferKind::Return, amount, planned: Vec::new() }
    }

    /// Forfeits an amount that pays overdue invoices; the excess is revenue.
    pub fn forfeiting(amount: Amount, overdue: &OverdueInvoices) -> Self {
        Self::paying(amount, overdue.paid_by(amount))
    }

    pub const fn paying(amount: Amount, planned: Vec<PlannedPayment>) -> Self {
        Self { kind: StakeTransferKind::Forfeit, amount, planned }
    }
}

impl From<StakeError> for BillingError {
    fn from(error: StakeError) -> Self {
        match error {
            StakeError::Amount(error) => Self::Amount(error),
            // The stake changed after it was read.
            StakeError::TooSmall | StakeError::InFlight | StakeError::NotReserved => Self::Contended,
        }
    }
}

/// Writes the attempt that moves a part of a stake, and reserves the amount. The caller has locked the stake and publishes the attempt.
/// `None`: there is nothing to move, or its network is not supported.
///
/// # Errors
/// [`BillingError::Contended`] when the stake is already moving, or another attempt covers a planned invoice.
pub(in crate::billing) async fn transfer(
    ctx: &Context,
    unit: &mut dyn UnitOfWork,
    stake: &Stake,
    StakeTransfer { kind, amount, planned }: StakeTransfer,
    now: Timestamp,
) -> Result<Option<AttemptId>, BillingError> {
    if amount.is_zero() {
        return Ok(None);
    }
    let method = unit.methods().find(&stake.method_id).await?.ok_or(BillingError::Orphan)?;
    let currency = unit.methods().find_currency(&stake.currency_id).await?.ok_or(BillingError::Orphan)?;
    let Some(rail) = ctx.networks.wallet(method.kind) else { return Ok(None) };
    let (payer, subject) = (stake.payer.clone(), stake.id.to_string());
    let (transaction, purpose) = match kind {
        StakeTransferKind::Forfeit => (StoreTransaction::Slash { payer, subject }, Purpose::Slash(stake.id.clone())),
        StakeTransferKind::Return => (StoreTransaction::ReturnStake { payer, subject }, Purpose::ReturnStake(stake.id.clone())),
    };
    let request = StoreTransactionRequest { transaction, amount, reference: stake.subject.to_text(), period: None, nonce: nonce(ctx) };
    let signed = rail.sign(&method, &currency, &request)?;
    let wall = ctx.now();
    let attempt = Attempt::begin(
        AttemptId::new(wall, ctx.random.as_ref()),
        purpose,
        AttemptKind::Wallet { payer: stake.payer.clone(), bytes: signed.bytes, hash: signed.hash },
        MethodAmount { method_id: method.id, currency_id: currency.id, amount },
        wall,
    );
    let reserved = stake.reserve(StakeReservation { attempt_id: attempt.id.clone(), kind, amount }, now)?;
    if !unit.stakes().update(stake, &reserved).await? {
        return Err(BillingError::Contended);
    }
    match unit.attempts().insert(&attempt, &planned).await {
        Err(StorageError::Duplicate(_)) => Err(BillingError::Contended),
        inserted => Ok(inserted.map(|()| Some(attempt.id))?),
    }
}
