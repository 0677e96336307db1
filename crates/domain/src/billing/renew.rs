//! Renewal batches: renews or ends due subscriptions, many in one commit. Charging is a separate stage.

use super::billing_batch::{BillingBatch, Charge};
use super::charges::{BatchResult, nonces, publish_charges, publish_new_charges};
use super::dunning::{DeclinedCharge, decline_invoices};
use super::hold::Hold;
use super::invoice::{Finalization, finalize_all};
use super::limits::{self, ChargeBudget, over_limit};
use super::notifications::notify_paid;
use super::pause::reported;
use super::period_lines::{Lines, lines, read_usage};
use super::stake::{STAKE_RETRY_DELAY, pay_by_overdraft};
use super::usage_correction::UsageCorrections;
use super::{
    BillingError, BillingReason, Bounds, CancelReason, Change, ClockEvent, Due, Invoice, InvoiceStatus, OnHold, Period, Scope,
    Subscription, TimelineEvent, Unbillable, period, termination,
};
use crate::context::Context;
use crate::payment::{Decline, Intent, NewAttempt, RailError, paused_methods};
use crate::shared::{InvoiceId, StorageError, SubscriptionItemId, Timestamp};
use crate::storage::UnitOfWork;
use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;
use std::time::Duration;

/// The delay before a subscription is processed again after a conflict with another unit of work.
const NEAR_DUE_WINDOW: Duration = Duration::from_secs(60);

struct Renewal {
    /// The subscription as it was read.
    read: Subscription,
    subscription: Subscription,
    finalization: Finalization,
    /// Why there is no charge although an amount remains to be paid.
    decline: Option<Decline>,
    charge: Option<Charge>,
    /// Credit notes over usage of the ending period that earlier invoices overbilled.
    corrections: UsageCorrections,
    has_new_items: bool,
}

/// Renews or ends at most `limit` subscriptions that are due at `now`, in one unit of work. A subscription that missed several periods gets
/// an invoice for each of them, one per batch, and stays due until it has caught up. A subscription that cannot be billed is put on hold,
/// and the others are processed without it. If the failing one is unknown, they are processed one by one.
#[tracing::instrument(skip_all)]
pub async fn renew_due(ctx: &Context, scope: &Scope, now: Timestamp, limit: u32) -> Result<BatchResult, BillingError> {
    let (mut total, mut batch_size) = (BatchResult::default(), limit);
    for _ in 0..limit {
        match renew_batch(ctx, scope, now, batch_size).await {
            Ok(round) if batch_size == limit => return Ok(round),
            Ok(round) if round.due == 0 => break,
            Ok(round) => total.add(round),
            Err(BillingError::Unwritable { subscription, on_hold }) => {
                let mut unit = ctx.store.begin().await?;
                let failing = unit.subscriptions().lock(&subscription).await?.ok_or(BillingError::Orphan)?;
                total.timeline.extend(put_on_hold(unit.as_mut(), &[failing.held(on_hold.into(), now)], now).await?);
                unit.commit().await?;
                total.due += 1;
            }
            Err(error) if batch_size > 1 && (is_caused_by_data(&error) || matches!(error, BillingError::Contended)) => batch_size = 1,
            Err(error) => return Err(error),
        }
    }
    Ok(total)
}

/// Whether an error is caused by one subscription's data, not by the database or a concurrent change.
fn is_caused_by_data(error: &BillingError) -> bool {
    match error {
        BillingError::Orphan | BillingError::Note(_) | BillingError::Amount(_) | BillingError::Ledger(_) | BillingError::Rail(_) => true,
        BillingError::Storage(error) => matches!(error, StorageError::Corrupt { .. } | StorageError::Duplicate(_)),
        BillingError::Contended | BillingError::Unwritable { .. } | BillingError::Settlement(_) => false,
    }
}

