//! The export and the erasure of a customer's data.

use crate::app::plans::no_stake;
use crate::app::{ACCEPTED, Buyer, Connect, Plans, Terms, TestApp, page_tokens};
use serde_json::{Value, json};
use souk_adapters::on_one;
use souk_domain::privacy::{ERASURES_PER_HOUR, EXPORTS_PER_HOUR};
use std::time::Duration;

async fn invoice_of(buyer: &Buyer, app: &TestApp) -> String {
    let session = buyer.buy(app, &app.shop.atlas).await;
    buyer.retrieve(&session).await["checkoutSession"]["invoice_id"].as_str().expect("an invoice").to_owned()
}

async fn obstacles(buyer: &Buyer) -> Value {
    buyer.browser.get("/api/customers/me/erasure").await.ok()["obstacles"].clone()
}

/// Orders by card and completes the card form. Returns the checkout session.
async fn order_by_card(app: &TestApp, buyer: &Buyer, link: &str) -> Value {
    let session = buyer.start_link(link).await;
    let secret = buyer.submit_for_card(app, &session).await;
    assert_eq!(app.networks.confirm(&secret, ACCEPTED).await.0, 200);
    app.advance(Duration::from_secs(2));
    let done = buyer.retrieve(&session).await["checkoutSession"].clone();
    assert_eq!(done["status"], "complete", "{done}");
    app.drain().await;
    done
}

/// The attempts that name the customer or their card, or whose client secret is kept.
const NAMED: &str = "SELECT count(*) AS n FROM attempts WHERE client_secret IS NOT NULL
    OR CAST(card AS TEXT) LIKE '%alice%' OR CAST(card AS TEXT) LIKE '%4242%' OR CAST(card AS TEXT) LIKE '%visa%'";
/// The subscriptions whose customer has written about the cancellation.
const COMMENTED: &str = "SELECT count(*) AS n FROM subscriptions WHERE CAST(cancellation AS TEXT) LIKE '%moved away%'";

