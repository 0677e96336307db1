//! `/api/credit-notes`

use crate::app::{Buyer, TOKEN, TestApp, pdf_text};
use poem::http::Method;
use serde_json::{Value, json};
use souk_adapters::{on_both, on_one};
use souk_api::auth::{NewKey, create_key};
use souk_domain::access::Scope;
use souk_domain::shared::Mode;

fn tokens(whole: u128) -> Value {
    json!((whole * TOKEN).to_string())
}

/// The records of a purchase.
struct Bought {
    session: String,
    /// The ids of the invoice and of its only line.
    invoice: String,
    line: String,
}

impl Bought {
    async fn by(app: &TestApp, buyer: &Buyer) -> Self {
        let session = buyer.buy(app, &app.shop.atlas).await;
        let found = buyer.retrieve(&session).await;
        let invoice = found["checkoutSession"]["invoice_id"].as_str().expect("an invoice").to_owned();
        let lines = buyer.browser.get(&format!("/api/invoices/{invoice}")).await.ok()["lines"].clone();
        Self { session, invoice, line: lines[0]["id"].as_str().expect("a line").to_owned() }
    }

    fn order(&self, amount: &str, to: &str) -> Value {
        json!({ "invoice_id": self.invoice, "items": [{ "invoice_item_id": self.line, "amount": amount }], "to": to })
    }

    fn path(&self) -> String {
        format!("/api/invoices/{}", self.invoice)
    }
}

on_both! {
    async fn a_credit_note_refunds_the_wallet_and_revokes_the_entitlement(db: &TestDatabase) {
        let app = TestApp::on(db).await;
        let (alice, owner) = (app.sign_in("alice").await, app.owner().await);
        let bought = Bought::by(&app, &alice).await;
        let order = bought.order("10", "refund");
        let preview = owner.browser.post("/api/credit-notes/preview", &order).await.ok();
        assert_eq!((&preview["total"], &preview["refunded"], &preview["to_balance"]), (&tokens(10), &tokens(10), &json!("0")));
        assert_eq!(preview["items"], json!([{ "invoice_item_id": bought.line, "amount": tokens(10), "revokes": true }]));
        assert_eq!(owner.browser.get("/api/credit-notes").await.ok()["count"], 0, "a preview writes nothing");

        let mut ordered = order.clone();
        ordered["reason"] = json!("duplicate");
        ordered["memo"] = json!("Bought twice");
        let note = owner.browser.post("/api/credit-notes", &ordered).await.ok();
        assert_eq!((&note["number"], &note["object"]), (&json!("SOUK-TEST-CN-000001"), &json!("credit_note")));
        assert_eq!((&note["reason"], &note["memo"]), (&json!("duplicate"), &json!("Bought twice")));
        assert_eq!((&note["refunded"], &note["refunds"][0]["status"]), (&tokens(10), &json!("pending")));
        let item = &note["items"][0];
        assert_eq!((&item["description_code"], &item["description_params"]["name"]), (&json!("product"), &json!("Atlas")));
        app.drain().await;
        assert_eq!(app.networks.transfers_to(alice.wallet.did().as_str()).await.len(), 1);

        let invoice = alice.browser.get(&bought.path()).await.ok();
        assert_eq!((&invoice["status"], &invoice["total"], &invoice["amount_due"]), (&json!("paid"), &tokens(10), &tokens(10)));
        assert_eq!((&invoice["amount_paid"], &invoice["amount_remaining"], &invoice["amount_refunded"]), (&tokens(10), &json!("0"), &tokens(10)));
        let payment = &invoice["payments"][0];
        assert_eq!((&payment["source"], &payment["amount"], &payment["refunded"]), (&json!("network"), &tokens(10), &tokens(10)));
        assert_eq!((&payment["disputed"], &payment["reversed"]), (&json!("0"), &json!("0")));
        assert_eq!((&invoice["lines"][0]["credited"], &invoice["credit_notes"][0]["id"]), (&tokens(10), &note["id"]));
        assert!(invoice["disputes"].is_null(), "disputes are for the store");
        assert_eq!(owner.browser.get(&bought.path()).await.ok()["disputes"], json!([]));
        let listed = alice.browser.get("/api/invoices").await.ok()["list"][0].clone();
        assert_eq!((&listed["amount_refunded"], &listed["applied_credit"]), (&tokens(10), &json!("0")));

        let entitlement = alice.browser.get("/api/entitlements").await.ok()["list"][0].clone();
        assert_eq!((&entitlement["status"], &entitlement["app"]["entitled"]), (&json!("revoked"), &json!(false)));
        assert!(entitlement["revoked_at"].is_string(), "{entitlement}");
        alice.browser.get(&app.shop.atlas.bundle_path()).await.refused(403);
        let session = alice.retrieve(&bought.session).await["checkoutSession"].clone();
        assert_eq!((&session["amount_refunded"], &session["entitlements"][0]["status"]), (&tokens(10), &json!("revoked")));
        assert_eq!(app.breaches().await, [""; 0]);
        app.finish().await;
    }
}

