//! Customers with delegations, and any number of subscriptions of them.

use hmac::{Hmac, KeyInit, Mac};
use serde_json::json;
use sha2::Sha256;
use souk_adapters::arcblock::{ArcblockRail, DelegateLimit, DelegateOp, DelegateTx, TestWallet, TokenLimit, transaction_hash};
use souk_adapters::identity::{AppKey, delegation_address};
use souk_adapters::persistence::{Database, SecretBox, SqlStore};
use souk_adapters::testing::RunningClock;
use souk_domain::billing::{Period, Subscription, SubscriptionItem, SubscriptionStatus};
use souk_domain::customer::Customer;
use souk_domain::payment::{Currency, Mandate, MandateDetails, MandateStatus, Method, MethodKind, Outcome, SignedTransaction, WalletRail};
use souk_domain::pricing::{Anchoring, Interval, Metadata, Price, Product, ProductNames, Recurring, RecurringInterval, Usage};
use souk_domain::shared::{Amount, Id, Language, Mode, PriceId, Timestamp};
use souk_domain::storage::{Store, UnitOfWork};
use souk_sandbox::ledger::{CHAIN_ID, FAUCET_AMOUNT, token};
use std::sync::Arc;
use std::time::Duration;
use url::Url;

/// The amount of each charge in base units.
pub const CHARGE: u128 = 1_000_000_000_000;

fn id<T: Id>(text: &str) -> T {
    T::parse(text).expect("an id")
}

pub fn derived(purpose: &str) -> [u8; 32] {
    let mut mac = Hmac::<Sha256>::new_from_slice(&[0x5a; 32]).expect("a key");
    mac.update(b"souk:");
    mac.update(purpose.as_bytes());
    mac.finalize().into_bytes().into()
}

/// A customer of a store whose secret is `5a` 32 times.
pub struct Payer {
    number: u32,
    wallet: TestWallet,
    app: AppKey,
    rail: ArcblockRail,
}

impl Payer {
    /// Requests tokens from the faucet and signs a delegation for the store.
    pub async fn arrive(store: &Url, number: u32) -> Self {
        let payer = Self::known(store, number);
        let faucet = store.join("sandbox/arcblock/faucet").expect("a path");
        let client = reqwest::Client::builder().no_proxy().build().expect("a client");
        let poured = client.post(faucet).json(&json!({ "address": format!("did:abt:{}", payer.wallet.did()) })).send().await;
        assert!(poured.expect("answers").status().is_success());
        payer.delegate().await;
        payer
    }

    /// A customer who exists in the store but not at the ledger.
    pub fn known(store: &Url, number: u32) -> Self {
        let mut seed = [9; 32];
        seed[..4].copy_from_slice(&number.to_le_bytes());
        let app = AppKey::from_seed(&derived("app"));
        let rail = ArcblockRail::new(app.clone(), Arc::new(RunningClock), store.clone()).expect("a rail");
        Self { number, wallet: TestWallet::from_seed(&seed), app, rail }
    }

    async fn delegate(&self) {
        let tokens = vec![TokenLimit { address: token(), to: vec![self.app.did().to_string()], ..TokenLimit::default() }];
        let limit = Some(DelegateLimit { tokens, assets: Vec::new() });
        let delegate = DelegateTx {
            address: delegation_address(self.wallet.did(), self.app.did()).to_string(),
            to: self.app.did().to_string(),
            ops: vec![DelegateOp { type_url: "fg:t:transfer_v2".to_owned(), rules: Vec::new(), limit }],
            ..DelegateTx::default()
        };
        let bytes = self.wallet.send(CHAIN_ID, 1, delegate.into());
        let hash = transaction_hash(&bytes);
        let outcome = self.rail.send(&method(), &currency(), &SignedTransaction { bytes, hash }).await;
        assert!(matches!(outcome, Outcome::Settled(_)), "{outcome:?}");
    }

    /// The number of charges of this wallet at the ledger.
    pub async fn charges(&self) -> u64 {
        let left = self.rail.balance(&method(), &currency(), self.wallet.did()).await.expect("answers").base_units();
        u64::try_from((FAUCET_AMOUNT - left) / CHARGE).expect("few")
    }
}