on_one! {
    async fn an_erasure_removes_names_and_cards_of_payments_here_and_at_the_card_processor(db: &TestDatabase) {
        let app = TestApp::on(db).await;
        let plans = Plans::put(&app).await;
        let (alice, owner) = (app.sign_in("alice").await, app.owner().await);
        // A payment that saves its card, a card saved without a payment, and charges of the saved cards.
        let (weekly, trial) = (plans.link(&app, &[&plans.weekly], no_stake()).await, plans.trial(&app).await);
        let (paid, trial) = (order_by_card(&app, &alice, &weekly).await, order_by_card(&app, &alice, &trial).await);
        app.advance_and_bill(Duration::from_secs(8 * 86_400)).await;
        for kind in ["card", "card_setup", "off_session"] {
            let attempts = alice.browser.get("/api/customers/me/export").await.ok()["records"]["attempts"].clone();
            assert!(attempts.as_array().expect("a list").iter().any(|attempt| attempt["kind"] == kind), "{kind}: {attempts}");
        }
        let export = alice.browser.get("/api/customers/me/export").await.text();
        assert!(export.contains("\"4242\"") && !export.contains("_secret_"), "cards are exported, secrets are not: {export}");
        assert!(app.count(NAMED).await >= 3);
        for session in [&paid, &trial] {
            let id = session["subscription_id"].as_str().expect("a subscription");
            owner.browser.put(&format!("/api/subscriptions/{id}/cancel"), &json!({ "at": "now", "comment": "moved away" })).await.ok();
        }
        app.run_billing().await;
        assert_eq!(obstacles(&alice).await, json!([]));
        assert_eq!(app.count(COMMENTED).await, 2);

        alice.browser.post("/api/customers/me/erasure", &json!({})).await.ok();
        assert_eq!((app.count(NAMED).await, app.count(COMMENTED).await), (0, 0));
        assert_eq!(app.networks.card_events("customer.deleted").await, 0, "the processor is asked after the commit");
        // Who comes back before that gets another customer there, which the deletion leaves alone.
        Connect::begin(&app, &alice.browser, "login", "").await.sign_in(&alice.wallet, "alice").await;
        order_by_card(&app, &alice, &weekly).await;
        let seen = [app.networks.card_customers().await, app.networks.card_events("customer.deleted").await];
        assert_eq!(seen, [2, 1], "created and deleted");
        assert_eq!(app.networks.card_events("payment_method.detached").await, 2);
        app.advance_and_bill(Duration::from_secs(8 * 86_400)).await;
        assert_eq!(app.count("SELECT count(*) AS n FROM invoices WHERE status IN ('open', 'uncollectible')").await, 0, "the new card is charged");

        // What was paid before can still be refunded.
        let refund = owner.browser.post("/api/refunds", &json!({ "invoice_id": paid["invoice_id"] })).await.ok();
        app.drain().await;
        let refund = owner.browser.get(&format!("/api/refunds/{}", refund["id"].as_str().expect("an id"))).await.ok();
        assert_eq!(refund["status"], "succeeded", "{refund}");
        assert_eq!(app.breaches().await, [""; 0]);
        app.finish().await;
    }

    async fn a_deletion_that_the_card_processor_does_not_confirm_is_repeated(db: &TestDatabase) {
        const ORDERED: &str = "SELECT count(*) AS n FROM outbox WHERE topic = 'delete_provider_customer'";
        let app = TestApp::on(db).await;
        let trial = Plans::put(&app).await.trial(&app).await;
        let (alice, owner) = (app.sign_in("alice").await, app.owner().await);
        let subscription = order_by_card(&app, &alice, &trial).await["subscription_id"].as_str().expect("an id").to_owned();
        owner.browser.put(&format!("/api/subscriptions/{subscription}/cancel"), &json!({ "at": "now" })).await.ok();
        app.run_billing().await;
        let customer = format!("/api/customers/{}/erasure", alice.wallet.did());
        owner.browser.post(&customer, &json!({})).await.ok();
        app.networks.card_fault(json!({ "mode": "error_500" })).await;
        app.drain().await;
        assert_eq!(app.count(ORDERED).await, 1, "it is not known whether the processor has deleted the customer");
        app.advance(Duration::from_secs(3_600));
        app.drain().await;
        assert_eq!(app.count(ORDERED).await, 0);
        // There is nothing left to delete.
        owner.browser.post(&customer, &json!({})).await.ok();
        assert_eq!(app.count(ORDERED).await, 0);
        app.finish().await;
    }

    async fn an_export_contains_what_is_stored_about_its_user_and_nobody_else(db: &TestDatabase) {
        let app = TestApp::on(db).await;
        let (alice, bob) = (app.sign_in("alice").await, app.sign_in("bob").await);
        let (of_alice, of_bob) = (invoice_of(&alice, &app).await, invoice_of(&bob, &app).await);
        let answer = alice.browser.get("/api/customers/me/export").await;
        assert_eq!(answer.header("content-disposition"), Some("attachment; filename=\"my-data.json\""));
        let (export, text) = (answer.ok(), answer.text());
        let records = &export["records"];
        assert_eq!((&export["did"], &records["users"][0]["email"]), (&json!(alice.wallet.did().as_str()), &json!("alice@example.com")));
        assert_eq!((&records["invoices"][0]["id"], &records["invoices"][1]), (&json!(of_alice), &Value::Null));
        assert_eq!(records["invoices"][0]["amount_paid"], records["payment_intents"][0]["amount_received"]);
        for kind in ["customers", "checkout_sessions", "invoice_items", "invoice_payments", "browser_sessions", "entitlements"] {
            assert_eq!(records[kind].as_array().map(Vec::len), Some(1), "{kind}: {records}");
        }
        let token = alice.browser.cookie("login_token").expect("a cookie");
        assert!(!text.contains(&of_bob) && !text.contains("bob@example.com") && !text.contains(&token));
        app.browser().get("/api/customers/me/export").await.refused(401);
        assert_eq!(records["audit_log"], json!([]), "what others do is theirs");
        let owner = app.owner().await;
        owner.browser.post("/api/products", &json!({ "name": "Pen", "type": "service" })).await.ok();
        let own = owner.browser.get("/api/customers/me/export").await.ok()["records"]["audit_log"].clone();
        assert_eq!((&own[0]["operation"], &own[0]["actor"]), (&json!("product.create"), &json!(owner.wallet.did().as_str())));
        app.finish().await;
    }

    async fn an_erasure_removes_the_person_and_keeps_the_documents(db: &TestDatabase) {
        let app = TestApp::on(db).await;
        let (alice, owner) = (app.sign_in("alice").await, app.owner().await);
        let invoice = invoice_of(&alice, &app).await;
        app.drain().await;
        let link = format!("/api/invoices/{invoice}?authToken={}", page_tokens().auth_token(&invoice, app.ctx.now()));
        app.browser().get(&link).await.ok();
        assert_eq!(obstacles(&alice).await, json!([]));
        alice.browser.post("/api/customers/me/email-confirmation", &json!({})).await.ok();
        app.drain().await;
        alice.browser.post("/api/customers/me/erasure", &json!({})).await.ok();
        assert_eq!(alice.browser.get("/api/session").await.ok()["user"], Value::Null, "all logins have ended");
        app.browser().get(&link).await.refused(401);
        let customer = owner.browser.get(&format!("/api/customers/{}", alice.wallet.did())).await.ok();
        for field in ["name", "email", "phone"] {
            assert_eq!(customer[field], "", "{field}");
        }
        assert_eq!(customer["address"], Value::Null);
        let kept = owner.browser.get(&format!("/api/invoices/{invoice}")).await.ok();
        assert_eq!(kept["customer_name"], "alice Example", "the invoice is kept as it was issued");
        assert_eq!(app.count("SELECT count(*) AS n FROM checkout_sessions WHERE contact IS NOT NULL OR visitor <> ''").await, 0);
        assert_eq!(app.count("SELECT count(*) AS n FROM mail_addresses").await, 0);
        let log = owner.browser.get("/api/audit-log?operation=customer.erase").await.ok();
        assert_eq!((&log["list"][0]["actor"]["id"], &log["list"][0]["address"]), (&json!(alice.wallet.did().as_str()), &Value::Null));
        assert_eq!(app.breaches().await, [""; 0]);

        // The same wallet finds its purchase again.
        Connect::begin(&app, &alice.browser, "login", "").await.sign_in(&alice.wallet, "alice").await;
        assert_eq!(alice.browser.get("/api/entitlements").await.ok()["count"], 1);
        app.finish().await;
    }

    async fn an_erasure_is_refused_while_something_is_open(db: &TestDatabase) {
        let app = TestApp::on(db).await;
        let (bob, owner) = (app.sign_in("bob").await, app.owner().await);
        let invoice = invoice_of(&bob, &app).await;
        owner.browser.post("/api/refunds", &json!({ "invoice_id": invoice, "amount": "1" })).await.ok();
        assert_eq!(obstacles(&bob).await, json!(["money_in_flight"]), "the refund is pending");
        app.drain().await;
        assert_eq!(obstacles(&bob).await, json!([]));
        owner.browser.post("/api/credit-notes", &json!({ "invoice_id": invoice, "amount": "1", "to": "balance" })).await.ok();
        assert_eq!(obstacles(&bob).await, json!(["balance"]));
        let refused = bob.browser.post("/api/customers/me/erasure", &json!({})).await.refused(409);
        assert_eq!((&refused["code"], &refused["params"]), (&json!("ERASURE_OBSTACLE"), &json!({ "obstacle": "balance" })));
        assert_eq!(bob.browser.get("/api/session").await.ok()["user"]["email"], "bob@example.com");
        let refused = owner.browser.post("/api/customers/me/erasure", &json!({})).await.refused(409);
        assert_eq!(refused["params"]["obstacle"], "role");
        let subscriber = app.subscribe("carol", Terms::default()).await;
        let of_carol = format!("/api/customers/{}/erasure", subscriber.buyer.wallet.did());
        assert_eq!(owner.browser.post(&of_carol, &json!({})).await.refused(409)["params"]["obstacle"], "active_subscription");
        bob.browser.post(&of_carol, &json!({})).await.refused(403);
        app.finish().await;
    }
}

