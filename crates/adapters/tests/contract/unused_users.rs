//! Users who have nothing in the store are deleted with their customers. A user who has anything keeps everything.

use crate::catalogue::{app, shelve};
use crate::checkout_fixtures::{all_at_once, at, begin, customer, did, entitlement, id, insert_checkout, read};
use crate::unpaid_orders::{expired, is_postgres, mandate, unpaid_stake, write};
use souk_adapters::on_both;
use souk_adapters::persistence::Database;
use souk_domain::access::{Device, Login, Passport, Role, User};
use souk_domain::billing::Stake;
use souk_domain::checkout::Session;
use souk_domain::customer::Customer;
use souk_domain::mail::MailAddress;
use souk_domain::payment::{Mandate, MandateStatus};
use souk_domain::privacy::{ErasedProviderCustomer, ExaminedUsers};
use souk_domain::publishing::staking::Agreement;
use souk_domain::shared::{Language, Mode};
use souk_domain::storage::UnitOfWork;
use souk_domain::store::{App, Developer, Entitlement};

async fn insert(unit: &mut dyn UnitOfWork, name: &str, seconds: i64) {
    let user = User {
        did: did(name),
        public_key: "key".to_owned(),
        full_name: String::new(),
        email: String::new(),
        phone: String::new(),
        address: None,
        language: Language::English,
        picture: None,
        created_at: at(seconds),
        updated_at: at(seconds),
    };
    unit.users().upsert(&user).await.expect("inserts");
}

/// Inserts a user and their customer.
async fn insert_with_customer(unit: &mut dyn UnitOfWork, name: &str, customer_name: &str) {
    insert(unit, name, 0).await;
    unit.customers().upsert(&customer(customer_name, name)).await.expect("inserts");
}

/// Inserts a revoked passport, which keeps its holder.
async fn insert_passport(unit: &mut dyn UnitOfWork, holder: &str) {
    let (holder, role, revoked_at) = (did(holder), Role::Owner, Some(at(1)));
    let passport = Passport { id: id("pass_1"), holder, role, issued_at: at(0), revoked_at, stake_id: None };
    unit.users().issue_passport(&passport).await.expect("issues");
}

/// Examines the users of before `at(30)`.
async fn examine(db: &Database, limit: u32) -> ExaminedUsers {
    let mut unit = begin(db).await;
    let examined = unit.personal_data().delete_unused_users(at(30), at(50), limit).await.expect("examines");
    unit.commit().await.expect("commits");
    examined
}

async fn users(db: &Database, names: &[&str]) -> Vec<String> {
    let mut unit = read(db).await;
    let mut found = Vec::new();
    for name in names {
        found.extend(unit.users().find(&did(name)).await.expect("reads").map(|user| user.did.to_string()));
    }
    found
}

async fn customers(db: &Database, names: &[&str]) -> Vec<String> {
    let mut unit = read(db).await;
    let mut found = Vec::new();
    for name in names {
        found.extend(unit.customers().find(&id(name)).await.expect("reads").map(|customer| customer.id.to_string()));
    }
    found
}

