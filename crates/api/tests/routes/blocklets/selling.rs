//! The price of an app: who sets it, when it comes into force, and how a reviewer sees it.

use super::{Publishing, enroll_developer};
use crate::admin::app::Who;
use poem::http::Method;
use rust_decimal::Decimal;
use serde_json::{Value, json};
use souk_adapters::testing::upload::TestUpload;
use souk_domain::access::{Did, Role};
use souk_domain::checkout::{LineItem, PaymentLink};
use souk_domain::events::Topic;
use souk_domain::payment::{Currency, Method as PaymentMethod, MethodKind, MethodSettings, Secret};
use souk_domain::pricing::archive_product;
use souk_domain::publishing::{PermissionMode, Preferences, ReviewType, change_preferences};
use souk_domain::shared::{CategoryId, CurrencyId, MethodId, Mode, PaymentLinkId, Text};
use souk_domain::store::Category;
use std::time::Duration;

/// A store that sells in dollars, with a reviewer.
struct Store {
    publishing: Publishing,
    rita: Who,
}

impl Store {
    async fn open(review_required: bool) -> Self {
        let publishing = Publishing::open().await;
        let preferences = Preferences {
            review_required,
            review_type: ReviewType::FirstVersion,
            permission_mode: PermissionMode::Inviting,
            paid_apps_allowed: true,
            ..Preferences::default()
        };
        let ctx = &publishing.app.ctx;
        change_preferences(ctx, 0, preferences).await.expect("are changed");
        let (now, method_id) = (ctx.now(), MethodId::parse("pm_card").expect("an id"));
        let method = PaymentMethod {
            id: method_id.clone(),
            mode: Mode::Test,
            kind: MethodKind::Stripe,
            active: true,
            name: "Card".to_owned(),
            description: String::new(),
            logo: String::new(),
            settings: MethodSettings::Stripe {
                api_host: "https://api.example".to_owned(),
                dashboard: String::new(),
                publishable_key: "pk".to_owned(),
                secret_key: Secret::new("sk"),
                webhook_signing_secret: Secret::new("whsec"),
            },
            default_currency_id: None,
            created_at: now,
            updated_at: now,
        };
        let currency = Currency {
            id: CurrencyId::parse("pc_usd").expect("an id"),
            method_id,
            mode: Mode::Test,
            active: true,
            name: "Dollar".to_owned(),
            symbol: "USD".to_owned(),
            logo: String::new(),
            decimals: 2,
            maximum_precision: 2,
            contract: "usd".to_owned(),
            is_base: true,
            created_at: now,
            updated_at: now,
        };
        let category = Category {
            id: CategoryId::parse("cat_1").expect("an id"),
            slug: "tools".to_owned(),
            name: Text::new("Tools", "工具"),
            position: 1,
        };
        let mut unit = ctx.store.begin().await.expect("begins");
        unit.methods().insert(&method).await.expect("inserts");
        unit.methods().insert_currency(&currency).await.expect("inserts");
        unit.apps().insert_category(&category).await.expect("inserts");
        unit.commit().await.expect("commits");
        let rita = publishing.app.enroll(Did::from_verified("z1rita".to_owned()), Some(Role::Reviewer)).await;
        Self { publishing, rita }
    }

    fn did(&self) -> Did {
        self.publishing.version("hello", "1.0.0").did()
    }

    fn path(&self) -> String {
        format!("/api/developer/apps/{}/price?livemode=false", self.did())
    }

    async fn upload(&self, version: &str) {
        let (status, answer) = self.publishing.upload(&self.publishing.version("hello", version).sign()).await;
        assert_eq!(status, 200, "{answer}");
    }

    async fn take(&self, who: &Who, version: &str, step: Value) -> Value {
        self.publishing.check_before(&step, &self.did(), version).await;
        let path = format!("/api/apps/{}/versions/{version}/review", self.did());
        self.publishing.app.call(who, Method::PUT, &path, &step).await.1
    }

