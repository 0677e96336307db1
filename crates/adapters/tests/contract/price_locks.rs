//! Prices whose amounts are fixed by the first reference, and the stock that replacements share.

use crate::catalogue::{at, price, stock};
use crate::checkout_fixtures::{begin, link};
use souk_adapters::on_both;
use souk_adapters::persistence::{Connection, Database, SqlPrices};
use souk_adapters::verify::verify;
use souk_domain::checkout::{LineItem, PaymentLink};
use souk_domain::pricing::{CurrencyOption, Price, Prices, StockReservation};
use souk_domain::shared::{Amount, CurrencyId, PriceId, SessionId, StorageError};
use tokio::task::JoinHandle;

fn id(text: &str) -> PriceId {
    PriceId::parse(text).expect("an id")
}

fn buyer(number: u32) -> SessionId {
    SessionId::parse(&format!("cs_{number}")).expect("an id")
}

fn at_90(price: &Price) -> Price {
    Price { unit_amount: Amount::new(90), ..price.clone() }
}

async fn read(connection: &mut Connection, name: &str) -> Price {
    SqlPrices(connection).find(&id(name)).await.expect("reads").expect("exists")
}

async fn stored(db: &Database, name: &str) -> Price {
    read(&mut db.read().await.expect("reads"), name).await
}

/// Edits the amount of a price as an owner who has read it before. Returns whether it was written.
fn edit(db: &Database, before: Price) -> JoinHandle<bool> {
    let db = db.clone();
    tokio::spawn(async move {
        let mut connection = db.begin().await.expect("begins");
        let written = SqlPrices(&mut connection).set_amounts(&at_90(&before)).await.expect("answers");
        connection.commit().await.expect("commits");
        written
    })
}

/// Refers to a price in one unit of work. Returns the amount that it refers to.
fn refer(db: &Database, name: String) -> JoinHandle<Amount> {
    let db = db.clone();
    tokio::spawn(async move {
        let mut connection = db.begin().await.expect("begins");
        SqlPrices(&mut connection).lock(&[id(&name)]).await.expect("locks");
        let amount = read(&mut connection, &name).await.unit_amount;
        connection.commit().await.expect("commits");
        amount
    })
}

async fn reserve(db: &Database, session: u32, name: &str, quantity: u64) -> bool {
    let mut connection = db.begin().await.expect("begins");
    let reservation = StockReservation { price_id: id(name), quantity };
    let reserved = match SqlPrices(&mut connection).reserve(&buyer(session), &reservation, at(1)).await {
        Ok(()) => connection.commit().await,
        refused => refused,
    };
    match reserved {
        Ok(()) => true,
        Err(StorageError::Conflict) => false,
        Err(error) => panic!("{error}"),
    }
}

/// Inserts the replacement of a price.
async fn replace(db: &Database, old: &str, new: &str) {
    let mut connection = db.begin().await.expect("begins");
    let before = read(&mut connection, old).await;
    let stock_of = Some(before.stock_id().clone());
    let mut prices = SqlPrices(&mut connection);
    prices.update(&Price { active: false, replaced_by: Some(id(new)), ..before.clone() }).await.expect("archives");
    prices.insert(&Price { id: id(new), stock_of, ..before }).await.expect("inserts");
    connection.commit().await.expect("commits");
}

async fn quantities(db: &Database, name: &str) -> (u64, u64) {
    let price = stored(db, name).await;
    (price.quantity_available, price.quantity_sold)
}

