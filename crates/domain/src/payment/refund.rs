//! Money that went back to a customer.

use crate::shared::{
    Amount, CurrencyId, CustomerId, InvoiceId, Listed, MethodId, Mode, Page, PaymentIntentId, RefundId, StorageError, SubscriptionId,
    Timestamp,
};
use async_trait::async_trait;

/// SPEC.md 3.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum RefundType {
    Refund,
    StakeReturn,
    /// What was paid by credit with the store is credit again: no network takes part.
    Credit,
}

impl RefundType {
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Refund => "refund",
            Self::StakeReturn => "stake_return",
            Self::Credit => "credit",
        }
    }

    #[must_use]
    pub fn from_name(name: &str) -> Option<Self> {
        [Self::Refund, Self::StakeReturn, Self::Credit].into_iter().find(|kind| kind.name() == name)
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum RefundStatus {
    Pending,
    Succeeded,
    Failed,
}

impl RefundStatus {
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Pending => "pending",
            Self::Succeeded => "succeeded",
            Self::Failed => "failed",
        }
    }

    #[must_use]
    pub fn from_name(name: &str) -> Option<Self> {
        [Self::Pending, Self::Succeeded, Self::Failed].into_iter().find(|status| status.name() == name)
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Refund {
    pub id: RefundId,
    pub mode: Mode,
    pub kind: RefundType,
    pub status: RefundStatus,
    pub amount: Amount,
    pub currency_id: CurrencyId,
    pub method_id: MethodId,
    pub customer_id: CustomerId,
    /// The payment that is given back; a returned stake has none, nor has an invoice that credit paid all of.
    pub intent_id: Option<PaymentIntentId>,
    pub invoice_id: Option<InvoiceId>,
    pub subscription_id: Option<SubscriptionId>,
    pub reason: String,
    pub description: String,
    /// The network's name of it, once it is there.
    pub reference: String,
    pub created_at: Timestamp,
    pub updated_at: Timestamp,
}

/// Which refunds are listed; `None`: of any.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct RefundFilter {
    pub customer_id: Option<CustomerId>,
    pub invoice_id: Option<InvoiceId>,
}

#[async_trait]
pub trait Refunds: Send {
    /// Writes a pending refund and takes its amount out of what the payment can still give back, by one conditional update
    /// (invariant 8). False: the payment has not that much left, or the invoice that it names, and nothing is written.
    /// One of [`RefundType::Credit`] is of one invoice, and bounded by what credit has paid of that alone: whoever reserves waits for
    /// the invoice's row.
    async fn reserve(&mut self, refund: &Refund) -> Result<bool, StorageError>;
    /// From pending to `status`; a failed one gives its amount back to the payment. True for exactly one caller.
    async fn finish(&mut self, id: &RefundId, status: RefundStatus, reference: &str, now: Timestamp) -> Result<bool, StorageError>;
    async fn find(&mut self, id: &RefundId) -> Result<Option<Refund>, StorageError>;
    /// How much of what credit had paid of an invoice is credit again.
    async fn credited(&mut self, invoice: &InvoiceId) -> Result<Amount, StorageError>;
    async fn of_intent(&mut self, intent: &PaymentIntentId) -> Result<Vec<Refund>, StorageError>;
    /// Whether one of a customer in a currency is on its way, or has not been sent yet.
    async fn is_pending_of(&mut self, customer: &CustomerId, currency: &CurrencyId) -> Result<bool, StorageError>;
    async fn list(&mut self, mode: Mode, filter: &RefundFilter, page: &Page) -> Result<Listed<Refund>, StorageError>;
}