    /// Takes steps of the developer and the reviewer until the version is approved.
    async fn approve(&self, version: &str) {
        self.take(&self.publishing.developer, version, json!({ "step": "request" })).await;
        self.take(&self.rita, version, json!({ "step": "start" })).await;
        let approve = json!({ "step": "approve", "comment": "Works", "category_id": "cat_1", "review_type": "FIRST" });
        self.take(&self.rita, version, approve).await;
    }

    async fn publish(&self, version: &str) {
        self.approve(version).await;
        let published = self.take(&self.publishing.developer, version, json!({ "step": "publish" })).await;
        assert_eq!(published["version"]["status"], "PUBLISHED", "{published}");
    }

    /// From now on, the store keeps half of each sale.
    async fn raise_commission(&self) {
        let stricter = Preferences {
            review_required: true,
            permission_mode: PermissionMode::Inviting,
            paid_apps_allowed: true,
            store_share: Decimal::new(5, 1),
            ..Preferences::default()
        };
        change_preferences(&self.publishing.app.ctx, 1, stricter).await.expect("are changed");
    }

    async fn set(&self, terms: &Value) -> (u16, Value) {
        self.publishing.app.call(&self.publishing.developer, Method::PUT, &self.path(), terms).await
    }

    /// The type and the amount of the terms in force and of those proposed.
    async fn terms(&self) -> [Value; 2] {
        let price = self.publishing.app.get(&self.publishing.developer, &self.path()).await;
        ["in_force", "proposed"].map(|terms| if price[terms].is_null() { Value::Null } else { terms_of(&price[terms]) })
    }

    /// The link that sells the app in the catalogue.
    async fn link(&self) -> Option<String> {
        let mut unit = self.publishing.app.ctx.store.read().await.expect("reads");
        let shown = unit.apps().find(&self.did()).await.expect("reads").expect("is in the catalogue");
        shown.test_link.map(|link| link.to_string())
    }
}

fn terms_of(terms: &Value) -> Value {
    if terms["type"] == "free" { json!("free") } else { terms["amount"].clone() }
}

/// A price in dollars of which the beneficiary gets a percentage.
fn price(amount: &str, beneficiary: &Did, percent: &str) -> Value {
    let shares = json!([{ "beneficiary": beneficiary.as_str(), "percent": percent }]);
    json!({ "type": "one_time", "currency_id": "pc_usd", "amount": amount, "shares": shares })
}

