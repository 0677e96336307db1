//! Prices and their stock (invariant 8).

use crate::catalogue::{at, price, product, stock};
use souk_adapters::on_both;
use souk_adapters::persistence::{Database, SqlPaymentLinks, SqlPrices, SqlProducts};
use souk_domain::checkout::{FormOptions, LineItem, PaymentLink, PaymentLinks, SubscriptionTerms};
use souk_domain::pricing::{
    Aggregate, Anchoring, CatalogueFilter, CatalogueItem, CurrencyOption, CustomAmount, Interval, Metadata, Price, Prices, Product,
    Products, Recurring, RecurringInterval, StockReservation, Tier, TiersMode, Usage,
};
use souk_domain::shared::{Amount, CurrencyId, Mode, Page, PaymentLinkId, PriceId, ProductId, SessionId, StorageError, Text};

fn id(text: &str) -> PriceId {
    PriceId::parse(text).expect("an id")
}

fn buyer(number: u32) -> SessionId {
    SessionId::parse(&format!("cs_{number}")).expect("an id")
}

fn of(price: &str, quantity: u64) -> StockReservation {
    StockReservation { price_id: id(price), quantity }
}

async fn sold(db: &Database, price: &str) -> u64 {
    let mut connection = db.read().await.expect("reads");
    SqlPrices(&mut connection).find(&id(price)).await.expect("reads").expect("exists").quantity_sold
}

/// Reserves stock in one unit of work, which rolls back if there is not enough. Returns whether it committed.
async fn reserve(db: &Database, session_id: &SessionId, hold: &StockReservation) -> bool {
    let mut connection = db.begin().await.expect("begins");
    let held = match SqlPrices(&mut connection).reserve(session_id, hold, at(1)).await {
        Ok(()) => connection.commit().await,
        refused => refused,
    };
    match held {
        Ok(()) => true,
        Err(StorageError::Conflict) => false,
        Err(error) => panic!("{error}"),
    }
}

async fn release(db: &Database, session_id: &SessionId) {
    let mut connection = db.begin().await.expect("begins");
    SqlPrices(&mut connection).release(session_id).await.expect("releases");
    connection.commit().await.expect("commits");
}

async fn commit(db: &Database, session_id: &SessionId) {
    let mut connection = db.begin().await.expect("begins");
    SqlPrices(&mut connection).commit(session_id).await.expect("sells");
    connection.commit().await.expect("commits");
}

/// Swaps stock in one unit of work, which commits if there is enough. Returns whether it committed.
async fn swap(db: &Database, session_id: &SessionId, from: &StockReservation, to: &StockReservation) -> bool {
    let mut connection = db.begin().await.expect("begins");
    let fits = SqlPrices(&mut connection).swap(session_id, from, to, at(2)).await.expect("answers");
    if fits {
        connection.commit().await.expect("commits");
    } else {
        connection.rollback().await.expect("rolls back");
    }
    fits
}

async fn held(db: &Database, session_id: &SessionId) -> Vec<StockReservation> {
    let mut connection = db.read().await.expect("reads");
    SqlPrices(&mut connection).reservations(session_id).await.expect("reads")
}

