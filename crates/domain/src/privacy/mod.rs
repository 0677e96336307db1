//! Personal data: its export, and its erasure as far as the law lets a store erase it.

mod erase;
mod limits;
mod provider_customer;
mod unused_users;

pub use erase::{ErasureError, erase, obstacles};
pub use limits::{ERASURES_PER_HOUR, EXPORTS_PER_HOUR, ExportError, count_export};
pub use provider_customer::{DeletionError, delete_provider_customer};
pub use unused_users::delete_unused_users;

use crate::access::Did;
use crate::shared::{MethodId, StorageError, Timestamp};
use async_trait::async_trait;
use futures_util::stream::BoxStream;

/// Why the data of a user cannot be erased now.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Obstacle {
    /// The user owns or administers the store, or publishes in it.
    Role,
    /// A subscription has not ended.
    ActiveSubscription,
    /// An invoice is not paid.
    UnpaidInvoice,
    /// A payment, a refund or an authorization waits for its network.
    MoneyInFlight,
    /// A card payment is disputed.
    OpenDispute,
    /// A network holds a deposit of the user.
    Deposit,
    /// The user has a balance with the store.
    Balance,
    /// A share of sales was not paid out to the user yet.
    Earnings,
}

impl Obstacle {
    pub const ALL: [Self; 8] = [
        Self::Role,
        Self::ActiveSubscription,
        Self::UnpaidInvoice,
        Self::MoneyInFlight,
        Self::OpenDispute,
        Self::Deposit,
        Self::Balance,
        Self::Earnings,
    ];

    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Role => "role",
            Self::ActiveSubscription => "active_subscription",
            Self::UnpaidInvoice => "unpaid_invoice",
            Self::MoneyInFlight => "money_in_flight",
            Self::OpenDispute => "open_dispute",
            Self::Deposit => "deposit",
            Self::Balance => "balance",
            Self::Earnings => "earnings",
        }
    }
}

/// A customer at the provider of a card method who must be deleted there.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ErasedProviderCustomer {
    pub method_id: MethodId,
    pub provider_id: String,
}

/// The result of [`PersonalData::delete_unused_users`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ExaminedUsers {
    /// How many users were examined, deleted or not.
    pub users: u64,
    /// The customers of deleted users that providers still have.
    pub at_providers: Vec<ErasedProviderCustomer>,
}

#[async_trait]
pub trait PersonalData: Send {
    /// Locks the user until this unit of work ends: two erasures do not overlap. False: there is no such user.
    async fn lock(&mut self, did: &Did) -> Result<bool, StorageError>;
    /// What stands in the way of the erasure, in both modes.
    async fn obstacles(&mut self, did: &Did) -> Result<Vec<Obstacle>, StorageError>;
    /// Removes name, email, phone and address of the user and of their customers, the user's picture, whose file then becomes an orphan,
    /// the contacts of their checkout sessions, their saved cards and authorizations, the names and cards that payments were made with, and
    /// all logins. Invoices, credit notes and the journal stay as they are; so do the shares of prices and sales with the payouts to the
    /// user, the networks' ids of payments, by which they are refunded and disputed, and the DID, under which all of this is kept. Returns
    /// the customers that providers still have; each is returned by one erasure.
    async fn erase(&mut self, did: &Did, now: Timestamp) -> Result<Vec<ErasedProviderCustomer>, StorageError>;
    /// Examines users who were last examined before `before`, at most `limit`, and deletes those who have nothing in the store and have not
    /// changed since then. Must keep a user who is blocked or has a passport, even a revoked one, a login, a signed-in computer, an access
    /// token, a trusted publisher, an entitlement, an app or a share of a sale, or one of whose customers is named by anything: an order, a
    /// payment, an invoice, a subscription, an active authorization, a deposit, a balance. A user is deleted together with all of their
    /// customers and agreements, or not at all.
    async fn delete_unused_users(&mut self, before: Timestamp, now: Timestamp, limit: u32) -> Result<ExaminedUsers, StorageError>;
}

/// The pieces of a document, each read when the one before was taken.
pub type ExportPieces = BoxStream<'static, Result<Vec<u8>, StorageError>>;

/// Exports everything that is stored about a user.
pub trait PersonalDataExports: Send + Sync {
    /// A JSON document with an array of records for each kind of object, in both modes. Secrets of the store are left out. It takes memory
    /// for one piece only, however much is stored; what changes meanwhile may be in it or not.
    fn export(&self, did: &Did, now: Timestamp) -> ExportPieces;
}
