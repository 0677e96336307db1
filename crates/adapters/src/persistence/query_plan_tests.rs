//! Checks which indexes statements use. The number of rows read by a background round, or while SQLite's single write lock is held,
//! must not grow with the size of the store.

use super::ahead_of_clock::{CHECKS, KEYED_CALLS, LEASES, MESSAGES, PLAN_CHANGES, RECHECKS, STAKES};
use super::attempt_lists::{IN_FLIGHT, OF_CONNECT_SESSION, WALLETS_OF};
use super::attempts::{CLAIM_DUE, NETWORKS_DUE};
use super::attempts_on_hold::{COUNT as COUNT_ON_HOLD, PAYMENTS as HELD_PAYMENTS, TRANSFERS as HELD_TRANSFERS};
use super::backlog::{ATTEMPTS, SCANS, SUBSCRIPTIONS_ON_HOLD};
use super::checkout_sessions::{RESERVING, WAITING_OF_VISITOR, WITH_IDLE_STOCK};
use super::columns::keys;
use super::connection::Query;
use super::intents::{
    FIND_ALL_HELD, FIND_BY_REFERENCE as PAYMENT_BY_REFERENCE, RECEIVED_SINCE, SEARCH_OF_CUSTOMER as SEARCH_PAYMENTS_OF_CUSTOMER,
};
use super::invoices::{
    ALL, IS_AS_BEFORE, ITEMS_BILLING, ITEMS_COVERING, NUMBERED, OF_CUSTOMER, OF_SUBSCRIPTION, SEARCH_OF_CUSTOMER, UNPAID_IN, UPDATE,
};
use super::personal_data::{ERASE, ERASE_CARDS, ERASE_COMMENTS, ERASE_PROFILES, ERASE_PROVIDER_CUSTOMERS, OBSTACLES, OF_ADDRESSES};
use super::personal_data_tables::{EXPORTED, Exported};
use super::stakes::CLAIM_UNCHECKED;
use super::subscriptions::{ALL as ALL_SUBSCRIPTIONS, LOCK_HELD, OF_CUSTOMER as SUBSCRIPTIONS_OF_CUSTOMER, ON_HOLD};
use super::usage_records::{LAST, MAX, SUM, asked_for};
use super::{Kind, Sql, Values};
use super::{audit_log, credit_notes, disputes, entitlements, mandates, payees, refunds, sale_shares, stakes, unpaid_orders, unused_users};
use crate::on_both;
use crate::testing::TestDatabase;
use souk_domain::billing::UsageQuery;
use souk_domain::pricing::Aggregate;
use souk_domain::privacy::Obstacle;
use souk_domain::shared::{Amount, InvoiceId, Mode, SubscriptionItemId, Timestamp};

/// Returns the database's query plan. PostgreSQL scans small tables sequentially unless that is disabled.
async fn plan(db: &TestDatabase, sql: Sql, bind: impl for<'q> Fn(Query<'q>) -> Query<'q>) -> String {
    plan_without(db, &["SET LOCAL enable_seqscan = off", "SET LOCAL enable_bitmapscan = off"], sql, bind).await
}

/// Returns the plan that PostgreSQL uses for a large table, where sorting is too expensive.
async fn plan_unsorted(db: &TestDatabase, sql: Sql, bind: impl for<'q> Fn(Query<'q>) -> Query<'q>) -> String {
    let settings = ["SET LOCAL enable_seqscan = off", "SET LOCAL enable_bitmapscan = off", "SET LOCAL enable_sort = off"];
    plan_without(db, &settings, sql, bind).await
}

