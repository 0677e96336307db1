//! The wallet's side of a connect session.

use super::{Answer, Browser, TestApp};
use poem::http::Method;
use serde_json::{Map, Value, json};
use souk_adapters::arcblock::{DecodedTransaction, TestWallet, Transaction};
use souk_adapters::identity::verify;
use souk_domain::shared::{Amount, Clock};
use std::sync::Arc;

/// A connect session that a browser began.
pub struct Connect {
    pub token: String,
    pub browser: Browser,
    wallet_browser: Browser,
    /// The wallet's clock, which shows the same as the store's.
    clock: Arc<dyn Clock>,
    action: String,
}

impl Connect {
    /// `query` contains the parameters of the page and begins with `&`.
    pub async fn begin(app: &TestApp, browser: &Browser, action: &str, query: &str) -> Self {
        let begun = browser.get(&format!("/api/did/{action}/token?x=1{query}")).await.ok();
        assert_eq!(begun["status"], "created");
        let token = begun["token"].as_str().expect("a token").to_owned();
        assert_eq!(token.len(), 32, "128 bits");
        Self::found(app, browser, action, &token)
    }

    /// A connect session that was begun by other means.
    pub fn found(app: &TestApp, browser: &Browser, action: &str, token: &str) -> Self {
        // Wallets do not know the mode of a page.
        let wallet_browser = app.browser().live();
        let clock = Arc::clone(&app.ctx.clock);
        Self { token: token.to_owned(), browser: browser.clone(), wallet_browser, clock, action: action.to_owned() }
    }

    /// The same session at the service that `app` has started last.
    pub fn at(self, app: &TestApp) -> Self {
        Self { browser: self.browser.at(app.service()), wallet_browser: self.wallet_browser.at(app.service()), ..self }
    }

    fn path(&self, endpoint: &str) -> String {
        format!("/api/did/{}/{endpoint}?_t_={}", self.action, self.token)
    }

    pub async fn status(&self) -> Answer {
        self.browser.get(&self.path("status")).await
    }

    /// The status as seen by another browser, which knows only the token.
    pub async fn status_from(&self, browser: &Browser) -> Answer {
        browser.get(&self.path("status")).await
    }

    /// Verifies and returns the store's signed message, as wallets do.
    pub fn read(&self, answer: &Answer) -> Value {
        let outer = answer.ok();
        let text = |name: &str| outer[name].as_str().unwrap_or_default().to_owned();
        let claims = verify(&text("authInfo"), &text("appPk"), self.clock.now()).expect("the store's signature");
        Value::Object(claims.body)
    }

    /// The wallet scans the QR code and reads the request.
    pub async fn scan(&self) -> Value {
        self.read(&self.wallet_browser.get(&self.path("auth")).await)
    }

    /// Posts a response of the wallet; the same bytes may be sent repeatedly.
    pub async fn post(&self, body: &Value) -> Answer {
        let call = self.wallet_browser.call(Method::POST, &self.path("auth")).header("origin", "https://web.abtwallet.io");
        call.json(body).send().await
    }

    /// A response to `request`, signed by the wallet at the time of the test clock.
    pub fn signed(&self, wallet: &TestWallet, request: &Value, action: &str, claims: Value) -> Value {
        let body = Map::from_iter([
            ("action".to_owned(), json!(action)),
            ("challenge".to_owned(), request["challenge"].clone()),
            ("requestedClaims".to_owned(), claims),
        ]);
        json!({ "userPk": wallet.public_key_base58(), "userInfo": wallet.sign_envelope(body, self.clock.now()) })
    }

    pub async fn answer(&self, wallet: &TestWallet, request: &Value, claims: Value) -> Value {
        self.read(&self.post(&self.signed(wallet, request, "responseAuth", claims)).await)
    }