#[tokio::test]
async fn a_price_waits_for_the_next_version_that_a_reviewer_approves() {
    let store = Store::open(true).await;
    store.upload("1.0.0").await;
    let did = store.did();
    let (status, answer) = store.set(&price("9.90", &did, "60")).await;
    assert_eq!((status, &answer["waits_for_version"], &answer["ended_auto_publish"]), (200, &json!(true), &json!(false)), "{answer}");
    assert_eq!(answer["proposed"]["store_percent"], "40");
    assert_eq!(store.terms().await, [json!("free"), json!("990")]);
    store.publish("1.0.0").await;
    assert_eq!(store.terms().await, [json!("990"), Value::Null]);
    let link = store.link().await;
    assert!(link.is_some());

    // Updates without risks are published directly, and the store does it by itself.
    let auto = format!("/api/developer/apps/{did}/auto-publish");
    let (status, _) = store.publishing.app.call(&store.publishing.developer, Method::PUT, &auto, &json!({ "days": 30 })).await;
    assert_eq!(status, 200);
    store.upload("1.1.0").await;
    let (_, same) = store.set(&price("9.9", &did, "60.0")).await;
    assert_eq!((&same["proposed"], &same["ended_auto_publish"]), (&Value::Null, &json!(false)), "the same terms change nothing");
    let (_, changed) = store.set(&price("9.90", &did, "70")).await;
    assert_eq!((&changed["ended_auto_publish"], &changed["proposed"]["store_percent"]), (&json!(true), &json!("30")));
    let apps = store.publishing.app.get(&store.publishing.developer, "/api/developer/apps?livemode=false").await;
    assert_eq!((&apps["list"][0]["auto_publish_until"], terms_of(&apps["list"][0]["terms"])), (&Value::Null, json!("990")));
    let admin = store.publishing.app.owner().await;
    for (query, expected) in [("?livemode=false", json!("990")), ("?livemode=true", json!("free"))] {
        let apps = store.publishing.app.get(&admin, &format!("/api/console/apps{query}")).await;
        assert_eq!(terms_of(&apps["list"][0]["terms"]), expected, "{apps}");
    }
    let refused = store.take(&store.publishing.developer, "1.1.0", json!({ "step": "publish" })).await;
    assert_eq!(refused["code"], "REVIEW_NEEDED");
    let review = format!("/api/apps/{did}/versions/1.1.0/review");
    let review = store.publishing.app.get(&store.publishing.developer, &review).await;
    assert_eq!((&review["need"], &review["differences"]["price"]), (&json!("risky_differences"), &json!(true)));

    store.take(&store.publishing.developer, "1.1.0", json!({ "step": "request" })).await;
    let (status, answer) = store.set(&price("1.00", &did, "70")).await;
    assert_eq!((status, &answer["code"]), (409, &json!("PRICE_UNDER_REVIEW")), "the reviewer judges what will be sold");
    let comparison = format!("/api/apps/{did}/versions/1.1.0/comparison");
    let comparison = store.publishing.app.get(&store.rita, &comparison).await;
    let terms = &comparison["terms"][0];
    assert_eq!((&terms["in_force"]["shares"][0]["percent"], &terms["proposed"]["shares"][0]["percent"]), (&json!("60"), &json!("70")));
    store.take(&store.rita, "1.1.0", json!({ "step": "start" })).await;
    store.take(&store.rita, "1.1.0", json!({ "step": "approve", "comment": "Fair", "category_id": "cat_1" })).await;
    let published = store.take(&store.publishing.developer, "1.1.0", json!({ "step": "publish" })).await;
    assert_eq!(published["version"]["status"], "PUBLISHED", "{published}");
    assert_eq!(store.link().await, link, "the link stays, and sells another price");
    let now = store.publishing.app.get(&store.publishing.developer, &store.path()).await;
    assert_eq!((&now["in_force"]["shares"][0]["percent"], &now["proposed"]), (&json!("70"), &Value::Null));
}

#[tokio::test]
async fn where_no_review_is_required_a_price_of_a_published_app_changes_at_once() {
    let store = Store::open(false).await;
    store.upload("1.0.0").await;
    let published = store.take(&store.publishing.developer, "1.0.0", json!({ "step": "publish", "category_id": "cat_1" })).await;
    assert_eq!(published["version"]["status"], "PUBLISHED", "{published}");
    let did = store.did();
    let (status, answer) = store.set(&price("5", &did, "70")).await;
    assert_eq!((status, &answer["waits_for_version"]), (200, &json!(false)), "{answer}");
    assert_eq!(store.terms().await, [json!("500"), Value::Null]);
    let first = sold(&store).await;
    store.set(&price("6", &did, "70")).await;
    assert_eq!(store.terms().await, [json!("600"), Value::Null]);
    let second = sold(&store).await;
    assert_ne!(first, second, "orders refer to the first price, so it is replaced");

    store.set(&json!({ "type": "free" })).await;
    assert_eq!((store.terms().await, store.link().await), ([json!("free"), Value::Null], None));
    store.set(&price("7", &did, "70")).await;
    assert_eq!(store.terms().await, [json!("700"), Value::Null]);
    assert!(store.link().await.is_some());
}