/// A method and a currency with the fields that the rail uses.
pub fn method() -> Method {
    let settings = souk_domain::payment::MethodSettings::Arcblock {
        chain_id: CHAIN_ID.to_owned(),
        api_host: "/sandbox/arcblock/api/".to_owned(),
        explorer_host: String::new(),
    };
    let at = Timestamp::from_seconds(0);
    Method {
        id: id("pm_sandbox_1_wallet"),
        mode: Mode::Test,
        kind: MethodKind::Arcblock,
        active: true,
        name: String::new(),
        description: String::new(),
        logo: String::new(),
        settings,
        default_currency_id: None,
        created_at: at,
        updated_at: at,
    }
}

pub fn currency() -> Currency {
    let at = Timestamp::from_seconds(0);
    Currency {
        id: id("pc_sandbox_1_token"),
        method_id: id("pm_sandbox_1_wallet"),
        mode: Mode::Test,
        active: true,
        name: String::new(),
        symbol: String::new(),
        logo: String::new(),
        decimals: 18,
        maximum_precision: 6,
        contract: token(),
        is_base: true,
        created_at: at,
        updated_at: at,
    }
}

/// Inserts `count` subscriptions that are due at `now`, spread over the payers.
pub async fn insert_subscriptions(database: &Database, payers: &[Payer], count: u64, now: Timestamp) {
    let store = SqlStore::new(database.clone(), Arc::new(SecretBox::new(&derived("methods"))));
    let mut unit = store.begin().await.expect("begins");
    for payer in payers {
        plan(unit.as_mut(), payer, now).await;
        let (customer, mandate) = (customer(payer, now), mandate(payer, now));
        unit.customers().upsert(&customer).await.expect("writes");
        unit.mandates().upsert(&mandate).await.expect("writes");
        unit.subscriptions().insert(&subscription(payer, now)).await.expect("writes");
    }
    unit.commit().await.expect("commits");
    let mut connection = database.begin().await.expect("begins");
    let payers = payers.len() as u64;
    let subscriptions = "INSERT INTO subscriptions (id, livemode, status, description, name, name_zh, name_others, customer_id, method_id, currency_id, mandate_id, cycle,
            anchor, period_start, period_end, cancel_at_period_end, days_until_cancel, resets_anchor, due_at, invoiced_count, metadata, created_at,
            updated_at, version)
        WITH RECURSIVE n(i) AS (SELECT $1 UNION ALL SELECT i + 1 FROM n WHERE i < $2 - 1)
        SELECT 'sub_storm_' || (10000000 + n.i), t.livemode, t.status, t.description, t.name, t.name_zh, t.name_others, t.customer_id, t.method_id, t.currency_id, t.mandate_id,
            t.cycle, t.anchor, t.period_start, t.period_end, t.cancel_at_period_end, t.days_until_cancel, t.resets_anchor, t.due_at,
            t.invoiced_count, t.metadata, t.created_at, t.updated_at, t.version
        FROM n JOIN subscriptions t ON t.id = 'sub_first_' || (n.i % $1)";
    connection.query(subscriptions).bind(payers).bind(count).execute().await.expect("writes");
    let items = "INSERT INTO subscription_items (id, subscription_id, position, price_id, quantity)
        SELECT 'si_' || s.id, s.id, 0, 'price_' || substr(s.customer_id, 5), 1 FROM subscriptions s WHERE s.id LIKE 'sub!_storm!_%' ESCAPE '!'";
    connection.query(items).execute().await.expect("writes");
    connection.commit().await.expect("commits");
}

