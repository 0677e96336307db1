//! Upsells, cross-sells, custom amounts and fast payment.

use super::subscription::{begun, find, invoices};
use crate::app::plans::{SKT, no_stake, price, product};
use crate::app::{Buyer, Plans, TestApp, form};
use serde_json::{Value, json};
use souk_adapters::on_one;
use souk_domain::billing::{InvoiceStatus, SubscriptionStatus};
use souk_domain::checkout::{self, LineItem, LinkFields, SessionMode, SubscriptionTerms};
use souk_domain::payment::Currency;
use souk_domain::pricing::{Anchoring, CurrencyOption, CustomAmount, Interval, Price, Product, Recurring, RecurringInterval, Usage};
use souk_domain::shared::{Amount, Mode, PriceId};
use std::time::Duration;

async fn change(buyer: &Buyer, session: &str, what: &str, body: Value) -> crate::app::Answer {
    buyer.browser.put(&format!("/api/checkout-sessions/{session}/{what}"), &body).await
}

#[tokio::test]
async fn an_upsell_can_be_chosen_and_undone() {
    let app = TestApp::open().await;
    let plans = Plans::put(&app).await;
    let link = plans.plain(&app).await;
    let alice = app.sign_in("alice").await;
    let session = alice.start_link(&link).await;
    let (monthly, yearly) = (plans.monthly.as_str(), plans.yearly.as_str());
    let upsold = change(&alice, &session, "upsell", json!({ "from": monthly, "to": yearly })).await.ok();
    let item = &upsold["line_items"][0];
    assert_eq!((&item["price_id"], &item["upsell_price_id"]), (&monthly.into(), &yearly.into()));
    assert_eq!((&item["upsell_price"]["id"], &item["price"]["upsell"]["upsells_to"]["id"]), (&yearly.into(), &yearly.into()));
    assert_eq!(upsold["due"]["now"], (100 * SKT).to_string());
    let back = change(&alice, &session, "downsell", json!({ "from": yearly })).await.ok();
    assert!(back["line_items"][0].get("upsell_price_id").is_none());
    assert_eq!(back["due"]["now"], (10 * SKT).to_string());
    change(&alice, &session, "upsell", json!({ "from": monthly, "to": plans.weekly.as_str() })).await.refused(400);
    change(&alice, &session, "upsell", json!({ "from": monthly, "to": yearly })).await.ok();
    alice.submit_for_wallet(&app, &session).await;
    assert_eq!(alice.sign_all(&app, &session, "subscription").await.0["status"], "ok");
    let subscription = begun(&app, &alice, &session).await;
    assert_eq!(subscription.items[0].price_id, plans.yearly);
    assert_eq!(subscription.period.seconds(), 365 * 86_400);
    change(&alice, &session, "downsell", json!({ "from": yearly })).await.refused(400);
    app.finish().await;
}

async fn dollars_are_taken(app: &TestApp, active: bool) {
    let mut unit = app.ctx.store.begin().await.expect("begins");
    let dollar = unit.methods().find_currency(&app.shop.dollar).await.expect("reads").expect("a currency");
    unit.methods().update_currency(&Currency { active, ..dollar }).await.expect("updates");
    unit.commit().await.expect("commits");
}