on_both! {
    async fn users_who_have_nothing_are_deleted_with_their_customers(db: &TestDatabase) {
        insert_checkout(db, &[]).await;
        let mut unit = begin(db).await;
        for (name, seconds) in [("z1stranger", 0), ("z1buyer", 2), ("z1young", 40)] {
            insert(unit.as_mut(), name, seconds).await;
        }
        insert_with_customer(unit.as_mut(), "z1profile", "cus_2").await;
        unit.customers().set_provider_customer(&id("cus_2"), &id("pm_card"), "cus_at_provider").await.expect("writes");
        // The customer of z1buyer has an order.
        write(unit.as_mut(), "order", 0, expired("order")).await;
        unit.commit().await.expect("commits");
        let first = examine(db, 2).await;
        let at_provider = ErasedProviderCustomer { method_id: id("pm_card"), provider_id: "cus_at_provider".to_owned() };
        assert_eq!(first, ExaminedUsers { users: 2, at_providers: vec![at_provider] });
        assert_eq!(examine(db, 2).await, ExaminedUsers { users: 1, at_providers: Vec::new() });
        assert_eq!(examine(db, 2).await.users, 0, "each is examined once in the time");
        assert_eq!(users(db, &["z1stranger", "z1profile", "z1buyer", "z1young"]).await, ["z1buyer", "z1young"]);
        assert_eq!(customers(db, &["cus_1", "cus_2"]).await, ["cus_1"]);
    }

    async fn a_user_who_stays_keeps_every_customer(db: &TestDatabase) {
        insert_checkout(db, &[]).await;
        shelve(db, &[app("z1app", "Clock")]).await;
        let mut unit = begin(db).await;
        insert_with_customer(unit.as_mut(), "z1owner", "cus_owner").await;
        insert_passport(unit.as_mut(), "z1owner").await;
        insert_with_customer(unit.as_mut(), "z1login", "cus_login").await;
        let login = Login {
            id: id("lgn_1"),
            user: did("z1login"),
            device: String::new(),
            created_at: at(0),
            signed_in_at: at(0),
            used_at: at(0),
            expires_at: at(99),
        };
        unit.browser_sessions().insert(&[1; 32], &login).await.expect("inserts");
        insert_with_customer(unit.as_mut(), "z1computer", "cus_computer").await;
        let computer = Device {
            id: did("z1key"),
            user: did("z1computer"),
            name: "Souk CLI".to_owned(),
            public_key: "zKey".to_owned(),
            created_at: at(0),
            used_at: at(0),
            expires_at: at(99),
        };
        unit.devices().insert(&computer).await.expect("inserts");
        insert_with_customer(unit.as_mut(), "z1both", "cus_test").await;
        unit.customers().upsert(&Customer { mode: Mode::Live, ..customer("cus_live", "z1both") }).await.expect("inserts");
        insert_with_customer(unit.as_mut(), "z1holder", "cus_holder").await;
        let revoked = Entitlement { revoked_at: Some(at(1)), ..entitlement("z1holder", "z1app") };
        unit.entitlements().grant(&revoked).await.expect("grants");
        // Signed in again, or changed their profile, since the time from which users are unused.
        insert_with_customer(unit.as_mut(), "z1back", "cus_back").await;
        let mut back = unit.users().find(&did("z1back")).await.expect("reads").expect("exists");
        back.updated_at = at(30);
        unit.users().update_profile(&back).await.expect("updates");
        insert(unit.as_mut(), "z1changed", 0).await;
        unit.customers().upsert(&Customer { updated_at: at(30), ..customer("cus_changed", "z1changed") }).await.expect("inserts");
        let active = Mandate { customer_id: id("cus_live"), mode: Mode::Live, ..mandate("man_live", MandateStatus::Active) };
        unit.mandates().upsert(&active).await.expect("inserts");
        unit.commit().await.expect("commits");
        let kept = ["z1owner", "z1login", "z1computer", "z1both", "z1holder", "z1back", "z1changed"];
        assert_eq!(examine(db, 9).await, ExaminedUsers { users: 7, at_providers: Vec::new() });
        assert_eq!(users(db, &kept).await, kept);
        let all = ["cus_owner", "cus_login", "cus_computer", "cus_test", "cus_live", "cus_holder", "cus_back", "cus_changed"];
        assert_eq!(customers(db, &all).await, all, "profiles of users who stay");
    }

    async fn a_developer_is_kept(db: &TestDatabase) {
        let mut unit = begin(db).await;
        insert_with_customer(unit.as_mut(), "z1developer", "cus_developer").await;
        unit.commit().await.expect("commits");
        let of_another = app("z1app", "Clock");
        shelve(db, &[App { developer: Developer { did: did("z1developer"), ..of_another.developer.clone() }, ..of_another }]).await;
        assert_eq!(examine(db, 9).await.users, 1);
        assert_eq!(customers(db, &["cus_developer"]).await, ["cus_developer"]);
    }

    async fn a_blocked_user_is_kept(db: &TestDatabase) {
        let names = ["z1blocked", "z1nothing"];
        let mut unit = begin(db).await;
        for name in names {
            insert(unit.as_mut(), name, 0).await;
        }
        unit.users().set_blocked(&did("z1blocked"), Some(at(1))).await.expect("blocks");
        unit.commit().await.expect("commits");
        examine(db, 9).await;
        assert_eq!(users(db, &names).await, ["z1blocked"]);
    }

    async fn an_agreement_to_the_developer_terms_is_deleted_with_a_user_who_has_nothing_else(db: &TestDatabase) {
        let names = ["z1agreed", "z1former"];
        let mut unit = begin(db).await;
        for name in names {
            insert(unit.as_mut(), name, 0).await;
            unit.agreements().record(&did(name), &Agreement { version: 1, agreed_at: at(1) }).await.expect("records");
        }
        insert_passport(unit.as_mut(), "z1former").await;
        unit.commit().await.expect("commits");
        assert_eq!(examine(db, 9).await.users, 2);
        assert_eq!(users(db, &names).await, ["z1former"]);
        let mut unit = read(db).await;
        for (name, is_kept) in [("z1agreed", false), ("z1former", true)] {
            assert_eq!(unit.agreements().find(&did(name), 1).await.expect("reads").is_some(), is_kept, "{name}");
        }
    }

    async fn the_confirmed_email_address_of_a_deleted_user_is_forgotten(db: &TestDatabase) {
        let mut unit = begin(db).await;
        for (name, customer_name, email) in [("z1gone", "cus_gone", "Gone@mail.example"), ("z1buyer", "cus_buyer", "stays@mail.example")] {
            insert(unit.as_mut(), name, 0).await;
            unit.customers().upsert(&Customer { email: email.to_owned(), ..customer(customer_name, name) }).await.expect("inserts");
            let address = MailAddress::of(email).expect("an address");
            unit.mail_addresses().request(&address, customer_name, at(0), at(-9)).await.expect("requests");
            unit.mail_addresses().confirm(customer_name, at(1), at(-9)).await.expect("confirms");
        }
        insert_passport(unit.as_mut(), "z1buyer").await;
        unit.commit().await.expect("commits");
        assert_eq!(examine(db, 9).await.users, 2);
        let mut unit = read(db).await;
        let mut known = Vec::new();
        for email in ["gone@mail.example", "stays@mail.example"] {
            let address = MailAddress::of(email).expect("an address");
            known.push(unit.mail_addresses().find(&address).await.expect("reads").is_some());
        }
        assert_eq!(known, [false, true]);
    }

    async fn what_was_never_used_keeps_no_user(db: &TestDatabase) {
        insert_checkout(db, &[]).await;
        let mut unit = begin(db).await;
        insert_with_customer(unit.as_mut(), "z1left", "cus_left").await;
        let of = |customer: &str, mandate: Mandate| Mandate { customer_id: id(customer), ..mandate };
        unit.mandates().upsert(&of("cus_left", mandate("man_left", MandateStatus::Ended))).await.expect("inserts");
        let stake = Stake { customer_id: id("cus_left"), ..unpaid_stake("stk_left", "sub_9") };
        unit.stakes().insert(&stake).await.expect("inserts");
        insert_with_customer(unit.as_mut(), "z1active", "cus_active").await;
        unit.mandates().upsert(&of("cus_active", mandate("man_active", MandateStatus::Active))).await.expect("inserts");
        unit.commit().await.expect("commits");
        assert_eq!(examine(db, 9).await.users, 2);
        assert_eq!(users(db, &["z1left", "z1active"]).await, ["z1active"]);
        assert_eq!(customers(db, &["cus_left", "cus_active"]).await, ["cus_active"]);
    }

    async fn an_order_that_is_written_during_the_examination_keeps_its_user(db: &TestDatabase) {
        insert_checkout(db, &[]).await;
        let mut unit = begin(db).await;
        insert_with_customer(unit.as_mut(), "z1profile", "cus_2").await;
        unit.commit().await.expect("commits");
        let mut ordering = begin(db).await;
        let order = Session { customer_id: Some(id("cus_2")), ..expired("order") };
        ordering.sessions().insert(&order).await.expect("inserts");
        let database = Database::clone(db);
        let examination = tokio::spawn(async move { examine(&database, 9).await });
        // On PostgreSQL, the examination does not wait for the order, and skips its customer.
        let examined = if is_postgres(db) {
            let examined = examination.await.expect("ends");
            ordering.commit().await.expect("commits");
            examined
        } else {
            ordering.commit().await.expect("commits");
            examination.await.expect("ends")
        };
        assert_eq!(examined.users, 1);
        assert_eq!((users(db, &["z1profile"]).await.len(), customers(db, &["cus_2"]).await.len()), (1, 1));
    }

    async fn examinations_at_the_same_time_share_the_users(db: &TestDatabase) {
        let mut unit = begin(db).await;
        for number in 0..20 {
            insert_with_customer(unit.as_mut(), &format!("z1user{number}"), &format!("cus_{number}")).await;
        }
        unit.commit().await.expect("commits");
        let examined = all_at_once(db, 4, |db, _| async move { examine(&db, 20).await.users }).await;
        assert_eq!(examined.iter().sum::<u64>(), 20, "each once");
        assert_eq!(db.read().await.expect("reads").query("SELECT count(*) AS n FROM customers").one().await.expect("counts").get::<u64>("n").expect("n"), 0);
    }
}
