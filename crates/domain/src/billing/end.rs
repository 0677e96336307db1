//! The end of a subscription, and what becomes of its deposit.

use super::book::{Book, Charge};
use super::renew::{lines, nonces};
use super::{
    BillTo, BillingError, BillingReason, Calculation, CancelReason, Cancellation, Change, ClockEvent, Happening, Invoice, InvoiceItem,
    InvoiceStatus, Notice, STAKE_WAITING, StakeStatus, Subscription, announce,
};
use crate::context::Context;
use crate::ledger::Reason;
use crate::payment::{Attempt, AttemptKind, AttemptStatus, Errand, ErrandAsk, Grant, Purpose, next_check};
use crate::shared::{Amount, AttemptId, InvoiceId, InvoiceItemId, SubscriptionItemId, Timestamp};
use crate::storage::UnitOfWork;
use std::collections::HashMap;

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
    book: &Book,
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
    if subscription.cancellation.is_none() {
        subscription.cancellation = Some(Cancellation { reason, feedback: None, comment: String::new(), requested_at: now });
    }
    attempts.extend(bill_usage(ctx, unit, book, used, &mut subscription, nonce, now).await?);
    unit.invoices().stop_retries(&subscription.id, now).await?;
    let owed = Amount::sum(owed_for(unit, &subscription).await?.iter().map(|one| one.total))?;
    if let Some(stake) = subscription.stake.as_mut().filter(|stake| stake.status == StakeStatus::Held) {
        if reason == CancelReason::PaymentFailed && !owed.is_zero() {
            stake.status = StakeStatus::Slashing;
        } else {
            stake.status = StakeStatus::Waiting;
            stake.return_at = Some(now.plus(STAKE_WAITING));
        }
    }
    if let Some(stake) = subscription.stake.clone().filter(|stake| stake.status == StakeStatus::Slashing) {
        attempts.extend(move_stake(ctx, unit, book, &subscription, Reason::Slash, owed.min(stake.amount), nonce).await?);
    }
    if !unit.subscriptions().update(&subscription).await? {
        return Err(BillingError::Contended);
    }
    announce(ctx, unit, &Notice::Canceled(subscription.id.clone()), ctx.now()).await?;
    Ok(Ended { attempts, event: ClockEvent { at: now, what: Happening::Canceled, subject: subscription.id.to_string() } })
}

/// What is owed for a subscription and nobody is paying just now: a charge on its way may settle still, and must not be
/// collected from the deposit as well.
async fn owed_for(unit: &mut dyn UnitOfWork, subscription: &Subscription) -> Result<Vec<Invoice>, BillingError> {
    let mut owed = unit.invoices().overdue(&subscription.customer_id).await?;
    owed.retain(|invoice| invoice.subscription_id.as_ref() == Some(&subscription.id));
    let ids: Vec<_> = owed.iter().map(|invoice| invoice.id.clone()).collect();
    let covered = unit.attempts().covered(&ids).await?;
    owed.retain(|invoice| !covered.contains(&invoice.id));
    Ok(owed)
}

/// The last usage of metered items, on an invoice of its own.
async fn bill_usage(
    ctx: &Context,
    unit: &mut dyn UnitOfWork,
    book: &Book,
    used: &HashMap<SubscriptionItemId, u64>,
    subscription: &mut Subscription,
    nonce: u64,
    now: Timestamp,
) -> Result<Option<AttemptId>, BillingError> {
    if subscription.index.is_none() || used.is_empty() {
        return Ok(None);
    }
    let metered = Subscription {
        items: subscription.items.iter().filter(|item| used.get(&item.id).is_some_and(|used| *used > 0)).cloned().collect(),
        ..subscription.clone()
    };
    let period = super::Period { start: subscription.period.start, end: now.min(subscription.period.end) };
    let id = InvoiceId::new(ctx.now(), ctx.random.as_ref());
    let Ok(items) = lines(ctx, book, used, &metered, &id, period, Some(period)) else { return Ok(None) };
    let total = Amount::sum(items.iter().map(|line| line.amount))?;
    if total.is_zero() {
        return Ok(None);
    }
    let Ok(mut invoice) = book.invoice(id, subscription, BillingReason::SubscriptionCancel, period, total, now) else { return Ok(None) };
    invoice.number = Some(unit.invoices().take_numbers(invoice.mode, 1).await?);
    let charge = book.charge(ctx, subscription, &invoice, nonce.wrapping_add(1_000_000))?;
    if let Some(charge) = &charge {
        invoice.intent_id = Some(charge.intent.id.clone());
    }
    unit.invoices().insert_final(&invoice, &items).await?;
    subscription.latest_invoice_id = Some(invoice.id.clone());
    let Some(Charge { intent, attempt }) = charge else { return Ok(None) };
    unit.intents().put(&intent).await?;
    unit.attempts().insert(&attempt, &intent.invoices).await?;
    Ok(Some(attempt.id))
}