async fn renew_batch(ctx: &Context, scope: &Scope, now: Timestamp, limit: u32) -> Result<BatchResult, BillingError> {
    let paused = paused_methods(ctx).await?;
    let mut unit = ctx.store.begin().await?;
    let due = unit.subscriptions().lock_due(scope, now, limit, &paused).await?;
    if due.is_empty() {
        // Commits the hold of unreadable rows.
        unit.commit().await?;
        return Ok(BatchResult::default());
    }
    let only_id = if let [one] = due.as_slice() { Some(one.id.clone()) } else { None };
    let error = match write_due(ctx, unit.as_mut(), scope, now, due).await {
        Ok(round) => {
            unit.commit().await?;
            return Ok(round);
        }
        Err(error) => error,
    };
    // Releases the locks explicitly: an immediate retry would skip locked subscriptions.
    unit.rollback().await?;
    match (only_id, error) {
        (Some(subscription), error) if is_caused_by_data(&error) => Err(BillingError::Unwritable { subscription, on_hold: error.into() }),
        // A concurrent change of its invoices or stake: it is processed later, so that it does not block the others.
        (Some(subscription), BillingError::Contended) if *scope == Scope::Wall => {
            let mut unit = ctx.store.begin().await?;
            unit.subscriptions().reschedule(&subscription, now.plus(NEAR_DUE_WINDOW)).await?;
            unit.commit().await?;
            Ok(BatchResult { due: 1, ..BatchResult::default() })
        }
        (_, error) => Err(error),
    }
}

pub(super) async fn write_due(
    ctx: &Context,
    unit: &mut dyn UnitOfWork,
    scope: &Scope,
    now: Timestamp,
    due: Vec<Subscription>,
) -> Result<BatchResult, BillingError> {
    let mut round = BatchResult { due: due.len(), ..BatchResult::default() };
    let bounds = ctx.policy.bounds.as_ref().filter(|_| *scope == Scope::Wall);
    let mut budget = ChargeBudget::read(unit, bounds, due.iter().map(|one| &one.customer_id), now).await?;
    let mut batch = BillingBatch::read(unit, &due).await?;
    let mut used = read_usage(unit, &batch, &due).await?;
    let paused = due.iter().filter(|one| one.paused_at.is_some_and(|paused_at| paused_at >= one.period.end));
    let reported = |one: &Subscription| Subscription { period: reported(&one.period, one.paused_at, now), ..one.clone() };
    used.extend(read_usage(unit, &batch, &paused.map(reported).collect::<Vec<_>>()).await?);
    let (mut renewals, mut others, mut held) = (Vec::with_capacity(due.len()), Vec::new(), Vec::new());
    for (nonce, read) in (nonces(ctx)..).zip(due) {
        let DueSubscription { nonce, mut due, subscription, read } = resolve_due(unit, nonce, read, now).await?;
        let hold = bounds.and_then(|bounds| over_bounds(bounds, &budget, &subscription, due, now));
        let has_ended = subscription.ends_at().is_some_and(|end| end <= now);
        if hold.as_ref().is_some_and(|hold| hold.resumes_at.is_none()) && has_ended {
            due = subscription.requested_end();
        } else if let Some(hold) = hold {
            held.push(subscription.held(hold, now));
            continue;
        }
        match due {
            Due::Renew => {
                let next = next_period(ctx, &batch, &used, &subscription);
                let corrections = match &next {
                    Ok(next) => UsageCorrections::plan(unit, &subscription, &next.lines.overbilled).await?,
                    Err(_) => UsageCorrections::default(),
                };
                match next.and_then(|next| renewal(ctx, &mut batch, read, &subscription, next, corrections, nonce, now)) {
                    Ok(RenewalResult { mut renewal, trouble }) => {
                        limits::count_renewal(&subscription, &mut renewal.subscription, renewal.charge.is_some(), &mut budget, now);
                        renewals.push(renewal);
                        round.trouble = round.trouble.take().or(trouble);
                    }
                    Err(on_hold) => held.push(subscription.held(on_hold.into(), now)),
                }
            }
            due => others.push(DueSubscription { nonce, due, subscription, read }),
        }
    }
    round.timeline.extend(put_on_hold(unit, &held, now).await?);
    let ending: Vec<_> = others.iter().filter(|one| matches!(one.due, Due::End(_))).map(|one| &one.subscription).collect();
    lock_stakes(unit, &others).await?;
    lock_for_notes(unit, &renewals, &ending).await?;
    for renewal in renewals.iter_mut().filter(|renewal| !renewal.corrections.notes.is_empty()) {
        let period_start = renewal.finalization.invoice.created_at;
        renewal.corrections.issue(ctx, unit, period_start).await?;
        super::recovery::recover_if_settled(unit, &mut renewal.subscription, period_start).await?;
    }
    let mut unchanged = Vec::new();
    for DueSubscription { nonce, due, subscription, .. } in others {
        match due {
            Due::End(reason) => {
                let ended = termination::write(ctx, unit, &mut batch, &used, subscription, reason, nonce, now).await?;
                round.attempts.extend(ended.attempts);
                round.timeline.push(ended.event);
            }
            Due::PayByOverdraft => {
                let mut subscription = subscription;
                round.attempts.extend(pay_by_overdraft(ctx, unit, &mut subscription, now).await?);
                unit.subscriptions().update(&subscription).await?;
            }
            Due::Wait => {
                unit.subscriptions().update(&subscription).await?;
                unit.subscriptions().reschedule(&subscription.id, now.plus(STAKE_RETRY_DELAY)).await?;
            }
            Due::Renew | Due::Nothing => unchanged.push(subscription),
        }
    }
    if !unit.subscriptions().update_all(&unchanged).await? {
        return Err(BillingError::Contended);
    }
    if *scope == Scope::Wall {
        publish_charges(ctx, unit, &round.attempts).await?;
    }
    let charges = write(ctx, unit, Arc::new(batch), renewals, &mut round, now).await?;
    budget.write(unit).await?;
    if *scope == Scope::Wall {
        publish_new_charges(ctx, unit, &charges).await?;
    }
    round.attempts.extend(charges.into_iter().map(|new| new.attempt.id));
    Ok(round)
}

