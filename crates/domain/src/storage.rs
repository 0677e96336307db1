//! The port to the database: units of work that provide the repositories.

use crate::access::{ApiKeys, BrowserSessions, ConnectSessions, Users};
use crate::billing::{
    Balances, ChargeCounts, CreditNotes, InvoicePayments, Invoices, Stakes, Subscriptions, TestClocks, Trials, UsageRecords,
};
use crate::checkout::{CheckoutSessions, PaymentLinks};
use crate::customer::Customers;
use crate::events::Outbox;
use crate::ledger::Journal;
use crate::operation::ClockStates;
use crate::payment::{Attempts, Disputes, Intents, Mandates, Methods, Refunds};
use crate::pricing::{Prices, Products};
use crate::shared::{StorageError, Timestamp};
use crate::store::{Apps, Entitlements};
use async_trait::async_trait;

/// The subject of [`UnitOfWork::lock`] that serializes administrative changes.
pub const MANAGEMENT: &str = "management";

/// How many hours the response to a write is stored for its `Idempotency-Key`.
pub const IDEMPOTENCY_LIFETIME_HOURS: u64 = 24;

/// The stored response to a write with an `Idempotency-Key`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StoredResponse {
    /// A hash of method, path and body. A different request under the same key is rejected.
    pub fingerprint: String,
    /// Status and body; `None` while the first call is running.
    pub answer: Option<(u16, String)>,
}

#[async_trait]
pub trait IdempotencyKeys: Send {
    /// Claims the key, or returns what is stored for it. A key whose first call was never answered can be claimed again if it was claimed
    /// before `stale_before`.
    async fn take(
        &mut self,
        caller: &str,
        key: &str,
        fingerprint: &str,
        now: Timestamp,
        stale_before: Timestamp,
    ) -> Result<Option<StoredResponse>, StorageError>;
    async fn keep(&mut self, caller: &str, key: &str, status: u16, body: &str) -> Result<(), StorageError>;
    /// Releases a key whose call failed without effect.
    async fn free(&mut self, caller: &str, key: &str) -> Result<(), StorageError>;
    async fn prune(&mut self, before: Timestamp, limit: u32) -> Result<u64, StorageError>;
}

#[async_trait]
pub trait Store: Send + Sync {
    /// Begins a unit of work. Only one at a time, and no network call inside it (invariant 7).
    async fn begin(&self) -> Result<Box<dyn UnitOfWork>, StorageError>;
    /// Provides the repositories without a transaction, for reading.
    async fn read(&self) -> Result<Box<dyn UnitOfWork>, StorageError>;
    /// Checks that the database responds.
    async fn ping(&self) -> Result<(), StorageError>;
}

/// Repositories over one transaction. If it is dropped without [`UnitOfWork::commit`], it has no effect.
#[async_trait]
pub trait UnitOfWork: Send {
    fn users(&mut self) -> Box<dyn Users + '_>;
    fn browser_sessions(&mut self) -> Box<dyn BrowserSessions + '_>;
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
    fn charge_counts(&mut self) -> Box<dyn ChargeCounts + '_>;
    fn balances(&mut self) -> Box<dyn Balances + '_>;
    fn refunds(&mut self) -> Box<dyn Refunds + '_>;
    fn disputes(&mut self) -> Box<dyn Disputes + '_>;
    fn usage(&mut self) -> Box<dyn UsageRecords + '_>;
    fn clocks(&mut self) -> Box<dyn TestClocks + '_>;
    fn journal(&mut self) -> Box<dyn Journal + '_>;
    fn apps(&mut self) -> Box<dyn Apps + '_>;
    fn entitlements(&mut self) -> Box<dyn Entitlements + '_>;
    fn idempotency(&mut self) -> Box<dyn IdempotencyKeys + '_>;
    fn clock_states(&mut self) -> Box<dyn ClockStates + '_>;
    fn outbox(&mut self) -> Box<dyn Outbox + '_>;
    /// Locks a subject until this unit of work ends. For rare operations that read before they write; frequent ones are guarded by
    /// conditional updates instead.
    async fn lock(&mut self, subject: &'static str) -> Result<(), StorageError>;
    /// Commits all changes, and wakes the outbox relay.
    async fn commit(self: Box<Self>) -> Result<(), StorageError>;
    /// Rolls back at once, as dropping does later: all locks are released when this returns.
    async fn rollback(self: Box<Self>) -> Result<(), StorageError>;
}
