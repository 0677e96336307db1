//! Pays without a wallet signature: from the customer's balance, or by a mandate that the wallet granted earlier.

use super::advance::{ChargeOf, Step, charge, step};
use super::complete::{PaidBy, complete};
use super::stake::lacks_stake;
use super::transfer::{Payable, TransferError, payable, payable_of};
use super::wallet_authorization::sufficient;
use super::{Expanded, Session, SessionMode};
use crate::access::Did;
use crate::billing::balance_of;
use crate::context::Context;
use crate::payment::{AttemptStatus, MandateDetails, SettlementError, settle_unsent};
use crate::shared::{Amount, MandateId, SessionId, StorageError};
use crate::storage::UnitOfWork;

/// Attempts before giving up when other units of work change the session.
const MAX_TRIES: u32 = 4;

/// Whether a submitted session can be paid without a wallet signature.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct FastPay {
    /// The customer's balance with the store, or the payer's account, covers the amount due now.
    pub balance: bool,
    /// A mandate of the payer allows the charge.
    pub delegation: bool,
    /// The customer's balance with the store covers everything.
    pub credit: bool,
    /// `None`: the wallet still has to sign something.
    pub offer: Option<FastOffer>,
}

/// The amount, its payer and its source.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FastOffer {
    pub by: FastPaySource,
    pub amount: Amount,
    pub payer: Did,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FastPaySource {
    /// The customer's balance with the store.
    Credit,
    Delegation,
}

impl FastPaySource {
    pub const ALL: [Self; 2] = [Self::Credit, Self::Delegation];

    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Credit => "credit",
            Self::Delegation => "delegation",
        }
    }

    #[must_use]
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|source| source.name() == name)
    }
}

/// The offer that a customer agreed to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FastConsent {
    pub by: FastPaySource,
    pub amount: Amount,
}

/// Checks whether a submitted session can be paid without a wallet signature. Queries the network, unless the customer has no active
/// mandate.
///
/// # Errors
/// [`TransferError`] when the session cannot be paid now.
#[tracing::instrument(skip_all)]
pub async fn fast_pay(ctx: &Context, submitted: &Expanded, payer: &Did) -> Result<FastPay, TransferError> {
    let payable = payable_of(ctx, submitted, payer)?;
    let mut unit = ctx.store.read().await?;
    let mandates = unit.mandates().active_of(&payable.intent.customer_id, &payable.method.id).await?;
    let credit = has_credit(unit.as_mut(), &payable).await?;
    drop(unit);
    let delegation = !mandates.is_empty() && sufficient(ctx, &payable).await?.is_some();
    // Later periods are charged by a mandate, whatever pays the first one.
    let by_credit = credit && (delegation || payable.session.kind == SessionMode::Payment);
    let balance = credit || (!mandates.is_empty() && account_covers(ctx, &payable, payer).await?);
    let by = match (by_credit, delegation && balance) {
        (true, _) => Some(FastPaySource::Credit),
        (false, true) => Some(FastPaySource::Delegation),
        (false, false) => None,
    };
    let by = by.filter(|_| !lacks_stake(payable.stake.as_ref()));
    Ok(FastPay { balance, delegation, credit, offer: by.map(|by| FastOffer { by, amount: payable.intent.amount, payer: payer.clone() }) })
}

async fn account_covers(ctx: &Context, payable: &Payable, payer: &Did) -> Result<bool, TransferError> {
    let rail = ctx.networks.wallet(payable.method.kind).ok_or(TransferError::MethodNotSupported)?;
    Ok(rail.balance(&payable.method, &payable.currency, payer).await? >= payable.intent.amount)
}

/// Whether the customer's balance in the order's currency covers all of it.
async fn has_credit(unit: &mut dyn UnitOfWork, payable: &Payable) -> Result<bool, StorageError> {
    if payable.method.kind.is_card() || payable.intent.amount.is_zero() {
        return Ok(false);
    }
    Ok(balance_of(unit, &payable.intent.customer_id, &payable.currency.id).await? >= payable.intent.amount)
}

