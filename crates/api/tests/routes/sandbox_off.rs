//! What people can do and read while the sandbox is off.

use crate::app::{ACCEPTED, Buyer, Terms, TestApp, form};
use serde_json::{Value, json};
use souk_adapters::on_one;
use souk_domain::checkout::expire_due;
use souk_domain::events::{Message, Topic};
use souk_domain::payment::{Method, MethodSettings, SANDBOX_PAUSE, Sandbox, check_due};
use souk_domain::shared::{EventId, MethodId};
use std::time::Duration;

async fn switch(app: &mut TestApp, sandbox: Sandbox) {
    app.ctx.networks = app.ctx.networks.clone().with_sandbox(sandbox);
    app.restart().await;
}

/// The wallet method of the sandbox.
async fn method(app: &TestApp) -> Method {
    let mut unit = app.ctx.store.read().await.expect("reads");
    unit.methods().find(&app.shop.wallet).await.expect("reads").expect("exists")
}

fn is_empty(list: &Value) -> bool {
    list.as_array().expect("a list").is_empty()
}

on_one! {
    async fn a_purchase_is_refused_by_name_and_earlier_ones_stay_readable(db: &TestDatabase) {
        let mut app = TestApp::on(db).await;
        let alice = app.sign_in("alice").await;
        let bought = alice.buy(&app, &app.shop.atlas).await;
        let subscriber = app.subscribe("bob", Terms::default()).await;
        // A visitor who starts the same link again at once gets the first session.
        app.advance(Duration::from_secs(10));
        let session = alice.start(&app.shop.atlas).await;
        assert_eq!(app.browser().get("/api/store").await.ok()["sandbox"], true);
        switch(&mut app, Sandbox::Off).await;
        let alice = Buyer { browser: alice.browser.at(app.service()), ..alice };
        let bob = subscriber.buyer.browser.at(app.service());

        assert_eq!(alice.browser.get("/api/store").await.ok()["sandbox"], false);
        assert!(is_empty(&alice.browser.get("/api/settings").await.ok()["paymentMethods"]));
        assert!(is_empty(&alice.retrieve(&session).await["paymentMethods"]));
        for by_card in [false, true] {
            let refused = alice.submit(&session, &form(&app.shop, "alice", by_card)).await.refused(503);
            assert_eq!(refused["code"], "SANDBOX_OFF", "{refused}");
        }

        let shown = alice.retrieve(&bought).await;
        assert_eq!(shown["checkoutSession"]["status"], "complete");
        assert!(!is_empty(&shown["paymentMethods"]), "the amount needs its currency");
        let invoice = shown["checkoutSession"]["invoice_id"].as_str().expect("an invoice").to_owned();
        assert_eq!(alice.browser.get(&format!("/api/invoices/{invoice}")).await.ok()["status"], "paid");
        assert_eq!(alice.browser.get("/api/invoices").await.ok()["count"], 1);
        let subscription = format!("/api/subscriptions/{}", subscriber.id);
        assert_eq!(bob.get(&subscription).await.ok()["status"], "active");
        app.finish().await;
    }

    async fn nobody_can_start_an_order_that_only_the_sandbox_could_settle(db: &TestDatabase) {
        let mut app = TestApp::on(db).await;
        let owner = app.owner().await;
        switch(&mut app, Sandbox::Off).await;
        let browser = owner.browser.at(app.service());
        let link = format!("/api/checkout-sessions/start/{}", app.shop.atlas.link);
        let items = json!({ "line_items": [{ "price_id": app.shop.atlas.price, "quantity": 1 }] });
        for (path, body) in [(link.as_str(), json!({})), ("/api/checkout-sessions", items.clone())] {
            let refused = browser.post(path, &body).await.refused(503);
            assert_eq!(refused["code"], "SANDBOX_OFF", "{path}: {refused}");
        }
        assert_eq!(app.count("SELECT count(*) AS n FROM checkout_sessions").await, 0);
        // A method of test mode at another network can settle orders.
        let MethodSettings::Arcblock { chain_id, explorer_host, .. } = method(&app).await.settings else { panic!("another method") };
        let settings = MethodSettings::Arcblock { chain_id, api_host: "https://chain.example/api/".to_owned(), explorer_host };
        let external = Method { id: MethodId::parse("pm_external").expect("an id"), settings, ..method(&app).await };
        let mut unit = app.ctx.store.begin().await.expect("begins");
        unit.methods().insert(&external).await.expect("inserts");
        unit.commit().await.expect("commits");
        browser.post(&link, &json!({})).await.ok();
        browser.post("/api/checkout-sessions", &items).await.ok();
        app.finish().await;
    }

    async fn a_card_payment_in_progress_waits_and_completes_once_the_sandbox_is_back(db: &TestDatabase) {
        let mut app = TestApp::on(db).await;
        let alice = app.sign_in("alice").await;
        let session = alice.start(&app.shop.seats).await;
        let secret = alice.submit_for_card(&app, &session).await;
        assert_eq!(app.networks.confirm(&secret, ACCEPTED).await.0, 200);
        switch(&mut app, Sandbox::Off).await;
        let alice = Buyer { browser: alice.browser.at(app.service()), ..alice };
        app.advance(Duration::from_secs(3 * 86_400));
        assert_eq!(expire_due(&app.ctx, 9).await.expect("looks"), 0);
        assert_eq!(check_due(&app.ctx, 9).await.expect("looks"), 0);
        assert_eq!(alice.retrieve(&session).await["checkoutSession"]["status"], "open");

        switch(&mut app, Sandbox::On).await;
        check_due(&app.ctx, 9).await.expect("settles");
        let alice = Buyer { browser: alice.browser.at(app.service()), ..alice };
        assert_eq!(alice.retrieve(&session).await["checkoutSession"]["status"], "complete");
        app.finish().await;
    }

    async fn a_hint_of_the_card_processor_is_kept_however_long_the_sandbox_is_off(db: &TestDatabase) {
        const HINTS: &str = "SELECT count(*) AS n FROM outbox WHERE topic = 'check_card' AND dead_at IS NULL";
        let mut app = TestApp::on(db).await;
        let alice = app.sign_in("alice").await;
        let session = alice.start(&app.shop.atlas).await;
        let secret = alice.submit_for_card(&app, &session).await;
        app.networks.confirm(&secret, ACCEPTED).await;
        app.advance(Duration::from_secs(2));
        let payment = secret.split_once("_secret").expect("an intent").0.to_owned();
        assert_eq!(alice.retrieve(&session).await["checkoutSession"]["status"], "complete");
        app.drain().await;
        switch(&mut app, Sandbox::Off).await;
        let now = app.ctx.now();
        let hint = Message::new(Topic::CheckCard, now).with("method", &app.shop.card).with("payment", &payment);
        let mut unit = app.ctx.store.begin().await.expect("begins");
        unit.outbox().publish(&EventId::new(now, app.ctx.random.as_ref()), &hint, now).await.expect("publishes");
        unit.commit().await.expect("commits");
        // More than a job may fail.
        for _ in 0..15 {
            assert_eq!((app.drain().await, app.count(HINTS).await), (1, 1));
            app.advance(SANDBOX_PAUSE);
        }
        switch(&mut app, Sandbox::On).await;
        app.drain().await;
        assert_eq!(app.count(HINTS).await, 0);
        app.finish().await;
    }

    async fn an_owner_cannot_advance_the_clock_of_a_customer_who_pays_at_the_sandbox(db: &TestDatabase) {
        let mut app = TestApp::on(db).await;
        let owner = app.owner().await;
        let subscriber = app.subscribe("bob", Terms::default()).await;
        let clock = owner.browser.post("/api/test-clocks", &json!({ "customer_id": subscriber.customer.as_str(), "name": "time" })).await.ok();
        switch(&mut app, Sandbox::Off).await;
        let browser = owner.browser.at(app.service());
        let path = format!("/api/test-clocks/{}/advance", clock["id"].as_str().expect("an id"));
        assert_eq!(browser.post(&path, &json!({ "by": "day" })).await.refused(503)["code"], "SANDBOX_OFF");
        app.finish().await;
    }
}
