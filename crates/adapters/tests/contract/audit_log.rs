//! The audit log: entries are written with the work that they record, and never change.

use crate::checkout_fixtures::{at, begin, customer, did, id, read, store};
use souk_adapters::on_both;
use souk_domain::access::{ActorKind, AuditActor, AuditEntry, AuditFilter, Operation};
use souk_domain::shared::{Mode, Page};
use souk_domain::storage::Store;

fn entry(name: &str) -> AuditEntry {
    AuditEntry {
        id: id(name),
        at: at(7),
        actor: AuditActor::User(did("z1owner")),
        operation: Operation::UpdateProduct,
        mode: Some(Mode::Test),
        objects: vec!["prod_1".to_owned(), "prod_1".to_owned(), "cus_1".to_owned()],
        address: Some("192.0.2.1".to_owned()),
    }
}

/// The entry as it is read: each object once.
fn stored(name: &str) -> AuditEntry {
    AuditEntry { objects: vec!["prod_1".to_owned(), "cus_1".to_owned()], ..entry(name) }
}

/// Commits a unit of work for each entry.
async fn record(db: &souk_adapters::persistence::Database, entries: &[AuditEntry]) {
    for entry in entries {
        let mut unit = store(db).audited(entry.clone()).begin().await.expect("begins");
        unit.customers().upsert(&customer("cus_1", "z1anna")).await.expect("writes");
        unit.commit().await.expect("commits");
    }
}

async fn ids(db: &souk_adapters::persistence::Database, filter: &AuditFilter, page: &Page) -> (u64, Vec<String>) {
    let found = read(db).await.audit_log().list(filter, page).await.expect("lists");
    (found.count, found.list.iter().map(|entry| entry.id.to_string()).collect())
}

on_both! {
    async fn the_first_commit_of_a_call_writes_its_entry_and_a_call_without_effect_writes_none(db: &TestDatabase) {
        let call = store(db).audited(entry("aud_1"));
        let mut dropped = call.begin().await.expect("begins");
        dropped.customers().upsert(&customer("cus_1", "z1anna")).await.expect("writes");
        dropped.rollback().await.expect("rolls back");
        call.begin().await.expect("begins").commit().await.expect("commits nothing");
        assert_eq!(read(db).await.audit_log().list(&AuditFilter::default(), &Page::new(None, None)).await.expect("lists").count, 0);
        for _ in 0..2 {
            let mut unit = call.begin().await.expect("begins");
            unit.customers().upsert(&customer("cus_1", "z1anna")).await.expect("writes");
            unit.commit().await.expect("commits");
        }
        let found = read(db).await.audit_log().list(&AuditFilter::default(), &Page::new(None, None)).await.expect("lists");
        assert_eq!((found.count, found.list), (1, vec![stored("aud_1")]));
    }

    async fn a_call_whose_effect_is_at_a_network_is_recorded(db: &TestDatabase) {
        let call = store(db).audited(entry("aud_1"));
        let mut unit = call.begin().await.expect("begins");
        unit.audit_log().record_effect().await.expect("records");
        unit.commit().await.expect("commits");
        assert_eq!(ids(db, &AuditFilter::default(), &Page::new(None, None)).await, (1, vec!["aud_1".to_owned()]));
    }

    async fn entries_are_filtered_and_paged_newest_first(db: &TestDatabase) {
        let key = AuditEntry {
            actor: AuditActor::Key(id("key_1")),
            operation: Operation::CreateRefund,
            objects: vec!["re_1".to_owned()],
            ..entry("aud_2")
        };
        let command = AuditEntry { actor: AuditActor::Command, mode: None, address: None, objects: Vec::new(), ..entry("aud_3") };
        record(db, &[entry("aud_1"), key.clone(), command.clone()]).await;
        let page = Page::new(None, None);
        let all = read(db).await.audit_log().list(&AuditFilter::default(), &page).await.expect("lists").list;
        assert_eq!(all, [command, key, stored("aud_1")]);
        let none = AuditFilter::default();
        for (filter, expected) in [
            (AuditFilter { actor: Some("z1owner".to_owned()), ..none.clone() }, "aud_1"),
            (AuditFilter { kind: Some(ActorKind::Command), ..none.clone() }, "aud_3"),
            (AuditFilter { operation: Some(Operation::CreateRefund), ..none.clone() }, "aud_2"),
            (AuditFilter { object: Some("cus_1".to_owned()), ..none.clone() }, "aud_1"),
        ] {
            assert_eq!(ids(db, &filter, &page).await, (1, vec![expected.to_owned()]), "{filter:?}");
        }
        let second = Page { starting_after: Some("aud_3".to_owned()), ..Page::new(None, Some(1)) };
        assert_eq!(ids(db, &none, &second).await, (3, vec!["aud_2".to_owned()]));
    }

    async fn no_entry_can_be_changed_or_deleted(db: &TestDatabase) {
        record(db, &[entry("aud_1")]).await;
        for change in ["UPDATE audit_log SET actor = 'z1other'", "DELETE FROM audit_log"] {
            let mut connection = db.begin().await.expect("begins");
            let refused = connection.query(change).execute().await.expect_err(change);
            assert!(format!("{refused:?}").contains("append-only"), "{refused:?}");
        }
        assert_eq!(begin(db).await.audit_log().list(&AuditFilter::default(), &Page::new(None, None)).await.expect("lists").count, 1);
    }
}