#[tokio::test]
async fn an_upsell_is_checked_in_the_currency_of_the_page() {
    let app = TestApp::open().await;
    let plans = Plans::put(&app).await;
    let (from, to) = (PriceId::new(app.ctx.now(), app.ctx.random.as_ref()), PriceId::new(app.ctx.now(), app.ctx.random.as_ref()));
    let cycle = |interval| {
        Some(Recurring { cycle: RecurringInterval::new(interval, 1, Anchoring::Fixed).expect("a cycle"), usage: Usage::Licensed })
    };
    let target = Price {
        currency_id: app.shop.dollar.clone(),
        unit_amount: Amount::new(4_990),
        currency_options: Vec::new(),
        recurring: cycle(Interval::Year),
        ..price(&app, &to, &plans.product, 0, 0)
    };
    let item = Price { upsells_to: Some(to.clone()), recurring: cycle(Interval::Month), ..price(&app, &from, &plans.product, 10, 499) };
    let mut unit = app.ctx.store.begin().await.expect("begins");
    for price in [&target, &item] {
        unit.prices().insert(price).await.expect("inserts");
    }
    unit.commit().await.expect("commits");
    let link = plans.link(&app, &[&from], no_stake()).await;
    let alice = app.sign_in("alice").await;
    let session = alice.start_link(&link).await;
    let (token, dollar) = (app.shop.token.as_str(), app.shop.dollar.as_str());
    let choice = |currency: &str| json!({ "from": from.as_str(), "to": to.as_str(), "currency_id": currency });
    change(&alice, &session, "upsell", json!({ "from": from.as_str(), "to": to.as_str() })).await.refused(400);
    change(&alice, &session, "upsell", choice(token)).await.refused(400);
    change(&alice, &session, "upsell", choice("pc_nobody")).await.refused(400);
    dollars_are_taken(&app, false).await;
    change(&alice, &session, "upsell", choice(dollar)).await.refused(400);
    dollars_are_taken(&app, true).await;
    let upsold = change(&alice, &session, "upsell", choice(dollar)).await.ok();
    assert_eq!((&upsold["currency_id"], &upsold["due"]["now"]), (&dollar.into(), &"4990".into()));
    let back = change(&alice, &session, "downsell", json!({ "from": to.as_str() })).await.ok();
    assert_eq!((&back["currency_id"], &back["due"]["now"]), (&dollar.into(), &"499".into()));
    app.finish().await;
}

#[tokio::test]
async fn an_order_that_was_changed_after_submit_is_not_paid_at_the_old_price() {
    let app = TestApp::open().await;
    let plans = Plans::put(&app).await;
    let link = plans.plain(&app).await;
    let alice = app.sign_in("alice").await;
    let session = alice.start_link(&link).await;
    alice.submit_for_wallet(&app, &session).await;
    change(&alice, &session, "upsell", json!({ "from": plans.monthly.as_str(), "to": plans.yearly.as_str() })).await.ok();
    let (refused, kinds) = alice.sign_all(&app, &session, "subscription").await;
    assert_eq!((&refused["status"], kinds.len()), (&"error".into(), 0), "{refused}");
    app.finish().await;
}

