//! Every step in every status by every role, legal and illegal.

use super::*;
use crate::access::{Did, Role};
use crate::publishing::{Preferences, ReviewType};
use crate::shared::{CategoryId, Timestamp};
use std::time::Duration;

const NOW: Timestamp = Timestamp::from_seconds(1_000_000);

fn did(name: &str) -> Did {
    Did::from_verified(name)
}

fn actor(role: ReviewRole) -> ReviewActor {
    ReviewActor { did: did(role.name()), role }
}

fn text() -> String {
    "Because".to_owned()
}

fn category() -> Option<CategoryId> {
    Some(CategoryId::parse("cat_tools").expect("an id"))
}

/// A version with this status, in which a step can be legal: its claim belongs to `claimed_by`.
fn version(status: VersionStatus, claimed_by: &str) -> Review {
    let mut review = Review { status, ..Review::draft(None) };
    if status == VersionStatus::InReview {
        review.claim = Some(Claim { reviewer: did(claimed_by), until: NOW.plus(Duration::from_secs(60)) });
    }
    if status == VersionStatus::Rejected {
        review.decided_by = Some(did("someone"));
    }
    review
}

fn app() -> AppReviewFacts {
    AppReviewFacts::of_new_app(&Preferences { review_required: true, ..Preferences::default() }, None)
}

/// The resulting status, or the name of the refusal.
fn result(review: &Review, app: &AppReviewFacts, by: &ReviewActor, step: &Step) -> String {
    match take_step(review, app, by, step, NOW) {
        Ok(outcome) => outcome.review.status.name().to_owned(),
        Err(refusal) => format!("{refusal:?}").split('(').next().unwrap_or_default().to_owned(),
    }
}

use ReviewRole::{Admin, AppOwner, OtherDeveloper, Reviewer, StoreOwner, System};

const STAFF: &[ReviewRole] = &[Reviewer, Admin, StoreOwner];

/// A step, who may take it, and what becomes of a version in each status, in the order of [`VersionStatus::ALL`].
type Row = (fn() -> Step, &'static [ReviewRole], [&'static str; 7]);

const SAME: [&str; 7] = ["DRAFT", "PENDING_REVIEW", "IN_REVIEW", "APPROVED", "REJECTED", "PUBLISHED", "CANCELLED"];

/// In review it becomes `becomes`.
const fn in_review_only(becomes: &'static str) -> [&'static str; 7] {
    ["NotRequested", "NotStarted", becomes, "AlreadyApproved", "Rejected", "AlreadyPublished", "Cancelled"]
}

const ONLY_REJECTED: [&str; 7] = ["NotRejected", "NotRejected", "NotRejected", "NotRejected", "REJECTED", "NotRejected", "NotRejected"];
const ONLY_PUBLISHED: [&str; 7] =
    ["NotPublished", "NotPublished", "NotPublished", "NotPublished", "NotPublished", "PUBLISHED", "NotPublished"];

const TABLE: [Row; 21] = [
    (
        || Step::Request,
        &[AppOwner],
        ["PENDING_REVIEW", "AlreadyInReview", "AlreadyInReview", "AlreadyApproved", "Rejected", "AlreadyPublished", "Cancelled"],
    ),
    (|| Step::Start, STAFF, ["NotRequested", "IN_REVIEW", "ClaimedBy", "AlreadyApproved", "Rejected", "AlreadyPublished", "Cancelled"]),
    (|| Step::Renew, STAFF, in_review_only("IN_REVIEW")),
    (|| Step::TakeOver, STAFF, in_review_only("IN_REVIEW")),
    (
        || Step::Comment { comment: text() },
        &[AppOwner, Reviewer, Admin, StoreOwner],
        ["NotCommentable", "PENDING_REVIEW", "IN_REVIEW", "APPROVED", "REJECTED", "PUBLISHED", "CANCELLED"],
    ),
    (|| Step::RequestChanges { comment: text() }, STAFF, in_review_only("IN_REVIEW")),
    (|| Step::Approve { comment: text(), category: category(), review_type: None }, STAFF, in_review_only("APPROVED")),
    (|| Step::Reject { comment: text() }, STAFF, in_review_only("REJECTED")),
    (|| Step::Cancel, &[AppOwner], ["NotRequested", "CANCELLED", "CANCELLED", "CANCELLED", "Rejected", "AlreadyPublished", "Cancelled"]),
    (|| Step::Appeal { comment: text() }, &[AppOwner], ONLY_REJECTED),
    (|| Step::GrantAppeal { comment: text() }, STAFF, ONLY_REJECTED),
    (|| Step::DenyAppeal { comment: text() }, STAFF, ONLY_REJECTED),
    (
        || Step::Publish,
        &[AppOwner, System],
        ["NeedsReview", "NeedsReview", "AlreadyInReview", "PUBLISHED", "Rejected", "AlreadyPublished", "Cancelled"],
    ),
    (
        || Step::Schedule { at: NOW.plus(Duration::from_secs(60)) },
        &[AppOwner],
        ["DRAFT", "PENDING_REVIEW", "IN_REVIEW", "APPROVED", "Rejected", "AlreadyPublished", "Cancelled"],
    ),
    (|| Step::Unschedule, &[AppOwner, System], SAME),
    (|| Step::Yank { reason: text() }, &[AppOwner, Admin, StoreOwner], ONLY_PUBLISHED),
    (|| Step::UndoYank, &[AppOwner, Admin, StoreOwner], ONLY_PUBLISHED),
    (|| Step::RollBack, &[AppOwner, Admin, StoreOwner], ONLY_PUBLISHED),
    (|| Step::Block { reason: text() }, &[Admin, StoreOwner, System], SAME),
    (|| Step::Unblock, &[Admin, StoreOwner], SAME),
    (|| Step::ReplacedBy { version: "1.0.1".to_owned() }, &[System], in_review_only("CANCELLED")),
];

