//! Whether a version needs a review, and why.

use super::super::ReviewType;
use super::super::named::named;
use super::state::AppReviewFacts;

/// What a version adds to the published one and its users have not agreed to.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct RiskyDifferences {
    pub permissions: Vec<String>,
    /// Scripts that run at installation, update or removal: added or changed.
    pub lifecycle_scripts: Vec<String>,
    /// Hosts that it newly sends to.
    pub outgoing_hosts: Vec<String>,
    /// It has a price or shares, and they differ.
    pub price: bool,
}

impl RiskyDifferences {
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.permissions.is_empty() && self.lifecycle_scripts.is_empty() && self.outgoing_hosts.is_empty() && !self.price
    }
}

named! {
    /// Why a version is reviewed.
    ReviewNeed {
        FirstVersion = "first_version",
        EveryVersion = "every_version",
        /// Only first versions are reviewed, but this one is held all the same.
        RiskyDifferences = "risky_differences",
    }
}

/// Why a version of an app needs a review. `None`: it can be published directly.
#[must_use]
pub fn review_need(app: &AppReviewFacts) -> Option<ReviewNeed> {
    match (app.review_required, app.has_published, app.review_type) {
        (false, ..) => None,
        (true, false, _) => Some(ReviewNeed::FirstVersion),
        (true, true, ReviewType::EveryVersion) => Some(ReviewNeed::EveryVersion),
        (true, true, ReviewType::FirstVersion) => (!app.differences.is_empty()).then_some(ReviewNeed::RiskyDifferences),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::publishing::Preferences;

    #[test]
    fn a_review_is_needed_as_the_type_says_and_for_each_risky_difference() {
        let required = Preferences { review_required: true, ..Preferences::default() };
        let first = AppReviewFacts::of_new_app(&required, Some(ReviewType::FirstVersion));
        assert_eq!(review_need(&first), Some(ReviewNeed::FirstVersion));
        let later = AppReviewFacts { has_published: true, ..first };
        assert_eq!(review_need(&later), None);
        let each = AppReviewFacts { review_type: ReviewType::EveryVersion, ..later.clone() };
        assert_eq!(review_need(&each), Some(ReviewNeed::EveryVersion));
        let one = || vec!["one".to_owned()];
        let risks = [
            RiskyDifferences { permissions: one(), ..RiskyDifferences::default() },
            RiskyDifferences { lifecycle_scripts: one(), ..RiskyDifferences::default() },
            RiskyDifferences { outgoing_hosts: one(), ..RiskyDifferences::default() },
            RiskyDifferences { price: true, ..RiskyDifferences::default() },
        ];
        for differences in risks {
            let risky = AppReviewFacts { differences, ..later.clone() };
            assert_eq!(review_need(&risky), Some(ReviewNeed::RiskyDifferences), "{risky:?}");
            assert_eq!(review_need(&AppReviewFacts { review_required: false, ..risky }), None, "no review is required at all");
        }
    }
}
