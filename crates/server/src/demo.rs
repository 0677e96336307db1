//! Loads the demo store (apps, prices, payment links) into an empty database, and never into one that contains apps.

mod plans;

use crate::compose::{Failure, Parts};
use souk_adapters::demo::{self, DemoApp, DemoSale, SCREENSHOT_HEIGHT, SCREENSHOT_WIDTH};
use souk_adapters::identity::{PublicKey, Role, did_from_public_key};
use souk_domain::access::Did;
use souk_domain::checkout::{FormOptions, LineItem, PaymentLink, QuantityRange, SubscriptionTerms};
use souk_domain::customer::{Field, FieldPattern, PageInfo};
use souk_domain::payment::{Currency, MethodKind};
use souk_domain::pricing::{CurrencyOption, Metadata, Price, Product};
use souk_domain::shared::{Amount, CategoryId, Mode, PaymentLinkId, PriceId, ProductId, StorageError, Timestamp, VersionId};
use souk_domain::storage::UnitOfWork;
use souk_domain::store::{App, AppVersion, Availability, Category, Developer, Files, Screenshot};
use std::time::Duration;

const DAY: Duration = Duration::from_secs(86_400);

/// The stored files of one app. Files are stored before the database refers to them.
struct StoredFiles {
    logo: String,
    screenshots: Vec<Screenshot>,
    /// SHA-256 and size of each version's bundle, newest first.
    bundles: Vec<(String, u64)>,
}

/// Loads the demo store. If several processes start together, one of them loads it; the others wait and then fail on unique keys,
/// which is not an error.
pub async fn load(parts: &Parts) -> Result<(), Failure> {
    if !parts.ctx.store.read().await?.apps().categories().await?.is_empty() {
        return Ok(());
    }
    match insert(parts).await {
        Err(failure) if matches!(failure.downcast_ref(), Some(StorageError::Duplicate(_))) => Ok(()),
        result => result,
    }
}

async fn insert(parts: &Parts) -> Result<(), Failure> {
    let store = demo::catalogue();
    let mut stored = Vec::new();
    for app in &store.apps {
        stored.push(store_files(parts, app).await?);
    }
    let now = parts.clock.now();
    let mut unit = parts.ctx.store.begin().await?;
    if !unit.apps().categories().await?.is_empty() {
        return Ok(());
    }
    let mut categories = Vec::new();
    for (position, category) in store.categories.iter().enumerate() {
        let id = CategoryId::new(now, parts.random.as_ref());
        let category = Category { id, slug: category.slug.clone(), name: category.name.clone(), position: u32::try_from(position)? };
        unit.apps().insert_category(&category).await?;
        categories.push(category);
    }
    let methods = unit.methods().list(Mode::Test).await?;
    let currencies = unit.methods().currencies(Mode::Test).await?;
    let currency_of = |kind| {
        let method = methods.iter().find(|method| method.kind == kind)?;
        currencies.iter().find(|currency| currency.method_id == method.id)
    };
    let (Some(token), Some(dollar)) = (currency_of(MethodKind::Arcblock), currency_of(MethodKind::Stripe)) else {
        return Err("the demo store needs the sandbox's payment methods".into());
    };
    for (app, files) in store.apps.iter().zip(stored) {
        let category =
            categories.iter().find(|category| category.slug == app.category).ok_or("a demo app names no category of the demo")?;
        let verified = store.developers.iter().any(|developer| developer.name == app.developer && developer.verified);
        let did = demo_did(&format!("app:{}", app.name), Role::Blocklet);
        let link = match &app.sale {
            Some(sale) => Some(sell(parts, unit.as_mut(), app, sale, &did, token, dollar, now).await?),
            None => None,
        };
        plans::offer(parts, unit.as_mut(), app, &did, plans::PlanCurrencies { token, dollar }, now).await?;
        insert_app(parts, unit.as_mut(), app, files, Placement { did, category, verified, link }, now).await?;
    }
    unit.commit().await?;
    Ok(())
}

/// A DID that is the same in every demo store. It is derived from the hash of a name, so nobody holds its private key.
fn demo_did(name: &str, role: Role) -> Did {
    use sha2::{Digest, Sha256};
    let bytes: [u8; 32] = Sha256::digest(format!("souk-demo:{name}")).into();
    did_from_public_key(&PublicKey::ed25519(&bytes), role)
}

async fn store_files(parts: &Parts, app: &DemoApp) -> Result<StoredFiles, Failure> {
    let files: &dyn Files = &parts.files;
    let mut screenshots = Vec::new();
    for shot in &app.screenshots {
        let file = files.put(shot.svg.as_bytes()).await?;
        screenshots.push(Screenshot { file, width: SCREENSHOT_WIDTH, height: SCREENSHOT_HEIGHT, alt: shot.alt.clone() });
    }
    let mut bundles = Vec::new();
    for version in &app.versions {
        let bundle = demo::bundle(app, version)?;
        bundles.push((files.put(&bundle).await?, bundle.len() as u64));
    }
    Ok(StoredFiles { logo: files.put(app.logo.as_bytes()).await?, screenshots, bundles })
}

/// The references of an app within this store.
struct Placement<'a> {
    did: Did,
    category: &'a Category,
    verified: bool,
    link: Option<PaymentLinkId>,
}

