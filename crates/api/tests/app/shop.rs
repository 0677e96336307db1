//! The apps and products of the test store.

use super::networks::{PUBLISHABLE_KEY, SECRET_KEY, WEBHOOK_SECRET};
use sha2::{Digest, Sha256};
use souk_adapters::files::FileStore;
use souk_adapters::identity::{PublicKey, Role, did_from_public_key};
use souk_domain::access::Did;
use souk_domain::checkout::{FormOptions, LineItem, PaymentLink, QuantityRange, SubscriptionTerms};
use souk_domain::context::Context;
use souk_domain::customer::{Field, FieldPattern, PageInfo};
use souk_domain::payment::{Currency, Method, MethodKind, MethodSettings, Secret};
use souk_domain::pricing::{CurrencyOption, Metadata, Price, Product};
use souk_domain::shared::{Amount, CategoryId, CurrencyId, MethodId, Mode, PaymentLinkId, PriceId, ProductId, Text, VersionId};
use souk_domain::storage::UnitOfWork;
use souk_domain::store::{App, AppVersion, Availability, Category, Developer, Files};
use souk_sandbox::ledger;

/// Paid apps cost 10 SKT or 4.99 USD.
pub struct Shop {
    pub wallet: MethodId,
    pub token: CurrencyId,
    pub card: MethodId,
    pub dollar: CurrencyId,
    /// Sold without conditions.
    pub atlas: Sold,
    /// Five in stock, at most three per checkout.
    pub seats: Sold,
    /// Has a price of zero and goes through the checkout.
    pub gift: Sold,
    /// Costs less than the card processor's minimum.
    pub crumb: Sold,
    /// Its form requires a phone number, an address and a name of at least two words.
    pub strict: Sold,
    /// Free, without a checkout.
    pub notes: Sold,
}

/// An app of the store, with its price and payment link.
pub struct Sold {
    pub app: Did,
    /// Empty for a free app.
    pub link: String,
    pub price: String,
    pub bundle: Vec<u8>,
}

impl Sold {
    pub fn bundle_path(&self) -> String {
        format!("/api/apps/{}/1.0.0/bundle", self.app)
    }

    pub fn sha256(&self) -> [u8; 32] {
        Sha256::digest(&self.bundle).into()
    }
}

/// The terms of sale of an app; by default there are no conditions.
#[derive(Default)]
struct Terms {
    gratis: bool,
    /// Ten cents, which is below the card processor's minimum.
    trifle: bool,
    stock: u64,
    limit: u64,
    form: FormOptions,
}

struct CheckoutFixtures {
    wallet: Method,
    token: Currency,
    card: Method,
    dollar: Currency,
}

struct Shelf<'a> {
    ctx: &'a Context,
    files: &'a FileStore,
    category: CategoryId,
    fixtures: &'a CheckoutFixtures,
}

impl Shop {
    /// The symbol of the token.
    pub async fn token_symbol(&self, app: &super::TestApp) -> String {
        let mut unit = app.ctx.store.read().await.expect("reads");
        unit.methods().find_currency(&self.token).await.expect("reads").expect("a currency").symbol
    }

