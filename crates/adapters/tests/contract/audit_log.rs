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

    async fn every_combination_of_filters_lists_exactly_the_matching_entries(db: &TestDatabase) {
        let actors = [AuditActor::User(did("z1owner")), AuditActor::Key(id("key_1")), AuditActor::Command];
        let operations = [Operation::UpdateProduct, Operation::CreateRefund];
        let mut entries = Vec::new();
        for (number, actor) in actors.iter().cycle().take(6).enumerate() {
            let objects = if number % 4 < 2 { vec!["prod_1".to_owned()] } else { Vec::new() };
            let operation = operations[number / 3];
            entries.push(AuditEntry { actor: actor.clone(), operation, objects, ..entry(&format!("aud_{number}")) });
        }
        record(db, &entries).await;
        let or_none = |texts: &[&str]| texts.iter().map(|text| Some((*text).to_owned())).chain([None]).collect::<Vec<_>>();
        for actor in or_none(&["z1owner", "key_1", "z1nobody"]) {
            for kind in ActorKind::ALL.into_iter().map(Some).chain([None]) {
                for operation in operations.into_iter().map(Some).chain([None]) {
                    for object in or_none(&["prod_1", "prod_2"]) {
                        let matches = |entry: &&AuditEntry| {
                            actor.as_ref().is_none_or(|actor| entry.actor.id() == actor)
                                && kind.is_none_or(|kind| entry.actor.kind() == kind)
                                && operation.is_none_or(|operation| entry.operation == operation)
                                && object.as_ref().is_none_or(|object| entry.objects.contains(object))
                        };
                        let expected: Vec<_> = entries.iter().rev().filter(matches).map(|entry| entry.id.to_string()).collect();
                        let filter = AuditFilter { actor: actor.clone(), kind, operation, object };
                        assert_eq!(ids(db, &filter, &Page::new(None, None)).await, (expected.len() as u64, expected), "{filter:?}");
                    }
                }
            }
        }
    }

    async fn entries_from_before_a_time_are_deleted_oldest_first_and_others_cannot_be(db: &TestDatabase) {
        let at_second = |seconds: i64| AuditEntry { at: at(seconds), ..entry(&format!("aud_{seconds}")) };
        record(db, &[at_second(1), at_second(2), at_second(3)]).await;
        let prune = async |before: i64, limit: u32| {
            let mut unit = begin(db).await;
            let deleted = unit.audit_log().prune(at(before), limit).await.expect("deletes");
            unit.commit().await.expect("commits");
            deleted
        };
        assert_eq!((prune(1, 9).await, prune(3, 1).await), (0, 1));
        assert_eq!(ids(db, &AuditFilter::default(), &Page::new(None, None)).await.1, ["aud_3", "aud_2"]);
        assert_eq!(prune(3, 9).await, 1);
        // Neither does an earlier time bring back what may be deleted.
        assert_eq!(prune(2, 9).await, 0);
        let of_object = AuditFilter { object: Some("prod_1".to_owned()), ..AuditFilter::default() };
        assert_eq!(ids(db, &of_object, &Page::new(None, None)).await, (1, vec!["aud_3".to_owned()]));
        let mut connection = db.begin().await.expect("begins");
        connection.query("DELETE FROM audit_objects").execute().await.expect("deletes");
        let refused = connection.query("DELETE FROM audit_log").execute().await.expect_err("is younger");
        assert!(format!("{refused:?}").contains("append-only"), "{refused:?}");
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