/// A subscription of a batch, and what is due for it.
struct DueSubscription {
    /// The nonce of its charge.
    nonce: u64,
    due: Due,
    subscription: Subscription,
    /// The subscription as it was read.
    read: Subscription,
}

/// Decides what is due for a subscription. It does not end for non-payment if its overdue invoices are paid by now, or while a payment is
/// in flight or a retry is due, however late this batch runs.
async fn resolve_due(unit: &mut dyn UnitOfWork, nonce: u64, read: Subscription, now: Timestamp) -> Result<DueSubscription, BillingError> {
    let has_come = |at: Option<Timestamp>| at.is_some_and(|at| at <= now);
    let mut subscription = read.clone();
    let with = |due, subscription| DueSubscription { nonce, due, subscription, read };
    if subscription.on_hold.is_some() {
        if !has_come(subscription.bounds.resumes_at) {
            let due = if has_come(subscription.end_on_hold()) { subscription.requested_end() } else { Due::Nothing };
            return Ok(with(due, subscription));
        }
        // A limit held it until now.
        subscription = subscription.released(now);
    }
    let due = subscription.due(now);
    if due != Due::End(CancelReason::PaymentFailed) {
        return Ok(with(due, subscription));
    }
    if unit.invoices().overdue_of(&subscription.id).await?.is_empty() {
        let recovered = subscription.recovered(now);
        return Ok(with(recovered.due(now), recovered));
    }
    let unpaid = unit.invoices().unpaid_of(&subscription.id).await?;
    let ids: Vec<_> = unpaid.iter().map(|invoice| invoice.id.clone()).collect();
    let is_retry_due = |invoice: &Invoice| invoice.retry_at.is_some_and(|at| at <= now);
    if !unpaid.iter().any(is_retry_due) && unit.attempts().in_flight(&ids).await?.is_empty() {
        return Ok(with(due, subscription));
    }
    let due = if subscription.ends_at().is_some_and(|at| at <= now) { subscription.requested_end() } else { Due::Wait };
    Ok(with(due, subscription))
}

/// Why the engine does not continue with a due subscription. A requested end is never held until an owner decides: periods that are not
/// billed by then lapse.
fn over_bounds(bounds: &Bounds, budget: &ChargeBudget, subscription: &Subscription, due: Due, now: Timestamp) -> Option<Hold> {
    let undecided = || subscription.exceeds(bounds, now).unwrap_or_else(|error| Some(OnHold::from(error))).map(Hold::from);
    match due {
        Due::Renew => undecided().or_else(|| over_limit(subscription, bounds, budget, now)),
        Due::PayByOverdraft | Due::Wait | Due::End(CancelReason::PaymentFailed) => undecided(),
        Due::End(_) | Due::Nothing => None,
    }
}

/// Writes subscriptions that cannot be billed and are on hold, so that they do not block the others.
async fn put_on_hold(unit: &mut dyn UnitOfWork, held: &[Subscription], now: Timestamp) -> Result<Vec<ClockEvent>, BillingError> {
    if held.is_empty() {
        return Ok(Vec::new());
    }
    if !unit.subscriptions().update_all(held).await? {
        return Err(BillingError::Contended);
    }
    Ok(held.iter().map(|one| ClockEvent { at: now, what: TimelineEvent::PutOnHold, subject: one.id.to_string() }).collect())
}