#[tokio::test]
async fn exports_and_erasures_are_limited_for_each_user_and_hour() {
    let app = TestApp::open().await;
    let (alice, bob) = (app.sign_in("alice").await, app.sign_in("bob").await);
    for _ in 0..EXPORTS_PER_HOUR {
        alice.browser.get("/api/customers/me/export").await.ok();
    }
    assert_eq!(alice.browser.get("/api/customers/me/export").await.refused(429)["code"], "TOO_MANY_EXPORTS");
    bob.browser.get("/api/customers/me/export").await.ok();
    app.advance(Duration::from_secs(3_600));
    alice.browser.get("/api/customers/me/export").await.ok();

    let owner = app.owner().await;
    let session = alice.buy(&app, &app.shop.atlas).await;
    app.drain().await;
    let attempts = alice.browser.get("/api/customers/me/export").await.ok()["records"]["attempts"].clone();
    let attempts = attempts.as_array().expect("a list");
    assert!(!attempts.is_empty() && attempts.iter().all(|attempt| attempt.get("bytes").is_none()), "signed transactions: {attempts:?}");
    let customer = alice.retrieve(&session).await["checkoutSession"]["customer_id"].as_str().expect("a customer").to_owned();
    let of_alice = format!("/api/customers/{customer}/erasure");
    assert_eq!(owner.browser.post("/api/customers/me/erasure", &json!({})).await.refused(409)["code"], "ERASURE_OBSTACLE");
    for _ in 0..ERASURES_PER_HOUR {
        owner.browser.post(&of_alice, &json!({})).await.ok();
    }
    assert_eq!(owner.browser.post(&of_alice, &json!({})).await.refused(429)["code"], "TOO_MANY_ERASURES");
    let recorded = owner.browser.get("/api/audit-log?operation=customer.erase").await.ok();
    assert_eq!(recorded["count"], ERASURES_PER_HOUR, "refused erasures are not recorded");
    bob.browser.post("/api/customers/me/erasure", &json!({})).await.ok();
    app.finish().await;
}

#[tokio::test]
async fn an_erasure_needs_a_recent_sign_in() {
    let mut app = TestApp::open().await;
    app.require_sign_in_within(Duration::from_secs(900)).await;
    let alice = app.sign_in("alice").await;
    app.advance(Duration::from_secs(3_600));
    assert_eq!(alice.browser.post("/api/customers/me/erasure", &json!({})).await.refused(403)["code"], "SIGN_IN_AGAIN");
    assert_eq!(alice.browser.get("/api/session").await.ok()["user"]["email"], "alice@example.com");
    app.finish().await;
}
