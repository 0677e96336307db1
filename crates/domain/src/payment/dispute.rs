//! Changes by a card network after a payment has succeeded: disputes, refunds made in the provider's dashboard, and refunds that fail late.
//!
//! `Provider*` types are the provider's objects as the rail reports them. Billing decides what they mean for journal, invoices and
//! entitlements.

use super::Decline;
use crate::shared::{
    Amount, CreditNoteId, CurrencyId, CustomerId, DisputeId, Listed, MethodId, Mode, Page, PaymentIntentId, RefundId, StorageError,
    Timestamp,
};
use async_trait::async_trait;

/// The status of a dispute.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum DisputeStatus {
    /// The cardholder's bank asks about the payment. No funds are withdrawn.
    Inquiry,
    /// The bank reviews the store's response to an inquiry.
    InquiryUnderReview,
    /// An inquiry has ended without a chargeback.
    InquiryClosed,
    /// A chargeback: the funds are withdrawn, and the store can respond.
    NeedsResponse,
    /// The bank reviews the store's response to a chargeback.
    UnderReview,
    /// The funds are reinstated; the provider may keep its fee.
    Won,
    /// The funds are gone for good.
    Lost,
}

impl DisputeStatus {
    pub const ALL: [Self; 7] =
        [Self::Inquiry, Self::InquiryUnderReview, Self::InquiryClosed, Self::NeedsResponse, Self::UnderReview, Self::Won, Self::Lost];

    /// The stored name.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Inquiry => "inquiry",
            Self::InquiryUnderReview => "inquiry_under_review",
            Self::InquiryClosed => "inquiry_closed",
            Self::NeedsResponse => "needs_response",
            Self::UnderReview => "under_review",
            Self::Won => "won",
            Self::Lost => "lost",
        }
    }

    #[must_use]
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|status| status.name() == name)
    }

    /// Whether it is only an inquiry, for which nothing is posted.
    #[must_use]
    pub const fn is_inquiry(self) -> bool {
        matches!(self, Self::Inquiry | Self::InquiryUnderReview | Self::InquiryClosed)
    }

    /// Whether the dispute has ended.
    #[must_use]
    pub const fn is_closed(self) -> bool {
        matches!(self, Self::InquiryClosed | Self::Won | Self::Lost)
    }
}

/// The current state of a dispute at its provider.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProviderDispute {
    pub provider_id: String,
    /// The provider's intent that is disputed.
    pub payment: String,
    /// The payment or a part of it, in `currency`.
    pub amount: Amount,
    /// The provider's currency code: `usd`.
    pub currency: String,
    /// The provider's fees for the dispute so far, less refunded fees. In `fee_currency`.
    pub fee: Amount,
    /// The currency of the store's account at the provider. It may differ from that of the payment.
    pub fee_currency: String,
    pub status: DisputeStatus,
    /// Whether the amount is currently withdrawn from the store's account. The status does not show this: funds move before or after it
    /// changes.
    pub funds_withdrawn: bool,
    /// The cardholder's complaint as a provider code: `fraudulent`, `product_not_received`.
    pub reason: String,
    /// The deadline for the store's response.
    pub respond_by: Option<Timestamp>,
    pub created: Timestamp,
}

/// A dispute of a payment, as this store has recorded it. The amount may be a part of the payment.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Dispute {
    pub id: DisputeId,
    pub mode: Mode,
    pub method_id: MethodId,
    pub provider_id: String,
    pub intent_id: PaymentIntentId,
    pub customer_id: CustomerId,
    pub amount: Amount,
    pub currency_id: CurrencyId,
    /// The network's fees so far, in `fee_currency_id`.
    pub fee: Amount,
    /// `None`: the store has no currency that matches the provider's account, so the fee is not posted.
    pub fee_currency_id: Option<CurrencyId>,
    pub status: DisputeStatus,
    /// Whether the amount is currently withdrawn from the store's account.
    pub funds_withdrawn: bool,
    /// The number of movements of funds or fees; each is a journal entry.
    pub movements: u32,
    pub reason: String,
    pub respond_by: Option<Timestamp>,
    /// The credit notes that were issued when the dispute was lost.
    pub credit_note_ids: Vec<CreditNoteId>,
    pub created_at: Timestamp,
    pub updated_at: Timestamp,
}

/// Filters the list of disputes. `None` matches any value.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct DisputeFilter {
    pub customer_id: Option<CustomerId>,
    pub intent_id: Option<PaymentIntentId>,
    /// Only undecided disputes.
    pub open: bool,
}

#[async_trait]
pub trait Disputes: Send {
    /// [`StorageError::Duplicate`] when the provider's dispute is recorded already.
    async fn insert(&mut self, dispute: &Dispute) -> Result<(), StorageError>;
    /// Locks and returns the recorded dispute with this provider id, until this unit of work ends.
    async fn lock(&mut self, method: &MethodId, provider_id: &str) -> Result<Option<Dispute>, StorageError>;
    /// Writes a dispute that still has the movements and the status of `before`. Returns true to exactly one caller.
    async fn update(&mut self, before: &Dispute, after: &Dispute) -> Result<bool, StorageError>;
    async fn find(&mut self, id: &DisputeId) -> Result<Option<Dispute>, StorageError>;
    async fn of_intents(&mut self, intents: &[PaymentIntentId]) -> Result<Vec<Dispute>, StorageError>;
    /// Lists disputes, newest first.
    async fn list(&mut self, mode: Mode, filter: &DisputeFilter, page: &Page) -> Result<Listed<Dispute>, StorageError>;
}

/// The status of a refund at its provider.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ProviderRefundStatus {
    /// Undecided. The amount has left the store's account.
    Pending,
    Succeeded,
    /// The bank rejected the money, which is back in the store's account. A refund can fail after it succeeded.
    Failed(Decline),
}

/// The current state of a refund at its provider.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProviderRefund {
    pub provider_id: String,
    /// The provider's intent that is refunded.
    pub payment: String,
    /// In `currency`.
    pub amount: Amount,
    /// The provider's currency code: `usd`.
    pub currency: String,
    pub status: ProviderRefundStatus,
    /// The refund of this store that caused it; `None`: it was made in the provider's dashboard.
    pub ours: Option<RefundId>,
    /// The provider's reason code; may be empty.
    pub reason: String,
    pub created: Timestamp,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_status_round_trips_by_name() {
        for status in DisputeStatus::ALL {
            assert_eq!(DisputeStatus::from_name(status.name()), Some(status));
        }
        assert_eq!(DisputeStatus::from_name("warning_closed"), None, "the rail translates the provider's names");
    }
}