    pub async fn fill(ctx: &Context, files: &FileStore) -> Self {
        let now = ctx.now();
        let mut unit = ctx.store.begin().await.expect("begins");
        let fixtures = CheckoutFixtures::new(ctx);
        unit.methods().insert(&fixtures.wallet).await.expect("inserts");
        unit.methods().insert_currency(&fixtures.token).await.expect("inserts");
        unit.methods().insert(&fixtures.card).await.expect("inserts");
        unit.methods().insert_currency(&fixtures.dollar).await.expect("inserts");
        let category = Category {
            id: CategoryId::new(now, ctx.random.as_ref()),
            slug: "tools".to_owned(),
            name: Text::new("Tools", "工具"),
            position: 0,
        };
        unit.apps().insert_category(&category).await.expect("inserts");
        let shelf = Shelf { ctx, files, category: category.id, fixtures: &fixtures };
        let unit_ref = unit.as_mut();
        let pattern = FieldPattern::new("^\\S+ \\S+", Text::new("First and last name, please", "请填写姓和名")).expect("compiles");
        let page_info = PageInfo { patterns: [(Field::Name, pattern)].into(), purpose: Text::new("For the invoice", "用于开具发票") };
        let form = FormOptions { collect_phone: true, require_address: true, page_info };
        let shop = Self {
            atlas: shelf.sell(unit_ref, "atlas", Some(Terms::default())).await,
            seats: shelf.sell(unit_ref, "seats", Some(Terms { stock: 5, limit: 3, ..Terms::default() })).await,
            gift: shelf.sell(unit_ref, "gift", Some(Terms { gratis: true, ..Terms::default() })).await,
            crumb: shelf.sell(unit_ref, "crumb", Some(Terms { trifle: true, ..Terms::default() })).await,
            strict: shelf.sell(unit_ref, "strict", Some(Terms { form, ..Terms::default() })).await,
            notes: shelf.sell(unit_ref, "notes", None).await,
            wallet: fixtures.wallet.id.clone(),
            token: fixtures.token.id.clone(),
            card: fixtures.card.id.clone(),
            dollar: fixtures.dollar.id.clone(),
        };
        unit.commit().await.expect("commits");
        shop
    }
}

impl CheckoutFixtures {
    fn new(ctx: &Context) -> Self {
        let method = |kind, name: &str, settings| Method {
            id: MethodId::new(ctx.now(), ctx.random.as_ref()),
            mode: Mode::Test,
            kind,
            active: true,
            name: name.to_owned(),
            description: String::new(),
            logo: String::new(),
            settings,
            default_currency_id: None,
            created_at: ctx.now(),
            updated_at: ctx.now(),
        };
        let settings = MethodSettings::Arcblock {
            chain_id: ledger::CHAIN_ID.to_owned(),
            api_host: "/sandbox/arcblock/api/".to_owned(),
            explorer_host: "/sandbox/arcblock/explorer".to_owned(),
        };
        let wallet = method(MethodKind::Arcblock, "Wallet", settings);
        let settings = MethodSettings::Stripe {
            api_host: "/sandbox/stripe".to_owned(),
            dashboard: "/sandbox/stripe/dashboard".to_owned(),
            publishable_key: PUBLISHABLE_KEY.to_owned(),
            secret_key: Secret::new(SECRET_KEY),
            webhook_signing_secret: Secret::new(WEBHOOK_SECRET),
        };
        let card = method(MethodKind::Stripe, "Card", settings);
        let currency = |method: &Method, symbol: &str, decimals, contract: String, is_base| Currency {
            id: CurrencyId::new(ctx.now(), ctx.random.as_ref()),
            method_id: method.id.clone(),
            mode: Mode::Test,
            active: true,
            name: symbol.to_owned(),
            symbol: symbol.to_owned(),
            logo: String::new(),
            decimals,
            maximum_precision: decimals.min(6),
            contract,
            is_base,
            created_at: ctx.now(),
            updated_at: ctx.now(),
        };
        let token = currency(&wallet, ledger::TOKEN_SYMBOL, ledger::TOKEN_DECIMALS, ledger::token(), true);
        let dollar = currency(&card, "USD", 2, "usd".to_owned(), false);
        Self { wallet, token, card, dollar }
    }
}

fn did_of(name: &str, role: Role) -> Did {
    let bytes: [u8; 32] = Sha256::digest(name.as_bytes()).into();
    did_from_public_key(&PublicKey::ed25519(&bytes), role)
}

fn title_of(name: &str) -> String {
    let (first, rest) = name.split_at(1);
    format!("{}{rest}", first.to_uppercase())
}

