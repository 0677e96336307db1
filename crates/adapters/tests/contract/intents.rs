//! Payment intents: each succeeds at most once.

use crate::checkout_fixtures::{all_at_once, at, begin, card_attempt, customer, id, insert_checkout, intent, read};
use souk_adapters::on_both;
use souk_adapters::persistence::{Database, Sql};
use souk_adapters::testing::TestDatabase;
use souk_domain::payment::{Decline, Description, Intent, IntentStatus, PaidIntent};
use souk_domain::pricing::Metadata;
use souk_domain::shared::{Amount, Mode, Page, StorageError, Text};
use souk_domain::storage::UnitOfWork;
use std::time::Duration;

fn decline() -> Decline {
    Decline { code: "card_declined".to_owned(), message: "Your card was declined".to_owned() }
}

fn paid(intent: &str, amount: Amount, reference: &str, payer: &str) -> PaidIntent {
    PaidIntent { id: id(intent), amount, reference: reference.to_owned(), payer: payer.to_owned() }
}

on_both! {
    async fn an_intent_can_be_replaced_until_it_has_succeeded(db: &TestDatabase) {
        insert_checkout(db, &["pi_1"]).await;
        let mut unit = begin(db).await;
        assert_eq!(unit.intents().find(&id("pi_1")).await.expect("reads"), Some(intent("pi_1")));
        let changed = Intent {
            amount: Amount::new(7),
            currency_id: id("pc_2"),
            method_id: id("pm_2"),
            status: IntentStatus::Processing,
            updated_at: at(2),
            ..intent("pi_1")
        };
        unit.intents().upsert(&changed).await.expect("replaces");
        assert_eq!(unit.intents().find(&id("pi_1")).await.expect("reads"), Some(changed.clone()));
        assert!(unit.intents().succeed(&paid("pi_1", Amount::new(7), "0xhash", "z1buyer"), at(3)).await.expect("succeeds"));
        unit.commit().await.expect("commits");
        let mut unit = begin(db).await;
        let put = unit.intents().upsert(&intent("pi_1")).await;
        assert!(matches!(put.and(unit.commit().await), Err(StorageError::Conflict)));
        let mut unit = begin(db).await;
        let expected = Intent {
            status: IntentStatus::Succeeded,
            amount_received: Amount::new(7),
            reference: "0xhash".to_owned(),
            payer: "z1buyer".to_owned(),
            updated_at: at(3),
            ..changed
        };
        assert_eq!(unit.intents().find(&id("pi_1")).await.expect("reads"), Some(expected));
    }

    async fn an_update_keeps_the_metadata_of_an_intent(db: &TestDatabase) {
        insert_checkout(db, &["pi_1"]).await;
        let mut unit = begin(db).await;
        let label: Metadata = [("ticket".to_owned(), "SO-7".to_owned())].into();
        assert!(!unit.intents().update_metadata(Mode::Live, &id("pi_1"), &label, at(1)).await.expect("labels"), "it is of the other mode");
        assert!(!unit.intents().update_metadata(Mode::Test, &id("pi_9"), &label, at(1)).await.expect("labels"), "there is none");
        assert!(unit.intents().update_metadata(Mode::Test, &id("pi_1"), &label, at(1)).await.expect("labels"));
        unit.intents().upsert(&Intent { metadata: Metadata::new(), ..intent("pi_1") }).await.expect("replaces");
        assert!(unit.intents().succeed(&paid("pi_1", Amount::new(7), "0xhash", "z1buyer"), at(3)).await.expect("succeeds"));
        assert_eq!(unit.intents().find(&id("pi_1")).await.expect("reads").expect("is there").metadata, label);
        assert!(unit.intents().update_metadata(Mode::Test, &id("pi_1"), &Metadata::new(), at(4)).await.expect("labels"));
        assert_eq!(unit.intents().find(&id("pi_1")).await.expect("reads").expect("is there").metadata, Metadata::new());
    }

    async fn exactly_one_caller_marks_an_intent_succeeded(db: &TestDatabase) {
        insert_checkout(db, &["pi_1"]).await;
        let succeeded = all_at_once(db, 8, |db, number| async move {
            let mut unit = begin(&db).await;
            let reference = format!("ref_{number}");
            let succeeded = unit.intents().succeed(&paid("pi_1", Amount::new(1_000), &reference, ""), at(3)).await.expect("succeeds");
            unit.commit().await.expect("commits");
            succeeded
        });
        assert_eq!(succeeded.await.into_iter().filter(|won| *won).count(), 1);
    }

    async fn the_status_of_an_ended_intent_does_not_change(db: &TestDatabase) {
        insert_checkout(db, &["pi_1", "pi_2"]).await;
        let mut unit = begin(db).await;
        assert!(unit.intents().set_status(&id("pi_1"), IntentStatus::RequiresAction, Some(&decline()), at(1)).await.expect("marks"));
        let marked = unit.intents().find(&id("pi_1")).await.expect("reads").expect("is there");
        assert_eq!((marked.status, marked.last_error), (IntentStatus::RequiresAction, Some(decline())));
        assert!(unit.intents().succeed(&paid("pi_1", Amount::new(1_000), "ref", ""), at(2)).await.expect("succeeds"));
        assert_eq!(unit.intents().find(&id("pi_1")).await.expect("reads").expect("is there").last_error, None);
        assert!(!unit.intents().set_status(&id("pi_1"), IntentStatus::Canceled, None, at(3)).await.expect("marks"));
        assert!(unit.intents().set_status(&id("pi_2"), IntentStatus::Canceled, None, at(3)).await.expect("marks"));
        assert!(!unit.intents().set_status(&id("pi_2"), IntentStatus::Processing, None, at(4)).await.expect("marks"));
    }

    async fn concurrent_refunds_never_exceed_the_payment(db: &TestDatabase) {
        insert_checkout(db, &["pi_1"]).await;
        let mut unit = begin(db).await;
        assert!(unit.intents().succeed(&paid("pi_1", Amount::new(1_000), "ref", ""), at(1)).await.expect("succeeds"));
        unit.commit().await.expect("commits");
        let reserved = all_at_once(db, 8, |db, _| async move {
            let mut unit = begin(&db).await;
            let reserved = unit.intents().reserve_refund(&id("pi_1"), Amount::new(300), at(2)).await.expect("reserves");
            unit.commit().await.expect("commits");
            reserved
        });
        assert_eq!(reserved.await.into_iter().filter(|won| *won).count(), 3);
        let found = read(db).await.intents().find(&id("pi_1")).await.expect("reads").expect("is there");
        assert_eq!((found.amount_refunded, found.updated_at), (Amount::new(900), at(2)));
    }

    async fn refunds_reserve_up_to_the_received_amount_and_released_amounts_are_available_again(db: &TestDatabase) {
        insert_checkout(db, &["pi_1", "pi_2"]).await;
        let mut unit = begin(db).await;
        assert!(!unit.intents().reserve_refund(&id("pi_1"), Amount::new(1), at(1)).await.expect("reserves"), "it has not succeeded");
        assert!(!unit.intents().reserve_refund(&id("pi_9"), Amount::new(1), at(1)).await.expect("reserves"), "there is none");
        assert!(unit.intents().succeed(&paid("pi_1", Amount::new(u128::MAX), "ref", ""), at(1)).await.expect("succeeds"));
        assert!(unit.intents().reserve_refund(&id("pi_1"), Amount::new(u128::MAX), at(2)).await.expect("reserves"));
        assert!(!unit.intents().reserve_refund(&id("pi_1"), Amount::new(1), at(3)).await.expect("reserves"));
        unit.intents().release_refund(&id("pi_1"), Amount::new(10), at(4)).await.expect("releases");
        assert!(unit.intents().reserve_refund(&id("pi_1"), Amount::new(10), at(5)).await.expect("reserves"));
        let found = unit.intents().find(&id("pi_1")).await.expect("reads").expect("is there");
        assert_eq!(found.amount_refunded, Amount::new(u128::MAX));
        let refused = unit.intents().release_refund(&id("pi_2"), Amount::new(1), at(6)).await;
        assert!(matches!(refused, Err(StorageError::Conflict)), "nothing of it is reserved: {refused:?}");
    }

    async fn payments_are_found_by_refundable_amount_and_by_network_reference(db: &TestDatabase) {
        insert_checkout(db, &["pi_1", "pi_2", "pi_3", "pi_4"]).await;
        let mut unit = begin(db).await;
        unit.customers().upsert(&customer("cus_2", "z1other")).await.expect("inserts");
        unit.intents().upsert(&Intent { customer_id: id("cus_2"), ..intent("pi_5") }).await.expect("inserts");
        unit.intents().upsert(&Intent { currency_id: id("pc_2"), ..intent("pi_6") }).await.expect("inserts");
        for (name, amount) in [("pi_1", 10), ("pi_2", 10), ("pi_3", 10), ("pi_4", 0), ("pi_5", 10), ("pi_6", 10)] {
            unit.intents().succeed(&paid(name, Amount::new(amount), &format!("ref_{name}"), "z1buyer"), at(1)).await.expect("succeeds");
        }
        unit.intents().upsert(&intent("pi_7")).await.expect("inserts");
        assert!(unit.intents().reserve_refund(&id("pi_2"), Amount::new(10), at(2)).await.expect("reserves"));
        assert!(unit.intents().reserve_refund(&id("pi_3"), Amount::new(9), at(2)).await.expect("reserves"));
        let names = |intents: &[Intent]| intents.iter().map(|intent| intent.id.to_string()).collect::<Vec<_>>();
        let with_room = unit.intents().with_room(&id("cus_1"), &id("pc_1"), 9).await.expect("reads");
        assert_eq!(names(&with_room), ["pi_3", "pi_1"]);
        assert_eq!(names(&unit.intents().with_room(&id("cus_1"), &id("pc_1"), 1).await.expect("reads")), ["pi_3"]);
        let last = unit.intents().last_paid(&id("cus_1"), &id("pc_1")).await.expect("reads").expect("is there");
        assert_eq!(last.id, id("pi_3"), "a payment of nothing has no account");
        assert_eq!(unit.intents().last_paid(&id("cus_2"), &id("pc_2")).await.expect("reads"), None);
        let found = unit.intents().find_by_reference(&id("pm_card"), "ref_pi_2").await.expect("reads").expect("is there");
        assert_eq!(found.id, id("pi_2"));
        for (method, reference) in [("pm_2", "ref_pi_2"), ("pm_card", "ref_pi_9"), ("pm_card", "")] {
            assert_eq!(unit.intents().find_by_reference(&id(method), reference).await.expect("reads"), None, "{reference}");
        }
    }

    async fn intents_are_listed_by_mode_by_customer_and_by_id(db: &TestDatabase) {
        insert_checkout(db, &["pi_1", "pi_2"]).await;
        let mut unit = begin(db).await;
        unit.customers().upsert(&customer("cus_2", "z1other")).await.expect("inserts");
        unit.intents().upsert(&Intent { customer_id: id("cus_2"), ..intent("pi_3") }).await.expect("inserts");
        unit.intents().upsert(&Intent { mode: Mode::Live, ..intent("pi_4") }).await.expect("inserts");
        let names = |intents: &[Intent]| intents.iter().map(|intent| intent.id.to_string()).collect::<Vec<_>>();
        let page = Page::new(None, None);
        let listed = unit.intents().list(Mode::Test, &page).await.expect("lists");
        assert_eq!((listed.count, names(&listed.list)), (3, vec!["pi_3".to_owned(), "pi_2".to_owned(), "pi_1".to_owned()]));
        unit.intents().upsert(&Intent { customer_id: id("cus_2"), amount: Amount::ZERO, ..intent("pi_5") }).await.expect("inserts");
        let listed = unit.intents().of_customer(&id("cus_2"), &page).await.expect("lists");
        assert_eq!((listed.count, names(&listed.list)), (1, vec!["pi_3".to_owned()]), "a payment of nothing is none");
        let settled = Intent { description: Description::Product(Text::new("100% Wool", "纯羊毛").into()), customer_id: id("cus_2"), reference: "0xAbC".to_owned(), ..intent("pi_6") };
        unit.intents().upsert(&settled).await.expect("inserts");
        let cus_2 = id("cus_2");
        for (whose, words, expected) in [
            (None, "a THING", vec!["pi_5", "pi_3", "pi_2", "pi_1"]),
            (Some(&cus_2), "a THING", vec!["pi_3"]),
            (Some(&cus_2), "pi_1", vec![]),
            (None, "pi_4", vec![]),
            (None, "0xAbC", vec!["pi_6"]),
            (None, "0%", vec!["pi_6"]),
            (None, "pi_", vec![]),
        ] {
            let listed = unit.intents().search(Mode::Test, whose, words, &page).await.expect("searches");
            let expected: Vec<_> = expected.iter().map(ToString::to_string).collect();
            assert_eq!((listed.count, names(&listed.list)), (expected.len() as u64, expected), "{words}");
        }
        let found = unit.intents().find_all(&[id("pi_4"), id("pi_1"), id("pi_9")]).await.expect("reads");
        assert_eq!(names(&found), ["pi_1", "pi_4"]);
    }

    async fn a_customers_list_is_counted_to_its_end_and_the_stores_to_ten_thousand(db: &TestDatabase) {
        insert_checkout(db, &["pi_1"]).await;
        let mut connection = db.begin().await.expect("begins");
        let copy = "WITH RECURSIVE numbers (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM numbers WHERE n < 10004)
                    INSERT INTO payment_intents (id, livemode, status, description, name, name_zh, name_others, amount, amount_received,
                        amount_refunded, currency_id, method_id, customer_id, invoices, reference, payer, created_at, updated_at)
                    SELECT 'pi_copy' || n, livemode, status, description, name, name_zh, name_others, amount, amount_received, amount_refunded,
                        currency_id, method_id, customer_id, invoices, reference, payer, created_at, updated_at
                    FROM payment_intents, numbers WHERE id = 'pi_1'";
        connection.query(copy).execute().await.expect("inserts");
        connection.commit().await.expect("commits");
        let (mut unit, page) = (read(db).await, Page::new(None, None));
        let customer = intent("pi_1").customer_id;
        assert_eq!(unit.intents().of_customer(&customer, &page).await.expect("lists").count, 10_005);
        assert_eq!(unit.intents().list(Mode::Test, &page).await.expect("lists").count, 10_000);
        assert_eq!(unit.intents().search(Mode::Test, Some(&customer), "pi_1", &page).await.expect("searches").count, 1);
    }
}

