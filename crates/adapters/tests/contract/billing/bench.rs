//! Test bench: the billing engine, a customer with a mandate, and subscriptions.

mod reads;

use crate::catalogue::{price, product};
use crate::checkout_fixtures::{card_attempt, customer, id, intent, invoice, invoice_item, store, wallet_attempt};
use crate::ledger::bench::{Bench, UNIT};
use async_trait::async_trait;
use souk_adapters::persistence::{Database, Sql, SqlCustomers, SqlPrices, SqlProducts};
use souk_adapters::testing::{SeededRandom, TestDatabase};
use souk_adapters::verify::verify;
use souk_domain::access::Did;
use souk_domain::billing::{
    self, BillingPolicy, BillingReason, CancelAt, CancelError, CancelTerms, CreditNoteReason, DocumentType, Invoice, InvoiceItem,
    InvoiceStatus, NewInvoice, Period, PricingFormula, RefundChoice, RefundError, RefundOrder, RefundedNote, Requester, Scope, Stake,
    StakeChoice, StakePurpose, StakeStatus, StakeSubject, Subscription, SubscriptionItem, SubscriptionStatus, UsageAction, UsageReport,
    period,
};
use souk_domain::context::{Context, Networks};
use souk_domain::customer::Customers;
use souk_domain::ledger::{Account, Entry, EntryType, Posting};
use souk_domain::operation::{ClockTrust, KnownInstallation, TrustedClock, UnlimitedDisk};
use souk_domain::payment::{
    self, Attempt, AttemptContext, AttemptKind, AttemptStatus, Currency, Intent, Mandate, MandateDetails, MandateStatus, MethodKind,
    Outcome, PlannedPayment, Purpose, RailError, SandboxTime, Settlement, Trigger, WalletRail,
};
use souk_domain::pricing::{Anchoring, Interval, Price, Prices, Products, Recurring, RecurringInterval, Usage};
use souk_domain::shared::Text;
use souk_domain::shared::*;
use std::sync::Arc;
use std::time::Duration;

pub const DAY: Duration = Duration::from_secs(24 * 3_600);

/// The clock of a process that doubts it.
pub struct DoubtedClock;

impl ClockTrust for DoubtedClock {
    fn is_trusted(&self) -> bool {
        false
    }
}

pub const HOUR: Duration = Duration::from_secs(3_600);

pub const HOURLY: Recurring =
    Recurring { cycle: RecurringInterval { interval: Interval::Hour, count: 1, anchoring: Anchoring::Fixed }, usage: Usage::Licensed };

pub const MONTHLY: Recurring =
    Recurring { cycle: RecurringInterval { interval: Interval::Month, count: 1, anchoring: Anchoring::Fixed }, usage: Usage::Licensed };