/// The waiting time of a deposit is over.
pub(super) async fn return_stake(
    ctx: &Context,
    unit: &mut dyn UnitOfWork,
    book: &Book,
    before: Subscription,
    nonce: u64,
    now: Timestamp,
) -> Result<Option<AttemptId>, BillingError> {
    let mut subscription = before;
    let Some(stake) = subscription.stake.as_mut() else { return Ok(None) };
    stake.status = StakeStatus::Returning;
    let amount = stake.amount;
    subscription.updated_at = now;
    let attempt = move_stake(ctx, unit, book, &subscription, Reason::ReturnStake, amount, nonce).await?;
    if !unit.subscriptions().update(&subscription).await? {
        return Err(BillingError::Contended);
    }
    Ok(attempt)
}

/// Writes down an attempt that moves a deposit. `None`: its network or its payer is not known here.
pub(super) async fn move_stake(
    ctx: &Context,
    unit: &mut dyn UnitOfWork,
    book: &Book,
    subscription: &Subscription,
    reason: Reason,
    amount: Amount,
    nonce: u64,
) -> Result<Option<AttemptId>, BillingError> {
    let grant = subscription.mandate_id.as_ref().and_then(|id| book.mandates.get(id)).and_then(|mandate| mandate.grant.clone());
    let (Some(Grant::Delegation { payer, .. }), Some(method), Some(currency)) =
        (grant, book.methods.get(&subscription.method_id), book.currencies.get(&subscription.currency_id))
    else {
        return Ok(None);
    };
    let Some(rail) = ctx.networks.wallet(method.kind) else { return Ok(None) };
    let subject = subscription.id.to_string();
    let (errand, purpose) = match reason {
        Reason::Slash => (Errand::Slash { payer: payer.clone(), subject }, Purpose::Slash(subscription.id.clone())),
        _ => (Errand::ReturnStake { payer: payer.clone(), subject }, Purpose::ReturnStake(subscription.id.clone())),
    };
    let ask = ErrandAsk { errand, amount, reference: subscription.id.to_string(), nonce };
    let signed = rail.sign(method, currency, &ask)?;
    let wall = ctx.now();
    let attempt = Attempt {
        id: AttemptId::new(wall, ctx.random.as_ref()),
        purpose,
        session_id: None,
        method_id: method.id.clone(),
        currency_id: currency.id.clone(),
        amount,
        status: AttemptStatus::Open,
        kind: AttemptKind::Wallet { payer, bytes: signed.bytes, hash: signed.hash },
        last_error: None,
        checks: 0,
        check_at: next_check(wall, 0),
        sent_at: None,
        created_at: wall,
        updated_at: wall,
    };
    unit.attempts().insert(&attempt, &[]).await?;
    Ok(Some(attempt.id))
}

/// A deposit that moved is told by an invoice of its own; a taken one settles what was owed, oldest first.
pub(crate) async fn stake_invoice(
    ctx: &Context,
    unit: &mut dyn UnitOfWork,
    subscription: &Subscription,
    reason: Reason,
    amount: Amount,
    now: Timestamp,
) -> Result<(), BillingError> {
    let (billing_reason, description) = match reason {
        Reason::Slash => (BillingReason::SlashStake, super::line::SLASHED_STAKE),
        Reason::Stake => (BillingReason::Stake, super::line::STAKE),
        _ => (BillingReason::ReturnStake, super::line::RETURNED_STAKE),
    };
    let customer = unit.customers().find(&subscription.customer_id).await?.ok_or(BillingError::Orphan)?;
    let number = unit.invoices().take_numbers(subscription.mode, 1).await?;
    let invoice = Invoice {
        id: InvoiceId::new(ctx.now(), ctx.random.as_ref()),
        mode: subscription.mode,
        number: Some(number),
        status: InvoiceStatus::Paid,
        reason: billing_reason,
        description: description.to_owned(),
        customer_id: customer.id,
        currency_id: subscription.currency_id.clone(),
        method_id: subscription.method_id.clone(),
        session_id: None,
        subscription_id: Some(subscription.id.clone()),
        period: None,
        intent_id: None,
        bill_to: BillTo { name: customer.name, email: customer.email, phone: customer.phone, address: customer.address },
        total: amount,
        amount_paid: amount,
        refusals: 0,
        retry_at: None,
        clock_id: subscription.clock_id.clone(),
        created_at: now,
        finalized_at: Some(now),
        paid_at: Some(now),
        updated_at: now,
    };
    let calculation = Calculation::Flat { amount };
    let item = InvoiceItem {
        id: InvoiceItemId::new(ctx.now(), ctx.random.as_ref()),
        invoice_id: invoice.id.clone(),
        price_id: None,
        description: description.to_owned(),
        quantity: 1,
        unit_amount: amount,
        amount,
        period: None,
        calculation,
    };
    unit.invoices().insert_final(&invoice, &[item]).await?;
    if reason == Reason::Slash {
        let mut left = amount;
        for owed in owed_for(unit, subscription).await? {
            let Ok(rest) = left.minus(owed.total) else { break };
            unit.invoices().void(&owed.id, now).await?;
            left = rest;
        }
    }
    Ok(())
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
    let book = Book::read(unit, one).await?;
    let used = super::renew::read_usage(unit, &book, one).await?;
    let ended = write(ctx, unit, &book, &used, subscription, reason, nonces(ctx), now).await?;
    Ok(ended.attempts)
}
