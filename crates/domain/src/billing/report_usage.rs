//! Reports the usage of metered items.

use super::billing_threshold::bill_when_reached;
use super::charges::publish_charges;
use super::period_lines::usage_of;
use super::subscription_error::convert_subscription_errors;
use super::{Period, Subscription, SubscriptionError, SubscriptionStatus, UsageAction, UsageRecord, period, time_of};
use crate::context::Context;
use crate::pricing::{Aggregate, Usage};
use crate::shared::{Listed, Mode, Page, StorageError, SubscriptionItemId, Timestamp, UsageRecordId, check_count, check_text};
use crate::storage::UnitOfWork;

/// The highest quantity of one record.
pub const USAGE_MAX: u64 = 1_000_000_000_000;
/// The maximum length of an idempotency identifier in characters.
const IDENTIFIER_MAX: usize = 128;
/// The most periods in a summary.
pub const SUMMARY_MAX: u32 = 12;

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UsageReport {
    pub item: SubscriptionItemId,
    pub quantity: u64,
    pub action: UsageAction,
    /// `None`: now.
    pub at: Option<Timestamp>,
    /// The sender's idempotency identifier: reports with the same identifier count once.
    pub identifier: Option<String>,
}

/// Why the usage of an item cannot be read.
#[derive(Debug, thiserror::Error)]
pub enum ReadUsageError {
    #[error("Sorry, the page you visited does not exist.")]
    NotFound,
    #[error("This item is not billed by usage")]
    NotMetered,
    #[error(transparent)]
    Storage(#[from] StorageError),
}

/// Why usage cannot be recorded.
#[derive(Debug, thiserror::Error)]
pub enum ReportUsageError {
    #[error("This item is not billed by usage")]
    NotMetered,
    #[error("The usage must be in the current period and not in the future")]
    UsageOutOfPeriod,
    #[error(transparent)]
    Subscription(#[from] SubscriptionError),
}

convert_subscription_errors!(ReportUsageError::Subscription);

impl From<ReadUsageError> for ReportUsageError {
    fn from(error: ReadUsageError) -> Self {
        match error {
            ReadUsageError::NotFound => SubscriptionError::NotFound.into(),
            ReadUsageError::NotMetered => Self::NotMetered,
            ReadUsageError::Storage(error) => error.into(),
        }
    }
}

/// The subscription of a metered item, and how the item's usage is aggregated.
struct MeteredItem {
    subscription: Subscription,
    aggregate: Aggregate,
}

/// Finds a metered item in this mode.
async fn metered(unit: &mut dyn UnitOfWork, mode: Mode, item: &SubscriptionItemId) -> Result<MeteredItem, ReadUsageError> {
    let found = unit.subscriptions().of_item(item).await?;
    let subscription = found.filter(|subscription| subscription.mode == mode).ok_or(ReadUsageError::NotFound)?;
    let item = subscription.items.iter().find(|one| one.id == *item).ok_or(ReadUsageError::NotFound)?;
    let price = unit.prices().find(&item.price_id).await?.ok_or(ReadUsageError::NotFound)?;
    match usage_of(&price) {
        Some(Usage::Metered(aggregate)) => Ok(MeteredItem { subscription, aggregate }),
        _ => Err(ReadUsageError::NotMetered),
    }
}

/// Whether usage at `at` can be put on a future invoice: of the current period, or of the next one, which begins as soon as the engine
/// renews the subscription.
fn is_billable(subscription: &Subscription, at: Timestamp) -> bool {
    // Dunning waits while it is on hold.
    let deadline = if subscription.on_hold.is_some() { None } else { subscription.dunning_deadline() };
    let ends = [subscription.ends_at(), deadline].into_iter().flatten().any(|end| end <= subscription.period.end);
    subscription.period.contains(at) || (at >= subscription.period.end && !ends)
}

/// Writes a usage record, once per identifier: a repeated report returns the first record. Bills the usage if it reaches the billing
/// threshold.
#[tracing::instrument(skip_all)]
pub async fn report_usage(ctx: &Context, mode: Mode, report: &UsageReport) -> Result<UsageRecord, ReportUsageError> {
    match record(ctx, mode, report, true).await {
        // A concurrent report has used the last charge within a limit, or changed the same invoices: the usage is recorded, and a later
        // report or the invoice of the period bills it.
        Err(ReportUsageError::Subscription(SubscriptionError::Contended)) => record(ctx, mode, report, false).await,
        recorded => recorded,
    }
}

async fn record(ctx: &Context, mode: Mode, report: &UsageReport, may_bill: bool) -> Result<UsageRecord, ReportUsageError> {
    check_count("quantity", report.quantity, USAGE_MAX)?;
    let id = UsageRecordId::new(ctx.now(), ctx.random.as_ref());
    let identifier = report.identifier.as_deref().filter(|identifier| !identifier.trim().is_empty()).unwrap_or(id.as_str());
    let identifier = check_text("identifier", identifier, IDENTIFIER_MAX)?;
    let mut unit = ctx.store.begin().await?;
    let subscription = metered(unit.as_mut(), mode, &report.item).await?.subscription;
    // A repeated report succeeds however late it arrives.
    let known = unit.usage().find(&report.item, &identifier).await?;
    if let Some(known) = known {
        return Ok(known);
    }
    // Keeps a concurrent renewal from ending the period after it has read the usage. With a billing threshold, reports are serialized, so
    // that one of them sees the threshold reached.
    let locked = match subscription.billing_threshold {
        Some(_) => unit.subscriptions().lock(&subscription.id).await?,
        None => unit.subscriptions().lock_shared(&subscription.id).await?,
    };
    let subscription = locked.ok_or(SubscriptionError::NotFound)?;
    let now = time_of(ctx, unit.as_mut(), subscription.clock_id.as_ref()).await?;
    // A report in whole seconds can name the second in which the counting began. It then means the part of that second after that moment.
    let counts_from = subscription.items.iter().find(|item| item.id == report.item).map(|item| item.counts_from(&subscription.period));
    let reported_at = report.at.unwrap_or(now);
    let at = match counts_from {
        Some(counts_from) if reported_at.seconds() == counts_from.seconds() => reported_at.max(counts_from),
        _ => reported_at,
    };
    let is_running = matches!(subscription.status, SubscriptionStatus::Active | SubscriptionStatus::Trialing | SubscriptionStatus::PastDue);
    if !is_running || reported_at > now || !is_billable(&subscription, at) || counts_from.is_none_or(|counts_from| at < counts_from) {
        return Err(ReportUsageError::UsageOutOfPeriod);
    }
    let record =
        UsageRecord { id, item_id: report.item.clone(), identifier, quantity: report.quantity, action: report.action, at, created_at: now };
    if !unit.usage().insert(&record).await? {
        return Err(SubscriptionError::Contended.into());
    }
    let charge = match may_bill && subscription.period.contains(at) {
        true => bill_when_reached(ctx, unit.as_mut(), subscription, now).await?,
        // Its period has not begun, or the charge waits.
        false => None,
    };
    publish_charges(ctx, unit.as_mut(), charge.as_slice()).await?;
    unit.commit().await?;
    Ok(record)
}

/// The records of an item, newest first.
#[tracing::instrument(skip_all, fields(%item))]
pub async fn usage_records(
    ctx: &Context,
    mode: Mode,
    item: &SubscriptionItemId,
    page: &Page,
) -> Result<Listed<UsageRecord>, ReadUsageError> {
    let mut unit = ctx.store.read().await?;
    metered(unit.as_mut(), mode, item).await?;
    let records = unit.usage().of_item(item, page).await?;
    Ok(records)
}

/// A usage record of this mode.
#[tracing::instrument(skip_all, fields(%id))]
pub async fn usage_record(ctx: &Context, mode: Mode, id: &UsageRecordId) -> Result<UsageRecord, ReadUsageError> {
    let mut unit = ctx.store.read().await?;
    let record = unit.usage().find_by_id(id).await?.ok_or(ReadUsageError::NotFound)?;
    metered(unit.as_mut(), mode, &record.item_id).await?;
    Ok(record)
}

/// The usage of an item in one period.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PeriodUsage {
    pub period: Period,
    /// In units of the item's price.
    pub total: u64,
}

/// The usage of an item in the current and earlier periods, newest first, at most [`SUMMARY_MAX`] periods.
#[tracing::instrument(skip_all, fields(%item))]
pub async fn usage_summary(ctx: &Context, mode: Mode, item: &SubscriptionItemId) -> Result<Vec<PeriodUsage>, ReadUsageError> {
    let mut unit = ctx.store.read().await?;
    let MeteredItem { subscription, aggregate } = metered(unit.as_mut(), mode, item).await?;
    let mut periods = vec![subscription.period];
    if let Some(index) = subscription.index {
        let earlier = (0..index).rev().take(SUMMARY_MAX as usize - 1);
        periods.extend(earlier.filter_map(|index| period(&subscription.cycle, subscription.anchor, index).ok()));
    }
    let mut summary = Vec::with_capacity(periods.len());
    for period in periods {
        summary.push(PeriodUsage { period, total: unit.usage().used(item, aggregate, period.start, period.end).await? });
    }
    Ok(summary)
}
