//! The public log of publications, and how `souk verify` checks it.

use crate::checkout_fixtures::{at, begin, did};
use crate::uploads::{number, uploaded_app, version};
use souk_adapters::on_both;
use souk_adapters::testing::TestDatabase;
use souk_adapters::verify::verify;
use souk_domain::publishing::bundle::{NewVersion, UploadedVersion};
use souk_domain::publishing::publication_log::{FIRST_PREVIOUS_HASH, LoggedVersion, PublicationAction, PublicationEntry, PublicationFact};
use souk_domain::publishing::review::VersionStatus;

fn fact(action: PublicationAction, version: Option<&str>) -> PublicationFact {
    let logged = |text| LoggedVersion { version: number(text), document: crate::uploads::version("ver_1", text).document };
    PublicationFact { at: at(5), action, app: did("z1"), version: version.map(logged) }
}

async fn append(db: &TestDatabase, fact: PublicationFact) -> PublicationEntry {
    let mut unit = begin(db).await;
    let entry = unit.publication_log().append(&fact).await.expect("appends");
    unit.commit().await.expect("commits");
    entry
}

/// The breaches of the two checks of the log.
async fn breaches(db: &TestDatabase) -> Vec<String> {
    let mut found = Vec::new();
    let mut checked = 0;
    verify(db, &mut |check| {
        if check.title.contains("log of publications") {
            checked += 1;
            found.extend(check.breaches);
        }
    })
    .await
    .expect("reads");
    assert_eq!(checked, 2);
    found
}

async fn execute(db: &TestDatabase, sql: &'static str) {
    let mut connection = db.begin().await.expect("begins");
    assert!(connection.query(sql).execute().await.expect(sql) > 0, "{sql} changed nothing");
    connection.commit().await.expect("commits");
}

/// Stores an app with a published version, and logs that.
async fn published(db: &TestDatabase) {
    let mut unit = begin(db).await;
    unit.uploads().insert_app(&uploaded_app("z1", "hello")).await.expect("inserts");
    let one = UploadedVersion { status: VersionStatus::Published, ..version("ver_1", "1.0.0") };
    unit.uploads().insert_version(&one, &NewVersion::default()).await.expect("inserts");
    unit.publication_log().append(&fact(PublicationAction::Publish, Some("1.0.0"))).await.expect("appends");
    unit.commit().await.expect("commits");
}

on_both! {
    async fn entries_are_read_as_written_and_contain_the_hash_of_the_one_before(db: &TestDatabase) {
        let first = append(db, fact(PublicationAction::Publish, Some("1.0.0"))).await;
        let second = append(db, fact(PublicationAction::Block, None)).await;
        assert_eq!((first.sequence, first.previous.as_str()), (1, FIRST_PREVIOUS_HASH));
        assert_eq!((second.sequence, &second.previous), (2, &first.hash));
        let mut unit = begin(db).await;
        let mut log = unit.publication_log();
        assert_eq!(log.list(0, 10).await.expect("reads"), [first.clone(), second.clone()]);
        assert_eq!(log.list(0, 1).await.expect("reads"), [first]);
        assert_eq!(log.last().await.expect("reads").as_ref(), Some(&second));
        assert_eq!(log.list(1, 10).await.expect("reads"), [second]);
    }


    async fn two_units_of_work_that_append_at_once_follow_each_other(db: &TestDatabase) {
        let (one, other) = tokio::join!(
            append(db, fact(PublicationAction::Block, None)),
            append(db, fact(PublicationAction::Unblock, None)),
        );
        let (first, second) = if one.sequence == 1 { (one, other) } else { (other, one) };
        assert_eq!((second.sequence, second.previous), (2, first.hash));
    }

    async fn verify_finds_a_changed_a_removed_and_a_missing_entry(db: &TestDatabase) {
        published(db).await;
        append(db, fact(PublicationAction::Block, None)).await;
        append(db, fact(PublicationAction::Unblock, None)).await;
        assert_eq!(breaches(db).await, [""; 0]);
        for (change, undo, expected) in [
            (
                "UPDATE publication_log SET app = 'z2' WHERE sequence = 2",
                "UPDATE publication_log SET app = 'z1' WHERE sequence = 2",
                vec!["entry 2 was changed"],
            ),
            (
                "UPDATE publication_log SET previous = hash WHERE sequence = 3",
                "UPDATE publication_log SET previous = (SELECT l.hash FROM publication_log l WHERE l.sequence = 2) WHERE sequence = 3",
                vec!["entry 3 does not contain the hash of the one before it", "entry 3 was changed"],
            ),
            (
                "UPDATE publication_log_head SET sequence = 4 WHERE id = 1",
                "UPDATE publication_log_head SET sequence = 3 WHERE id = 1",
                vec!["the newest entry is missing"],
            ),
            (
                "UPDATE uploaded_apps SET block_reason = 'harmful'",
                "UPDATE uploaded_apps SET block_reason = NULL",
                vec!["z1 is blocked but not in the log, or the other way round"],
            ),
            (
                "UPDATE uploaded_versions SET yanked_by = 'developer'",
                "UPDATE uploaded_versions SET yanked_by = NULL",
                vec!["z1 1.0.0 is yanked but not in the log, or the other way round"],
            ),
            (
                "UPDATE uploaded_versions SET status = 'APPROVED'",
                "UPDATE uploaded_versions SET status = 'PUBLISHED'",
                vec!["z1 1.0.0 is published but not once in the log, or the other way round"],
            ),
        ] {
            execute(db, change).await;
            assert_eq!(breaches(db).await, expected, "{change}");
            execute(db, undo).await;
        }
        execute(db, "DELETE FROM publication_log WHERE sequence = 2").await;
        let found = breaches(db).await;
        assert!(found.iter().any(|breach| breach == "entry 3 comes after a gap"), "{found:?}");
    }
}
