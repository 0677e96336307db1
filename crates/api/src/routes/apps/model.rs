use crate::routes::checkout_sessions::TextModel;
use crate::routes::prices::RecurringModel;
use poem_openapi::Object;
use souk_domain::checkout::PaymentLink;
use souk_domain::payment::{Currency, Method};
use souk_domain::pricing::{Product, Recurring};
use souk_domain::shared::{Amount, SubscriptionId};
use souk_domain::store::{App, AppVersion, Category, Entitlement, Screenshot, VersionComponent, VersionFacts};
use url::form_urlencoded::byte_serialize;

#[derive(Debug, Clone, Object)]
#[oai(rename = "Category")]
pub struct CategoryModel {
    pub id: String,
    pub slug: String,
    pub name: TextModel,
    pub app_count: u64,
}

impl CategoryModel {
    #[must_use]
    pub fn new(category: &Category, app_count: u64) -> Self {
        Self { id: category.id.to_string(), slug: category.slug.clone(), name: TextModel::from(&category.name), app_count }
    }
}

#[derive(Debug, Clone, Object)]
#[oai(rename = "CategoryList")]
pub struct CategoryListModel {
    pub count: u64,
    pub list: Vec<CategoryModel>,
}

#[derive(Debug, Clone, Object)]
#[oai(rename = "AppCategory")]
pub struct AppCategoryModel {
    pub id: String,
    pub slug: String,
    pub name: TextModel,
}

#[derive(Debug, Clone, Object)]
#[oai(rename = "AppDeveloper")]
pub struct DeveloperModel {
    pub did: String,
    pub name: String,
    pub verified: bool,
}

#[derive(Debug, Clone, Object)]
#[oai(rename = "AppPrice")]
pub struct AppPriceModel {
    pub currency_id: String,
    pub symbol: String,
    pub decimal: u32,
    /// Base units.
    pub unit_amount: String,
    pub method_type: String,
}

impl AppPriceModel {
    #[must_use]
    pub fn new(amount: Amount, currency: &Currency, method: &Method) -> Self {
        Self {
            currency_id: currency.id.to_string(),
            symbol: currency.symbol.clone(),
            decimal: currency.decimals,
            unit_amount: amount.to_string(),
            method_type: method.kind.name().to_owned(),
        }
    }
}

#[derive(Debug, Clone, Object)]
#[oai(rename = "App", skip_serializing_if_is_none)]
pub struct AppModel {
    pub did: String,
    pub name: String,
    pub title: TextModel,
    pub description: TextModel,
    pub logo: String,
    #[oai(skip_serializing_if_is_none = false, nullable)]
    pub category: Option<AppCategoryModel>,
    pub developer: DeveloperModel,
    /// `free` or `paid`.
    pub pricing: String,
    /// The payment link that sells the app in the mode of the request.
    #[oai(skip_serializing_if_is_none = false, nullable)]
    pub payment_link_id: Option<String>,
    pub prices: Vec<AppPriceModel>,
    pub version: String,
    pub downloads: u64,
    /// Downloads in the last 30 days.
    pub downloads_month: u64,
    /// Bytes.
    pub size: u64,
    pub created_at: String,
    pub updated_at: String,
    /// available, blocked or withdrawn: the store offers it, has blocked it, or has no version of it any more.
    pub availability: String,
    /// Whether the caller may download it.
    pub entitled: bool,
}

/// Fields of an app's model that come from related objects.
pub struct AppExtras<'a> {
    pub category: Option<&'a Category>,
    pub payment_link_id: Option<String>,
    pub prices: Vec<AppPriceModel>,
    pub downloads_month: u64,
    pub entitled: bool,
}

impl AppModel {
    #[must_use]
    pub fn new(app: &App, extras: AppExtras<'_>) -> Self {
        let category = extras.category.map(|category| AppCategoryModel {
            id: category.id.to_string(),
            slug: category.slug.clone(),
            name: TextModel::from(&category.name),
        });
        Self {
            did: app.did.to_string(),
            name: app.name.clone(),
            title: TextModel::from(&app.title),
            description: TextModel::from(&app.description),
            // The content hash in the URL lets browsers cache the picture without revalidation.
            logo: format!("/api/apps/{}/logo?v={}", app.did, app.logo.get(..12).unwrap_or_default()),
            category,
            developer: DeveloperModel {
                did: app.developer.did.to_string(),
                name: app.developer.name.clone(),
                verified: app.developer.verified,
            },
            pricing: if app.is_free() { "free" } else { "paid" }.to_owned(),
            payment_link_id: extras.payment_link_id,
            prices: extras.prices,
            version: app.version.clone(),
            downloads: app.downloads,
            downloads_month: extras.downloads_month,
            size: app.size,
            created_at: app.created_at.to_iso(),
            updated_at: app.updated_at.to_iso(),
            availability: app.availability.name().to_owned(),
            entitled: extras.entitled,
        }
    }
}

#[derive(Debug, Clone, Object)]
#[oai(rename = "AppList")]
pub struct AppListModel {
    pub count: u64,
    pub list: Vec<AppModel>,
}

#[derive(Debug, Clone, Object)]
#[oai(rename = "Shelves")]
pub struct ShelvesModel {
    pub new: Vec<AppModel>,
    pub updated: Vec<AppModel>,
    pub trending: Vec<AppModel>,
}

#[derive(Debug, Clone, Object)]
#[oai(rename = "Screenshot")]
pub struct ScreenshotModel {
    pub url: String,
    pub width: u32,
    pub height: u32,
    pub alt: TextModel,
}