#[tokio::test]
async fn a_pre_release_is_not_given_away_before_the_app_is_in_the_catalogue() {
    let store = Store::open(false).await;
    store.upload("1.0.0-beta.1").await;
    let (did, app) = (store.did(), &store.publishing.app);
    assert_eq!(store.set(&price("5", &did, "70")).await.0, 200);
    let publish = json!({ "step": "publish", "category_id": "cat_1" });
    let published = store.take(&store.publishing.developer, "1.0.0-beta.1", publish).await;
    assert_eq!(published["version"]["status"], "PUBLISHED", "{published}");
    let release = app.get(&Who::Nobody, &format!("/api/apps/{did}/versions/1.0.0-beta.1/release")).await;
    assert!(release["statement"].as_str().is_some_and(|text| text.contains("\nprice: paid\n")), "{release}");
    let bundle = format!("/api/blocklets/{did}/1.0.0-beta.1/hello-1.0.0-beta.1.tgz");
    let (status, answer) = app.call(&Who::Nobody, Method::GET, &bundle, &Value::Null).await;
    assert_eq!((status, &answer["code"]), (403, &json!("PURCHASE_REQUIRED")), "{answer}");
}

/// The price that the link of the app sells.
async fn sold(store: &Store) -> String {
    let link = store.link().await.expect("a link");
    let mut unit = store.publishing.app.ctx.store.read().await.expect("reads");
    let id = PaymentLinkId::parse(&link).expect("an id");
    let link = unit.links().find(&id).await.expect("reads").expect("exists");
    link.items[0].price_id.to_string()
}

#[tokio::test]
async fn a_price_that_waits_for_a_review_can_be_set_at_once_when_none_is_required_any_more() {
    let store = Store::open(true).await;
    store.upload("1.0.0").await;
    store.publish("1.0.0").await;
    let terms = price("5", &store.did(), "70");
    store.set(&terms).await;
    assert_eq!(store.terms().await, [json!("free"), json!("500")]);
    let unreviewed = Preferences { permission_mode: PermissionMode::Inviting, paid_apps_allowed: true, ..Preferences::default() };
    change_preferences(&store.publishing.app.ctx, 1, unreviewed).await.expect("are changed");
    let (status, answer) = store.set(&terms).await;
    assert_eq!((status, &answer["waits_for_version"]), (200, &json!(false)), "{answer}");
    assert_eq!(store.terms().await, [json!("500"), Value::Null]);
}

#[tokio::test]
async fn each_rule_about_prices_has_its_message() {
    let store = Store::open(true).await;
    store.upload("1.0.0").await;
    let did = store.did();
    let two = |first: &str, second: &str| {
        let shares = json!([{ "beneficiary": did.as_str(), "percent": first }, { "beneficiary": did.as_str(), "percent": second }]);
        json!({ "type": "one_time", "currency_id": "pc_usd", "amount": "5", "shares": shares })
    };
    let nobody = json!([{ "beneficiary": "nobody", "percent": "1" }]);
    let cases = [
        (price("a lot", &did, "1"), 400, "PRICE_NOT_A_NUMBER"),
        (price("5.001", &did, "1"), 400, "PRICE_TOO_PRECISE"),
        (price("0.49", &did, "1"), 400, "PRICE_OUT_OF_RANGE"),
        (price("10001", &did, "1"), 400, "PRICE_OUT_OF_RANGE"),
        (price("5", &did, "70.1"), 400, "SHARES_EXCEED"),
        (price("5", &did, "0"), 400, "SHARE_PERCENT"),
        (two("1", "2"), 400, "SHARE_TWICE"),
        (json!({ "type": "one_time", "currency_id": "pc_none", "amount": "5" }), 400, "PRICE_CURRENCY"),
        (json!({ "type": "one_time", "currency_id": "pc_usd", "amount": "5", "shares": nobody }), 400, "SHARE_BENEFICIARY"),
        (json!({ "type": "one_time", "currency_id": "pc_usd" }), 400, "REQUIRED"),
        (json!({ "type": "rent" }), 400, "INVALID"),
    ];
    for (terms, status, code) in cases {
        let (found, answer) = store.set(&terms).await;
        assert_eq!((found, &answer["code"]), (status, &json!(code)), "{terms}: {answer}");
    }
    assert_eq!(store.terms().await, [json!("free"), Value::Null]);
    let ctx = &store.publishing.app.ctx;
    let free_only = Preferences { review_required: true, permission_mode: PermissionMode::Inviting, ..Preferences::default() };
    change_preferences(ctx, 1, free_only).await.expect("are changed");
    let (status, answer) = store.set(&price("5", &did, "1")).await;
    assert_eq!((status, &answer["code"]), (403, &json!("PRICE_PAID_NOT_ALLOWED")));
}

