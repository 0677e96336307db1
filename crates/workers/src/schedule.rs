//! Every recurring round and its period, in one table. Each process runs all of them: what they do is guarded by
//! conditional updates, so that two at once do it once.

use souk_domain::billing::{self, Scope};
use souk_domain::checkout;
use souk_domain::context::Context;
use souk_domain::payment;
use souk_domain::shared::StorageError;
use souk_domain::storage::IDEMPOTENCY_LIFETIME_HOURS;
use std::time::Duration;
use tokio_util::sync::CancellationToken;

/// The most rows of one step; what is left is due again in the next round.
const CHUNK: u32 = 200;

/// The most chunks that one round removes from each table: what strangers can write in a minute is less.
const PRUNED_CHUNKS: u32 = 500;
/// Renewals of one commit.
const RENEWALS: u32 = 200;

#[derive(Debug, Clone, Copy)]
enum Round {
    /// Asks the networks about attempts that are not decided.
    CheckAttempts,
    ExpireSessions,
    /// Renews and ends subscriptions whose time has come.
    Renew,
    /// Tries again to collect what was refused.
    RetryDebts,
    /// Asks the networks which stakes their payers took back.
    CheckStakes,
    /// Returns released stakes, and takes what is owed.
    MoveStakes,
    /// Goes on with test clocks whose message got lost.
    AdvanceClocks,
    /// Removes logins, connect sessions and idempotency keys that are over.
    Prune,
}

const TABLE: [(Round, Duration); 8] = [
    (Round::CheckAttempts, Duration::from_secs(1)),
    (Round::ExpireSessions, Duration::from_secs(5)),
    (Round::Renew, Duration::from_secs(1)),
    (Round::RetryDebts, Duration::from_secs(5)),
    // Each stake comes up every five minutes; the table says how many at a time.
    (Round::CheckStakes, Duration::from_secs(10)),
    (Round::MoveStakes, Duration::from_secs(10)),
    (Round::AdvanceClocks, Duration::from_secs(5)),
    (Round::Prune, Duration::from_secs(60)),
];

/// Runs every round at its period until `shutdown`. A round in hand is given up then: each of its steps is safe against a
/// crash, and a network that hangs would keep it for a minute.
pub async fn run(ctx: Context, shutdown: CancellationToken) {
    let rounds = TABLE.into_iter().map(|(round, period)| repeat(ctx.clone(), round, period, shutdown.clone()));
    futures_util::future::join_all(rounds).await;
}

async fn repeat(ctx: Context, round: Round, period: Duration, shutdown: CancellationToken) {
    let mut ticks = tokio::time::interval(period);
    ticks.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
    loop {
        tokio::select! {
            () = shutdown.cancelled() => return,
            _ = ticks.tick() => {}
        }
        let done = tokio::select! {
            () = shutdown.cancelled() => return,
            done = once(&ctx, round) => done,
        };
        if let Err(error) = done {
            tracing::error!(?round, error, "a recurring job failed; it runs again at its next time");
        }
    }
}

async fn once(ctx: &Context, round: Round) -> Result<(), String> {
    let told = |error: &dyn std::fmt::Display| error.to_string();
    match round {
        Round::CheckAttempts => payment::check_due(ctx, CHUNK).await.map(drop).map_err(|error| told(&error)),
        Round::ExpireSessions => checkout::expire_due(ctx, CHUNK).await.map(drop).map_err(|error| told(&error)),
        Round::Renew => renew(ctx).await.map_err(|error| told(&error)),
        Round::RetryDebts => retry_debts(ctx).await.map_err(|error| told(&error)),
        Round::CheckStakes => billing::check_stakes(ctx, CHUNK).await.map(drop).map_err(|error| told(&error)),
        Round::MoveStakes => {
            let moved = billing::move_due_stakes(ctx, &Scope::Wall, ctx.now(), CHUNK).await;
            moved.map(drop).map_err(|error| told(&error))
        }
        Round::AdvanceClocks => advance_clocks(ctx).await.map_err(|error| told(&error)),
        Round::Prune => prune(ctx).await.map_err(|error| told(&error)),
    }
}

/// Batch after batch until nothing is due: after an outage a day's renewals are waiting.
async fn renew(ctx: &Context) -> Result<(), billing::BillingError> {
    loop {
        let round = billing::renew_due(ctx, &Scope::Wall, ctx.now(), RENEWALS).await?;
        if let Some(error) = round.trouble {
            tracing::error!(%error, "cannot sign the charges of a payment method");
        }
        if round.due < RENEWALS as usize {
            return Ok(());
        }
    }
}

/// The same for debts: those of one day come up together.
pub async fn retry_debts(ctx: &Context) -> Result<(), billing::BillingError> {
    loop {
        let round = billing::retry_due(ctx, &Scope::Wall, ctx.now(), CHUNK).await?;
        if let Some(error) = round.trouble {
            tracing::error!(%error, "cannot sign the charges of a payment method");
        }
        if round.due < CHUNK as usize {
            return Ok(());
        }
    }
}

async fn advance_clocks(ctx: &Context) -> Result<(), billing::BillingError> {
    for clock in billing::lost_clocks(ctx, CHUNK).await? {
        billing::advance_clock(ctx, &clock).await?;
    }
    Ok(())
}

/// What is removed when it is over.
#[derive(Debug, Clone, Copy)]
enum Over {
    BrowserSessions,
    ConnectSessions,
    IdempotencyKeys,
}

/// Removes what is over, in chunks of a commit each so that nobody waits for long, until nothing is left.
pub async fn prune(ctx: &Context) -> Result<(), StorageError> {
    for over in [Over::BrowserSessions, Over::ConnectSessions, Over::IdempotencyKeys] {
        for _ in 0..PRUNED_CHUNKS {
            if prune_chunk(ctx, over).await? < u64::from(CHUNK) {
                break;
            }
        }
    }
    Ok(())
}

async fn prune_chunk(ctx: &Context, over: Over) -> Result<u64, StorageError> {
    let now = ctx.now();
    let mut unit = ctx.store.begin().await?;
    let removed = match over {
        Over::BrowserSessions => unit.logins().prune(now, CHUNK).await?,
        Over::ConnectSessions => unit.connect_sessions().prune(now, CHUNK).await?,
        Over::IdempotencyKeys => {
            let old = now.minus(Duration::from_secs(IDEMPOTENCY_LIFETIME_HOURS * 3_600));
            unit.idempotency().prune(old, CHUNK).await?
        }
    };
    unit.commit().await?;
    Ok(removed)
}
