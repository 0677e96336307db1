//! A customer with a subscription, created without a checkout.

use super::{Buyer, TestApp};
use souk_domain::billing::{
    DAYS_UNTIL_CANCEL, Period, Scope, Subscription, SubscriptionItem, SubscriptionStatus, Threshold, period, renew_due, retry_due,
};
use souk_domain::customer::Customer;
use souk_domain::payment::{CurrencyLimit, Mandate, MandateDetails, MandateRequest, MandateStatus, Outcome};
use souk_domain::pricing::{Aggregate, Anchoring, CurrencyOption, Interval, Metadata, Price, Product, Recurring, RecurringInterval, Usage};
use souk_domain::shared::{Amount, CustomerId, Language, MandateId, Mode, PriceId, ProductId, SubscriptionId, SubscriptionItemId, Text};
use std::time::Duration;

/// One token of the sandbox, in base units.
pub const TOKEN: u128 = 1_000_000_000_000_000_000;
pub const WEEK: Duration = Duration::from_secs(7 * 86_400);

pub struct Subscriber {
    pub buyer: Buyer,
    pub customer: CustomerId,
    pub product: ProductId,
    pub price: PriceId,
    /// The id of the additional item, if there is one.
    pub beside: Option<(ProductId, PriceId)>,
    pub id: SubscriptionId,
}

/// The terms and state of the subscription.
pub struct Terms {
    /// The weekly price in whole tokens, and in dollars for cards.
    pub tokens: u128,
    /// Whether the price is metered.
    pub metered: bool,
    pub trial: Option<Duration>,
    /// The delegation's limit per charge, in whole tokens.
    pub limit: u128,
    /// An additional item of another product: its price in whole tokens, and whether it is metered.
    pub beside: Option<(u128, bool)>,
    pub threshold: Option<Threshold>,
}

impl Default for Terms {
    fn default() -> Self {
        Self { tokens: 10, metered: false, trial: None, limit: 100, beside: None, threshold: None }
    }
}

fn price_of(app: &TestApp, product: &ProductId, tokens: u128, cycle: RecurringInterval, metered: bool) -> Price {
    let now = app.ctx.now();
    let usage = if metered { Usage::Metered(Aggregate::Sum) } else { Usage::Licensed };
    Price {
        id: PriceId::new(now, app.ctx.random.as_ref()),
        mode: Mode::Test,
        product_id: product.clone(),
        active: true,
        locked: true,
        replaced_by: None,
        nickname: String::new(),
        lookup_key: None,
        currency_id: app.shop.token.clone(),
        unit_amount: Amount::new(tokens * TOKEN),
        currency_options: vec![CurrencyOption::per_unit(app.shop.dollar.clone(), Amount::new(tokens * 100))],
        recurring: Some(Recurring { cycle, usage }),
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
    }
}

pub fn cycle(interval: Interval) -> RecurringInterval {
    RecurringInterval::new(interval, 1, Anchoring::Fixed).expect("a cycle")
}

impl TestApp {
    /// Adds a price to a product.
    pub async fn price(&self, product: &ProductId, tokens: u128, interval: Interval) -> PriceId {
        self.priced(product, tokens, interval, false).await
    }

    /// Adds a metered price to a product.
    pub async fn metered_price(&self, product: &ProductId, tokens: u128, interval: Interval) -> PriceId {
        self.priced(product, tokens, interval, true).await
    }

    async fn priced(&self, product: &ProductId, tokens: u128, interval: Interval, metered: bool) -> PriceId {
        let price = price_of(self, product, tokens, cycle(interval), metered);
        let mut unit = self.ctx.store.begin().await.expect("begins");
        unit.prices().insert(&price).await.expect("inserts");
        unit.commit().await.expect("commits");
        price.id
    }