on_both! {
    async fn a_price_is_read_as_written_and_as_updated(db: &TestDatabase) {
        let option = CurrencyOption::per_unit(CurrencyId::parse("pc_2").expect("an id"), Amount::new(u128::MAX));
        let mut one = Price { lookup_key: Some("gold".to_owned()), currency_options: vec![option], ..price("price_1", 7) };
        stock(db, std::slice::from_ref(&one)).await;
        let mut connection = db.begin().await.expect("begins");
        let mut prices = SqlPrices(&mut connection);
        assert_eq!(prices.find(&one.id).await.expect("reads"), Some(one.clone()));
        assert_eq!(prices.find_by_lookup_key(Mode::Test, "gold").await.expect("reads"), Some(one.clone()));
        assert_eq!(prices.find_by_lookup_key(Mode::Live, "gold").await.expect("reads"), None);
        one = Price { active: false, nickname: "Silver".to_owned(), unit_amount: Amount::new(1), updated_at: at(5), ..one };
        prices.update(&Price { quantity_available: 3, quantity_sold: 2, ..one.clone() }).await.expect("updates");
        assert!(prices.set_amounts(&one).await.expect("answers"));
        assert_eq!(prices.of_products(&[ProductId::parse("prod_1").expect("an id")]).await.expect("reads"), [one.clone()]);
        let page = Page::new(None, None);
        let filter = CatalogueFilter { query: "SILV".to_owned(), product: Some(one.product_id.clone()), ..CatalogueFilter::default() };
        assert_eq!(prices.list(Mode::Test, &filter, &page).await.expect("lists").list, [one]);
        let filter = CatalogueFilter { product: Some(ProductId::parse("prod_2").expect("an id")), ..CatalogueFilter::default() };
        assert_eq!(prices.list(Mode::Test, &filter, &page).await.expect("lists").count, 0);
    }

    async fn intervals_tiers_and_custom_amounts_are_read_in_each_currency(db: &TestDatabase) {
        let tiers = |unit: u128| {
            vec![
                Tier { up_to: Some(5), unit_amount: Amount::new(unit), flat_amount: Amount::new(u128::MAX) },
                Tier { up_to: None, unit_amount: Amount::ZERO, flat_amount: Amount::ZERO },
            ]
        };
        let custom = CustomAmount {
            preset: Some(Amount::new(5)),
            presets: vec![Amount::new(1), Amount::new(5)],
            minimum: Some(Amount::ZERO),
            maximum: None,
        };
        let option = CurrencyOption {
            tiers: tiers(3),
            custom: Some(custom.clone()),
            ..CurrencyOption::per_unit(CurrencyId::parse("pc_2").expect("an id"), Amount::ZERO)
        };
        let recurring = |interval, anchoring, usage| {
            Some(Recurring { cycle: RecurringInterval::new(interval, 3, anchoring).expect("a cycle"), usage })
        };
        let year = Price { recurring: recurring(Interval::Year, Anchoring::Calendar, Usage::Licensed), ..price("price_year", 0) };
        let mut month = Price {
            recurring: recurring(Interval::Month, Anchoring::Fixed, Usage::Metered(Aggregate::Last)),
            tiers_mode: Some(TiersMode::Graduated),
            tiers: tiers(7),
            custom: Some(custom),
            currency_options: vec![option],
            upsells_to: Some(year.id.clone()),
            ..price("price_month", 0)
        };
        stock(db, &[year.clone(), month.clone()]).await;
        let mut connection = db.begin().await.expect("begins");
        let mut prices = SqlPrices(&mut connection);
        assert_eq!(prices.find(&month.id).await.expect("reads"), Some(month.clone()));
        assert_eq!(prices.find(&year.id).await.expect("reads"), Some(year.clone()));
        assert!(!prices.delete(&year.id).await.expect("answers"));
        month = Price { tiers_mode: None, tiers: Vec::new(), custom: None, currency_options: Vec::new(), upsells_to: None, ..month };
        prices.update(&month).await.expect("updates");
        assert!(prices.set_amounts(&month).await.expect("answers"));
        assert_eq!(prices.find(&month.id).await.expect("reads"), Some(month));
        assert!(prices.delete(&year.id).await.expect("answers"));
    }

    async fn a_plan_change_takes_the_new_plans_stock_and_returns_the_old_plans(db: &TestDatabase) {
        let scarce = Price { quantity_available: 5, ..price("price_2", 5) };
        stock(db, &[price("price_1", 5), scarce]).await;
        assert!(reserve(db, &buyer(1), &of("price_1", 3)).await && reserve(db, &buyer(2), &of("price_2", 1)).await);
        commit(db, &buyer(1)).await;
        commit(db, &buyer(2)).await;
        assert!(swap(db, &buyer(1), &of("price_1", 3), &of("price_2", 4)).await);
        assert_eq!((sold(db, "price_1").await, sold(db, "price_2").await), (0, 5));
        assert!(!swap(db, &buyer(2), &of("price_2", 1), &of("price_2", 2)).await, "the sixth of five");
        assert!(swap(db, &buyer(1), &of("price_2", 4), &of("price_2", 3)).await);
        assert!(swap(db, &buyer(2), &of("price_2", 1), &of("price_2", 2)).await);
        assert!(swap(db, &buyer(1), &of("price_2", 3), &of("price_1", 1)).await);
        assert_eq!((sold(db, "price_1").await, sold(db, "price_2").await), (1, 2));
        // The session held no stock of the old price, so only the new price's sold quantity changes.
        assert!(swap(db, &buyer(3), &of("price_1", 7), &of("price_2", 1)).await);
        assert_eq!((sold(db, "price_1").await, sold(db, "price_2").await), (1, 3));
    }

    async fn a_lookup_key_is_unique_per_mode(db: &TestDatabase) {
        let gold = |id: &str, mode| Price { lookup_key: Some("gold".to_owned()), mode, ..price(id, 0) };
        stock(db, &[gold("price_1", Mode::Test), gold("price_2", Mode::Live)]).await;
        let mut connection = db.begin().await.expect("begins");
        let refused = SqlPrices(&mut connection).insert(&gold("price_3", Mode::Test)).await;
        assert!(matches!(refused, Err(StorageError::Duplicate(_))), "{refused:?}");
    }

    async fn ten_buyers_race_for_five_items_and_five_are_sold(db: &TestDatabase) {
        stock(db, &[price("price_1", 5)]).await;
        let buyers = (0..10).map(|number| {
            let db = Database::clone(db);
            tokio::spawn(async move { reserve(&db, &buyer(number), &of("price_1", 1)).await })
        });
        let mut winners = 0;
        for buyer in buyers.collect::<Vec<_>>() {
            winners += u32::from(buyer.await.expect("buys"));
        }
        assert_eq!((winners, sold(db, "price_1").await), (5, 5));
        for number in 0..10 {
            commit(db, &buyer(number)).await;
            release(db, &buyer(number)).await;
        }
        assert_eq!(sold(db, "price_1").await, 5);
    }

    async fn a_rejected_reservation_reserves_nothing_and_keeps_earlier_reservations(db: &TestDatabase) {
        stock(db, &[price("price_1", 5)]).await;
        assert!(!reserve(db, &buyer(1), &of("price_1", 6)).await);
        assert_eq!(held(db, &buyer(1)).await, []);
        assert!(reserve(db, &buyer(1), &of("price_1", 3)).await);
        assert!(!reserve(db, &buyer(1), &of("price_1", 3)).await);
        assert_eq!(held(db, &buyer(1)).await, [of("price_1", 3)]);
        assert!(reserve(db, &buyer(1), &of("price_1", 2)).await);
        assert_eq!(held(db, &buyer(1)).await, [of("price_1", 5)]);
        assert_eq!(sold(db, "price_1").await, 5);
    }

    async fn a_repeated_release_returns_no_more_stock(db: &TestDatabase) {
        stock(db, &[price("price_1", 5), price("price_2", 0)]).await;
        assert!(reserve(db, &buyer(1), &of("price_2", 4)).await);
        assert!(reserve(db, &buyer(1), &of("price_1", 2)).await);
        assert!(reserve(db, &buyer(2), &of("price_1", 1)).await);
        let releases = (0..4).map(|_| {
            let db = Database::clone(db);
            tokio::spawn(async move { release(&db, &buyer(1)).await })
        });
        for one in releases.collect::<Vec<_>>() {
            one.await.expect("releases");
        }
        assert_eq!((sold(db, "price_1").await, sold(db, "price_2").await), (1, 0));
        assert_eq!(held(db, &buyer(1)).await, []);
        assert!(reserve(db, &buyer(1), &of("price_1", 4)).await);
        assert_eq!((held(db, &buyer(1)).await, sold(db, "price_1").await), (vec![of("price_1", 4)], 5));
    }

    async fn sold_stock_is_neither_released_nor_sold_again(db: &TestDatabase) {
        stock(db, &[price("price_1", 5)]).await;
        assert!(reserve(db, &buyer(1), &of("price_1", 2)).await);
        commit(db, &buyer(1)).await;
        commit(db, &buyer(1)).await;
        release(db, &buyer(1)).await;
        assert_eq!((sold(db, "price_1").await, held(db, &buyer(1)).await), (2, vec![]));
        assert!(!reserve(db, &buyer(1), &of("price_1", 1)).await);
        assert_eq!(sold(db, "price_1").await, 2);
    }

    async fn of_a_concurrent_sale_and_release_of_one_session_one_succeeds(db: &TestDatabase) {
        let prices: Vec<_> = (0..8).map(|number| price(&format!("price_{number}"), 1)).collect();
        stock(db, &prices).await;
        for number in 0..8 {
            assert!(reserve(db, &buyer(number), &of(&format!("price_{number}"), 1)).await);
        }
        for number in 0..8 {
            let (seller, releaser) = (Database::clone(db), Database::clone(db));
            let selling = tokio::spawn(async move { commit(&seller, &buyer(number)).await });
            let releasing = tokio::spawn(async move { release(&releaser, &buyer(number)).await });
            selling.await.expect("sells");
            releasing.await.expect("releases");
            let mut connection = db.read().await.expect("reads");
            let select = "SELECT state FROM stock_reservations WHERE session_id = $1";
            let row = connection.query(select).bind(buyer(number)).one().await.expect("reads");
            let state: String = row.get("state").expect("state");
            let expected = u64::from(state == "committed");
            assert_eq!(sold(db, &format!("price_{number}")).await, expected, "{state}");
        }
    }

    async fn prices_are_read_with_their_products(db: &TestDatabase) {
        let disabled = Price { active: false, created_at: at(7), updated_at: at(8), ..price("price_2", 3) };
        stock(db, &[price("price_1", 0), disabled.clone()]).await;
        let mut connection = db.begin().await.expect("begins");
        let found = SqlPrices(&mut connection).find_with_products(&[id("price_2"), id("price_1"), id("price_9")]).await.expect("reads");
        let item = |price| CatalogueItem { price, product: product("prod_1") };
        assert_eq!(found, [item(price("price_1", 0)), item(disabled)]);
    }

    async fn stock_never_falls_below_the_sold_quantity_or_becomes_unlimited(db: &TestDatabase) {
        stock(db, &[price("price_1", 5), price("price_2", 0)]).await;
        assert!(reserve(db, &buyer(1), &of("price_1", 3)).await);
        let mut connection = db.begin().await.expect("begins");
        let mut prices = SqlPrices(&mut connection);
        assert!(!prices.restock(&id("price_1"), -3, at(2)).await.expect("answers"));
        assert!(prices.restock(&id("price_1"), -2, at(2)).await.expect("answers"));
        assert!(prices.restock(&id("price_1"), 4, at(3)).await.expect("answers"));
        assert!(!prices.restock(&id("price_2"), 5, at(3)).await.expect("answers"), "a price without a limit got one");
        assert!(!prices.restock(&id("price_2"), -1, at(3)).await.expect("answers"));
        assert!(!prices.restock(&id("price_9"), 1, at(3)).await.expect("answers"));
        let stored = prices.find(&id("price_1")).await.expect("reads").expect("exists");
        assert_eq!((stored.quantity_available, stored.quantity_sold, stored.updated_at), (7, 3, at(3)));
        assert!(!prices.set_stock(&id("price_1"), 2, at(4)).await.expect("answers"));
        assert!(prices.set_stock(&id("price_1"), 3, at(4)).await.expect("answers"));
        assert!(prices.set_stock(&id("price_1"), 0, at(4)).await.expect("answers"));
        assert!(!prices.set_stock(&id("price_9"), 9, at(4)).await.expect("answers"));
    }

    async fn a_price_is_deleted_only_if_nothing_references_it(db: &TestDatabase) {
        let names = ["price_1", "price_11", "price_held", "price_default"];
        stock(db, &names.map(|name| price(name, 0))).await;
        assert!(reserve(db, &buyer(1), &of("price_held", 1)).await);
        release(db, &buyer(1)).await;
        let mut connection = db.begin().await.expect("begins");
        let default = Product { default_price_id: Some(id("price_default")), ..product("prod_1") };
        SqlProducts(&mut connection).update(&default).await.expect("updates");
        let link = PaymentLink {
            id: PaymentLinkId::parse("plink_1").expect("an id"),
            mode: Mode::Test,
            active: true,
            name: String::new(),
            items: vec![LineItem::new(id("price_11"), 1)],
            currency_id: CurrencyId::parse("pc_1").expect("an id"),
            form: FormOptions::default(),
            terms: SubscriptionTerms::default(),
            requires_cross_sell: false,
            custom_message: Text::default(),
            redirect_url: None,
            metadata: Metadata::new(),
            created_at: at(0),
            updated_at: at(0),
        };
        SqlPaymentLinks(&mut connection).insert(&link).await.expect("inserts");
        let mut prices = SqlPrices(&mut connection);
        for (name, deleted) in [("price_1", true), ("price_1", false), ("price_11", false), ("price_held", false), ("price_default", false)] {
            assert_eq!(prices.delete(&id(name)).await.expect("answers"), deleted, "{name}");
        }
    }

    async fn a_database_constraint_prevents_overselling(db: &TestDatabase) {
        stock(db, &[price("price_1", 5)]).await;
        let mut connection = db.begin().await.expect("begins");
        let refused = connection.query("UPDATE prices SET quantity_sold = 6").execute().await;
        assert!(matches!(refused, Err(StorageError::Driver(_))), "{refused:?}");
    }
}
