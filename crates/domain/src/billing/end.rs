//! The end of a subscription, and what becomes of its deposit.

use super::bill::{Bill, issue};
use super::book::Book;
use super::invoice::plan_payments;
use super::renew::{Lines, lines, nonces};
use super::statement::{Statement, record_statement};
use super::usage_correction::UsageCorrections;
use super::{
    BillingError, BillingReason, Calculation, CancelReason, Cancellation, Change, ClockEvent, Happening, Invoice, InvoiceStatus,
    Notification, Period, STAKE_WAITING, Stake, StakeStatus, Subscription, SubscriptionItem, line, notify,
};
use crate::context::Context;
use crate::payment::{Attempt, AttemptKind, PlannedPayment, Purpose, StoreTransaction, StoreTransactionRequest};
use crate::shared::{Amount, AmountError, AttemptId, InvoiceId, StorageError, SubscriptionItemId, Timestamp};
use crate::storage::UnitOfWork;
use std::collections::HashMap;
use std::time::Duration;

/// When it is looked again whether a payment that is on its way has arrived: nobody is given up meanwhile, and the deposit stays.
/// What arrives, or is refused, is acted upon at once.
pub(super) const PATIENCE: Duration = Duration::from_secs(6 * 3_600);

pub(super) struct Ended {
    pub attempts: Vec<AttemptId>,
    pub event: ClockEvent,
}

/// Ends a subscription: what was used and not yet billed is billed, nothing is tried again, and the deposit pays what is owed
/// or waits to go back.
#[expect(clippy::too_many_arguments, reason = "each is one thing that the round has at hand")]
pub(super) async fn write(
    ctx: &Context,
    unit: &mut dyn UnitOfWork,
    book: &mut Book,
    used: &HashMap<SubscriptionItemId, u64>,
    before: Subscription,
    reason: CancelReason,
    nonce: u64,
    now: Timestamp,
) -> Result<Ended, BillingError> {
    let mut attempts = Vec::new();
    let mut subscription = before;
    subscription.status = subscription.status.after(Change::End).unwrap_or(subscription.status);
    subscription.ended_at = Some(now);
    subscription.canceled_at = subscription.canceled_at.or(Some(now));
    subscription.updated_at = now;
    subscription.cancellation = Some(match subscription.cancellation.take() {
        // What somebody had asked for is not why it ends.
        Some(asked) if reason == CancelReason::PaymentFailed => Cancellation { reason, ..asked },
        Some(asked) => asked,
        None => Cancellation { reason, feedback: None, comment: String::new(), requested_at: now, taken_back_by: None },
    });
    attempts.extend(bill_usage(ctx, unit, book, used, &mut subscription, nonce, now).await?);
    unit.invoices().stop_retries(&subscription.id, now).await?;
    let there = |stake: &Stake| matches!(stake.status, StakeStatus::Held | StakeStatus::Revoked);
    if let Some(mut stake) = subscription.stake.clone().filter(there) {
        let owed = owed_for(unit, &subscription).await?;
        let taken = match reason {
            // The network pays out what its wallet revoked, and nothing that is owed waits for that.
            _ if reason == CancelReason::PaymentFailed || stake.status == StakeStatus::Revoked => {
                move_stake(ctx, unit, book, &subscription, StakeMove::slash(owed.sum()?.min(stake.amount), &owed), nonce).await?
            }
            _ => None,
        };
        match &taken {
            Some(_) => stake.status = StakeStatus::Slashing,
            None if stake.status == StakeStatus::Held => {
                (stake.status, stake.return_at) = (StakeStatus::Waiting, Some(now.plus(STAKE_WAITING)))
            }
            // More may be owed by what is on its way: it is looked at until it is paid out.
            None => stake.return_at = Some(now),
        }
        attempts.extend(taken);
        subscription.stake = Some(stake);
    }
    if !unit.subscriptions().update(&subscription).await? {
        return Err(BillingError::Contended);
    }
    notify(ctx, unit, &Notification::Ended(subscription.id.clone()), ctx.now()).await?;
    Ok(Ended { attempts, event: ClockEvent { at: now, what: Happening::Canceled, subject: subscription.id.to_string() } })
}

