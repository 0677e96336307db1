//! What a card network changes after a payment has succeeded: disputes, and refunds that nobody here ordered or that fail late.
//!
//! These are the provider's objects as the rail reports them. What they mean for journal, invoices and entitlements is not decided here.

use super::Decline;
use crate::shared::{Amount, RefundId, Timestamp};

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
