//! Reporting what a metered item was used.

use super::billing_threshold::bill_when_reached;
use super::charges::publish_charges;
use super::period_lines::usage_of;
use super::{ManageError, Period, Subscription, SubscriptionStatus, UsageAction, UsageRecord, period, time_of};
use crate::context::Context;
use crate::pricing::{Aggregate, Usage};
use crate::shared::{Listed, Mode, Page, SubscriptionItemId, Timestamp, UsageRecordId, check_count, check_text};
use crate::storage::UnitOfWork;

/// The most units of one record.
pub const USAGE_MAX: u64 = 1_000_000_000_000;
/// The most characters of a sender's own name of a record.
const IDENTIFIER_MAX: usize = 128;
/// How many periods a summary tells about.
pub const SUMMARY_MAX: u32 = 12;

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UsageReport {
    pub item: SubscriptionItemId,
    pub quantity: u64,
    pub action: UsageAction,
    /// `None`: now.
    pub at: Option<Timestamp>,
    /// The sender's own name of it: the same one counts once.
    pub identifier: Option<String>,
}

/// A metered item of this mode, with how its usage counts.
async fn metered(unit: &mut dyn UnitOfWork, mode: Mode, item: &SubscriptionItemId) -> Result<(Subscription, Aggregate), ManageError> {
    let found = unit.subscriptions().of_item(item).await?;
    let subscription = found.filter(|subscription| subscription.mode == mode).ok_or(ManageError::NotFound)?;
    let item = subscription.items.iter().find(|own| own.id == *item).ok_or(ManageError::NotFound)?;
    let price = unit.prices().find(&item.price_id).await?.ok_or(ManageError::NotFound)?;
    match usage_of(&price) {
        Some(Usage::Metered(aggregate)) => Ok((subscription, aggregate)),
        _ => Err(ManageError::NotMetered),
    }
}

/// Whether what was used at `at` stands on an invoice that is yet to come: of this period, or of one that begins as soon as the
/// engine comes to it.
fn is_billable(subscription: &Subscription, at: Timestamp) -> bool {
    let ends = [subscription.ends_at(), subscription.dunning_deadline()].into_iter().flatten().any(|end| end <= subscription.period.end);
    subscription.period.contains(at) || (at >= subscription.period.end && !ends)
}

/// Writes a record, once for each identifier: a second one answers the first.
pub async fn report_usage(ctx: &Context, mode: Mode, report: &UsageReport) -> Result<UsageRecord, ManageError> {
    check_count("quantity", report.quantity, USAGE_MAX)?;
    let id = UsageRecordId::new(ctx.now(), ctx.random.as_ref());
    let identifier = report.identifier.as_deref().filter(|identifier| !identifier.trim().is_empty()).unwrap_or(id.as_str());
    let identifier = check_text("identifier", identifier, IDENTIFIER_MAX)?;
    let mut unit = ctx.store.begin().await?;
    let (subscription, _) = metered(unit.as_mut(), mode, &report.item).await?;
    // One that was counted already stays counted, however late it comes again.
    let known = unit.usage().find(&report.item, &identifier).await?;
    if let Some(known) = known {
        return Ok(known);
    }
    // A renewal that has read what was used must not end its period beside this; reports that are reckoned come one after the
    // other, so that one of them sees that the threshold is reached.
    let held = match subscription.billing_threshold {
        Some(_) => unit.subscriptions().lock(&subscription.id).await?,
        None => unit.subscriptions().hold(&subscription.id).await?,
    };
    let subscription = held.ok_or(ManageError::NotFound)?;
    let now = time_of(ctx, unit.as_mut(), subscription.clock_id.as_ref()).await?;
    // Whoever reports in whole seconds means the part of the second that is in the period.
    let from = subscription.items.iter().find(|item| item.id == report.item).map(|item| item.counts_from(&subscription.period));
    let told = report.at.unwrap_or(now);
    let at = match from {
        Some(from) if told.seconds() == from.seconds() => told.max(from),
        _ => told,
    };
    let runs = matches!(subscription.status, SubscriptionStatus::Active | SubscriptionStatus::Trialing | SubscriptionStatus::PastDue);
    if !runs || told > now || !is_billable(&subscription, at) || from.is_none_or(|from| at < from) {
        return Err(ManageError::UsageOutOfPeriod);
    }
    let record =
        UsageRecord { id, item_id: report.item.clone(), identifier, quantity: report.quantity, action: report.action, at, created_at: now };
    if !unit.usage().insert(&record).await? {
        return Err(ManageError::Contended);
    }
    let charge = match subscription.period.contains(at) {
        true => bill_when_reached(ctx, unit.as_mut(), subscription, now).await?,
        // Its period begins yet.
        false => None,
    };
    publish_charges(ctx, unit.as_mut(), charge.as_slice()).await?;
    unit.commit().await?;
    Ok(record)
}

/// The records of an item, newest first.
pub async fn usage_records(ctx: &Context, mode: Mode, item: &SubscriptionItemId, page: &Page) -> Result<Listed<UsageRecord>, ManageError> {
    let mut unit = ctx.store.read().await?;
    metered(unit.as_mut(), mode, item).await?;
    Ok(unit.usage().of_item(item, page).await?)
}

/// What an item was used in the current period and in those before it, newest first, at most [`SUMMARY_MAX`].
pub async fn usage_summary(ctx: &Context, mode: Mode, item: &SubscriptionItemId) -> Result<Vec<(Period, u64)>, ManageError> {
    let mut unit = ctx.store.read().await?;
    let (subscription, aggregate) = metered(unit.as_mut(), mode, item).await?;
    let mut periods = vec![subscription.period];
    if let Some(index) = subscription.index {
        let earlier = (0..index).rev().take(SUMMARY_MAX as usize - 1);
        periods.extend(earlier.filter_map(|index| period(&subscription.cycle, subscription.anchor, index).ok()));
    }
    let mut summary = Vec::with_capacity(periods.len());
    for span in periods {
        summary.push((span, unit.usage().used(item, aggregate, span.start, span.end).await?));
    }
    Ok(summary)
}
