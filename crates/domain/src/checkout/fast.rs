//! Paying without the wallet, by a permission that it gave earlier.

use super::consent::sufficient;
use super::proceed::{Step, charge, step};
use super::settle::{SettleError, settle_first};
use super::transfer::{Payable, TransferError, payable};
use super::{Session, SessionMode};
use crate::access::Did;
use crate::context::Context;
use crate::payment::{AttemptStatus, Grant};
use crate::shared::{Amount, MandateId, SessionId};

/// How often a confirmation that lost a race begins again.
const TRIES: u32 = 4;

/// Whether a submitted session could be paid without the wallet.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct FastPay {
    /// The payer's account holds what is due now.
    pub balance: bool,
    /// A permission of the payer allows it.
    pub delegation: bool,
    /// Both are so, and nothing else is to be signed: what would be paid by whom.
    pub offer: Option<(Amount, Did)>,
}

/// Asks the network. Nothing is asked where no permission was ever given.
pub async fn fast_pay(ctx: &Context, id: &SessionId, payer: &Did) -> Result<FastPay, TransferError> {
    let mut unit = ctx.store.read().await?;
    let payable = payable(ctx, unit.as_mut(), id, payer).await?;
    let given = unit.mandates().active_of(&payable.intent.customer_id, &payable.method.id).await?;
    drop(unit);
    if given.is_empty() {
        return Ok(FastPay::default());
    }
    let delegation = sufficient(ctx, &payable).await?.is_some();
    let balance = holds(ctx, &payable, payer).await?;
    let complete = delegation && balance && !payable.session.lacks_deposit();
    let offer = complete.then(|| (payable.intent.amount, payer.clone()));
    Ok(FastPay { balance, delegation, offer })
}

async fn holds(ctx: &Context, payable: &Payable, payer: &Did) -> Result<bool, TransferError> {
    let rail = ctx.networks.wallet(payable.method.kind).ok_or(TransferError::MethodNotSupported)?;
    Ok(rail.balance(&payable.method, &payable.currency, payer).await? >= payable.intent.amount)
}

/// Pays by the permission. False: it was not possible, and the wallet is to be asked.
///
/// # Errors
/// [`TransferError::OtherPayer`] when permissions were given by other wallets only.
pub async fn pay_fast(ctx: &Context, id: &SessionId, payer: &Did) -> Result<bool, TransferError> {
    for _ in 0..TRIES {
        let mut unit = ctx.store.read().await?;
        let payable = match payable(ctx, unit.as_mut(), id, payer).await {
            Err(TransferError::Complete) => return Ok(true),
            payable => payable?,
        };
        let given = unit.mandates().active_of(&payable.intent.customer_id, &payable.method.id).await?;
        drop(unit);
        let is_own = |grant: &Option<Grant>| matches!(grant, Some(Grant::Delegation { payer: who, .. }) if who == payer);
        if !given.is_empty() && !given.iter().any(|mandate| is_own(&mandate.grant)) {
            return Err(TransferError::OtherPayer);
        }
        if payable.session.lacks_deposit() || !holds(ctx, &payable, payer).await? {
            return Ok(false);
        }
        let Some(mandate) = sufficient(ctx, &payable).await? else { return Ok(false) };
        match write_down(ctx, payable, mandate, payer).await? {
            Step::Completed => return Ok(true),
            Step::Charge(attempt) => {
                let _ = settle_first(ctx, &attempt).await;
                let mut unit = ctx.store.read().await?;
                let found = unit.attempts().find(&attempt).await?;
                return Ok(found.is_some_and(|attempt| attempt.status != AttemptStatus::Refused));
            }
            // A payment is on its way already: the page polls for it.
            Step::Nothing => return Ok(true),
            Step::Raced => {}
        }
    }
    Err(TransferError::Changed)
}

async fn write_down(ctx: &Context, payable: Payable, mandate: MandateId, payer: &Did) -> Result<Step, TransferError> {
    let now = ctx.now();
    let mut unit = ctx.store.begin().await?;
    let done = match payable.session.kind {
        SessionMode::Payment => charge(ctx, unit.as_mut(), payable.session, &payable.intent, payer, now).await,
        SessionMode::Subscription | SessionMode::Setup => {
            let mut session = Session { mandate_id: Some(mandate), updated_at: now, ..payable.session };
            if !unit.sessions().update(&session).await? {
                return Ok(Step::Raced);
            }
            session.version += 1;
            step(ctx, unit.as_mut(), session, now).await
        }
    };
    let done = match done {
        Ok(done) => done,
        Err(SettleError::Storage(error)) => return Err(error.into()),
        Err(_) => return Err(TransferError::Changed),
    };
    if matches!(done, Step::Completed | Step::Charge(_)) {
        unit.commit().await?;
    }
    Ok(done)
}
