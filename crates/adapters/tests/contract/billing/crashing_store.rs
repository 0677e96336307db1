//! A store whose process crashes at a chosen commit.

use async_trait::async_trait;
use souk_domain::access::{ApiKeys, AuditEntry, AuditLog, BrowserSessions, ConnectSessions, Devices, Users};
use souk_domain::billing::{
    Balances, ChargeCounts, CreditNotes, InvoicePayments, Invoices, Payees, PendingPlanChanges, SaleShares, Stakes, Subscriptions,
    TestClocks, Trials, UsageRecords,
};
use souk_domain::checkout::{CheckoutSessions, PaymentLinks};
use souk_domain::context::Context;
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
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

/// Where a process crashes: at the commit after `commits` successful ones, before or after that commit takes effect.
#[derive(Debug, Clone, Copy)]
pub struct CrashPoint {
    pub commits: usize,
    pub takes_effect: bool,
}

/// The state of a process that may have crashed: nothing can be read or written any more.
#[derive(Clone)]
pub struct Crash {
    left: Arc<AtomicUsize>,
    takes_effect: bool,
    has_crashed: Arc<AtomicBool>,
}

impl Crash {
    pub fn has_happened(&self) -> bool {
        self.has_crashed.load(Ordering::SeqCst)
    }

    fn check(&self) -> Result<(), StorageError> {
        if self.has_happened() { Err(StorageError::Driver("the process has crashed".into())) } else { Ok(()) }
    }
}

/// A context of a process that crashes at `point`.
pub fn crashing(ctx: &Context, point: CrashPoint) -> (Context, Crash) {
    let crash = Crash {
        left: Arc::new(AtomicUsize::new(point.commits)),
        takes_effect: point.takes_effect,
        has_crashed: Arc::new(AtomicBool::new(false)),
    };
    let store = CrashingStore { inner: Arc::clone(&ctx.store), crash: crash.clone() };
    (Context { store: Arc::new(store), ..ctx.clone() }, crash)
}

struct CrashingStore {
    inner: Arc<dyn Store>,
    crash: Crash,
}

#[async_trait]
impl Store for CrashingStore {
    async fn begin(&self) -> Result<Box<dyn UnitOfWork>, StorageError> {
        self.crash.check()?;
        Ok(Box::new(CrashingUnit { inner: self.inner.begin().await?, crash: self.crash.clone() }))
    }

    fn for_call(&self, call: KeyedCall) -> Arc<dyn Store> {
        self.inner.for_call(call)
    }

    fn audited(&self, entry: AuditEntry) -> Arc<dyn Store> {
        self.inner.audited(entry)
    }

    async fn read(&self) -> Result<Box<dyn UnitOfWork>, StorageError> {
        self.crash.check()?;
        self.inner.read().await
    }

    async fn ping(&self) -> Result<(), StorageError> {
        self.crash.check()
    }
}

struct CrashingUnit {
    inner: Box<dyn UnitOfWork>,
    crash: Crash,
}

macro_rules! delegate {
    ($($name:ident: $port:ident;)*) => {$(
        fn $name(&mut self) -> Box<dyn $port + '_> {
            self.inner.$name()
        }
    )*};
}

#[async_trait]
impl UnitOfWork for CrashingUnit {
    delegate! {
        users: Users;
        browser_sessions: BrowserSessions;
        devices: Devices;
        api_keys: ApiKeys;
        audit_log: AuditLog;
        connect_sessions: ConnectSessions;
        customers: Customers;
        products: Products;
        prices: Prices;
        methods: Methods;
        intents: Intents;
        attempts: Attempts;
        links: PaymentLinks;
        sessions: CheckoutSessions;
        invoices: Invoices;
        subscriptions: Subscriptions;
        stakes: Stakes;
        plan_changes: PendingPlanChanges;
        trials: Trials;
        mandates: Mandates;
        invoice_payments: InvoicePayments;
        sale_shares: SaleShares;
        payees: Payees;
        credit_notes: CreditNotes;
        charge_counts: ChargeCounts;
        balances: Balances;
        refunds: Refunds;
        disputes: Disputes;
        usage: UsageRecords;
        clocks: TestClocks;
        journal: Journal;
        apps: Apps;
        entitlements: Entitlements;
        uploads: Uploads;
        idempotency: IdempotencyKeys;
        clock_states: ClockStates;
        mail_addresses: MailAddresses;
        hourly_counts: HourlyCounts;
        stored_by_visitors: StoredByVisitors;
        restores: Restores;
        found_payments: FoundPayments;
        owner_notices: OwnerNotices;
        process_reports: ProcessReports;
        digests: BlockedDigests;
        access_tokens: AccessTokens;
        trusted_publishers: TrustedPublishers;
        app_instances: AppInstances;
        invitations: Invitations;
        tool_sessions: ToolSessions;
        preferences: StoredPreferences;
        agreements: Agreements;
        publication_log: PublicationLog;
        app_sales: AppSales;
        reviews: Reviews;
        managed_apps: ManagedApps;
        personal_data: PersonalData;
        outbox: Outbox;
    }

    async fn lock(&mut self, subject: &'static str) -> Result<(), StorageError> {
        self.inner.lock(subject).await
    }

    async fn commit(self: Box<Self>) -> Result<(), StorageError> {
        let Self { inner, crash } = *self;
        crash.check()?;
        let is_spent = crash.left.fetch_update(Ordering::SeqCst, Ordering::SeqCst, |left| left.checked_sub(1)).is_err();
        if !is_spent {
            return inner.commit().await;
        }
        crash.has_crashed.store(true, Ordering::SeqCst);
        if crash.takes_effect {
            inner.commit().await?
        } else {
            inner.rollback().await?
        }
        Err(StorageError::Driver("the process has crashed".into()))
    }

    async fn rollback(self: Box<Self>) -> Result<(), StorageError> {
        self.inner.rollback().await
    }
}
