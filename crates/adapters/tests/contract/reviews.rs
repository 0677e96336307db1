//! Reviews of versions, their threads and the queue of reviewers.

use crate::checkout_fixtures::{at, begin, did, id};
use crate::uploads::{number, uploaded_app, version};
use souk_adapters::on_both;
use souk_adapters::testing::TestDatabase;
use souk_domain::publishing::ReviewType;
use souk_domain::publishing::bundle::{NewVersion, UploadedApp, UploadedVersion};
use souk_domain::publishing::review::{
    Appeal, CancelReason, Claim, EntryKind, Review, ReviewNeed, ReviewRole, ReviewedVersion, ThreadEntry, VersionStatus, Yank,
};
use souk_domain::shared::{Page, Text};
use souk_domain::store::Category;

/// Stores an app with drafts of these numbers.
async fn upload(db: &TestDatabase, app: &UploadedApp, numbers: &[&str]) {
    let mut unit = begin(db).await;
    unit.uploads().insert_app(app).await.expect("inserts");
    for text in numbers {
        let one = version(&format!("ver_{}_{}", app.name, text.replace('.', "_")), text);
        let one = UploadedVersion { app: app.did.clone(), ..one };
        let new = NewVersion { excluded_reviewer: Some(did("zRob")), ..NewVersion::default() };
        unit.uploads().insert_version(&one, &new).await.expect("inserts");
    }
    unit.commit().await.expect("commits");
}

/// Changes a stored version, and returns it as it was changed.
async fn change(db: &TestDatabase, app: &str, text: &str, change: impl FnOnce(&mut ReviewedVersion)) -> ReviewedVersion {
    let mut unit = begin(db).await;
    let mut stored = unit.reviews().find(&did(app), &number(text)).await.expect("reads").expect("exists");
    change(&mut stored);
    unit.reviews().update(&stored).await.expect("updates");
    unit.commit().await.expect("commits");
    stored
}

fn wait(status: VersionStatus, since: i64) -> impl FnOnce(&mut ReviewedVersion) {
    move |version| {
        version.review.status = status;
        version.requested_at = Some(at(since));
    }
}

