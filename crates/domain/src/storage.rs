//! The port to the database: units of work that provide the repositories.

use crate::access::{ApiKeys, AuditEntry, AuditLog, BrowserSessions, ConnectSessions, Devices, Users};
use crate::billing::{
    Balances, ChargeCounts, CreditNotes, InvoicePayments, Invoices, Payees, PendingPlanChanges, SaleShares, Stakes, Subscriptions,
    TestClocks, Trials, UsageRecords,
};
use crate::checkout::{CheckoutSessions, PaymentLinks};
use crate::customer::Customers;
use crate::events::Outbox;
use crate::ledger::Journal;
use crate::mail::MailAddresses;
use crate::operation::{ClockStates, FoundPayments, HourlyCounts, OwnerNotices, ProcessReports, Restores, StoredByVisitors};
use crate::payment::{Attempts, Disputes, Intents, Mandates, Methods, Refunds};
use crate::pricing::{Prices, Products};
use crate::privacy::PersonalData;
use crate::publishing::StoredPreferences;
use crate::publishing::access_tokens::AccessTokens;
use crate::publishing::bundle::Uploads;
use crate::publishing::digests::BlockedDigests;
use crate::publishing::instances::AppInstances;
use crate::publishing::invitations::Invitations;
use crate::publishing::managed_apps::ManagedApps;
use crate::publishing::publication_log::PublicationLog;
use crate::publishing::review::Reviews;
use crate::publishing::selling::AppSales;
use crate::publishing::staking::Agreements;
use crate::publishing::tools::ToolSessions;
use crate::publishing::trusted::TrustedPublishers;
use crate::shared::{StorageError, Timestamp};
use crate::store::{Apps, Entitlements};
use async_trait::async_trait;
use std::sync::Arc;

/// The subject of [`UnitOfWork::lock`] that serializes administrative changes. A unit of work that also locks an app of a developer or holds a
/// category, as a publication does that brings a price into force, does so first.
pub const MANAGEMENT: &str = "management";

/// How many hours the response to a write is stored for its `Idempotency-Key`.
pub const IDEMPOTENCY_LIFETIME_HOURS: u64 = 24;

/// A write with an `Idempotency-Key`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KeyedCall {
    /// Identifies who sent the key: keys of different callers are independent.
    pub caller: String,
    pub key: String,
    /// When this call claimed the key. A later claim replaces it; then the first call can no longer commit.
    pub claimed_at: Timestamp,
    /// The id prefixes of the objects from which a lost answer is rebuilt. The first prefix with an object counts.
    pub objects: &'static [&'static str],
}

/// What is stored for a key that another call has claimed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StoredCall {
    /// A hash of method, path and body. A different request under the same key is rejected.
    pub fingerprint: String,
    pub claimed_at: Timestamp,
    pub state: CallState,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum CallState {
    /// The call is being processed.
    Running,
    /// The call has committed a unit of work, and ended or died without a stored answer. It must not run again. `objects` are the ids
    /// of the objects that it noted, in the order of creation.
    Fenced { objects: Vec<String> },
    /// The stored status and body.
    Answered { status: u16, body: String },
}

#[async_trait]
pub trait IdempotencyKeys: Send {
    /// Claims the key at `call.claimed_at`, until `lease_until`, or returns what is stored for it. A key whose call neither was answered nor has committed
    /// anything can be claimed again after its lease.
    async fn claim(&mut self, call: &KeyedCall, fingerprint: &str, lease_until: Timestamp) -> Result<Option<StoredCall>, StorageError>;
    /// Stores the answer of a call that has none and still holds the key.
    async fn keep(&mut self, call: &KeyedCall, status: u16, body: &str) -> Result<(), StorageError>;
    /// Releases the key of a call that ended without effect, and returns true. If the call has committed a unit of work, only its lease
    /// ends, at `now`, and the result is false.
    async fn free(&mut self, call: &KeyedCall, now: Timestamp) -> Result<bool, StorageError>;
    async fn prune(&mut self, before: Timestamp, limit: u32) -> Result<u64, StorageError>;
}

