//! Implements the domain's [`Store`] port: units of work, each over one connection.

use super::audit_log::{AuditedCall, KINDS};
use super::idempotency_keys::Fence;
use super::{
    Connection, Database, SecretBox, Sql, SqlAccessTokens, SqlAgreements, SqlApiKeys, SqlAppInstances, SqlAppSales, SqlApps, SqlAttempts,
    SqlAuditLog, SqlBalances, SqlBlockedDigests, SqlBrowserSessions, SqlChargeCounts, SqlCheckoutSessions, SqlClockStates,
    SqlConnectSessions, SqlCreditNotes, SqlCustomers, SqlDevices, SqlDisputes, SqlEntitlements, SqlFoundPayments, SqlHourlyCounts,
    SqlIdempotencyKeys, SqlIntents, SqlInvitations, SqlInvoicePayments, SqlInvoices, SqlJournal, SqlMailAddresses, SqlManagedApps,
    SqlMandates, SqlMethods, SqlOutbox, SqlOwnerNotices, SqlPayees, SqlPaymentLinks, SqlPendingPlanChanges, SqlPersonalData,
    SqlPreferences, SqlPrices, SqlProcessReports, SqlProducts, SqlPublicationLog, SqlRefunds, SqlRestores, SqlReviews, SqlSaleShares,
    SqlStakes, SqlStoredByVisitors, SqlSubscriptions, SqlTestClocks, SqlToolSessions, SqlTrials, SqlTrustedPublishers, SqlUploads,
    SqlUsageRecords, SqlUsers,
};
use async_trait::async_trait;
use souk_domain::access::{ApiKeys, AuditEntry, AuditLog, BrowserSessions, ConnectSessions, Devices, Users};
use souk_domain::billing::{
    Balances, ChargeCounts, CreditNotes, InvoicePayments, Invoices, Payees, PendingPlanChanges, SaleShares, Stakes, Subscriptions,
    TestClocks, Trials, UsageRecords,
};
use souk_domain::checkout::{CheckoutSessions, PaymentLinks};
use souk_domain::customer::Customers;
use souk_domain::events::Outbox;
use souk_domain::ledger::Journal;
use souk_domain::mail::MailAddresses;
use souk_domain::operation::{ClockStates, FoundPayments, HourlyCounts, OwnerNotices, ProcessReports, Restores, StoredByVisitors};
use souk_domain::payment::{Attempts, Disputes, Intents, Mandates, Methods, Refunds};
use souk_domain::pricing::{Prices, Products};
use souk_domain::privacy::PersonalData;
use souk_domain::publishing::StoredPreferences;
use souk_domain::publishing::access_tokens::AccessTokens;
use souk_domain::publishing::bundle::Uploads;
use souk_domain::publishing::digests::BlockedDigests;
use souk_domain::publishing::instances::AppInstances;
use souk_domain::publishing::invitations::Invitations;
use souk_domain::publishing::managed_apps::ManagedApps;
use souk_domain::publishing::publication_log::PublicationLog;
use souk_domain::publishing::review::Reviews;
use souk_domain::publishing::selling::AppSales;
use souk_domain::publishing::staking::Agreements;
use souk_domain::publishing::tools::ToolSessions;
use souk_domain::publishing::trusted::TrustedPublishers;
use souk_domain::shared::StorageError;
use souk_domain::storage::{IdempotencyKeys, KeyedCall, Store, UnitOfWork};
use souk_domain::store::{Apps, Entitlements};
use std::sync::Arc;

/// [`Store`] on either database. Cheap to clone.
#[derive(Clone)]
pub struct SqlStore {
    database: Database,
    secrets: Arc<SecretBox>,
    fence: Option<Arc<Fence>>,
    audited: Option<AuditedCall>,
}

impl SqlStore {
    /// `secrets` encrypts values that must not be readable in the database: secrets of payment methods, client secrets of card
    /// payments, and responses stored under idempotency keys.
    #[must_use]
    pub const fn new(database: Database, secrets: Arc<SecretBox>) -> Self {
        Self { database, secrets, fence: None, audited: None }
    }
}

#[async_trait]
impl Store for SqlStore {
    async fn begin(&self) -> Result<Box<dyn UnitOfWork>, StorageError> {
        let mut connection = self.database.begin().await?;
        let of_fence = self.fence.as_ref().map_or(&[] as &[&str], |fence| fence.kinds());
        connection.note_kinds(&[of_fence, if self.audited.is_some() { KINDS } else { &[] }]);
        let (secrets, fence, audited) = (Arc::clone(&self.secrets), self.fence.clone(), self.audited.clone());
        Ok(Box::new(SqlUnitOfWork { connection, secrets, fence, audited }))
    }

    fn for_call(&self, call: KeyedCall) -> Arc<dyn Store> {
        Arc::new(Self { fence: Some(Arc::new(Fence::new(call))), ..self.clone() })
    }

    fn audited(&self, entry: AuditEntry) -> Arc<dyn Store> {
        Arc::new(Self { audited: Some(AuditedCall::new(entry)), ..self.clone() })
    }

    async fn read(&self) -> Result<Box<dyn UnitOfWork>, StorageError> {
        let connection = self.database.read().await?;
        Ok(Box::new(SqlUnitOfWork { connection, secrets: Arc::clone(&self.secrets), fence: None, audited: None }))
    }

    async fn ping(&self) -> Result<(), StorageError> {
        self.database.ping().await
    }
}