async fn plan_without(db: &TestDatabase, settings: &[&'static str], sql: Sql, bind: impl for<'q> Fn(Query<'q>) -> Query<'q>) -> String {
    let mut connection = db.begin().await.expect("begins");
    let is_postgres = db.address().starts_with("postgres");
    let (column, text) = match is_postgres {
        true => ("QUERY PLAN", format!("EXPLAIN {}", sql.postgres)),
        false => ("detail", format!("EXPLAIN QUERY PLAN {}", sql.sqlite)),
    };
    if is_postgres {
        for setting in settings {
            connection.query(setting).execute().await.expect("sets");
        }
    }
    let rows = bind(connection.query(text.leak())).all().await.expect("explains");
    rows.iter().map(|row| row.get::<String>(column).expect("a text")).collect::<Vec<_>>().join("\n")
}

/// On PostgreSQL, the tables of these tests are too small for a search by index to pay otherwise.
const BY_INDEX: [&str; 5] = [
    "SET LOCAL enable_seqscan = off",
    "SET LOCAL enable_bitmapscan = off",
    "SET LOCAL enable_hashjoin = off",
    "SET LOCAL enable_mergejoin = off",
    "SET LOCAL enable_material = off",
];

/// Returns the plan unless every table is searched by the equality of an indexed column, and not from some key on.
async fn unsearched(db: &TestDatabase, sql: Sql, bind: impl for<'q> Fn(Query<'q>) -> Query<'q>) -> Option<String> {
    let plan = plan_without(db, &BY_INDEX, sql, bind).await;
    let scans = ["SCAN ", "SEARCH ", "Seq Scan", "Index Scan", "Index Only Scan"];
    let is_scan = |line: &&str| scans.iter().any(|scan| line.contains(scan)) && !line.contains("json_each");
    let scanned = plan.lines().filter(is_scan).count();
    let conditions: Vec<_> = plan.lines().filter(|line| line.contains("Index Cond:") || line.contains("SEARCH ")).collect();
    let is_searched = scanned == conditions.len() && conditions.iter().all(|line| line.contains(" = ") || line.contains("=?"));
    (!is_searched || scanned == 0).then(|| format!("{}\n{plan}\n", sql.sqlite))
}

/// Binds a value of a key that is before all rows.
fn bind_start<'q>(query: Query<'q>, table: &Exported, name: &str) -> Query<'q> {
    let is_number = table.fields.iter().any(|(field, kind)| *field == name && *kind == Kind::Integer);
    if is_number { query.bind(0_i64) } else { query.bind("") }
}

fn one(sql: &'static str) -> Sql {
    Sql { sqlite: sql, postgres: sql }
}

/// Binds the values of an invoice list, limited to a customer or a subscription.
fn filter<'q>(query: Query<'q>, customer: Option<&'static str>, subscription: Option<&'static str>) -> Query<'q> {
    let statuses: Option<serde_json::Value> = None;
    let query = query.bind("~").bind(20u32).bind(0u64).bind(Mode::Test).bind(statuses).bind(customer.map(str::to_owned));
    query.bind(None::<String>).bind(Amount::ZERO).bind(subscription.map(str::to_owned)).bind(false).bind(false).bind(false)
}

/// A range of numbers, as a search binds it.
fn ranges() -> serde_json::Value {
    serde_json::json!([{ "document": "invoice", "low": 40, "high": 49 }])
}