/// What is owed for a subscription.
pub(super) struct Owed {
    /// In the currency of its stake, oldest first, with what remains of each. Nobody is paying these just now: a charge on its way may
    /// settle still, and must not be collected from the deposit as well.
    pub invoices: Vec<PlannedPayment>,
    /// A payment of something is on its way: whether more is owed will be seen.
    pub is_moving: bool,
    /// The stake secures another subscription that has not ended.
    pub may_grow: bool,
}

/// What happens to a deposit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum StakeTransaction {
    Placed,
    Returned,
    Forfeited,
}

/// What is done with a deposit.
pub(super) struct StakeMove {
    transaction: StakeTransaction,
    amount: Amount,
    /// The invoices that it pays: nobody else collects them meanwhile.
    planned: Vec<PlannedPayment>,
}

impl StakeMove {
    pub const fn back(amount: Amount) -> Self {
        Self { transaction: StakeTransaction::Returned, amount, planned: Vec::new() }
    }

    pub fn slash(amount: Amount, owed: &Owed) -> Self {
        Self { transaction: StakeTransaction::Forfeited, amount, planned: owed.paid_by(amount) }
    }
}

impl Owed {
    pub fn sum(&self) -> Result<Amount, AmountError> {
        Amount::sum(self.invoices.iter().map(|planned| planned.amount))
    }

    /// What an amount pays, oldest first, the last invoice perhaps in part only.
    fn paid_by(&self, amount: Amount) -> Vec<PlannedPayment> {
        let mut left = amount;
        let mut paid = Vec::new();
        for planned in &self.invoices {
            let part = planned.amount.min(left);
            if part.is_zero() {
                break;
            }
            left = left.minus(part).unwrap_or_default();
            paid.push(PlannedPayment { invoice_id: planned.invoice_id.clone(), amount: part });
        }
        paid
    }
}

/// What a subscription owes, and the ended ones that its stake secures beside it.
pub(super) async fn owed_for(unit: &mut dyn UnitOfWork, subscription: &Subscription) -> Result<Owed, BillingError> {
    let others = secured_beside(unit, subscription).await?;
    let own = std::iter::once(subscription);
    let (ended, may_grow): (Vec<_>, _) =
        (others.iter().filter(|other| other.ended_at.is_some()).collect(), others.iter().any(|other| other.ended_at.is_none()));
    owed_by(unit, subscription, own.chain(ended), may_grow).await
}

/// What the ended ones owe that a running subscription's stake secures beside it.
pub(super) async fn owed_beside(unit: &mut dyn UnitOfWork, subscription: &Subscription) -> Result<Owed, BillingError> {
    let others = secured_beside(unit, subscription).await?;
    owed_by(unit, subscription, others.iter().filter(|other| other.ended_at.is_some()), true).await
}

/// The bills in a subscription's present currency that nobody has paid: its own, and those of the others that its stake secures.
pub(super) async fn unpaid_in_currency(unit: &mut dyn UnitOfWork, subscription: &Subscription) -> Result<Vec<Invoice>, BillingError> {
    let is_there = subscription.stake.as_ref().is_some_and(|stake| !stake.status.is_gone());
    let others = if is_there { secured_beside(unit, subscription).await? } else { Vec::new() };
    let mut unpaid = unpaid_of(unit, std::iter::once(subscription).chain(&others)).await?;
    unpaid.retain(|invoice| invoice.currency_id == subscription.currency_id);
    Ok(unpaid)
}

/// The others of its checkout: the stake that its first subscription holds is reckoned from all of them.
async fn secured_beside(unit: &mut dyn UnitOfWork, subscription: &Subscription) -> Result<Vec<Subscription>, BillingError> {
    let Some(session) = subscription.session_id.as_ref().filter(|_| subscription.stake.is_some()) else { return Ok(Vec::new()) };
    let mut ids = unit.sessions().find(session).await?.map_or_else(Vec::new, |session| session.subscription_ids);
    ids.retain(|id| *id != subscription.id);
    Ok(if ids.is_empty() { Vec::new() } else { unit.subscriptions().find_all(&ids).await? })
}

