//! A signed-in buyer.

use super::{Answer, Browser, Connect, Shop, Sold, TestApp, claim_of};
use serde_json::{Value, json};
use souk_adapters::arcblock::TestWallet;
use std::sync::Arc;

#[derive(Clone)]
pub struct Buyer {
    pub browser: Browser,
    pub wallet: Arc<TestWallet>,
    pub name: String,
}

/// A completed checkout form; `by_card` selects method and currency.
pub fn form(shop: &Shop, name: &str, by_card: bool) -> Value {
    let (method, currency) = if by_card { (&shop.card, &shop.dollar) } else { (&shop.wallet, &shop.token) };
    json!({
        "customer_name": format!("{name} Example"),
        "customer_email": format!("{name}@example.com"),
        "customer_phone": "",
        "payment_method": method.as_str(),
        "payment_currency": currency.as_str(),
        "billing_address": { "country": "us", "postal_code": "94105" },
    })
}

impl Buyer {
    pub async fn start(&self, sold: &Sold) -> String {
        self.start_link(&sold.link).await
    }

    pub async fn start_link(&self, link: &str) -> String {
        let started = self.browser.post(&format!("/api/checkout-sessions/start/{link}"), &json!({})).await.ok();
        started["checkoutSession"]["id"].as_str().expect("an id").to_owned()
    }

    pub async fn retrieve(&self, session: &str) -> Value {
        self.browser.get(&format!("/api/checkout-sessions/retrieve/{session}")).await.ok()
    }

    pub async fn submit(&self, session: &str, form: &Value) -> Answer {
        self.browser.put(&format!("/api/checkout-sessions/{session}/submit"), form).await
    }

    pub async fn submit_for_wallet(&self, app: &TestApp, session: &str) -> Value {
        self.submit(session, &form(&app.shop, &self.name, false)).await.ok()
    }

    /// Submits for payment by card and returns the client secret of the provider's intent.
    pub async fn submit_for_card(&self, app: &TestApp, session: &str) -> String {
        let submitted = self.submit(session, &form(&app.shop, &self.name, true)).await.ok();
        submitted["stripeContext"]["client_secret"].as_str().expect("a secret").to_owned()
    }

    /// Opens a connect session for the payment and scans it. Returns the session and its request to the wallet.
    pub async fn request_payment(&self, app: &TestApp, session: &str) -> (Connect, Value) {
        let query = format!("&checkoutSessionId={session}&sessionUserDid={}", self.wallet.did());
        let connect = Connect::begin(app, &self.browser, "payment", &query).await;
        let asked = connect.scan().await;
        (connect, asked)
    }

    /// Signs the request and returns the store's final message.
    pub async fn pay_by_wallet(&self, app: &TestApp, session: &str) -> Value {
        let (connect, asked) = self.request_payment(app, session).await;
        connect.answer(&self.wallet, &asked, claim_of(&self.wallet, &asked)).await
    }

    /// Signs all requests of a connect session. Returns the store's final message and the types of the claims.
    pub async fn sign_all(&self, app: &TestApp, session: &str, action: &str) -> (Value, Vec<String>) {
        let query = format!("&checkoutSessionId={session}&sessionUserDid={}", self.wallet.did());
        Connect::begin(app, &self.browser, action, &query).await.sign_all(&self.wallet).await
    }

    /// Subscribes by wallet and returns the session's id.
    pub async fn subscribe(&self, app: &TestApp, link: &str) -> String {
        let session = self.start_link(link).await;
        self.submit_for_wallet(app, &session).await;
        let (done, _) = self.sign_all(app, &session, "subscription").await;
        assert_eq!(done["status"], "ok", "{done}");
        assert_eq!(self.retrieve(&session).await["checkoutSession"]["status"], "complete");
        app.drain().await;
        session
    }

    /// Buys by wallet and returns the session's id.
    pub async fn buy(&self, app: &TestApp, sold: &Sold) -> String {
        let session = self.start(sold).await;
        self.submit_for_wallet(app, &session).await;
        let done = self.pay_by_wallet(app, &session).await;
        assert_eq!(done["status"], "ok", "{done}");
        assert_eq!(self.retrieve(&session).await["checkoutSession"]["status"], "complete");
        app.drain().await;
        session
    }
}