on_one! {
    async fn items_with_different_intervals_become_separate_subscriptions(db: &TestDatabase) {
        let app = TestApp::on(db).await;
        let plans = Plans::put(&app).await;
        let link = plans.link(&app, &[&plans.monthly, &plans.weekly, &plans.metered, &plans.once], no_stake()).await;
        let alice = app.sign_in("alice").await;
        let session = alice.start_link(&link).await;
        alice.submit_for_wallet(&app, &session).await;
        assert_eq!(alice.sign_all(&app, &session, "subscription").await.0["status"], "ok");
        let messages = "SELECT count(*) AS n FROM outbox WHERE topic = 'realtime' AND CAST(payload AS TEXT) LIKE '%invoice.paid%subscription_id%'";
        assert_eq!(app.count(messages).await, 2, "each subscription emits a paid event");
        app.drain().await;
        assert_eq!(app.mails().iter().filter(|mail| mail.contains("Message-ID: <receipt-")).count(), 2, "{:?}", app.mails());
        let found = alice.retrieve(&session).await;
        let begun = found["checkoutSession"]["subscriptions"].as_array().expect("several").clone();
        assert_eq!(begun.len(), 2);
        let first = find(&app, begun[0]["id"].as_str().expect("an id")).await;
        let items: Vec<_> = first.items.iter().map(|item| item.price_id.clone()).collect();
        assert_eq!(items, [plans.monthly.clone(), plans.metered.clone()]);
        let second = find(&app, begun[1]["id"].as_str().expect("an id")).await;
        assert_eq!(second.period.seconds(), 7 * 86_400);
        let expected = [("subscription_create", InvoiceStatus::Paid, 2 * SKT), ("subscription_create", InvoiceStatus::Paid, 13 * SKT)];
        let mut written = invoices(&app).await;
        written.sort_by_key(|invoice| invoice.2);
        assert_eq!(written, expected, "what is paid once goes with the first");
        assert_eq!(app.networks.payments_to(app.app_key.did().as_str()).await.len(), 1, "one payment for all");
        app.finish().await;
    }

    async fn an_existing_delegation_pays_the_next_order_without_the_wallet(db: &TestDatabase) {
        let app = TestApp::on(db).await;
        let plans = Plans::put(&app).await;
        let link = plans.plain(&app).await;
        let alice = app.sign_in("alice").await;
        let first = alice.start(&app.shop.atlas).await;
        let submitted = alice.submit_for_wallet(&app, &first).await;
        assert_eq!((&submitted["delegation"]["sufficient"], submitted.get("fastPayInfo")), (&false.into(), None));
        alice.subscribe(&app, &link).await;
        app.advance(Duration::from_secs(5));
        let submitted = alice.submit_for_wallet(&app, &first).await;
        let offered = json!({ "type": "delegation", "amount": (10 * SKT).to_string(), "payer": alice.wallet.did().as_str() });
        assert_eq!(submitted["fastPayInfo"], offered, "{submitted}");
        assert_eq!((&submitted["delegation"]["sufficient"], &submitted["balance"]["sufficient"]), (&true.into(), &true.into()));
        let bob = app.sign_in("bob").await;
        let confirm = format!("/api/checkout-sessions/{first}/fast-checkout-confirm");
        let refused = bob.browser.post(&confirm, &json!({})).await.refused(400);
        assert_eq!(refused["error"], "Account changed, please pay manually.");
        assert_eq!(alice.browser.post(&confirm, &json!({})).await.ok()["fastPaid"], true);
        assert_eq!(alice.retrieve(&first).await["checkoutSession"]["status"], "complete");
        assert_eq!(alice.browser.post(&confirm, &json!({})).await.ok()["fastPaid"], true, "the second answer is the first");
        assert_eq!(app.networks.payments_to(app.app_key.did().as_str()).await.len(), 2);
        // Twice the plan exceeds the delegation, so the wallet has to sign.
        let second = alice.start_link(&link).await;
        let submitted = alice.submit_for_wallet(&app, &second).await;
        assert_eq!((&submitted["delegation"]["sufficient"], submitted.get("fastPayInfo")), (&false.into(), None));
        assert_eq!(alice.browser.post(&format!("/api/checkout-sessions/{second}/fast-checkout-confirm"), &json!({})).await.ok()["fastPaid"], false);
        app.drain().await;
        app.finish().await;
    }
}