/// What a renewal bills: licensed items for the new period, metered items for the usage of the ending one.
struct NextPeriod {
    index: u32,
    period: Period,
    id: InvoiceId,
    lines: Lines,
}

fn next_period(
    ctx: &Context,
    batch: &BillingBatch,
    used: &HashMap<SubscriptionItemId, u64>,
    before: &Subscription,
) -> Result<NextPeriod, OnHold> {
    let index = before.index.map_or(0, |index| index.saturating_add(1));
    let period = period(&before.cycle, before.anchor, index).map_err(Unbillable::from)?;
    let ended = before.index.map(|_| before.period);
    let id = InvoiceId::new(ctx.now(), ctx.random.as_ref());
    let lines = lines(ctx, batch, used, before, &id, period, ended)?;
    Ok(NextPeriod { index, period, id, lines })
}

/// A renewal, and why its charge cannot be signed, if it cannot.
struct RenewalResult {
    renewal: Renewal,
    trouble: Option<RailError>,
}

/// Begins the next period and bills it. `read`: the subscription as it was read; `before`: as it is before this period.
#[expect(clippy::too_many_arguments, reason = "the parts of a renewal come from different reads")]
fn renewal(
    ctx: &Context,
    batch: &mut BillingBatch,
    read: Subscription,
    before: &Subscription,
    next: NextPeriod,
    corrections: UsageCorrections,
    nonce: u64,
    now: Timestamp,
) -> Result<RenewalResult, OnHold> {
    let NextPeriod { index, period: next, id, lines: Lines { items, total, .. } } = next;
    // Invoices are dated at the start of the period, however late the batch runs.
    let period_start = next.start;
    let added = corrections.to_balance().map_err(Unbillable::from)?;
    let status = before.status.after(Change::PeriodBegins).map_err(Unbillable::from)?;
    let applied = batch.use_balance(before, total, added).map_err(Unbillable::from)?;
    let invoice = batch.invoice(id, before, BillingReason::SubscriptionCycle, next, total, period_start)?;
    // Finalized at `now`, so that a late invoice gets the full retry schedule.
    let mut finalization = Finalization::new(invoice, items, applied, now).map_err(Unbillable::from)?;
    let latest_invoice_id = Some(finalization.invoice.id.clone());
    let name = batch.product_names(before);
    let mut subscription = Subscription { status, name, latest_invoice_id, updated_at: period_start, ..before.clone() };
    let has_new_items = subscription.enter(index, next);
    let decline = |code: &str, message: &str| Some(Decline { code: code.to_owned(), message: message.to_owned() });
    let (charge, decline, trouble) = match finalization.invoice.remaining().is_zero() {
        true => (None, None, None),
        false => match batch.charge(ctx, &subscription, &finalization.invoice, nonce) {
            // Without a mandate to charge, the customer has to pay manually.
            Ok(None) => (None, decline("no_mandate", "No payment method is on file"), None),
            Ok(charge) => (charge, None, None),
            // The method's settings are wrong: the invoice is retried on the following days, as after a decline.
            Err(BillingError::Rail(error)) => (None, decline("not_sent", "Sorry, something went wrong."), Some(error)),
            Err(error) => return Err(error.into()),
        },
    };
    finalization.invoice.intent_id = charge.as_ref().map(|charge: &Charge| charge.intent.id.clone());
    Ok(RenewalResult { renewal: Renewal { read, subscription, finalization, decline, charge, corrections, has_new_items }, trouble })
}

