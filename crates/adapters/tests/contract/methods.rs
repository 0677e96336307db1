//! Payment methods: settings are read as written, and secrets are not readable in the database.

use crate::checkout_fixtures::{at, begin, card_method, currency, id, insert_checkout, read};
use souk_adapters::on_both;
use souk_adapters::persistence::{Database, SecretBox, SqlStore};
use souk_domain::payment::{Currency, Method, MethodKind, MethodSettings, Secret, UnreadEvents};
use souk_domain::shared::{Mode, StorageError};
use souk_domain::storage::Store;
use std::sync::Arc;
use std::time::Duration;

fn with(name: &str, kind: MethodKind, settings: MethodSettings) -> Method {
    Method { id: id(name), kind, settings, default_currency_id: None, ..card_method() }
}

on_both! {
    async fn settings_of_every_network_are_read_as_written(db: &TestDatabase) {
        let (chain, host, explorer) = ("beta".to_owned(), "/sandbox".to_owned(), "https://explorer.example".to_owned());
        let evm = MethodSettings::Evm {
            chain_id: 8453, api_host: host.clone(), explorer_host: explorer.clone(), native_symbol: "ETH".to_owned(), confirmation: 12,
        };
        let arcblock = MethodSettings::Arcblock { chain_id: chain, api_host: host, explorer_host: explorer.clone() };
        let methods = [
            with("pm_1", MethodKind::Arcblock, arcblock),
            with("pm_2", MethodKind::Bitcoin, MethodSettings::Bitcoin { explorer_host: explorer }),
            with("pm_3", MethodKind::Base, evm),
            card_method(),
        ];
        let mut unit = begin(db).await;
        for method in &methods {
            unit.methods().insert(method).await.expect("inserts");
        }
        unit.methods().insert(&Method { mode: Mode::Live, ..with("pm_5", MethodKind::Stripe, card_method().settings) }).await.expect("inserts");
        assert_eq!(unit.methods().list(Mode::Test).await.expect("lists"), methods);
        assert_eq!(unit.methods().find(&id("pm_3")).await.expect("reads"), Some(methods[2].clone()));
        assert_eq!(unit.methods().find(&id("pm_9")).await.expect("reads"), None);
    }

    async fn an_updated_method_is_read_with_its_new_secret(db: &TestDatabase) {
        insert_checkout(db, &[]).await;
        let mut changed = Method { active: false, name: "Cards".to_owned(), updated_at: at(5), ..card_method() };
        let MethodSettings::Stripe { secret_key, .. } = &mut changed.settings else { panic!("a card method") };
        *secret_key = Secret::new("sk_test_new");
        let mut unit = begin(db).await;
        unit.methods().update(&changed).await.expect("updates");
        assert_eq!(unit.methods().find(&changed.id).await.expect("reads"), Some(changed));
    }

    async fn the_events_of_a_card_method_are_claimed_once_in_an_interval(db: &TestDatabase) {
        insert_checkout(db, &[]).await;
        let created = card_method().created_at;
        let now = created.plus(Duration::from_secs(60));
        let mut unit = begin(db).await;
        assert_eq!(unit.methods().claim_unread(created.minus(Duration::from_secs(1)), now).await.expect("claims"), [], "too early");
        let first = UnreadEvents { method: card_method(), since: created };
        assert_eq!(unit.methods().claim_unread(created, now).await.expect("claims"), std::slice::from_ref(&first));
        assert_eq!(unit.methods().claim_unread(created, now).await.expect("claims"), [], "claimed already");
        assert_eq!(unit.methods().claim_unread(now, now).await.expect("claims"), [first], "nothing was read");
        unit.methods().set_events_read(&card_method().id, now).await.expect("updates");
        unit.methods().update(&Method { active: false, ..card_method() }).await.expect("updates");
        let inactive = UnreadEvents { method: Method { active: false, ..card_method() }, since: now };
        assert_eq!(unit.methods().claim_unread(now, now).await.expect("claims"), [inactive], "payments of inactive methods can be disputed");
    }

    async fn the_database_contains_no_plain_secret(db: &TestDatabase) {
        insert_checkout(db, &[]).await;
        let mut connection = db.read().await.expect("reads");
        let row = connection.query("SELECT settings, secret_key, webhook_signing_secret FROM payment_methods").one().await.expect("reads");
        assert!(!row.get::<serde_json::Value>("settings").expect("settings").to_string().contains("secret"));
        for (column, secret) in [("secret_key", "sk_test_secret"), ("webhook_signing_secret", "whsec_secret")] {
            let stored: Vec<u8> = row.get(column).expect("bytes");
            assert!(!stored.windows(secret.len()).any(|window| window == secret.as_bytes()), "{column}");
        }
    }

    async fn secrets_are_not_decrypted_with_another_key_or_in_another_place(db: &TestDatabase) {
        insert_checkout(db, &[]).await;
        let other = SqlStore::new(Database::clone(db), Arc::new(SecretBox::new(&[8; 32])));
        let refused = other.read().await.expect("reads").methods().find(&id("pm_card")).await;
        assert!(matches!(refused, Err(StorageError::Corrupt { column: "secret_key", .. })), "{refused:?}");
        let mut connection = db.begin().await.expect("begins");
        let swap = "UPDATE payment_methods SET secret_key = webhook_signing_secret, webhook_signing_secret = secret_key";
        connection.query(swap).execute().await.expect("swaps");
        connection.commit().await.expect("commits");
        let refused = read(db).await.methods().find(&id("pm_card")).await;
        assert!(matches!(refused, Err(StorageError::Corrupt { .. })), "{refused:?}");
    }

    async fn currencies_are_listed_by_mode(db: &TestDatabase) {
        insert_checkout(db, &[]).await;
        let mut unit = begin(db).await;
        let live = Currency { id: id("pc_2"), mode: Mode::Live, ..currency() };
        unit.methods().insert_currency(&live).await.expect("inserts");
        assert_eq!(unit.methods().currencies(Mode::Test).await.expect("lists"), [currency()]);
        let changed = Currency { active: false, logo: "/eur.svg".to_owned(), maximum_precision: 1, updated_at: at(4), ..currency() };
        unit.methods().update_currency(&changed).await.expect("updates");
        assert_eq!(unit.methods().find_currency(&changed.id).await.expect("reads"), Some(changed));
        assert_eq!(unit.methods().currencies(Mode::Live).await.expect("lists"), [live]);
    }
}
