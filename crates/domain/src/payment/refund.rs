//! Refunds: money that returns over a network.

use super::Decline;
use crate::shared::{
    Amount, CreditNoteId, CurrencyId, CustomerId, InvoiceId, InvoicePaymentId, Listed, MethodId, Mode, Page, PaymentIntentId, RefundId,
    StorageError, SubscriptionId, Timestamp,
};
use async_trait::async_trait;

/// The types of refunds that have a row of their own. SPEC.md 3 also names `stake_return`, which is read from stakes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum RefundType {
    /// A refund of a payment, by a credit note.
    Refund,
    /// A payout of the customer's balance.
    BalancePayout,
    /// The part of a refund made in the provider's dashboard that no invoice line could give, or what a network refunded beyond an order.
    /// Its money is in suspense.
    Dashboard,
}

impl RefundType {
    pub const ALL: [Self; 3] = [Self::Refund, Self::BalancePayout, Self::Dashboard];

    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Refund => "refund",
            Self::BalancePayout => "balance_payout",
            Self::Dashboard => "dashboard_refund",
        }
    }

    #[must_use]
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| kind.name() == name)
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum RefundStatus {
    /// Committed; possibly sent.
    Pending,
    Succeeded,
    /// The network declined it, or it failed after it had succeeded. The amount stays reserved until the owner retries the refund or moves
    /// it to the customer's balance. A failed payout returns to the balance automatically, a failed dashboard refund to the store.
    Failed,
    /// Failed, and moved to the customer's balance.
    Canceled,
}

impl RefundStatus {
    pub const ALL: [Self; 4] = [Self::Pending, Self::Succeeded, Self::Failed, Self::Canceled];

    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Pending => "pending",
            Self::Succeeded => "succeeded",
            Self::Failed => "failed",
            Self::Canceled => "canceled",
        }
    }

    #[must_use]
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|status| status.name() == name)
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
    /// The refunded payment intent. `None` for a payout to a wallet and for the refund of a stake payment.
    pub intent_id: Option<PaymentIntentId>,
    /// The invoice payment whose amount is reserved.
    pub payment_id: Option<InvoicePaymentId>,
    pub credit_note_id: Option<CreditNoteId>,
    pub invoice_id: Option<InvoiceId>,
    pub subscription_id: Option<SubscriptionId>,
    pub reason: String,
    pub description: String,
    /// The network's reference, once there is one.
    pub reference: String,
    /// The reason of the last failure.
    pub failure: Option<Decline>,
    /// The number of failures.
    pub failure_count: u32,
    /// When the store last ordered it, by the wall clock. `None`: it was made in the provider's dashboard.
    pub ordered_at: Option<Timestamp>,
    pub created_at: Timestamp,
    pub updated_at: Timestamp,
}

/// A refund of an invoice whose amount is reserved while the money is not back.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UnsettledRefund {
    pub invoice_id: InvoiceId,
    pub amount: Amount,
    /// Whether it failed and waits for the store's decision. Otherwise it is pending.
    pub has_failed: bool,
}

/// Filters the list of refunds. `None` matches any value.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct RefundFilter {
    pub customer_id: Option<CustomerId>,
    pub invoice_id: Option<InvoiceId>,
    pub status: Option<RefundStatus>,
    pub kind: Option<RefundType>,
}

#[async_trait]
pub trait Refunds: Send {
    /// Inserts refunds. The caller reserves their amounts on the payment intents and on the invoice payments.
    async fn insert_all(&mut self, refunds: &[Refund]) -> Result<(), StorageError>;
    /// As [`Refunds::insert_all`], for one refund.
    async fn insert(&mut self, refund: &Refund) -> Result<(), StorageError> {
        self.insert_all(std::slice::from_ref(refund)).await
    }
    /// Locks and returns a refund until this unit of work ends.
    async fn lock(&mut self, id: &RefundId) -> Result<Option<Refund>, StorageError>;
    /// Writes amount, status, reference, failure, failure count and time of the order of a refund that still has the amount, the status
    /// and the failure count of `before`. Returns true to exactly one caller.
    async fn update(&mut self, before: &Refund, after: &Refund) -> Result<bool, StorageError>;
    async fn find(&mut self, id: &RefundId) -> Result<Option<Refund>, StorageError>;
    async fn find_all(&mut self, ids: &[RefundId]) -> Result<Vec<Refund>, StorageError>;
    /// The refunds of a method with this network reference: several if a dashboard refund was split, or if its network sent more than
    /// ordered.
    async fn find_by_reference(&mut self, method: &MethodId, reference: &str) -> Result<Vec<Refund>, StorageError>;
    /// Refunds of payments by a method whose last failure has this code, oldest first.
    async fn failed_with(&mut self, method: &MethodId, code: &str, limit: u32) -> Result<Vec<Refund>, StorageError>;
    /// The refunds of these invoices whose money is not back, in the order of the refunds' ids: pending ones, and failed ones whose amount
    /// stays reserved. A failed dashboard refund is not reserved any more.
    async fn unsettled_of(&mut self, invoices: &[InvoiceId]) -> Result<Vec<UnsettledRefund>, StorageError>;
    /// The amounts of refunds and payouts in a currency that were last ordered at this time or later, without what has returned to the
    /// customer's balance.
    async fn amounts_since(&mut self, mode: Mode, currency: &CurrencyId, since: Timestamp) -> Result<Vec<Amount>, StorageError>;
    async fn of_note(&mut self, note: &CreditNoteId) -> Result<Vec<Refund>, StorageError>;
    async fn list(&mut self, mode: Mode, filter: &RefundFilter, page: &Page) -> Result<Listed<Refund>, StorageError>;
}
