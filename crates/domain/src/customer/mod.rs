//! Customers and the rules of their contact details.

mod contact;
mod postal;
mod profile;

pub use crate::shared::Address;
pub use contact::*;
pub use postal::{POSTAL_PATTERNS, postal_code_fits};
pub use profile::{ProfileError, update_profile};

use crate::access::Did;
use crate::shared::{CustomerId, Language, Listed, Mode, Page, StorageError, Timestamp};
use async_trait::async_trait;

/// Somebody who buys, in one mode. One per user and mode.
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

/// A customer, and how they stand with the store.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CustomerStatus {
    pub customer: Customer,
    /// Invoices of theirs are overdue.
    pub owes: bool,
    /// They gave a permission once, or have credit: only then is it worth asking whether they can pay without the wallet.
    pub may_pay_fast: bool,
}

#[async_trait]
pub trait Customers: Send {
    async fn find(&mut self, id: &CustomerId) -> Result<Option<Customer>, StorageError>;
    async fn find_all(&mut self, ids: &[CustomerId]) -> Result<Vec<Customer>, StorageError>;
    async fn find_by_did(&mut self, mode: Mode, did: &Did) -> Result<Option<Customer>, StorageError>;
    /// Newest first.
    async fn list(&mut self, mode: Mode, page: &Page) -> Result<Listed<Customer>, StorageError>;
    /// Those whose name, mail or phone holds the words, or whose id or DID they are. Newest first.
    async fn search(&mut self, mode: Mode, words: &str, page: &Page) -> Result<Listed<Customer>, StorageError>;
    /// Inserts, or updates the contact of the customer with the same user and mode. Answers the customer as it stands now.
    async fn upsert(&mut self, customer: &Customer) -> Result<Customer, StorageError>;
}