#[tokio::test]
async fn a_cross_sell_can_be_required() {
    let app = TestApp::open().await;
    let plans = Plans::put(&app).await;
    let target = product(&app, "Support");
    let support = PriceId::new(app.ctx.now(), app.ctx.random.as_ref());
    let mut unit = app.ctx.store.begin().await.expect("begins");
    unit.products().insert(&target).await.expect("inserts");
    unit.prices().insert(&price(&app, &support, &target.id, 4, 200)).await.expect("inserts");
    let plan = unit.products().find(&plans.product).await.expect("reads").expect("is there");
    unit.products().update(&Product { cross_sells_to: Some(target.id.clone()), ..plan }).await.expect("updates");
    unit.commit().await.expect("commits");
    let fields = LinkFields {
        items: Some(vec![LineItem::new(plans.monthly.clone(), 1)]),
        terms: Some(no_stake()),
        requires_cross_sell: Some(true),
        ..LinkFields::default()
    };
    let link = checkout::create_link(&app.ctx, Mode::Test, fields).await.expect("a link").to_string();
    let alice = app.sign_in("alice").await;
    let session = alice.start_link(&link).await;
    assert_eq!(alice.retrieve(&session).await["checkoutSession"]["cross_sell_behavior"], "required");
    let refused = alice.submit(&session, &form(&app.shop, "alice", false)).await.refused(400);
    assert_eq!(refused["code"], "REQUIRE_CROSS_SELL");
    let path = format!("/api/checkout-sessions/{session}/cross-sell");
    let offered = alice.browser.get(&path).await.ok();
    assert_eq!((&offered["id"], &offered["product"]["name"]), (&support.as_str().into(), &"Support".into()));
    alice.browser.put(&path, &json!({ "to": plans.weekly.as_str() })).await.refused(400);
    let taken = alice.browser.put(&path, &json!({ "to": support.as_str() })).await.ok();
    assert_eq!((&taken["line_items"][1]["cross_sell"], &taken["due"]["now"]), (&true.into(), &(14 * SKT).to_string().into()));
    let left = alice.browser.call(poem::http::Method::DELETE, &path).send().await.ok();
    assert_eq!(left["line_items"].as_array().map(Vec::len), Some(1));
    alice.browser.put(&path, &json!({ "to": support.as_str() })).await.ok();
    alice.submit_for_wallet(&app, &session).await;
    assert_eq!(alice.sign_all(&app, &session, "subscription").await.0["status"], "ok");
    assert_eq!(begun(&app, &alice, &session).await.items.len(), 1);
    let other = alice.start(&app.shop.atlas).await;
    let path = format!("/api/checkout-sessions/{other}/cross-sell");
    alice.browser.get(&path).await.refused(400);
    assert!(alice.browser.get(&format!("{path}?skipError=true")).await.ok()["error"].is_string());
    app.finish().await;
}

/// Creates a product as the cross-sell of another one, with its prices.
async fn add_cross_sell(app: &TestApp, bought: &PriceId, prices: Vec<Price>, target: Product) {
    let mut unit = app.ctx.store.begin().await.expect("begins");
    unit.products().insert(&target).await.expect("inserts");
    for price in prices {
        unit.prices().insert(&price).await.expect("inserts");
    }
    let bought = unit.prices().find(bought).await.expect("reads").expect("is there");
    let along = unit.products().find(&bought.product_id).await.expect("reads").expect("is there");
    unit.products().update(&Product { cross_sells_to: Some(target.id), ..along }).await.expect("updates");
    unit.commit().await.expect("commits");
}

