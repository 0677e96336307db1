//! Refunds when a subscription ends at once.

use super::billing_batch::BillingBatch;
use super::credit::{CreditNoteReason, Destination, RefundAttempt, refund_fully};
use super::unused_time::UnusedTimes;
use super::{BillingReason, Invoice, InvoiceFilter, InvoiceStatus, Subscription, SubscriptionError};
use crate::context::Context;
use crate::shared::{InvoiceId, Page, Timestamp};
use crate::storage::UnitOfWork;
use std::collections::BTreeSet;

/// Which part of the last payment is refunded.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RefundChoice {
    None,
    /// The value of the unused time of the period.
    Proration,
    /// All of it.
    Last,
}

impl RefundChoice {
    #[must_use]
    pub fn from_name(name: &str) -> Option<Self> {
        Some(match name {
            "none" => Self::None,
            "proration" => Self::Proration,
            "last" => Self::Last,
            _ => return None,
        })
    }
}

/// How many of the newest paid invoices are searched for the last payment: statements may precede it.
const NEWEST: u32 = 100;

/// Refunds what was chosen, by credit notes to the payments. Returns the attempts that send the refunds.
///
/// # Errors
/// [`SubscriptionError::PaymentInFlight`] while a payment is in flight: it would settle afterwards and not be refunded.
pub(super) async fn refund_at_end(
    ctx: &Context,
    unit: &mut dyn UnitOfWork,
    subscription: &Subscription,
    choice: RefundChoice,
    now: Timestamp,
) -> Result<Vec<RefundAttempt>, SubscriptionError> {
    match choice {
        RefundChoice::None => Ok(Vec::new()),
        RefundChoice::Proration => {
            let batch = BillingBatch::read(unit, std::slice::from_ref(subscription)).await?;
            let unused = UnusedTimes::read(unit, subscription, &batch, None, now).await?;
            lock_not_in_flight(unit, subscription, unused.invoice_ids().cloned()).await?;
            unused.lock(unit).await?;
            let to = Destination::Payments;
            Ok(unused.issue(ctx, unit, subscription, CreditNoteReason::Cancellation, &to, now).await?)
        }
        RefundChoice::Last => {
            let last = last_paid(unit, subscription).await?;
            lock_not_in_flight(unit, subscription, last.iter().map(|invoice| invoice.id.clone())).await?;
            match last {
                Some(invoice) => Ok(refund_fully(ctx, unit, &invoice, CreditNoteReason::Cancellation, now).await?),
                None => Ok(Vec::new()),
            }
        }
    }
}

/// Locks the subscription's unpaid invoices and `others`, after its stakes, and checks that no payment of them is in flight. The caller has
/// locked the subscription.
async fn lock_not_in_flight(
    unit: &mut dyn UnitOfWork,
    subscription: &Subscription,
    others: impl Iterator<Item = InvoiceId>,
) -> Result<(), SubscriptionError> {
    let stakes: BTreeSet<_> = [&subscription.stake_id, &subscription.overdraft_stake_id].into_iter().flatten().cloned().collect();
    if !stakes.is_empty() {
        unit.stakes().lock_all(&stakes.into_iter().collect::<Vec<_>>()).await?;
    }
    let unpaid = unit.invoices().unpaid_of(&subscription.id).await?;
    let ids: BTreeSet<_> = unpaid.into_iter().map(|invoice| invoice.id).chain(others).collect();
    let ids: Vec<_> = ids.into_iter().collect();
    if ids.is_empty() {
        return Ok(());
    }
    unit.invoices().lock_all(&ids).await?;
    let is_in_flight = !unit.attempts().in_flight(&ids).await?.is_empty();
    if is_in_flight { Err(SubscriptionError::PaymentInFlight) } else { Ok(()) }
}

/// The newest paid invoice of a subscription with a total above zero. Statements do not count, and neither does the fee of the overdraft
/// protection: it is paid after the renewal that it is for.
async fn last_paid(unit: &mut dyn UnitOfWork, subscription: &Subscription) -> Result<Option<Invoice>, SubscriptionError> {
    let filter = InvoiceFilter {
        subscription_id: Some(subscription.id.clone()),
        statuses: vec![InvoiceStatus::Paid],
        ignore_zero: true,
        ..InvoiceFilter::default()
    };
    let found = unit.invoices().list(subscription.mode, &filter, &Page::new(None, Some(NEWEST))).await?;
    Ok(found.list.into_iter().find(|invoice| !invoice.reason.is_statement() && invoice.reason != BillingReason::OverdraftProtection))
}
