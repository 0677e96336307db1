//! The preferences of publishing: one row, absent until somebody changes the defaults.

use super::Connection;
use super::columns::{read_json, to_json};
use async_trait::async_trait;
use rust_decimal::Decimal;
use serde::{Deserialize, Serialize};
use souk_domain::publishing::bundle::PictureFormat;
use souk_domain::publishing::{PermissionMode, Preferences, PreferencesRecord, ReviewType, StakePreference, StoredPreferences};
use souk_domain::shared::StorageError;

pub struct SqlPreferences<'s>(pub &'s mut Connection);

#[async_trait]
impl StoredPreferences for SqlPreferences<'_> {
    async fn find(&mut self) -> Result<PreferencesRecord, StorageError> {
        let row = self.0.query("SELECT * FROM preferences WHERE id = 1").optional().await?;
        let Some(row) = row else { return Ok(PreferencesRecord::default()) };
        let form: Form = read_json(&row, "preferences", "content")?;
        let corrupt = || StorageError::Corrupt { table: "preferences", column: "content", value: String::new() };
        let preferences = form.read().ok_or_else(corrupt)?;
        Ok(PreferencesRecord { preferences, version: row.get("version")?, changed_at: row.get("changed_at")? })
    }

    async fn replace(&mut self, record: &PreferencesRecord) -> Result<bool, StorageError> {
        let content = to_json(&Form::of(&record.preferences))?;
        // Of two first changes at once, the second finds the row of the first.
        let insert = "INSERT INTO preferences (id, content, version, changed_at) VALUES (1, $1, $2, $3) ON CONFLICT (id) DO NOTHING";
        let update = "UPDATE preferences SET content = $1, version = $2, changed_at = $3 WHERE id = 1 AND version = $2 - 1";
        let statement = if record.version == 1 { insert } else { update };
        Ok(self.0.query(statement).bind(content).bind(record.version).bind(record.changed_at).execute().await? == 1)
    }
}

/// The stored form. A field that an earlier version of Souk did not know has its default.
#[derive(Serialize, Deserialize)]
#[serde(default)]
struct Form {
    permission_mode: String,
    review_required: bool,
    review_type: String,
    stake_currency: String,
    passport_stake_amount: Decimal,
    passport_waiting_days: u32,
    publish_stake_amount: Decimal,
    publish_waiting_days: u32,
    bundle_max_mb: u32,
    logo_max_kb: u32,
    logo_types: Vec<String>,
    image_max_mb: u32,
    image_count_min: u32,
    image_count_max: u32,
    image_width_min: u32,
    image_height_min: u32,
    paid_apps_allowed: bool,
    price_min: Decimal,
    price_max: Decimal,
    store_share: Decimal,
    github_issuers: Vec<String>,
    gitlab_issuers: Vec<String>,
}

impl Default for Form {
    fn default() -> Self {
        Self::of(&Preferences::default())
    }
}

impl Form {
    fn of(preferences: &Preferences) -> Self {
        Self {
            permission_mode: preferences.permission_mode.name().to_owned(),
            review_required: preferences.review_required,
            review_type: preferences.review_type.name().to_owned(),
            stake_currency: preferences.stake_currency.clone(),
            passport_stake_amount: preferences.passport_stake.amount,
            passport_waiting_days: preferences.passport_stake.waiting_days,
            publish_stake_amount: preferences.publish_stake.amount,
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
            price_min: preferences.price_min,
            price_max: preferences.price_max,
            store_share: preferences.store_share,
            github_issuers: preferences.github_issuers.clone(),
            gitlab_issuers: preferences.gitlab_issuers.clone(),
        }
    }

    /// `None`: a name that this version does not know.
    fn read(self) -> Option<Preferences> {
        Some(Preferences {
            permission_mode: PermissionMode::from_name(&self.permission_mode)?,
            review_required: self.review_required,
            review_type: ReviewType::from_name(&self.review_type)?,
            stake_currency: self.stake_currency,
            passport_stake: StakePreference { amount: self.passport_stake_amount, waiting_days: self.passport_waiting_days },
            publish_stake: StakePreference { amount: self.publish_stake_amount, waiting_days: self.publish_waiting_days },
            bundle_max_mb: self.bundle_max_mb,
            logo_max_kb: self.logo_max_kb,
            logo_types: self.logo_types.iter().map(|name| PictureFormat::from_name(name)).collect::<Option<_>>()?,
            image_max_mb: self.image_max_mb,
            image_count_min: self.image_count_min,
            image_count_max: self.image_count_max,
            image_width_min: self.image_width_min,
            image_height_min: self.image_height_min,
            paid_apps_allowed: self.paid_apps_allowed,
            price_min: self.price_min,
            price_max: self.price_max,
            store_share: self.store_share,
            github_issuers: self.github_issuers,
            gitlab_issuers: self.gitlab_issuers,
        })
    }
}