#[tokio::test]
async fn terms_that_the_store_does_not_accept_any_more_keep_the_version_from_being_published() {
    let store = Store::open(true).await;
    store.upload("1.0.0").await;
    store.set(&price("9.90", &store.did(), "60")).await;
    let developer = &store.publishing.developer;
    store.approve("1.0.0").await;
    store.raise_commission().await;
    let refused = store.take(developer, "1.0.0", json!({ "step": "publish" })).await;
    assert_eq!(refused["code"], "SHARES_EXCEED", "{refused}");
    let mut unit = store.publishing.app.ctx.store.read().await.expect("reads");
    assert!(unit.apps().find(&store.did()).await.expect("reads").is_none(), "nothing has changed");
    drop(unit);

    // The developer withdraws the price, and publishes the approved version as it is sold now.
    let app = &store.publishing.app;
    let proposal = format!("/api/developer/apps/{}/price/proposal?livemode=false", store.did());
    assert_eq!(app.call(&store.rita, Method::DELETE, &proposal, &Value::Null).await.0, 404);
    for _ in 0..2 {
        let (status, answer) = app.call(developer, Method::DELETE, &proposal, &Value::Null).await;
        assert_eq!((status, &answer["proposed"], &answer["under_review"]), (200, &Value::Null, &json!(true)), "{answer}");
    }
    let published = store.take(developer, "1.0.0", json!({ "step": "publish" })).await;
    assert_eq!(published["version"]["status"], "PUBLISHED", "{published}");
    assert_eq!(store.terms().await, [json!("free"), Value::Null]);
    let log = app.get(&app.owner().await, "/api/audit-log?operation=app.withdraw_price").await;
    assert_eq!(log["list"][0]["livemode"], false, "{log}");
}

#[tokio::test]
async fn the_developer_gets_an_email_if_the_store_cannot_publish_a_price_by_itself() {
    let store = Store::open(true).await;
    store.upload("1.0.0").await;
    store.publish("1.0.0").await;
    store.set(&price("5", &store.did(), "70")).await;
    let (app, developer) = (&store.publishing.app, &store.publishing.developer);
    let auto = format!("/api/developer/apps/{}/auto-publish", store.did());
    app.put(developer, &auto, json!({ "days": 30 })).await;
    store.upload("1.1.0").await;
    store.publishing.check("1.1.0", &[]).await;
    store.approve("1.1.0").await;
    store.raise_commission().await;
    let mails = app.ordered(Topic::ReviewMail).await;
    // The thread is in the order of time.
    app.clock.advance(Duration::from_secs(1));
    for _ in 0..2 {
        store.publishing.publish_by_store("1.1.0").await;
    }
    assert_eq!(app.ordered(Topic::ReviewMail).await, mails + 1);
    let review = app.get(developer, &format!("/api/apps/{}/versions/1.1.0/review", store.did())).await;
    let last = review["thread"].as_array().and_then(|thread| thread.last()).expect("an entry");
    let why = [&review["version"]["status"], &last["kind"], &last["comment"]];
    assert_eq!(why, [&json!("APPROVED"), &json!("not_published"), &json!("terms")], "{review}");
}

#[tokio::test]
async fn a_pre_release_brings_no_price_into_force() {
    let store = Store::open(true).await;
    store.upload("1.0.0").await;
    store.publish("1.0.0").await;
    store.set(&price("5", &store.did(), "70")).await;
    store.upload("1.1.0-beta.1").await;
    let (developer, beta) = (&store.publishing.developer, "1.1.0-beta.1");
    let published = store.take(developer, beta, json!({ "step": "publish" })).await;
    assert_eq!(published["version"]["status"], "PUBLISHED", "{published}");
    assert_eq!(store.terms().await, [json!("free"), json!("500")]);
    store.upload("1.1.0").await;
    assert_eq!(store.take(developer, "1.1.0", json!({ "step": "publish" })).await["code"], "REVIEW_NEEDED");
    store.publish("1.1.0").await;
    assert_eq!(store.terms().await, [json!("500"), Value::Null]);
}

