//! A customer with a mandate, and subscriptions that are due.

use crate::catalogue::{price, product};
use crate::ledger::bench::{Bench, UNIT};
use crate::till::{customer, id, invoice, store};
use async_trait::async_trait;
use souk_adapters::persistence::{Database, Sql, SqlCustomers, SqlPrices, SqlProducts};
use souk_adapters::testing::{SeededRandom, TestDatabase};
use souk_domain::access::Did;
use souk_domain::billing::{
    self, BillingPolicy, BillingReason, Invoice, InvoiceFilter, InvoiceStatus, Period, Scope, Stake, StakeStatus, Subscription,
    SubscriptionItem, SubscriptionStatus, period,
};
use souk_domain::context::{Context, Networks};
use souk_domain::customer::Customers;
use souk_domain::payment::{
    self, Mandate, MandateDetails, MandateStatus, MethodKind, Outcome, Purpose, RailError, SandboxTime, WalletRail,
};
use souk_domain::pricing::{Anchoring, Cycle, Interval, Price, Prices, Products, Recurring, Usage};
use souk_domain::shared::*;
use std::sync::Arc;
use std::time::Duration;

pub const DAY: Duration = Duration::from_secs(24 * 3_600);

pub const HOUR: Duration = Duration::from_secs(3_600);

pub const HOURLY: Recurring =
    Recurring { cycle: Cycle { interval: Interval::Hour, count: 1, anchoring: Anchoring::Fixed }, usage: Usage::Licensed };

pub const MONTHLY: Recurring =
    Recurring { cycle: Cycle { interval: Interval::Month, count: 1, anchoring: Anchoring::Fixed }, usage: Usage::Licensed };

/// The ledger's time endpoint as the engine's port.
struct LedgerTime {
    ledger: String,
    http: reqwest::Client,
}

#[async_trait]
impl SandboxTime for LedgerTime {
    async fn set(&self, payer: &Did, now: Timestamp) -> Result<(), RailError> {
        let body = serde_json::json!({"address": payer.as_str(), "now": now.seconds()});
        let sent = self.http.post(format!("{}/time", self.ledger)).json(&body).send().await;
        sent.map(drop).map_err(|error| RailError::Unreachable(error.to_string()))
    }
}

pub struct Billing {
    pub networks: Bench,
    pub ctx: Context,
    pub start: Timestamp,
    database: Database,
}

impl Billing {
    /// A customer who has 1,000 tokens and permits charges of `permitted` at most.
    pub async fn open(db: &TestDatabase, permitted: u128) -> Self {
        let networks = Bench::open(db).await;
        networks.faucet().await;
        assert!(matches!(networks.permit(permitted, 1).await, Outcome::Settled(_)));
        let rail: Arc<dyn WalletRail> = Arc::clone(&networks.rail);
        let time = LedgerTime { ledger: networks.ledger.clone(), http: reqwest::Client::builder().no_proxy().build().expect("a client") };
        let ctx = Context {
            store: Arc::new(store(db)),
            clock: networks.clock.clone(),
            random: Arc::new(SeededRandom::new(3)),
            networks: Networks::default().with_wallet(MethodKind::Arcblock, rail).with_sandbox_time(Arc::new(time)),
            handlers: souk_domain::purpose_handlers(),
            policy: BillingPolicy::default(),
        };
        let start = networks.clock.now();
        let mut session = db.begin().await.expect("begins");
        SqlCustomers(&mut session).upsert(&customer("cus_1", networks.wallet.did().as_str())).await.expect("inserts");
        SqlProducts(&mut session).insert(&product("prod_1")).await.expect("inserts");
        session.commit().await.expect("commits");
        let mut unit = ctx.store.begin().await.expect("begins");
        unit.methods().insert(&networks.method).await.expect("inserts");
        unit.methods().insert_currency(&networks.currency).await.expect("inserts");
        let limits = vec![(networks.currency.id.clone(), Amount::new(permitted * UNIT))];
        let mandate = Mandate {
            id: id("man_1"),
            mode: Mode::Test,
            customer_id: id("cus_1"),
            method_id: networks.method.id.clone(),
            status: MandateStatus::Active,
            grant: Some(MandateDetails::Delegation { payer: networks.wallet.did().clone(), limits, reference: "0xgiven".to_owned() }),
            created_at: start,
            updated_at: start,
        };
        unit.mandates().put(&mandate).await.expect("inserts");
        unit.commit().await.expect("commits");
        Self { networks, ctx, start, database: (**db).clone() }
    }