async fn unpaid_of(unit: &mut dyn UnitOfWork, whose: impl Iterator<Item = &Subscription> + Send) -> Result<Vec<Invoice>, BillingError> {
    let mut unpaid = Vec::new();
    for one in whose {
        unpaid.extend(unit.invoices().unpaid_of(&one.id).await?);
    }
    Ok(unpaid)
}

async fn owed_by(
    unit: &mut dyn UnitOfWork,
    holder: &Subscription,
    whose: impl Iterator<Item = &Subscription> + Send,
    may_grow: bool,
) -> Result<Owed, BillingError> {
    let mut invoices = unpaid_of(unit, whose).await?;
    invoices.sort_by(|a, b| (a.created_at, &a.id).cmp(&(b.created_at, &b.id)));
    let ids: Vec<_> = invoices.iter().map(|invoice| invoice.id.clone()).collect();
    let covered = unit.attempts().in_flight(&ids).await?;
    let currency = holder.stake.as_ref().map_or(&holder.currency_id, |stake| &stake.currency_id);
    invoices.retain(|invoice| {
        invoice.status == InvoiceStatus::Uncollectible && invoice.currency_id == *currency && !covered.contains(&invoice.id)
    });
    Ok(Owed { invoices: plan_payments(&invoices), is_moving: !covered.is_empty(), may_grow })
}

/// The last usage of metered items, on an invoice of its own. Where nothing permits a charge, it is overdue as any other.
async fn bill_usage(
    ctx: &Context,
    unit: &mut dyn UnitOfWork,
    book: &mut Book,
    used: &HashMap<SubscriptionItemId, u64>,
    subscription: &mut Subscription,
    nonce: u64,
    now: Timestamp,
) -> Result<Option<AttemptId>, BillingError> {
    if subscription.index.is_none() || used.is_empty() {
        return Ok(None);
    }
    let counts = |item: &&SubscriptionItem| used.get(&item.id).is_some_and(|used| *used > 0 || item.billed.is_some());
    let metered = Subscription { items: subscription.items.iter().filter(counts).cloned().collect(), ..subscription.clone() };
    let period = Period { start: subscription.period.start, end: now.min(subscription.period.end) };
    let id = InvoiceId::new(ctx.now(), ctx.random.as_ref());
    let Ok(Lines { items, total, overbilled }) = lines(ctx, book, used, &metered, &id, period, Some(period)) else {
        return Ok(None);
    };
    let corrections = UsageCorrections::plan(unit, subscription, &overbilled).await?;
    let lines = if total.is_zero() { Vec::new() } else { items };
    let bill = Bill { id, reason: BillingReason::SubscriptionCancel, period, lines, corrections, added: Amount::ZERO };
    issue(ctx, unit, book, subscription, bill, nonce.wrapping_add(1_000_000), now).await
}

/// The waiting time of a deposit is over: what is owed by then is taken, and the rest goes back afterwards. While a payment is on
/// its way, the deposit stays.
pub(super) async fn return_stake(
    ctx: &Context,
    unit: &mut dyn UnitOfWork,
    book: &Book,
    before: Subscription,
    nonce: u64,
    now: Timestamp,
) -> Result<Ended, BillingError> {
    let mut subscription = before;
    let owed = owed_for(unit, &subscription).await?;
    let sum = owed.sum()?;
    subscription.updated_at = now;
    let event = |what| ClockEvent { at: now, what, subject: subscription.id.to_string() };
    let mut ended = Ended { attempts: Vec::new(), event: event(Happening::StakeWaits) };
    let Some(mut stake) = subscription.stake.clone() else { return Ok(ended) };
    let what = if sum.is_zero() { StakeMove::back(stake.amount) } else { StakeMove::slash(sum.min(stake.amount), &owed) };
    let (transaction, stays) = (what.transaction, owed.is_moving || (sum.is_zero() && owed.may_grow));
    let moved = if stays { None } else { move_stake(ctx, unit, book, &subscription, what, nonce).await? };
    match (&moved, transaction) {
        (None, _) => stake.return_at = Some(now.plus(PATIENCE)),
        (Some(_), StakeTransaction::Forfeited) => {
            (stake.status, ended.event) = (StakeStatus::Slashing, event(Happening::StakeSlashed));
        }
        (Some(_), _) => (stake.status, ended.event) = (StakeStatus::Returning, event(Happening::StakeReturned)),
    }
    ended.attempts.extend(moved);
    subscription.stake = Some(stake);
    if !unit.subscriptions().update(&subscription).await? {
        return Err(BillingError::Contended);
    }
    Ok(ended)
}

