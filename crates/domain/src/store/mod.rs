//! Apps, their versions and categories, and entitlements to download them.

mod categories;
mod files;
mod version_facts;

pub use categories::{
    CATEGORIES_MAX, CATEGORY_NAME_MAX, CategoryChange, CategoryError, change_category, create_category, create_default_categories,
    delete_category,
};
pub use files::{FileContent, Files, OpenedFile};
pub use version_facts::{VersionComponent, VersionFacts};

use crate::access::Did;
use crate::shared::{
    Amount, CategoryId, CurrencyId, EntitlementId, InvoiceId, InvoiceItemId, Listed, Mode, Page, PaymentLinkId, SessionId, StorageError,
    SubscriptionId, Text, Timestamp, VersionId,
};
use async_trait::async_trait;
use std::collections::BTreeMap;

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Category {
    pub id: CategoryId,
    /// The URL segment: lower-case letters, digits, hyphens.
    pub slug: String,
    pub name: Text,
    pub position: u32,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Developer {
    pub did: Did,
    pub name: String,
    pub verified: bool,
}

/// A screenshot. `file` is the SHA-256 of its content.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Screenshot {
    pub file: String,
    pub width: u32,
    pub height: u32,
    pub alt: Text,
}

/// Whether the store offers an app to those who do not have it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Availability {
    Available,
    /// An administrator has blocked it: nobody downloads it.
    Blocked,
    /// No version is left that new installs get: all are yanked, except for pre-releases.
    Withdrawn,
}

impl Availability {
    pub const ALL: [Self; 3] = [Self::Available, Self::Blocked, Self::Withdrawn];

    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Available => "available",
            Self::Blocked => "blocked",
            Self::Withdrawn => "withdrawn",
        }
    }

    #[must_use]
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|availability| availability.name() == name)
    }
}

/// The store does not offer an app.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("This app is not available at the moment")]
pub struct AppUnavailable;

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct App {
    pub did: Did,
    pub availability: Availability,
    /// Whether lists and searches show it; otherwise it is found by its link only.
    pub is_listed: bool,
    /// The machine name: letters, hyphen, underscore (SPEC.md 5).
    pub name: String,
    pub title: Text,
    pub description: Text,
    pub category_id: CategoryId,
    pub developer: Developer,
    /// SHA-256 of the logo's content.
    pub logo: String,
    pub screenshots: Vec<Screenshot>,
    pub license: String,
    pub website: Option<String>,
    /// The payment links that sell it in each mode. Without either it is free.
    pub test_link: Option<PaymentLinkId>,
    pub live_link: Option<PaymentLinkId>,
    pub downloads: u64,
    pub version: String,
    pub size: u64,
    pub created_at: Timestamp,
    pub updated_at: Timestamp,
}

impl App {
    #[must_use]
    pub const fn is_free(&self) -> bool {
        self.test_link.is_none() && self.live_link.is_none()
    }

    /// Whether an entitlement of this mode allows downloads. A test-mode entitlement does not if the app is sold in live mode.
    #[must_use]
    pub const fn is_opened_by(&self, mode: Mode) -> bool {
        mode.is_live() || self.live_link.is_none()
    }

    #[must_use]
    pub const fn link(&self, mode: Mode) -> Option<&PaymentLinkId> {
        match mode {
            Mode::Test => self.test_link.as_ref(),
            Mode::Live => self.live_link.as_ref(),
        }
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AppVersion {
    pub id: VersionId,
    pub app: Did,
    pub version: String,
    pub readme: Text,
    pub changelog: Text,
    /// The SHA-256 of the bundle, in lower-case hex.
    pub sha256: String,
    /// The size of the bundle in bytes.
    pub size: u64,
    pub published_at: Timestamp,
    /// Nobody gets it any more.
    pub is_yanked: bool,
    /// `None`: it is not recorded, and what its app shows counts.
    pub facts: Option<VersionFacts>,
}

impl AppVersion {
    /// What is shown of this version of an app besides its texts.
    #[must_use]
    pub fn shown_facts(&self, app: &App) -> VersionFacts {
        self.facts.clone().unwrap_or_else(|| VersionFacts {
            screenshots: app.screenshots.clone(),
            license: app.license.clone(),
            website: app.website.clone(),
            ..VersionFacts::default()
        })
    }
}

/// The price of an app in one currency.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AppPrice {
    pub currency_id: CurrencyId,
    pub amount: Amount,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum AppSort {
    #[default]
    Downloads,
    Updated,
    Created,
    Name,
}

/// The longest search text in characters (reference/store.md).
pub const KEYWORD_MAX: usize = 500;

#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct AppFilter {
    /// Each word must match a part of name, title, description or developer, in either language.
    pub keyword: String,
    pub category: Option<String>,
    pub free: Option<bool>,
    pub sort: AppSort,
}

/// The right to download an app, one per purchase. An entitlement of a subscription is valid until the subscription has ended or its plan
/// no longer contains the app. It stays valid while the subscription is past due; while it is paused, until the paid period is over.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Entitlement {
    pub id: EntitlementId,
    pub mode: Mode,
    pub holder: Did,
    pub app: Did,
    pub session_id: SessionId,
    /// The subscription that grants it; `None`: a one-time purchase.
    pub subscription_id: Option<SubscriptionId>,
    pub invoice_id: Option<InvoiceId>,
    /// The invoice line that paid for it.
    pub invoice_item_id: Option<InvoiceItemId>,
    pub acquired_at: Timestamp,
    /// When its invoice line was credited; it is invalid from then on.
    pub revoked_at: Option<Timestamp>,
    /// Set while its payment is disputed; it is invalid then.
    pub suspended_at: Option<Timestamp>,
}

