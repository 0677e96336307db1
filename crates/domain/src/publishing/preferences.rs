//! What the owner decides about publishing (reference/store.md 2): who may publish, what is reviewed, stakes, limits and prices.

use super::named::named;
use super::trusted::{GITHUB_ISSUER, GITLAB_ISSUER, is_issuer_address};
use crate::shared::PictureFormat;
use rust_decimal::Decimal;
use std::collections::BTreeSet;

/// The most decimals of a stake, a price or a share (SPEC.md 9: default amount precision).
pub const MAX_DECIMALS: u32 = 6;
/// The largest bundle that a store can allow, in MiB.
pub const BUNDLE_MAX_MB: u32 = 2_000;

named! {
    /// How a user becomes a developer.
    PermissionMode {
        /// An administrator sends a link.
        Inviting = "inviting",
        /// Anybody who leaves a stake.
        Staking = "staking",
    }
}

named! {
    /// Which versions of an app are reviewed, where reviews are required. The names are those of the wire (reference/store.md 1).
    ReviewType {
        /// The versions before the first published one. Later ones are held only if they add a risk.
        FirstVersion = "FIRST",
        EveryVersion = "EACH",
    }
}

/// A stake that developers leave.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct StakePreference {
    /// In human units of [`Preferences::stake_currency`].
    pub amount: Decimal,
    /// How many days pass between a developer's revocation and the return.
    pub waiting_days: u32,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Preferences {
    pub permission_mode: PermissionMode,
    /// Whether a version is reviewed before it is published.
    pub review_required: bool,
    /// The review type of apps for which a reviewer has chosen none.
    pub review_type: ReviewType,
    /// The symbol of the currency of all stakes.
    pub stake_currency: String,
    /// The stake for becoming a developer.
    pub passport_stake: StakePreference,
    /// The stake for each published app.
    pub publish_stake: StakePreference,
    /// In megabytes of 2^20 bytes.
    pub bundle_max_mb: u32,
    /// In kilobytes of 2^10 bytes.
    pub logo_max_kb: u32,
    pub logo_types: BTreeSet<PictureFormat>,
    /// The size of a screenshot, in megabytes of 2^20 bytes.
    pub image_max_mb: u32,
    pub image_count_min: u32,
    pub image_count_max: u32,
    /// In pixels.
    pub image_width_min: u32,
    /// In pixels.
    pub image_height_min: u32,
    pub paid_apps_allowed: bool,
    /// In human units of the currency of an app's price.
    pub price_min: Decimal,
    pub price_max: Decimal,
    /// The part of each sale that the store keeps, from 0 to 1.
    pub store_share: Decimal,
    /// The addresses of issuers of CI tokens with the claims of GitHub Actions. Without any issuer, CI publishes with access tokens only.
    pub github_issuers: Vec<String>,
    /// As `github_issuers`, with the claims of GitLab.
    pub gitlab_issuers: Vec<String>,
}

impl Default for Preferences {
    /// The defaults of reference/store.md 2.
    fn default() -> Self {
        Self {
            permission_mode: PermissionMode::Inviting,
            review_required: false,
            review_type: ReviewType::EveryVersion,
            stake_currency: "ABT".to_owned(),
            passport_stake: StakePreference { amount: Decimal::ONE, waiting_days: 7 },
            publish_stake: StakePreference { amount: Decimal::ONE, waiting_days: 30 },
            bundle_max_mb: 500,
            logo_max_kb: 500,
            logo_types: PictureFormat::ALL.iter().copied().collect(),
            image_max_mb: 5,
            image_count_min: 3,
            image_count_max: 5,
            image_width_min: 600,
            image_height_min: 338,
            paid_apps_allowed: false,
            price_min: Decimal::new(1, 2),
            price_max: Decimal::new(10_000, 0),
            store_share: Decimal::new(3, 1),
            github_issuers: vec![GITHUB_ISSUER.to_owned()],
            gitlab_issuers: vec![GITLAB_ISSUER.to_owned()],
        }
    }
}