on_one! {
    async fn the_offered_cross_sell_fits_the_mode_of_the_order(db: &TestDatabase) {
        let app = TestApp::on(db).await;
        let plans = Plans::put(&app).await;
        let once = plans.link(&app, &[&plans.once], SubscriptionTerms::default()).await;
        let (monthly, lasting) = (PriceId::new(app.ctx.now(), app.ctx.random.as_ref()), PriceId::new(app.ctx.now(), app.ctx.random.as_ref()));
        let care = Product { default_price_id: Some(monthly.clone()), ..product(&app, "Care") };
        let cycle = RecurringInterval::new(Interval::Month, 1, Anchoring::Fixed).expect("a cycle");
        let recurring = Some(Recurring { cycle, usage: Usage::Licensed });
        let offers = vec![
            Price { recurring, ..price(&app, &monthly, &care.id, 4, 200) },
            price(&app, &lasting, &care.id, 40, 2_000),
        ];
        add_cross_sell(&app, &plans.once, offers, care).await;
        let alice = app.sign_in("alice").await;
        let session = alice.start_link(&once).await;
        let path = format!("/api/checkout-sessions/{session}/cross-sell");
        assert_eq!(alice.browser.get(&path).await.ok()["id"], lasting.as_str(), "recurring items aren't sold with one-time items");
        alice.browser.put(&path, &json!({ "to": monthly.as_str() })).await.refused(400);
        let mut unit = app.ctx.store.begin().await.expect("begins");
        let gone = unit.prices().find(&lasting).await.expect("reads").expect("is there");
        unit.prices().update(&Price { active: false, ..gone }).await.expect("updates");
        unit.commit().await.expect("commits");
        alice.browser.get(&path).await.refused(400);
        alice.browser.put(&path, &json!({ "to": monthly.as_str() })).await.refused(400);

        // A session in setup mode cannot contain a price that is paid immediately.
        let (owner, badge) = (app.owner().await, PriceId::new(app.ctx.now(), app.ctx.random.as_ref()));
        let pin = product(&app, "Badge");
        add_cross_sell(&app, &plans.weekly, vec![price(&app, &badge, &pin.id, 1, 50)], pin).await;
        let body = json!({ "mode": "setup", "line_items": [{ "price_id": plans.weekly.as_str() }] });
        let setup = owner.browser.post("/api/checkout-sessions", &body).await.ok()["id"].as_str().expect("an id").to_owned();
        let path = format!("/api/checkout-sessions/{setup}/cross-sell");
        alice.browser.put(&path, &json!({ "to": badge.as_str() })).await.refused(400);
        app.finish().await;
    }

    async fn a_required_cross_sell_can_be_accepted_in_its_own_currency(db: &TestDatabase) {
        let app = TestApp::on(db).await;
        let plans = Plans::put(&app).await;
        let (help, id) = (product(&app, "Help"), PriceId::new(app.ctx.now(), app.ctx.random.as_ref()));
        let in_dollars = Price { currency_id: app.shop.dollar.clone(), unit_amount: Amount::new(300), currency_options: Vec::new(), ..price(&app, &id, &help.id, 0, 0) };
        add_cross_sell(&app, &plans.once, vec![in_dollars], help).await;
        let fields = LinkFields {
            items: Some(vec![LineItem::new(plans.once.clone(), 1)]),
            requires_cross_sell: Some(true),
            ..LinkFields::default()
        };
        let link = checkout::create_link(&app.ctx, Mode::Test, fields).await.expect("a link").to_string();
        let alice = app.sign_in("alice").await;
        let session = alice.start_link(&link).await;
        assert_eq!(alice.retrieve(&session).await["checkoutSession"]["currency_id"], app.shop.token.as_str());
        let by_card = form(&app.shop, "alice", true);
        assert_eq!(alice.submit(&session, &by_card).await.refused(400)["code"], "REQUIRE_CROSS_SELL");
        let path = format!("/api/checkout-sessions/{session}/cross-sell");
        assert_eq!(alice.browser.get(&path).await.ok()["id"], id.as_str());
        alice.browser.get(&format!("{path}?currency_id={}", app.shop.token)).await.refused(400);
        let taken = alice.browser.put(&path, &json!({ "to": id.as_str(), "currency_id": app.shop.dollar.as_str() })).await.ok();
        assert_eq!((&taken["currency_id"], &taken["due"]["now"]), (&app.shop.dollar.as_str().into(), &"450".into()));
        let submitted = alice.submit(&session, &by_card).await.ok();
        assert_eq!(submitted["paymentIntent"]["amount"], "450");
        app.finish().await;
    }
}