    /// Answers all requests one after the other. Returns the final message and the types of the requested claims.
    pub async fn sign_all(&self, wallet: &TestWallet) -> (Value, Vec<String>) {
        let (mut asked, mut kinds) = (self.scan().await, Vec::new());
        while asked["action"] == "responseAuth" {
            kinds.push(asked["requestedClaims"][0]["type"].as_str().expect("a type").to_owned());
            asked = self.answer(wallet, &asked, signed_claim(wallet, &asked)).await;
        }
        (asked, kinds)
    }

    /// Performs a login, after which the browser has the login cookie.
    pub async fn sign_in(&self, wallet: &TestWallet, name: &str) {
        self.sign_in_elsewhere(wallet, name).await;
        assert_eq!(self.status().await.ok()["status"], "succeed");
    }

    /// The wallet's part of a login; nobody reads its result.
    pub async fn sign_in_elsewhere(&self, wallet: &TestWallet, name: &str) {
        let asked = self.scan().await;
        assert_eq!(asked["requestedClaims"][0]["type"], "authPrincipal");
        let asked = self.answer(wallet, &asked, json!([{ "type": "authPrincipal" }])).await;
        assert_eq!(asked["requestedClaims"][0]["type"], "profile");
        let done = self.answer(wallet, &asked, json!([profile_of(name)])).await;
        assert_eq!(done["status"], "ok", "{done}");
    }
}

/// The profile claim of a wallet.
pub fn profile_of(name: &str) -> Value {
    json!({ "type": "profile", "fullName": format!("{name} Example"), "email": format!("{name}@example.com") })
}

/// The `prepareTx` claim of a payment request, signed unchanged.
pub fn claim_of(wallet: &TestWallet, request: &Value) -> Value {
    let asked = &request["requestedClaims"][0];
    assert_eq!(asked["type"], "prepareTx", "{request}");
    let text = |value: &Value| value.as_str().expect("text").to_owned();
    let token = &asked["requirement"]["tokens"][0];
    let amount = Amount::parse_base_units(&text(&token["value"])).expect("an amount");
    let signed = wallet.sign_transfer(&text(&asked["partialTx"]), &text(&token["address"]), amount).expect("a transfer");
    json!([{ "type": "prepareTx", "finalTx": signed }])
}

/// The signed claim for any request of a checkout.
pub fn signed_claim(wallet: &TestWallet, request: &Value) -> Value {
    let asked = &request["requestedClaims"][0];
    let text = |value: &Value| value.as_str().expect("text").to_owned();
    match asked["type"].as_str() {
        Some("authPrincipal") => json!([{ "type": "authPrincipal" }]),
        Some("signature") => json!([{ "type": "signature", "sig": wallet.sign_origin(&text(&asked["origin"])).expect("a signature") }]),
        Some("prepareTx") => {
            let token = &asked["requirement"]["tokens"][0];
            let amount = Amount::parse_base_units(&text(&token["value"])).expect("an amount");
            let (partial, address) = (text(&asked["partialTx"]), text(&token["address"]));
            let signed = wallet.sign_stake(&partial, &address, amount).or_else(|| wallet.sign_transfer(&partial, &address, amount));
            json!([{ "type": "prepareTx", "finalTx": signed.expect("a transaction") }])
        }
        other => panic!("{other:?} in {request}"),
    }
}

/// The claim for the transaction of a payment or deposit request, changed before it is signed.
pub fn altered(wallet: &TestWallet, request: &Value, change: impl FnOnce(&mut Transaction)) -> Value {
    let mut claims = signed_claim(wallet, request);
    let text = claims[0]["finalTx"].as_str().expect("text").strip_prefix('z').expect("base58 begins with z").to_owned();
    let bytes = bs58::decode(text).into_vec().expect("base58");
    let DecodedTransaction { mut transaction, format } = Transaction::decode(&bytes).expect("a transaction");
    change(&mut transaction);
    wallet.sign(&mut transaction, format);
    claims[0]["finalTx"] = json!(format!("z{}", bs58::encode(transaction.encode(format)).into_string()));
    claims
}