/// The value of a field that is not valid.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{field} {problem}")]
pub struct PreferenceError {
    /// The name of the field, as that of [`Preferences`].
    pub field: &'static str,
    pub problem: PreferenceProblem,
}

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum PreferenceProblem {
    #[error("is required")]
    Required,
    #[error("must be between {min} and {max}")]
    OutOfRange { min: String, max: String },
    #[error("may have at most {MAX_DECIMALS} decimals")]
    TooPrecise,
    #[error("may have letters and digits only, at most {max}")]
    Symbol { max: usize },
    /// No active payment method holds deposits in this currency with these amounts.
    #[error("is the currency of no payment method that takes these deposits")]
    NoDeposits,
    /// Both fields have it, because either can be corrected.
    #[error("must not be less than {0}")]
    LessThan(&'static str),
    #[error("may have at most {max} addresses that begin with https:// and have no slash at the end, each once")]
    Addresses { max: usize },
}

/// The longest symbol of a currency, in characters.
const SYMBOL_MAX: usize = 12;
/// The most issuers of one kind.
const ISSUERS_MAX: usize = 10;

/// Collects what is wrong with the fields.
#[derive(Default)]
struct Check(Vec<PreferenceError>);

impl Check {
    fn fail(&mut self, field: &'static str, problem: PreferenceProblem) {
        self.0.push(PreferenceError { field, problem });
    }

    fn range<T: PartialOrd + ToString>(&mut self, field: &'static str, value: T, min: T, max: T) {
        if value < min || value > max {
            self.fail(field, PreferenceProblem::OutOfRange { min: min.to_string(), max: max.to_string() });
        }
    }

    /// Each issuer has one kind of claims.
    fn issuers(&mut self, field: &'static str, addresses: &[String], others: &[String]) {
        let distinct: BTreeSet<_> = addresses.iter().collect();
        let is_valid = addresses.iter().all(|address| is_issuer_address(address) && !others.contains(address));
        if !is_valid || distinct.len() < addresses.len() || addresses.len() > ISSUERS_MAX {
            self.fail(field, PreferenceProblem::Addresses { max: ISSUERS_MAX });
        }
    }

    fn decimal(&mut self, field: &'static str, value: Decimal, min: Decimal, max: Decimal) {
        self.range(field, value, min, max);
        if value.normalize().scale() > MAX_DECIMALS {
            self.fail(field, PreferenceProblem::TooPrecise);
        }
    }
}

impl Preferences {
    /// Returns what is wrong with the fields, in their order on the page; empty: nothing.
    #[must_use]
    pub fn errors(&self) -> Vec<PreferenceError> {
        let (smallest, million) = (Decimal::new(1, MAX_DECIMALS), Decimal::new(1_000_000, 0));
        let mut check = Check::default();
        let is_symbol = self.stake_currency.len() <= SYMBOL_MAX && self.stake_currency.bytes().all(|byte| byte.is_ascii_alphanumeric());
        if self.stake_currency.is_empty() {
            check.fail("stake_currency", PreferenceProblem::Required);
        } else if !is_symbol {
            check.fail("stake_currency", PreferenceProblem::Symbol { max: SYMBOL_MAX });
        }
        check.decimal("passport_stake_amount", self.passport_stake.amount, smallest, million);
        check.range("passport_waiting_days", self.passport_stake.waiting_days, 1, 365);
        check.decimal("publish_stake_amount", self.publish_stake.amount, smallest, million);
        check.range("publish_waiting_days", self.publish_stake.waiting_days, 1, 365);
        check.range("bundle_max_mb", self.bundle_max_mb, 1, BUNDLE_MAX_MB);
        check.range("logo_max_kb", self.logo_max_kb, 10, 10_000);
        if self.logo_types.is_empty() {
            check.fail("logo_types", PreferenceProblem::Required);
        }
        check.range("image_max_mb", self.image_max_mb, 1, 50);
        check.range("image_count_min", self.image_count_min, 0, 20);
        check.range("image_count_max", self.image_count_max, 1, 20);
        if self.image_count_max < self.image_count_min {
            check.fail("image_count_max", PreferenceProblem::LessThan("image_count_min"));
        }
        check.range("image_width_min", self.image_width_min, 1, 8_000);
        check.range("image_height_min", self.image_height_min, 1, 8_000);
        check.decimal("price_min", self.price_min, smallest, million);
        check.decimal("price_max", self.price_max, smallest, million);
        if self.price_max < self.price_min {
            check.fail("price_max", PreferenceProblem::LessThan("price_min"));
        }
        check.decimal("store_share", self.store_share, Decimal::ZERO, Decimal::ONE);
        check.issuers("github_issuers", &self.github_issuers, &[]);
        check.issuers("gitlab_issuers", &self.gitlab_issuers, &self.github_issuers);
        check.0
    }

    /// Whether the change decides who may publish, which CI may publish or what developers stake, or lets versions be published without a
    /// review. It needs a recent sign-in.
    #[must_use]
    pub fn is_sensitive_change(&self, to: &Self) -> bool {
        let sensitive = |preferences: &Self| {
            (preferences.permission_mode, preferences.review_required, preferences.passport_stake, preferences.publish_stake)
        };
        let issuers = |preferences: &Self| (preferences.github_issuers.clone(), preferences.gitlab_issuers.clone());
        let reviews_fewer = self.review_type == ReviewType::EveryVersion && to.review_type == ReviewType::FirstVersion;
        sensitive(self) != sensitive(to)
            || reviews_fewer
            || issuers(self) != issuers(to)
            || self.stake_currency != to.stake_currency
            || self.store_share != to.store_share
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn decimal(text: &str) -> Decimal {
        text.parse().expect("a decimal")
    }

    #[test]
    fn the_defaults_are_valid_and_those_of_the_reference() {
        let defaults = Preferences::default();
        assert_eq!(defaults.errors(), []);
        assert_eq!((defaults.permission_mode.name(), defaults.review_type.name()), ("inviting", "EACH"));
        assert_eq!((defaults.store_share, defaults.price_min, defaults.price_max), (decimal("0.3"), decimal("0.01"), decimal("10000")));
    }

    #[test]
    fn each_field_outside_its_range_is_named() {
        type Change = fn(&mut Preferences);
        let cases: [(&str, Change); 20] = [
            ("stake_currency", |all| all.stake_currency = String::new()),
            ("stake_currency", |all| all.stake_currency = "A T".to_owned()),
            ("passport_stake_amount", |all| all.passport_stake.amount = Decimal::ZERO),
            ("passport_waiting_days", |all| all.passport_stake.waiting_days = 0),
            ("publish_stake_amount", |all| all.publish_stake.amount = Decimal::new(1, 7)),
            ("publish_waiting_days", |all| all.publish_stake.waiting_days = 366),
            ("bundle_max_mb", |all| all.bundle_max_mb = 2_001),
            ("logo_max_kb", |all| all.logo_max_kb = 9),
            ("logo_types", |all| all.logo_types.clear()),
            ("image_max_mb", |all| all.image_max_mb = 51),
            ("image_count_min", |all| (all.image_count_min, all.image_count_max) = (21, 20)),
            ("image_count_max", |all| all.image_count_max = 2),
            ("image_width_min", |all| all.image_width_min = 0),
            ("image_height_min", |all| all.image_height_min = 8_001),
            ("price_max", |all| all.price_max = Decimal::new(1, 3)),
            ("store_share", |all| all.store_share = Decimal::TWO),
            ("github_issuers", |all| all.github_issuers = vec!["http://ci.example".to_owned()]),
            ("github_issuers", |all| all.github_issuers.push(GITHUB_ISSUER.to_owned())),
            ("gitlab_issuers", |all| all.gitlab_issuers = (0..11).map(|number| format!("https://ci{number}.example")).collect()),
            ("gitlab_issuers", |all| all.gitlab_issuers.push(GITHUB_ISSUER.to_owned())),
        ];
        for (field, change) in cases {
            let mut changed = Preferences::default();
            change(&mut changed);
            assert_eq!(changed.errors().first().map(|error| error.field), Some(field), "{changed:?}");
        }
    }

    #[test]
    fn trailing_zeros_do_not_count_as_decimals() {
        let padded = Preferences { price_min: decimal("0.0100000000"), ..Preferences::default() };
        assert_eq!(padded.errors(), []);
        let precise = Preferences { price_min: decimal("0.0000001"), ..Preferences::default() };
        assert!(precise.errors().iter().any(|error| error.problem == PreferenceProblem::TooPrecise));
    }

    #[test]
    fn only_what_concerns_permission_reviews_issuers_stakes_and_shares_is_sensitive() {
        let (before, mut after) = (Preferences::default(), Preferences::default());
        after.bundle_max_mb = 10;
        after.paid_apps_allowed = true;
        assert!(!before.is_sensitive_change(&after));
        after.passport_stake.waiting_days = 8;
        assert!(before.is_sensitive_change(&after));
        let fewer = Preferences { review_type: ReviewType::FirstVersion, ..Preferences::default() };
        assert!(before.is_sensitive_change(&fewer) && !fewer.is_sensitive_change(&before), "more reviews take nothing away");
        assert!(before.is_sensitive_change(&Preferences { gitlab_issuers: Vec::new(), ..Preferences::default() }));
        assert!(before.is_sensitive_change(&Preferences { permission_mode: PermissionMode::Staking, ..Preferences::default() }));
    }
}