#[tokio::test]
async fn a_custom_amount_must_be_within_its_limits() {
    let app = TestApp::open().await;
    let thing = product(&app, "Tip");
    let id = PriceId::new(app.ctx.now(), app.ctx.random.as_ref());
    let custom = |unit: u128| CustomAmount {
        preset: Some(Amount::new(5 * unit)),
        presets: Vec::new(),
        minimum: Some(Amount::new(unit)),
        maximum: Some(Amount::new(50 * unit)),
    };
    let mut unit = app.ctx.store.begin().await.expect("begins");
    unit.products().insert(&thing).await.expect("inserts");
    let plain = price(&app, &id, &thing.id, 0, 0);
    let dollars = CurrencyOption { custom: Some(custom(100)), ..CurrencyOption::per_unit(app.shop.dollar.clone(), Amount::ZERO) };
    let tip = Price { custom: Some(custom(SKT)), currency_options: vec![dollars], ..plain };
    unit.prices().insert(&tip).await.expect("inserts");
    unit.commit().await.expect("commits");
    let fields = LinkFields { items: Some(vec![LineItem::new(id.clone(), 1)]), ..LinkFields::default() };
    let link = checkout::create_link(&app.ctx, Mode::Test, fields).await.expect("a link").to_string();
    let alice = app.sign_in("alice").await;
    let session = alice.start_link(&link).await;
    assert_eq!(alice.retrieve(&session).await["checkoutSession"]["due"]["now"], (5 * SKT).to_string());
    let choose = async |amount: String| change(&alice, &session, "amount", json!({ "priceId": id.as_str(), "amount": amount })).await;
    let refused = choose((51 * SKT).to_string()).await.refused(400);
    assert_eq!(refused["error"], "Please enter an amount between 1 and 50.");
    choose((SKT / 2).to_string()).await.refused(400);
    choose((2 * SKT + 1).to_string()).await.refused(400);
    assert_eq!(choose((7 * SKT).to_string()).await.ok()["due"]["now"], (7 * SKT).to_string());
    // The amount is in tokens, so it does not apply to dollars.
    alice.submit(&session, &form(&app.shop, "alice", true)).await.refused(400);
    let submitted = alice.submit_for_wallet(&app, &session).await;
    assert_eq!(submitted["paymentIntent"]["amount"], (7 * SKT).to_string());
    assert_eq!(alice.pay_by_wallet(&app, &session).await["status"], "ok");
    app.finish().await;
}

#[tokio::test]
async fn an_integrator_sets_mode_and_terms_and_reads_them_back() {
    let app = TestApp::open().await;
    let plans = Plans::put(&app).await;
    let owner = app.owner().await;
    let body = json!({
        "mode": "setup",
        "line_items": [{ "price_id": plans.monthly.as_str() }],
        "subscription_data": { "trial_period_days": 3, "min_stake_amount": 0.5, "no_stake": true, "description": "Mine", "days_until_cancel": 5 },
        "cross_sell_behavior": "required",
    });
    let made = owner.browser.post("/api/checkout-sessions", &body).await.ok();
    assert_eq!((&made["mode"], &made["cross_sell_behavior"]), (&"setup".into(), &"required".into()));
    let data = &made["subscription_data"];
    assert_eq!((&data["trial_period_days"], &data["min_stake_amount"], &data["no_stake"]), (&3.into(), &0.5.into(), &true.into()));
    for wrong in [
        json!({ "mode": "payment", "line_items": [{ "price_id": plans.monthly.as_str() }] }),
        json!({ "mode": "subscription", "line_items": [{ "price_id": plans.once.as_str() }] }),
        json!({ "mode": "setup", "line_items": [{ "price_id": plans.once.as_str() }] }),
        json!({ "mode": "gift", "line_items": [{ "price_id": plans.once.as_str() }] }),
    ] {
        owner.browser.post("/api/checkout-sessions", &wrong).await.refused(400);
    }
    app.finish().await;
}

#[tokio::test]
async fn a_session_in_setup_mode_charges_nothing_now() {
    let app = TestApp::open().await;
    let plans = Plans::put(&app).await;
    let new = checkout::NewSession {
        mode: Mode::Test,
        kind: Some(SessionMode::Setup),
        items: vec![LineItem::new(plans.monthly.clone(), 1)],
        currency_id: None,
        form: checkout::FormOptions::default(),
        terms: SubscriptionTerms { no_stake: true, ..SubscriptionTerms::default() },
        requires_cross_sell: false,
        success_url: None,
        cancel_url: None,
        metadata: souk_domain::pricing::Metadata::new(),
        expires_at: None,
    };
    let session = checkout::open_session(&app.ctx, new).await.expect("opens").to_string();
    let alice = app.sign_in("alice").await;
    alice.submit_for_wallet(&app, &session).await;
    assert_eq!(alice.sign_all(&app, &session, "setup").await.0["status"], "ok");
    let found = alice.retrieve(&session).await;
    assert_eq!(found["checkoutSession"]["payment_status"], "no_payment_required");
    assert_eq!(begun(&app, &alice, &session).await.status, SubscriptionStatus::Active);
    assert!(app.networks.payments_to(app.app_key.did().as_str()).await.is_empty());
    app.finish().await;
}
