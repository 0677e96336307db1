//! Customer balances: they never fall below zero, and no amount is spent twice (invariant 8).

use crate::checkout_fixtures::{all_at_once, at, begin, currency, customer, id, insert_checkout, read};
use souk_adapters::on_both;
use souk_adapters::persistence::Database;
use souk_domain::billing::{Balance, BalanceTransaction, BalanceTransactionType};
use souk_domain::payment::Currency;
use souk_domain::shared::{Amount, CustomerId, Mode, Page};

fn change(name: &str, kind: BalanceTransactionType, amount: u128) -> BalanceTransaction {
    BalanceTransaction {
        id: id(name),
        mode: Mode::Test,
        customer_id: id("cus_1"),
        currency_id: id("pc_1"),
        kind,
        amount: Amount::new(amount),
        balance_after: Amount::ZERO,
        source: "cn_1".to_owned(),
        created_at: at(0),
    }
}

fn increase(name: &str, amount: u128) -> BalanceTransaction {
    change(name, BalanceTransactionType::CreditNote, amount)
}

fn decrease(name: &str, amount: u128) -> BalanceTransaction {
    change(name, BalanceTransactionType::AppliedToInvoice, amount)
}

fn balance(customer: &str, currency: &str, amount: u128) -> Balance {
    Balance { customer_id: id(customer), currency_id: id(currency), amount: Amount::new(amount) }
}

/// Inserts the customers `cus_1` and `cus_2` and the currencies `pc_1` and `pc_2`.
async fn open(db: &Database) {
    insert_checkout(db, &[]).await;
    let mut unit = begin(db).await;
    unit.customers().upsert(&customer("cus_2", "z1other")).await.expect("inserts");
    let second = Currency { id: id("pc_2"), symbol: "USD".to_owned(), contract: "usd".to_owned(), ..currency() };
    unit.methods().insert_currency(&second).await.expect("inserts");
    unit.commit().await.expect("commits");
}

/// Records changes one after another, each in its own unit of work. Returns the balance after each; `None` if it was not written.
async fn record(db: &Database, changes: &[BalanceTransaction]) -> Vec<Option<u128>> {
    let mut after = Vec::new();
    for change in changes {
        let mut unit = begin(db).await;
        let recorded = unit.balances().record(change).await.expect("records");
        assert!(
            recorded.iter().all(|recorded| *recorded == BalanceTransaction { balance_after: recorded.balance_after, ..change.clone() })
        );
        after.push(recorded.map(|recorded| recorded.balance_after.base_units()));
        unit.commit().await.expect("commits");
    }
    after
}