impl ScreenshotModel {
    #[must_use]
    pub fn new(app: &App, version: &str, index: usize, shot: &Screenshot) -> Self {
        let mut url = format!("/api/apps/{}/screenshots/{index}?v={}", app.did, shot.file.get(..12).unwrap_or_default());
        if version != app.version {
            url.push_str("&version=");
            url.extend(byte_serialize(version.as_bytes()));
        }
        Self { url, width: shot.width, height: shot.height, alt: TextModel::from(&shot.alt) }
    }
}

#[derive(Debug, Clone, Object)]
#[oai(rename = "AppVersion")]
pub struct VersionModel {
    pub version: String,
    pub published_at: String,
    pub changelog: TextModel,
    pub size: u64,
    /// SHA-256 of the bundle in lower-case hex.
    pub sha256: String,
}

impl From<&AppVersion> for VersionModel {
    fn from(version: &AppVersion) -> Self {
        Self {
            version: version.version.clone(),
            published_at: version.published_at.to_iso(),
            changelog: TextModel::from(&version.changelog),
            size: version.size,
            sha256: version.sha256.clone(),
        }
    }
}

/// A subscription plan of an app, and the payment link that sells it.
#[derive(Debug, Clone, Object)]
#[oai(rename = "AppPlan", skip_serializing_if_is_none)]
pub struct AppPlanModel {
    pub payment_link_id: String,
    pub name: TextModel,
    pub description: TextModel,
    /// Length of the free trial in days; 0: no trial, or the caller has used it.
    pub trial_days: u32,
    /// The name of one unit.
    pub unit_label: Option<TextModel>,
    pub recurring: RecurringModel,
    /// The price of one unit in each currency.
    pub prices: Vec<AppPriceModel>,
    /// The caller's subscription to this plan, if it has not ended.
    pub subscription_id: Option<String>,
}

impl AppPlanModel {
    #[must_use]
    pub fn new(
        link: &PaymentLink,
        product: &Product,
        recurring: Recurring,
        prices: Vec<AppPriceModel>,
        trial_days: u32,
        subscription: Option<&SubscriptionId>,
    ) -> Self {
        Self {
            payment_link_id: link.id.to_string(),
            name: TextModel::from(&product.localized_name()),
            description: TextModel::from(&product.localized_description()),
            trial_days,
            unit_label: product.localized_unit_label().as_ref().map(TextModel::from),
            recurring: RecurringModel::from(recurring),
            prices,
            subscription_id: subscription.map(ToString::to_string),
        }
    }
}

#[derive(Debug, Clone, Object)]
#[oai(rename = "AppDetail")]
pub struct AppDetailModel {
    #[oai(flatten)]
    pub app: AppModel,
    /// The subscription plans of the app.
    pub plans: Vec<AppPlanModel>,
    pub readme: TextModel,
    pub screenshots: Vec<ScreenshotModel>,
    pub versions: Vec<VersionModel>,
    /// A developer has uploaded and signed it, so `souk install` installs it.
    pub installable: bool,
    pub license: String,
    #[oai(nullable)]
    pub website: Option<String>,
    pub requirements: RequirementsModel,
    /// Whether the version brings an image for Docker.
    pub docker: bool,
    /// The apps that the version needs or can use.
    pub components: Vec<ComponentModel>,
}

/// On what a version runs. Empty texts and lists: on any.
#[derive(Debug, Clone, Object)]
#[oai(rename = "AppRequirements")]
pub struct RequirementsModel {
    /// A range of versions of the server.
    pub server: String,
    /// A range of versions of Node.js.
    pub nodejs: String,
    /// Operating systems.
    pub os: Vec<String>,
    /// Processors.
    pub cpu: Vec<String>,
}

impl From<&VersionFacts> for RequirementsModel {
    fn from(facts: &VersionFacts) -> Self {
        Self { server: facts.server.clone(), nodejs: facts.nodejs.clone(), os: facts.os.clone(), cpu: facts.cpu.clone() }
    }
}

/// Another app that a version needs or can use.
#[derive(Debug, Clone, Object)]
#[oai(rename = "AppComponent")]
pub struct ComponentModel {
    pub title: String,
    /// A range of its versions; empty: any.
    pub version: String,
    pub required: bool,
}

impl From<&VersionComponent> for ComponentModel {
    fn from(component: &VersionComponent) -> Self {
        Self { title: component.title.clone(), version: component.version.clone(), required: component.is_required }
    }
}

#[derive(Debug, Clone, Object)]
#[oai(rename = "Entitlement", skip_serializing_if_is_none)]
pub struct EntitlementModel {
    pub id: String,
    pub app: AppModel,
    pub acquired_at: String,
    pub checkout_session_id: String,
    pub invoice_id: Option<String>,
    /// The subscription that grants the entitlement; absent for a one-time purchase.
    pub subscription_id: Option<String>,
    /// `active`, `revoked` (the purchase was refunded) or `suspended` (its payment is disputed).
    pub status: String,
    pub revoked_at: Option<String>,
    pub suspended_at: Option<String>,
}

/// The wire status of a listed entitlement. Lists leave out entitlements that ended for another reason.
#[must_use]
pub const fn entitlement_status(entitlement: &Entitlement) -> &'static str {
    match (entitlement.revoked_at, entitlement.suspended_at) {
        (Some(_), _) => "revoked",
        (None, Some(_)) => "suspended",
        (None, None) => "active",
    }
}

#[derive(Debug, Clone, Object)]
#[oai(rename = "EntitlementList")]
pub struct EntitlementListModel {
    pub count: u64,
    pub list: Vec<EntitlementModel>,
}
