//! The key of a store: recognized, and replaced in every column that it encrypts.

use souk_adapters::on_both;
use souk_adapters::persistence::{
    KeyFit, Kind, SecretBox, SqlStore, claim_key, key_fit, rotate_key, secret_columns, stored_identity, tables,
};
use souk_adapters::testing::TestDatabase;
use souk_domain::access::{AuditActor, AuditEntry, AuditFilter, Operation};
use souk_domain::payment::{Method, MethodKind, MethodSettings, Secret};
use souk_domain::shared::{AuditEntryId, MethodId, Mode, Page, Timestamp};
use souk_domain::storage::{CallState, KeyedCall, Store};
use std::collections::BTreeSet;
use std::sync::Arc;

/// Columns with bytes that no key has encrypted, and what they contain.
const NOT_ENCRYPTED: [(&str, &str); 8] = [
    ("api_keys.hash", "a hash"),
    ("attempts.bytes", "a signed transaction, which its network publishes"),
    ("browser_sessions.token", "a hash"),
    ("connect_sessions.browser", "a hash"),
    ("connect_sessions.browser_session", "a hash"),
    ("invitations.token", "a hash"),
    ("owner_links.token", "a hash"),
    ("tool_sessions.encryption_key", "a public key"),
];

const IDENTITY: &str = "0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b";

fn secrets(key: u8) -> Arc<SecretBox> {
    Arc::new(SecretBox::new(&[key; 32]))
}

fn card(number: u32) -> Method {
    let at = Timestamp::from_seconds(1_700_000_000);
    Method {
        id: MethodId::parse(&format!("pm_{number:04}")).expect("an id"),
        mode: Mode::Test,
        kind: MethodKind::Stripe,
        active: true,
        name: String::new(),
        description: String::new(),
        logo: String::new(),
        settings: MethodSettings::Stripe {
            api_host: String::new(),
            dashboard: String::new(),
            publishable_key: "pk_test_1".to_owned(),
            secret_key: Secret::new(format!("sk_test_{number}")),
            webhook_signing_secret: Secret::new(format!("whsec_{number}")),
        },
        default_currency_id: None,
        created_at: at,
        updated_at: at,
    }
}

fn rotation(number: u32) -> AuditEntry {
    AuditEntry {
        id: AuditEntryId::parse(&format!("aud_{number}")).expect("an id"),
        at: Timestamp::from_seconds(1_700_000_000),
        actor: AuditActor::Command,
        operation: Operation::RotateKey,
        mode: None,
        objects: Vec::new(),
        address: None,
    }
}

async fn recorded(store: &SqlStore) -> Vec<AuditEntry> {
    store.read().await.expect("reads").audit_log().list(&AuditFilter::default(), &Page::new(None, None)).await.expect("lists").list
}

fn call() -> KeyedCall {
    KeyedCall { caller: "a:b".to_owned(), key: "c:d".to_owned(), claimed_at: Timestamp::from_seconds(1_700_000_000), objects: &[] }
}

on_both! {
    async fn every_secret_is_encrypted_again_and_the_old_key_reads_none_of_them(db: &TestDatabase) {
        let (old, new) = (secrets(1), secrets(2));
        assert_eq!(key_fit(db, &old).await.expect("reads"), KeyFit::Unused);
        claim_key(db, &old).await.expect("claims");
        // A second process with another key comes too late.
        claim_key(db, &new).await.expect("is ignored");
        assert_eq!((key_fit(db, &old).await.expect("reads"), key_fit(db, &new).await.expect("reads")), (KeyFit::Fits, KeyFit::Differs));
        let store = SqlStore::new((**db).clone(), Arc::clone(&old));
        let mut unit = store.begin().await.expect("begins");
        // More than one batch.
        for number in 0..300 {
            unit.methods().insert(&card(number)).await.expect("inserts");
        }
        let lease = call().claimed_at.plus(std::time::Duration::from_secs(60));
        assert_eq!(unit.idempotency().claim(&call(), "print", lease).await.expect("claims"), None);
        unit.idempotency().keep(&call(), 200, "an answer").await.expect("keeps");
        unit.commit().await.expect("commits");

        // 300 methods with two secrets each, one answer, the text that recognizes the key, and the identity.
        assert_eq!(rotate_key(db, &old, &new, IDENTITY, &rotation(1)).await.expect("rotates"), 603);
        assert_eq!((key_fit(db, &old).await.expect("reads"), key_fit(db, &new).await.expect("reads")), (KeyFit::Differs, KeyFit::Fits));
        let mut unit = SqlStore::new((**db).clone(), Arc::clone(&new)).read().await.expect("reads");
        for number in [0, 255, 256, 299] {
            assert_eq!(unit.methods().find(&card(number).id).await.expect("reads"), Some(card(number)));
        }
        drop(unit);
        let mut unit = SqlStore::new((**db).clone(), Arc::clone(&new)).begin().await.expect("begins");
        let stored = unit.idempotency().claim(&call(), "print", lease).await.expect("reads").expect("is stored");
        assert_eq!(stored.state, CallState::Answered { status: 200, body: "an answer".to_owned() });
        drop(unit);
        assert!(store.read().await.expect("reads").methods().find(&card(0).id).await.is_err(), "the old key still reads a secret");

        assert_eq!(recorded(&store).await, [rotation(1)], "the audit log shows the rotation");
        // The identity stays at the next rotation.
        let third = secrets(3);
        rotate_key(db, &new, &third, "of another identity", &rotation(2)).await.expect("rotates");
        assert_eq!(stored_identity(db, &third).await.expect("reads").as_deref(), Some(IDENTITY));
    }

    async fn a_rotation_with_a_wrong_key_changes_nothing(db: &TestDatabase) {
        let (old, new) = (secrets(1), secrets(2));
        claim_key(db, &old).await.expect("claims");
        let store = SqlStore::new((**db).clone(), Arc::clone(&old));
        let mut unit = store.begin().await.expect("begins");
        unit.methods().insert(&card(1)).await.expect("inserts");
        unit.commit().await.expect("commits");
        assert!(rotate_key(db, &secrets(9), &new, IDENTITY, &rotation(1)).await.is_err());
        assert_eq!((key_fit(db, &old).await.expect("reads"), recorded(&store).await), (KeyFit::Fits, Vec::new()));
        assert_eq!(stored_identity(db, &old).await.expect("reads"), None);
        assert_eq!(store.read().await.expect("reads").methods().find(&card(1).id).await.expect("reads"), Some(card(1)));
    }
}

#[tokio::test]
async fn every_column_with_bytes_is_encrypted_again_or_has_a_reason() {
    let database = TestDatabase::postgres().await;
    let tables = tables(&mut database.snapshot().await.expect("a snapshot")).await.expect("tables");
    let columns = tables.iter().flat_map(|table| table.columns.iter().map(move |column| (table, column)));
    let with_bytes = columns.filter(|(_, column)| column.kind == Some(Kind::Bytes));
    let with_bytes: BTreeSet<_> = with_bytes.map(|(table, column)| format!("{}.{}", table.name, column.name)).collect();
    let plain = NOT_ENCRYPTED.map(|(column, _)| column.to_owned());
    assert_eq!(with_bytes, secret_columns().chain(plain).collect());
}