/// Longer than a group waits for another one.
const IN_TIME: Duration = Duration::from_secs(30);

/// How two groups find their rows on PostgreSQL. Each setting is a part of an address.
struct Plans {
    first: &'static str,
    second: &'static str,
}

/// Opens the database with settings of PostgreSQL's planner.
async fn open_with(db: &TestDatabase, settings: &str) -> Database {
    match db.address().starts_with("sqlite") {
        true => (**db).clone(),
        false => Database::open(&format!("{}?{settings}", db.address())).await.expect("opens"),
    }
}

/// Runs two groups that change the rows 1 to 3 in opposite order, while a third unit of work holds row 2. `hold` locks that row, and
/// `change` changes all rows in the given order.
async fn opposite_groups<C>(db: &TestDatabase, plans: Plans, hold: &'static str, change: C)
where
    C: AsyncFn(&mut dyn UnitOfWork, bool) -> Result<(), StorageError>,
{
    let waiting = Sql {
        sqlite: "SELECT 2 AS n",
        postgres: "SELECT count(*) AS n FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'",
    };
    let (first, second) = (open_with(db, plans.first).await, open_with(db, plans.second).await);
    let mut busy = db.begin().await.expect("begins");
    busy.query(hold).execute().await.expect("locks");
    let group = async |database: &Database, is_reversed| {
        let mut unit = begin(database).await;
        change(unit.as_mut(), is_reversed).await?;
        unit.commit().await
    };
    let release = async {
        let mut connection = db.read().await.expect("reads");
        while connection.query_per_dialect(waiting).one().await.expect("counts").get::<u64>("n").expect("a number") < 2 {
            tokio::task::yield_now().await;
        }
        busy.commit().await.expect("commits");
    };
    let both = async { tokio::join!(group(&first, false), group(&second, true), release) };
    let (one, other, ()) = tokio::time::timeout(IN_TIME, both).await.expect("the groups do not wait for each other");
    one.expect("is written");
    other.expect("is written");
}

const NAMES: [&str; 3] = ["1", "2", "3"];

fn ordered<T>(mut all: Vec<T>, is_reversed: bool) -> Vec<T> {
    if is_reversed {
        all.reverse();
    }
    all
}

on_both! {
    async fn open_attempts_are_locked_in_the_order_of_their_ids(db: &TestDatabase) {
        insert_checkout(db, &["pi_1", "pi_2", "pi_3"]).await;
        let mut unit = begin(db).await;
        for name in ["3", "1", "2"] {
            unit.attempts().insert(&card_attempt(&format!("att_{name}"), &format!("pi_{name}")), &[]).await.expect("inserts");
        }
        unit.attempts().settle_all(&[id("att_2")], at(3)).await.expect("settles");
        let locked = unit.attempts().lock_open(&["att_3", "att_2", "att_1", "att_9"].map(id)).await.expect("locks");
        assert_eq!(locked.iter().map(|attempt| attempt.id.to_string()).collect::<Vec<_>>(), ["att_1", "att_3"]);
        assert!(unit.attempts().lock_open(&[]).await.expect("locks").is_empty());
    }

    async fn two_groups_of_settled_attempts_in_opposite_order_do_not_deadlock(db: &TestDatabase) {
        insert_checkout(db, &["pi_1", "pi_2", "pi_3"]).await;
        let mut unit = begin(db).await;
        for name in ["3", "1", "2"] {
            unit.attempts().insert(&card_attempt(&format!("att_{name}"), &format!("pi_{name}")), &[]).await.expect("inserts");
        }
        unit.commit().await.expect("commits");
        // By the index they are found in the order of their ids, in the table in the order of their insertion.
        let plans = Plans {
            first: "options[enable_seqscan]=off&options[enable_bitmapscan]=off",
            second: "options[enable_indexscan]=off&options[enable_bitmapscan]=off&options[enable_indexonlyscan]=off",
        };
        let hold = "UPDATE attempts SET checks = checks WHERE id = 'att_2'";
        opposite_groups(db, plans, hold, async |unit: &mut dyn UnitOfWork, is_reversed| {
            let ids = ordered(NAMES.map(|name| id(&format!("att_{name}"))).to_vec(), is_reversed);
            unit.attempts().settle_all(&ids, at(3)).await.map(drop)
        })
        .await;
    }

    async fn two_groups_of_paid_intents_in_opposite_order_do_not_deadlock(db: &TestDatabase) {
        insert_checkout(db, &["pi_1", "pi_2", "pi_3"]).await;
        // Each value is looked up by the index, in the order of the group.
        const LOOKUPS: &str = "options[enable_seqscan]=off&options[enable_hashjoin]=off&options[enable_mergejoin]=off";
        let plans = Plans { first: LOOKUPS, second: LOOKUPS };
        let hold = "UPDATE payment_intents SET status = status WHERE id = 'pi_2'";
        opposite_groups(db, plans, hold, async |unit: &mut dyn UnitOfWork, is_reversed| {
            let all = NAMES.map(|name| paid(&format!("pi_{name}"), Amount::new(7), "0xhash", "z1buyer")).to_vec();
            unit.intents().succeed_all(&ordered(all, is_reversed), at(3)).await.map(drop)
        })
        .await;
        let mut unit = read(db).await;
        let found = unit.intents().find(&id("pi_3")).await.expect("reads").expect("is there");
        assert_eq!(found.status, IntentStatus::Succeeded);
    }

    async fn words_are_searched_in_the_newest_payments_and_an_id_in_all(db: &TestDatabase) {
        insert_checkout(db, &["pi_1"]).await;
        let mut connection = db.begin().await.expect("begins");
        let copy = "WITH RECURSIVE numbers (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM numbers WHERE n < 100000)
                    INSERT INTO payment_intents (id, livemode, status, description, name, name_zh, name_others, amount, amount_received,
                        amount_refunded, currency_id, method_id, customer_id, invoices, reference, payer, created_at, updated_at)
                    SELECT 'pi_copy' || n, livemode, status, description, 'Another', '', name_others, amount, amount_received, amount_refunded,
                        currency_id, method_id, customer_id, invoices, reference, payer, created_at, updated_at
                    FROM payment_intents, numbers WHERE id = 'pi_1'";
        let name = "UPDATE payment_intents SET name = CASE WHEN id = 'pi_1' THEN 'The oldest' ELSE 'The newest' END
                    WHERE id IN ('pi_1', 'pi_copy99999')";
        for statement in [copy, name] {
            connection.query(statement).execute().await.expect("writes");
        }
        connection.commit().await.expect("commits");
        let (mut unit, page) = (read(db).await, Page::new(None, None));
        let mut found = async |words: &str| {
            let listed = unit.intents().search(Mode::Test, None, words, &page).await.expect("searches");
            listed.list.iter().map(|intent| intent.id.to_string()).collect::<Vec<_>>()
        };
        assert_eq!(found("the newest").await, ["pi_copy99999"]);
        assert_eq!(found("the oldest").await, Vec::<String>::new(), "100,000 payments are newer");
        assert_eq!(found("pi_1").await, ["pi_1"]);
    }
}