/// The row of a step. The compiler refuses a step without one.
const fn row_of(step: &Step) -> usize {
    match step {
        Step::Request => 0,
        Step::Start => 1,
        Step::Renew => 2,
        Step::TakeOver => 3,
        Step::Comment { .. } => 4,
        Step::RequestChanges { .. } => 5,
        Step::Approve { .. } => 6,
        Step::Reject { .. } => 7,
        Step::Cancel => 8,
        Step::Appeal { .. } => 9,
        Step::GrantAppeal { .. } => 10,
        Step::DenyAppeal { .. } => 11,
        Step::Publish => 12,
        Step::Schedule { .. } => 13,
        Step::Unschedule => 14,
        Step::Yank { .. } => 15,
        Step::UndoYank => 16,
        Step::RollBack => 17,
        Step::Block { .. } => 18,
        Step::Unblock => 19,
        Step::ReplacedBy { .. } => 20,
    }
}

/// The version and the app with which the other conditions of a step are fulfilled.
fn prepared(step: &Step, status: VersionStatus, by: &ReviewActor) -> (Review, AppReviewFacts) {
    let holder = if matches!(step, Step::Start | Step::TakeOver) { "someone" } else { by.did.as_str() };
    let mut review = version(status, holder);
    review.appeal = matches!(step, Step::GrantAppeal { .. } | Step::DenyAppeal { .. }).then_some(Appeal::Open);
    review.changes_requested = matches!(step, Step::ReplacedBy { .. });
    review.publish_at = matches!(step, Step::Unschedule).then_some(NOW);
    review.yank = matches!(step, Step::UndoYank).then_some(Yank::ByDeveloper);
    (review, AppReviewFacts { blocked: matches!(step, Step::Unblock), ..app() })
}

#[test]
fn each_step_in_each_status_by_each_role_is_legal_or_refused_by_name() {
    for (row, (step, allowed, cells)) in TABLE.into_iter().enumerate() {
        let step = step();
        assert_eq!(row_of(&step), row, "{step:?}");
        for (status, cell) in VersionStatus::ALL.iter().zip(cells) {
            for role in ReviewRole::ALL {
                let by = actor(*role);
                let (review, app) = prepared(&step, *status, &by);
                let expected = if allowed.contains(role) { cell } else { "NotAllowed" };
                assert_eq!(result(&review, &app, &by, &step), expected, "{step:?} in {status:?} by {role:?}");
            }
        }
    }
}

