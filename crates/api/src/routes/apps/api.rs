use super::download::{self, BinaryResponse};
use super::model::{
    AppDetailModel, AppExtras, AppListModel, AppModel, AppPriceModel, CategoryListModel, CategoryModel, ComponentModel,
    EntitlementListModel, EntitlementModel, RequirementsModel, ScreenshotModel, ShelvesModel, VersionModel, entitlement_status,
};
use super::plans::plans_of;
use crate::auth::{Caller, Downloader, MaybeUser, RequestContext, SignedIn};
use crate::problem::Problem;
use crate::routes::checkout_sessions::TextModel;
use crate::state::App;
use poem::Request;
use poem::http::StatusCode;
use poem::web::Data;
use poem_openapi::OpenApi;
use poem_openapi::param::{Path, Query};
use poem_openapi::payload::Json;
use souk_domain::access::Did;
use souk_domain::checkout::PaymentLink;
use souk_domain::payment::{Currency, Method};
use souk_domain::pricing::{Price, Product};
use souk_domain::publishing::installing::entitled_mode;
use souk_domain::shared::{Mode, Page};
use souk_domain::storage::UnitOfWork;
use souk_domain::store::{self as domain, AppFilter, AppSort, Availability, Category, KEYWORD_MAX};
use std::collections::BTreeMap;
use std::sync::Arc;

/// Number of apps on one shelf of the home page.
const SHELF: u32 = 8;

pub struct AppsApi;

#[OpenApi(prefix_path = "/api/apps")]
impl AppsApi {
    /// Browse and search apps.
    #[oai(path = "/", method = "get")]
    #[expect(clippy::too_many_arguments, reason = "each is a parameter of the address")]
    async fn list(
        &self,
        app: Data<&Arc<App>>,
        user: MaybeUser,
        context: RequestContext,
        keyword: Query<Option<String>>,
        category: Query<Option<String>>,
        price: Query<Option<String>>,
        sort: Query<Option<String>>,
        page: Query<Option<u32>>,
        #[oai(name = "pageSize")] page_size: Query<Option<u32>>,
    ) -> Result<Json<AppListModel>, Problem> {
        let filter = AppFilter {
            keyword: keyword.0.unwrap_or_default().chars().take(KEYWORD_MAX).collect(),
            category: category.0.filter(|category| !category.is_empty()),
            free: match price.0.as_deref() {
                Some("free") => Some(true),
                Some("paid") => Some(false),
                _ => None,
            },
            sort: match sort.0.as_deref() {
                Some("updated") => AppSort::Updated,
                Some("created") => AppSort::Created,
                Some("name") => AppSort::Name,
                _ => AppSort::Downloads,
            },
        };
        let mut unit = app.ctx.store.read().await?;
        let found = unit.apps().list(&filter, &Page::new(page.0, page_size.0)).await?;
        let list = models(&app, unit.as_mut(), &found.list, context.mode, user.0.as_ref()).await?;
        Ok(Json(AppListModel { count: found.count, list }))
    }

    /// The shelves of the home page.
    #[oai(path = "/shelves", method = "get")]
    async fn shelves(&self, app: Data<&Arc<App>>, user: MaybeUser, context: RequestContext) -> Result<Json<ShelvesModel>, Problem> {
        let mut unit = app.ctx.store.read().await?;
        let mut shelves = Vec::new();
        for sort in [AppSort::Created, AppSort::Updated, AppSort::Downloads] {
            let filter = AppFilter { sort, ..AppFilter::default() };
            let found = unit.apps().list(&filter, &Page::new(None, Some(SHELF))).await?;
            shelves.push(models(&app, unit.as_mut(), &found.list, context.mode, user.0.as_ref()).await?);
        }
        let mut next = shelves.into_iter();
        let mut shelf = || next.next().unwrap_or_default();
        Ok(Json(ShelvesModel { new: shelf(), updated: shelf(), trending: shelf() }))
    }

