//! The content of the demo store. Reads the texts and pictures in `assets/demo`, and builds the bundles.

mod assets;
mod bundle;

pub use bundle::{bundle, bundle_name};

use souk_domain::pricing::Recurring;
use souk_domain::shared::Text;

/// The whole demo store, which is loaded into an empty database.
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

/// A developer that publishes apps; referenced by [`DemoApp::developer`].
#[derive(Debug, Clone)]
pub struct DemoDeveloper {
    pub name: String,
    pub verified: bool,
}

#[derive(Debug, Clone)]
pub struct DemoApp {
    /// Lower-case letters and hyphens. Unique, and stable between releases of the demo.
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
    /// The initial download count of all versions together.
    pub downloads: u32,
    /// `None` for a free app.
    pub sale: Option<DemoSale>,
    /// Subscription plans sold with the app.
    pub plans: Vec<DemoPlan>,
    /// The content of the bundle's page, an HTML fragment.
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
    /// The publication date, in days before the demo is loaded.
    pub days_ago: u32,
    /// Markdown.
    pub changelog: Text,
}

/// The sale of an app: a product, a price in both currencies, and a payment link.
#[derive(Debug, Clone)]
pub struct DemoSale {
    /// A human-readable decimal amount in the store's token.
    pub token: String,
    /// A human-readable decimal amount in US dollars.
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
    /// The unit of usage; at most 12 characters.
    pub unit_label: Option<Text>,
    /// `subscription_data` of the payment link.
    pub trial_days: u32,
    pub no_stake: bool,
    /// A human-readable decimal amount.
    pub min_stake: Option<String>,
    /// At least one; the first is the default.
    pub prices: Vec<DemoPlanPrice>,
}

#[derive(Debug, Clone)]
pub struct DemoPlanPrice {
    pub lookup_key: String,
    /// A human-readable decimal amount in the store's token.
    pub token: String,
    /// A human-readable decimal amount in US dollars.
    pub usd: String,
    pub recurring: Recurring,
    /// The lookup key of another price of the plan.
    pub upsells_to: Option<String>,
}

#[derive(Debug, Clone)]
pub struct DemoFieldRule {
    /// `customer_name`, `billing_address.line1` and so on.
    pub field: String,
    /// A regular expression that means the same in the browser and on the server.
    pub pattern: String,
    pub message: Text,
}

/// Reads the embedded demo store. The texts are part of the program, so an error in them is a bug: the tests read all of them, and
/// this function panics with the name of the file.
#[must_use]
pub fn catalogue() -> DemoStore {
    assets::read()
}

#[cfg(test)]
mod tests;
