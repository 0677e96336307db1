//! Paying without the wallet: from the customer's balance, or by a mandate that the wallet gave earlier.

use super::advance::{Step, charge, step};
use super::complete::{PaidBy, complete};
use super::stake::lacks_stake;
use super::transfer::{Payable, TransferError, payable, payable_of};
use super::wallet_authorization::sufficient;
use super::{Expanded, Session, SessionMode};
use crate::access::Did;
use crate::billing::balance_of;
use crate::context::Context;
use crate::payment::{AttemptStatus, MandateDetails, SettlementError, settle_first};
use crate::shared::{Amount, MandateId, SessionId, StorageError};
use crate::storage::UnitOfWork;

/// How often a confirmation that lost a race begins again.
const TRIES: u32 = 4;

/// Whether a submitted session could be paid without the wallet.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct FastPay {
    /// The customer's balance with the store, or the payer's account, holds what is due now.
    pub balance: bool,
    /// A mandate of the payer permits the charge.
    pub delegation: bool,
    /// The customer's balance with the store pays everything.
    pub credit: bool,
    /// `None`: something is still to be signed.
    pub offer: Option<FastOffer>,
}

/// What would be paid, by whom, and by what means.
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
        Self::ALL.into_iter().find(|means| means.name() == name)
    }
}

/// What a customer agreed to, as it was offered.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FastConsent {
    pub by: FastPaySource,
    pub amount: Amount,
}

/// Asks the network, unless the customer has never given a mandate.
///
/// # Errors
/// Those of a session that cannot be paid now.
pub async fn fast_pay(ctx: &Context, submitted: &Expanded, payer: &Did) -> Result<FastPay, TransferError> {
    let payable = payable_of(ctx, submitted, payer)?;
    let mut unit = ctx.store.read().await?;
    let given = unit.mandates().active_of(&payable.intent.customer_id, &payable.method.id).await?;
    let credit = has_credit(unit.as_mut(), &payable).await?;
    drop(unit);
    let delegation = !given.is_empty() && sufficient(ctx, &payable).await?.is_some();
    // Later periods are charged by a permission, whatever pays the first.
    let by_credit = credit && (delegation || payable.session.kind == SessionMode::Payment);
    let balance = credit || (!given.is_empty() && holds(ctx, &payable, payer).await?);
    let by = match (by_credit, delegation && balance) {
        (true, _) => Some(FastPaySource::Credit),
        (false, true) => Some(FastPaySource::Delegation),
        (false, false) => None,
    };
    let by = by.filter(|_| !lacks_stake(payable.stake.as_ref()));
    Ok(FastPay { balance, delegation, credit, offer: by.map(|by| FastOffer { by, amount: payable.intent.amount, payer: payer.clone() }) })
}

async fn holds(ctx: &Context, payable: &Payable, payer: &Did) -> Result<bool, TransferError> {
    let rail = ctx.networks.wallet(payable.method.kind).ok_or(TransferError::MethodNotSupported)?;
    Ok(rail.balance(&payable.method, &payable.currency, payer).await? >= payable.intent.amount)
}

/// Whether the customer's balance in the order's currency pays all of it.
async fn has_credit(unit: &mut dyn UnitOfWork, payable: &Payable) -> Result<bool, StorageError> {
    if payable.method.kind.is_card() || payable.intent.amount.is_zero() {
        return Ok(false);
    }
    Ok(balance_of(unit, &payable.intent.customer_id, &payable.currency.id).await? >= payable.intent.amount)
}

/// Pays from the balance if it pays everything, else by the mandate. With `agreed`, by no other means and no other amount.
/// False: neither was possible, and the wallet is to be asked.
///
/// # Errors
/// [`TransferError::OtherPayer`] when mandates were given by other wallets only.
#[tracing::instrument(skip_all, fields(session = %id))]
pub async fn pay_fast(ctx: &Context, id: &SessionId, payer: &Did, agreed: Option<FastConsent>) -> Result<bool, TransferError> {
    for _ in 0..TRIES {
        let mut unit = ctx.store.read().await?;
        let payable = match payable(ctx, unit.as_mut(), id, payer).await {
            Err(TransferError::Complete) => return Ok(true),
            payable => payable?,
        };
        let given = unit.mandates().active_of(&payable.intent.customer_id, &payable.method.id).await?;
        let credit = has_credit(unit.as_mut(), &payable).await?;
        drop(unit);
        let is_payment = payable.session.kind == SessionMode::Payment;
        let is_own =
            |details: &Option<MandateDetails>| matches!(details, Some(MandateDetails::Delegation { payer: who, .. }) if who == payer);
        let needs_mandate = !(credit && is_payment);
        if needs_mandate && !given.is_empty() && !given.iter().any(|mandate| is_own(&mandate.details)) {
            return Err(TransferError::OtherPayer);
        }
        if lacks_stake(payable.stake.as_ref()) {
            return Ok(false);
        }
        let mandate = if needs_mandate { sufficient(ctx, &payable).await? } else { None };
        let amount = payable.intent.amount;
        let is_agreed = |by: FastPaySource| agreed.is_none_or(|agreed| agreed == FastConsent { by, amount });
        let done = match (credit, mandate) {
            (true, mandate) if (!needs_mandate || mandate.is_some()) && is_agreed(FastPaySource::Credit) => {
                pay_from_balance(ctx, payable, mandate, payer).await
            }
            (false, Some(mandate)) if is_agreed(FastPaySource::Delegation) && holds(ctx, &payable, payer).await? => {
                write_down(ctx, payable, mandate, payer).await
            }
            // Another confirmation may have paid this very order from the balance between the reads.
            _ => return is_complete(ctx, id).await,
        };
        match done {
            Ok(Step::Completed) => return Ok(true),
            Ok(Step::Charge(attempt)) => {
                let _ = settle_first(ctx, &attempt).await;
                let mut unit = ctx.store.read().await?;
                let found = unit.attempts().find(&attempt).await?;
                return Ok(found.is_some_and(|attempt| attempt.status != AttemptStatus::Declined));
            }
            // A payment is on its way already: the page polls for it.
            Ok(Step::Nothing) => return Ok(true),
            // Somebody was faster: read again.
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
    // An attempt that begins from here on changes the session's version, which this unit of work compares.
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
        Err(SettlementError::Storage(error)) => return Err(error.into()),
        Err(_) => return Err(TransferError::Changed),
    };
    if matches!(done, Step::Completed | Step::Charge(_)) {
        unit.commit().await?;
    }
    Ok(done)
}
