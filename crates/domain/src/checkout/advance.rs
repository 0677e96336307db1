//! Advances a session once its wallet has signed what was required: charges it for the first time, or completes it.

use super::complete::{PaidBy, complete};
use super::stake::{lacks_stake, stake_of};
use super::{ChosenMethod, Session, SessionMode, SessionStatus};
use crate::access::Did;
use crate::billing::plan_payments;
use crate::context::Context;
use crate::payment::{
    Attempt, AttemptKind, Intent, MandateDetails, MandateStatus, MethodAmount, PlannedPayment, Purpose, SettlementError, StoreTransaction,
    StoreTransactionRequest, lock_unended, settle_unsent,
};
use crate::shared::{Amount, AttemptId, SessionId, StorageError, Timestamp};
use crate::storage::UnitOfWork;

/// Attempts before giving up when other units of work change the session.
pub(super) const MAX_TRIES: u32 = 8;

/// The result of one step. After [`Step::Raced`] the caller must drop the unit of work.
pub(super) enum Step {
    Nothing,
    Completed,
    /// A charge was inserted; the caller sends it after the commit.
    Charge(AttemptId),
    Raced,
}

/// Takes the next step that a session is ready for. Idempotent, and safe to run concurrently.
#[tracing::instrument(skip_all, fields(session = %id))]
pub async fn advance(ctx: &Context, id: &SessionId) -> Result<(), SettlementError> {
    for _ in 0..MAX_TRIES {
        match try_advance(ctx, id).await {
            Err(SettlementError::Contended) => {}
            Ok(Some(attempt)) => return settle_unsent(ctx, &attempt).await,
            completed => return completed.map(drop),
        }
    }
    Err(SettlementError::Contended)
}

/// Returns the charge to send, if any.
async fn try_advance(ctx: &Context, id: &SessionId) -> Result<Option<AttemptId>, SettlementError> {
    let now = ctx.now();
    let mut unit = ctx.store.begin().await?;
    let session = unit.sessions().find(id).await?.ok_or(SettlementError::Orphan)?;
    let charge = match step(ctx, unit.as_mut(), session, None, now).await? {
        Step::Nothing => return Ok(None),
        Step::Raced => return Err(SettlementError::Contended),
        Step::Completed => None,
        Step::Charge(attempt) => Some(attempt),
    };
    unit.commit().await?;
    Ok(charge)
}

/// Takes one step, in the unit of work that made the session ready for it, so that a crash cannot leave the session waiting.
/// `connect_token`: the connect session whose wallet waits for the charge.
pub(super) async fn step(
    ctx: &Context,
    unit: &mut dyn UnitOfWork,
    session: Session,
    connect_token: Option<&str>,
    now: Timestamp,
) -> Result<Step, SettlementError> {
    if session.kind == SessionMode::Payment
        || session.status != SessionStatus::Open
        || lacks_stake(stake_of(unit, &session).await?.as_ref())
    {
        return Ok(Step::Nothing);
    }
    let (Some(method), Some(mandate), Some(intent)) = (&session.method_id, &session.mandate_id, &session.intent_id) else {
        return Ok(Step::Nothing);
    };
    let Some(mandate) = unit.mandates().find(mandate).await?.filter(|one| one.status == MandateStatus::Active) else {
        return Ok(Step::Nothing);
    };
    let intent = unit.intents().find(intent).await?.ok_or(SettlementError::Orphan)?;
    if mandate.method_id != *method || intent.method_id != *method || intent.amount != session.amount_total {
        return Ok(Step::Nothing);
    }
    if intent.amount.is_zero() {
        let completed = complete(ctx, unit, session, PaidBy::Nothing, now).await?;
        return Ok(if completed { Step::Completed } else { Step::Raced });
    }
    match mandate.details {
        Some(MandateDetails::Delegation { payer, .. }) => {
            charge(ctx, unit, session, ChargeOf { intent: &intent, payer: &payer, connect_token }, now).await
        }
        // A card pays through its form, and that payment completes the session.
        _ => Ok(Step::Nothing),
    }
}

