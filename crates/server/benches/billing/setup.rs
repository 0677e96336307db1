//! A store with subscriptions only, on either database.

use crate::plans::{self, CHARGE, Payer, derived};
use crate::remote::Remote;
use souk_adapters::arcblock::ArcblockRail;
use souk_adapters::identity::AppKey;
use souk_adapters::persistence::{Database, SecretBox, SqlStore};
use souk_adapters::system::SystemRandom;
use souk_adapters::testing::{RunningClock, TestDatabase};
use souk_domain::billing::BillingPolicy;
use souk_domain::context::{Context, Networks};
use souk_domain::operation::{KnownInstallation, TrustedClock, UnlimitedDisk};
use souk_domain::payment::MethodKind;
use souk_domain::shared::{Amount, Clock, Timestamp};
use souk_domain::storage::Store;
use std::sync::Arc;
use std::time::Duration;
use url::Url;

pub struct Setup {
    pub database: TestDatabase,
    pub ctx: Context,
    pub now: Timestamp,
    /// `sqlite` or `postgres`.
    pub engine: &'static str,
}

impl Setup {
    /// One store per database; only SQLite if there is no PostgreSQL.
    pub async fn both(subscriptions: u64, latency: Duration) -> Vec<Self> {
        let mut both = vec![Self::on(TestDatabase::sqlite().await, "sqlite", subscriptions, latency).await];
        match std::env::var("TEST_PG") {
            Ok(_) => both.push(Self::on(TestDatabase::postgres().await, "postgres", subscriptions, latency).await),
            Err(_) => eprintln!("TEST_PG names no PostgreSQL server: its figures are left out"),
        }
        both
    }

    async fn on(database: TestDatabase, engine: &'static str, subscriptions: u64, latency: Duration) -> Self {
        let nowhere = Url::parse("http://127.0.0.1:9/").expect("an address");
        let local = ArcblockRail::new(AppKey::from_seed(&derived("app")), Arc::new(RunningClock), nowhere.clone()).expect("a rail");
        let rail = Remote { local, latency, amount: Amount::new(CHARGE) };
        let ctx = Context {
            store: store(Database::clone(&database)),
            clock: Arc::new(RunningClock),
            random: Arc::new(SystemRandom),
            networks: Networks::default().with_wallet(MethodKind::Arcblock, Arc::new(rail)),
            handlers: souk_domain::purpose_handlers(),
            stake_uses: souk_domain::stake_uses(),
            policy: BillingPolicy::default(),
            limits: souk_domain::operation::VisitorLimits::default(),
            trust: Arc::new(TrustedClock),
            disk: Arc::new(UnlimitedDisk),
            installation: Arc::new(KnownInstallation::default()),
        };
        let mut unit = ctx.store.begin().await.expect("begins");
        unit.methods().insert(&plans::method()).await.expect("writes");
        unit.methods().insert_currency(&plans::currency()).await.expect("writes");
        unit.commit().await.expect("commits");
        let now = RunningClock.now();
        let payers: Vec<_> = (0..20).map(|number| Payer::known(&nowhere, number)).collect();
        plans::insert_subscriptions(&database, &payers, subscriptions, now).await;
        Self { database, ctx, now, engine }
    }

    /// Opens the store with new connections.
    pub async fn reopen(&self) -> Arc<dyn Store> {
        store(Database::open(self.database.address()).await.expect("opens"))
    }

    pub fn name(&self, figure: &str) -> String {
        format!("{figure}_{}", self.engine)
    }

    pub async fn write(&self, sql: &'static str) {
        let mut connection = self.database.begin().await.expect("begins");
        connection.query(sql).execute().await.expect(sql);
        connection.commit().await.expect("commits");
    }

    /// Updates the planner's statistics and waits until SQLite has checkpointed its log, because every page read would search the
    /// hundreds of megabytes that the setup has logged.
    pub async fn settle(&self) {
        self.write("ANALYZE").await;
        if self.engine == "sqlite" {
            while !self.has_checkpointed().await {}
        }
    }

    async fn has_checkpointed(&self) -> bool {
        let mut connection = self.database.read().await.expect("reads");
        let row = connection.query("PRAGMA wal_checkpoint(PASSIVE)").one().await.expect("copies");
        row.get::<u64>("log").expect("a number") == row.get::<u64>("checkpointed").expect("a number")
    }
}

fn store(database: Database) -> Arc<dyn Store> {
    Arc::new(SqlStore::new(database, Arc::new(SecretBox::new(&derived("methods")))))
}
