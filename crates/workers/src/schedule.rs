//! The recurring jobs and their periods, in one table. Every process runs all of them; conditional updates ensure that each row is
//! processed once.

use futures_util::stream::{FuturesUnordered, StreamExt};
use souk_domain::access::AUDIT_LOG_RETENTION;
use souk_domain::billing::{self, Scope};
use souk_domain::checkout;
use souk_domain::context::Context;
use souk_domain::doctor;
use souk_domain::mail::CONFIRMATION_INTERVAL;
use souk_domain::operation::{ClockTrust, ClockWatch, HOUR, check_clock, check_restore_hold, enforce_order_limit, enforce_visitor_limits};
use souk_domain::payment;
use souk_domain::privacy;
use souk_domain::publishing::access_tokens;
use souk_domain::publishing::instances::INSTANCE_LIFETIME;
use souk_domain::shared::{MethodId, SessionId, StorageError, Timestamp};
use souk_domain::storage::IDEMPOTENCY_LIFETIME_HOURS;
use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;
use tokio_util::sync::CancellationToken;

/// Maximum number of rows per step; the rest stays due for the next run.
const CHUNK: u32 = 200;

/// Maximum number of chunks that one run removes from each table; more than anonymous requests can write in a minute.
const PRUNE_CHUNKS_MAX: u32 = 500;
/// How long the access token of a CI is kept after its expiry. An upload that it has begun takes less.
const CI_TOKEN_GRACE: Duration = Duration::from_secs(3_600);
/// Number of renewals per commit.
const RENEWAL_BATCH: u32 = 200;

#[derive(Debug, Clone, Copy)]
enum RecurringJob {
    /// Queries the networks for the result of undecided attempts.
    CheckAttempts,
    /// Looks up settled payments of wallets again, which a chain reorganization can have removed.
    RecheckSettled,
    ExpireSessions,
    /// Ends connect sessions that a wallet has scanned and not completed in time.
    ExpireConnectSessions,
    /// Returns the stock of submitted orders that nobody has continued.
    ReleaseIdleStock,
    /// Deletes what visitors have started beyond what the store keeps.
    EnforceVisitorLimits,
    /// Deletes orders that expired unpaid, beyond what the store keeps.
    EnforceOrderLimit,
    /// Renews and ends subscriptions that are due.
    Renew,
    /// Retries declined collections of unpaid invoices.
    RetryOverdue,
    /// Reads refunds and disputes whose webhook deliveries were lost from the card processors' lists of events.
    ReadCardEvents,
    /// Makes plan changes that waited for a network's decision.
    ChangePlans,
    /// Queries the networks for stakes that their payers have revoked.
    CheckStakes,
    /// Returns and forfeits stakes that are due.
    MoveStakes,
    /// Sends refunds and stake transfers again that lacked gas, once the store can pay it.
    RetryWithoutGas,
    /// Continues test clocks whose job was lost.
    AdvanceClocks,
    /// Removes expired logins, sign-ins of computers, sessions of wallets and tools, access tokens of CI, instances of apps, idempotency
    /// keys, old orders that were never submitted or never paid, users who have nothing in the store, and old entries of the audit log.
    Prune,
    /// Compares the clock with the database and the stored mark.
    CheckClock,
    /// Measures the disk, so that a shortage is logged even if nobody visits the store.
    CheckDisk,
    /// In a restored store: imports what its networks did since the backup.
    ImportMovements,
    /// In a restored store: ends the hold once its original is stopped.
    CheckRestore,
    ReportProcess,
    /// Orders emails to the owner about what is wrong.
    NotifyOwner,
    /// Orders emails to developers about access tokens that expire soon.
    RemindOfTokens,
}