/// A category with the number of its apps.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CountedCategory {
    pub category: Category,
    pub apps: u64,
}

#[async_trait]
pub trait Apps: Send {
    async fn insert_category(&mut self, category: &Category) -> Result<(), StorageError>;
    /// Categories in their order, each with the number of its available apps.
    async fn categories(&mut self) -> Result<Vec<CountedCategory>, StorageError>;
    /// As [`Self::categories`], each with the number of all apps that are in it: those that the store does not offer, and those that
    /// were uploaded and not published, as well.
    async fn categories_with_all_apps(&mut self) -> Result<Vec<CountedCategory>, StorageError>;
    /// Whether the category exists. Until the unit of work ends, nobody deletes it.
    async fn hold_category(&mut self, id: &CategoryId) -> Result<bool, StorageError>;
    /// Whether the category exists. Until the unit of work ends, no app gets into it.
    async fn lock_category(&mut self, id: &CategoryId) -> Result<bool, StorageError>;
    async fn rename_category(&mut self, id: &CategoryId, name: &Text) -> Result<(), StorageError>;
    /// Puts all categories into this order.
    async fn order_categories(&mut self, order: &[CategoryId]) -> Result<(), StorageError>;
    /// Deletes a category that no app is in.
    async fn delete_category(&mut self, id: &CategoryId) -> Result<(), StorageError>;
    /// Moves an app of the catalogue to a category. False: it is not in the catalogue.
    async fn set_category(&mut self, did: &Did, category: &CategoryId) -> Result<bool, StorageError>;
    async fn insert(&mut self, app: &App) -> Result<(), StorageError>;
    /// Inserts the app, or replaces what a version says of it. Links, downloads and the time of the creation stay.
    async fn show(&mut self, app: &App) -> Result<(), StorageError>;
    async fn insert_version(&mut self, version: &AppVersion) -> Result<(), StorageError>;
    /// Sets whether the app is offered. Nothing happens if it is not in the catalogue.
    async fn set_availability(&mut self, did: &Did, availability: Availability) -> Result<(), StorageError>;
    /// Sets the payment link that sells the app in a mode; `None`: it is free there. Nothing happens if it is not in the catalogue.
    async fn set_link(&mut self, did: &Did, mode: Mode, link: Option<&PaymentLinkId>) -> Result<(), StorageError>;
    /// Sets whether lists show the app. Nothing happens if it is not in the catalogue.
    async fn set_listed(&mut self, did: &Did, is_listed: bool) -> Result<(), StorageError>;
    /// Sets whether a version is yanked. Nothing happens if it is not in the catalogue.
    async fn set_yanked(&mut self, version: &VersionId, is_yanked: bool) -> Result<(), StorageError>;
    async fn find(&mut self, did: &Did) -> Result<Option<App>, StorageError>;
    async fn find_all(&mut self, dids: &[Did]) -> Result<Vec<App>, StorageError>;
    /// How many available apps each of these developers has; those without any are left out.
    async fn count_of_developers(&mut self, dids: &[Did]) -> Result<BTreeMap<Did, u64>, StorageError>;
    async fn list(&mut self, filter: &AppFilter, page: &Page) -> Result<Listed<App>, StorageError>;
    /// Newest first, yanked ones included.
    async fn versions(&mut self, app: &Did) -> Result<Vec<AppVersion>, StorageError>;
    async fn version(&mut self, app: &Did, version: &str) -> Result<Option<AppVersion>, StorageError>;
    /// Increments the app's and the day's counter, without reading either.
    async fn count_download(&mut self, app: &Did, now: Timestamp) -> Result<(), StorageError>;
    /// The downloads of each of these apps in the last 30 days.
    async fn recent_downloads(&mut self, apps: &[Did], now: Timestamp) -> Result<BTreeMap<Did, u64>, StorageError>;
}

