//! Records refunds as a card network reports them: refunds that this store ordered, and refunds made in the provider's dashboard.

use super::NoteError;
use super::card_payment::{CardPaymentState, find_card_payment};
use super::dashboard_refund::{DashboardRefund, dashboard_refund_failed};
use super::refund::refund_failed_later;
use super::undo::lock_paid_by;
use crate::billing::PostingError;
use crate::billing::clock::time_of_customer;
use crate::billing::errors::convert_through;
use crate::context::Context;
use crate::payment::{
    Currency, Decline, Intent, Method, ProviderRefund, ProviderRefundStatus, Purpose, SettlementError, fail_hold, settle,
};
use crate::shared::{RefundId, StorageError};

/// Attempts before giving up when another unit of work changed the same rows.
const MAX_TRIES: u32 = 8;

#[derive(Debug, thiserror::Error)]
pub enum ProviderRefundError {
    /// The refunded payment does not belong to this store.
    #[error("no payment of this store was refunded")]
    UnknownPayment,
    /// The payment itself is not settled yet; the refund is recorded after it.
    #[error("the refunded payment is not decided yet")]
    Undecided,
    #[error("the refund is in {refund}, its payment in {payment}")]
    OtherCurrency { refund: String, payment: String },
    /// The refund or its credit notes could not be posted.
    #[error(transparent)]
    Note(#[from] NoteError),
    /// An attempt that was open could not be settled.
    #[error(transparent)]
    Settlement(SettlementError),
}

convert_through!(ProviderRefundError::Note, PostingError, StorageError);

impl From<SettlementError> for ProviderRefundError {
    fn from(error: SettlementError) -> Self {
        match error {
            SettlementError::Contended => PostingError::Contended.into(),
            SettlementError::Storage(error) => error.into(),
            error => Self::Settlement(error),
        }
    }
}

/// Records the current state of a refund at its provider. Idempotent, and safe to run concurrently.
///
/// # Errors
/// [`ProviderRefundError::UnknownPayment`] when the payment does not belong to this store, [`ProviderRefundError::Undecided`] when it is
/// not settled yet.
#[tracing::instrument(skip_all, fields(method = %method.id, refund = provider.provider_id))]
pub async fn record_provider_refund(ctx: &Context, method: &Method, provider: &ProviderRefund) -> Result<(), ProviderRefundError> {
    if let Some(ours) = &provider.ours {
        settle_open(ctx, ours, provider).await?;
    }
    let known = ctx.store.read().await?.refunds().find_by_reference(&method.id, &provider.provider_id).await?;
    match &provider.status {
        ProviderRefundStatus::Failed(decline) if !known.is_empty() => return Ok(fail_all(ctx, method, provider, decline).await?),
        _ if !known.is_empty() || provider.ours.is_some() => return Ok(()),
        _ => {}
    }
    let (intent, currency) = match find_card_payment(ctx, method, &provider.payment).await? {
        CardPaymentState::Settled { intent, currency } => (intent, currency),
        CardPaymentState::Undecided => return Err(ProviderRefundError::Undecided),
        CardPaymentState::Unknown => return Err(ProviderRefundError::UnknownPayment),
    };
    check_currency(provider, &currency)?;
    for _ in 0..MAX_TRIES {
        match try_record(ctx, method, &intent, provider).await {
            // When two callers record a refund at once, one of them finds the other's row on its next try.
            Err(NoteError::Posting(PostingError::Contended | PostingError::Storage(StorageError::Duplicate(_)))) => {}
            done => return Ok(done?),
        }
    }
    Err(PostingError::Contended.into())
}

fn check_currency(provider: &ProviderRefund, currency: &Currency) -> Result<(), ProviderRefundError> {
    if provider.currency == currency.contract {
        return Ok(());
    }
    Err(ProviderRefundError::OtherCurrency { refund: provider.currency.clone(), payment: currency.contract.clone() })
}

/// Settles the open attempt of a refund that this store ordered. The network is not asked about an attempt on hold, but its hold ends if
/// the refund has failed: the money is back.
async fn settle_open(ctx: &Context, id: &RefundId, provider: &ProviderRefund) -> Result<(), ProviderRefundError> {
    let open = ctx.store.read().await?.attempts().open_of(&Purpose::Refund(id.clone())).await?;
    let Some(attempt) = open else { return Ok(()) };
    match &provider.status {
        ProviderRefundStatus::Failed(decline) if attempt.is_on_hold() => {
            fail_hold(ctx, &attempt.id, &provider.provider_id, decline).await?;
        }
        _ => settle(ctx, &attempt.id).await?,
    }
    Ok(())
}

/// Records that all refunds with this provider id have failed after they had succeeded.
async fn fail_all(ctx: &Context, method: &Method, provider: &ProviderRefund, decline: &Decline) -> Result<(), PostingError> {
    for _ in 0..MAX_TRIES {
        match try_fail_all(ctx, method, provider, decline).await {
            Err(PostingError::Contended) => {}
            done => return done,
        }
    }
    Err(PostingError::Contended)
}

async fn try_fail_all(ctx: &Context, method: &Method, provider: &ProviderRefund, decline: &Decline) -> Result<(), PostingError> {
    let mut unit = ctx.store.begin().await?;
    let mut refunds = unit.refunds().find_by_reference(&method.id, &provider.provider_id).await?;
    refunds.sort_by(|a, b| a.id.cmp(&b.id));
    for refund in &refunds {
        refund_failed_later(ctx, unit.as_mut(), &refund.id, &provider.provider_id, decline).await?;
    }
    dashboard_refund_failed(ctx, unit.as_mut(), method, provider).await?;
    unit.commit().await?;
    Ok(())
}

async fn try_record(ctx: &Context, method: &Method, intent: &Intent, provider: &ProviderRefund) -> Result<(), NoteError> {
    let mut unit = ctx.store.begin().await?;
    if matches!(provider.status, ProviderRefundStatus::Failed(_)) {
        dashboard_refund_failed(ctx, unit.as_mut(), method, provider).await?;
        unit.commit().await?;
        return Ok(());
    }
    let paid = lock_paid_by(unit.as_mut(), &intent.id).await?;
    // Another unit of work may have recorded it while this one waited for the locks.
    if !unit.refunds().find_by_reference(&method.id, &provider.provider_id).await?.is_empty() {
        return Ok(());
    }
    // Refunds and payouts that were reserved meanwhile reduce the remaining amount.
    let intent = &unit.intents().find(&intent.id).await?.ok_or(PostingError::Orphan)?;
    let at = time_of_customer(ctx, unit.as_mut(), &intent.customer_id).await?;
    DashboardRefund { method, intent, provider, at }.record(ctx, unit.as_mut(), &paid).await?;
    unit.commit().await?;
    Ok(())
}