struct SqlUnitOfWork {
    connection: Connection,
    secrets: Arc<SecretBox>,
    /// The fence of the call with an idempotency key to which this unit of work belongs.
    fence: Option<Arc<Fence>>,
    /// The call to which this unit of work belongs, if the audit log records it.
    audited: Option<AuditedCall>,
}

macro_rules! repositories {
    ($($name:ident: $port:ident as $repository:ident;)*) => {$(
        fn $name(&mut self) -> Box<dyn $port + '_> {
            Box::new($repository(&mut self.connection))
        }
    )*};
}

#[async_trait]
impl UnitOfWork for SqlUnitOfWork {
    repositories! {
        users: Users as SqlUsers;
        browser_sessions: BrowserSessions as SqlBrowserSessions;
        devices: Devices as SqlDevices;
        api_keys: ApiKeys as SqlApiKeys;
        audit_log: AuditLog as SqlAuditLog;
        connect_sessions: ConnectSessions as SqlConnectSessions;
        customers: Customers as SqlCustomers;
        products: Products as SqlProducts;
        prices: Prices as SqlPrices;
        intents: Intents as SqlIntents;
        links: PaymentLinks as SqlPaymentLinks;
        invoices: Invoices as SqlInvoices;
        subscriptions: Subscriptions as SqlSubscriptions;
        stakes: Stakes as SqlStakes;
        plan_changes: PendingPlanChanges as SqlPendingPlanChanges;
        trials: Trials as SqlTrials;
        mandates: Mandates as SqlMandates;
        invoice_payments: InvoicePayments as SqlInvoicePayments;
        sale_shares: SaleShares as SqlSaleShares;
        payees: Payees as SqlPayees;
        credit_notes: CreditNotes as SqlCreditNotes;
        charge_counts: ChargeCounts as SqlChargeCounts;
        balances: Balances as SqlBalances;
        refunds: Refunds as SqlRefunds;
        disputes: Disputes as SqlDisputes;
        usage: UsageRecords as SqlUsageRecords;
        clocks: TestClocks as SqlTestClocks;
        journal: Journal as SqlJournal;
        apps: Apps as SqlApps;
        entitlements: Entitlements as SqlEntitlements;
        uploads: Uploads as SqlUploads;
        clock_states: ClockStates as SqlClockStates;
        mail_addresses: MailAddresses as SqlMailAddresses;
        hourly_counts: HourlyCounts as SqlHourlyCounts;
        stored_by_visitors: StoredByVisitors as SqlStoredByVisitors;
        restores: Restores as SqlRestores;
        found_payments: FoundPayments as SqlFoundPayments;
        owner_notices: OwnerNotices as SqlOwnerNotices;
        process_reports: ProcessReports as SqlProcessReports;
        digests: BlockedDigests as SqlBlockedDigests;
        access_tokens: AccessTokens as SqlAccessTokens;
        trusted_publishers: TrustedPublishers as SqlTrustedPublishers;
        app_instances: AppInstances as SqlAppInstances;
        invitations: Invitations as SqlInvitations;
        tool_sessions: ToolSessions as SqlToolSessions;
        preferences: StoredPreferences as SqlPreferences;
        agreements: Agreements as SqlAgreements;
        app_sales: AppSales as SqlAppSales;
        reviews: Reviews as SqlReviews;
        publication_log: PublicationLog as SqlPublicationLog;
        managed_apps: ManagedApps as SqlManagedApps;
        personal_data: PersonalData as SqlPersonalData;
        outbox: Outbox as SqlOutbox;
    }

    fn methods(&mut self) -> Box<dyn Methods + '_> {
        Box::new(SqlMethods { connection: &mut self.connection, secrets: &self.secrets })
    }

    fn sessions(&mut self) -> Box<dyn CheckoutSessions + '_> {
        Box::new(SqlCheckoutSessions { connection: &mut self.connection, secrets: &self.secrets })
    }

    fn attempts(&mut self) -> Box<dyn Attempts + '_> {
        Box::new(SqlAttempts { connection: &mut self.connection, secrets: &self.secrets })
    }

    fn idempotency(&mut self) -> Box<dyn IdempotencyKeys + '_> {
        Box::new(SqlIdempotencyKeys { connection: &mut self.connection, secrets: &self.secrets })
    }

    async fn lock(&mut self, subject: &'static str) -> Result<(), StorageError> {
        // SQLite allows one writer, and this transaction already holds its lock.
        const LOCK: Sql = Sql { sqlite: "SELECT $1 AS held", postgres: "SELECT 1 AS held FROM pg_advisory_xact_lock(hashtext($1))" };
        self.connection.query_per_dialect(LOCK).bind(subject).one().await.map(drop)
    }

    async fn commit(mut self: Box<Self>) -> Result<(), StorageError> {
        let audited = match self.audited.take() {
            Some(call) if call.write(&mut self.connection).await? => Some(call),
            _ => None,
        };
        let fence = match self.fence.take() {
            Some(fence) => Some((fence.write(&mut self.connection).await?, fence)),
            None => None,
        };
        self.connection.commit().await?;
        if let Some((written, fence)) = fence {
            fence.confirm(written);
        }
        if let Some(call) = audited {
            call.confirm();
        }
        Ok(())
    }

    async fn rollback(self: Box<Self>) -> Result<(), StorageError> {
        self.connection.rollback().await
    }
}