async fn insert_app(
    parts: &Parts,
    unit: &mut dyn UnitOfWork,
    app: &DemoApp,
    files: StoredFiles,
    placement: Placement<'_>,
    now: Timestamp,
) -> Result<(), Failure> {
    let ago = |days: u32| now.minus(DAY * days);
    let (Some(newest), Some(oldest)) = (app.versions.first(), app.versions.last()) else { return Err("a demo app has no version".into()) };
    let (_, size) = files.bundles.first().cloned().unwrap_or_default();
    let row = App {
        did: placement.did.clone(),
        availability: Availability::Available,
        is_listed: true,
        name: app.name.clone(),
        title: app.title.clone(),
        description: app.description.clone(),
        category_id: placement.category.id.clone(),
        developer: Developer {
            did: demo_did(&format!("developer:{}", app.developer), Role::Account),
            name: app.developer.clone(),
            verified: placement.verified,
        },
        logo: files.logo,
        screenshots: files.screenshots,
        license: app.license.clone(),
        website: None,
        test_link: placement.link,
        live_link: None,
        downloads: u64::from(app.downloads),
        version: newest.version.clone(),
        size,
        created_at: ago(oldest.days_ago),
        updated_at: ago(newest.days_ago),
    };
    unit.apps().insert(&row).await?;
    for (version, (sha256, size)) in app.versions.iter().zip(files.bundles) {
        let published_at = ago(version.days_ago);
        let row = AppVersion {
            id: VersionId::new(published_at, parts.random.as_ref()),
            app: placement.did.clone(),
            version: version.version.clone(),
            readme: app.readme.clone(),
            changelog: version.changelog.clone(),
            sha256,
            size,
            published_at,
            is_yanked: false,
            facts: None,
        };
        unit.apps().insert_version(&row).await?;
    }
    Ok(())
}

#[expect(clippy::too_many_arguments, reason = "all facts of one sale")]
async fn sell(
    parts: &Parts,
    unit: &mut dyn UnitOfWork,
    app: &DemoApp,
    sale: &DemoSale,
    did: &Did,
    token: &Currency,
    dollar: &Currency,
    now: Timestamp,
) -> Result<PaymentLinkId, Failure> {
    let random = parts.random.as_ref();
    let amount = |text: &str, currency: &Currency| Amount::parse_decimal(text, currency.decimals, currency.maximum_precision);
    let product_id = ProductId::new(now, random);
    let price = Price {
        id: PriceId::new(now, random),
        mode: Mode::Test,
        product_id: product_id.clone(),
        active: true,
        locked: false,
        replaced_by: None,
        nickname: app.title.en.clone(),
        lookup_key: Some(app.name.clone()),
        currency_id: token.id.clone(),
        unit_amount: amount(&sale.token, token)?,
        currency_options: vec![
            CurrencyOption::per_unit(token.id.clone(), amount(&sale.token, token)?),
            CurrencyOption::per_unit(dollar.id.clone(), amount(&sale.usd, dollar)?),
        ],
        recurring: None,
        tiers_mode: None,
        tiers: Vec::new(),
        custom: None,
        upsells_to: None,
        stock_of: None,
        quantity_available: sale.quantity_available.unwrap_or_default().into(),
        quantity_sold: 0,
        quantity_limit_per_checkout: sale.quantity_limit_per_checkout.unwrap_or_default().into(),
        metadata: Metadata::new(),
        created_at: now,
        updated_at: now,
    };
    let product = Product {
        id: product_id,
        mode: Mode::Test,
        active: true,
        name: app.title.en.clone(),
        name_zh: Some(app.title.zh.clone()),
        description: app.description.en.clone(),
        description_zh: Some(app.description.zh.clone()),
        images: vec![format!("/api/apps/{did}/logo")],
        features: Vec::new(),
        unit_label: None,
        unit_label_zh: None,
        statement_descriptor: Some(app.title.en.clone()),
        default_price_id: Some(price.id.clone()),
        app: Some(did.clone()),
        cross_sells_to: None,
        metadata: Metadata::new(),
        created_at: now,
        updated_at: now,
    };
    let limited = sale.quantity_available.is_some() || sale.quantity_limit_per_checkout.is_some();
    let link = PaymentLink {
        id: PaymentLinkId::new(now, random),
        mode: Mode::Test,
        active: true,
        name: app.title.en.clone(),
        items: vec![LineItem {
            adjustable: limited.then_some(QuantityRange { minimum: 1, maximum: 0 }),
            ..LineItem::new(price.id.clone(), 1)
        }],
        currency_id: token.id.clone(),
        terms: SubscriptionTerms::default(),
        requires_cross_sell: false,
        form: FormOptions { collect_phone: sale.collects_phone, require_address: sale.requires_address, page_info: page_info(sale)? },
        custom_message: sale.confirmation.clone().unwrap_or_default(),
        redirect_url: None,
        metadata: Metadata::new(),
        created_at: now,
        updated_at: now,
    };
    unit.products().insert(&product).await?;
    unit.prices().insert(&price).await?;
    unit.links().insert(&link).await?;
    unit.prices().lock(std::slice::from_ref(&price.id)).await?;
    Ok(link.id)
}

fn page_info(sale: &DemoSale) -> Result<PageInfo, Failure> {
    let mut info = PageInfo { purpose: sale.form_purpose.clone().unwrap_or_default(), ..PageInfo::default() };
    for rule in &sale.field_rules {
        let field = Field::from_name(&rule.field).ok_or("a demo rule names no field")?;
        let pattern = FieldPattern::new(&rule.pattern, rule.message.clone()).ok_or("a demo pattern does not compile")?;
        info.patterns.insert(field, pattern);
    }
    Ok(info)
}