    /// One app with its readme, screenshots and versions. `version` selects the version of which readme, screenshots, size and what it says of
    /// itself are shown.
    #[oai(path = "/:did", method = "get")]
    async fn detail(
        &self,
        app: Data<&Arc<App>>,
        user: MaybeUser,
        context: RequestContext,
        did: Path<String>,
        version: Query<Option<String>>,
    ) -> Result<Json<AppDetailModel>, Problem> {
        let mut unit = app.ctx.store.read().await?;
        let found = find(&app, unit.as_mut(), &did).await?;
        check_visible(&app, unit.as_mut(), &found, context.mode, user.0.as_ref()).await?;
        let mut versions = unit.apps().versions(&found.did).await?;
        // Those who have an app see its page although nobody gets it any more.
        versions.retain(|version| !version.is_yanked || version.version == found.version);
        let wanted = version.0.as_deref().filter(|version| !version.is_empty()).unwrap_or(&found.version);
        let shown = versions.iter().find(|version| version.version == wanted).ok_or_else(Problem::not_found)?;
        let mut model = models(&app, unit.as_mut(), std::slice::from_ref(&found), context.mode, user.0.as_ref()).await?;
        let mut model = model.pop().ok_or_else(Problem::not_found)?;
        model.version.clone_from(&shown.version);
        model.size = shown.size;
        let plans = plans_of(unit.as_mut(), context.mode, &found.did, user.0.as_ref().map(|caller| &caller.user.did)).await?;
        let installable = unit.uploads().find_app(&found.did).await?.is_some();
        let facts = shown.shown_facts(&found);
        let screenshot = |(index, shot)| ScreenshotModel::new(&found, &shown.version, index, shot);
        Ok(Json(AppDetailModel {
            app: model,
            plans,
            readme: TextModel::from(&shown.readme),
            screenshots: facts.screenshots.iter().enumerate().map(screenshot).collect(),
            versions: versions.iter().map(VersionModel::from).collect(),
            installable,
            requirements: RequirementsModel::from(&facts),
            docker: facts.has_docker,
            components: facts.components.iter().map(ComponentModel::from).collect(),
            license: facts.license,
            website: facts.website,
        }))
    }

    /// Download the bundle of a version. For a paid app, the caller needs an entitlement: a signed-in user, or a command line whose request is
    /// signed by the key of a computer on which the user is signed in. A request with `Range: bytes=N-` and the `ETag` of the bundle in
    /// `If-Range` gets what follows.
    #[oai(path = "/:did/:version/bundle", method = "get")]
    async fn bundle(
        &self,
        app: Data<&Arc<App>>,
        request: &Request,
        downloader: Downloader,
        context: RequestContext,
        did: Path<String>,
        version: Path<String>,
    ) -> Result<BinaryResponse, Problem> {
        let mut unit = app.ctx.store.read().await?;
        let found = find(&app, unit.as_mut(), &did).await?;
        let version = unit.apps().version(&found.did, &version).await?.ok_or_else(Problem::not_found)?;
        if found.availability == Availability::Blocked {
            return Err(Problem::forbidden_for("This app has been blocked").code("APP_BLOCKED"));
        }
        if version.is_yanked {
            return Err(Problem::new(StatusCode::GONE, "This version has been withdrawn").code("VERSION_YANKED"));
        }
        if !found.is_free() {
            let now = app.ctx.now();
            let has_it = match &downloader {
                Downloader::Visitor => return Err(Problem::signed_out().code("PURCHASE_REQUIRED")),
                Downloader::User(caller) => {
                    let holds = unit.entitlements().holds(context.mode, &caller.user.did, &found.did, now).await?;
                    holds && found.is_opened_by(context.mode)
                }
                // A command line knows no mode.
                Downloader::Device(device) => entitled_mode(unit.as_mut(), &device.user, &found, now).await?.is_some(),
            };
            if !has_it {
                return Err(Problem::forbidden().code("PURCHASE_REQUIRED"));
            }
        }
        drop(unit);
        Ok(BinaryResponse(download::bundle(&app, request, &found, &version).await?))
    }

    /// The app's logo.
    #[oai(path = "/:did/logo", method = "get")]
    async fn logo(&self, app: Data<&Arc<App>>, user: MaybeUser, did: Path<String>) -> Result<BinaryResponse, Problem> {
        let found = find_pictured(&app, &did, user.0.as_ref()).await?;
        Ok(BinaryResponse(download::picture(&app, &found, &found.logo).await?))
    }