impl RecurringJob {
    /// Whether the job charges, ends or deletes something because a time has come, or makes something due now. Such jobs wait while the
    /// clock is not trusted; the others only learn what has happened, or follow test clocks.
    const fn depends_on_clock(self) -> bool {
        match self {
            // A second look at a doubted payment reverses it, so the time between the looks must have passed.
            Self::RecheckSettled => true,
            Self::ExpireSessions | Self::ExpireConnectSessions | Self::Renew | Self::RetryOverdue | Self::ChangePlans => true,
            Self::MoveStakes | Self::RetryWithoutGas | Self::ReleaseIdleStock | Self::Prune | Self::EnforceOrderLimit => true,
            Self::RemindOfTokens => true,
            Self::CheckAttempts | Self::ReadCardEvents | Self::CheckStakes | Self::AdvanceClocks | Self::EnforceVisitorLimits => false,
            Self::CheckClock | Self::CheckDisk | Self::ImportMovements | Self::CheckRestore | Self::ReportProcess | Self::NotifyOwner => {
                false
            }
        }
    }

    /// Whether the job waits while a restored store is held: if it acts because a time has come, of a test clock as well.
    const fn waits_for_original(self) -> bool {
        self.depends_on_clock() || matches!(self, Self::AdvanceClocks)
    }
}

const TABLE: [(RecurringJob, Duration); 23] = [
    (RecurringJob::CheckAttempts, Duration::from_secs(1)),
    // Each payment is looked up once, and again only in doubt; the period and `CHUNK` bound the number of calls.
    (RecurringJob::RecheckSettled, Duration::from_secs(10)),
    (RecurringJob::ExpireSessions, Duration::from_secs(5)),
    (RecurringJob::ExpireConnectSessions, Duration::from_secs(5)),
    (RecurringJob::ReleaseIdleStock, Duration::from_secs(30)),
    // In this time, the rate limits of each address bound what is beyond the limits of the store.
    (RecurringJob::EnforceVisitorLimits, Duration::from_secs(10)),
    // An order is kept for days in any case, and counting takes a second where many are kept.
    (RecurringJob::EnforceOrderLimit, Duration::from_secs(300)),
    (RecurringJob::Renew, Duration::from_secs(1)),
    (RecurringJob::RetryOverdue, Duration::from_secs(5)),
    (RecurringJob::ChangePlans, Duration::from_secs(1)),
    // Each method's list is read every hour.
    (RecurringJob::ReadCardEvents, Duration::from_secs(60)),
    // Each stake is due for a check every five minutes; the period and `CHUNK` bound the number of checks at a time.
    (RecurringJob::CheckStakes, Duration::from_secs(10)),
    (RecurringJob::MoveStakes, Duration::from_secs(10)),
    (RecurringJob::RetryWithoutGas, Duration::from_secs(10)),
    (RecurringJob::AdvanceClocks, Duration::from_secs(5)),
    (RecurringJob::Prune, Duration::from_secs(60)),
    CHECK_CLOCK,
    (RecurringJob::CheckDisk, Duration::from_secs(30)),
    (RecurringJob::ImportMovements, Duration::from_secs(5)),
    CHECK_RESTORE,
    REPORT_PROCESS,
    (RecurringJob::NotifyOwner, Duration::from_secs(60)),
    (RecurringJob::RemindOfTokens, Duration::from_secs(300)),
];
const CHECK_CLOCK: (RecurringJob, Duration) = (RecurringJob::CheckClock, Duration::from_secs(5));
// A report is true for two minutes.
const REPORT_PROCESS: (RecurringJob, Duration) = (RecurringJob::ReportProcess, Duration::from_secs(30));
const CHECK_RESTORE: (RecurringJob, Duration) = (RecurringJob::CheckRestore, Duration::from_secs(2));

/// Only checks the clock, for a process without workers: what it learns from networks concerns the workers of the others as well.
pub async fn watch_clock(ctx: Context, watch: Arc<ClockWatch>, shutdown: CancellationToken) {
    let (job, period) = CHECK_CLOCK;
    repeat(ctx, Some(&watch), job, period, shutdown).await;
}