#[tokio::test]
async fn what_an_administrator_has_changed_is_neither_sold_again_nor_taken_for_a_plain_price() {
    let store = Store::open(false).await;
    store.upload("1.0.0").await;
    store.take(&store.publishing.developer, "1.0.0", json!({ "step": "publish", "category_id": "cat_1" })).await;
    store.set(&price("5", &store.did(), "70")).await;
    let renamed = TestUpload { members: json!({ "title": "Hello again" }), ..store.publishing.version("hello", "1.1.0") };
    assert_eq!(store.publishing.upload(&renamed.sign()).await.0, 200);
    store.take(&store.publishing.developer, "1.1.0", json!({ "step": "publish" })).await;
    let ctx = &store.publishing.app.ctx;
    let link = PaymentLinkId::parse(&store.link().await.expect("a link")).expect("an id");
    let mut unit = ctx.store.begin().await.expect("begins");
    let plain = unit.links().find(&link).await.expect("reads").expect("exists");
    let twice = LineItem { quantity: 2, ..plain.items[0].clone() };
    unit.links().update(&PaymentLink { items: vec![twice], ..plain.clone() }).await.expect("writes");
    let product = unit.prices().find(&plain.items[0].price_id).await.expect("reads").expect("exists").product_id;
    let texts = unit.products().find(&product).await.expect("reads").expect("exists");
    assert_eq!((texts.name.as_str(), texts.description.as_str()), ("Hello again", "Says hello"), "the product follows the app");
    unit.commit().await.expect("commits");
    let pricing = store.publishing.app.get(&store.publishing.developer, &store.path()).await;
    assert_eq!((&pricing["in_force"]["type"], &pricing["in_force"]["amount"]), (&json!("other"), &Value::Null), "{pricing}");

    archive_product(ctx, Mode::Test, &product).await.expect("is archived");
    let (status, answer) = store.set(&price("6", &store.did(), "70")).await;
    assert_eq!((status, &answer["code"]), (409, &json!("APP_PRODUCT_ARCHIVED")), "{answer}");
    assert_eq!(store.set(&json!({ "type": "free" })).await.0, 200);
    assert_eq!(store.link().await, None);
}

#[tokio::test]
async fn only_the_developer_of_an_app_sets_its_price_and_reviewers_see_it() {
    let store = Store::open(true).await;
    store.upload("1.0.0").await;
    let app = &store.publishing.app;
    let other = TestUpload::new(2, "any", "1.0.0", app.ctx.now()).key;
    let (other, guest, owner) = (enroll_developer(app, &other).await, app.person(None).await, app.owner().await);
    let terms = price("5", &store.did(), "1");
    for (who, read, write) in
        [(&Who::Nobody, 401, 401), (&guest, 404, 404), (&other, 404, 404), (&store.rita, 200, 404), (&owner, 200, 404)]
    {
        assert_eq!(app.call(who, Method::GET, &store.path(), &Value::Null).await.0, read, "{who:?}");
        assert_eq!(app.call(who, Method::PUT, &store.path(), &terms).await.0, write, "{who:?}");
    }
    assert_eq!(store.set(&terms).await.0, 200);
    let log = app.get(&owner, "/api/audit-log?operation=app.price").await;
    assert_eq!((&log["count"], &log["list"][0]["livemode"]), (&json!(1), &json!(false)), "{log}");

    // Giving somebody a share does not tell the developer who they are.
    let partner = TestUpload::new(3, "any", "1.0.0", app.ctx.now()).key.did().clone();
    app.enroll(partner.clone(), None).await;
    let (_, proposed) = store.set(&price("5", &partner, "1")).await;
    assert_eq!(proposed["proposed"]["shares"][0]["name"], "", "{proposed}");
    assert_eq!(app.get(&store.rita, &store.path()).await["proposed"]["shares"][0]["name"], "Ada");
}