on_both! {
    async fn a_review_is_read_as_written(db: &TestDatabase) {
        upload(db, &uploaded_app("z1", "hello"), &["1.0.0"]).await;
        let mut unit = begin(db).await;
        let draft = unit.reviews().find(&did("z1"), &number("1.0.0")).await.expect("reads").expect("exists");
        assert_eq!(draft.review, Review::draft(Some(did("zRob"))));
        drop(unit);
        let written = change(db, "z1", "1.0.0", |version| {
            version.review.status = VersionStatus::Cancelled;
            version.review.claim = Some(Claim { reviewer: did("zRita"), until: at(9) });
            version.review.changes_requested = true;
            version.review.decided_by = Some(did("zRita"));
            version.review.appeal = Some(Appeal::Granted);
            version.review.cancel_reason = Some(CancelReason::ReplacedBy("1.0.1".to_owned()));
            version.review.yank = Some(Yank::ByStore);
            version.requested_at = Some(at(6));
            version.need = Some(ReviewNeed::RiskyDifferences);
            version.published_at = Some(at(7));
        });
        let written = written.await;
        let mut unit = begin(db).await;
        assert_eq!(unit.reviews().find(&did("z1"), &number("1.0.0")).await.expect("reads"), Some(written));
        assert_eq!(unit.reviews().find(&did("z1"), &number("1.0.1")).await.expect("reads"), None);
    }

    async fn the_open_version_of_an_app_is_the_one_under_review(db: &TestDatabase) {
        upload(db, &uploaded_app("z1", "hello"), &["1.0.0", "1.1.0"]).await;
        for status in VersionStatus::ALL {
            change(db, "z1", "1.1.0", wait(*status, 1)).await;
            let mut unit = begin(db).await;
            let open = unit.reviews().find_open(&did("z1")).await.expect("reads");
            assert_eq!(open.map(|open| open.version), status.is_under_review().then(|| number("1.1.0")), "{status:?}");
        }
    }

    async fn what_a_reviewer_decides_about_an_app_is_kept(db: &TestDatabase) {
        upload(db, &uploaded_app("z1", "hello"), &["1.0.0"]).await;
        let category = Category { id: id("cat_1"), slug: "tools".to_owned(), name: Text::new("Tools", "工具"), position: 1 };
        let mut unit = begin(db).await;
        unit.apps().insert_category(&category).await.expect("inserts");
        let fresh = unit.reviews().lock_app(&did("z1")).await.expect("reads").expect("exists");
        assert_eq!((&fresh.category, fresh.review_type, &fresh.block_reason), (&None, None, &None));
        unit.reviews().decide(&did("z1"), &category.id, Some(ReviewType::FirstVersion)).await.expect("decides");
        unit.reviews().decide(&did("z1"), &category.id, None).await.expect("decides");
        let decided = unit.reviews().find_app(&did("z1")).await.expect("reads").expect("exists");
        assert_eq!((decided.category, decided.review_type), (Some(category.id), Some(ReviewType::FirstVersion)));
    }

    async fn a_block_keeps_its_reason_until_it_ends(db: &TestDatabase) {
        upload(db, &uploaded_app("z1", "hello"), &["1.0.0"]).await;
        let mut unit = begin(db).await;
        for reason in [Some("harmful"), None] {
            unit.reviews().set_block(&did("z1"), reason, at(9)).await.expect("is set");
            let app = unit.reviews().find_app(&did("z1")).await.expect("reads").expect("exists");
            assert_eq!(app.block_reason.as_deref(), reason);
        }
    }

    async fn a_yanked_version_is_published_and_not_offered(db: &TestDatabase) {
        upload(db, &uploaded_app("z1", "hello"), &["1.0.0", "1.1.0"]).await;
        for version in ["1.0.0", "1.1.0"] {
            change(db, "z1", version, |version| version.review.status = VersionStatus::Published).await;
        }
        change(db, "z1", "1.1.0", |version| version.review.yank = Some(Yank::ByStore)).await;
        let mut unit = begin(db).await;
        assert_eq!(unit.uploads().published(&did("z1")).await.expect("reads").len(), 2);
        assert_eq!(unit.uploads().offered(&did("z1")).await.expect("reads").versions, [number("1.0.0")]);
        assert!(unit.uploads().find_version(&did("z1"), &number("1.1.0")).await.expect("reads").is_some_and(|version| version.is_yanked));
    }

    async fn the_queue_has_what_waits_longest_first_and_open_appeals(db: &TestDatabase) {
        for (number, name) in [(1, "one"), (2, "two"), (3, "three"), (4, "four"), (5, "five")] {
            upload(db, &uploaded_app(&format!("z{number}"), name), &["1.0.0"]).await;
        }
        change(db, "z1", "1.0.0", wait(VersionStatus::PendingReview, 30)).await;
        change(db, "z2", "1.0.0", wait(VersionStatus::InReview, 10)).await;
        change(db, "z3", "1.0.0", wait(VersionStatus::Approved, 5)).await;
        change(db, "z4", "1.0.0", |version| {
            wait(VersionStatus::Rejected, 20)(version);
            version.review.appeal = Some(Appeal::Open);
        })
        .await;
        let mut unit = begin(db).await;
        let waiting = [VersionStatus::PendingReview, VersionStatus::InReview];
        let page = Page::new(None, None);
        let queue = unit.reviews().queue(&waiting, true, &page).await.expect("lists");
        let names: Vec<_> = queue.list.iter().map(|queued| queued.app_name.as_str()).collect();
        assert_eq!((queue.count, names), (3, vec!["two", "four", "one"]));
        assert_eq!(unit.reviews().queue(&waiting, false, &page).await.expect("lists").count, 2);
        let decided = unit.reviews().queue(&[VersionStatus::Approved], false, &page).await.expect("lists");
        assert_eq!(decided.list.iter().map(|queued| queued.owner.as_str()).collect::<Vec<_>>(), ["zDev"]);
        let second = unit.reviews().queue(&waiting, true, &Page::new(Some(2), Some(2))).await.expect("lists");
        assert_eq!((second.count, second.list.len()), (3, 1));
    }

    async fn a_thread_has_the_latest_entries_oldest_first(db: &TestDatabase) {
        upload(db, &uploaded_app("z1", "hello"), &["1.0.0", "1.1.0"]).await;
        let entry = |number: i64, version: &str| ThreadEntry {
            id: id(&format!("rev_{number}")),
            version: id(version),
            kind: EntryKind::Commented,
            actor: did("zRita"),
            role: ReviewRole::Reviewer,
            comment: format!("Comment {number}"),
            at: at(number),
        };
        let mut unit = begin(db).await;
        for number in 1..4 {
            unit.reviews().insert_entry(&entry(number, "ver_hello_1_0_0")).await.expect("inserts");
        }
        unit.reviews().insert_entry(&entry(4, "ver_hello_1_1_0")).await.expect("inserts");
        let thread = unit.reviews().thread(&id("ver_hello_1_0_0"), 2).await.expect("reads");
        assert_eq!(thread, [entry(2, "ver_hello_1_0_0"), entry(3, "ver_hello_1_0_0")]);
        assert_eq!(unit.reviews().find_entry(&id("rev_1")).await.expect("reads"), Some(entry(1, "ver_hello_1_0_0")));
        assert_eq!(unit.reviews().find_entry(&id("rev_9")).await.expect("reads"), None);
        let versions = unit.reviews().versions(&did("z1"), &Page::new(None, None)).await.expect("lists");
        let numbers: Vec<_> = versions.list.iter().map(|version| version.version.to_string()).collect();
        assert_eq!((versions.count, numbers), (2, vec!["1.1.0".to_owned(), "1.0.0".to_owned()]));
    }
}
