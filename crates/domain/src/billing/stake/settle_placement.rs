//! Settled payments into stakes outside a checkout, and the subscriptions that a stake secures from then on.

use super::place::{may_replace, terms_of, unneeded_because};
use super::plan_deposit::{PlacedFor, forget_if_superseded, placed_for, without_deposit};
use super::posting::{post_stake, record_placement, record_stake_statement};
use super::release::{ReleaseTime, release_if_unused};
use super::{ReleaseReason, Stake, StakePurpose};
use crate::billing::clock::time_of_customer;
use crate::billing::statement::Statement;
use crate::billing::{BillingError, BillingReason, Notification, PricingFormula, Requester, ResumedFrom, Subscription, notify};
use crate::context::Context;
use crate::ledger::EntryType;
use crate::payment::{Attempt, AttemptKind, Description};
use crate::shared::StakeId;
use crate::storage::UnitOfWork;
use std::collections::BTreeSet;

/// The subscriptions that share a stake once a payment into it has settled, locked in id order.
async fn lock_sharing(unit: &mut dyn UnitOfWork, stake: &Stake) -> Result<Vec<Subscription>, BillingError> {
    let Some(subject) = stake.subject.subscription() else { return Ok(Vec::new()) };
    let mut ids = BTreeSet::from([subject.clone()]);
    if stake.purpose == StakePurpose::Security {
        let session = unit.subscriptions().find(subject).await?.and_then(|found| found.session_id);
        if let Some(session) = &session {
            ids.extend(unit.sessions().find(session).await?.map_or_else(Vec::new, |session| session.subscription_ids));
        }
        ids.extend(unit.subscriptions().of_stake(&stake.id).await?.into_iter().map(|one| one.id));
    }
    let mut sharing = unit.subscriptions().lock_all(&ids.into_iter().collect::<Vec<_>>()).await?;
    sharing.retain(|one| one.ended_at.is_none() && one.currency_id == stake.currency_id);
    Ok(sharing)
}

/// Records a settled payment into a deposit for something other than a subscription. If that does not need it, it is released.
async fn deposit_placed(
    ctx: &Context,
    unit: &mut dyn UnitOfWork,
    attempt: &Attempt,
    found: &Stake,
    reference: &str,
) -> Result<(), BillingError> {
    let of = ctx.stake_uses.find(found.purpose).ok_or(BillingError::Orphan)?;
    of.lock(unit, found).await?;
    let before = unit.stakes().lock(&found.id).await?.ok_or(BillingError::Orphan)?;
    let now = time_of_customer(ctx, unit, &before.customer_id).await?;
    let placed = before.placed(attempt.amount, reference, now)?;
    let after = of.held(ctx, unit, &placed).await?.map_or_else(|| placed.clone(), |unneeded| unneeded.release(&placed, now));
    if !unit.stakes().update(&before, &after).await? {
        return Err(BillingError::Contended);
    }
    post_stake(ctx, unit, attempt, &after, EntryType::StakePlaced, now).await?;
    record_placement(ctx, unit, &after, PricingFormula::Flat { amount: attempt.amount }, now).await
}