    /// A recurring price of so many tokens.
    pub async fn price(&self, name: &str, tokens: u128, recurring: Recurring) -> Price {
        let price = Price { unit_amount: Amount::new(tokens * UNIT), recurring: Some(recurring), ..price(name, 0) };
        let mut session = self.database.begin().await.expect("begins");
        SqlPrices(&mut session).insert(&price).await.expect("inserts");
        session.commit().await.expect("commits");
        price
    }

    /// A subscription in its first period, which began `ago` and was paid for.
    pub fn subscription(&self, name: &str, price: &Price, ago: Duration) -> Subscription {
        let cycle = price.recurring.expect("recurs").cycle;
        let anchor = self.start.minus(ago);
        Subscription {
            id: id(name),
            mode: Mode::Test,
            status: SubscriptionStatus::Active,
            description: "Product prod_1".to_owned(),
            customer_id: id("cus_1"),
            method_id: self.networks.method.id.clone(),
            currency_id: self.networks.currency.id.clone(),
            mandate_id: Some(id("man_1")),
            session_id: None,
            items: vec![SubscriptionItem { id: id(&name.replace("sub_", "si_")), price_id: price.id.clone(), quantity: 1, billed: None }],
            cycle,
            anchor,
            index: Some(0),
            period: period(&cycle, anchor, 0).expect("a period"),
            trial: None,
            cancel_at_period_end: false,
            cancel_at: None,
            canceled_at: None,
            ended_at: None,
            cancellation: None,
            past_due_since: None,
            paused_at: None,
            days_until_cancel: billing::DAYS_UNTIL_CANCEL,
            billing_threshold: None,
            stake: None,
            latest_invoice_id: None,
            clock_id: None,
            due_at: None,
            parked: None,
            metadata: Default::default(),
            created_at: anchor,
            updated_at: anchor,
            version: 0,
        }
    }

    /// The same in a trial that ends `ahead` from now.
    pub fn trial(&self, name: &str, price: &Price, ahead: Duration) -> Subscription {
        let trial = Period { start: self.start.minus(DAY), end: self.start.plus(ahead) };
        let one = self.subscription(name, price, DAY);
        Subscription { status: SubscriptionStatus::Trialing, anchor: trial.end, index: None, period: trial, trial: Some(trial), ..one }
    }

    /// A deposit of so many tokens, made in the wallet.
    pub async fn stake(&self, subscription: &Subscription, tokens: u128) -> Stake {
        assert!(matches!(self.networks.stake(subscription.id.as_str(), tokens, 9).await, Outcome::Settled(_)));
        self.stake_as(tokens, StakeStatus::Held)
    }

    /// What a subscription says of a deposit of so many tokens, whatever the network says.
    pub fn stake_as(&self, tokens: u128, status: StakeStatus) -> Stake {
        Stake {
            amount: Amount::new(tokens * UNIT),
            payer: self.networks.wallet.did().clone(),
            method_id: self.networks.method.id.clone(),
            currency_id: self.networks.currency.id.clone(),
            status,
            reference: "0xab".to_owned(),
            return_at: None,
            refusals: 0,
            earlier: Vec::new(),
        }
    }

    pub async fn insert(&self, subscription: &Subscription) {
        let mut unit = self.ctx.store.begin().await.expect("begins");
        unit.subscriptions().insert(subscription).await.expect("inserts");
        unit.commit().await.expect("commits");
    }

    /// One round of the engine, and the charges it asks for. Answers how many subscriptions were due.
    pub async fn round(&self) -> usize {
        let round = billing::renew_due(&self.ctx, &Scope::Wall, self.ctx.now(), 100).await.expect("renews");
        payment::charge(&self.ctx, &round.attempts).await.expect("charges");
        round.due
    }

    /// What the schedule tries again now. Answers how many charges were sent.
    pub async fn retry(&self) -> usize {
        let round = billing::retry_due(&self.ctx, &Scope::Wall, self.ctx.now(), 100).await.expect("retries");
        payment::charge(&self.ctx, &round.attempts).await.expect("charges");
        round.attempts.len()
    }