/// A condition that is not fulfilled: the change to a version and its app that makes the step legal otherwise, and the refusal.
type Condition = (Step, VersionStatus, ReviewRole, fn(&mut Review, &mut AppReviewFacts), &'static str);

#[test]
fn each_condition_of_a_step_is_refused_by_its_own_name() {
    let approve = |comment: &str, category| Step::Approve { comment: comment.to_owned(), category, review_type: None };
    let schedule = |seconds: u64| Step::Schedule { at: NOW.plus(Duration::from_secs(seconds)) };
    let expire: fn(&mut Review, &mut AppReviewFacts) = |review, _| review.claim.as_mut().expect("a claim").until = NOW;
    let foreign: fn(&mut Review, &mut AppReviewFacts) = |review, _| review.claim.as_mut().expect("a claim").reviewer = did("someone");
    let nothing: fn(&mut Review, &mut AppReviewFacts) = |_, _| ();
    let block: fn(&mut Review, &mut AppReviewFacts) = |_, app| app.blocked = true;
    use VersionStatus::{Approved, Draft, InReview, PendingReview, Published, Rejected};
    let conditions: [Condition; 41] = [
        (Step::Request, Draft, AppOwner, block, "AppBlocked"),
        (Step::Request, Draft, AppOwner, |_, app| app.has_uploaded_higher = true, "Superseded"),
        (Step::Publish, Approved, AppOwner, block, "AppBlocked"),
        (Step::Publish, Approved, System, |_, app| app.has_published_higher = true, "Outdated"),
        (Step::Publish, InReview, AppOwner, |_, app| app.review_required = false, "AlreadyInReview"),
        (schedule(60), InReview, AppOwner, block, "AppBlocked"),
        (schedule(60), Approved, AppOwner, |_, app| app.has_published_higher = true, "Outdated"),
        (schedule(60), Draft, AppOwner, |_, app| app.review_required = false, "CategoryRequired"),
        (schedule(60), Draft, AppOwner, |_, app| app.has_uploaded_higher = true, "Superseded"),
        (schedule(0), Approved, AppOwner, nothing, "ScheduleInPast"),
        (schedule(366 * 86_400), Approved, AppOwner, nothing, "ScheduleTooFar"),
        (Step::Unschedule, Approved, AppOwner, nothing, "NotScheduled"),
        (Step::Unschedule, Published, System, nothing, "NotScheduled"),
        (approve(" ", category()), InReview, Reviewer, nothing, "CommentRequired"),
        (approve(&"a".repeat(REVIEW_COMMENT_MAX + 1), category()), InReview, Reviewer, nothing, "CommentTooLong"),
        (approve("Good", None), InReview, Reviewer, nothing, "CategoryRequired"),
        (approve("Good", category()), InReview, Reviewer, expire, "ClaimExpired"),
        (approve("Good", category()), InReview, Reviewer, foreign, "ClaimedBy"),
        (approve("Good", category()), InReview, StoreOwner, foreign, "ClaimedBy"),
        (Step::Reject { comment: String::new() }, InReview, Admin, nothing, "CommentRequired"),
        (Step::Reject { comment: text() }, InReview, Admin, foreign, "ClaimedBy"),
        (
            Step::RequestChanges { comment: text() },
            InReview,
            Reviewer,
            |review, _| review.changes_requested = true,
            "ChangesRequestedAlready",
        ),
        (Step::Renew, InReview, Reviewer, foreign, "ClaimedBy"),
        (Step::TakeOver, InReview, Reviewer, nothing, "ClaimedByYou"),
        (Step::Start, InReview, Reviewer, nothing, "ClaimedByYou"),
        (Step::Start, PendingReview, Reviewer, |review, _| review.excluded_reviewer = Some(did("reviewer")), "Excluded"),
        (Step::Reject { comment: text() }, InReview, Reviewer, |review, _| review.excluded_reviewer = Some(did("reviewer")), "Excluded"),
        (Step::Comment { comment: " \n".to_owned() }, Published, AppOwner, nothing, "CommentRequired"),
        (Step::Appeal { comment: text() }, Rejected, AppOwner, |review, _| review.appeal = Some(Appeal::Denied), "AppealedAlready"),
        (Step::GrantAppeal { comment: text() }, Rejected, Reviewer, nothing, "NoAppeal"),
        (Step::Yank { reason: String::new() }, Published, AppOwner, nothing, "ReasonRequired"),
        (Step::Yank { reason: text() }, Published, AppOwner, |review, _| review.yank = Some(Yank::ByStore), "AlreadyYanked"),
        (Step::UndoYank, Published, AppOwner, |review, _| review.yank = Some(Yank::ByStore), "YankedByStore"),
        (Step::UndoYank, Published, AppOwner, nothing, "NotYanked"),
        (Step::RollBack, Published, AppOwner, |review, _| review.yank = Some(Yank::ByDeveloper), "Withdrawn"),
        (Step::RollBack, Published, Admin, |_, app| app.is_current = true, "AlreadyCurrent"),
        (Step::Block { reason: String::new() }, Published, Admin, nothing, "ReasonRequired"),
        (Step::Block { reason: "a".repeat(BLOCK_REASON_MAX + 1) }, Published, Admin, nothing, "ReasonTooLong"),
        (Step::Block { reason: text() }, Published, Admin, block, "AlreadyBlocked"),
        (Step::Unblock, Published, Admin, nothing, "NotBlocked"),
        (Step::ReplacedBy { version: "1.0.1".to_owned() }, InReview, System, nothing, "NoChangesRequested"),
    ];
    for (step, status, role, change, refusal) in conditions {
        let by = actor(role);
        let (mut review, mut app) = (version(status, by.did.as_str()), app());
        change(&mut review, &mut app);
        assert_eq!(result(&review, &app, &by, &step), refusal, "{step:?} in {status:?} by {role:?}");
    }
}

#[test]
fn an_appeal_is_decided_by_another_reviewer_or_by_the_owner_of_the_store() {
    for (role, expected) in [(Reviewer, "OwnDecision"), (Admin, "OwnDecision"), (StoreOwner, "REJECTED")] {
        let by = actor(role);
        let rejected =
            Review { decided_by: Some(by.did.clone()), appeal: Some(Appeal::Open), ..version(VersionStatus::Rejected, "nobody") };
        assert_eq!(result(&rejected, &app(), &by, &Step::GrantAppeal { comment: text() }), expected, "{role:?}");
        let follower = Review { status: VersionStatus::PendingReview, ..Review::draft(rejected.decided_by) };
        let expected = if role == StoreOwner { "IN_REVIEW" } else { "Excluded" };
        assert_eq!(result(&follower, &app(), &by, &Step::Start), expected, "{role:?}");
    }
}

#[test]
fn an_expired_claim_is_renewed_by_its_reviewer_or_continued_by_another() {
    let expired = |holder: &str| {
        let mut review = version(VersionStatus::InReview, holder);
        review.claim.as_mut().expect("a claim").until = NOW;
        review
    };
    let by = actor(Reviewer);
    for (holder, step) in [("reviewer", Step::Renew), ("someone", Step::Start), ("someone", Step::TakeOver)] {
        let outcome = take_step(&expired(holder), &app(), &by, &step, NOW).expect("is legal");
        let claim = outcome.review.claim.expect("a claim");
        assert_eq!((claim.reviewer, claim.until), (by.did.clone(), NOW.plus(CLAIM_LIFETIME)), "{step:?}");
    }
}

#[test]
fn a_version_is_published_directly_where_no_review_is_needed() {
    let free = AppReviewFacts { review_required: false, ..app() };
    for status in [VersionStatus::Draft, VersionStatus::PendingReview] {
        assert_eq!(result(&version(status, "nobody"), &free, &actor(AppOwner), &Step::Publish), "PUBLISHED");
    }
    let later = AppReviewFacts { has_published: true, review_type: ReviewType::FirstVersion, ..app() };
    let draft = version(VersionStatus::Draft, "nobody");
    assert_eq!(result(&draft, &later, &actor(System), &Step::Publish), "PUBLISHED");
    let risky = RiskyDifferences { permissions: vec!["camera".to_owned()], ..RiskyDifferences::default() };
    let held = AppReviewFacts { differences: risky, ..later };
    let refused = take_step(&draft, &held, &actor(System), &Step::Publish, NOW);
    assert_eq!(refused, Err(Refusal::NeedsReview(ReviewNeed::RiskyDifferences)));
}

#[test]
fn the_owner_of_an_app_is_nothing_else_towards_it() {
    assert_eq!(ReviewRole::of(true, &[Role::Owner, Role::Developer]), Some(AppOwner));
    assert_eq!(ReviewRole::of(false, &[Role::Developer, Role::Reviewer]), Some(Reviewer));
    assert_eq!(ReviewRole::of(false, &[Role::Developer]), Some(OtherDeveloper));
    assert_eq!(ReviewRole::of(false, &[]), None);
}

#[test]
fn a_scheduled_publication_ends_with_the_version() {
    let at = NOW.plus(Duration::from_secs(60));
    let review = Review { publish_at: Some(at), ..version(VersionStatus::InReview, "reviewer") };
    let take = |step: &Step, role| take_step(&review, &app(), &actor(role), step, NOW).expect("is legal").review.publish_at;
    assert_eq!(take(&Step::Approve { comment: text(), category: category(), review_type: None }, Reviewer), Some(at));
    assert_eq!(take(&Step::Reject { comment: text() }, Reviewer), None);
    assert_eq!(take(&Step::Cancel, AppOwner), None);
}
