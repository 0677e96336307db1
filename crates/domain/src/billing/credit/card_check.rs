//! Queries a card network for all disputes and refunds of a payment.

use super::dispute::{DisputeError, record_dispute};
use super::provider_refund::{ProviderRefundError, record_provider_refund};
use crate::context::Context;
use crate::payment::{Method, ProviderDispute, ProviderRefund, RailError, SettlementError};
use crate::shared::{StorageError, Timestamp};

#[derive(Debug, thiserror::Error)]
pub enum CardCheckError {
    /// The method does not belong to a card network.
    #[error("the method is not of a card network")]
    NoCardNetwork,
    #[error(transparent)]
    Rail(#[from] RailError),
    #[error(transparent)]
    Dispute(#[from] DisputeError),
    #[error(transparent)]
    Refund(#[from] ProviderRefundError),
    /// A settled payment that has failed could not be reversed.
    #[error(transparent)]
    Reversal(#[from] SettlementError),
    #[error(transparent)]
    Storage(#[from] StorageError),
}

/// A dispute or a refund of the payment.
enum CardPaymentEvent {
    Dispute(ProviderDispute),
    Refund(ProviderRefund),
}

impl CardPaymentEvent {
    const fn created(&self) -> Timestamp {
        match self {
            Self::Dispute(dispute) => dispute.created,
            Self::Refund(refund) => refund.created,
        }
    }
}

/// Queries the provider for all disputes and refunds of a payment and records them, oldest first. Finds those whose webhook events were
/// lost.
///
/// # Errors
/// The first failure. Events recorded before it stay recorded.
#[tracing::instrument(skip_all, fields(method = %method.id, payment))]
pub async fn check_card_payment(ctx: &Context, method: &Method, payment: &str) -> Result<(), CardCheckError> {
    let rail = ctx.networks.card(method.kind).ok_or(CardCheckError::NoCardNetwork)?;
    let disputes = rail.disputes_of(method, payment).await?;
    let refunds = rail.refunds_of(method, payment).await?;
    let mut events: Vec<_> = refunds.into_iter().rev().map(CardPaymentEvent::Refund).collect();
    events.extend(disputes.into_iter().rev().map(CardPaymentEvent::Dispute));
    events.sort_by_key(CardPaymentEvent::created);
    for event in events {
        match event {
            CardPaymentEvent::Dispute(dispute) => record_dispute(ctx, method, &dispute).await?,
            CardPaymentEvent::Refund(refund) => record_provider_refund(ctx, method, &refund).await?,
        }
    }
    Ok(())
}
