//! The store as a whole: units of work that hand out the repositories.

use crate::access::{ApiKeys, BrowserSessions, ConnectSessions, Users};
use crate::billing::{Balances, CreditNotes, InvoicePayments, Invoices, Stakes, Subscriptions, TestClocks, Trials, UsageRecords};
use crate::checkout::{CheckoutSessions, PaymentLinks};
use crate::customer::Customers;
use crate::events::Outbox;
use crate::ledger::Journal;
use crate::payment::{Attempts, Disputes, Intents, Mandates, Methods, Refunds};
use crate::pricing::{Prices, Products};
use crate::shared::{StorageError, Timestamp};
use crate::store::{Apps, Entitlements};
use async_trait::async_trait;

/// Acts of those who run the store come one after the other.
pub const MANAGEMENT: &str = "management";

/// How long the first answer of a write is kept for its `Idempotency-Key`.
pub const IDEMPOTENCY_LIFETIME_HOURS: u64 = 24;

/// A write that carried an `Idempotency-Key`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StoredResponse {
    /// Hash of method, path and body: another one under the same key is refused.
    pub fingerprint: String,
    /// `None` while the first call is being worked on.
    pub answer: Option<(u16, String)>,
}

#[async_trait]
pub trait IdempotencyKeys: Send {
    /// Takes the key, or answers what it was taken for. A key whose first call was never answered is free again after `stale_before`.
    async fn take(
        &mut self,
        caller: &str,
        key: &str,
        fingerprint: &str,
        now: Timestamp,
        stale_before: Timestamp,
    ) -> Result<Option<StoredResponse>, StorageError>;
    async fn keep(&mut self, caller: &str, key: &str, status: u16, body: &str) -> Result<(), StorageError>;
    /// Frees a key whose call failed without an effect.
    async fn free(&mut self, caller: &str, key: &str) -> Result<(), StorageError>;
    async fn prune(&mut self, before: Timestamp, limit: u32) -> Result<u64, StorageError>;
}

#[async_trait]
pub trait Store: Send + Sync {
    /// Begins a unit of work. One at a time, and no network call inside it (invariant 7).
    async fn begin(&self) -> Result<Box<dyn UnitOfWork>, StorageError>;
    /// The repositories without a transaction, for reading.
    async fn read(&self) -> Result<Box<dyn UnitOfWork>, StorageError>;
    /// Whether the database answers.
    async fn ping(&self) -> Result<(), StorageError>;
}

/// Repositories over one transaction. Dropped without [`UnitOfWork::commit`], nothing of it has happened.
#[async_trait]
pub trait UnitOfWork: Send {
    fn users(&mut self) -> Box<dyn Users + '_>;
    fn logins(&mut self) -> Box<dyn BrowserSessions + '_>;
    fn api_keys(&mut self) -> Box<dyn ApiKeys + '_>;
    fn connect_sessions(&mut self) -> Box<dyn ConnectSessions + '_>;
    fn customers(&mut self) -> Box<dyn Customers + '_>;
    fn products(&mut self) -> Box<dyn Products + '_>;
    fn prices(&mut self) -> Box<dyn Prices + '_>;
    fn methods(&mut self) -> Box<dyn Methods + '_>;
    fn intents(&mut self) -> Box<dyn Intents + '_>;
    fn attempts(&mut self) -> Box<dyn Attempts + '_>;
    fn links(&mut self) -> Box<dyn PaymentLinks + '_>;
    fn sessions(&mut self) -> Box<dyn CheckoutSessions + '_>;
    fn invoices(&mut self) -> Box<dyn Invoices + '_>;
    fn subscriptions(&mut self) -> Box<dyn Subscriptions + '_>;
    fn stakes(&mut self) -> Box<dyn Stakes + '_>;
    fn trials(&mut self) -> Box<dyn Trials + '_>;
    fn mandates(&mut self) -> Box<dyn Mandates + '_>;
    fn invoice_payments(&mut self) -> Box<dyn InvoicePayments + '_>;
    fn credit_notes(&mut self) -> Box<dyn CreditNotes + '_>;
    fn balances(&mut self) -> Box<dyn Balances + '_>;
    fn refunds(&mut self) -> Box<dyn Refunds + '_>;
    fn disputes(&mut self) -> Box<dyn Disputes + '_>;
    fn usage(&mut self) -> Box<dyn UsageRecords + '_>;
    fn clocks(&mut self) -> Box<dyn TestClocks + '_>;
    fn journal(&mut self) -> Box<dyn Journal + '_>;
    fn apps(&mut self) -> Box<dyn Apps + '_>;
    fn entitlements(&mut self) -> Box<dyn Entitlements + '_>;
    fn idempotency(&mut self) -> Box<dyn IdempotencyKeys + '_>;
    fn outbox(&mut self) -> Box<dyn Outbox + '_>;
    /// Waits until no other unit of work holds this subject, and holds it until the end of this one. For rare acts that read
    /// before they write; what happens often is guarded by conditional updates instead.
    async fn lock(&mut self, subject: &'static str) -> Result<(), StorageError>;
    /// Makes it all durable, and pokes the relay.
    async fn commit(self: Box<Self>) -> Result<(), StorageError>;
    /// What dropping it does, at once: what it has locked is free when this returns.
    async fn rollback(self: Box<Self>) -> Result<(), StorageError>;
}