    /// A screenshot, by its index: of the version that new installs get, or of the one that `version` names.
    #[oai(path = "/:did/screenshots/:index", method = "get")]
    async fn screenshot(
        &self,
        app: Data<&Arc<App>>,
        user: MaybeUser,
        did: Path<String>,
        index: Path<u32>,
        version: Query<Option<String>>,
    ) -> Result<BinaryResponse, Problem> {
        let found = find_pictured(&app, &did, user.0.as_ref()).await?;
        let screenshots = match version.0.as_deref().filter(|version| !version.is_empty()) {
            Some(version) => {
                let named = app.ctx.store.read().await?.apps().version(&found.did, version).await?;
                named.filter(|named| !named.is_yanked).ok_or_else(Problem::not_found)?.shown_facts(&found).screenshots
            }
            None => found.screenshots.clone(),
        };
        let shot = screenshots.get(index.0 as usize).ok_or_else(Problem::not_found)?;
        Ok(BinaryResponse(download::picture(&app, &found, &shot.file).await?))
    }
}

/// Finds an app whose pictures the caller may see, as they may see its page. The address of a picture names no mode.
async fn find_pictured(app: &App, did: &str, caller: Option<&Caller>) -> Result<domain::App, Problem> {
    let mut unit = app.ctx.store.read().await?;
    let found = find(app, unit.as_mut(), did).await?;
    if check_visible(app, unit.as_mut(), &found, Mode::Live, caller).await.is_err() {
        check_visible(app, unit.as_mut(), &found, Mode::Test, caller).await?;
    }
    Ok(found)
}

pub struct CategoriesApi;

#[OpenApi(prefix_path = "/api/categories")]
impl CategoriesApi {
    /// The categories, each with its number of apps.
    #[oai(path = "/", method = "get")]
    async fn list(&self, app: Data<&Arc<App>>) -> Result<Json<CategoryListModel>, Problem> {
        let categories = app.ctx.store.read().await?.apps().categories().await?;
        let list: Vec<_> = categories.iter().map(|counted| CategoryModel::new(&counted.category, counted.apps)).collect();
        Ok(Json(CategoryListModel { count: list.len() as u64, list }))
    }
}

pub struct EntitlementsApi;

#[OpenApi(prefix_path = "/api/entitlements")]
impl EntitlementsApi {
    /// The entitlements of the signed-in customer, newest first; those of a subscription are listed while it grants them. The status
    /// of an entitlement shows whether its purchase was refunded or is disputed.
    #[oai(path = "/", method = "get")]
    async fn mine(
        &self,
        app: Data<&Arc<App>>,
        caller: SignedIn,
        context: RequestContext,
        page: Query<Option<u32>>,
        #[oai(name = "pageSize")] page_size: Query<Option<u32>>,
    ) -> Result<Json<EntitlementListModel>, Problem> {
        let mut unit = app.ctx.store.read().await?;
        let found = unit.entitlements().of_holder(context.mode, &caller.0.user.did, app.ctx.now(), &Page::new(page.0, page_size.0)).await?;
        let dids: Vec<_> = found.list.iter().map(|entitlement| entitlement.app.clone()).collect();
        let apps = unit.apps().find_all(&dids).await?;
        let models = models(&app, unit.as_mut(), &apps, context.mode, Some(&caller.0)).await?;
        let list = found.list.iter().filter_map(|entitlement| {
            let app = models.iter().find(|model| model.did == entitlement.app.as_str())?.clone();
            Some(EntitlementModel {
                id: entitlement.id.to_string(),
                app,
                acquired_at: entitlement.acquired_at.to_iso(),
                checkout_session_id: entitlement.session_id.to_string(),
                invoice_id: entitlement.invoice_id.as_ref().map(ToString::to_string),
                subscription_id: entitlement.subscription_id.as_ref().map(ToString::to_string),
                status: entitlement_status(entitlement).to_owned(),
                revoked_at: entitlement.revoked_at.map(|at| at.to_iso()),
                suspended_at: entitlement.suspended_at.map(|at| at.to_iso()),
            })
        });
        Ok(Json(EntitlementListModel { count: found.count, list: list.collect() }))
    }
}