/// Records a settled payment into a stake outside a checkout. The subscriptions that share the stake name it from now on, and the stakes
/// that they named before are released. A stake for a change to another currency may settle before the change. If the payment was made to
/// undo a scheduled cancellation, that cancellation is removed. If no subscription needs the stake any more, it is released. A payment for a
/// plan change that was given up meanwhile is returned. A late payment does not replace a stake that secures more.
pub(super) async fn placed(
    ctx: &Context,
    unit: &mut dyn UnitOfWork,
    attempt: &Attempt,
    id: &StakeId,
    reference: &str,
) -> Result<(), BillingError> {
    let AttemptKind::Wallet { hash, .. } = &attempt.kind else { return Err(BillingError::Orphan) };
    let found = unit.stakes().find(id).await?.ok_or(BillingError::Orphan)?;
    if found.subject.subscription().is_none() {
        return deposit_placed(ctx, unit, attempt, &found, reference).await;
    }
    let mut sharing = lock_sharing(unit, &found).await?;
    let is_overdraft = found.purpose == StakePurpose::Overdraft;
    let named_stake = |one: &Subscription| if is_overdraft { one.overdraft_stake_id.clone() } else { one.stake_id.clone() };
    let ordered = placed_for(unit, id, hash).await?;
    if !sharing.iter().any(|one| named_stake(one).as_ref() == Some(id)) && ordered.as_ref().is_some_and(PlacedFor::is_premature) {
        // The current stake secures the subscriptions until the delegation is granted.
        sharing.clear();
    }
    let superseded: BTreeSet<_> = sharing.iter().filter_map(named_stake).filter(|named_stake| named_stake != id).collect();
    let ids: Vec<_> = superseded.iter().chain([id]).cloned().collect();
    let locked = unit.stakes().lock_all(&ids).await?;
    let before = locked.iter().find(|stake| stake.id == *id).ok_or(BillingError::Orphan)?;
    let now = time_of_customer(ctx, unit, &before.customer_id).await?;
    let mut after = before.placed(attempt.amount, reference, now)?;
    if !is_overdraft
        && !sharing.iter().any(|one| one.stake_id.as_ref() == Some(id))
        && !may_replace(unit, &after, &locked, &sharing).await?
    {
        sharing.clear();
    }
    if sharing.is_empty()
        && let Some(reason) = unneeded_because(unit, &found).await?
    {
        after = after.released(reason, now, now);
    }
    if let (Some(PlacedFor { change, .. }), Some(secured)) = (&ordered, sharing.first()) {
        match &change.deposit {
            Some(deposit) if !change.is_pending() => after = without_deposit(unit, &after, secured, deposit, now).await?,
            _ => unit.plan_changes().wake(&change.subscription_id, ctx.now()).await?,
        }
    }
    if !unit.stakes().update(before, &after).await? {
        return Err(BillingError::Contended);
    }
    post_stake(ctx, unit, attempt, &after, EntryType::StakePlaced, now).await?;
    if let Some(PlacedFor { change, .. }) = &ordered {
        forget_if_superseded(unit, change).await?;
    }
    let mut resumed = Vec::new();
    for subscription in &mut sharing {
        let resumes = subscription.cancellation.as_ref().is_some_and(|end| end.clearing_stake.as_ref() == Some(hash));
        // The store may have scheduled its own cancellation meanwhile.
        if resumes && subscription.may_recover(Requester::Customer) {
            subscription.clear_cancellation();
            resumed.push(subscription.id.clone());
        }
        if is_overdraft {
            subscription.overdraft_stake_id = Some(id.clone());
            // Invoices that are overdue already get a grace period, too.
            let grace_over = subscription.past_due_since.map(|since| since.plus(ctx.policy.overdraft_grace).max(now));
            subscription.overdraft_at = subscription.overdraft_at.or(grace_over);
        } else {
            subscription.stake_id = Some(id.clone());
        }
        subscription.updated_at = now;
    }
    if !sharing.is_empty() && !unit.subscriptions().update_all(&sharing).await? {
        return Err(BillingError::Contended);
    }
    for superseded_stake in locked.iter().filter(|stake| stake.id != *id && !sharing.is_empty()) {
        release_if_unused(unit, superseded_stake, ReleaseReason::Superseded, ReleaseTime::Now, now).await?;
    }
    for id in &resumed {
        let resumed = Notification::Resumed { subscription: id.clone(), from: ResumedFrom::Cancellation, at: now };
        notify(ctx, unit, &resumed, ctx.now()).await?;
    }
    let (reason, description) = match (before.purpose, resumed.is_empty(), before.is_held()) {
        (StakePurpose::Overdraft, ..) => (BillingReason::StakeOverdraftProtection, Description::DepositForOverdraft),
        (_, false, _) => (BillingReason::SubscriptionRecover, Description::DepositToResume),
        (_, true, is_held) if is_held || ordered.is_some() => (BillingReason::Stake, Description::DepositForPlanChange),
        (_, true, _) => (BillingReason::Stake, Description::DepositForPaymentChange),
    };
    let terms = match sharing.first() {
        Some(one) if !is_overdraft => terms_of(unit, one, &after).await?,
        _ => None,
    };
    let pricing_formula = PricingFormula::of_stake(terms, attempt.amount);
    let statement = Statement { reason, description, reference, pricing_formula };
    record_stake_statement(ctx, unit, &after, statement, now).await
}

/// Lets the subscriptions of a checkout name a stake that was placed for a plan change before its delegation was granted. The stakes that
/// they named before are released.
pub(in crate::billing) async fn adopt_stake(ctx: &Context, id: &StakeId) -> Result<(), BillingError> {
    let mut unit = ctx.store.begin().await?;
    let found = unit.stakes().find(id).await?.ok_or(BillingError::Orphan)?;
    let sharing = lock_sharing(unit.as_mut(), &found).await?;
    let mut adopting: Vec<_> = sharing.into_iter().filter(|one| one.stake_id.as_ref() != Some(id)).collect();
    if adopting.is_empty() {
        return Ok(());
    }
    let superseded: BTreeSet<_> = adopting.iter().filter_map(|one| one.stake_id.clone()).collect();
    let ids: Vec<_> = superseded.iter().chain([id]).cloned().collect();
    let locked = unit.stakes().lock_all(&ids).await?;
    let Some(adopted) = locked.iter().find(|stake| stake.id == *id && stake.is_held()) else { return Ok(()) };
    if !may_replace(unit.as_mut(), adopted, &locked, &adopting).await? {
        return Ok(());
    }
    let now = time_of_customer(ctx, unit.as_mut(), &found.customer_id).await?;
    for subscription in &mut adopting {
        subscription.stake_id = Some(id.clone());
        subscription.updated_at = now;
    }
    if !unit.subscriptions().update_all(&adopting).await? {
        return Err(BillingError::Contended);
    }
    for superseded_stake in locked.iter().filter(|stake| stake.id != *id) {
        release_if_unused(unit.as_mut(), superseded_stake, ReleaseReason::Superseded, ReleaseTime::Now, now).await?;
    }
    unit.commit().await?;
    Ok(())
}
