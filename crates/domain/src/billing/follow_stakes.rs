//! Stakes that wallets take back by themselves: the network is asked, one look at each in [`STAKE_LOOK`].

use super::book::Book;
use super::{BillingError, CancelReason, Cancellation, Notice, Stake, StakeStatus, Subscription, SubscriptionStatus, announce, time_of};
use crate::context::Context;
use crate::payment::StakeState;
use crate::shared::{Amount, SubscriptionId};
use futures_util::FutureExt;
use futures_util::stream::{self, StreamExt};
use std::time::Duration;

/// How long a stake is not looked at again.
pub const STAKE_LOOK: Duration = Duration::from_secs(300);
/// A network may know nothing yet of a stake that was left just now.
const SETTLING: Duration = Duration::from_secs(3_600);
/// Questions to networks at the same time.
const AT_ONCE: usize = 16;

/// Looks at most at `limit` stakes. Where one was revoked, its subscription ends with the period, unless a new one is left until
/// then. A network that does not answer does not keep the others; the first failure is told in the end. Answers how many there were.
pub async fn follow_stakes(ctx: &Context, limit: u32) -> Result<usize, BillingError> {
    let now = ctx.now();
    let mut unit = ctx.store.begin().await?;
    let held = unit.subscriptions().claim_staked(now.minus(STAKE_LOOK), now, limit).await?;
    unit.commit().await?;
    let mut unit = ctx.store.read().await?;
    let book = Book::read(unit.as_mut(), &held).await?;
    drop(unit);
    let asked: Vec<_> = held.iter().map(|one| look(ctx, &book, one).boxed()).collect();
    let done: Vec<_> = stream::iter(asked).buffer_unordered(AT_ONCE).collect().await;
    match done.into_iter().find_map(Result::err) {
        Some(error) => Err(error),
        None => Ok(held.len()),
    }
}

/// What the network says of a stake now; nothing where none is served here.
pub(super) async fn at_network(ctx: &Context, stake: &Stake, subject: &SubscriptionId) -> Result<StakeState, BillingError> {
    let mut unit = ctx.store.read().await?;
    let method = unit.methods().find(&stake.method_id).await?.ok_or(BillingError::Orphan)?;
    let currency = unit.methods().find_currency(&stake.currency_id).await?.ok_or(BillingError::Orphan)?;
    drop(unit);
    match ctx.networks.wallet(method.kind) {
        Some(rail) => Ok(rail.staked(&method, &currency, &stake.payer, subject.as_str()).await?),
        None => Ok(StakeState::default()),
    }
}

async fn look(ctx: &Context, book: &Book, seen: &Subscription) -> Result<(), BillingError> {
    let Some(stake) = &seen.stake else { return Ok(()) };
    let (Some(method), Some(currency)) = (book.methods.get(&stake.method_id), book.currencies.get(&stake.currency_id)) else {
        return Ok(());
    };
    let Some(rail) = ctx.networks.wallet(method.kind) else { return Ok(()) };
    // By whoever left it: the subscription may be charged by another wallet since.
    let state = rail.staked(method, currency, &stake.payer, seen.id.as_str()).await?;
    let is_settled = ctx.now().since(seen.updated_at) > SETTLING;
    if is_revoked(state, stake.amount, is_settled) { note(ctx, seen).await } else { Ok(()) }
}

/// What is missing was revoked, and perhaps claimed since.
fn is_revoked(state: StakeState, left: Amount, is_settled: bool) -> bool {
    state.held < left && (is_settled || !state.revoked.is_zero())
}

/// Written only where nothing has changed since the look: what the store took or gave back meanwhile is missing as well.
async fn note(ctx: &Context, seen: &Subscription) -> Result<(), BillingError> {
    let mut unit = ctx.store.begin().await?;
    let Some(mut subscription) = unit.subscriptions().lock(&seen.id).await?.filter(|one| one.version == seen.version) else {
        return Ok(());
    };
    let now = time_of(ctx, unit.as_mut(), subscription.clock_id.as_ref()).await?;
    if let Some(stake) = &mut subscription.stake {
        stake.status = StakeStatus::Revoked;
    }
    if subscription.ends_at().is_none() {
        let reason = CancelReason::StakeRevoked;
        subscription.cancellation = Some(Cancellation { reason, feedback: None, comment: String::new(), requested_at: now });
        subscription.canceled_at = Some(now);
        subscription.cancel_at_period_end = true;
        if subscription.status == SubscriptionStatus::Paused {
            // The engine looks at the periods of those that run only.
            subscription.cancel_at = Some(subscription.period.end);
        }
        announce(ctx, unit.as_mut(), &Notice::Canceled(subscription.id.clone()), ctx.now()).await?;
    }
    subscription.updated_at = now;
    if unit.subscriptions().update(&subscription).await? {
        unit.commit().await?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stake_is_revoked_when_less_is_there_than_was_left() {
        let state = |held, revoked| StakeState { held: Amount::new(held), revoked: Amount::new(revoked) };
        for (state, is_settled, is) in [
            (state(10, 0), true, false),
            (state(12, 0), true, false),
            (state(0, 10), false, true),
            (state(4, 6), false, true),
            (state(0, 0), true, true),
            (state(0, 0), false, false),
        ] {
            assert_eq!(is_revoked(state, Amount::new(10), is_settled), is, "{state:?}");
        }
    }
}
