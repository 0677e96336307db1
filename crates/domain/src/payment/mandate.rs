//! Mandates: permissions for off-session charges.

use super::SavedCard;
use crate::access::Did;
use crate::shared::{Amount, CurrencyId, CustomerId, InvoiceId, MandateId, MethodId, Mode, StorageError, SubscriptionId, Timestamp};
use async_trait::async_trait;

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum MandateStatus {
    /// Requested; the network has not confirmed it yet.
    Pending,
    Active,
    /// Declined, revoked or replaced.
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

/// What the customer granted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum MandateDetails {
    /// A delegation at the network, with the most of one charge for each currency.
    Delegation {
        payer: Did,
        limits: Vec<(CurrencyId, Amount)>,
        /// The hash of the transaction that granted it.
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
    /// Inserts a mandate, or writes status and details of the one with this id.
    async fn upsert(&mut self, mandate: &Mandate) -> Result<(), StorageError>;
    /// Writes the details but not the status, which another unit of work may change concurrently.
    async fn update_details(&mut self, id: &MandateId, details: &MandateDetails, now: Timestamp) -> Result<(), StorageError>;
    /// Links a subscription that will be charged by the mandate once it is active.
    async fn link_subscription(&mut self, id: &MandateId, subscription: &SubscriptionId) -> Result<(), StorageError>;
    /// The subscriptions linked to a mandate.
    async fn linked_subscriptions(&mut self, id: &MandateId) -> Result<Vec<SubscriptionId>, StorageError>;
    /// The pending mandates that a subscription is linked to.
    async fn pending_for_subscription(&mut self, subscription: &SubscriptionId) -> Result<Vec<MandateId>, StorageError>;
    /// Links invoices that the mandate pays once, when it becomes active.
    async fn link_invoices(&mut self, id: &MandateId, invoices: &[InvoiceId]) -> Result<(), StorageError>;
    /// The invoices linked to a mandate.
    async fn linked_invoices(&mut self, id: &MandateId) -> Result<Vec<InvoiceId>, StorageError>;
    /// The pending mandates that an invoice is linked to.
    async fn pending_for_invoice(&mut self, invoice: &InvoiceId) -> Result<Vec<MandateId>, StorageError>;
    async fn find(&mut self, id: &MandateId) -> Result<Option<Mandate>, StorageError>;
    async fn find_all(&mut self, ids: &[MandateId]) -> Result<Vec<Mandate>, StorageError>;
    /// Deletes a mandate that is not active and that no checkout session, subscription, invoice, plan change or attempt names. False: it is
    /// kept.
    async fn delete_unused(&mut self, id: &MandateId) -> Result<bool, StorageError>;
    /// A customer's active mandates with a method, newest first.
    async fn active_of(&mut self, customer: &CustomerId, method: &MethodId) -> Result<Vec<Mandate>, StorageError>;
}