on_both! {
    async fn a_balance_grows_and_shrinks_and_never_falls_below_zero(db: &TestDatabase) {
        open(db).await;
        let changes = [
            decrease("cbtxn_1", 1),
            increase("cbtxn_2", 500),
            decrease("cbtxn_3", 501),
            decrease("cbtxn_4", 200),
            increase("cbtxn_5", 7),
            decrease("cbtxn_6", 307),
            decrease("cbtxn_7", 1),
            increase("cbtxn_8", u128::MAX),
        ];
        assert_eq!(record(db, &changes).await, [None, Some(500), None, Some(300), Some(307), Some(0), None, Some(u128::MAX)]);
        let mut unit = read(db).await;
        let page = Page::new(None, Some(100));
        let listed = unit.balances().transactions(Mode::Test, &id("cus_1"), Some(&id("pc_1")), &page).await.expect("lists");
        let names: Vec<_> = listed.list.iter().map(|one| one.id.as_str()).collect();
        assert_eq!((listed.count, names), (5, vec!["cbtxn_8", "cbtxn_6", "cbtxn_5", "cbtxn_4", "cbtxn_2"]));
        assert_eq!(listed.list[2], BalanceTransaction { balance_after: Amount::new(307), ..changes[4].clone() });
        drop(unit);
        let beyond = begin(db).await.balances().record(&increase("cbtxn_9", 1)).await;
        assert!(beyond.is_err(), "no amount is that large");
    }

    async fn concurrent_decreases_never_spend_more_than_the_balance(db: &TestDatabase) {
        open(db).await;
        record(db, &[increase("cbtxn_100", 1_000)]).await;
        let taken = all_at_once(db, 8, |db, number| async move {
            let mut unit = begin(&db).await;
            let taken = unit.balances().record(&decrease(&format!("cbtxn_{number}"), 300)).await.expect("records").is_some();
            unit.commit().await.expect("commits");
            taken
        });
        assert_eq!(taken.await.into_iter().filter(|won| *won).count(), 3);
        assert_eq!(read(db).await.balances().of_all(&[id("cus_1")]).await.expect("reads"), [balance("cus_1", "pc_1", 100)]);
    }

    async fn concurrent_increases_are_all_recorded_even_the_first_ones(db: &TestDatabase) {
        open(db).await;
        let after = all_at_once(db, 8, |db, number| async move {
            let mut unit = begin(&db).await;
            let recorded = unit.balances().record(&increase(&format!("cbtxn_{number}"), 10)).await.expect("records").expect("is written");
            unit.commit().await.expect("commits");
            recorded.balance_after.base_units()
        });
        let mut after = after.await;
        after.sort_unstable();
        assert_eq!(after, (1..=8).map(|number| number * 10).collect::<Vec<u128>>());
        let mut unit = read(db).await;
        let page = Page::new(None, Some(100));
        let listed = unit.balances().transactions(Mode::Test, &id("cus_1"), Some(&id("pc_1")), &page).await.expect("lists");
        let balances: Vec<_> = listed.list.iter().rev().map(|one| one.balance_after.base_units()).collect();
        assert_eq!(balances, after, "they are listed in the order in which they were written, though all were written at one moment");
    }

    async fn a_change_that_is_rolled_back_has_no_effect(db: &TestDatabase) {
        open(db).await;
        let mut unit = begin(db).await;
        assert!(unit.balances().record(&increase("cbtxn_1", 5)).await.expect("records").is_some());
        unit.rollback().await.expect("rolls back");
        assert!(read(db).await.balances().of_all(&[id("cus_1")]).await.expect("reads").is_empty());
        assert_eq!(record(db, &[increase("cbtxn_1", 5)]).await, [Some(5)]);
    }

    async fn balances_above_zero_are_found_for_several_customers(db: &TestDatabase) {
        open(db).await;
        let of = |customer: &str, currency: &str, change: BalanceTransaction| BalanceTransaction {
            customer_id: id(customer),
            currency_id: id(currency),
            ..change
        };
        let changes = [
            of("cus_1", "pc_2", increase("cbtxn_1", 5)),
            of("cus_2", "pc_1", increase("cbtxn_2", 6)),
            of("cus_1", "pc_1", increase("cbtxn_3", 7)),
            of("cus_2", "pc_2", increase("cbtxn_4", 8)),
            of("cus_2", "pc_2", decrease("cbtxn_5", 8)),
        ];
        record(db, &changes).await;
        let both: [CustomerId; 2] = [id("cus_2"), id("cus_1")];
        let expected = [balance("cus_1", "pc_1", 7), balance("cus_1", "pc_2", 5), balance("cus_2", "pc_1", 6)];
        let mut unit = begin(db).await;
        assert_eq!(unit.balances().of_all(&both).await.expect("reads"), expected);
        assert_eq!(unit.balances().lock(&both).await.expect("locks"), expected);
        assert_eq!(unit.balances().lock(&[id("cus_2")]).await.expect("locks"), expected[2..]);
        assert!(unit.balances().of_all(&[id("cus_9")]).await.expect("reads").is_empty());
    }

    async fn a_lock_on_balances_blocks_other_changes(db: &TestDatabase) {
        open(db).await;
        record(db, &[increase("cbtxn_100", 1_000)]).await;
        let spent = all_at_once(db, 8, |db, number| async move {
            let mut unit = begin(&db).await;
            let locked = unit.balances().lock(&[id("cus_1")]).await.expect("locks");
            let left = locked.first().map_or(0, |balance| balance.amount.base_units());
            // The lock guarantees that the amount read is still available.
            let part = left.min(300);
            if part > 0 {
                let recorded = unit.balances().record(&decrease(&format!("cbtxn_{number}"), part)).await.expect("records");
                assert_eq!(recorded.map(|recorded| recorded.balance_after.base_units()), Some(left - part));
            }
            unit.commit().await.expect("commits");
            part
        });
        assert_eq!(spent.await.into_iter().sum::<u128>(), 1_000);
    }

    async fn transactions_are_paged_by_number_and_by_key(db: &TestDatabase) {
        open(db).await;
        let dollars = |number: i64| BalanceTransaction { currency_id: id("pc_2"), created_at: at(number), ..increase(&format!("cbtxn_{number}"), 1) };
        let euros = |number: i64| BalanceTransaction { created_at: at(number), ..increase(&format!("cbtxn_{number}"), 1) };
        record(db, &[euros(1), dollars(2), euros(3), dollars(4), euros(5)]).await;
        let mut unit = read(db).await;
        let (pounds, live) = (id("pc_1"), Mode::Live);
        for (currency, number, after, expected) in [
            (None, 1, None, vec!["cbtxn_5", "cbtxn_4"]),
            (None, 3, None, vec!["cbtxn_1"]),
            (None, 1, Some("cbtxn_4"), vec!["cbtxn_3", "cbtxn_2"]),
            (Some(&pounds), 1, None, vec!["cbtxn_5", "cbtxn_3"]),
            (Some(&pounds), 2, None, vec!["cbtxn_1"]),
            (Some(&pounds), 1, Some("cbtxn_3"), vec!["cbtxn_1"]),
        ] {
            let page = Page { starting_after: after.map(str::to_owned), ..Page::new(Some(number), Some(2)) };
            let listed = unit.balances().transactions(Mode::Test, &id("cus_1"), currency, &page).await.expect("lists");
            let names: Vec<_> = listed.list.iter().map(|one| one.id.as_str()).collect();
            assert_eq!((listed.count, names), (if currency.is_some() { 3 } else { 5 }, expected), "{page:?}");
        }
        for (mode, customer) in [(live, "cus_1"), (Mode::Test, "cus_2")] {
            let listed = unit.balances().transactions(mode, &id(customer), None, &Page::new(None, None)).await.expect("lists");
            assert_eq!((listed.count, listed.list), (0, Vec::new()));
        }
    }
}
