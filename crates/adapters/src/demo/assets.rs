//! The embedded files of the demo store, and their format.

use super::{
    DemoApp, DemoCategory, DemoDeveloper, DemoFieldRule, DemoPlan, DemoPlanPrice, DemoSale, DemoScreenshot, DemoStore, DemoVersion,
};
use serde::Deserialize;
use souk_domain::pricing::{Aggregate, Anchoring, Recurring, RecurringInterval, Usage};
use souk_domain::shared::Text;

struct Folder {
    facts: &'static str,
    readme_en: &'static str,
    readme_zh: &'static str,
    logo: &'static str,
    page: &'static str,
    screenshots: [&'static str; 2],
}

macro_rules! folders {
    ($($name:literal),* $(,)?) => {[$((
        $name,
        Folder {
            facts: include_str!(concat!("../../assets/demo/apps/", $name, "/app.toml")),
            readme_en: include_str!(concat!("../../assets/demo/apps/", $name, "/readme.en.md")),
            readme_zh: include_str!(concat!("../../assets/demo/apps/", $name, "/readme.zh.md")),
            logo: include_str!(concat!("../../assets/demo/apps/", $name, "/logo.svg")),
            page: include_str!(concat!("../../assets/demo/apps/", $name, "/page.html")),
            screenshots: [
                include_str!(concat!("../../assets/demo/apps/", $name, "/screenshot-1.svg")),
                include_str!(concat!("../../assets/demo/apps/", $name, "/screenshot-2.svg")),
            ],
        },
    )),*]};
}

static STORE: &str = include_str!("../../assets/demo/store.toml");

static APPS: [(&str, Folder); 14] = folders![
    "json-orchard",
    "regex-bench",
    "cronwright",
    "pomelo-timer",
    "plainboard",
    "palette-loom",
    "pixel-press",
    "hushwave",
    "keysmith",
    "cipherpost",
    "hashlight",
    "ledgerleaf",
    "invoice-desk",
    "compound-garden",
];

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct StoreFile {
    name: Both,
    description: Both,
    categories: Vec<CategoryFile>,
    developers: Vec<DeveloperFile>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct CategoryFile {
    slug: String,
    name: Both,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct DeveloperFile {
    name: String,
    verified: bool,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct AppFile {
    title: Both,
    description: Both,
    category: String,
    developer: String,
    license: String,
    downloads: u32,
    sale: Option<SaleFile>,
    #[serde(default)]
    plans: Vec<PlanFile>,
    screenshots: [Both; 2],
    versions: Vec<VersionFile>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct SaleFile {
    token: String,
    usd: String,
    quantity_available: Option<u32>,
    quantity_limit_per_checkout: Option<u32>,
    confirmation: Option<Both>,
    #[serde(default)]
    collects_phone: bool,
    #[serde(default)]
    requires_address: bool,
    form_purpose: Option<Both>,
    #[serde(default)]
    field_rules: Vec<FieldRuleFile>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct PlanFile {
    name: Both,
    description: Both,
    unit_label: Option<Both>,
    #[serde(default)]
    trial_days: u32,
    #[serde(default)]
    no_stake: bool,
    min_stake: Option<String>,
    prices: Vec<PlanPriceFile>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct PlanPriceFile {
    lookup_key: String,
    token: String,
    usd: String,
    interval: String,
    /// How usage is aggregated; absent for a licensed price.
    metered: Option<String>,
    upsells_to: Option<String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct FieldRuleFile {
    field: String,
    pattern: String,
    message: Both,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct VersionFile {
    version: String,
    days_ago: u32,
    en: String,
    zh: String,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Both {
    en: String,
    zh: String,
}

impl From<Both> for Text {
    fn from(both: Both) -> Self {
        Self::new(both.en, both.zh)
    }
}

fn parse<T: serde::de::DeserializeOwned>(file: &str, text: &str) -> T {
    toml::from_str(text).unwrap_or_else(|error| panic!("assets/demo/{file} does not read: {error}"))
}

pub(super) fn read() -> DemoStore {
    let store: StoreFile = parse("store.toml", STORE);
    DemoStore {
        name: store.name.into(),
        description: store.description.into(),
        categories: store.categories.into_iter().map(|one| DemoCategory { slug: one.slug, name: one.name.into() }).collect(),
        developers: store.developers.into_iter().map(|one| DemoDeveloper { name: one.name, verified: one.verified }).collect(),
        apps: APPS.iter().map(|(name, folder)| app(name, folder)).collect(),
    }
}

fn app(name: &str, folder: &Folder) -> DemoApp {
    let facts: AppFile = parse(&format!("apps/{name}/app.toml"), folder.facts);
    let screenshots = folder.screenshots.into_iter().zip(facts.screenshots);
    DemoApp {
        name: name.to_owned(),
        title: facts.title.into(),
        description: facts.description.into(),
        readme: Text::new(folder.readme_en, folder.readme_zh),
        category: facts.category,
        developer: facts.developer,
        license: facts.license,
        logo: folder.logo,
        screenshots: screenshots.map(|(svg, alt)| DemoScreenshot { svg, alt: alt.into() }).collect(),
        versions: facts.versions.into_iter().map(version).collect(),
        downloads: facts.downloads,
        sale: facts.sale.map(sale),
        plans: facts.plans.into_iter().map(|file| plan(name, file)).collect(),
        page: folder.page,
    }
}

fn version(file: VersionFile) -> DemoVersion {
    DemoVersion { version: file.version, days_ago: file.days_ago, changelog: Text::new(file.en, file.zh) }
}

fn sale(file: SaleFile) -> DemoSale {
    let rule = |rule: FieldRuleFile| DemoFieldRule { field: rule.field, pattern: rule.pattern, message: rule.message.into() };
    DemoSale {
        token: file.token,
        usd: file.usd,
        quantity_available: file.quantity_available,
        quantity_limit_per_checkout: file.quantity_limit_per_checkout,
        confirmation: file.confirmation.map(Text::from),
        collects_phone: file.collects_phone,
        requires_address: file.requires_address,
        form_purpose: file.form_purpose.map(Text::from),
        field_rules: file.field_rules.into_iter().map(rule).collect(),
    }
}

fn plan(app: &str, file: PlanFile) -> DemoPlan {
    let price = |file: PlanPriceFile| {
        let usage = file.metered.map_or(Some(Usage::Licensed), |name| Aggregate::from_name(&name).map(Usage::Metered));
        let cycle = RecurringInterval::named(&file.interval, 1, Anchoring::Fixed).ok();
        let recurring = cycle.zip(usage).map(|(cycle, usage)| Recurring { cycle, usage });
        DemoPlanPrice {
            lookup_key: file.lookup_key,
            token: file.token,
            usd: file.usd,
            recurring: recurring.unwrap_or_else(|| panic!("assets/demo/apps/{app}/app.toml: a plan of no rhythm")),
            upsells_to: file.upsells_to,
        }
    };
    DemoPlan {
        trial_days: file.trial_days,
        no_stake: file.no_stake,
        min_stake: file.min_stake,
        name: file.name.into(),
        description: file.description.into(),
        unit_label: file.unit_label.map(Text::from),
        prices: file.prices.into_iter().map(price).collect(),
    }
}