/// Only learns that a restored store is held no longer, for a process without workers.
pub async fn watch_restore(ctx: Context, shutdown: CancellationToken) {
    let (job, period) = CHECK_RESTORE;
    repeat(ctx, None, job, period, shutdown).await;
}

/// Only reports what this process sees, for a process without workers.
pub async fn watch_process(ctx: Context, shutdown: CancellationToken) {
    let (job, period) = REPORT_PROCESS;
    repeat(ctx, None, job, period, shutdown).await;
}

/// Runs every job at its period until `shutdown`. Running jobs are canceled then: each of their steps is crash-safe, and a network
/// that hangs could delay the shutdown by a minute. `watch`: `None` if the clock is simulated, and jumps on purpose.
pub async fn run(ctx: Context, watch: Option<Arc<ClockWatch>>, shutdown: CancellationToken) {
    let watch = watch.as_deref();
    if let Err(error) = check(&ctx, watch).await {
        tracing::error!(error, "the clock could not be checked; it is checked again in a few seconds");
    }
    let jobs = TABLE.into_iter().map(|(job, period)| repeat(ctx.clone(), watch, job, period, shutdown.clone()));
    futures_util::future::join_all(jobs).await;
}

async fn repeat(ctx: Context, watch: Option<&ClockWatch>, job: RecurringJob, period: Duration, shutdown: CancellationToken) {
    let mut ticks = tokio::time::interval(period);
    ticks.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
    let ctx = &ctx;
    // The networks with a batch in progress. A network gets its next batch when its last one has ended.
    let (mut batches, mut busy) = (FuturesUnordered::new(), BTreeSet::new());
    loop {
        tokio::select! {
            () = shutdown.cancelled() => return,
            Some((network, result)) = batches.next() => {
                busy.remove(&network);
                report(job, result);
                continue;
            }
            _ = ticks.tick() => {}
        }
        if job.depends_on_clock() && !is_trusted(watch) || job.waits_for_original() && ctx.networks.is_held() {
            continue;
        }
        let result = tokio::select! {
            () = shutdown.cancelled() => return,
            result = once(ctx, watch, job) => result,
        };
        match result {
            Ok(due) => {
                let due = due.into_iter().filter(|batch| busy.insert(batch.network.clone()));
                batches.extend(due.map(|batch| async move {
                    let result = batch.run(ctx).await;
                    (batch.network, result)
                }));
            }
            Err(error) => report(job, Err(error)),
        }
    }
}

fn report(job: RecurringJob, result: Result<(), String>) {
    if let Err(error) = result {
        tracing::error!(?job, error, "a recurring job failed; it runs again at its next time");
    }
}

/// The part of a job that waits for one network. Each network has its own, so that one that hangs delays no other.
struct NetworkBatch {
    network: MethodId,
    work: NetworkWork,
}

enum NetworkWork {
    CheckAttempts,
    Expire(Vec<SessionId>),
}

impl NetworkBatch {
    async fn run(&self, ctx: &Context) -> Result<(), String> {
        match &self.work {
            NetworkWork::CheckAttempts => {
                payment::check_due_at(ctx, &self.network, CHUNK).await.map(drop).map_err(|error| error.to_string())
            }
            NetworkWork::Expire(sessions) => {
                checkout::expire_at(ctx, &self.network, sessions).await.map(drop).map_err(|error| error.to_string())
            }
        }
    }
}

async fn check_attempts(ctx: &Context) -> Result<Vec<NetworkBatch>, StorageError> {
    let networks = payment::networks_due(ctx).await?;
    Ok(networks.into_iter().map(|network| NetworkBatch { network, work: NetworkWork::CheckAttempts }).collect())
}