/// A charge of the amount due now.
pub(super) struct ChargeOf<'a> {
    pub intent: &'a Intent,
    pub payer: &'a Did,
    /// The connect session whose wallet waits for it.
    pub connect_token: Option<&'a str>,
}

/// Inserts a charge of the amount due now on the payer's mandate, unless a payment is in flight. Updates the session first, so that its
/// version guards the attempt against concurrent expiry and changes.
pub(super) async fn charge(
    ctx: &Context,
    unit: &mut dyn UnitOfWork,
    session: Session,
    of: ChargeOf<'_>,
    now: Timestamp,
) -> Result<Step, SettlementError> {
    let ChargeOf { intent, payer, connect_token } = of;
    if unit.attempts().open_of_intent(&intent.id).await?.is_some() {
        return Ok(Step::Nothing);
    }
    let method = unit.methods().find(&intent.method_id).await?.ok_or(SettlementError::Orphan)?;
    let currency = unit.methods().find_currency(&intent.currency_id).await?.ok_or(SettlementError::Orphan)?;
    let transaction = StoreTransaction::Pull { payer: payer.clone() };
    let purpose = Purpose::Payment(intent.id.clone());
    let Some(attempt) = store_attempt(ctx, &session, &ChosenMethod { method, currency }, transaction, purpose, intent.amount, now)? else {
        return Ok(Step::Nothing);
    };
    let touched = Session { updated_at: now, ..session };
    if !unit.sessions().update(&touched).await? {
        return Ok(Step::Raced);
    }
    let planned = planned_for(unit, intent).await?;
    let attempt = match connect_token {
        // After the end of its connect session, the page shows the result.
        Some(token) if lock_unended(unit, token).await? => Attempt { connect_token: Some(token.to_owned()), ..attempt },
        _ => attempt,
    };
    match unit.attempts().insert(&attempt, &planned).await {
        Ok(()) => Ok(Step::Charge(attempt.id)),
        Err(StorageError::Duplicate(_)) => Ok(Step::Raced),
        Err(error) => Err(error.into()),
    }
}

/// The invoices that a payment of the session's intent covers: the full total of each draft. Drafts of zero need no payment.
pub(super) async fn planned_for(unit: &mut dyn UnitOfWork, intent: &Intent) -> Result<Vec<PlannedPayment>, StorageError> {
    if intent.amount.is_zero() {
        return Ok(Vec::new());
    }
    Ok(plan_payments(&unit.invoices().find_all(&intent.invoices).await?))
}

/// Builds an attempt with a transaction that is signed by the store's own key. `None`: no rail supports the method.
fn store_attempt(
    ctx: &Context,
    session: &Session,
    chosen: &ChosenMethod,
    transaction: StoreTransaction,
    purpose: Purpose,
    amount: Amount,
    now: Timestamp,
) -> Result<Option<Attempt>, SettlementError> {
    let ChosenMethod { method, currency } = chosen;
    let Some(rail) = ctx.networks.wallet(method.kind) else { return Ok(None) };
    let (StoreTransaction::Pull { payer }
    | StoreTransaction::Payout { to: payer }
    | StoreTransaction::ReturnStake { payer, .. }
    | StoreTransaction::Slash { payer, .. }) = &transaction;
    let payer = payer.clone();
    // Random bits keep it different from the nonces of other transactions at the same time: an account's next transaction must have another
    // nonce than its last one.
    let nonce = u64::try_from(now.micros()).unwrap_or_default() + u64::from(u16::from_be_bytes(ctx.random.bytes()));
    let request = StoreTransactionRequest { transaction, amount, reference: session.id.to_string(), period: None, nonce };
    let signed = rail.sign(method, currency, &request)?;
    Ok(Some(Attempt {
        session_id: Some(session.id.clone()),
        ..Attempt::begin(
            AttemptId::new(now, ctx.random.as_ref()),
            purpose,
            AttemptKind::Wallet { payer, bytes: signed.bytes, hash: signed.hash },
            MethodAmount { method_id: method.id.clone(), currency_id: currency.id.clone(), amount },
            now,
        )
    }))
}
