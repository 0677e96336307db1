//! Random histories of an app: whatever its developer, other developers, reviewers and the store do in whatever order, no version is
//! published that must not be. The defects of reference/store.md 3 would show here.

use super::*;
use crate::access::Did;
use crate::publishing::{Preferences, ReviewType};
use crate::shared::{CategoryId, Timestamp};
use proptest::prelude::*;
use std::time::Duration;

#[derive(Debug, Clone)]
enum Act {
    /// Uploads a version higher than all others, if the newest one allows that.
    Upload,
    /// Takes a step on the n-th newest version.
    Take { version: usize, by: ReviewActor, step: Step },
    /// Time passes.
    Wait { hours: u64 },
    /// The owner of the store changes whether reviews are required.
    Require(bool),
    /// The next versions add a permission, or do not.
    AddRisk(bool),
}

fn actor() -> impl Strategy<Value = ReviewActor> {
    let people = [
        ("developer", ReviewRole::AppOwner),
        ("rival", ReviewRole::OtherDeveloper),
        ("rita", ReviewRole::Reviewer),
        ("robert", ReviewRole::Reviewer),
        ("adam", ReviewRole::Admin),
        ("olga", ReviewRole::StoreOwner),
        ("store", ReviewRole::System),
    ];
    proptest::sample::select(people.to_vec()).prop_map(|(name, role)| ReviewActor { did: Did::from_verified(name), role })
}

fn step() -> impl Strategy<Value = Step> {
    let comment = || proptest::sample::select(vec!["", "Because", " "]).prop_map(ToOwned::to_owned);
    let category = proptest::option::weighted(0.8, Just(CategoryId::parse("cat_1").expect("an id")));
    let review_type = proptest::option::of(proptest::sample::select(ReviewType::ALL.to_vec()));
    prop_oneof![
        Just(Step::Request),
        Just(Step::Start),
        Just(Step::Renew),
        Just(Step::TakeOver),
        comment().prop_map(|comment| Step::Comment { comment }),
        comment().prop_map(|comment| Step::RequestChanges { comment }),
        (comment(), category, review_type).prop_map(|(comment, category, review_type)| Step::Approve { comment, category, review_type }),
        comment().prop_map(|comment| Step::Reject { comment }),
        Just(Step::Cancel),
        comment().prop_map(|comment| Step::Appeal { comment }),
        comment().prop_map(|comment| Step::GrantAppeal { comment }),
        comment().prop_map(|comment| Step::DenyAppeal { comment }),
        Just(Step::Publish),
        (1..90_u64).prop_map(|hours| Step::Schedule { at: Timestamp::from_seconds(1_000_000).plus(Duration::from_secs(hours * 3_600)) }),
        Just(Step::Unschedule),
        comment().prop_map(|reason| Step::Yank { reason }),
        Just(Step::UndoYank),
        Just(Step::RollBack),
        comment().prop_map(|reason| Step::Block { reason }),
        Just(Step::Unblock),
        Just(Step::ReplacedBy { version: "9.9.9".to_owned() }),
    ]
}

fn act() -> impl Strategy<Value = Act> {
    prop_oneof![
        3 => Just(Act::Upload),
        20 => (0..3_usize, actor(), step()).prop_map(|(version, by, step)| Act::Take { version, by, step }),
        1 => (1..40_u64).prop_map(|hours| Act::Wait { hours }),
        1 => any::<bool>().prop_map(Act::Require),
        1 => any::<bool>().prop_map(Act::AddRisk),
    ]
}

/// A version with the events that have happened to it.
struct Version {
    review: Review,
    events: Vec<(ReviewEvent, ReviewActor)>,
    is_risky: bool,
}

struct History {
    versions: Vec<Version>,
    blocked: bool,
    required: bool,
    review_type: ReviewType,
    is_risky: bool,
    now: Timestamp,
}

impl History {
    fn facts(&self, index: usize) -> AppReviewFacts {
        let is_published = |version: &Version| version.review.status == VersionStatus::Published;
        let permissions = if self.versions[index].is_risky { vec!["camera".to_owned()] } else { Vec::new() };
        AppReviewFacts {
            blocked: self.blocked,
            has_published: self.versions.iter().any(is_published),
            has_published_higher: self.versions[index + 1..].iter().any(is_published),
            has_uploaded_higher: index + 1 < self.versions.len(),
            review_required: self.required,
            review_type: self.review_type,
            differences: RiskyDifferences { permissions, ..RiskyDifferences::default() },
            is_current: false,
            has_category: true,
        }
    }

    fn upload(&mut self) {
        let mut excluded = None;
        if let Some(newest) = self.versions.last() {
            if self.blocked || !newest.review.allows_upload() {
                return;
            }
            excluded = newest.review.excluded_from_next();
            if newest.review.status == VersionStatus::InReview {
                let store = ReviewActor { did: Did::from_verified("store"), role: ReviewRole::System };
                let index = self.versions.len() - 1;
                self.take(index, &store, &Step::ReplacedBy { version: "next".to_owned() });
            }
        }
        self.versions.push(Version { review: Review::draft(excluded), events: Vec::new(), is_risky: self.is_risky });
    }

