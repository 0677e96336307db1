//! What is in the demo store. Texts and pictures stand in `assets/demo`; this reads them and packs the bundles.

mod assets;
mod bundle;

pub use bundle::{bundle, bundle_name};

use souk_domain::pricing::Recurring;
use souk_domain::shared::Text;

/// The whole store, as it is loaded into an empty database.
#[derive(Debug, Clone)]
pub struct DemoStore {
    pub name: Text,
    pub description: Text,
    pub categories: Vec<DemoCategory>,
    pub developers: Vec<DemoDeveloper>,
    pub apps: Vec<DemoApp>,
}

#[derive(Debug, Clone)]
pub struct DemoCategory {
    pub slug: String,
    pub name: Text,
}

/// An organisation that publishes; named by [`DemoApp::developer`].
#[derive(Debug, Clone)]
pub struct DemoDeveloper {
    pub name: String,
    pub verified: bool,
}

#[derive(Debug, Clone)]
pub struct DemoApp {
    /// Lower-case letters, hyphens: unique, and stable between releases of the demo.
    pub name: String,
    pub title: Text,
    pub description: Text,
    /// Markdown.
    pub readme: Text,
    /// A [`DemoCategory::slug`].
    pub category: String,
    /// A [`DemoDeveloper::name`].
    pub developer: String,
    /// SPDX.
    pub license: String,
    /// SVG.
    pub logo: &'static str,
    pub screenshots: Vec<DemoScreenshot>,
    /// Newest first, at least one.
    pub versions: Vec<DemoVersion>,
    /// All versions together, before anybody in this store downloads.
    pub downloads: u32,
    /// `None`: free.
    pub sale: Option<DemoSale>,
    /// What can be subscribed to beside it.
    pub plans: Vec<DemoPlan>,
    /// What the bundle's page shows and does (an HTML fragment).
    page: &'static str,
}

#[derive(Debug, Clone)]
pub struct DemoScreenshot {
    /// SVG, [`SCREENSHOT_WIDTH`] by [`SCREENSHOT_HEIGHT`].
    pub svg: &'static str,
    pub alt: Text,
}

pub const SCREENSHOT_WIDTH: u32 = 1280;
pub const SCREENSHOT_HEIGHT: u32 = 800;

#[derive(Debug, Clone)]
pub struct DemoVersion {
    /// Semantic version.
    pub version: String,
    /// How long before the demo is loaded it was published.
    pub days_ago: u32,
    /// Markdown.
    pub changelog: Text,
}

/// How an app is sold: a product, a price in both currencies, a payment link.
#[derive(Debug, Clone)]
pub struct DemoSale {
    /// Human decimal in the store's token.
    pub token: String,
    /// Human decimal in US dollars.
    pub usd: String,
    pub quantity_available: Option<u32>,
    pub quantity_limit_per_checkout: Option<u32>,
    /// `after_completion.hosted_confirmation.custom_message` of the payment link.
    pub confirmation: Option<Text>,
    /// `phone_number_collection.enabled`.
    pub collects_phone: bool,
    /// `billing_address_collection: required`.
    pub requires_address: bool,
    /// `metadata.page_info.form_purpose_description`.
    pub form_purpose: Option<Text>,
    /// `metadata.page_info.field_validation`.
    pub field_rules: Vec<DemoFieldRule>,
}

/// A product with recurring prices.
#[derive(Debug, Clone)]
pub struct DemoPlan {
    pub name: Text,
    pub description: Text,
    /// What is counted; at most 12 characters.
    pub unit_label: Option<Text>,
    /// `subscription_data` of the payment link.
    pub trial_days: u32,
    pub no_stake: bool,
    /// Human decimal.
    pub min_stake: Option<String>,
    /// At least one; the first is the default.
    pub prices: Vec<DemoPlanPrice>,
}

#[derive(Debug, Clone)]
pub struct DemoPlanPrice {
    pub lookup_key: String,
    /// Human decimal in the store's token.
    pub token: String,
    /// Human decimal in US dollars.
    pub usd: String,
    pub recurring: Recurring,
    /// The lookup key of another price of the plan.
    pub upsells_to: Option<String>,
}

#[derive(Debug, Clone)]
pub struct DemoFieldRule {
    /// `customer_name`, `billing_address.line1` and so on.
    pub field: String,
    /// A regular expression that the browser and the server read alike.
    pub pattern: String,
    pub message: Text,
}

/// Reads the embedded texts. They are part of the program, so a mistake in them is a mistake in the program: the tests read
/// them all, and here it ends in a panic that names the file.
#[must_use]
pub fn catalogue() -> DemoStore {
    assets::read()
}

#[cfg(test)]
mod tests;
