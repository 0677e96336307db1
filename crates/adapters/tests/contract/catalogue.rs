//! Products, prices and apps used by the cases of several ports.

use souk_adapters::persistence::{Database, SqlApps, SqlPrices, SqlProducts};
use souk_domain::access::Did;
use souk_domain::pricing::{Metadata, Price, Prices, Product, Products};
use souk_domain::shared::{Amount, CategoryId, CurrencyId, Mode, PriceId, ProductId, Text, Timestamp};
use souk_domain::store::{App, Apps, Availability, Category, Developer, Screenshot};

pub fn at(seconds: i64) -> Timestamp {
    Timestamp::from_seconds(1_768_478_400 + seconds)
}

pub fn product(id: &str) -> Product {
    Product {
        id: ProductId::parse(id).expect("an id"),
        mode: Mode::Test,
        active: true,
        name: format!("Product {id}"),
        name_zh: None,
        description: "Sold by the piece".to_owned(),
        description_zh: None,
        images: vec!["https://example.com/a.png".to_owned()],
        features: vec!["Fast".to_owned(), "Calm".to_owned()],
        unit_label: Some("seat".to_owned()),
        unit_label_zh: None,
        statement_descriptor: None,
        default_price_id: None,
        app: None,
        cross_sells_to: None,
        metadata: Metadata::new(),
        created_at: at(0),
        updated_at: at(0),
    }
}

/// A price of `prod_1` with `available` units in stock (0 for unlimited).
pub fn price(id: &str, available: u64) -> Price {
    Price {
        id: PriceId::parse(id).expect("an id"),
        mode: Mode::Test,
        product_id: ProductId::parse("prod_1").expect("an id"),
        active: true,
        locked: false,
        replaced_by: None,
        nickname: String::new(),
        lookup_key: None,
        currency_id: CurrencyId::parse("pc_1").expect("an id"),
        unit_amount: Amount::new(5_000_000_000_000_000_000),
        currency_options: Vec::new(),
        recurring: None,
        tiers_mode: None,
        tiers: Vec::new(),
        custom: None,
        upsells_to: None,
        stock_of: None,
        quantity_available: available,
        quantity_sold: 0,
        quantity_limit_per_checkout: 0,
        metadata: Metadata::new(),
        created_at: at(0),
        updated_at: at(0),
    }
}

/// Inserts `prod_1` and the given prices.
pub async fn stock(db: &Database, prices: &[Price]) {
    let mut connection = db.begin().await.expect("begins");
    SqlProducts(&mut connection).insert(&product("prod_1")).await.expect("inserts");
    for price in prices {
        SqlPrices(&mut connection).insert(price).await.expect("inserts");
    }
    connection.commit().await.expect("commits");
}

pub fn did(text: &str) -> Did {
    Did::from_verified(text)
}

pub fn category(id: &str, slug: &str, position: u32) -> Category {
    Category { id: CategoryId::parse(id).expect("an id"), slug: slug.to_owned(), name: Text::new(slug, format!("{slug} 类别")), position }
}

/// A free app in category `cat_tools`.
pub fn app(address: &str, title: &str) -> App {
    App {
        did: did(address),
        availability: Availability::Available,
        is_listed: true,
        name: title.to_lowercase().replace(' ', "-"),
        title: Text::new(title, "应用"),
        description: Text::new("Does one thing", "只做一件事"),
        category_id: CategoryId::parse("cat_tools").expect("an id"),
        developer: Developer { did: did("zDeveloper"), name: "Ada Works".to_owned(), verified: true },
        logo: "ab".repeat(32),
        screenshots: vec![Screenshot { file: "cd".repeat(32), width: 1_280, height: 800, alt: Text::new("The list", "列表") }],
        license: "Apache-2.0".to_owned(),
        website: None,
        test_link: None,
        live_link: None,
        downloads: 0,
        version: "1.0.0".to_owned(),
        size: 4_096,
        created_at: at(0),
        updated_at: at(0),
    }
}

/// Inserts the categories `tools` and `games` and the given apps.
pub async fn shelve(db: &Database, apps: &[App]) {
    let mut connection = db.begin().await.expect("begins");
    let mut shelf = SqlApps(&mut connection);
    shelf.insert_category(&category("cat_games", "games", 2)).await.expect("inserts");
    shelf.insert_category(&category("cat_tools", "tools", 1)).await.expect("inserts");
    for app in apps {
        shelf.insert(app).await.expect("inserts");
    }
    connection.commit().await.expect("commits");
}
