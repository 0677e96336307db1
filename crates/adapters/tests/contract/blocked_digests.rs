//! Blocked content, and the versions that contain it.

use crate::checkout_fixtures::{at, begin, context, did, id, read};
use crate::uploads::{uploaded_app, version};
use souk_adapters::on_both;
use souk_adapters::testing::TestDatabase;
use souk_domain::publishing::bundle::{FileDigest, NewVersion, UploadedVersion};
use souk_domain::publishing::digests::{DigestError, block_digest, continue_checks, unblock_digest};
use souk_domain::publishing::review::VersionStatus;
use souk_domain::shared::Page;

fn hash(digit: &str) -> String {
    digit.repeat(64)
}

/// Records versions of one app with what they contain, each content as two files.
async fn upload(db: &TestDatabase, versions: &[(UploadedVersion, &[String])]) {
    let mut unit = begin(db).await;
    assert!(unit.uploads().insert_app(&uploaded_app("z1", "hello")).await.expect("inserts"));
    for (version, contents) in versions {
        assert!(unit.uploads().insert_version(version, &NewVersion::default()).await.expect("inserts"));
        let file = |sha256: &String, folder| FileDigest { path: format!("{folder}/{sha256}"), sha256: sha256.clone(), size: 1 };
        let files: Vec<_> = ["a", "b"].iter().flat_map(|folder| contents.iter().map(move |sha256| file(sha256, folder))).collect();
        unit.uploads().list_files(&version.id, &files).await.expect("lists");
    }
    unit.commit().await.expect("commits");
}

async fn ordered_checks(db: &TestDatabase) -> u64 {
    let mut connection = db.read().await.expect("reads");
    let select = "SELECT count(*) AS n FROM outbox WHERE topic = 'check_version'";
    connection.query(select).one().await.expect("counts").get("n").expect("n")
}