    /// Waits until something else is kept waiting by a lock of PostgreSQL's, so many at once, or `done` says so. On SQLite whoever
    /// writes waits from the beginning.
    pub async fn until_kept_waiting(&self, count: u64, done: impl Fn() -> bool) {
        let select = Sql {
            sqlite: "SELECT 1000 AS n",
            postgres: "SELECT count(*) AS n FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'",
        };
        let mut session = self.database.read().await.expect("reads");
        loop {
            let waiting: u64 = session.query_each(select).one().await.expect("counts").get("n").expect("a number");
            if waiting >= count || done() {
                return;
            }
            tokio::task::yield_now().await;
        }
    }

    /// Runs a statement that no port has.
    pub async fn write(&self, sql: &'static str) {
        let mut session = self.database.begin().await.expect("begins");
        session.query(sql).execute().await.expect("writes");
        session.commit().await.expect("commits");
    }

    /// An invoice that was refused.
    pub fn debt(&self, name: &str, of: &Subscription, number: u64, total: Amount) -> Invoice {
        let period = Period { start: self.start.minus(DAY * (number as u32)), end: self.start };
        Invoice {
            id: id(name),
            mode: Mode::Test,
            number: Some(number),
            status: InvoiceStatus::Uncollectible,
            reason: BillingReason::SubscriptionCycle,
            currency_id: of.currency_id.clone(),
            method_id: of.method_id.clone(),
            session_id: None,
            subscription_id: Some(of.id.clone()),
            period: Some(period),
            intent_id: None,
            total,
            finalized_at: Some(self.start),
            created_at: self.start,
            updated_at: self.start,
            ..invoice(name)
        }
    }

    pub async fn insert_invoice(&self, invoice: &Invoice) {
        let mut unit = self.ctx.store.begin().await.expect("begins");
        unit.invoices().insert_final(invoice, &[]).await.expect("inserts");
        unit.commit().await.expect("commits");
    }

    /// The same, before anything is sent.
    pub async fn round_unsent(&self) -> Vec<AttemptId> {
        billing::renew_due(&self.ctx, &Scope::Wall, self.ctx.now(), 100).await.expect("renews").attempts
    }

    pub async fn retry_unsent(&self) -> Vec<AttemptId> {
        billing::retry_due(&self.ctx, &Scope::Wall, self.ctx.now(), 100).await.expect("retries").attempts
    }

    /// Sends the open attempt of a purpose.
    pub async fn send(&self, purpose: &Purpose) {
        let mut unit = self.ctx.store.read().await.expect("reads");
        let open = unit.attempts().open_of(purpose).await.expect("reads").expect("an open attempt");
        drop(unit);
        payment::charge(&self.ctx, &[open.id]).await.expect("charges");
    }

    /// Sends every open attempt.
    pub async fn send_all(&self) {
        let later = self.ctx.now().plus(DAY);
        let mut unit = self.ctx.store.begin().await.expect("begins");
        let open = unit.attempts().claim_due(later, later, 100).await.expect("reads");
        drop(unit);
        payment::charge(&self.ctx, &open).await.expect("charges");
    }

    pub fn database(&self) -> &Database {
        &self.database
    }

    pub fn wait(&self, time: Duration) {
        self.networks.clock.advance(time);
    }

    pub async fn find(&self, name: &str) -> Subscription {
        let mut unit = self.ctx.store.read().await.expect("reads");
        unit.subscriptions().find(&id(name)).await.expect("reads").expect("stands")
    }

    /// All invoices, oldest first.
    pub async fn invoices(&self) -> Vec<Invoice> {
        let filter = InvoiceFilter { include_staking: true, include_return_staking: true, ..InvoiceFilter::default() };
        let mut unit = self.ctx.store.read().await.expect("reads");
        let mut list = unit.invoices().list(Mode::Test, &filter, &Page::new(Some(1), Some(100))).await.expect("reads").list;
        list.sort_by_key(|invoice| invoice.number);
        list
    }

    pub async fn statuses(&self) -> Vec<InvoiceStatus> {
        self.invoices().await.iter().map(|invoice| invoice.status).collect()
    }

    /// What the journal says was earned, in whole tokens.
    pub async fn income(&self) -> u128 {
        let mut session = self.database.read().await.expect("reads");
        let select = "SELECT amount, side FROM journal_postings WHERE account = 'income:sales'";
        let rows = session.query(select).all().await.expect("reads");
        let mut sum = 0u128;
        for row in rows {
            let (amount, side): (Amount, String) = (row.get("amount").expect("an amount"), row.get("side").expect("a side"));
            sum = if side == "credit" { sum + amount.base_units() } else { sum - amount.base_units() };
        }
        sum / UNIT
    }
}
