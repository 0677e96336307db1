//! Refunds when a subscription ends at once.

use super::billing_batch::BillingBatch;
use super::credit::{CreditNoteReason, Destination, refund_fully};
use super::stake::is_paying;
use super::unused_time::UnusedTimes;
use super::{BillingError, BillingReason, Invoice, InvoiceFilter, InvoiceStatus, Subscription, SubscriptionError};
use crate::context::Context;
use crate::shared::{AttemptId, Page, Timestamp};
use crate::storage::UnitOfWork;

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
) -> Result<Vec<AttemptId>, SubscriptionError> {
    if choice == RefundChoice::None {
        return Ok(Vec::new());
    }
    if is_paying(unit, subscription).await? {
        return Err(SubscriptionError::PaymentInFlight);
    }
    match choice {
        RefundChoice::None => Ok(Vec::new()),
        RefundChoice::Proration => {
            let batch = BillingBatch::read(unit, std::slice::from_ref(subscription)).await?;
            let unused = UnusedTimes::read(unit, subscription, &batch, None, now).await?;
            unused.lock(unit).await?;
            let to = Destination::Payments;
            Ok(unused.issue(ctx, unit, subscription, CreditNoteReason::Cancellation, &to, now).await?)
        }
        RefundChoice::Last => match last_paid(unit, subscription).await? {
            Some(invoice) => {
                Ok(refund_fully(ctx, unit, &invoice, CreditNoteReason::Cancellation, now).await.map_err(BillingError::from)?)
            }
            None => Ok(Vec::new()),
        },
    }
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