on_both! {
    async fn blocked_digests_are_listed_with_the_number_of_their_versions(db: &TestDatabase) {
        let published = UploadedVersion { status: VersionStatus::Published, ..version("ver_1", "1.0.0") };
        let draft = version("ver_2", "1.1.0");
        upload(db, &[(published, &[hash("a"), hash("b")]), (draft, &[hash("a")])]).await;
        let mut unit = begin(db).await;
        for (digit, reason, at_seconds) in [("a", "A known Miner", 1), ("c", "100% spam", 2), ("b", "first", 3), ("b", "second", 9)] {
            unit.digests().block(&hash(digit), reason, at(at_seconds)).await.expect("blocks");
        }
        assert_eq!(unit.digests().count().await.expect("counts"), 3);
        let page = Page::new(None, Some(2));
        let listed = unit.digests().list("", &page).await.expect("lists");
        let facts: Vec<_> = listed.list.iter().map(|one| (one.sha256.clone(), one.reason.as_str(), one.versions, one.offered)).collect();
        let expected = vec![(hash("b"), "second", 1, 1), (hash("c"), "100% spam", 2, 1)];
        assert_eq!((listed.count, facts), (3, expected), "the bundle of both versions is c");
        for (keyword, found) in [("MINER", "a"), (" 100% ", "c"), (&hash("b")[..6], "b")] {
            let listed = unit.digests().list(keyword, &page).await.expect("lists");
            assert_eq!((listed.count, listed.list.first().map(|one| one.sha256.clone())), (1, Some(hash(found))), "{keyword}");
        }
        assert_eq!(unit.digests().list("0%s", &page).await.expect("lists").count, 0, "wildcards are characters");
        let first = unit.digests().find(&hash("a")).await.expect("reads").expect("is blocked");
        assert_eq!((first.versions, first.offered, first.created_at), (2, 1, at(1)));
        let among = unit.digests().among(&[hash("a"), hash("d")]).await.expect("reads");
        assert_eq!(among, [(hash("a"), "A known Miner".to_owned())].into());
        for (version, reason) in [("ver_1", Some("A known Miner")), ("ver_2", Some("A known Miner")), ("ver_9", None)] {
            assert_eq!(unit.digests().reason_against(&id(version)).await.expect("reads").as_deref(), reason, "{version}");
        }
        assert!(unit.digests().unblock(&hash("a")).await.expect("unblocks"));
        for (version, reason) in [("ver_1", Some("second")), ("ver_2", None)] {
            assert_eq!(unit.digests().reason_against(&id(version)).await.expect("reads").as_deref(), reason, "{version}");
        }
        assert!(!unit.digests().unblock(&hash("a")).await.expect("answers"));
        assert_eq!(unit.digests().find(&hash("a")).await.expect("reads"), None);
    }

    async fn versions_with_some_content_are_found_those_that_are_offered_first(db: &TestDatabase) {
        let published = UploadedVersion { status: VersionStatus::Published, ..version("ver_1", "1.0.0") };
        let (draft, other) = (version("ver_2", "1.1.0"), version("ver_3", "1.2.0"));
        let shared = [hash("a")];
        upload(db, &[(published, &shared), (draft, &shared), (other, &[hash("b")])]).await;
        let mut unit = begin(db).await;
        let found = unit.digests().versions_with(&hash("a"), &Page::new(None, None)).await.expect("reads");
        let facts: Vec<_> = found.list.iter().map(|one| (one.id.as_str(), one.app_name.as_str(), one.is_offered)).collect();
        assert_eq!((found.count, facts), (2, vec![("ver_1", "hello", true), ("ver_2", "hello", false)]));
        let second = unit.digests().versions_with(&hash("a"), &Page::new(Some(2), Some(1))).await.expect("reads");
        assert_eq!((second.count, second.list[0].version.to_string(), second.list[0].uploaded_at), (2, "1.1.0".to_owned(), at(5)));
        unit.reviews().set_block(&did("z1"), Some("spam"), at(9)).await.expect("blocks");
        let found = unit.digests().versions_with(&hash("a"), &Page::new(None, None)).await.expect("reads");
        assert!(found.list.iter().all(|one| !one.is_offered), "nobody gets a blocked app");
        unit.digests().block(&hash("a"), "a miner", at(9)).await.expect("blocks");
        let blocked = unit.digests().find(&hash("a")).await.expect("reads").expect("is blocked");
        assert_eq!((blocked.versions, blocked.offered), (2, 0));
    }

    async fn the_checks_of_versions_run_again_when_their_content_is_blocked_and_unblocked(db: &TestDatabase) {
        upload(db, &[(version("ver_1", "1.0.0"), &[hash("a")]), (version("ver_2", "1.1.0"), &[hash("b")])]).await;
        let ctx = context(db, at(5));
        let blocked = block_digest(&ctx, &format!(" SHA256:{}", hash("A")), " a miner ").await.expect("blocks");
        assert_eq!((blocked.sha256.as_str(), blocked.reason.as_str(), blocked.versions), (hash("a").as_str(), "a miner", 1));
        assert_eq!(ordered_checks(db).await, 1);
        unblock_digest(&ctx, &hash("a")).await.expect("unblocks");
        assert_eq!(ordered_checks(db).await, 2);
        assert!(matches!(unblock_digest(&ctx, &hash("a")).await, Err(DigestError::NotFound)));
        assert_eq!(ordered_checks(db).await, 2);
        for (digit, ordered) in [("a", 2), ("b", 3)] {
            continue_checks(&ctx, &hash(digit), &id("ver_1")).await.expect("goes on after it");
            assert_eq!(ordered_checks(db).await, ordered, "{digit}");
        }
        for (digest, reason, message) in [
            ("abc", "a miner", "A digest is the SHA-256 of a file: 64 hexadecimal digits"),
            (hash("a").as_str(), "  ", "A reason is required"),
            (hash("a").as_str(), "r".repeat(256).as_str(), "Block reason length should not exceed 255"),
        ] {
            assert_eq!(block_digest(&ctx, digest, reason).await.expect_err("is refused").to_string(), message);
        }
        assert!(block_digest(&ctx, &hash("a"), "two\nlines").await.is_err());
        assert_eq!(read(db).await.digests().count().await.expect("counts"), 0);
    }
}
