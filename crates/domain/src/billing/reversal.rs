//! Payments that their network reverses after they have settled: late failures and chain reorganizations.

use super::clock::time_of_customer;
use super::credit::{lock_paid_by, take_newest_first};
use super::invoice::{book_shares, sharing};
use super::recovery::match_invoices;
use super::{BillingError, InvoicePayment, PaymentSource};
use crate::context::Context;
use crate::ledger::{Account, Entry, EntryType, Posting};
use crate::payment::{Attempt, Reversal};
use crate::shared::{Amount, EntryId, PaymentIntentId};
use crate::storage::UnitOfWork;
use std::collections::BTreeSet;

/// Records that a network reversed a settled payment: its invoices are overdue, and their subscriptions past due. Nothing is retried
/// automatically. The part that was refunded or disputed before goes to suspense.
///
/// # Errors
/// [`BillingError::Contended`] when a row changed after it was read.
#[tracing::instrument(skip_all, fields(attempt = %attempt.id))]
pub(crate) async fn reverse_payment(
    ctx: &Context,
    unit: &mut dyn UnitOfWork,
    attempt: &Attempt,
    intent_id: &PaymentIntentId,
    reversal: &Reversal,
) -> Result<(), BillingError> {
    let intent = unit.intents().find(intent_id).await?.ok_or(BillingError::Orphan)?;
    let mut paid = lock_paid_by(unit, intent_id).await?;
    let at = time_of_customer(ctx, unit, &intent.customer_id).await?;
    let is_of_attempt =
        |payment: &InvoicePayment| matches!(&payment.source, PaymentSource::Network { attempt: id, .. } if *id == attempt.id);
    let room = |payment: &InvoicePayment| if is_of_attempt(payment) { payment.room() } else { Amount::ZERO };
    let taken = take_newest_first(reversal.amount, &paid.payments, room)?;
    paid.change(unit, &taken.parts, InvoicePayment::reverse).await?;
    paid.lower_paid(unit, &taken.parts, at).await?;
    let currency = &attempt.currency_id;
    let postings = vec![
        Posting::debit(Account::Receivable, reversal.amount.minus(taken.rest)?, currency),
        Posting::debit(Account::Suspense, taken.rest, currency),
        Posting::credit(Account::cash(&attempt.method_id), reversal.amount, currency),
    ];
    let id = EntryId::new(ctx.now(), ctx.random.as_ref());
    let entry = Entry::new(id, intent.mode, EntryType::PaymentReversed, attempt.id.as_str(), at, postings)?;
    unit.journal().post(&entry).await?;
    book_shares(ctx, unit, &sharing(&paid.invoices), at).await?;
    let subscriptions: BTreeSet<_> = paid.invoices.iter().filter_map(|invoice| invoice.subscription_id.clone()).collect();
    Ok(match_invoices(ctx, unit, &subscriptions, at).await?)
}