impl Shelf<'_> {
    /// Creates an app; without `terms` it is free.
    async fn sell(&self, unit: &mut dyn UnitOfWork, name: &str, terms: Option<Terms>) -> Sold {
        let (now, random) = (self.ctx.now(), self.ctx.random.as_ref());
        let app = did_of(name, Role::Blocklet);
        let price_id = PriceId::new(now, random);
        let link = match terms {
            Some(terms) => Some(self.offer(unit, &app, name, &price_id, terms).await),
            None => None,
        };
        let bundle = format!("the bundle of {name}").into_bytes();
        let sha256 = Files::put(self.files, &bundle).await.expect("is kept");
        let logo = Files::put(self.files, b"<svg xmlns=\"http://www.w3.org/2000/svg\"/>").await.expect("is kept");
        let row = App {
            did: app.clone(),
            availability: Availability::Available,
            is_listed: true,
            name: name.to_owned(),
            title: Text::new(title_of(name), format!("{name} 应用")),
            description: Text::new(format!("About {name}"), format!("关于 {name}")),
            category_id: self.category.clone(),
            developer: Developer { did: did_of("developer", Role::Account), name: "Developer".to_owned(), verified: true },
            logo,
            screenshots: Vec::new(),
            license: "MIT".to_owned(),
            website: None,
            test_link: link.clone(),
            live_link: None,
            downloads: 0,
            version: "1.0.0".to_owned(),
            size: bundle.len() as u64,
            created_at: now,
            updated_at: now,
        };
        unit.apps().insert(&row).await.expect("inserts");
        let version = AppVersion {
            id: VersionId::new(now, random),
            app: app.clone(),
            version: "1.0.0".to_owned(),
            readme: Text::new("# Readme", "# 说明"),
            changelog: Text::new("First", "首次发布"),
            sha256,
            size: bundle.len() as u64,
            published_at: now,
            is_yanked: false,
            facts: None,
        };
        unit.apps().insert_version(&version).await.expect("inserts");
        Sold { app, link: link.map(|link| link.to_string()).unwrap_or_default(), price: price_id.to_string(), bundle }
    }

    async fn offer(&self, unit: &mut dyn UnitOfWork, app: &Did, name: &str, price_id: &PriceId, terms: Terms) -> PaymentLinkId {
        let (now, random) = (self.ctx.now(), self.ctx.random.as_ref());
        let (token, dollar) = (&self.fixtures.token.id, &self.fixtures.dollar.id);
        let amount = |units: u128| if terms.gratis { Amount::ZERO } else { Amount::new(units) };
        let (in_tokens, in_dollars) = (amount(10_000_000_000_000_000_000), amount(if terms.trifle { 10 } else { 499 }));
        let product = Product {
            id: ProductId::new(now, random),
            mode: Mode::Test,
            active: true,
            name: title_of(name),
            name_zh: None,
            description: String::new(),
            description_zh: None,
            images: Vec::new(),
            features: Vec::new(),
            unit_label: None,
            unit_label_zh: None,
            statement_descriptor: None,
            default_price_id: None,
            app: Some(app.clone()),
            cross_sells_to: None,
            metadata: Metadata::new(),
            created_at: now,
            updated_at: now,
        };
        let price = Price {
            id: price_id.clone(),
            mode: Mode::Test,
            product_id: product.id.clone(),
            active: true,
            locked: true,
            replaced_by: None,
            nickname: String::new(),
            lookup_key: None,
            currency_id: token.clone(),
            unit_amount: in_tokens,
            currency_options: vec![CurrencyOption::per_unit(dollar.clone(), in_dollars)],
            recurring: None,
            tiers_mode: None,
            tiers: Vec::new(),
            custom: None,
            upsells_to: None,
            stock_of: None,
            quantity_available: terms.stock,
            quantity_sold: 0,
            quantity_limit_per_checkout: terms.limit,
            metadata: Metadata::new(),
            created_at: now,
            updated_at: now,
        };
        let link = PaymentLink {
            id: PaymentLinkId::new(now, random),
            mode: Mode::Test,
            active: true,
            name: title_of(name),
            items: vec![LineItem {
                adjustable: (terms.stock > 0).then_some(QuantityRange { minimum: 1, maximum: 0 }),
                ..LineItem::new(price.id.clone(), 1)
            }],
            currency_id: token.clone(),
            terms: SubscriptionTerms::default(),
            requires_cross_sell: false,
            form: terms.form,
            custom_message: Text::new("Enjoy it", "祝你使用愉快"),
            redirect_url: None,
            metadata: Metadata::new(),
            created_at: now,
            updated_at: now,
        };
        unit.products().insert(&product).await.expect("inserts");
        unit.prices().insert(&price).await.expect("inserts");
        unit.links().insert(&link).await.expect("inserts");
        link.id
    }
}