/// Pays from the balance if it covers everything, else by the mandate. With `agreed`, pays only from that source and that amount. False:
/// neither was possible, and the wallet has to sign.
///
/// # Errors
/// [`TransferError::OtherPayer`] when only other wallets have granted mandates.
#[tracing::instrument(skip_all, fields(session = %id))]
pub async fn pay_fast(ctx: &Context, id: &SessionId, payer: &Did, agreed: Option<FastConsent>) -> Result<bool, TransferError> {
    for _ in 0..MAX_TRIES {
        let mut unit = ctx.store.read().await?;
        let payable = match payable(ctx, unit.as_mut(), id, payer).await {
            Err(TransferError::Complete) => return Ok(true),
            payable => payable?,
        };
        let mandates = unit.mandates().active_of(&payable.intent.customer_id, &payable.method.id).await?;
        let credit = has_credit(unit.as_mut(), &payable).await?;
        drop(unit);
        let is_payment = payable.session.kind == SessionMode::Payment;
        let is_of_payer =
            |details: &Option<MandateDetails>| matches!(details, Some(MandateDetails::Delegation { payer: who, .. }) if who == payer);
        let needs_mandate = !(credit && is_payment);
        if needs_mandate && !mandates.is_empty() && !mandates.iter().any(|mandate| is_of_payer(&mandate.details)) {
            return Err(TransferError::OtherPayer);
        }
        if lacks_stake(payable.stake.as_ref()) {
            return Ok(false);
        }
        let mandate = if needs_mandate { sufficient(ctx, &payable).await? } else { None };
        let amount = payable.intent.amount;
        let is_agreed = |by: FastPaySource| agreed.is_none_or(|agreed| agreed == FastConsent { by, amount });
        let result = match (credit, mandate) {
            (true, mandate) if (!needs_mandate || mandate.is_some()) && is_agreed(FastPaySource::Credit) => {
                pay_from_balance(ctx, payable, mandate, payer).await
            }
            (false, Some(mandate)) if is_agreed(FastPaySource::Delegation) && account_covers(ctx, &payable, payer).await? => {
                charge_mandate(ctx, payable, mandate, payer).await
            }
            // A concurrent confirmation may have paid this order from the balance between the reads.
            _ => return is_complete(ctx, id).await,
        };
        match result {
            Ok(Step::Completed) => return Ok(true),
            Ok(Step::Charge(attempt)) => {
                if let Err(error) = settle_unsent(ctx, &attempt).await {
                    tracing::warn!(%attempt, %error, "the attempt stays with the reconciler");
                }
                let mut unit = ctx.store.read().await?;
                let found = unit.attempts().find(&attempt).await?;
                return Ok(found.is_some_and(|attempt| attempt.status != AttemptStatus::Declined));
            }
            // A payment is in flight already; the page polls for it.
            Ok(Step::Nothing) => return Ok(true),
            // The session was changed meanwhile: read it again.
            Ok(Step::Raced) | Err(TransferError::Changed) => {}
            Err(error) => return Err(error),
        }
    }
    Err(TransferError::Changed)
}

async fn is_complete(ctx: &Context, id: &SessionId) -> Result<bool, TransferError> {
    let session = ctx.store.read().await?.sessions().find(id).await?;
    Ok(session.is_some_and(|session| session.is_complete()))
}

/// Completes the session and pays its invoices from the balance, in one unit of work.
async fn pay_from_balance(ctx: &Context, payable: Payable, mandate: Option<MandateId>, payer: &Did) -> Result<Step, TransferError> {
    let now = ctx.now();
    let Payable { session, intent, .. } = payable;
    let mut unit = ctx.store.begin().await?;
    // An attempt that begins after this check changes the session's version, and `complete` then fails.
    if unit.attempts().open_of_intent(&intent.id).await?.is_some() {
        return Ok(Step::Nothing);
    }
    let session = Session { mandate_id: mandate.or(session.mandate_id.clone()), ..session };
    match complete(ctx, unit.as_mut(), session, PaidBy::Balance { payer }, now).await {
        Ok(true) => {
            unit.commit().await?;
            Ok(Step::Completed)
        }
        Ok(false) => Ok(Step::Raced),
        Err(SettlementError::Storage(error)) => Err(error.into()),
        Err(_) => Err(TransferError::Changed),
    }
}

async fn charge_mandate(ctx: &Context, payable: Payable, mandate: MandateId, payer: &Did) -> Result<Step, TransferError> {
    let now = ctx.now();
    let mut unit = ctx.store.begin().await?;
    let result = match payable.session.kind {
        SessionMode::Payment => {
            let of = ChargeOf { intent: &payable.intent, payer, connect_token: None };
            charge(ctx, unit.as_mut(), payable.session, of, now).await
        }
        SessionMode::Subscription | SessionMode::Setup => {
            let mut session = Session { mandate_id: Some(mandate), updated_at: now, ..payable.session };
            if !unit.sessions().update(&session).await? {
                return Ok(Step::Raced);
            }
            session.version += 1;
            step(ctx, unit.as_mut(), session, None, now).await
        }
    };
    let result = match result {
        Ok(result) => result,
        Err(SettlementError::Storage(error)) => return Err(error.into()),
        Err(_) => return Err(TransferError::Changed),
    };
    if matches!(result, Step::Completed | Step::Charge(_)) {
        unit.commit().await?;
    }
    Ok(result)
}
