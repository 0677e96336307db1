//! Paying without the wallet: by credit with the store, or by a permission that the wallet gave earlier.

use super::complete::{PaidBy, complete};
use super::consent::sufficient;
use super::proceed::{Step, charge, step};
use super::transfer::{Payable, TransferError, payable, payable_of};
use super::{Expanded, Session, SessionMode};
use crate::access::Did;
use crate::billing::{BillingError, Credit, CreditFor, Invoice, applied_line, take_credit};
use crate::context::Context;
use crate::payment::{AttemptStatus, MandateDetails, SettlementError, settle_first};
use crate::shared::{Amount, MandateId, SessionId, StorageError};
use crate::storage::UnitOfWork;

/// How often a confirmation that lost a race begins again.
const TRIES: u32 = 4;

/// Whether a submitted session could be paid without the wallet.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct FastPay {
    /// What is due now is there: at the store as credit, or on the payer's account.
    pub balance: bool,
    /// A permission of the payer allows it.
    pub delegation: bool,
    /// The customer's credit is enough.
    pub credit: bool,
    /// Nothing else is to be signed.
    pub offer: Option<FastOffer>,
}

/// What would be paid, by whom, and from where.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FastOffer {
    pub by: FastMeans,
    pub amount: Amount,
    pub payer: Did,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FastMeans {
    Credit,
    Delegation,
}

impl FastMeans {
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
    pub by: FastMeans,
    pub amount: Amount,
}

/// Asks the network. Nothing is asked where no permission was ever given.
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
        (true, _) => Some(FastMeans::Credit),
        (false, true) => Some(FastMeans::Delegation),
        (false, false) => None,
    };
    let by = by.filter(|_| !payable.session.lacks_deposit());
    Ok(FastPay { balance, delegation, credit, offer: by.map(|by| FastOffer { by, amount: payable.intent.amount, payer: payer.clone() }) })
}

async fn holds(ctx: &Context, payable: &Payable, payer: &Did) -> Result<bool, TransferError> {
    let rail = ctx.networks.wallet(payable.method.kind).ok_or(TransferError::MethodNotSupported)?;
    Ok(rail.balance(&payable.method, &payable.currency, payer).await? >= payable.intent.amount)
}

/// Whether the customer's credit in the order's currency pays all of it.
async fn has_credit(unit: &mut dyn UnitOfWork, payable: &Payable) -> Result<bool, StorageError> {
    if payable.method.kind.is_card() || payable.intent.amount.is_zero() {
        return Ok(false);
    }
    let held = unit.credits().of_all(std::slice::from_ref(&payable.intent.customer_id)).await?;
    Ok(held.iter().any(|credit| credit.currency_id == payable.currency.id && credit.amount >= payable.intent.amount))
}

/// Pays by credit where it is enough, else by the permission; by nothing else, and no other amount, than what was agreed to, where that is
/// told. False: neither was possible, and the wallet is to be asked.
///
/// # Errors
/// [`TransferError::OtherPayer`] when permissions were given by other wallets only.
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
        let is_own = |grant: &Option<MandateDetails>| matches!(grant, Some(MandateDetails::Delegation { payer: who, .. }) if who == payer);
        let needs_mandate = !(credit && is_payment);
        if needs_mandate && !given.is_empty() && !given.iter().any(|mandate| is_own(&mandate.grant)) {
            return Err(TransferError::OtherPayer);
        }
        if payable.session.lacks_deposit() {
            return Ok(false);
        }
        let mandate = if needs_mandate { sufficient(ctx, &payable).await? } else { None };
        let amount = payable.intent.amount;
        let is_agreed = |by: FastMeans| agreed.is_none_or(|agreed| agreed == FastConsent { by, amount });
        let done = match (credit, mandate) {
            (true, mandate) if (!needs_mandate || mandate.is_some()) && is_agreed(FastMeans::Credit) => {
                write_credit(ctx, payable, mandate, payer).await
            }
            (false, Some(mandate)) if is_agreed(FastMeans::Delegation) && holds(ctx, &payable, payer).await? => {
                write_down(ctx, payable, mandate, payer).await
            }
            // Another confirmation may have taken the credit for this very order between the looks.
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
            // Somebody was faster: what is there now is looked at.
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

/// Takes the credit, and completes the session with it. Rows are taken in the order of settlement: intent, invoices, session.
async fn write_credit(ctx: &Context, payable: Payable, mandate: Option<MandateId>, payer: &Did) -> Result<Step, TransferError> {
    let now = ctx.now();
    let Payable { session, method, currency, intent } = payable;
    let mut unit = ctx.store.begin().await?;
    if !unit.intents().succeed(&intent.id, Amount::ZERO, "", payer.as_str(), now).await? {
        return Ok(Step::Raced);
    }
    // One that is open was written down before; one that begins from here on finds the session changed.
    if unit.attempts().open_of_intent(&intent.id).await?.is_some() {
        return Ok(Step::Nothing);
    }
    let drafts = unit.invoices().find_all(&intent.invoices).await?;
    for draft in drafts.into_iter().filter(|draft| !draft.total.is_zero()) {
        let mut lines = unit.invoices().items(&draft.id).await?;
        lines.push(applied_line(ctx, &draft.id, draft.total, now));
        unit.invoices().put_draft(&Invoice { total: Amount::ZERO, updated_at: now, ..draft }, &lines).await?;
    }
    let credit = Credit { customer_id: intent.customer_id.clone(), currency_id: currency.id, amount: intent.amount };
    let what = CreditFor { subject: intent.id.as_str(), mode: session.mode, method: &method.id, at: now };
    match take_credit(ctx, unit.as_mut(), &credit, what).await {
        Ok(true) => {}
        // Somebody was faster, and it is not enough any more.
        Ok(false) => return Ok(Step::Raced),
        Err(BillingError::Storage(error)) => return Err(error.into()),
        Err(_) => return Err(TransferError::Changed),
    }
    let session = Session { mandate_id: mandate.or(session.mandate_id.clone()), ..session };
    match complete(ctx, unit.as_mut(), session, PaidBy::Credit, now).await {
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