/// Each customer subscribes to another plan, because a store has many.
async fn plan(unit: &mut dyn UnitOfWork, payer: &Payer, now: Timestamp) {
    let product = Product {
        id: id(&format!("prod_storm_{}", payer.number)),
        mode: Mode::Test,
        active: true,
        name: title(payer),
        name_zh: None,
        description: String::new(),
        description_zh: None,
        images: Vec::new(),
        features: Vec::new(),
        unit_label: None,
        unit_label_zh: None,
        statement_descriptor: None,
        default_price_id: None,
        app: None,
        cross_sells_to: None,
        metadata: Metadata::new(),
        created_at: now,
        updated_at: now,
    };
    unit.products().insert(&product).await.expect("writes");
    let price = Price {
        id: price(payer),
        mode: Mode::Test,
        product_id: product.id,
        active: true,
        locked: true,
        replaced_by: None,
        nickname: String::new(),
        lookup_key: None,
        currency_id: id("pc_sandbox_1_token"),
        unit_amount: Amount::new(CHARGE),
        currency_options: Vec::new(),
        recurring: Some(Recurring { cycle: cycle(), usage: Usage::Licensed }),
        tiers_mode: None,
        tiers: Vec::new(),
        custom: None,
        upsells_to: None,
        stock_of: None,
        quantity_available: 0,
        quantity_sold: 0,
        quantity_limit_per_checkout: 0,
        metadata: Metadata::new(),
        created_at: now,
        updated_at: now,
    };
    unit.prices().insert(&price).await.expect("writes");
}

fn title(payer: &Payer) -> String {
    format!("Storm {}", payer.number)
}

fn price(payer: &Payer) -> PriceId {
    id(&format!("price_storm_{}", payer.number))
}

fn cycle() -> RecurringInterval {
    RecurringInterval::new(Interval::Month, 1, Anchoring::Fixed).expect("a cycle")
}

fn customer(payer: &Payer, now: Timestamp) -> Customer {
    Customer {
        id: id(&format!("cus_storm_{}", payer.number)),
        mode: Mode::Test,
        did: payer.wallet.did().clone(),
        name: format!("Payer {}", payer.number),
        email: "payer@souk.example".to_owned(),
        phone: String::new(),
        address: None,
        language: Language::English,
        created_at: now,
        updated_at: now,
    }
}

fn mandate(payer: &Payer, now: Timestamp) -> Mandate {
    let limits = vec![(id("pc_sandbox_1_token"), Amount::new(CHARGE))];
    Mandate {
        id: id(&format!("man_storm_{}", payer.number)),
        mode: Mode::Test,
        customer_id: id(&format!("cus_storm_{}", payer.number)),
        method_id: id("pm_sandbox_1_wallet"),
        status: MandateStatus::Active,
        details: Some(MandateDetails::Delegation { payer: payer.wallet.did().clone(), limits, reference: String::new() }),
        created_at: now,
        updated_at: now,
    }
}

/// The first subscription of a payer, whose trial has just ended; the others are copies of it.
fn subscription(payer: &Payer, now: Timestamp) -> Subscription {
    let end = now.minus(Duration::from_secs(1));
    let period = Period { start: end.minus(Duration::from_secs(86_400)), end };
    let item = SubscriptionItem { id: id(&format!("si_first_{}", payer.number)), price_id: price(payer), quantity: 1, billed: None };
    Subscription {
        id: id(&format!("sub_first_{}", payer.number)),
        mode: Mode::Test,
        status: SubscriptionStatus::Trialing,
        description: title(payer),
        name: ProductNames::default(),
        customer_id: id(&format!("cus_storm_{}", payer.number)),
        method_id: id("pm_sandbox_1_wallet"),
        currency_id: id("pc_sandbox_1_token"),
        mandate_id: Some(id(&format!("man_storm_{}", payer.number))),
        session_id: None,
        items: vec![item],
        cycle: cycle(),
        anchor: end,
        index: None,
        period,
        trial: None,
        cancel_at_period_end: false,
        cancel_at: None,
        canceled_at: None,
        ended_at: None,
        cancellation: None,
        past_due_since: None,
        paused_at: None,
        days_until_cancel: 15,
        billing_threshold: None,
        stake_id: None,
        overdraft_stake_id: None,
        overdraft_at: None,
        latest_invoice_id: None,
        clock_id: None,
        due_at: None,
        on_hold: None,
        bounds: Default::default(),
        metadata: Metadata::new(),
        created_at: now,
        updated_at: now,
        version: 0,
    }
}