#[tokio::test]
async fn a_credit_note_can_keep_the_entitlement() {
    let app = TestApp::open().await;
    let (alice, owner) = (app.sign_in("alice").await, app.owner().await);
    let bought = Bought::by(&app, &alice).await;
    let mut order = bought.order("10", "refund");
    order["items"][0]["revokes"] = json!(false);
    owner.browser.post("/api/credit-notes", &order).await.ok();
    app.drain().await;
    assert_eq!(alice.browser.get("/api/entitlements").await.ok()["list"][0]["status"], "active");
    assert_eq!(alice.browser.get(&app.shop.atlas.bundle_path()).await.status, 200);
    app.finish().await;
}

#[tokio::test]
async fn an_amount_is_spread_over_lines_and_limits_the_next_note() {
    let app = TestApp::open().await;
    let (alice, owner) = (app.sign_in("alice").await, app.owner().await);
    let bought = Bought::by(&app, &alice).await;
    let some = json!({ "invoice_id": bought.invoice, "amount": "2.5", "to": "balance" });
    let note = owner.browser.post("/api/credit-notes", &some).await.ok();
    assert_eq!((&note["to_balance"], &note["items"][0]["revokes"]), (&json!((5 * TOKEN / 2).to_string()), &json!(false)));
    let all = json!({ "invoice_id": bought.invoice, "to": "balance" });
    assert_eq!(owner.browser.post("/api/credit-notes/preview", &all).await.ok()["total"], json!((15 * TOKEN / 2).to_string()));
    let beyond = owner.browser.post("/api/credit-notes", &bought.order("8", "balance")).await.refused(400);
    assert_eq!(beyond["code"], "OVER_REFUND");
    app.finish().await;
}

#[tokio::test]
async fn invalid_requests_are_rejected_by_code() {
    let app = TestApp::open().await;
    let (alice, owner) = (app.sign_in("alice").await, app.owner().await);
    let (bought, other) = (Bought::by(&app, &alice).await, Bought::by(&app, &owner).await);
    let with = |name: &str, value: Value| {
        let mut order = bought.order("1", "refund");
        order[name] = value;
        order
    };
    let item = |id: &str, amount: &str| json!([{ "invoice_item_id": id, "amount": amount }]);
    let twice = json!([{ "invoice_item_id": bought.line, "amount": "1" }, { "invoice_item_id": bought.line, "amount": "2" }]);
    let cases = [
        (with("to", json!("nowhere")), "INVALID"),
        (with("reason", json!("because")), "INVALID"),
        (with("amount", json!("1")), "ITEMS_OR_AMOUNT"),
        (with("items", twice), "BAD_ITEMS"),
        (with("items", item(&other.line, "1")), "BAD_ITEMS"),
        (with("items", item("nonsense", "1")), "BAD_ITEMS"),
        (with("items", item(&bought.line, "0")), "NO_AMOUNT"),
        (with("items", item(&bought.line, "11")), "OVER_REFUND"),
        (with("items", item(&bought.line, "-1")), "AMOUNT_INVALID"),
        (with("items", item(&bought.line, "0.0000000000000000001")), "AMOUNT_TOO_PRECISE"),
        (with("memo", json!("x".repeat(10_000))), "TOO_LONG"),
    ];
    for path in ["/api/credit-notes", "/api/credit-notes/preview"] {
        for (order, code) in &cases {
            assert_eq!(owner.browser.post(path, order).await.refused(400)["code"], *code, "{path} {order}");
        }
        owner.browser.post(path, &json!({ "invoice_id": "in_01234", "to": "refund" })).await.refused(404);
        assert_eq!(
            owner.browser.post(path, &json!({ "invoice_id": bought.invoice })).await.status,
            400,
            "`to` is not chosen for the store"
        );
    }
    assert_eq!(owner.browser.post("/api/credit-notes", &with("to", json!("nowhere"))).await.refused(400)["params"]["field"], "to");
    assert_eq!(owner.browser.get("/api/credit-notes").await.ok()["count"], 0);
    app.finish().await;
}