on_both! {
    async fn the_first_reference_locks_a_price_and_its_upsell_for_ever(db: &TestDatabase) {
        let monthly = Price { upsells_to: Some(id("price_2")), ..price("price_1", 0) };
        stock(db, &[monthly, price("price_2", 0), price("price_3", 0)]).await;
        assert!(!stored(db, "price_1").await.locked);
        refer(db, "price_1".to_owned()).await.expect("refers");
        let locked = [stored(db, "price_1").await, stored(db, "price_2").await, stored(db, "price_3").await].map(|price| price.locked);
        assert_eq!(locked, [true, true, false]);
        let mut connection = db.begin().await.expect("begins");
        let mut prices = SqlPrices(&mut connection);
        prices.update(&Price { locked: false, nickname: "Silver".to_owned(), ..price("price_1", 0) }).await.expect("updates");
        let after = prices.find(&id("price_1")).await.expect("reads").expect("exists");
        assert!(after.locked && after.nickname == "Silver", "only the lock is permanent");
    }

    async fn a_currency_has_locked_prices_once_something_refers_to_a_price_in_it(db: &TestDatabase) {
        let currency = |name: &str| CurrencyId::parse(name).expect("an id");
        let option = CurrencyOption { currency_id: currency("pc_2"), unit_amount: Amount::new(1), tiers: Vec::new(), custom: None };
        stock(db, &[Price { currency_options: vec![option], ..price("price_1", 0) }]).await;
        let found = async |name: &str| SqlPrices(&mut db.read().await.expect("reads")).has_locked_in(&currency(name)).await.expect("reads");
        assert_eq!([found("pc_1").await, found("pc_2").await], [false, false], "it can still be edited");
        refer(db, "price_1".to_owned()).await.expect("refers");
        assert_eq!([found("pc_1").await, found("pc_2").await, found("pc_3").await, found("pc_10").await], [true, true, false, false]);
    }

    async fn the_row_and_not_the_caller_decides_whether_amounts_are_fixed(db: &TestDatabase) {
        stock(db, &[price("price_1", 0)]).await;
        let unlocked = stored(db, "price_1").await;
        refer(db, "price_1".to_owned()).await.expect("refers");
        let locked = stored(db, "price_1").await;
        let mut connection = db.begin().await.expect("begins");
        let mut prices = SqlPrices(&mut connection);
        assert!(!prices.set_amounts(&at_90(&unlocked)).await.expect("answers"), "read before the lock");
        assert!(!prices.set_amounts(&at_90(&locked)).await.expect("answers"), "a caller without the rule");
        let dearer = Price { currency_id: CurrencyId::parse("pc_2").expect("an id"), ..locked.clone() };
        assert!(!prices.set_amounts(&dearer).await.expect("answers"));
        let option = CurrencyOption::per_unit(CurrencyId::parse("pc_2").expect("an id"), Amount::new(7));
        let more = Price { currency_options: vec![option], ..locked };
        assert!(prices.set_amounts(&more).await.expect("answers"), "a currency can be added");
        assert_eq!(prices.find(&more.id).await.expect("reads"), Some(more));
    }

    async fn an_edit_that_waits_for_the_first_reference_writes_nothing(db: &TestDatabase) {
        stock(db, &[price("price_1", 0)]).await;
        let before = stored(db, "price_1").await;
        let mut connection = db.begin().await.expect("begins");
        SqlPrices(&mut connection).lock(&[id("price_1")]).await.expect("locks");
        let editing = edit(db, before.clone());
        connection.commit().await.expect("commits");
        assert!(!editing.await.expect("edits"));
        assert_eq!(stored(db, "price_1").await, Price { locked: true, ..before });
    }

    async fn a_first_reference_that_waits_for_an_edit_refers_to_the_new_amount(db: &TestDatabase) {
        stock(db, &[price("price_1", 0), price("price_2", 0)]).await;
        let before = stored(db, "price_1").await;
        let mut connection = db.begin().await.expect("begins");
        let mut prices = SqlPrices(&mut connection);
        let after = Price { upsells_to: Some(id("price_2")), ..at_90(&before) };
        assert!(prices.set_amounts(&after).await.expect("answers"));
        prices.update(&after).await.expect("updates");
        let referring = refer(db, "price_1".to_owned());
        connection.commit().await.expect("commits");
        assert_eq!(referring.await.expect("refers"), Amount::new(90));
        assert!(stored(db, "price_2").await.locked, "the upsell that the edit added");
    }

    async fn of_a_concurrent_edit_and_first_reference_both_agree_on_the_amount(db: &TestDatabase) {
        let names: Vec<_> = (0..16).map(|number| format!("price_{number}")).collect();
        let prices: Vec<_> = names.iter().map(|name| price(name, 0)).collect();
        stock(db, &prices).await;
        let racing: Vec<_> = prices.iter().map(|price| (edit(db, price.clone()), refer(db, price.id.to_string()))).collect();
        for (price, (editing, referring)) in prices.iter().zip(racing) {
            let (written, referred) = (editing.await.expect("edits"), referring.await.expect("refers"));
            let expected = if written { Amount::new(90) } else { price.unit_amount };
            let after = stored(db, price.id.as_str()).await;
            assert_eq!((referred, after.unit_amount, after.locked), (expected, expected, true), "{}", price.id);
        }
    }

    async fn concurrent_first_references_to_the_same_prices_do_not_deadlock(db: &TestDatabase) {
        let names: Vec<_> = (0..8).map(|number| format!("price_{number}")).collect();
        stock(db, &names.iter().map(|name| price(name, 0)).collect::<Vec<_>>()).await;
        let locking: Vec<_> = (0..8).map(|turn| {
            let (db, mut ids) = (Database::clone(db), names.iter().map(|name| id(name)).collect::<Vec<_>>());
            ids.rotate_left(turn);
            tokio::spawn(async move {
                let mut connection = db.begin().await.expect("begins");
                SqlPrices(&mut connection).lock(&ids).await.expect("locks");
                connection.commit().await.expect("commits");
            })
        }).collect();
        for one in locking {
            one.await.expect("locks");
        }
        for name in &names {
            assert!(stored(db, name).await.locked, "{name}");
        }
    }

    async fn prices_that_replaced_each_other_share_one_stock(db: &TestDatabase) {
        stock(db, &[price("price_1", 5)]).await;
        assert!(reserve(db, 1, "price_1", 2).await);
        replace(db, "price_1", "price_2").await;
        replace(db, "price_2", "price_3").await;
        for name in ["price_1", "price_2", "price_3"] {
            assert_eq!(quantities(db, name).await, (5, 2), "{name}");
        }
        assert!(reserve(db, 2, "price_3", 3).await);
        assert!(!reserve(db, 3, "price_3", 1).await && !reserve(db, 3, "price_1", 1).await, "the sixth of five");
        let mut connection = db.begin().await.expect("begins");
        let mut prices = SqlPrices(&mut connection);
        prices.release(&buyer(1)).await.expect("releases");
        prices.release(&buyer(1)).await.expect("releases nothing more");
        connection.commit().await.expect("commits");
        assert_eq!(quantities(db, "price_3").await, (5, 3));
        assert!(reserve(db, 4, "price_1", 2).await, "a session that was open before the replacement");
        let mut connection = db.begin().await.expect("begins");
        let mut prices = SqlPrices(&mut connection);
        prices.commit(&buyer(4)).await.expect("sells");
        let [old, new] = ["price_1", "price_3"].map(|name| StockReservation { price_id: id(name), quantity: 2 });
        assert!(prices.swap(&buyer(4), &old, &new, at(2)).await.expect("answers"), "a change to the new price needs no more stock");
        assert!(prices.restock(&id("price_3"), 1, at(3)).await.expect("answers"));
        assert!(!prices.set_stock(&id("price_2"), 4, at(3)).await.expect("answers"), "five are sold");
        connection.commit().await.expect("commits");
        assert_eq!((quantities(db, "price_1").await, quantities(db, "price_3").await), ((6, 5), (6, 5)));
    }

    async fn buyers_of_old_and_new_prices_race_for_five_items_and_five_are_sold(db: &TestDatabase) {
        stock(db, &[price("price_1", 5)]).await;
        let sell = |number: u32| {
            let (db, name) = (Database::clone(db), if number.is_multiple_of(2) { "price_1" } else { "price_2" });
            tokio::spawn(async move { reserve(&db, number, name, 1).await })
        };
        // The first buyers race with the replacement itself.
        let early: Vec<_> = (0..4).map(|number| sell(number * 2)).collect();
        replace(db, "price_1", "price_2").await;
        let late: Vec<_> = (10..20).map(sell).collect();
        let mut winners = 0;
        for one in early.into_iter().chain(late) {
            winners += u64::from(one.await.expect("buys"));
        }
        assert_eq!((winners, quantities(db, "price_1").await, quantities(db, "price_2").await), (5, (5, 5), (5, 5)));
    }

    async fn verify_reports_references_to_unlocked_prices_and_a_shared_stock_that_does_not_add_up(db: &TestDatabase) {
        let monthly = Price { upsells_to: Some(id("price_2")), ..price("price_1", 5) };
        stock(db, &[monthly, price("price_2", 0), price("price_3", 0)]).await;
        let run = async |sql: &'static str| {
            let mut connection = db.begin().await.expect("begins");
            connection.query(sql).execute().await.expect("changes");
            connection.commit().await.expect("commits");
        };
        let breaches = async |title: &str| {
            let mut found = Vec::new();
            verify(db, &mut |check| if check.title == title { found.extend(check.breaches) }).await.expect("reads");
            found.sort();
            found
        };
        let (locks, sold) = ("prices that something refers to are locked", "sold quantities match reservations and sales");
        let mut unit = begin(db).await;
        unit.links().insert(&PaymentLink { items: vec![LineItem::new(id("price_1"), 1)], ..link("plink_1") }).await.expect("inserts");
        unit.commit().await.expect("commits");
        assert_eq!(breaches(locks).await, ["price_1 is sold by a payment link but not locked"]);
        refer(db, "price_1".to_owned()).await.expect("refers");
        assert!(breaches(locks).await.is_empty());
        run("UPDATE prices SET locked = FALSE WHERE id = 'price_2'").await;
        assert_eq!(breaches(locks).await, ["price_2 is the upsell of a locked price but not locked"]);
        assert!(breaches(sold).await.is_empty());
        replace(db, "price_1", "price_4").await;
        assert!(breaches(sold).await.is_empty());
        run("UPDATE prices SET quantity_sold = 1 WHERE id = 'price_4'").await;
        assert_eq!(breaches(sold).await, ["price_4 has a sold quantity that differs from the reservations and sales of its stock"]);
    }

    async fn a_price_that_another_one_replaced_or_shares_stock_with_is_not_deleted(db: &TestDatabase) {
        stock(db, &[price("price_1", 5), price("price_9", 5)]).await;
        replace(db, "price_1", "price_2").await;
        let mut connection = db.begin().await.expect("begins");
        let mut prices = SqlPrices(&mut connection);
        for (name, deleted) in [("price_1", false), ("price_2", false), ("price_9", true)] {
            assert_eq!(prices.delete(&id(name)).await.expect("answers"), deleted, "{name}");
        }
    }
}
