//! Which indexes statements are answered from: what is read in a round, or under SQLite's one write lock, must not grow with the store.

use super::Sql;
use super::attempts::COVERED;
use super::columns::keys;
use super::intents::FOUND_OF_CUSTOMER as FOUND_PAYMENTS_OF_CUSTOMER;
use super::invoices::{ALL, FOUND_OF_CUSTOMER, OF_CUSTOMER, OF_SUBSCRIPTION};
use super::refunds::{ALL as ALL_REFUNDS, OF_CUSTOMER as OF_CUSTOMER_REFUNDS};
use super::session::Query;
use super::subscriptions::{ALL as ALL_OF_THEM, CLAIM_STAKED, OF_CUSTOMER as OF_A_CUSTOMER};
use super::usage_records::{LAST, MAX, SUM};
use crate::on_both;
use crate::testing::TestDatabase;
use souk_domain::shared::{Amount, Mode, Timestamp};

/// The database's plan of a statement. PostgreSQL reads small tables whole unless it may not.
async fn plan(db: &TestDatabase, sql: Sql, bind: impl for<'q> Fn(Query<'q>) -> Query<'q>) -> String {
    let mut session = db.begin().await.expect("begins");
    let is_postgres = db.address().starts_with("postgres");
    let (column, text) = match is_postgres {
        true => ("QUERY PLAN", format!("EXPLAIN {}", sql.postgres)),
        false => ("detail", format!("EXPLAIN QUERY PLAN {}", sql.sqlite)),
    };
    if is_postgres {
        for setting in ["SET LOCAL enable_seqscan = off", "SET LOCAL enable_bitmapscan = off"] {
            session.query(setting).execute().await.expect("sets");
        }
    }
    let rows = bind(session.query(text.leak())).all().await.expect("explains");
    rows.iter().map(|row| row.get::<String>(column).expect("a text")).collect::<Vec<_>>().join("\n")
}

fn one(sql: &'static str) -> Sql {
    Sql { sqlite: sql, postgres: sql }
}

/// A list's values, of a customer or a subscription.
fn filter<'q>(query: Query<'q>, customer: Option<&'static str>, subscription: Option<&'static str>) -> Query<'q> {
    let statuses: Option<serde_json::Value> = None;
    let query = query.bind("~").bind(20u32).bind(0u64).bind(Mode::Test).bind(statuses).bind(customer.map(str::to_owned));
    query.bind(None::<String>).bind(Amount::ZERO).bind(subscription.map(str::to_owned)).bind(false).bind(false).bind(false)
}

on_both! {
    async fn open_attempts_are_found_by_their_invoices(db: &TestDatabase) {
        let plan = plan(db, COVERED, |query| query.bind(keys(&["in_1"]))).await;
        assert!(plan.contains("attempt_invoices_open"), "{plan}");
    }

    async fn invoices_of_one_are_found_by_whose_they_are(db: &TestDatabase) {
        for sql in [OF_SUBSCRIPTION.page, OF_SUBSCRIPTION.count] {
            let plan = plan(db, sql, |query| filter(query, None, Some("sub_1"))).await;
            assert!(plan.contains("invoices_of_subscription") || plan.contains("invoices_period"), "{plan}");
        }
        for sql in [OF_CUSTOMER.page, OF_CUSTOMER.count] {
            let plan = plan(db, sql, |query| filter(query, Some("cus_1"), None)).await;
            assert!(plan.contains("invoices_of_customer"), "{plan}");
        }
    }

    async fn what_a_customer_searches_is_found_among_their_own(db: &TestDatabase) {
        for sql in [FOUND_OF_CUSTOMER.page, FOUND_OF_CUSTOMER.count] {
            let plan = plan(db, sql, |query| filter(query, Some("cus_1"), None).bind("one").bind(None::<u64>).bind("%one%")).await;
            assert!(plan.contains("invoices_of_customer"), "{plan}");
        }
        for sql in [FOUND_PAYMENTS_OF_CUSTOMER.page, FOUND_PAYMENTS_OF_CUSTOMER.count] {
            let plan = plan(db, sql, |query| {
                let query = query.bind("~").bind(20u32).bind(0u64).bind(Mode::Test).bind(Some("cus_1".to_owned()));
                query.bind(Amount::ZERO).bind("one").bind("%one%")
            });
            let plan = plan.await;
            assert!(plan.contains("payment_intents_of_customer"), "{plan}");
        }
    }

    async fn subscriptions_of_a_customer_are_found_by_them(db: &TestDatabase) {
        for (listing, customer, index) in [(OF_A_CUSTOMER, Some("cus_1"), "subscriptions_of_customer"), (ALL_OF_THEM, None, "subscriptions_")] {
            let nothing: Option<serde_json::Value> = None;
            let plan = plan(db, listing.page, |query| {
                let query = query.bind("~").bind(20u32).bind(0u64).bind(Mode::Test).bind(nothing.clone());
                query.bind(customer.map(str::to_owned)).bind(nothing.clone()).bind("").bind("%")
            });
            let plan = plan.await;
            assert!(plan.contains(index), "{plan}");
        }
    }

    async fn stakes_that_are_looked_at_are_found_among_themselves(db: &TestDatabase) {
        let at = Timestamp::from_seconds(9);
        let plan = plan(db, CLAIM_STAKED, |query| query.bind(at).bind(at).bind(20u32)).await;
        assert!(plan.contains("subscriptions_staked"), "{plan}");
    }

    async fn refunds_of_a_customer_are_found_by_them(db: &TestDatabase) {
        for (listing, customer, index) in [(OF_CUSTOMER_REFUNDS, Some("cus_1"), "refunds_of_customer"), (ALL_REFUNDS, None, "refunds_newest")] {
            for (sql, is_page) in [(listing.page, true), (listing.count, false)] {
                let plan = plan(db, sql, |query| {
                    let query = query.bind("~").bind(20u32).bind(0u64).bind(Mode::Test);
                    query.bind(customer.map(str::to_owned)).bind(None::<String>)
                });
                let plan = plan.await;
                assert!(plan.contains(index) || (!is_page && customer.is_none()) || plan.contains("refunds_pkey"), "{plan}");
            }
        }
    }

    async fn the_invoices_of_a_store_are_counted_without_their_rows(db: &TestDatabase) {
        let counted = plan(db, ALL.count, |query| filter(query, None, None)).await;
        assert!(counted.contains("COVERING INDEX invoices_counted") || counted.contains("Index Only Scan using invoices_counted"), "{counted}");
        let page = plan(db, ALL.page, |query| filter(query, None, None)).await;
        assert!(page.contains("invoices_newest") || page.contains("invoices_pkey"), "{page}");
    }

    async fn usage_is_counted_without_its_rows(db: &TestDatabase) {
        for sql in [SUM, MAX, LAST] {
            let plan = plan(db, one(sql), |query| query.bind("si_1").bind(Timestamp::from_seconds(0)).bind(Timestamp::from_seconds(9))).await;
            assert!(!plan.contains("SCAN usage_records") && !plan.contains("Seq Scan"), "{plan}");
            assert!(plan.contains("usage_records_of_item"), "{plan}");
        }
    }
}
