use crate::problem::Problem;
use poem_openapi::Object;
use rust_decimal::Decimal;
use souk_domain::publishing::bundle::PictureFormat;
use souk_domain::publishing::{PermissionMode, Preferences, PreferencesRecord, ReviewType, StakePreference};

/// The preferences of publishing. Amounts, prices and shares are decimal texts.
#[derive(Debug, Clone, Object)]
#[oai(rename = "Preferences")]
pub struct PreferencesModel {
    /// `inviting` or `staking`.
    pub permission_mode: String,
    pub review_required: bool,
    /// `FIRST` or `EACH`: which versions of an app are reviewed, where reviews are required.
    pub review_type: String,
    /// The symbol of the currency of stakes.
    pub stake_currency: String,
    /// In human units.
    pub passport_stake_amount: String,
    pub passport_waiting_days: u32,
    /// In human units.
    pub publish_stake_amount: String,
    pub publish_waiting_days: u32,
    pub bundle_max_mb: u32,
    pub logo_max_kb: u32,
    /// Of `png`, `jpg`, `svg` and `webp`.
    #[oai(validator(max_items = 10))]
    pub logo_types: Vec<String>,
    pub image_max_mb: u32,
    pub image_count_min: u32,
    pub image_count_max: u32,
    pub image_width_min: u32,
    pub image_height_min: u32,
    pub paid_apps_allowed: bool,
    /// In human units.
    pub price_min: String,
    /// In human units.
    pub price_max: String,
    /// The part of each sale that the store keeps, from 0 to 1.
    pub store_share: String,
    /// The addresses of issuers whose CI tokens the store accepts, with the claims of GitHub Actions.
    #[oai(validator(max_items = 100))]
    pub github_issuers: Vec<String>,
    /// As `github_issuers`, with the claims of GitLab.
    #[oai(validator(max_items = 100))]
    pub gitlab_issuers: Vec<String>,
    /// The version that the preferences have. A change names the version that it is based on.
    pub version: u64,
    #[oai(nullable)]
    pub changed_at: Option<String>,
}

impl From<PreferencesRecord> for PreferencesModel {
    fn from(record: PreferencesRecord) -> Self {
        let PreferencesRecord { preferences, version, changed_at } = record;
        let text = |decimal: Decimal| decimal.normalize().to_string();
        Self {
            permission_mode: preferences.permission_mode.name().to_owned(),
            review_required: preferences.review_required,
            review_type: preferences.review_type.name().to_owned(),
            stake_currency: preferences.stake_currency,
            passport_stake_amount: text(preferences.passport_stake.amount),
            passport_waiting_days: preferences.passport_stake.waiting_days,
            publish_stake_amount: text(preferences.publish_stake.amount),
            publish_waiting_days: preferences.publish_stake.waiting_days,
            bundle_max_mb: preferences.bundle_max_mb,
            logo_max_kb: preferences.logo_max_kb,
            logo_types: preferences.logo_types.iter().map(|kind| kind.name().to_owned()).collect(),
            image_max_mb: preferences.image_max_mb,
            image_count_min: preferences.image_count_min,
            image_count_max: preferences.image_count_max,
            image_width_min: preferences.image_width_min,
            image_height_min: preferences.image_height_min,
            paid_apps_allowed: preferences.paid_apps_allowed,
            price_min: text(preferences.price_min),
            price_max: text(preferences.price_max),
            store_share: text(preferences.store_share),
            github_issuers: preferences.github_issuers,
            gitlab_issuers: preferences.gitlab_issuers,
            version,
            changed_at: changed_at.map(|at| at.to_iso()),
        }
    }
}

impl PreferencesModel {
    /// Parses the values; their ranges are the domain's.
    pub fn read(&self) -> Result<Preferences, Problem> {
        let logo_types = self.logo_types.iter().map(|name| PictureFormat::from_name(name)).collect::<Option<_>>();
        Ok(Preferences {
            permission_mode: PermissionMode::from_name(&self.permission_mode).ok_or_else(|| Problem::invalid("permission_mode"))?,
            review_required: self.review_required,
            review_type: ReviewType::from_name(&self.review_type).ok_or_else(|| Problem::invalid("review_type"))?,
            stake_currency: self.stake_currency.trim().to_owned(),
            passport_stake: StakePreference {
                amount: decimal("passport_stake_amount", &self.passport_stake_amount)?,
                waiting_days: self.passport_waiting_days,
            },
            publish_stake: StakePreference {
                amount: decimal("publish_stake_amount", &self.publish_stake_amount)?,
                waiting_days: self.publish_waiting_days,
            },
            bundle_max_mb: self.bundle_max_mb,
            logo_max_kb: self.logo_max_kb,
            logo_types: logo_types.ok_or_else(|| Problem::invalid("logo_types"))?,
            image_max_mb: self.image_max_mb,
            image_count_min: self.image_count_min,
            image_count_max: self.image_count_max,
            image_width_min: self.image_width_min,
            image_height_min: self.image_height_min,
            paid_apps_allowed: self.paid_apps_allowed,
            price_min: decimal("price_min", &self.price_min)?,
            price_max: decimal("price_max", &self.price_max)?,
            store_share: decimal("store_share", &self.store_share)?,
            github_issuers: trimmed(&self.github_issuers),
            gitlab_issuers: trimmed(&self.gitlab_issuers),
        })
    }
}

fn trimmed(addresses: &[String]) -> Vec<String> {
    addresses.iter().map(|address| address.trim().to_owned()).collect()
}

/// Parses digits with an optional point. Other notations, such as exponents and signs, are no input of people.
fn decimal(field: &str, text: &str) -> Result<Decimal, Problem> {
    let text = text.trim();
    let is_plain = text.bytes().all(|byte| byte.is_ascii_digit() || byte == b'.');
    let number = if is_plain { Decimal::from_str_exact(text).ok() } else { None };
    number.ok_or_else(|| Problem::invalid(field))
}