on_one! {
    async fn a_credit_note_is_visible_to_its_customer_only(db: &TestDatabase) {
        let app = TestApp::on(db).await;
        let (alice, bob, owner) = (app.sign_in("alice").await, app.sign_in("bob").await, app.owner().await);
        let bought = Bought::by(&app, &alice).await;
        let order = bought.order("1", "balance");
        for path in ["/api/credit-notes", "/api/credit-notes/preview"] {
            app.browser().post(path, &order).await.refused(401);
            alice.browser.post(path, &order).await.refused(403);
            bob.browser.post(path, &order).await.refused(403);
            owner.browser.live().post(path, &order).await.refused(404);
        }
        let note = owner.browser.post("/api/credit-notes", &order).await.ok();
        let path = format!("/api/credit-notes/{}", note["id"].as_str().expect("an id"));
        for path in [path.clone(), format!("{path}/pdf"), "/api/credit-notes/cn_01234".to_owned(), "/api/credit-notes/nonsense".to_owned()] {
            bob.browser.get(&path).await.refused(404);
            app.browser().get(&path).await.refused(401);
        }
        assert_eq!(alice.browser.get(&path).await.ok()["to_balance"], tokens(1));
        let token = crate::app::page_tokens().auth_token(&bought.invoice, app.ctx.now());
        assert_eq!(app.browser().get(&format!("{path}/pdf?authToken={token}")).await.status, 200, "the link of its invoice opens it");

        let count = async |who: &Buyer, query: &str| who.browser.get(&format!("/api/credit-notes{query}")).await.ok()["count"].clone();
        for (query, found) in [
            (String::new(), 1),
            (format!("?invoice_id={}", bought.invoice), 1),
            ("?invoice_id=in_01234".to_owned(), 0),
            ("?invoice_id=nonsense".to_owned(), 0),
            ("?subscription_id=nonsense".to_owned(), 0),
            (format!("?customer_id={}", alice.wallet.did()), 1),
        ] {
            assert_eq!((count(&alice, &query).await, count(&owner, &query).await), (json!(found), json!(found)), "{query}");
        }
        let listed = owner.browser.get("/api/credit-notes").await.ok()["list"][0].clone();
        assert_eq!((&listed["customer"]["id"], &listed["customer"]["name"]), (&listed["customer_id"], &json!("alice Example")));
        assert_eq!(count(&bob, "").await, 0);
        bob.browser.get(&format!("/api/credit-notes?customer_id={}", alice.wallet.did())).await.refused(403);
        app.browser().get("/api/credit-notes").await.refused(401);
        assert_eq!(owner.browser.live().get("/api/credit-notes").await.ok()["count"], 0);
        assert_eq!(owner.browser.get("/api/credit-notes?starting_after=nonsense").await.status, 400);
        app.finish().await;
    }
}

#[tokio::test]
async fn keys_need_the_scope_and_are_restricted_to_their_mode() {
    let app = TestApp::open().await;
    let alice = app.sign_in("alice").await;
    let bought = Bought::by(&app, &alice).await;
    let order = bought.order("1", "balance");
    let post = async |mode: Mode, scope: &str, path: &str| {
        let scopes = vec![Scope::parse(scope).expect("a scope")];
        let secret = create_key(&app.ctx, NewKey { name: "script".to_owned(), mode, scopes }).await.expect("is made").secret;
        app.browser().call(Method::POST, path).header("authorization", format!("Bearer {secret}")).json(&order).send().await
    };
    post(Mode::Test, "invoices:write", "/api/credit-notes").await.refused(403);
    post(Mode::Test, "credit_notes:read", "/api/credit-notes").await.refused(403);
    post(Mode::Live, "credit_notes:write", "/api/credit-notes").await.refused(404);
    assert_eq!(post(Mode::Test, "credit_notes:read", "/api/credit-notes/preview").await.status, 200);
    assert_eq!(post(Mode::Test, "credit_notes:write", "/api/credit-notes").await.status, 200);
    app.finish().await;
}

#[tokio::test]
async fn a_repeated_idempotency_key_creates_one_credit_note() {
    let app = TestApp::open().await;
    let (alice, owner) = (app.sign_in("alice").await, app.owner().await);
    let bought = Bought::by(&app, &alice).await;
    let mut answers = Vec::new();
    for _ in 0..2 {
        let call = owner.browser.call(Method::POST, "/api/credit-notes").header("idempotency-key", "once");
        answers.push(call.json(&bought.order("1", "balance")).send().await.ok()["id"].clone());
    }
    assert_eq!(answers[0], answers[1]);
    assert_eq!(owner.browser.get("/api/credit-notes").await.ok()["count"], 1);
    app.finish().await;
}

#[tokio::test]
async fn the_pdf_is_in_the_language_of_the_request() {
    let app = TestApp::open().await;
    let (alice, owner) = (app.sign_in("alice").await, app.owner().await);
    let bought = Bought::by(&app, &alice).await;
    let note = owner.browser.post("/api/credit-notes", &bought.order("4", "balance")).await.ok();
    let path = note["credit_note_pdf"].as_str().expect("a path");
    let english = alice.browser.get(path).await;
    assert_eq!((english.status, english.header("content-type")), (200, Some("application/pdf")));
    assert_eq!(english.header("content-disposition"), Some("attachment; filename=\"SOUK-TEST-CN-000001.pdf\""));
    assert!(pdf_text(&english.bytes).contains("SOUK-TEST-CN-000001"));
    assert_ne!(english.bytes, alice.browser.in_chinese().get(path).await.bytes);
    app.finish().await;
}

#[tokio::test]
async fn drafts_and_statements_cannot_be_credited() {
    let app = TestApp::open().await;
    let (alice, owner) = (app.sign_in("alice").await, app.owner().await);
    let session = alice.start(&app.shop.atlas).await;
    let submitted = alice.submit_for_wallet(&app, &session).await;
    let draft = submitted["checkoutSession"]["invoice_id"].as_str().expect("a draft").to_owned();
    let order = json!({ "invoice_id": draft, "to": "balance" });
    assert_eq!(owner.browser.post("/api/credit-notes", &order).await.refused(400)["code"], "NOT_CREDITABLE");
    app.finish().await;
}