/// Expires sessions that wait for no network, and returns the others.
async fn expire_sessions(ctx: &Context) -> Result<Vec<NetworkBatch>, checkout::ExpireError> {
    let checkout::Expiry { waiting, failure, .. } = checkout::expire_unpaid(ctx, CHUNK).await?;
    report(RecurringJob::ExpireSessions, failure.map_or(Ok(()), |error| Err(error.to_string())));
    Ok(waiting.into_iter().map(|(network, sessions)| NetworkBatch { network, work: NetworkWork::Expire(sessions) }).collect())
}

async fn check(ctx: &Context, watch: Option<&ClockWatch>) -> Result<(), String> {
    match watch {
        Some(watch) => check_clock(ctx, watch).await.map_err(|error| error.to_string()),
        None => Ok(()),
    }
}

fn is_trusted(watch: Option<&ClockWatch>) -> bool {
    watch.is_none_or(ClockTrust::is_trusted)
}

/// Runs a job, except for the batches that it returns.
async fn once(ctx: &Context, watch: Option<&ClockWatch>, job: RecurringJob) -> Result<Vec<NetworkBatch>, String> {
    let text = |error: &dyn std::fmt::Display| error.to_string();
    match job {
        RecurringJob::CheckAttempts => return check_attempts(ctx).await.map_err(|error| text(&error)),
        RecurringJob::ExpireSessions => return expire_sessions(ctx).await.map_err(|error| text(&error)),
        RecurringJob::RecheckSettled => payment::recheck_settled(ctx, CHUNK).await.map(drop).map_err(|error| text(&error)),
        RecurringJob::ExpireConnectSessions => payment::expire_connect_sessions(ctx, CHUNK).await.map(drop).map_err(|error| text(&error)),
        RecurringJob::ReleaseIdleStock => checkout::release_idle_stock(ctx, CHUNK).await.map(drop).map_err(|error| text(&error)),
        RecurringJob::EnforceVisitorLimits => enforce_visitor_limits(ctx).await.map(drop).map_err(|error| text(&error)),
        RecurringJob::EnforceOrderLimit => enforce_order_limit(ctx).await.map(drop).map_err(|error| text(&error)),
        RecurringJob::Renew => renew(ctx, watch).await.map_err(|error| text(&error)),
        RecurringJob::RetryOverdue => retry_overdue(ctx, watch).await.map_err(|error| text(&error)),
        RecurringJob::ReadCardEvents => billing::read_event_lists(ctx).await.map_err(|error| text(&error)),
        RecurringJob::ChangePlans => billing::make_ordered_plan_changes(ctx, CHUNK).await.map(drop).map_err(|error| text(&error)),
        RecurringJob::CheckStakes => billing::check_stakes(ctx, CHUNK).await.map(drop).map_err(|error| text(&error)),
        RecurringJob::MoveStakes => {
            let moved = billing::move_due_stakes(ctx, &Scope::Wall, ctx.now(), CHUNK).await;
            moved.map(drop).map_err(|error| text(&error))
        }
        RecurringJob::RetryWithoutGas => billing::retry_without_gas(ctx, CHUNK).await.map(drop).map_err(|error| text(&error)),
        RecurringJob::AdvanceClocks => advance_clocks(ctx).await.map_err(|error| text(&error)),
        RecurringJob::Prune => prune(ctx).await.map_err(|error| text(&error)),
        RecurringJob::CheckClock => check(ctx, watch).await,
        RecurringJob::CheckDisk => {
            // The adapter logs a change.
            ctx.disk.shortage();
            Ok(())
        }
        RecurringJob::ImportMovements if ctx.networks.is_held() => billing::import_movements(ctx).await.map_err(|error| text(&error)),
        RecurringJob::ImportMovements => Ok(()),
        RecurringJob::CheckRestore => check_restore_hold(ctx).await.map(drop).map_err(|error| text(&error)),
        RecurringJob::ReportProcess => doctor::report_process(ctx).await.map_err(|error| text(&error)),
        RecurringJob::RemindOfTokens => access_tokens::order_expiry_reminders(ctx, CHUNK).await.map(drop).map_err(|error| text(&error)),
        RecurringJob::NotifyOwner => doctor::notify_owner(ctx).await.map(drop).map_err(|error| text(&error)),
    }?;
    Ok(Vec::new())
}