/// Writes down an attempt that moves a deposit. A forfeit plans the invoices that it pays: nobody else collects them meanwhile.
/// `None`: there is nothing to move, or nothing here serves its network.
///
/// # Errors
/// [`BillingError::Contended`] when somebody moves it, or collects what it is to settle, since that was read.
pub(super) async fn move_stake(
    ctx: &Context,
    unit: &mut dyn UnitOfWork,
    book: &Book,
    subscription: &Subscription,
    StakeMove { transaction, amount, planned }: StakeMove,
    nonce: u64,
) -> Result<Option<AttemptId>, BillingError> {
    let Some(stake) = subscription.stake.as_ref().filter(|_| !amount.is_zero()) else { return Ok(None) };
    let (Some(method), Some(currency)) = (book.methods.get(&stake.method_id), book.currencies.get(&stake.currency_id)) else {
        return Ok(None);
    };
    let payer = stake.payer.clone();
    let Some(rail) = ctx.networks.wallet(method.kind) else { return Ok(None) };
    let subject = subscription.id.to_string();
    let (errand, purpose) = match transaction {
        StakeTransaction::Forfeited => (StoreTransaction::Slash { payer: payer.clone(), subject }, Purpose::Slash(subscription.id.clone())),
        _ => (StoreTransaction::ReturnStake { payer: payer.clone(), subject }, Purpose::ReturnStake(subscription.id.clone())),
    };
    let ask = StoreTransactionRequest { errand, amount, reference: subscription.id.to_string(), nonce };
    let signed = rail.sign(method, currency, &ask)?;
    let wall = ctx.now();
    let attempt = Attempt::begin(
        AttemptId::new(wall, ctx.random.as_ref()),
        purpose,
        AttemptKind::Wallet { payer, bytes: signed.bytes, hash: signed.hash },
        (method.id.clone(), currency.id.clone()),
        amount,
        wall,
    );
    match unit.attempts().insert(&attempt, &planned).await {
        Err(StorageError::Duplicate(_)) => Err(BillingError::Contended),
        inserted => Ok(inserted.map(|()| Some(attempt.id))?),
    }
}

/// Documents the transaction of a deposit.
pub(crate) async fn record_stake(
    ctx: &Context,
    unit: &mut dyn UnitOfWork,
    subscription: &Subscription,
    (transaction, reference): (StakeTransaction, &str),
    calculation: Calculation,
    now: Timestamp,
) -> Result<(), BillingError> {
    let (reason, description) = match transaction {
        StakeTransaction::Forfeited => (BillingReason::SlashStake, line::SLASHED_STAKE),
        StakeTransaction::Placed => (BillingReason::Stake, line::STAKE),
        StakeTransaction::Returned => (BillingReason::ReturnStake, line::RETURNED_STAKE),
    };
    record_statement(ctx, unit, subscription, Statement { reason, description, reference, calculation }, now).await
}

/// Ends a subscription at once, outside of a round.
pub(super) async fn now(
    ctx: &Context,
    unit: &mut dyn UnitOfWork,
    subscription: Subscription,
    reason: CancelReason,
    now: Timestamp,
) -> Result<Vec<AttemptId>, BillingError> {
    let one = std::slice::from_ref(&subscription);
    let mut book = Book::read(unit, one).await?;
    // Where the engine is late, what was used since the period was over has no other invoice to come.
    let period = Period { end: subscription.period.end.max(now), ..subscription.period };
    let used = super::renew::read_usage(unit, &book, &[Subscription { period, ..subscription.clone() }]).await?;
    let ended = write(ctx, unit, &mut book, &used, subscription, reason, nonces(ctx), now).await?;
    Ok(ended.attempts)
}