async fn find(app: &App, unit: &mut dyn UnitOfWork, did: &str) -> Result<domain::App, Problem> {
    let did = app.did_auth_tokens.parse_did(did).ok_or_else(Problem::not_found)?;
    unit.apps().find(&did).await?.ok_or_else(Problem::not_found)
}

/// An app that is not available is shown to those who have it, to its developer and to reviewers.
async fn check_visible(
    app: &App,
    unit: &mut dyn UnitOfWork,
    found: &domain::App,
    mode: Mode,
    caller: Option<&Caller>,
) -> Result<(), Problem> {
    if found.availability == Availability::Available {
        return Ok(());
    }
    let Some(caller) = caller else { return Err(Problem::not_found()) };
    let is_involved = caller.is_reviewer() || caller.user.did == found.developer.did;
    if is_involved || unit.entitlements().holds(mode, &caller.user.did, &found.did, app.ctx.now()).await? {
        return Ok(());
    }
    Err(Problem::not_found())
}

/// Related objects of a list of apps, loaded once for the whole list.
struct Lookup {
    categories: Vec<Category>,
    links: Vec<PaymentLink>,
    prices: Vec<Price>,
    products: Vec<Product>,
    methods: Vec<Method>,
    currencies: Vec<Currency>,
    recent: BTreeMap<Did, u64>,
}

async fn models(
    app: &App,
    unit: &mut dyn UnitOfWork,
    apps: &[domain::App],
    mode: Mode,
    caller: Option<&Caller>,
) -> Result<Vec<AppModel>, Problem> {
    let dids: Vec<_> = apps.iter().map(|app| app.did.clone()).collect();
    let link_ids: Vec<_> = apps.iter().filter_map(|app| app.link(mode).cloned()).collect();
    let links = unit.links().find_all(&link_ids).await?;
    let price_ids: Vec<_> = links.iter().filter_map(|link| link.items.first()).map(|item| item.price_id.clone()).collect();
    let prices = unit.prices().find_all(&price_ids).await?;
    let product_ids: Vec<_> = prices.iter().map(|price| price.product_id.clone()).collect();
    let categories = unit.apps().categories().await?;
    let recent = unit.apps().recent_downloads(&dids, app.ctx.now()).await?;
    let products = unit.products().find_all(&product_ids).await?;
    let methods = unit.methods().list(mode).await?;
    let currencies = unit.methods().currencies(mode).await?;
    let categories = categories.into_iter().map(|counted| counted.category).collect();
    let lookup = Lookup { categories, links, prices, products, methods, currencies, recent };
    let owned = match caller {
        Some(caller) => unit.entitlements().held(mode, &caller.user.did, &dids, app.ctx.now()).await?,
        None => Vec::new(),
    };
    Ok(apps.iter().map(|app| model(app, &lookup, mode, owned.contains(&app.did))).collect())
}

fn model(app: &domain::App, lookup: &Lookup, mode: Mode, owned: bool) -> AppModel {
    let link = app.link(mode).and_then(|id| lookup.links.iter().find(|link| link.id == *id)).filter(|link| link.active);
    let price = link.and_then(|link| link.items.first()).and_then(|item| lookup.prices.iter().find(|price| price.id == item.price_id));
    let on_sale =
        price.filter(|price| price.active && lookup.products.iter().any(|product| product.id == price.product_id && product.active));
    let amounts = lookup.currencies.iter().filter(|currency| currency.active).filter_map(|currency| {
        let amount = on_sale?.unit_amount_in(&currency.id)?;
        let method = lookup.methods.iter().find(|method| method.id == currency.method_id && method.active)?;
        Some(AppPriceModel::new(amount, currency, method))
    });
    AppModel::new(
        app,
        AppExtras {
            category: lookup.categories.iter().find(|category| category.id == app.category_id),
            payment_link_id: link.filter(|_| on_sale.is_some()).map(|link| link.id.to_string()),
            prices: amounts.collect(),
            downloads_month: lookup.recent.get(&app.did).copied().unwrap_or_default(),
            entitled: app.availability == Availability::Available && (app.is_free() || (owned && app.is_opened_by(mode))),
        },
    )
}