/// Writes the renewals of a batch. Numbers are allocated late, because from then on every other finalization in the mode waits.
async fn write(
    ctx: &Context,
    unit: &mut dyn UnitOfWork,
    batch: Arc<BillingBatch>,
    renewals: Vec<Renewal>,
    round: &mut BatchResult,
    now: Timestamp,
) -> Result<Vec<NewAttempt>, BillingError> {
    let (mut finalizations, mut declines, mut renewed) =
        (Vec::with_capacity(renewals.len()), Vec::new(), Vec::with_capacity(renewals.len()));
    let (mut intents, mut unsigned, mut has_new) = (Vec::new(), Vec::new(), Vec::new());
    let (mut paid_by_balance, mut read) = (Vec::new(), Vec::with_capacity(renewals.len()));
    for Renewal { read: before, subscription, finalization, decline, charge, has_new_items, .. } in renewals {
        let what = if subscription.index == Some(0) { TimelineEvent::TrialEnded } else { TimelineEvent::Renewed };
        let invoice = &finalization.invoice;
        round.timeline.push(ClockEvent { at: invoice.created_at, what, subject: subscription.id.to_string() });
        if let Some(Charge { intent, attempt }) = charge {
            intents.push(intent);
            unsigned.push(attempt);
        }
        declines.push(decline);
        if invoice.status == InvoiceStatus::Paid && !finalization.applied.is_zero() {
            paid_by_balance.push(invoice.clone());
        }
        read.push(before);
        renewed.push(subscription);
        has_new.push(has_new_items);
        finalizations.push(finalization);
    }
    let intents: Arc<[Intent]> = intents.into();
    let signing = batch.begin_signing(ctx, &intents, unsigned);
    let invoices = finalize_all(ctx, unit, finalizations).await?;
    let declined = renewed.iter_mut().zip(&invoices).zip(&declines).filter_map(|((subscription, invoice), decline)| {
        Some(DeclinedCharge { subscription, invoices: std::slice::from_ref(invoice), decline: decline.as_ref()? })
    });
    decline_invoices(ctx, unit, declined.collect(), now).await?;
    for (subscription, _) in renewed.iter().zip(has_new).filter(|(_, is_new)| *is_new) {
        unit.subscriptions().put_items(subscription).await?;
    }
    write_subscriptions(unit, &read, renewed).await?;
    unit.intents().put_all(&intents).await?;
    let attempts = signing.finish()?;
    let remaining = invoices.iter().map(|invoice| (invoice.id.clone(), invoice.remaining())).collect();
    unit.attempts().insert_all_for_new_invoices(&attempts, &remaining).await?;
    notify_paid(ctx, unit, &paid_by_balance.iter().collect::<Vec<_>>()).await?;
    Ok(attempts)
}

/// Writes renewed subscriptions. Nearly all of them only begin a period.
async fn write_subscriptions(unit: &mut dyn UnitOfWork, read: &[Subscription], renewed: Vec<Subscription>) -> Result<(), BillingError> {
    let (mut periods, mut others) = (Vec::with_capacity(renewed.len()), Vec::new());
    for (before, after) in read.iter().zip(renewed) {
        if after.differs_only_by_period(before) { periods.push(after) } else { others.push(after) }
    }
    unit.subscriptions().begin_periods(&periods).await?;
    if unit.subscriptions().update_all(&others).await? { Ok(()) } else { Err(BillingError::Contended) }
}

/// Locks the stakes of ending subscriptions and those that pay an overdraft: after the subscriptions and before the invoices, to avoid
/// deadlocks between batches.
async fn lock_stakes(unit: &mut dyn UnitOfWork, others: &[DueSubscription]) -> Result<(), BillingError> {
    let moves_stake = |one: &&DueSubscription| matches!(one.due, Due::End(_) | Due::PayByOverdraft);
    let with_moving_stakes = others.iter().filter(moves_stake).map(|one| &one.subscription);
    let named = with_moving_stakes.flat_map(|one| [&one.stake_id, &one.overdraft_stake_id]).flatten().cloned();
    let stakes: Vec<_> = named.collect::<BTreeSet<_>>().into_iter().collect();
    if !stakes.is_empty() {
        unit.stakes().lock_all(&stakes).await?;
    }
    Ok(())
}

/// Locks the invoices to be corrected, then the balances that may change, each in id order and before the number series, to avoid deadlocks
/// between batches.
async fn lock_for_notes(unit: &mut dyn UnitOfWork, renewals: &[Renewal], ending: &[&Subscription]) -> Result<(), BillingError> {
    let corrected: Vec<_> = renewals.iter().flat_map(|one| &one.corrections.notes).map(|note| note.invoice.id.clone()).collect();
    if !corrected.is_empty() {
        unit.invoices().lock_all(&corrected).await?;
    }
    let with_balance_change = renewals.iter().filter(|one| !one.corrections.notes.is_empty() || !one.finalization.applied.is_zero());
    let customers: Vec<_> =
        with_balance_change.map(|one| &one.subscription).chain(ending.iter().copied()).map(|one| one.customer_id.clone()).collect();
    if !customers.is_empty() {
        unit.balances().lock(&customers).await?;
    }
    Ok(())
}
