//! What a card network changes after a payment has succeeded: disputes, and refunds that nobody here ordered or that fail late.
//!
//! `Provider*` are the provider's objects as the rail reports them. What they mean for journal, invoices and entitlements is decided in
//! billing.

use super::Decline;
use crate::shared::{
    Amount, CreditNoteId, CurrencyId, CustomerId, DisputeId, Listed, MethodId, Mode, Page, PaymentIntentId, RefundId, StorageError,
    Timestamp,
};
use async_trait::async_trait;

/// Where a dispute stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum DisputeStatus {
    /// The cardholder's bank asks about the payment. No funds are withdrawn.
    Inquiry,
    /// The bank reads what the store answered to an inquiry.
    InquiryUnderReview,
    /// An inquiry has ended without a chargeback.
    InquiryClosed,
    /// A chargeback: the funds are withdrawn, the store may answer.
    NeedsResponse,
    /// The bank reads what the store answered to a chargeback.
    UnderReview,
    /// The funds are reinstated; the provider may keep its fee.
    Won,
    /// The funds are gone for good.
    Lost,
}

impl DisputeStatus {
    pub const ALL: [Self; 7] =
        [Self::Inquiry, Self::InquiryUnderReview, Self::InquiryClosed, Self::NeedsResponse, Self::UnderReview, Self::Won, Self::Lost];

    /// As it is stored.
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

    /// Whether the bank only asks: nothing is booked for an inquiry.
    #[must_use]
    pub const fn is_inquiry(self) -> bool {
        matches!(self, Self::Inquiry | Self::InquiryUnderReview | Self::InquiryClosed)
    }

    /// Whether the dispute has come to its end.
    #[must_use]
    pub const fn is_closed(self) -> bool {
        matches!(self, Self::InquiryClosed | Self::Won | Self::Lost)
    }
}

/// A dispute as its provider has it now.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProviderDispute {
    pub provider_id: String,
    /// The provider's intent that is disputed.
    pub payment: String,
    /// The payment or a part of it, in `currency`.
    pub amount: Amount,
    /// As the provider writes it: `usd`.
    pub currency: String,
    /// What the provider has charged for the dispute so far, less what it gave back of it. In `fee_currency`.
    pub fee: Amount,
    /// The currency of the store's account at the provider. It may differ from that of the payment.
    pub fee_currency: String,
    pub status: DisputeStatus,
    /// Whether the amount is withdrawn from the store's account now. The status does not tell: funds move before and after it changes.
    pub funds_withdrawn: bool,
    /// The cardholder's complaint, as the provider writes it: `fraudulent`, `product_not_received`.
    pub reason: String,
    /// Until when the store may answer.
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
    /// What the network has charged so far, in `fee_currency_id`.
    pub fee: Amount,
    /// `None`: the store has no currency of the provider's account, and the fee is not booked.
    pub fee_currency_id: Option<CurrencyId>,
    pub status: DisputeStatus,
    /// Whether the amount is withdrawn from the store's account now.
    pub funds_withdrawn: bool,
    /// How often funds or fees have moved: each movement is an entry of the journal.
    pub movements: u32,
    pub reason: String,
    pub respond_by: Option<Timestamp>,
    /// What the invoices gave when the dispute was lost.
    pub credit_note_ids: Vec<CreditNoteId>,
    pub created_at: Timestamp,
    pub updated_at: Timestamp,
}

/// Which disputes are listed; `None`: of any.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct DisputeFilter {
    pub customer_id: Option<CustomerId>,
    pub intent_id: Option<PaymentIntentId>,
    /// Those that are not decided.
    pub open: bool,
}

#[async_trait]
pub trait Disputes: Send {
    /// [`StorageError::Duplicate`] when the provider's dispute is recorded already.
    async fn insert(&mut self, dispute: &Dispute) -> Result<(), StorageError>;
    /// The recorded dispute of a provider's name, which nobody else changes until this unit of work ends.
    async fn lock(&mut self, method: &MethodId, provider_id: &str) -> Result<Option<Dispute>, StorageError>;
    /// Writes what changes of a dispute that still has the movements and the status of `before`. True for exactly one caller.
    async fn update(&mut self, before: &Dispute, after: &Dispute) -> Result<bool, StorageError>;
    async fn find(&mut self, id: &DisputeId) -> Result<Option<Dispute>, StorageError>;
    async fn of_intents(&mut self, intents: &[PaymentIntentId]) -> Result<Vec<Dispute>, StorageError>;
    /// Newest first.
    async fn list(&mut self, mode: Mode, filter: &DisputeFilter, page: &Page) -> Result<Listed<Dispute>, StorageError>;
}

/// Where a refund stands at its provider.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ProviderRefundStatus {
    /// Not decided yet. The amount has left the store's account.
    Pending,
    Succeeded,
    /// The bank did not take the money: it is back on the store's account. A refund can fail after it succeeded.
    Failed(Decline),
}

/// A refund as its provider has it now.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProviderRefund {
    pub provider_id: String,
    /// The provider's intent that is given back.
    pub payment: String,
    /// In `currency`.
    pub amount: Amount,
    /// As the provider writes it: `usd`.
    pub currency: String,
    pub status: ProviderRefundStatus,
    /// The refund of this store that ordered it; `None`: somebody made it in the provider's own dashboard.
    pub ours: Option<RefundId>,
    /// Why it was made, as the provider writes it; empty where nobody said.
    pub reason: String,
    pub created: Timestamp,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_status_reads_back_from_its_name() {
        for status in DisputeStatus::ALL {
            assert_eq!(DisputeStatus::from_name(status.name()), Some(status));
        }
        assert_eq!(DisputeStatus::from_name("warning_closed"), None, "names of the provider stay at the rail");
    }
}