    /// Signs a customer in, signs a delegation at the ledger, and creates a subscription that starts now. The first period has no
    /// invoice; the next period is the first to be charged.
    pub async fn subscribe(&self, name: &str, terms: Terms) -> Subscriber {
        let buyer = self.sign_in(name).await;
        let (customer, mandate) = self.delegate(&buyer, terms.limit).await;
        let now = self.ctx.now();
        let random = self.ctx.random.as_ref();
        let product_named = |name: &str| Product {
            id: ProductId::new(now, random),
            mode: Mode::Test,
            active: true,
            name: name.to_owned(),
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
        let product = product_named("Monthly");
        let price = price_of(self, &product.id, terms.tokens, cycle(Interval::Week), terms.metered);
        let beside = terms.beside.map(|(tokens, metered)| {
            let product = product_named("Beside");
            let price = price_of(self, &product.id, tokens, cycle(Interval::Week), metered);
            (product, price)
        });
        let item = |price: &Price| SubscriptionItem {
            id: SubscriptionItemId::new(now, random),
            price_id: price.id.clone(),
            quantity: 1,
            billed: None,
        };
        let items = std::iter::once(&price).chain(beside.iter().map(|(_, price)| price)).map(item).collect();
        let trial = terms.trial.map(|long| Period { start: now, end: now.plus(long) });
        let anchor = trial.map_or(now, |trial| trial.end);
        let subscription = Subscription {
            id: SubscriptionId::new(now, random),
            mode: Mode::Test,
            status: if trial.is_some() { SubscriptionStatus::Trialing } else { SubscriptionStatus::Active },
            description: String::new(),
            name: Text::new("Monthly", "包月").into(),
            customer_id: customer.clone(),
            method_id: self.shop.wallet.clone(),
            currency_id: self.shop.token.clone(),
            mandate_id: Some(mandate),
            session_id: None,
            items,
            cycle: cycle(Interval::Week),
            anchor,
            index: trial.is_none().then_some(0),
            period: trial.unwrap_or_else(|| period(&cycle(Interval::Week), now, 0).expect("a period")),
            trial,
            cancel_at_period_end: false,
            cancel_at: None,
            canceled_at: None,
            ended_at: None,
            cancellation: None,
            past_due_since: None,
            paused_at: None,
            days_until_cancel: DAYS_UNTIL_CANCEL,
            billing_threshold: terms.threshold,
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
        };
        let mut unit = self.ctx.store.begin().await.expect("begins");
        unit.products().insert(&product).await.expect("inserts");
        unit.prices().insert(&price).await.expect("inserts");
        if let Some((product, price)) = &beside {
            unit.products().insert(product).await.expect("inserts");
            unit.prices().insert(price).await.expect("inserts");
        }
        unit.subscriptions().insert(&subscription).await.expect("inserts");
        unit.commit().await.expect("commits");
        let beside = beside.map(|(product, price)| (product.id, price.id));
        Subscriber { buyer, customer, product: product.id, price: price.id, beside, id: subscription.id }
    }

    /// Creates the customer of a buyer, and a delegation at the network.
    async fn delegate(&self, buyer: &Buyer, limit: u128) -> (CustomerId, MandateId) {
        let now = self.ctx.now();
        let mut unit = self.ctx.store.begin().await.expect("begins");
        let method = unit.methods().find(&self.shop.wallet).await.expect("reads").expect("a method");
        let token = unit.methods().find_currency(&self.shop.token).await.expect("reads").expect("a currency");
        let customer = Customer {
            id: CustomerId::new(now, self.ctx.random.as_ref()),
            mode: Mode::Test,
            did: buyer.wallet.did().clone(),
            name: format!("{} Example", buyer.name),
            email: format!("{}@example.com", buyer.name),
            phone: String::new(),
            address: None,
            language: Language::English,
            created_at: now,
            updated_at: now,
        };
        let customer = unit.customers().upsert(&customer).await.expect("upserts").id;
        let most = Amount::new(limit * TOKEN);
        let mandate = Mandate {
            id: MandateId::new(now, self.ctx.random.as_ref()),
            mode: Mode::Test,
            customer_id: customer.clone(),
            method_id: method.id.clone(),
            status: MandateStatus::Active,
            details: Some(MandateDetails::Delegation {
                payer: buyer.wallet.did().clone(),
                limits: vec![(token.id.clone(), most)],
                reference: "0xgiven".to_owned(),
            }),
            created_at: now,
            updated_at: now,
        };
        unit.mandates().upsert(&mandate).await.expect("puts");
        unit.commit().await.expect("commits");
        let request = MandateRequest {
            payer: buyer.wallet.did().clone(),
            payer_key: buyer.wallet.public_key_base58(),
            limits: vec![CurrencyLimit { currency: token.clone(), most }],
            reference: "a test".to_owned(),
            nonce: u64::try_from(now.micros()).expect("a time"),
        };
        let rail = self.ctx.networks.wallet(method.kind).expect("a rail");
        let prepared = rail.prepare_mandate(&method, &request).expect("prepares");
        let signature = buyer.wallet.sign_origin(&prepared.partial_tx).expect("signs");
        let signed = rail.check_mandate(&method, &request, &signature).expect("passes");
        assert!(matches!(rail.send(&method, &token, &signed).await, Outcome::Settled(_)), "the network takes the permission");
        (customer, mandate.id)
    }

    /// Advances the clock and processes everything that is due then.
    pub async fn advance_and_bill(&self, by: Duration) {
        self.advance(by);
        self.run_billing().await;
    }

    /// Runs the billing engine once, and the resulting jobs.
    pub async fn run_billing(&self) {
        let now = self.ctx.now();
        renew_due(&self.ctx, &Scope::Wall, now, 100).await.expect("renews");
        retry_due(&self.ctx, &Scope::Wall, now, 100).await.expect("retries");
        self.drain().await;
    }
}
