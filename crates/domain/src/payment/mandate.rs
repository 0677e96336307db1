//! Permissions to charge a customer who is not there.

use super::SavedCard;
use crate::access::Did;
use crate::shared::{Amount, CurrencyId, CustomerId, InvoiceId, MandateId, MethodId, Mode, StorageError, SubscriptionId, Timestamp};
use async_trait::async_trait;

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum MandateStatus {
    /// Asked for; the network has not confirmed it.
    Pending,
    Active,
    /// Taken back, or replaced by another one.
    Ended,
}

impl MandateStatus {
    pub const ALL: [Self; 3] = [Self::Pending, Self::Active, Self::Ended];

    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Pending => "pending",
            Self::Active => "active",
            Self::Ended => "ended",
        }
    }

    #[must_use]
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|status| status.name() == name)
    }
}

/// What the customer gave.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum MandateDetails {
    /// A delegation at the network: the most of one charge, for each currency.
    Delegation {
        payer: Did,
        limits: Vec<(CurrencyId, Amount)>,
        /// The transaction that gave it.
        reference: String,
    },
    Card(SavedCard),
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Mandate {
    pub id: MandateId,
    pub mode: Mode,
    pub customer_id: CustomerId,
    pub method_id: MethodId,
    pub status: MandateStatus,
    /// `None` for a card that has not been saved yet.
    pub details: Option<MandateDetails>,
    pub created_at: Timestamp,
    pub updated_at: Timestamp,
}

#[async_trait]
pub trait Mandates: Send {
    /// Inserts, or writes status and grant of the one with this id.
    async fn put(&mut self, mandate: &Mandate) -> Result<(), StorageError>;
    /// Writes what is known of the grant now. Whether it still holds is not touched: somebody else may end it meanwhile.
    async fn update_details(&mut self, id: &MandateId, details: &MandateDetails, now: Timestamp) -> Result<(), StorageError>;
    /// A subscription is charged by the mandate once it is given.
    async fn link_subscription(&mut self, id: &MandateId, subscription: &SubscriptionId) -> Result<(), StorageError>;
    /// The subscriptions that were promised to a mandate.
    async fn linked_subscriptions(&mut self, id: &MandateId) -> Result<Vec<SubscriptionId>, StorageError>;
    /// The mandates that a subscription waits for.
    async fn pending_for_subscription(&mut self, subscription: &SubscriptionId) -> Result<Vec<MandateId>, StorageError>;
    /// Invoices are paid by the mandate, once, when it is given.
    async fn link_invoices(&mut self, id: &MandateId, invoices: &[InvoiceId]) -> Result<(), StorageError>;
    /// The invoices that a mandate is to pay.
    async fn linked_invoices(&mut self, id: &MandateId) -> Result<Vec<InvoiceId>, StorageError>;
    /// The mandates that an invoice waits for.
    async fn pending_for_invoice(&mut self, invoice: &InvoiceId) -> Result<Vec<MandateId>, StorageError>;
    async fn find(&mut self, id: &MandateId) -> Result<Option<Mandate>, StorageError>;
    async fn find_all(&mut self, ids: &[MandateId]) -> Result<Vec<Mandate>, StorageError>;
    /// The active ones of a customer with a method, newest first.
    async fn active_of(&mut self, customer: &CustomerId, method: &MethodId) -> Result<Vec<Mandate>, StorageError>;
}
