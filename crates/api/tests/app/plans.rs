//! The subscription plans of the test store.

use super::TestApp;
use souk_domain::billing::TrialTerms;
use souk_domain::checkout::{self, LineItem, LinkFields, SubscriptionTerms};
use souk_domain::pricing::{Aggregate, Anchoring, CurrencyOption, Interval, Metadata, Price, Product, Recurring, RecurringInterval, Usage};
use souk_domain::shared::{Amount, Mode, PriceId, ProductId};

/// 10^18 base units.
pub const SKT: u128 = 1_000_000_000_000_000_000;

/// Prices of different products; a month costs 10 SKT or 4.99 USD.
pub struct Plans {
    pub product: ProductId,
    pub monthly: PriceId,
    /// Costs 100 SKT or 49.90 USD a year; the monthly one upsells to it.
    pub yearly: PriceId,
    /// 2 SKT or 0.99 USD per week.
    pub weekly: PriceId,
    /// 1 SKT or 0.50 USD per unit of usage, billed monthly.
    pub metered: PriceId,
    /// A one-time price of 3 SKT or 1.50 USD.
    pub once: PriceId,
}

impl Plans {
    pub async fn put(app: &TestApp) -> Self {
        let ids: Vec<_> = (0..5).map(|_| PriceId::new(app.ctx.now(), app.ctx.random.as_ref())).collect();
        let cycle = |interval| RecurringInterval::new(interval, 1, Anchoring::Fixed).expect("a cycle");
        let licensed = |interval| Some(Recurring { cycle: cycle(interval), usage: Usage::Licensed });
        let metered = Some(Recurring { cycle: cycle(Interval::Month), usage: Usage::Metered(Aggregate::Sum) });
        let mut unit = app.ctx.store.begin().await.expect("begins");
        let mut first = None;
        let terms = [
            ("Plan", licensed(Interval::Month), 10, 499),
            ("Plan", licensed(Interval::Year), 100, 4_990),
            ("Digest", licensed(Interval::Week), 2, 99),
            ("Traffic", metered, 1, 50),
            ("Setup", None, 3, 150),
        ];
        for (place, (name, recurring, tokens, cents)) in terms.into_iter().enumerate() {
            let product_id = match (place, &first) {
                (1, Some(first)) => ProductId::clone(first),
                _ => {
                    let product = product(app, name);
                    unit.products().insert(&product).await.expect("inserts");
                    product.id
                }
            };
            first.get_or_insert(product_id.clone());
            let upsells_to = (place == 0).then(|| ids[1].clone());
            let price = Price { upsells_to, recurring, ..price(app, &ids[place], &product_id, tokens, cents) };
            unit.prices().insert(&price).await.expect("inserts");
        }
        unit.commit().await.expect("commits");
        let [monthly, yearly, weekly, metered, once] = <[PriceId; 5]>::try_from(ids).expect("five");
        Self { product: first.expect("a product"), monthly, yearly, weekly, metered, once }
    }

    /// A payment link that sells one of each of these prices.
    pub async fn link(&self, app: &TestApp, prices: &[&PriceId], terms: SubscriptionTerms) -> String {
        let items = prices.iter().map(|price| LineItem::new((*price).clone(), 1)).collect();
        let fields = LinkFields { items: Some(items), terms: Some(terms), ..LinkFields::default() };
        checkout::create_link(&app.ctx, Mode::Test, fields).await.expect("a link").to_string()
    }

    /// The monthly plan without a stake.
    pub async fn plain(&self, app: &TestApp) -> String {
        self.link(app, &[&self.monthly], no_stake()).await
    }

    /// The monthly plan with a trial of seven days, without a stake.
    pub async fn trial(&self, app: &TestApp) -> String {
        self.link(app, &[&self.monthly], SubscriptionTerms { trial: week(), ..no_stake() }).await
    }
}

pub fn no_stake() -> SubscriptionTerms {
    SubscriptionTerms { no_stake: true, ..SubscriptionTerms::default() }
}

pub fn week() -> TrialTerms {
    TrialTerms { days: 7, ..TrialTerms::default() }
}

pub fn product(app: &TestApp, name: &str) -> Product {
    Product {
        id: ProductId::new(app.ctx.now(), app.ctx.random.as_ref()),
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
        created_at: app.ctx.now(),
        updated_at: app.ctx.now(),
    }
}

/// A one-time price.
pub fn price(app: &TestApp, id: &PriceId, product: &ProductId, tokens: u128, cents: u128) -> Price {
    Price {
        id: id.clone(),
        mode: Mode::Test,
        product_id: product.clone(),
        active: true,
        locked: true,
        replaced_by: None,
        nickname: String::new(),
        lookup_key: None,
        currency_id: app.shop.token.clone(),
        unit_amount: Amount::new(tokens * SKT),
        currency_options: vec![CurrencyOption::per_unit(app.shop.dollar.clone(), Amount::new(cents))],
        recurring: None,
        tiers_mode: None,
        tiers: Vec::new(),
        custom: None,
        upsells_to: None,
        stock_of: None,
        quantity_available: 0,
        quantity_sold: 0,
        quantity_limit_per_checkout: 0,
        metadata: Metadata::new(),
        created_at: app.ctx.now(),
        updated_at: app.ctx.now(),
    }
}
