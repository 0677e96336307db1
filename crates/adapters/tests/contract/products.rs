//! Products.

use crate::catalogue::{at, price, product, stock};
use souk_adapters::on_both;
use souk_adapters::persistence::{SqlPrices, SqlProducts};
use souk_domain::access::Did;
use souk_domain::pricing::{CatalogueFilter, Metadata, Prices, Product, Products};
use souk_domain::shared::{Mode, Page, PriceId, StorageError};

fn ids(list: &[Product]) -> Vec<&str> {
    list.iter().map(|product| product.id.as_str()).collect()
}

on_both! {
    async fn a_product_is_read_as_written_and_as_updated(db: &TestDatabase) {
        let mut connection = db.begin().await.expect("begins");
        let mut products = SqlProducts(&mut connection);
        let mut one = product("prod_1");
        one.metadata.insert("a \"quoted\" name".to_owned(), "值".to_owned());
        products.insert(&one).await.expect("inserts");
        assert_eq!(products.find(&one.id).await.expect("reads"), Some(one.clone()));
        one.active = false;
        one.name = "Renamed".to_owned();
        one.images.clear();
        one.unit_label = None;
        one.default_price_id = Some(PriceId::parse("price_1").expect("an id"));
        one.app = Some(Did::from_verified("z1"));
        one.cross_sells_to = Some(product("prod_2").id);
        one.updated_at = at(9);
        products.update(&one).await.expect("updates");
        assert_eq!(products.find(&one.id).await.expect("reads"), Some(one.clone()));
        assert!(matches!(products.insert(&one).await, Err(StorageError::Duplicate(_))));
    }

    async fn a_list_is_filtered_by_mode_state_words_and_metadata(db: &TestDatabase) {
        let mut connection = db.begin().await.expect("begins");
        let mut products = SqlProducts(&mut connection);
        let tagged = Metadata::from([("team".to_owned(), "a".to_owned()), ("tier".to_owned(), "1".to_owned())]);
        let named = |id: &str, name: &str| Product { name: name.to_owned(), ..product(id) };
        products.insert(&Product { metadata: tagged, ..named("prod_1", "Straße 100%") }).await.expect("inserts");
        products.insert(&Product { active: false, ..named("prod_2", "Éclair") }).await.expect("inserts");
        products.insert(&Product { mode: Mode::Live, ..named("prod_3", "Éclair") }).await.expect("inserts");
        let page = Page::new(None, None);
        let filter = |query: &str| CatalogueFilter { query: query.to_owned(), ..CatalogueFilter::default() };
        for (query, expected) in [("", &["prod_2", "prod_1"][..]), ("ÉCL", &["prod_2"]), ("0%", &["prod_1"]), ("_", &[]), ("\\", &[])] {
            let listed = products.list(Mode::Test, &filter(query), &page).await.expect("lists");
            assert_eq!((ids(&listed.list), listed.count), (expected.to_vec(), expected.len() as u64), "{query}");
        }
        let active = CatalogueFilter { active: Some(true), ..CatalogueFilter::default() };
        assert_eq!(ids(&products.list(Mode::Test, &active, &page).await.expect("lists").list), ["prod_1"]);
        for (key, value, expected) in [("team", "a", 1), ("team", "b", 0), ("te", "a", 0)] {
            let metadata = Metadata::from([(key.to_owned(), value.to_owned())]);
            let filter = CatalogueFilter { metadata, ..CatalogueFilter::default() };
            assert_eq!(products.list(Mode::Test, &filter, &page).await.expect("lists").count, expected, "{key}={value}");
        }
    }

    async fn pages_are_read_by_number_or_by_the_last_id_seen(db: &TestDatabase) {
        let mut connection = db.begin().await.expect("begins");
        let mut products = SqlProducts(&mut connection);
        for number in 1..=5 {
            products.insert(&product(&format!("prod_{number}"))).await.expect("inserts");
        }
        let all = CatalogueFilter::default();
        let second = products.list(Mode::Test, &all, &Page::new(Some(2), Some(2))).await.expect("lists");
        assert_eq!((ids(&second.list), second.count), (vec!["prod_3", "prod_2"], 5));
        let after = Page { starting_after: Some("prod_4".to_owned()), ..Page::new(None, Some(2)) };
        let after = products.list(Mode::Test, &all, &after).await.expect("lists");
        assert_eq!((ids(&after.list), after.count), (vec!["prod_3", "prod_2"], 5));
    }

    async fn a_product_with_a_price_or_a_cross_sell_reference_is_not_deleted(db: &TestDatabase) {
        stock(db, &[price("price_1", 0)]).await;
        let mut connection = db.begin().await.expect("begins");
        let mut products = SqlProducts(&mut connection);
        products.insert(&product("prod_2")).await.expect("inserts");
        assert!(!products.delete(&product("prod_1").id).await.expect("answers"));
        let beside = Product { cross_sells_to: Some(product("prod_2").id), ..product("prod_1") };
        products.update(&beside).await.expect("updates");
        assert!(!products.delete(&product("prod_2").id).await.expect("answers"));
        products.update(&product("prod_1")).await.expect("updates");
        assert!(products.delete(&product("prod_2").id).await.expect("answers"));
        assert!(!products.delete(&product("prod_2").id).await.expect("answers"));
        let found = products.find_all(&[product("prod_1").id, product("prod_2").id]).await.expect("reads");
        assert_eq!(ids(&found), ["prod_1"]);
        assert_eq!(products.find_all(&[]).await.expect("reads"), []);
    }

    async fn a_catalogue_is_counted_to_ten_thousand_and_the_prices_of_one_product_to_their_end(db: &TestDatabase) {
        let mut connection = db.begin().await.expect("begins");
        SqlProducts(&mut connection).insert(&product("prod_1")).await.expect("inserts");
        SqlPrices(&mut connection).insert(&price("price_1", 0)).await.expect("inserts");
        let numbers = "WITH RECURSIVE numbers (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM numbers WHERE n < 10004)";
        let copies = [
            "INSERT INTO products (id, livemode, active, name, description, images, features, metadata, search_text, created_at, updated_at)
             SELECT 'prod_copy' || n, livemode, active, name, description, images, features, metadata, search_text, created_at, updated_at
             FROM products, numbers WHERE id = 'prod_1'",
            "INSERT INTO prices (id, livemode, product_id, active, nickname, currency_id, unit_amount, currency_options, tiers, metadata,
                 search_text, created_at, updated_at)
             SELECT 'price_copy' || n, livemode, product_id, active, nickname, currency_id, unit_amount, currency_options, tiers, metadata,
                 search_text, created_at, updated_at
             FROM prices, numbers WHERE id = 'price_1'",
        ];
        for copy in copies {
            connection.query(format!("{numbers} {copy}").leak()).execute().await.expect("inserts");
        }
        let (all, page) = (CatalogueFilter::default(), Page::new(None, None));
        let of_product = CatalogueFilter { product: Some(product("prod_1").id), ..CatalogueFilter::default() };
        assert_eq!(SqlProducts(&mut connection).list(Mode::Test, &all, &page).await.expect("lists").count, 10_000);
        assert_eq!(SqlPrices(&mut connection).list(Mode::Test, &all, &page).await.expect("lists").count, 10_000);
        assert_eq!(SqlPrices(&mut connection).list(Mode::Test, &of_product, &page).await.expect("lists").count, 10_005);
    }
}