/// Renews batch after batch until nothing is due, because a whole day's renewals can be due after an outage. The clock is compared before
/// each.
async fn renew(ctx: &Context, watch: Option<&ClockWatch>) -> Result<(), billing::BillingError> {
    while is_trusted(watch) {
        let batch = billing::renew_due(ctx, &Scope::Wall, ctx.now(), RENEWAL_BATCH).await?;
        if let Some(error) = batch.trouble {
            tracing::error!(%error, "cannot sign the charges of a payment method");
        }
        if batch.due < RENEWAL_BATCH as usize {
            break;
        }
    }
    Ok(())
}

/// Retries collections batch after batch until nothing is due, because all retries of a day become due together. The clock is compared
/// before each.
pub async fn retry_overdue(ctx: &Context, watch: Option<&ClockWatch>) -> Result<(), billing::BillingError> {
    while is_trusted(watch) {
        let batch = billing::retry_due(ctx, &Scope::Wall, ctx.now(), CHUNK).await?;
        if let Some(error) = batch.trouble {
            tracing::error!(%error, "cannot sign the charges of a payment method");
        }
        if batch.due < CHUNK as usize {
            break;
        }
    }
    Ok(())
}

async fn advance_clocks(ctx: &Context) -> Result<(), billing::BillingError> {
    for clock in billing::lost_clocks(ctx, CHUNK).await? {
        billing::advance_clock(ctx, &clock).await?;
    }
    Ok(())
}

/// Rows that are removed once they have expired.
#[derive(Debug, Clone, Copy)]
enum Expired {
    BrowserSessions,
    Devices,
    ConnectSessions,
    ToolSessions,
    IdempotencyKeys,
    UnsubmittedSessions,
    UnpaidOrders,
    UnusedUsers,
    UnconfirmedAddresses,
    HourlyCounts,
    RequestNonces,
    AccessTokensOfCi,
    UsedCiTokens,
    UsedAppProofs,
    AppInstances,
    AuditLog,
}

/// Removes all rows that have expired now. Each chunk is a separate commit, so that other writers do not wait long.
///
/// # Errors
/// The first failure. The rows of the other kinds were removed.
pub async fn prune(ctx: &Context) -> Result<(), StorageError> {
    let now = ctx.now();
    let mut failure = None;
    for expired in [
        Expired::BrowserSessions,
        Expired::Devices,
        Expired::ConnectSessions,
        Expired::ToolSessions,
        Expired::IdempotencyKeys,
        Expired::UnsubmittedSessions,
        Expired::UnpaidOrders,
        Expired::UnusedUsers,
        Expired::UnconfirmedAddresses,
        Expired::HourlyCounts,
        Expired::RequestNonces,
        Expired::AccessTokensOfCi,
        Expired::UsedCiTokens,
        Expired::UsedAppProofs,
        Expired::AppInstances,
        Expired::AuditLog,
    ] {
        if let Err(error) = prune_kind(ctx, expired, now).await {
            tracing::error!(?expired, %error, "expired rows could not be removed; the other kinds are");
            failure = failure.or(Some(error));
        }
    }
    failure.map_or(Ok(()), Err)
}

async fn prune_kind(ctx: &Context, expired: Expired, now: Timestamp) -> Result<(), StorageError> {
    for _ in 0..PRUNE_CHUNKS_MAX {
        if prune_chunk(ctx, expired, now).await? < u64::from(CHUNK) {
            break;
        }
    }
    Ok(())
}

