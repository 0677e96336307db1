//! Imports into a restored store what its networks moved after the backup was taken. A charge that names a period of a subscription bills
//! that period and settles its invoice, so that the period is not charged again. What belongs to nothing in the store is listed for an
//! owner.

use super::dunning;
use super::renew;
use super::{BillingError, Due, Invoice, Scope};
use crate::context::Context;
use crate::operation::{FoundPayment, Restore, find_import};
use crate::payment::{self, Attempt, ChargedPeriod, Method, Movement, RailError, SettlementError};
use crate::shared::{AttemptId, Mode, StorageError, SubscriptionId, Timestamp};
use crate::storage::UnitOfWork;
use std::time::Duration;

/// The time before the backup from which on the networks are asked, because their clocks differ.
const IMPORT_MARGIN: Duration = Duration::from_secs(3_600);
/// The most periods of a subscription that are billed up to one charge. A charge further in the future of the backup is listed instead.
const PERIODS_MAX: usize = 1_000;
/// The subject of the lock under which processes that import at once agree about what a movement belongs to.
const FOUND_PAYMENTS: &str = "found payments";

/// Why the movements of a method are not completely imported.
#[derive(Debug, thiserror::Error)]
enum ImportError {
    #[error(transparent)]
    Rail(#[from] RailError),
    #[error(transparent)]
    Billing(#[from] BillingError),
    #[error(transparent)]
    Settlement(#[from] SettlementError),
    #[error(transparent)]
    Storage(#[from] StorageError),
    #[error("the network has not decided yet about {0}, which pays the same invoice")]
    Undecided(AttemptId),
    #[error("a charged period begins at {}, which this machine's clock has not reached", .0.to_iso())]
    Ahead(Timestamp),
}

/// Imports from all networks if the restored store needs it (see [`crate::operation::Restore::imports_at`]). Can be repeated and interrupted: what is
/// imported is known by its reference. A network that does not answer delays the end of the hold, and not the import from the others.
#[tracing::instrument(skip_all)]
pub async fn import_movements(ctx: &Context) -> Result<(), StorageError> {
    let began = ctx.now();
    let Some(restore) = find_import(ctx, began).await? else { return Ok(()) };
    // A period that the original has charged is not billed before it has begun by this clock, so the clock must be right.
    let failures =
        if ctx.trust.is_trusted() { import_all(ctx, &restore).await? } else { vec!["the clock of this machine is doubted".to_owned()] };
    let failure = (!failures.is_empty()).then(|| failures.join("; "));
    let mut unit = ctx.store.begin().await?;
    unit.restores().record_import(&restore, began, failure.as_deref()).await?;
    unit.commit().await
}

/// Returns why the import is not complete.
async fn import_all(ctx: &Context, restore: &Restore) -> Result<Vec<String>, StorageError> {
    let since = restore.backup_at.minus(IMPORT_MARGIN);
    let mut failures = Vec::new();
    for mode in [Mode::Live, Mode::Test] {
        for method in ctx.store.read().await?.methods().list(mode).await? {
            // The sandbox is off: nothing is known about its payments, and they are paused.
            if ctx.networks.is_paused(&method) {
                continue;
            }
            if let Err(error) = import_method(ctx, &method, since).await {
                tracing::warn!(method = %method.id, %error, "what a network did since the backup is not completely imported");
                failures.push(format!("{}: {error}", method.name));
            }
        }
    }
    Ok(failures)
}

async fn import_method(ctx: &Context, method: &Method, since: Timestamp) -> Result<(), ImportError> {
    let mut currencies = ctx.store.read().await?.methods().currencies(method.mode).await?;
    currencies.retain(|currency| currency.method_id == method.id);
    let mut movements = match (ctx.networks.wallet(method.kind), ctx.networks.card(method.kind)) {
        (Some(rail), _) => rail.movements(method, &currencies, since).await?,
        (None, Some(rail)) => rail.movements(method, &currencies, since).await?,
        // Its payments are only linked to.
        (None, None) => return Ok(()),
    };
    movements.sort_by(|one, other| (one.at, &one.reference).cmp(&(other.at, &other.reference)));
    let mut failure = None;
    for movement in &movements {
        // One that cannot be imported does not keep the others from it.
        if let Err(error) = import(ctx, method, movement).await {
            failure = failure.or(Some(error));
        }
    }
    failure.map_or(Ok(()), Err)
}

async fn import(ctx: &Context, method: &Method, movement: &Movement) -> Result<(), ImportError> {
    let mut unit = ctx.store.read().await?;
    if let Some(attempt) = known_attempt(unit.as_mut(), method, movement).await? {
        drop(unit);
        return settle(ctx, &attempt, movement).await;
    }
    if unit.intents().find_by_reference(&method.id, &movement.reference).await?.is_some() {
        return Ok(());
    }
    drop(unit);
    if let Some(period) = movement.period.as_ref().filter(|_| movement.is_incoming)
        && let Some(attempt) = attempt_of(ctx, movement, period).await?
        && adopt(ctx, &attempt, movement).await?
    {
        return Ok(payment::settle(ctx, &attempt.id).await?);
    }
    list_for_owner(ctx, method, movement).await
}

/// The attempt that the movement belongs to by its reference, or by its own statement.
async fn known_attempt(unit: &mut dyn UnitOfWork, method: &Method, movement: &Movement) -> Result<Option<Attempt>, StorageError> {
    if let Some(attempt) = unit.attempts().find_by_provider(&method.id, &movement.reference).await? {
        return Ok(Some(attempt));
    }
    if let Some(attempt) = unit.attempts().find_by_hash(&movement.reference).await?.filter(|attempt| attempt.method_id == method.id) {
        return Ok(Some(attempt));
    }
    match &movement.attempt {
        Some(id) => unit.attempts().find(id).await,
        None => Ok(None),
    }
}

/// Reconciles an attempt that the store knows and the original has sent after the backup.
async fn settle(ctx: &Context, attempt: &Attempt, movement: &Movement) -> Result<(), ImportError> {
    if !attempt.status.is_open() {
        return Ok(());
    }
    if movement.attempt.as_ref() == Some(&attempt.id) {
        let mut unit = ctx.store.begin().await?;
        unit.attempts().set_provider_ids(&attempt.id, &movement.reference, "", ctx.now()).await?;
        unit.commit().await?;
    }
    Ok(payment::settle(ctx, &attempt.id).await?)
}

/// The unsent attempt that charges the invoice of a period. Bills the subscription up to this period first. `None`: the subscription is
/// not known, or would not be billed for this period, or its invoice is paid already.
async fn attempt_of(ctx: &Context, movement: &Movement, period: &ChargedPeriod) -> Result<Option<Attempt>, ImportError> {
    for _ in 0..PERIODS_MAX {
        let mut unit = ctx.store.read().await?;
        if let Some(invoice) = invoice_of(unit.as_mut(), period).await? {
            drop(unit);
            return attempt_for(ctx, movement, invoice).await;
        }
        drop(unit);
        if !bill_next(ctx, &period.subscription, period.start).await? {
            break;
        }
    }
    // Another process that imports may have billed the period meanwhile.
    let invoice = invoice_of(ctx.store.read().await?.as_mut(), period).await?;
    match invoice {
        Some(invoice) => attempt_for(ctx, movement, invoice).await,
        None => Ok(None),
    }
}

async fn invoice_of(unit: &mut dyn UnitOfWork, period: &ChargedPeriod) -> Result<Option<Invoice>, StorageError> {
    let named = unit.invoices().find(&period.invoice).await?;
    if named.is_some() { Ok(named) } else { unit.invoices().of_period(&period.subscription, period.start).await }
}

/// Bills the next period of a subscription, if it begins by `until`, without the bounds of automatic billing: the original has decided. The
/// charge waits, as all do. False: nothing was billed.
async fn bill_next(ctx: &Context, id: &SubscriptionId, until: Timestamp) -> Result<bool, ImportError> {
    let now = ctx.now();
    let mut unit = ctx.store.begin().await?;
    let Some(mut subscription) = unit.subscriptions().lock(id).await? else { return Ok(false) };
    // Test clocks stand still while the store is held.
    if subscription.clock_id.is_some() || subscription.period.end > until {
        return Ok(false);
    }
    if subscription.ended_at.is_none() && until > now {
        // The clock of the original was ahead of this one. Released now, this store would charge the period again.
        return Err(ImportError::Ahead(until));
    }
    if subscription.is_undecided() {
        let released = subscription.released(now);
        if !unit.subscriptions().update(&released).await? {
            return Err(BillingError::Contended.into());
        }
        let Some(again) = unit.subscriptions().lock(id).await? else { return Ok(false) };
        subscription = again;
    }
    subscription.bounds.approved_until = Some(until);
    if subscription.on_hold.is_some() || subscription.due(now) != Due::Renew {
        return Ok(false);
    }
    let before = subscription.index;
    renew::write_due(ctx, unit.as_mut(), &Scope::Wall, now, vec![subscription]).await?;
    let is_billed = unit.subscriptions().find(id).await?.is_some_and(|after| after.index > before);
    unit.commit().await?;
    Ok(is_billed)
}

/// The attempt that will charge an unpaid invoice.
async fn attempt_for(ctx: &Context, movement: &Movement, invoice: Invoice) -> Result<Option<Attempt>, ImportError> {
    if invoice.remaining().is_zero() {
        return Ok(None);
    }
    let mut unit = ctx.store.begin().await?;
    let open = match &invoice.intent_id {
        Some(intent) => unit.attempts().open_of_intent(intent).await?,
        None => None,
    };
    let attempt = match open {
        Some(attempt) if attempt.sent_at.is_none() => Some(attempt),
        // It was sent before the backup. The original has charged again, so its network has declined it; the next import finds that.
        Some(attempt) => {
            drop(unit);
            payment::settle(ctx, &attempt.id).await?;
            return Err(ImportError::Undecided(attempt.id));
        }
        None => match dunning::charge_again(ctx, unit.as_mut(), invoice).await? {
            Some(id) => unit.attempts().find(&id).await?,
            None => None,
        },
    };
    unit.commit().await?;
    Ok(attempt.filter(|attempt| attempt.currency_id == movement.currency_id))
}

/// Makes an unsent attempt the one that the network knows under this reference.
async fn adopt(ctx: &Context, attempt: &Attempt, movement: &Movement) -> Result<bool, ImportError> {
    let mut unit = ctx.store.begin().await?;
    unit.lock(FOUND_PAYMENTS).await?;
    let is_adopted = unit.attempts().adopt(&attempt.id, &movement.reference, ctx.now()).await?;
    unit.found_payments().withdraw(&attempt.method_id, &movement.reference).await?;
    unit.commit().await?;
    Ok(is_adopted)
}

/// Lists a movement, unless another process that imports has found meanwhile to what it belongs.
async fn list_for_owner(ctx: &Context, method: &Method, movement: &Movement) -> Result<(), ImportError> {
    let found = FoundPayment {
        mode: method.mode,
        method_id: method.id.clone(),
        reference: movement.reference.clone(),
        is_incoming: movement.is_incoming,
        account: movement.account.clone(),
        amount: movement.amount,
        currency_id: movement.currency_id.clone(),
        moved_at: movement.at,
        found_at: ctx.now(),
        handled_at: None,
    };
    let mut unit = ctx.store.begin().await?;
    unit.lock(FOUND_PAYMENTS).await?;
    if known_attempt(unit.as_mut(), method, movement).await?.is_none() {
        unit.found_payments().add(&found).await?;
    }
    unit.commit().await?;
    Ok(())
}
