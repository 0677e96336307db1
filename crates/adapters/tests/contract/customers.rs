//! Customers: one per user and mode.

use crate::checkout_fixtures::{all_at_once, at, begin, customer, did, id, insert_checkout, issue, read};
use souk_adapters::on_both;
use souk_domain::customer::Customer;
use souk_domain::shared::{CustomerId, Mode, Page};

on_both! {
    async fn buying_again_updates_the_contact_and_keeps_the_customer(db: &TestDatabase) {
        let mut unit = begin(db).await;
        let first = unit.customers().upsert(&customer("cus_1", "z1anna")).await.expect("inserts");
        assert_eq!(first, customer("cus_1", "z1anna"));
        let again = Customer { name: "New Name".to_owned(), address: None, created_at: at(9), updated_at: at(9), ..customer("cus_2", "z1anna") };
        let second = unit.customers().upsert(&again).await.expect("upserts");
        assert_eq!(second, Customer { id: id("cus_1"), created_at: at(0), ..again });
        assert_eq!(unit.customers().find(&second.id).await.expect("reads"), Some(second));
        assert_eq!(unit.customers().find(&id("cus_2")).await.expect("reads"), None);
    }

    async fn a_user_has_one_customer_per_mode(db: &TestDatabase) {
        let mut unit = begin(db).await;
        unit.customers().upsert(&customer("cus_1", "z1anna")).await.expect("inserts");
        unit.customers().upsert(&Customer { mode: Mode::Live, ..customer("cus_2", "z1anna") }).await.expect("inserts");
        unit.commit().await.expect("commits");
        let mut unit = read(db).await;
        for (mode, name) in [(Mode::Test, "cus_1"), (Mode::Live, "cus_2")] {
            let found = unit.customers().find_by_did(mode, &did("z1anna")).await.expect("reads").expect("is there");
            assert_eq!(found.id, id(name));
        }
        assert_eq!(unit.customers().find_by_did(Mode::Live, &did("z1bob")).await.expect("reads"), None);
    }

    async fn revoked_links_are_those_of_the_user_in_both_modes(db: &TestDatabase) {
        insert_checkout(db, &["pi_1"]).await;
        issue(db, 1).await;
        let mut unit = begin(db).await;
        let holder = unit.customers().find(&id("cus_1")).await.expect("reads").expect("is there").did;
        assert_eq!(unit.customers().links_revoked_at("in_1").await.expect("reads"), None);
        unit.customers().revoke_links(&did("z1nobody"), at(4)).await.expect("revokes nothing");
        assert_eq!(unit.customers().links_revoked_at("in_1").await.expect("reads"), None);
        unit.customers().revoke_links(&holder, at(5)).await.expect("revokes");
        assert_eq!(unit.customers().links_revoked_at("in_1").await.expect("reads"), Some(at(5)));
        assert_eq!(unit.customers().links_revoked_at("in_9").await.expect("reads"), None);
        unit.customers().upsert(&Customer { did: holder, ..customer("cus_1", "z1anna") }).await.expect("buys again");
        assert_eq!(unit.customers().links_revoked_at("in_1").await.expect("reads"), Some(at(5)));
    }

    async fn customers_are_found_by_name_mail_phone_id_and_did(db: &TestDatabase) {
        let mut unit = begin(db).await;
        let one = Customer { name: "Ann_a 100%".to_owned(), email: "Anna@Shop.example".to_owned(), ..customer("cus_1", "z1anna") };
        let other = Customer { name: "Bob".to_owned(), email: "b@other.example".to_owned(), phone: "+4930123".to_owned(), ..customer("cus_2", "z1bob") };
        for customer in [&one, &other, &Customer { mode: Mode::Live, ..customer("cus_3", "z1anna") }] {
            unit.customers().upsert(customer).await.expect("inserts");
        }
        for (words, expected) in [
            ("SHOP.EX", vec!["cus_1"]),
            ("0%", vec!["cus_1"]),
            ("n_a", vec!["cus_1"]),
            ("b%b", vec![]),
            ("49301", vec!["cus_2"]),
            ("cus_2", vec!["cus_2"]),
            ("z1anna", vec!["cus_1"]),
            ("z1ann", vec![]),
            ("cus_3", vec![]),
            ("", vec!["cus_2", "cus_1"]),
        ] {
            let found = unit.customers().search(Mode::Test, words, &Page::new(None, None)).await.expect("searches");
            let names: Vec<_> = found.list.iter().map(|customer| customer.id.as_str()).collect();
            assert_eq!((found.count, names), (expected.len() as u64, expected), "{words}");
        }
    }

    async fn concurrent_submits_create_one_customer(db: &TestDatabase) {
        let made = all_at_once(db, 8, |db, number| async move {
            let mut unit = begin(&db).await;
            let made = unit.customers().upsert(&customer(&format!("cus_{number}"), "z1anna")).await.expect("upserts");
            unit.commit().await.expect("commits");
            made.id
        });
        let made: std::collections::BTreeSet<CustomerId> = made.await.into_iter().collect();
        assert_eq!(made.len(), 1);
    }
}