/// Implements the engine's port for the customer's time with the ledger's endpoint.
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
    /// Opens a bench with a customer who has 1,000 tokens and a mandate for charges of at most `permitted` tokens each.
    pub async fn open(db: &TestDatabase, permitted: u128) -> Self {
        let networks = Bench::open(db).await;
        networks.faucet().await;
        assert!(matches!(networks.grant_mandate(permitted, 1).await, Outcome::Settled(_)));
        let rail: Arc<dyn WalletRail> = Arc::clone(&networks.rail);
        let time = LedgerTime { ledger: networks.ledger.clone(), http: reqwest::Client::builder().no_proxy().build().expect("a client") };
        let ctx = Context {
            store: Arc::new(store(db)),
            clock: networks.clock.clone(),
            random: Arc::new(SeededRandom::new(3)),
            networks: Networks::default().with_wallet(MethodKind::Arcblock, rail).with_sandbox_time(Arc::new(time)),
            handlers: souk_domain::purpose_handlers(),
            stake_uses: souk_domain::stake_uses(),
            policy: BillingPolicy::default(),
            limits: souk_domain::operation::VisitorLimits::default(),
            trust: Arc::new(TrustedClock),
            disk: Arc::new(UnlimitedDisk),
            installation: Arc::new(KnownInstallation::default()),
        };
        let start = networks.clock.now();
        let mut connection = db.begin().await.expect("begins");
        SqlCustomers(&mut connection).upsert(&customer("cus_1", networks.wallet.did().as_str())).await.expect("inserts");
        SqlProducts(&mut connection).insert(&product("prod_1")).await.expect("inserts");
        connection.commit().await.expect("commits");
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
            details: Some(MandateDetails::Delegation { payer: networks.wallet.did().clone(), limits, reference: "0xgiven".to_owned() }),
            created_at: start,
            updated_at: start,
        };
        unit.mandates().upsert(&mandate).await.expect("inserts");
        unit.commit().await.expect("commits");
        Self { networks, ctx, start, database: (**db).clone() }
    }

    /// Inserts a recurring price of `tokens` tokens.
    pub async fn price(&self, name: &str, tokens: u128, recurring: Recurring) -> Price {
        let price = Price { unit_amount: Amount::new(tokens * UNIT), recurring: Some(recurring), locked: true, ..price(name, 0) };
        let mut connection = self.database.begin().await.expect("begins");
        SqlPrices(&mut connection).insert(&price).await.expect("inserts");
        connection.commit().await.expect("commits");
        price
    }

    /// Returns a subscription in its first period, which began `ago` before now and is paid.
    pub fn subscription(&self, name: &str, price: &Price, ago: Duration) -> Subscription {
        let cycle = price.recurring.expect("recurs").cycle;
        let anchor = self.start.minus(ago);
        Subscription {
            id: id(name),
            mode: Mode::Test,
            status: SubscriptionStatus::Active,
            description: String::new(),
            name: Text::with_fallback("Product prod_1", None).into(),
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
            stake_id: None,
            overdraft_stake_id: None,
            overdraft_at: None,
            latest_invoice_id: None,
            clock_id: None,
            due_at: None,
            on_hold: None,
            bounds: Default::default(),
            metadata: Default::default(),
            created_at: anchor,
            updated_at: anchor,
            version: 0,
        }
    }

    /// Returns a subscription in a trial that ends `ahead` from now.
    pub fn trial(&self, name: &str, price: &Price, ahead: Duration) -> Subscription {
        let trial = Period { start: self.start.minus(DAY), end: self.start.plus(ahead) };
        let one = self.subscription(name, price, DAY);
        Subscription { status: SubscriptionStatus::Trialing, anchor: trial.end, index: None, period: trial, trial: Some(trial), ..one }
    }

    /// Places a stake for a subscription as a checkout does: signed by the wallet, settled, posted to the journal and inserted. `sub_1`
    /// gets the stake `stk_1`. The caller inserts the subscription.
    pub async fn stake(&self, subscription: &Subscription, tokens: u128) -> Stake {
        let number = subscription.id.as_str().replace("sub_", "");
        let name = format!("stk_{number}");
        let nonce = 8 + number.parse::<u64>().expect("a number");
        assert!(matches!(self.networks.stake(&name, tokens, nonce).await, Outcome::Settled(_)));
        let amount = Amount::new(tokens * UNIT);
        let stake = Stake {
            id: id(&name),
            mode: Mode::Test,
            customer_id: subscription.customer_id.clone(),
            payer: self.networks.wallet.did().clone(),
            method_id: self.networks.method.id.clone(),
            currency_id: self.networks.currency.id.clone(),
            subject: StakeSubject::Subscription(subscription.id.clone()),
            purpose: StakePurpose::Security,
            waiting_days: 14,
            amount_requested: amount,
            amount,
            amount_forfeited: Amount::ZERO,
            amount_returned: Amount::ZERO,
            reservation: None,
            status: StakeStatus::Held,
            release_reason: None,
            released_at: None,
            return_at: None,
            failure_count: 0,
            failure: None,
            reference: Some(format!("0x5{number}")),
            return_reference: None,
            checked_at: Timestamp::from_seconds(0),
            created_at: self.start,
            updated_at: self.start.minus(DAY),
        };
        self.write_stake(&stake, &number).await;
        stake
    }

    async fn write_stake(&self, stake: &Stake, number: &str) {
        let attempt = Attempt {
            purpose: Purpose::Stake(stake.id.clone()),
            session_id: None,
            method_id: stake.method_id.clone(),
            currency_id: stake.currency_id.clone(),
            amount: stake.amount,
            status: AttemptStatus::Settled,
            kind: AttemptKind::Wallet { payer: stake.payer.clone(), bytes: vec![1], hash: stake.reference.clone().unwrap_or_default() },
            ..card_attempt(&format!("att_stake{number}"), "pi_1")
        };
        let mut unit = self.ctx.store.begin().await.expect("begins");
        unit.stakes().insert(stake).await.expect("inserts");
        unit.attempts().insert(&attempt, &[]).await.expect("inserts");
        let held = Posting::debit(Account::stakes_held(&attempt.method_id), stake.amount, &attempt.currency_id);
        let payable = Posting::credit(Account::StakesPayable, stake.amount, &attempt.currency_id);
        let entry = id(&format!("je_stake{number}"));
        let entry = Entry::new(entry, Mode::Test, EntryType::StakePlaced, attempt.id.as_str(), self.start, vec![held, payable]);
        unit.journal().post(&entry.expect("balances")).await.expect("posts");
        unit.commit().await.expect("commits");
    }

    pub async fn find_stake(&self, name: &str) -> Stake {
        let mut unit = self.ctx.store.read().await.expect("reads");
        unit.stakes().find(&id(name)).await.expect("reads").expect("exists")
    }

    /// Returns the stake that a subscription names.
    pub async fn stake_of(&self, name: &str) -> Stake {
        let named = self.find(name).await.stake_id.expect("a stake");
        self.find_stake(named.as_str()).await
    }

    /// Processes the due stakes and sends the resulting attempts. Returns the number of due stakes.
    pub async fn process_due_stakes(&self) -> usize {
        let round = billing::move_due_stakes(&self.ctx, &Scope::Wall, self.ctx.now(), 100).await.expect("moves");
        payment::charge(&self.ctx, &round.attempts).await.expect("charges");
        round.due
    }

    pub async fn insert(&self, subscription: &Subscription) {
        let mut unit = self.ctx.store.begin().await.expect("begins");
        unit.subscriptions().insert(subscription).await.expect("inserts");
        unit.commit().await.expect("commits");
    }

    /// Waits until dropped units of work are rolled back, because PostgreSQL keeps their locks until then and the engine skips locked rows.
    /// Stops waiting after a while, for tests that keep a unit of work open on purpose.
    async fn wait_for_rollbacks(&self) {
        let select = Sql {
            sqlite: "SELECT 0 AS n",
            postgres: "SELECT count(*) AS n FROM pg_stat_activity
                       WHERE datname = current_database() AND state LIKE 'idle in transaction%' AND pid <> pg_backend_pid()",
        };
        let mut connection = self.database.read().await.expect("reads");
        for _ in 0..200 {
            let open: u64 = connection.query_per_dialect(select).one().await.expect("counts").get("n").expect("a number");
            if open == 0 {
                return;
            }
        }
    }

    /// Runs one round of renewals and due stakes, and sends the resulting charges. Returns the number of due subscriptions and stakes.
    pub async fn round(&self) -> usize {
        self.wait_for_rollbacks().await;
        let round = billing::renew_due(&self.ctx, &Scope::Wall, self.ctx.now(), 100).await.expect("renews");
        payment::charge(&self.ctx, &round.attempts).await.expect("charges");
        round.due + self.process_due_stakes().await
    }

    /// Sends the charges whose retry is due. Returns their number.
    pub async fn retry(&self) -> usize {
        let round = billing::retry_due(&self.ctx, &Scope::Wall, self.ctx.now(), 100).await.expect("retries");
        payment::charge(&self.ctx, &round.attempts).await.expect("charges");
        round.attempts.len()
    }

    /// Waits until `count` transactions are blocked by PostgreSQL locks, or until `done` returns true. Returns at once on SQLite, where a
    /// second writer is blocked from its start.
    pub async fn until_blocked(&self, count: u64, done: impl Fn() -> bool) {
        let select = Sql {
            sqlite: "SELECT 1000 AS n",
            postgres: "SELECT count(*) AS n FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'",
        };
        let mut connection = self.database.read().await.expect("reads");
        loop {
            let waiting: u64 = connection.query_per_dialect(select).one().await.expect("counts").get("n").expect("a number");
            if waiting >= count || done() {
                return;
            }
            tokio::task::yield_now().await;
        }
    }

    /// Runs a statement that no port provides.
    pub async fn write(&self, sql: &'static str) {
        let mut connection = self.database.begin().await.expect("begins");
        connection.query(sql).execute().await.expect("writes");
        connection.commit().await.expect("commits");
    }

    /// Makes what was paid until now one of another currency.
    pub async fn move_payments_to_currency(&self, symbol: &str) {
        let mut unit = self.ctx.store.begin().await.expect("begins");
        let currency = unit.methods().currencies(Mode::Test).await.expect("reads").remove(0);
        let another = Currency { id: id("pc_another"), symbol: symbol.to_owned(), ..currency };
        unit.methods().insert_currency(&another).await.expect("writes");
        unit.commit().await.expect("commits");
        for sql in [
            "UPDATE invoices SET currency_id = 'pc_another'",
            "UPDATE payment_intents SET currency_id = 'pc_another'",
            "UPDATE attempts SET currency_id = 'pc_another'",
            "UPDATE journal_postings SET currency_id = 'pc_another'",
        ] {
            self.write(sql).await;
        }
    }

    /// Returns an overdue invoice of a subscription. Invoices of one subscription need different values of `age`, which gives each its own
    /// period.
    pub fn overdue_invoice(&self, name: &str, of: &Subscription, age: u32, total: Amount) -> Invoice {
        let period = Period { start: self.start.minus(DAY * age), end: self.start };
        Invoice {
            id: id(name),
            mode: Mode::Test,
            number: None,
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

    /// Inserts a finalized invoice with the next number, one line, and its journal entry.
    pub async fn insert_invoice(&self, invoice: &Invoice) {
        let (total, currency) = (invoice.total, &invoice.currency_id);
        let mut unit = self.ctx.store.begin().await.expect("begins");
        let number = unit.invoices().allocate_numbers(Mode::Test, DocumentType::Invoice, 1).await.expect("a number");
        let line = InvoiceItem {
            quantity: 1,
            unit_amount: total,
            amount: total,
            pricing_formula: PricingFormula::Flat { amount: total },
            ..invoice_item(&invoice.id.as_str().replace("in_", "ii_"), invoice.id.as_str())
        };
        let finalized = Invoice { number: Some(number), ..invoice.clone() };
        unit.invoices().insert_final_all(&[NewInvoice { invoice: finalized, items: vec![line] }]).await.expect("inserts");
        let postings = vec![Posting::debit(Account::Receivable, total, currency), Posting::credit(Account::Revenue, total, currency)];
        let entry = id(&invoice.id.as_str().replace("in_", "je_"));
        let entry = Entry::new(entry, Mode::Test, EntryType::InvoiceFinalized, invoice.id.as_str(), self.start, postings);
        unit.journal().post(&entry.expect("balances")).await.expect("posts");
        unit.commit().await.expect("commits");
    }

    /// Runs one round like [`Self::round`] without sending the charges.
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
        let mut open = Vec::new();
        let networks = unit.attempts().networks_due(later).await.expect("reads");
        for method in networks {
            open.extend(unit.attempts().claim_due(&method, later, later, 100).await.expect("reads"));
        }
        drop(unit);
        payment::charge(&self.ctx, &open).await.expect("charges");
    }

    pub fn database(&self) -> &Database {
        &self.database
    }

    pub fn wait(&self, time: Duration) {
        self.networks.clock.advance(time);
    }

    /// Makes an overpayment, which increases the customer's balance.
    pub async fn overpay(&self, amount: u128) {
        self.overpay_as("over", amount).await;
    }

    /// As [`Self::overpay`]; payments of one test need different names.
    pub async fn overpay_as(&self, name: &str, amount: u128) {
        let (paid, sent, hash) = (format!("pi_{name}"), format!("att_{name}"), format!("0x{name}"));
        let (method, currency) = (self.networks.method.clone(), self.networks.currency.clone());
        let amount = Amount::new(amount);
        let paid = Intent {
            amount,
            method_id: method.id.clone(),
            currency_id: currency.id.clone(),
            session_id: None,
            invoices: Vec::new(),
            ..intent(&paid)
        };
        let attempt = wallet_attempt(&sent, paid.id.as_str(), &hash);
        let attempt = Attempt { method_id: method.id.clone(), currency_id: currency.id.clone(), session_id: None, amount, ..attempt };
        let mut unit = self.ctx.store.begin().await.expect("begins");
        unit.intents().upsert(&paid).await.expect("inserts");
        unit.attempts().insert(&attempt, &[]).await.expect("inserts");
        let payer = self.networks.wallet.did().to_string();
        let settled = Outcome::Settled(Settlement { reference: hash, payer, amount, card: None });
        let context = AttemptContext { attempt, method, currency };
        payment::record(&self.ctx, unit.as_mut(), &context, &settled, Trigger::Reconciler).await.expect("is written");
        unit.commit().await.expect("commits");
    }

    /// Handles the outbox messages about balances and refunded subscriptions, and sends the resulting attempts.
    pub async fn deliver(&self) {
        let select = "SELECT topic, payload FROM outbox WHERE topic IN ('apply_balance', 'end_refunded') ORDER BY id";
        let mut connection = self.database.begin().await.expect("begins");
        let rows = connection.query(select).all().await.expect("reads");
        connection.query("DELETE FROM outbox WHERE topic IN ('apply_balance', 'end_refunded')").execute().await.expect("is carried out");
        connection.commit().await.expect("commits");
        for row in rows {
            let (topic, payload): (String, serde_json::Value) = (row.get("topic").expect("a topic"), row.get("payload").expect("ids"));
            let text = |name: &str| payload[name].as_str().expect("an id").to_owned();
            match topic.as_str() {
                "apply_balance" => billing::pay_from_balance(&self.ctx, &id(&text("customer")), &id(&text("currency"))).await,
                _ => billing::end_refunded(&self.ctx, &id(&text("note"))).await,
            }
            .expect("is carried out");
        }
        self.send_all().await;
    }

    /// Creates a refund of an invoice: `amount` base units, or everything refundable. Does not send it.
    pub async fn refund(&self, invoice: &Invoice, amount: Option<u128>) -> Result<RefundedNote, RefundError> {
        billing::refund_invoice(&self.ctx, Mode::Test, &invoice.id, &refund_order(amount)).await
    }

    /// The store cancels `sub_1` immediately.
    pub async fn end_with(&self, refund: RefundChoice) -> Result<Subscription, CancelError> {
        billing::cancel(&self.ctx, Requester::Store, &id("sub_1"), &at_once(refund, StakeChoice::None)).await
    }

    /// Reports usage a minute later, and sends the resulting charges.
    pub async fn used(&self, item: &str, quantity: u64) {
        self.wait(Duration::from_secs(60));
        self.report(item, quantity).await;
        self.send_all().await;
    }

    /// Reports usage now, without sending the resulting charges.
    pub async fn report(&self, item: &str, quantity: u64) {
        let report = UsageReport { item: id(item), quantity, action: UsageAction::Increment, at: None, identifier: None };
        billing::report_usage(&self.ctx, Mode::Test, &report).await.expect("is taken");
    }

    /// Asserts that `souk verify` finds no breach, which includes the oracle of the billing model, section 4.
    pub async fn is_sound(&self) {
        let mut breaches = Vec::new();
        verify(&self.database, &mut |check| {
            // The first period of this bench's subscriptions has no invoice.
            breaches.extend(check.breaches.into_iter().filter(|breach| !breach.contains("has no invoice for period 0 from")));
        })
        .await
        .expect("reads");
        assert!(breaches.is_empty(), "{breaches:?}");
    }
}

/// Returns the planned payment of an attempt that pays the whole remaining amount of an invoice.
pub fn planned(invoice: &Invoice) -> [PlannedPayment; 1] {
    [PlannedPayment { invoice_id: invoice.id.clone(), amount: invoice.remaining() }]
}

/// Requests a refund of `amount` base units, or of everything refundable.
pub fn refund_order(amount: Option<u128>) -> RefundOrder {
    RefundOrder { amount: amount.map(Amount::new), invoice: None, reason: CreditNoteReason::Other, description: String::new() }
}

pub fn at_once(refund: RefundChoice, stake: StakeChoice) -> CancelTerms {
    let (slash_reason, comment) = (String::new(), String::new());
    CancelTerms { at: CancelAt::Now, refund, stake, slash_reason, feedback: None, comment }
}