    fn take(&mut self, index: usize, by: &ReviewActor, step: &Step) {
        let (facts, before) = (self.facts(index), self.versions[index].review.clone());
        let Ok(outcome) = take_step(&before, &facts, by, step, self.now) else { return };
        check_step(&before, &facts, &outcome, by, self.now);
        match &outcome.event {
            ReviewEvent::AppBlocked => self.blocked = true,
            ReviewEvent::AppUnblocked => self.blocked = false,
            ReviewEvent::Approved { review_type: Some(chosen), .. } => self.review_type = *chosen,
            _ => {}
        }
        let version = &mut self.versions[index];
        version.review = outcome.review;
        version.events.push((outcome.event, by.clone()));
    }

    fn run(&mut self, act: &Act) {
        match act {
            Act::Upload => self.upload(),
            Act::Take { version, by, step } => {
                if let Some(index) = self.versions.len().checked_sub(version + 1) {
                    self.take(index, by, step);
                }
            }
            Act::Wait { hours } => self.now = self.now.plus(Duration::from_secs(hours * 3_600)),
            Act::Require(required) => self.required = *required,
            Act::AddRisk(is_risky) => self.is_risky = *is_risky,
        }
    }
}

/// What holds of each single step.
fn check_step(before: &Review, app: &AppReviewFacts, outcome: &Outcome, by: &ReviewActor, now: Timestamp) {
    let (after, event) = (&outcome.review, &outcome.event);
    if matches!(before.status, VersionStatus::Rejected | VersionStatus::Cancelled | VersionStatus::Published) {
        assert_eq!(after.status, before.status, "a rejected, cancelled or published version keeps its status: {event:?}");
    }
    let is_final = matches!(after.status, VersionStatus::Rejected | VersionStatus::Cancelled | VersionStatus::Published);
    assert!(after.publish_at.is_none() || !is_final, "a version that is final is not scheduled: {event:?}");
    assert_eq!(after.claim.is_some(), after.status == VersionStatus::InReview, "exactly the versions in review have a claim");
    match event {
        ReviewEvent::Published => {
            assert!(!app.blocked && !app.has_published_higher);
            assert!(before.status == VersionStatus::Approved || review_need(app).is_none(), "{before:?} {app:?}");
        }
        ReviewEvent::Approved { .. } | ReviewEvent::Rejected | ReviewEvent::ChangesRequested => {
            let claim = before.claim.as_ref().expect("a claim");
            assert!(by.role.is_staff() && claim.reviewer == by.did && claim.until > now, "only the holder of a valid claim decides");
        }
        ReviewEvent::AppealGranted | ReviewEvent::AppealDenied => {
            let is_own = before.decided_by.as_ref() == Some(&by.did);
            assert!(by.role.is_staff() && (!is_own || by.role == ReviewRole::StoreOwner));
        }
        _ => {}
    }
}

fn history() -> History {
    let preferences = Preferences { review_required: true, ..Preferences::default() };
    History {
        versions: Vec::new(),
        blocked: false,
        required: preferences.review_required,
        review_type: preferences.review_type,
        is_risky: false,
        now: Timestamp::from_seconds(1_000_000),
    }
}

impl Version {
    fn has(&self, wanted: fn(&ReviewEvent) -> bool) -> bool {
        self.events.iter().any(|(event, _)| wanted(event))
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, ..ProptestConfig::default() })]

    #[test]
    fn no_history_publishes_a_version_that_was_rejected_or_cancelled(acts in proptest::collection::vec(act(), 1..120)) {
        let mut history = history();
        for act in &acts {
            history.run(act);
            let is_open = |version: &&Version| {
                matches!(version.review.status, VersionStatus::PendingReview | VersionStatus::InReview | VersionStatus::Approved)
            };
            prop_assert!(history.versions.iter().filter(is_open).count() <= 1, "one version of an app is in review at a time");
        }
        for version in &history.versions {
            if version.review.status == VersionStatus::Published {
                prop_assert!(!version.has(|event| matches!(event, ReviewEvent::Rejected | ReviewEvent::Cancelled | ReviewEvent::Replaced)));
            }
            for (_, by) in version.events.iter().filter(|(event, _)| matches!(event, ReviewEvent::Approved { .. })) {
                prop_assert!(by.did.as_str() != "developer", "nobody approves their own app");
                prop_assert_ne!(version.review.excluded_reviewer.as_ref().filter(|_| by.role != ReviewRole::StoreOwner), Some(&by.did));
            }
        }
    }

    #[test]
    fn where_reviews_are_required_the_first_version_and_every_risky_one_are_approved_before_they_are_published(
        acts in proptest::collection::vec(act(), 1..120),
    ) {
        let mut history = history();
        for act in acts.iter().filter(|act| !matches!(act, Act::Require(_))) {
            history.run(act);
        }
        let published = history.versions.iter().filter(|version| version.review.status == VersionStatus::Published);
        for (number, version) in published.enumerate() {
            let is_approved = version.has(|event| matches!(event, ReviewEvent::Approved { .. }));
            prop_assert!(is_approved || number > 0 && !version.is_risky);
        }
    }
}