#[async_trait]
pub trait Store: Send + Sync {
    /// Begins a unit of work. Only one at a time, and no network call inside it (invariant 7).
    async fn begin(&self) -> Result<Box<dyn UnitOfWork>, StorageError>;
    /// This store for one call with an `Idempotency-Key`. Each unit of work that the call commits also writes the fence of its key, and
    /// the objects that repositories noted, in the same commit. If another call has claimed the key meanwhile, or an answer is stored,
    /// the commit fails with [`StorageError::Conflict`].
    fn for_call(&self, call: KeyedCall) -> Arc<dyn Store>;
    /// This store for one call that the audit log records. The first unit of work that the call commits also writes the entry, with the
    /// objects that repositories noted, in the same commit. A call that commits nothing leaves no entry.
    fn audited(&self, entry: AuditEntry) -> Arc<dyn Store>;
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
    fn devices(&mut self) -> Box<dyn Devices + '_>;
    fn api_keys(&mut self) -> Box<dyn ApiKeys + '_>;
    fn audit_log(&mut self) -> Box<dyn AuditLog + '_>;
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
    fn plan_changes(&mut self) -> Box<dyn PendingPlanChanges + '_>;
    fn trials(&mut self) -> Box<dyn Trials + '_>;
    fn mandates(&mut self) -> Box<dyn Mandates + '_>;
    fn invoice_payments(&mut self) -> Box<dyn InvoicePayments + '_>;
    fn sale_shares(&mut self) -> Box<dyn SaleShares + '_>;
    fn payees(&mut self) -> Box<dyn Payees + '_>;
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
    fn uploads(&mut self) -> Box<dyn Uploads + '_>;
    fn digests(&mut self) -> Box<dyn BlockedDigests + '_>;
    fn access_tokens(&mut self) -> Box<dyn AccessTokens + '_>;
    fn trusted_publishers(&mut self) -> Box<dyn TrustedPublishers + '_>;
    fn app_instances(&mut self) -> Box<dyn AppInstances + '_>;
    fn invitations(&mut self) -> Box<dyn Invitations + '_>;
    fn tool_sessions(&mut self) -> Box<dyn ToolSessions + '_>;
    fn preferences(&mut self) -> Box<dyn StoredPreferences + '_>;
    fn agreements(&mut self) -> Box<dyn Agreements + '_>;
    fn app_sales(&mut self) -> Box<dyn AppSales + '_>;
    fn reviews(&mut self) -> Box<dyn Reviews + '_>;
    fn publication_log(&mut self) -> Box<dyn PublicationLog + '_>;
    fn managed_apps(&mut self) -> Box<dyn ManagedApps + '_>;
    fn personal_data(&mut self) -> Box<dyn PersonalData + '_>;
    fn idempotency(&mut self) -> Box<dyn IdempotencyKeys + '_>;
    fn found_payments(&mut self) -> Box<dyn FoundPayments + '_>;
    fn restores(&mut self) -> Box<dyn Restores + '_>;
    fn owner_notices(&mut self) -> Box<dyn OwnerNotices + '_>;
    fn clock_states(&mut self) -> Box<dyn ClockStates + '_>;
    fn mail_addresses(&mut self) -> Box<dyn MailAddresses + '_>;
    fn hourly_counts(&mut self) -> Box<dyn HourlyCounts + '_>;
    fn process_reports(&mut self) -> Box<dyn ProcessReports + '_>;
    fn stored_by_visitors(&mut self) -> Box<dyn StoredByVisitors + '_>;
    fn outbox(&mut self) -> Box<dyn Outbox + '_>;
    /// Locks a subject until this unit of work ends. For rare operations that read before they write; frequent ones are guarded by
    /// conditional updates instead.
    async fn lock(&mut self, subject: &'static str) -> Result<(), StorageError>;
    /// Commits all changes, and wakes the outbox relay. [`StorageError::CommitUnknown`] if the database did not confirm the commit: it may
    /// have taken effect.
    async fn commit(self: Box<Self>) -> Result<(), StorageError>;
    /// Rolls back at once, as dropping does later: all locks are released when this returns.
    async fn rollback(self: Box<Self>) -> Result<(), StorageError>;
}