on_both! {
    async fn open_attempts_are_found_by_the_index_on_their_invoices(db: &TestDatabase) {
        let plan = plan(db, IN_FLIGHT, |query| query.bind(keys(&["in_1"]))).await;
        assert!(plan.contains("attempt_invoices_open"), "{plan}");
    }

    async fn due_attempts_of_a_network_are_found_by_their_index(db: &TestDatabase) {
        let now = Timestamp::from_seconds(0);
        let networks = plan(db, one(NETWORKS_DUE), |query| query.bind(now)).await;
        let claimed = plan(db, CLAIM_DUE, |query| query.bind(now).bind(now).bind(200u32).bind("pm_1")).await;
        assert!(networks.contains("attempts_due") && claimed.contains("attempts_due"), "{networks}\n{claimed}");
    }

    async fn the_lag_of_due_work_is_read_from_the_indexes_on_due_rows(db: &TestDatabase) {
        let now = Timestamp::from_seconds(0);
        for (scan, index) in SCANS.into_iter().zip(["subscriptions_due", "invoices_retry", "stakes_due"]) {
            let first = plan(db, scan.first, |query| query.bind(keys(&["pm_1"])).bind(now)).await;
            let waiting = plan(db, scan.waiting, |query| query.bind(keys(&["pm_1"])).bind(now).bind(20u32)).await;
            assert!(first.contains(index) && waiting.contains(index), "{first}\n{waiting}");
        }
        let attempts = plan(db, one(ATTEMPTS), |query| query.bind(now).bind(20u32)).await;
        assert_eq!(attempts.matches("attempts_due").count(), 2, "{attempts}");
        let held = plan(db, one(SUBSCRIPTIONS_ON_HOLD), |query| query.bind(20u32)).await;
        assert!(held.contains("subscriptions_on_hold"), "{held}");
    }

    async fn attempts_on_hold_are_found_by_their_index(db: &TestDatabase) {
        let listed = |sql| plan(db, sql, |query| query.bind("~").bind(20u32).bind(0u64).bind(Mode::Test));
        let mut plans = vec![plan(db, one(COUNT_ON_HOLD), |query| query.bind(20u32).bind(true)).await];
        for listing in [HELD_PAYMENTS, HELD_TRANSFERS] {
            plans.extend([listed(listing.page).await, listed(listing.count).await]);
        }
        for plan in plans {
            // Without statistics, PostgreSQL cannot tell that index from the one on open attempts, which are few as well.
            assert!(plan.contains("attempts_on_hold") || plan.contains("using attempts_open "), "{plan}");
            assert!(!plan.contains("Seq Scan on attempts"), "{plan}");
        }
        let held = plan(db, FIND_ALL_HELD, |query| query.bind(keys(&["att_1"]))).await;
        assert!(held.contains("payment_intents_held"), "{held}");
    }

    async fn invoice_lists_use_the_index_of_their_customer_or_subscription(db: &TestDatabase) {
        for sql in [OF_SUBSCRIPTION.page, OF_SUBSCRIPTION.count] {
            let plan = plan(db, sql, |query| filter(query, None, Some("sub_1"))).await;
            assert!(plan.contains("invoices_of_subscription") || plan.contains("invoices_period"), "{plan}");
        }
        for sql in [OF_CUSTOMER.page, OF_CUSTOMER.count] {
            let plan = plan(db, sql, |query| filter(query, Some("cus_1"), None)).await;
            assert!(plan.contains("invoices_of_customer"), "{plan}");
        }
    }

    async fn a_search_for_one_customer_uses_the_customer_index(db: &TestDatabase) {
        for sql in [SEARCH_OF_CUSTOMER.page, SEARCH_OF_CUSTOMER.count] {
            let plan = plan(db, sql, |query| filter(query, Some("cus_1"), None).bind("one").bind(ranges()).bind("%one%")).await;
            assert!(plan.contains("invoices_of_customer"), "{plan}");
        }
        for sql in [SEARCH_PAYMENTS_OF_CUSTOMER.page, SEARCH_PAYMENTS_OF_CUSTOMER.count] {
            let plan = plan(db, sql, |query| {
                let query = query.bind("~").bind(20u32).bind(0u64).bind(Mode::Test).bind(Some("cus_1".to_owned()));
                query.bind(Amount::ZERO).bind("one").bind("%one%")
            });
            let plan = plan.await;
            assert!(plan.contains("payment_intents_of_customer"), "{plan}");
        }
    }

    async fn a_search_for_the_beginning_of_a_number_uses_the_index_on_numbers(db: &TestDatabase) {
        for sql in [NUMBERED.page, NUMBERED.count] {
            let plan = plan(db, sql, |query| filter(query, None, None).bind(ranges())).await;
            assert!(plan.contains("invoices_number"), "{plan}");
            assert!(!plan.contains("SCAN invoices") && !plan.contains("SCAN n") && !plan.contains("Seq Scan"), "{plan}");
        }
    }

    async fn wallets_of_transactions_are_found_by_the_index_on_hashes(db: &TestDatabase) {
        let plan = plan(db, WALLETS_OF, |query| query.bind(keys(&["pm_1"])).bind(keys(&["ab", "cd"]))).await;
        assert!(plan.contains("attempts_hash"), "{plan}");
    }

    async fn the_transactions_of_a_connect_session_are_found_by_its_token(db: &TestDatabase) {
        let plan = plan(db, one(OF_CONNECT_SESSION), |query| query.bind("00ff")).await;
        assert!(plan.contains("attempts_connect"), "{plan}");
    }

    async fn subscription_lists_of_a_customer_use_the_customer_index(db: &TestDatabase) {
        for (listing, customer, index) in [(SUBSCRIPTIONS_OF_CUSTOMER, Some("cus_1"), "subscriptions_of_customer"), (ALL_SUBSCRIPTIONS, None, "subscriptions_"), (ON_HOLD, None, "subscriptions_on_hold")] {
            let nothing: Option<serde_json::Value> = None;
            let plan = plan(db, listing.page, |query| {
                let query = query.bind("~").bind(20u32).bind(0u64).bind(Mode::Test).bind(nothing.clone());
                query.bind(customer.map(str::to_owned)).bind(nothing.clone()).bind("").bind("%")
            });
            let plan = plan.await;
            assert!(plan.contains(index), "{plan}");
        }
    }

    async fn subscriptions_on_hold_are_found_by_their_partial_index(db: &TestDatabase) {
        let plan = plan(db, LOCK_HELD, |query| query.bind(Mode::Test).bind("unbilled_periods").bind("").bind(20u32)).await;
        assert!(plan.contains("subscriptions_on_hold"), "{plan}");
    }

    async fn unchecked_stakes_are_found_by_their_partial_index(db: &TestDatabase) {
        let at = Timestamp::from_seconds(9);
        let plan = plan(db, CLAIM_UNCHECKED, |query| query.bind(at).bind(at).bind(20u32)).await;
        assert!(plan.contains("stakes_unchecked"), "{plan}");
    }

    async fn times_that_are_too_far_ahead_are_found_by_the_indexes_of_due_rows(db: &TestDatabase) {
        let at = Timestamp::from_seconds(9);
        for (update, indexes) in [
            (CHECKS, ["attempts_due", "attempts_open"]),
            (RECHECKS, ["attempts_recheck"; 2]),
            (PLAN_CHANGES, ["pending_plan_changes_due"; 2]),
            (LEASES, ["outbox_claimed"; 2]),
            (MESSAGES, ["outbox_due", "outbox_lanes"]),
            (STAKES, ["stakes_unchecked"; 2]),
            (KEYED_CALLS, ["idempotency_keys_age"; 2]),
        ] {
            let plan = plan(db, one(update), |query| query.bind(at).bind(at)).await;
            assert!(indexes.iter().any(|index| plan.contains(index)), "{update}:\n{plan}");
        }
    }

    async fn lists_use_the_index_of_their_filter(db: &TestDatabase) {
        let lists = [
            ("refunds", "newest", refunds::ALL, [None, None]),
            ("refunds", "of_customer", refunds::OF_CUSTOMER, [Some("cus_1"), None]),
            ("refunds", "of_invoice", refunds::OF_INVOICE, [None, Some("in_1")]),
            ("disputes", "newest", disputes::ALL, [None, None]),
            ("disputes", "of_customer", disputes::OF_CUSTOMER, [Some("cus_1"), None]),
            ("disputes", "of_intent", disputes::OF_INTENT, [None, Some("pi_1")]),
            ("credit_notes", "newest", credit_notes::ALL, [None, None]),
            ("credit_notes", "of_customer", credit_notes::OF_CUSTOMER, [Some("cus_1"), None]),
            ("credit_notes", "of_invoice", credit_notes::OF_INVOICE, [None, Some("in_1")]),
        ];
        for (table, index, listing, [customer, other]) in lists {
            for (sql, is_page) in [(listing.page, true), (listing.count, false)] {
                let plan = plan(db, sql, |query| {
                    let query = query.bind("~").bind(20u32).bind(0u64).bind(Mode::Test);
                    let query = query.bind(customer.map(str::to_owned)).bind(other.map(str::to_owned));
                    match table {
                        "disputes" => query.bind(true),
                        "refunds" => query.bind(None::<String>).bind(None::<String>),
                        _ => query.bind(None::<String>),
                    }
                });
                let plan = plan.await;
                let is_of_all = customer.is_none() && other.is_none();
                let is_found = plan.contains(&format!("{table}_{index}")) || plan.contains(&format!("{table}_pkey"));
                assert!(is_found || (!is_page && is_of_all), "{table} {index}: {plan}");
            }
        }
    }

    async fn shares_of_sales_and_payouts_are_found_by_their_indexes(db: &TestDatabase) {
        let mut wrong = Vec::new();
        for sql in [sale_shares::SHARED_LINES, sale_shares::OF_INVOICES] {
            wrong.extend(unsearched(db, sql, |query| query.bind(keys(&["in_1"]))).await);
        }
        wrong.extend(unsearched(db, payees::EARNED, |query| query.bind(Mode::Test).bind(keys(&["z1did"]))).await);
        wrong.extend(unsearched(db, payees::OF_APPS, |query| query.bind("z1did").bind(Mode::Test).bind(20u32).bind(0u64)).await);
        wrong.extend(unsearched(db, one(payees::OF_BENEFICIARY), |query| query.bind(Mode::Test).bind("z1did")).await);
        assert!(wrong.is_empty(), "{}", wrong.concat());
        for (index, listing, beneficiary) in [("newest", payees::PAYOUTS, None), ("of_beneficiary", payees::PAYOUTS_TO, Some("z1did"))] {
            let plan = plan(db, listing.page, |query| {
                query.bind("~").bind(20u32).bind(0u64).bind(Mode::Test).bind(beneficiary.map(str::to_owned))
            });
            let plan = plan.await;
            assert!(plan.contains(&format!("share_payouts_{index}")) || plan.contains("share_payouts_pkey"), "{index}: {plan}");
        }
    }

    async fn invoice_lines_are_found_by_the_indexes_on_subscription_and_item(db: &TestDatabase) {
        let now = Timestamp::from_seconds(9);
        let covering = plan(db, one(ITEMS_COVERING), |query| query.bind("sub_1").bind(now)).await;
        assert!(covering.contains("invoices_of_subscription") || covering.contains("invoices_period"), "{covering}");
        assert!(!covering.contains("SCAN") && !covering.contains("Seq Scan") && !covering.contains("invoice_items_pkey"), "{covering}");
        let billing = plan(db, ITEMS_BILLING, |query| query.bind(keys(&["si_1"])).bind(now)).await;
        assert!(billing.contains("invoice_items_billing"), "{billing}");
        assert_eq!(unsearched(db, ITEMS_BILLING, |query| query.bind(keys(&["si_1"])).bind(now)).await, None);
    }

    async fn unpaid_invoices_and_network_references_are_found_by_partial_indexes(db: &TestDatabase) {
        let unpaid = plan(db, one(UNPAID_IN), |query| query.bind("cus_1").bind("pc_1").bind(20u32)).await;
        assert!(unpaid.contains("invoices_unpaid"), "{unpaid}");
        for (sql, index) in [(PAYMENT_BY_REFERENCE, "payment_intents_reference"), (refunds::FIND_BY_REFERENCE, "refunds_reference")] {
            let plan = plan(db, one(sql), |query| query.bind("pm_1").bind("re_provider")).await;
            assert!(plan.contains(index), "{plan}");
        }
    }

    async fn the_unsettled_refunds_of_a_page_of_invoices_are_found_by_invoice(db: &TestDatabase) {
        let invoices: Vec<InvoiceId> = ["in_1", "in_2"].iter().map(|id| InvoiceId::parse(id).expect("an id")).collect();
        let plan = plan(db, refunds::UNSETTLED_OF, |query| query.bind(keys(&invoices))).await;
        assert!(plan.contains("refunds_of_invoice"), "{plan}");
    }

    async fn a_batch_update_finds_invoices_by_primary_key(db: &TestDatabase) {
        let row = |first: usize| (first..first + 18).map(|number| format!("${number}")).collect::<Vec<_>>().join(", ");
        let sql = format!("{UPDATE} FROM (VALUES ({}), ({})) AS new WHERE {IS_AS_BEFORE}", row(1), row(19)).leak();
        let now = Timestamp::from_seconds(9);
        let plan = plan(db, one(sql), |query| {
            ["in_1", "in_2"].into_iter().fold(query, |query, id| {
                let query = query.bind(id).bind("open").bind(Amount::ZERO).bind(Amount::ZERO).bind(Amount::ZERO).bind("paid").bind(1u64);
                let query = query.bind("sub_1").bind(now).bind(now).bind(Amount::ZERO).bind(Amount::ZERO).bind(Amount::ZERO).bind("pi_1");
                query.bind(now).bind(now).bind(now).bind(now)
            })
        });
        let plan = plan.await;
        assert!(plan.contains("SEARCH invoices USING INDEX") || plan.contains("invoices_pkey"), "{plan}");
    }

    async fn entitlements_of_a_dispute_are_found_without_a_table_scan(db: &TestDatabase) {
        let now = Timestamp::from_seconds(9);
        for sql in [entitlements::SUSPEND, entitlements::REINSTATE] {
            let text = plan(db, sql, |query| {
                let query = query.bind(keys(&["in_1"])).bind(keys(&["sub_1"]));
                if sql.sqlite.contains("$3") { query.bind(now) } else { query }
            });
            let text = text.await;
            assert!(!text.contains("SCAN entitlements"), "{text}");
        }
    }

    async fn each_filter_of_the_audit_log_reads_its_index(db: &TestDatabase) {
        if db.address().starts_with("postgres") {
            // Without statistics, PostgreSQL takes the indexes for equal.
            let mut connection = db.begin().await.expect("begins");
            let row = |number: i64| {
                let (actor, operation) = if number % 2 == 0 { ("x", "y") } else { ("y", "x") };
                let kind = if number % 4 == 0 { "user" } else { "key" };
                let row = Values::default().bind(format!("aud_{number:05}")).bind(Timestamp::from_seconds(number));
                row.bind(kind).bind(actor).bind(operation).bind(serde_json::json!([]))
            };
            let into = "INSERT INTO audit_log (id, at, actor_kind, actor, operation, objects)";
            connection.insert(into, (0..2_000).map(row).collect(), "").await.expect("inserts");
            connection.commit().await.expect("commits");
            let mut connection = db.begin().await.expect("begins");
            connection.query("ANALYZE audit_log").execute().await.expect("analyzes");
            connection.commit().await.expect("commits");
        }
        let lists = [
            (audit_log::OF_ACTOR, "audit_log_of_actor", ["x"].as_slice()),
            (audit_log::OF_ACTOR_AND_OPERATION, "audit_log_of_actor_and_operation", &["x", "x"]),
            (audit_log::OF_KIND, "audit_log_of_kind", &["user"]),
            (audit_log::OF_KIND_AND_OPERATION, "audit_log_of_kind_and_operation", &["user", "x"]),
            (audit_log::OF_OPERATION, "audit_log_of_operation", &["x"]),
            (audit_log::OF_OBJECT, "audit_objects_pkey", &["x", "x", "x", "x"]),
        ];
        let mut wrong = Vec::new();
        for (listing, index, filters) in lists {
            for sql in [listing.page, listing.count] {
                let plan = plan_unsorted(db, sql, |query| {
                    let query = query.bind("~").bind(20u32).bind(0u64);
                    filters.iter().fold(query, |query, filter| query.bind(Some((*filter).to_owned())))
                });
                let plan = plan.await;
                // SQLite names the index of a primary key itself.
                let is_found = plan.contains(index) || index.ends_with("pkey") && plan.contains("sqlite_autoindex_audit_objects_1");
                if !is_found || plan.contains("SCAN audit") || plan.contains("Seq Scan") {
                    wrong.push(format!("{index}: {plan}\n"));
                }
            }
        }
        assert!(wrong.is_empty(), "{}", wrong.concat());
        let oldest = plan_unsorted(db, one(audit_log::EXPIRED), |query| query.bind(Timestamp::from_seconds(9)).bind(20u32)).await;
        assert!(oldest.contains("audit_log_pkey") || oldest.contains("sqlite_autoindex_audit_log_1"), "{oldest}");
        assert_eq!(unsearched(db, audit_log::DELETE_OBJECTS, |query| query.bind(keys(&["aud_1"]))).await, None);
    }

    async fn an_export_searches_each_table_for_the_rows_of_its_user(db: &TestDatabase) {
        let mut wrong = Vec::new();
        for table in EXPORTED {
            let plan = unsearched(db, one(table.page), |query| {
                table.key.iter().fold(query.bind("z1did"), |query, name| bind_start(query, table, name)).bind(500_i64)
            });
            wrong.extend(plan.await);
        }
        assert!(wrong.is_empty(), "{}", wrong.concat());
    }

    async fn an_erasure_and_its_obstacles_search_each_table_for_the_rows_of_their_user(db: &TestDatabase) {
        let mut wrong = Vec::new();
        for (obstacle, sql) in OBSTACLES {
            let plan = unsearched(db, one(sql), |query| {
                let query = query.bind("z1did");
                if obstacle == Obstacle::Balance { query.bind(Amount::ZERO) } else { query }
            });
            wrong.extend(plan.await);
        }
        for sql in ERASE.into_iter().chain([OF_ADDRESSES]) {
            wrong.extend(unsearched(db, one(sql), |query| query.bind("z1did")).await);
        }
        for sql in ERASE_PROFILES {
            wrong.extend(unsearched(db, one(sql), |query| query.bind("z1did").bind(Timestamp::from_seconds(9))).await);
        }
        wrong.extend(unsearched(db, ERASE_COMMENTS, |query| query.bind("z1did")).await);
        wrong.extend(unsearched(db, ERASE_CARDS, |query| query.bind("z1did").bind(serde_json::json!({}))).await);
        wrong.extend(unsearched(db, one(ERASE_PROVIDER_CUSTOMERS), |query| query.bind("z1did").bind(true)).await);
        assert!(wrong.is_empty(), "{}", wrong.concat());
    }

    async fn unpaid_orders_are_found_by_their_partial_index_and_money_by_their_session(db: &TestDatabase) {
        let before = Timestamp::from_seconds(9);
        for sql in [unpaid_orders::OLD, unpaid_orders::COUNT, unpaid_orders::FIRST] {
            let plan = plan_without(db, &BY_INDEX, sql, |query| {
                let query = query.bind(before).bind(20u32);
                if sql.sqlite.contains("$3") { query.bind(40u32) } else { query }
            })
            .await;
            for index in ["checkout_sessions_unpaid", "attempts_of_session", "payment_intents_held", "payment_intents_of_session", "invoices_of_session"] {
                assert!(plan.contains(index), "{index}: {plan}");
            }
            let reads_others = ["of_link", "of_customer", "Seq Scan", "SCAN checkout_sessions"];
            assert!(!reads_others.iter().any(|wrong| plan.contains(wrong)), "{plan}");
        }
    }

    async fn waiting_orders_of_a_visitor_are_counted_in_their_partial_index(db: &TestDatabase) {
        let plan = plan(db, one(WAITING_OF_VISITOR), |query| query.bind("cs_1").bind(20u32)).await;
        assert!(plan.contains("checkout_sessions_waiting_of_visitor"), "{plan}");
        assert!(!plan.contains("SCAN o") && !plan.contains("Seq Scan"), "{plan}");
    }

    async fn reserving_orders_of_a_payer_are_found_by_their_partial_index(db: &TestDatabase) {
        let plan = plan_without(db, &BY_INDEX, one(RESERVING), |query| query.bind("z1did").bind(Mode::Test).bind("cs_1").bind(20u32)).await;
        assert!(plan.contains("checkout_sessions_waiting_of_payer"), "{plan}");
        assert!(!["SCAN o", "SCAN r", "Seq Scan"].iter().any(|wrong| plan.contains(wrong)), "{plan}");
    }

    async fn orders_with_idle_stock_are_found_by_their_reservations(db: &TestDatabase) {
        let plan = plan_without(db, &BY_INDEX, one(WITH_IDLE_STOCK), |query| query.bind(Timestamp::from_seconds(1)).bind(20u32)).await;
        assert!(plan.contains("stock_reservations_reserved"), "{plan}");
        assert!(!["SCAN checkout_sessions", "SCAN a", "Seq Scan"].iter().any(|wrong| plan.contains(wrong)), "{plan}");
    }

    async fn the_deletion_of_an_order_searches_each_table(db: &TestDatabase) {
        let mut wrong = Vec::new();
        let before = Timestamp::from_seconds(9);
        wrong.extend(unsearched(db, unpaid_orders::DELETABLE, |query| query.bind(before).bind(keys(&["cs_1"]))).await);
        let others = [unpaid_orders::LOCK_ATTEMPTS, unpaid_orders::LOCK_SESSIONS, unpaid_orders::SUBJECTS, unpaid_orders::INVOICES];
        for sql in others.into_iter().chain(unpaid_orders::DELETE).chain(unpaid_orders::DELETE_INVOICES).chain([mandates::DELETE_UNUSED]) {
            wrong.extend(unsearched(db, sql, |query| query.bind(keys(&["cs_1"]))).await);
        }
        wrong.extend(unsearched(db, stakes::DELETE_UNUSED, |query| query.bind(keys(&["stk_1"])).bind(Amount::ZERO)).await);
        assert!(wrong.is_empty(), "{}", wrong.concat());
    }

    async fn users_to_examine_are_found_by_their_index_and_what_they_have_by_their_customers(db: &TestDatabase) {
        let before = Timestamp::from_seconds(9);
        let due = plan(db, unused_users::DUE, |query| query.bind(before).bind(20u32)).await;
        assert!(due.contains("users_examined"), "{due}");
        let mut wrong = Vec::new();
        let of_users = [unused_users::LOCK_CUSTOMERS, unused_users::INACTIVE_MANDATES, unused_users::FINAL_STAKES, unused_users::ADDRESSES];
        for sql in of_users.into_iter().chain([unused_users::FORGET_ADDRESSES]) {
            wrong.extend(unsearched(db, sql, |query| query.bind(keys(&["1"]))).await);
        }
        for sql in [unused_users::DELETE_CUSTOMERS, unused_users::DELETE_PROVIDER_CUSTOMERS] {
            wrong.extend(unsearched(db, sql, |query| query.bind(keys(&["1"])).bind(keys(&["1"]))).await);
        }
        assert!(wrong.is_empty(), "{}", wrong.concat());
        // The list of developers is read once, however many users are examined.
        for sql in [unused_users::UNATTACHED, unused_users::DELETE_AGREEMENTS, unused_users::DELETE_USERS, unused_users::DELETABLE] {
            let plan = plan_without(db, &BY_INDEX, sql, |query| {
                let query = query.bind(keys(&["z1did"])).bind(before);
                if sql.sqlite.contains("$3") { query.bind(keys(&["cus_1"])) } else { query }
            });
            let plan = plan.await;
            let scanned: Vec<_> = plan.lines().filter(|line| line.contains("SCAN ") || line.contains("Seq Scan")).collect();
            assert!(scanned.iter().all(|line| line.contains("apps") || line.contains("json_each")), "{plan}");
        }
    }

    async fn what_the_store_received_is_summed_from_the_newest_payments(db: &TestDatabase) {
        let plan = plan(db, one(RECEIVED_SINCE), |query| query.bind(Mode::Test).bind("pc_1").bind("pi_1").bind(20u32)).await;
        assert!(plan.contains("payment_intents_newest") || plan.contains("payment_intents_pkey"), "{plan}");
        assert!(!plan.contains("SCAN payment_intents") && !plan.contains("Seq Scan"), "{plan}");
    }

    async fn all_invoices_are_counted_from_the_index_alone(db: &TestDatabase) {
        let counted = plan(db, ALL.count, |query| filter(query, None, None)).await;
        assert!(counted.contains("COVERING INDEX invoices_counted") || counted.contains("Index Only Scan using invoices_counted"), "{counted}");
        let page = plan_unsorted(db, ALL.page, |query| filter(query, None, None)).await;
        assert!(page.contains("invoices_newest") || page.contains("invoices_pkey"), "{page}");
    }

    async fn usage_is_aggregated_from_its_index(db: &TestDatabase) {
        let item = SubscriptionItemId::parse("si_1").expect("an id");
        let asked = UsageQuery { item, aggregate: Aggregate::Sum, from: Timestamp::from_seconds(0), to: Timestamp::from_seconds(9) };
        let asked = serde_json::Value::Array(vec![asked_for(0, &asked)]);
        for sql in [SUM, MAX, LAST] {
            let plan = plan(db, sql, |query| query.bind(asked.clone())).await;
            assert!(!plan.contains("SCAN usage_records") && !plan.contains("Seq Scan"), "{plan}");
            assert!(plan.contains("usage_records_of_item"), "{plan}");
        }
    }
}
