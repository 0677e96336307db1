//! The emails about steps of a review.

use crate::app::{Buyer, TestApp};
use poem::http::Method;
use semver::Version;
use serde_json::{Value, json};
use souk_adapters::on_both;
use souk_domain::access::{Did, Role};
use souk_domain::publishing::bundle::{NewVersion, UploadSource, UploadedApp, UploadedVersion};
use souk_domain::publishing::review::VersionStatus;
use souk_domain::publishing::{Preferences, change_preferences};
use souk_domain::shared::{CategoryId, Text, VersionId};
use souk_domain::store::Category;
use std::collections::BTreeSet;

/// Stores an app of this developer with the draft of a version, in a store in which each version is reviewed. Returns its review's path.
pub async fn draft(app: &TestApp, owner: &Did, did: &Did) -> String {
    let preferences = Preferences { review_required: true, ..Preferences::default() };
    change_preferences(&app.ctx, 0, preferences).await.expect("are changed");
    let (now, version) = (app.ctx.now(), Version::new(1, 0, 0));
    let mut unit = app.ctx.store.begin().await.expect("begins");
    let id = CategoryId::parse("cat_reviewed").expect("an id");
    let category = Category { id, slug: "reviewed".to_owned(), name: Text::new("Reviewed", "已审核"), position: 90 };
    unit.apps().insert_category(&category).await.expect("inserts");
    let uploaded = UploadedApp {
        did: did.clone(),
        name: "tide-table".to_owned(),
        owner: owner.clone(),
        latest: version.clone(),
        block_reason: None,
        created_at: now,
        updated_at: now,
    };
    unit.uploads().insert_app(&uploaded).await.expect("inserts");
    let uploaded = UploadedVersion {
        id: VersionId::parse("ver_1").expect("an id"),
        app: did.clone(),
        version,
        status: VersionStatus::Draft,
        is_yanked: false,
        document: "a".repeat(64),
        content: "b".repeat(64),
        bundle: "c".repeat(64),
        tarball: "tide-table-1.0.0.tgz".to_owned(),
        integrity: "sha512-x".to_owned(),
        size: 1,
        entries: 1,
        unpacked: 1,
        source: UploadSource::Cli,
        signer: owner.clone(),
        uploaded_at: now,
        files: Vec::new(),
    };
    unit.uploads().insert_version(&uploaded, &NewVersion::default()).await.expect("inserts");
    unit.commit().await.expect("commits");
    format!("/api/apps/{did}/versions/1.0.0/review")
}

pub async fn take(who: &Buyer, path: &str, step: Value) {
    who.browser.call(Method::PUT, path).json(&step).send().await.ok();
}

/// The emails that are not in `seen`, which has them afterwards.
async fn new_emails(app: &TestApp, seen: &mut BTreeSet<String>) -> Vec<Email> {
    app.drain().await;
    let header = |mail: &str, name: &str| {
        let line = mail.lines().find(|line| line.starts_with(name)).unwrap_or_else(|| panic!("no {name} in {mail}"));
        line[name.len()..].trim().to_owned()
    };
    let found: Vec<_> = app.mails().into_iter().filter(|mail| seen.insert(mail.clone())).collect();
    found.into_iter().map(|text| Email { to: header(&text, "To:"), subject: header(&text, "Subject:"), text }).collect()
}

#[derive(Debug)]
struct Email {
    to: String,
    subject: String,
    text: String,
}

on_both! {
    async fn developer_and_reviewers_get_an_email_about_what_the_other_does(db: &TestDatabase) {
        let app = TestApp::on(db).await;
        let (developer, reviewer) = (app.holder_of(Role::Developer).await, app.holder_of(Role::Reviewer).await);
        let path = draft(&app, developer.wallet.did(), app.sign_in("tide").await.wallet.did()).await;
        let mut seen = BTreeSet::from_iter(app.mails());
        for (who, step, to, subject, comment) in [
            (&developer, json!({ "step": "request" }), "reviewer", "tide-table 1.0.0 is waiting for review", ""),
            (&reviewer, json!({ "step": "start" }), "developer", "The review of tide-table 1.0.0 has started", ""),
            (&developer, json!({ "step": "comment", "comment": "Thanks" }), "reviewer", "New comment on tide-table 1.0.0", "Thanks"),
            (
                &reviewer,
                json!({ "step": "approve", "comment": "Well made", "category_id": "cat_reviewed" }),
                "developer",
                "tide-table 1.0.0 is approved",
                "Well made",
            ),
        ] {
            take(who, &path, step).await;
            let found = new_emails(&app, &mut seen).await;
            assert_eq!(found.len(), 1, "{found:?}");
            assert!(found[0].to.contains(to) && found[0].subject == subject, "{found:?} instead of {to}: {subject}");
            assert!(comment.is_empty() || found[0].text.contains(comment), "{found:?}");
        }
        assert_eq!(app.sent_mails(), [""; 0], "their addresses are not confirmed");
        app.finish().await;
    }
}
