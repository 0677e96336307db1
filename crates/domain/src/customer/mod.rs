//! Customers and the validation of their contact details.

mod contact;
mod links;
mod postal;
mod profile;

pub use crate::shared::Address;
pub use contact::*;
pub use links::{open_link, revoke_links};
pub use postal::{POSTAL_PATTERNS, postal_code_fits};
pub use profile::{ProfileError, update_profile};

use crate::access::Did;
use crate::shared::{CustomerId, Language, Listed, MethodId, Mode, Page, StorageError, Timestamp};
use async_trait::async_trait;

/// A buyer. One per user and mode.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Customer {
    pub id: CustomerId,
    pub mode: Mode,
    pub did: Did,
    pub name: String,
    pub email: String,
    pub phone: String,
    pub address: Option<Address>,
    pub language: Language,
    pub created_at: Timestamp,
    pub updated_at: Timestamp,
}

/// A customer's counterpart at the provider of a card method.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProviderCustomer {
    pub provider_id: String,
    /// It is deleted at the provider, or will be, because the customer's data was erased. It must not be used again; a new one replaces it.
    pub is_erased: bool,
}

/// A customer with their payment status.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CustomerStatus {
    pub customer: Customer,
    /// Whether they have overdue invoices.
    pub has_overdue: bool,
    /// Whether they have an active mandate, or have ever had a balance. Otherwise a query whether they can pay without the wallet is
    /// useless.
    pub may_pay_fast: bool,
}

#[async_trait]
pub trait Customers: Send {
    async fn find(&mut self, id: &CustomerId) -> Result<Option<Customer>, StorageError>;
    async fn find_all(&mut self, ids: &[CustomerId]) -> Result<Vec<Customer>, StorageError>;
    async fn find_by_did(&mut self, mode: Mode, did: &Did) -> Result<Option<Customer>, StorageError>;
    /// Lists customers, newest first.
    async fn list(&mut self, mode: Mode, page: &Page) -> Result<Listed<Customer>, StorageError>;
    /// Customers that match words of name, email or phone, or the id or DID. Newest first.
    async fn search(&mut self, mode: Mode, words: &str, page: &Page) -> Result<Listed<Customer>, StorageError>;
    /// Declares the links in emails that a user received until now invalid, in both modes.
    async fn revoke_links(&mut self, did: &Did, now: Timestamp) -> Result<(), StorageError>;
    /// When the links of the customer were last revoked whose invoice, subscription or own page the id names.
    async fn links_revoked_at(&mut self, subject: &str) -> Result<Option<Timestamp>, StorageError>;
    /// Inserts a customer, or updates the contact of the one with the same user and mode. Returns the customer as stored.
    async fn upsert(&mut self, customer: &Customer) -> Result<Customer, StorageError>;
    /// The customer at the provider of a card method.
    async fn provider_customer(&mut self, customer: &CustomerId, method: &MethodId) -> Result<Option<ProviderCustomer>, StorageError>;
    async fn set_provider_customer(&mut self, customer: &CustomerId, method: &MethodId, provider_id: &str) -> Result<(), StorageError>;
}
