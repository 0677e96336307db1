//! The emails about steps of a review, in both languages.

use super::email_service::EmailService;
use crate::identity::HmacSigner;
use semver::Version;
use souk_domain::access::{Did, SignedLinks};
use souk_domain::billing::Recipient;
use souk_domain::publishing::review::{EntryKind, ReviewEmail, Unpublished};
use souk_domain::publishing::staking::PUBLISH_STAKE_REVOKED;
use souk_domain::shared::{Language, ReviewEntryId, Timestamp};
use std::collections::BTreeSet;
use std::sync::Arc;

fn mail(kind: EntryKind, is_developer: bool, language: Language) -> super::Outgoing {
    send(ReviewEmail { recipient: recipient(language), is_developer, kind, ..email() })
}

fn recipient(language: Language) -> Recipient {
    Recipient { name: "Mei".to_owned(), email: "mei@store.example".to_owned(), language }
}

fn send(email: ReviewEmail) -> super::Outgoing {
    let tokens = SignedLinks::new(Arc::new(HmacSigner::new(&[6; 32])));
    let service = EmailService { store_name: "Lantern", public_url: "https://store.example/", tokens: &tokens };
    service.review_step(&email)
}

fn email() -> ReviewEmail {
    ReviewEmail {
        to: Did::from_verified("z1mei"),
        recipient: recipient(Language::English),
        is_developer: true,
        entry: ReviewEntryId::parse("rev_1").expect("an id"),
        kind: EntryKind::Approved,
        app: Did::from_verified("z1app"),
        app_name: "Tide\ntable".to_owned(),
        version: Version::new(1, 2, 0),
        is_published_by_store: false,
        comment: "Please <b>name</b> the licence.".to_owned(),
        at: Timestamp::from_seconds(0),
    }
}

#[test]
fn the_developer_of_an_approved_version_reads_who_publishes_it() {
    for (is_published_by_store, language, text) in [
        (false, Language::English, "You can publish the version now."),
        (true, Language::English, "The store publishes the version automatically"),
        (false, Language::Chinese, "你现在可以发布此版本"),
        (true, Language::Chinese, "自动发布此版本"),
    ] {
        let sent = send(ReviewEmail { is_published_by_store, recipient: recipient(language), ..email() });
        assert!(sent.text.contains(text), "{}", sent.text);
    }
}

#[test]
fn reasons_that_the_store_has_written_are_translated() {
    for (kind, comment, text) in [
        (EntryKind::AppBlocked, PUBLISH_STAKE_REVOKED, "开发者撤回了此应用的押金"),
        (EntryKind::NotPublished, Unpublished::ChecksFailed.name(), "有检查未通过"),
    ] {
        let sent = send(ReviewEmail { kind, comment: comment.to_owned(), recipient: recipient(Language::Chinese), ..email() });
        assert!(sent.text.contains(text) && !sent.text.contains(comment), "{}", sent.text);
    }
}

#[test]
fn the_developer_reads_the_decision_the_comment_and_where_to_act() {
    let english = mail(EntryKind::ChangesRequested, true, Language::English);
    assert_eq!(english.subject, "Changes are requested for Tide table 1.2.0");
    for part in
        ["Hello Mei,", "Please <b>name</b> the licence.", "https://store.example/developer/apps/z1app/1.2.0", "a developer at Lantern"]
    {
        assert!(english.text.contains(part), "{}", english.text);
    }
    assert!(!english.html.contains("<b>name</b>"), "what users write is escaped");
    let chinese = mail(EntryKind::ChangesRequested, true, Language::Chinese);
    assert_eq!(chinese.subject, "Tide table 1.2.0 需要修改");
    assert!(chinese.text.contains("请修改后上传更高的版本"), "{}", chinese.text);
}

#[test]
fn a_reviewer_gets_the_link_to_the_review() {
    let english = mail(EntryKind::Requested, false, Language::English);
    assert_eq!(english.subject, "Tide table 1.2.0 is waiting for review");
    for part in ["https://store.example/console/reviews/z1app/1.2.0", "because you review apps at Lantern"] {
        assert!(english.text.contains(part), "{}", english.text);
    }
}

#[test]
fn each_kind_of_step_has_a_subject_of_its_own_in_both_languages() {
    for language in [Language::English, Language::Chinese] {
        let subjects: BTreeSet<_> = EntryKind::ALL.iter().map(|kind| mail(*kind, true, language).subject).collect();
        // A renewal sends no email.
        assert_eq!(subjects.len(), EntryKind::ALL.len() - 1, "{subjects:?}");
    }
}