async fn prune_chunk(ctx: &Context, expired: Expired, now: Timestamp) -> Result<u64, StorageError> {
    let limits = &ctx.limits;
    let mut unit = ctx.store.begin().await?;
    let removed = match expired {
        Expired::BrowserSessions => unit.browser_sessions().prune(now, CHUNK).await?,
        Expired::Devices => unit.devices().prune(now, CHUNK).await?,
        Expired::ConnectSessions => unit.connect_sessions().prune(now, CHUNK).await?,
        Expired::ToolSessions => unit.tool_sessions().prune(now, CHUNK).await?,
        Expired::IdempotencyKeys => {
            let old = now.minus(Duration::from_secs(IDEMPOTENCY_LIFETIME_HOURS * 3_600));
            unit.idempotency().prune(old, CHUNK).await?
        }
        Expired::UnsubmittedSessions => unit.sessions().prune_unsubmitted(limits.old(now), CHUNK).await?,
        Expired::UnpaidOrders => unit.sessions().prune_unpaid(limits.old_order(now), CHUNK).await?,
        Expired::UnusedUsers => privacy::delete_unused_users(ctx, unit.as_mut(), limits.old(now), CHUNK).await?,
        Expired::UnconfirmedAddresses => unit.mail_addresses().prune_unconfirmed(now.minus(CONFIRMATION_INTERVAL), CHUNK).await?,
        Expired::HourlyCounts => unit.hourly_counts().prune(now.minus(HOUR * 2), CHUNK).await?,
        Expired::RequestNonces => unit.access_tokens().prune_nonces(now, CHUNK).await?,
        // A request that was verified, or an upload that was admitted, just before the expiry still refers to it.
        Expired::AccessTokensOfCi => unit.access_tokens().prune_of_ci(now.minus(CI_TOKEN_GRACE), CHUNK).await?,
        Expired::UsedCiTokens => unit.trusted_publishers().prune_used(now, CHUNK).await?,
        Expired::UsedAppProofs => unit.app_instances().prune_proofs(now, CHUNK).await?,
        Expired::AppInstances => unit.app_instances().prune(now.minus(INSTANCE_LIFETIME), CHUNK).await?,
        Expired::AuditLog => unit.audit_log().prune(now.minus(AUDIT_LOG_RETENTION), CHUNK).await?,
    };
    unit.commit().await?;
    Ok(removed)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn jobs_that_act_because_a_time_has_come_wait_for_the_clock_and_those_that_learn_do_not() {
        let waiting: Vec<_> = TABLE.into_iter().filter(|(job, _)| job.depends_on_clock()).map(|(job, _)| format!("{job:?}")).collect();
        assert_eq!(
            waiting,
            [
                "RecheckSettled",
                "ExpireSessions",
                "ExpireConnectSessions",
                "ReleaseIdleStock",
                "EnforceOrderLimit",
                "Renew",
                "RetryOverdue",
                "ChangePlans",
                "MoveStakes",
                "RetryWithoutGas",
                "Prune",
                "RemindOfTokens"
            ]
        );
        let others: Vec<_> = TABLE.into_iter().filter(|(job, _)| !job.depends_on_clock()).map(|(job, _)| format!("{job:?}")).collect();
        assert_eq!(
            others,
            [
                "CheckAttempts",
                "EnforceVisitorLimits",
                "ReadCardEvents",
                "CheckStakes",
                "AdvanceClocks",
                "CheckClock",
                "CheckDisk",
                "ImportMovements",
                "CheckRestore",
                "ReportProcess",
                "NotifyOwner"
            ]
        );
        // A restored store does the same as one with a doubted clock, and advances no test clock.
        let while_held: Vec<_> =
            TABLE.into_iter().filter(|(job, _)| !job.waits_for_original()).map(|(job, _)| format!("{job:?}")).collect();
        assert_eq!(
            while_held,
            [
                "CheckAttempts",
                "EnforceVisitorLimits",
                "ReadCardEvents",
                "CheckStakes",
                "CheckClock",
                "CheckDisk",
                "ImportMovements",
                "CheckRestore",
                "ReportProcess",
                "NotifyOwner"
            ]
        );
    }
}