/// A one-time purchase that is revoked: the invoice line that paid for it, and when.
#[derive(Debug, Clone)]
pub struct RevokedPurchase {
    pub item: InvoiceItemId,
    pub at: Timestamp,
}

/// That somebody has an app.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Validity {
    /// When it ends as its subscription stands: it is set to cancel, or is paused. `None`: no end is known.
    pub ends_at: Option<Timestamp>,
}

#[async_trait]
pub trait Entitlements: Send {
    /// Inserts entitlements, one per (session, app, subscription). Idempotent.
    async fn grant_all(&mut self, entitlements: &[Entitlement]) -> Result<(), StorageError>;
    /// As [`Entitlements::grant_all`], for one entitlement.
    async fn grant(&mut self, entitlement: &Entitlement) -> Result<(), StorageError> {
        self.grant_all(std::slice::from_ref(entitlement)).await
    }
    /// Revokes the one-time purchases of invoice lines. Entitlements of a subscription end with the subscription instead.
    async fn revoke_all(&mut self, purchases: &[RevokedPurchase]) -> Result<(), StorageError>;
    /// Suspends the entitlements of these invoices and subscriptions, because their payment is disputed.
    async fn suspend(&mut self, invoices: &[InvoiceId], subscriptions: &[SubscriptionId], now: Timestamp) -> Result<(), StorageError>;
    /// Ends the suspension of these entitlements.
    async fn reinstate(&mut self, invoices: &[InvoiceId], subscriptions: &[SubscriptionId]) -> Result<(), StorageError>;
    /// Whether the holder may download the app at `now`, or at the time of their test clock, and until when: the entitlement that ends last
    /// counts. Revoked and suspended entitlements do not count. Test and live purchases count in their own mode only.
    async fn validity(&mut self, mode: Mode, holder: &Did, app: &Did, now: Timestamp) -> Result<Option<Validity>, StorageError>;
    /// As [`Entitlements::validity`], without its end.
    async fn holds(&mut self, mode: Mode, holder: &Did, app: &Did, now: Timestamp) -> Result<bool, StorageError> {
        Ok(self.validity(mode, holder, app, now).await?.is_some())
    }
    /// The apps among these that the holder may download.
    async fn held(&mut self, mode: Mode, holder: &Did, apps: &[Did], now: Timestamp) -> Result<Vec<Did>, StorageError>;
    /// The holder's entitlements that are valid at `now`, revoked or suspended; newest first.
    async fn of_holder(&mut self, mode: Mode, holder: &Did, now: Timestamp, page: &Page) -> Result<Listed<Entitlement>, StorageError>;
    /// All entitlements of a session, ended ones included.
    async fn of_session(&mut self, session: &SessionId) -> Result<Vec<Entitlement>, StorageError>;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn test_entitlements_do_not_open_apps_that_are_sold_live() {
        let mut app = App {
            did: Did::from_verified("z1"),
            availability: Availability::Available,
            is_listed: true,
            name: "app".into(),
            title: Text::default(),
            description: Text::default(),
            category_id: CategoryId::parse("cat_1").expect("id"),
            developer: Developer { did: Did::from_verified("z2"), name: String::new(), verified: false },
            logo: String::new(),
            screenshots: Vec::new(),
            license: String::new(),
            website: None,
            test_link: PaymentLinkId::parse("plink_1").ok(),
            live_link: None,
            downloads: 0,
            version: "1.0.0".into(),
            size: 0,
            created_at: Timestamp::from_seconds(0),
            updated_at: Timestamp::from_seconds(0),
        };
        assert!(app.is_opened_by(Mode::Test));
        app.live_link = PaymentLinkId::parse("plink_2").ok();
        assert!(!app.is_opened_by(Mode::Test));
        assert!(app.is_opened_by(Mode::Live));
    }
}
