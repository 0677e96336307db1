//! Simulated visitors: they sign in with a wallet, fund it, and buy. They retry lost requests, as pages do, and some leave early.

use crate::store_client::{CallError, CallOptions, CallResult, StoreClient};
use reqwest::Method;
use serde_json::{Map, Value, json};
use souk_adapters::arcblock::TestWallet;
use souk_adapters::identity::verify;
use souk_adapters::testing::{RunningClock, SeededRandom};
use souk_domain::shared::{Amount, Clock, Random};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// How long a page waits for its payment before it retries.
const WATCH: Duration = Duration::from_secs(2);
const POLL: Duration = Duration::from_millis(100);
/// Pause after a lost request.
const RETRY_PAUSE: Duration = Duration::from_millis(40);

pub const GOOD: &str = "4242424242424242";
const DECLINED: &str = "4000000000000002";
const SECOND_STEP: &str = "4000002500003155";
const DECLINES_LATER: &str = "4000000000000341";

/// The intended way of a visitor to pay.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Plan {
    Wallet,
    Card(&'static str),
    /// Pays with a card that is declined, then with a good one.
    CardAfter(&'static str),
    /// Submits the form for one rail, then pays over the other.
    WalletThenCard,
    CardThenWallet,
    /// Pays in two tabs at once, one with the wallet and one with the card.
    TwoTabs,
    /// Opens the card form and leaves.
    LeavesCardForm,
    /// Signs and leaves before the response.
    LeavesWallet,
}

impl Plan {
    pub fn any(random: &dyn Random) -> Self {
        match below(random, 16) {
            0..=4 => Self::Wallet,
            5..=8 => Self::Card(GOOD),
            9 => Self::CardAfter(DECLINED),
            10 => Self::Card(SECOND_STEP),
            11 => Self::WalletThenCard,
            12 => Self::CardThenWallet,
            13 => Self::TwoTabs,
            14 => Self::LeavesCardForm,
            _ => match below(random, 3) {
                0 => Self::CardAfter(DECLINES_LATER),
                _ => Self::LeavesWallet,
            },
        }
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum End {
    Complete(String),
    Left,
    SoldOut,
}

pub struct Buyer {
    client: Arc<StoreClient>,
    wallet: TestWallet,
    random: SeededRandom,
    /// The cookies of the signed-in browser.
    pub cookies: String,
    name: String,
}

/// The data of an opened checkout page.
pub struct CheckoutPage {
    pub session: String,
    /// `None`: it cannot be paid by wallet.
    wallet: Option<Choice>,
    pub card: Choice,
    publishable: String,
}

impl CheckoutPage {
    fn wallet(&self) -> &Choice {
        self.wallet.as_ref().expect("can be paid by wallet")
    }
}

/// A payment method and its currency.
pub struct Choice {
    id: String,
    currency: String,
}

impl Buyer {
    /// Signs in and requests tokens from the faucet, with retries until both succeed.
    pub async fn arrive(client: Arc<StoreClient>, seed: u64) -> Self {
        let random = SeededRandom::new(seed);
        let wallet = TestWallet::from_seed(&(&random as &dyn Random).bytes());
        let mut buyer = Self { client, wallet, random, cookies: String::new(), name: format!("Buyer {seed:x}") };
        loop {
            match buyer.sign_in().await {
                Ok(cookies) => break buyer.cookies = cookies,
                Err(error) => buyer.after(&error).await,
            }
        }
        let address = buyer.address();
        while let Err(error) = buyer.client.post("sandbox/arcblock/faucet", None, json!({ "address": address })).await {
            buyer.after(&error).await;
        }
        buyer
    }

    /// The account at the ledger.
    pub fn address(&self) -> String {
        self.wallet.did().to_string()
    }

    pub fn random(&self) -> &dyn Random {
        &self.random
    }

    async fn after(&self, _miss: &CallError) {
        tokio::time::sleep(RETRY_PAUSE).await;
    }

    async fn sign_in(&self) -> CallResult<String> {
        let (token, browser) = self.connect("login", "", "").await?;
        let path = format!("api/did/login/auth?_t_={token}");
        let request = self.read(&self.client.get(&path, None).await?)?;
        let request = self.read(&self.answer(&path, &request, json!({ "type": "authPrincipal" })).await?)?;
        let profile = json!({ "type": "profile", "fullName": self.name, "email": "buyer@souk.example" });
        self.read(&self.answer(&path, &request, profile).await?)?;
        let options = CallOptions { cookies: Some(&browser), ..CallOptions::default() };
        let status = self.client.call(Method::GET, &format!("api/did/login/status?_t_={token}"), options).await?;
        let login = status.cookies.into_iter().find(|cookie| cookie.starts_with("login_token="));
        login.ok_or_else(|| CallError::Lost(format!("no cookie: {}", status.body)))
    }

    /// Begins a connect session. Returns its token and the browser's cookie.
    async fn connect(&self, action: &str, query: &str, cookies: &str) -> CallResult<(String, String)> {
        let options = CallOptions { cookies: Some(cookies).filter(|text| !text.is_empty()), ..CallOptions::default() };
        let begun = self.client.call(Method::POST, &format!("api/did/{action}/token?livemode=false&locale=en{query}"), options).await?;
        let browser = begun.cookies.into_iter().find(|cookie| cookie.starts_with("connect_browser=")).unwrap_or_default();
        Ok((text(&begun.body["token"]), browser))
    }

    /// Verifies and reads a signed message of the store, which may be an error.
    fn read(&self, body: &Value) -> CallResult<Map<String, Value>> {
        let (info, key) = (text(&body["authInfo"]), text(&body["appPk"]));
        let claims = verify(&info, &key, RunningClock.now()).unwrap_or_else(|error| panic!("the store's own envelope: {error}: {body}"));
        match claims.body.get("status").and_then(Value::as_str) {
            Some("error") => Err(CallError::Rejected { status: 200, code: "WALLET".to_owned(), error: text(&claims.body["errorMessage"]) }),
            _ => Ok(claims.body),
        }
    }

    fn envelope(&self, request: &Map<String, Value>, claim: Value) -> Value {
        let body = json!({ "action": "responseAuth", "challenge": request["challenge"], "requestedClaims": [claim] });
        let Value::Object(body) = body else { unreachable!("an object") };
        json!({ "userPk": self.wallet.public_key_base58(), "userInfo": self.wallet.sign_envelope(body, RunningClock.now()) })
    }

    async fn answer(&self, path: &str, request: &Map<String, Value>, claim: Value) -> CallResult<Value> {
        self.client.post(path, None, self.envelope(request, claim)).await
    }

    /// Opens the checkout page of a payment link.
    pub async fn open(&self, link: &str) -> CallResult<CheckoutPage> {
        let path = format!("api/checkout-sessions/start/{link}?livemode=false");
        let body = self.client.post(&path, Some(&self.cookies), json!({})).await?;
        let method = |kind: &str| body["paymentMethods"].as_array().into_iter().flatten().find(|method| method["type"] == kind);
        let ids = |method: &Value| Choice { id: text(&method["id"]), currency: text(&method["default_currency_id"]) };
        let (wallet, card) = (method("arcblock"), method("stripe").unwrap_or_else(|| panic!("no card: {body}")));
        Ok(CheckoutPage {
            session: text(&body["checkoutSession"]["id"]),
            wallet: wallet.map(ids),
            card: ids(card),
            publishable: text(&card["settings"]["stripe"]["publishable_key"]),
        })
    }

    /// Submits the form. A retry after a lost response uses the same idempotency key, as the page does; a reload uses a new one.
    pub async fn submit(&self, page: &CheckoutPage, method: &Choice) -> CallResult<Value> {
        let form = json!({
            "payment_method": method.id, "payment_currency": method.currency,
            "customer_name": self.name, "customer_email": "buyer@souk.example", "customer_phone": "+14155552671",
            "billing_address": { "country": "us", "state": "CA", "city": "San Francisco", "line1": "1 Market Street", "postal_code": "94105" },
        });
        let path = format!("api/checkout-sessions/{}/submit?livemode=false", page.session);
        let keyed = below(&self.random, 2) == 0;
        let key = format!("{:x}", any_number(&self.random));
        for _ in 0..3 {
            let options = CallOptions {
                cookies: Some(&self.cookies),
                json: Some(form.clone()),
                key: keyed.then_some(key.as_str()),
                ..CallOptions::default()
            };
            match self.client.call(Method::PUT, &path, options).await {
                Err(CallError::Lost(_)) => tokio::time::sleep(RETRY_PAUSE).await,
                seen => return seen.map(|answer| answer.body),
            }
        }
        Err(CallError::Lost("submit".to_owned()))
    }

    /// Lets the wallet sign the request. `leave`: does not wait for the response to the signature.
    async fn pay_by_wallet(&self, page: &CheckoutPage, leave: bool) -> CallResult<()> {
        let query = format!("&checkoutSessionId={}&sessionUserDid={}", page.session, self.wallet.did());
        let (token, _) = self.connect("payment", &query, &self.cookies).await?;
        let path = format!("api/did/payment/auth?_t_={token}");
        let request = self.read(&self.client.get(&path, None).await?)?;
        let claim = &request["requestedClaims"][0];
        let wanted = &claim["requirement"]["tokens"][0];
        let amount = Amount::parse_base_units(&text(&wanted["value"])).expect("an amount");
        let signed = self.wallet.sign_transfer(&text(&claim["partialTx"]), &text(&wanted["address"]), amount).expect("a transfer");
        let answer = self.envelope(&request, json!({ "type": "prepareTx", "finalTx": signed }));
        let sent = self.client.post(&path, None, answer.clone());
        if leave {
            // The buyer does not read the response.
            tokio::select! {
                _ = sent => (),
                () = tokio::time::sleep(Duration::from_millis(u64::from(below(&self.random, 30)))) => (),
            }
            return Ok(());
        }
        match sent.await {
            // Wallets resend the same response.
            Err(CallError::Lost(_)) => self.read(&self.client.post(&path, None, answer).await?).map(drop),
            seen => self.read(&seen?).map(drop),
        }
    }

    /// Submits a card in the sandbox's form.
    pub async fn pay_by_card(&self, page: &CheckoutPage, submitted: &Value, number: &str) -> CallResult<()> {
        let secret = text(&submitted["stripeContext"]["client_secret"]);
        let Some((intent, _)) = secret.split_once("_secret") else { return Ok(()) };
        let form = [
            ("client_secret", secret.as_str()),
            ("payment_method_data[type]", "card"),
            ("payment_method_data[card][number]", number),
            ("payment_method_data[card][exp_month]", "12"),
            ("payment_method_data[card][exp_year]", "2040"),
            ("payment_method_data[card][cvc]", "123"),
            ("payment_method_data[billing_details][address][postal_code]", "94105"),
        ];
        let confirmed = self.card_call(page, &format!("{intent}/confirm"), &form).await?;
        if confirmed["status"] == "requires_action" {
            let form = [("client_secret", secret.as_str()), ("success", "true")];
            self.card_call(page, &format!("{intent}/authenticate"), &form).await?;
        }
        Ok(())
    }

    async fn card_call(&self, page: &CheckoutPage, path: &str, form: &[(&str, &str)]) -> CallResult<Value> {
        let options = CallOptions { form: Some(form), bearer: Some(&page.publishable), ..CallOptions::default() };
        let path = format!("sandbox/stripe/v1/payment_intents/{path}");
        self.client.call(Method::POST, &path, options).await.map(|answer| answer.body)
    }

    /// Submits the form and pays once. A rejection does not fail the test; the session's status shows the result.
    async fn pay(&self, page: &CheckoutPage, plan: Plan, round: u32) -> CallResult<()> {
        let by_wallet = async |leave| {
            self.submit(page, page.wallet()).await?;
            self.pay_by_wallet(page, leave).await
        };
        let by_card = async |number| {
            let submitted = self.submit(page, &page.card).await?;
            self.pay_by_card(page, &submitted, number).await
        };
        match plan {
            Plan::Wallet => by_wallet(false).await,
            Plan::LeavesWallet => by_wallet(true).await,
            Plan::Card(number) => by_card(number).await,
            Plan::CardAfter(first) => by_card(if round == 0 { first } else { GOOD }).await,
            Plan::WalletThenCard => {
                self.submit(page, page.wallet()).await?;
                by_card(GOOD).await
            }
            Plan::CardThenWallet => {
                self.submit(page, &page.card).await?;
                by_wallet(false).await
            }
            Plan::TwoTabs => {
                let (wallet, card) = tokio::join!(by_wallet(false), by_card(GOOD));
                wallet.or(card)
            }
            Plan::LeavesCardForm => self.submit(page, &page.card).await.map(drop),
        }
    }

    /// The session as the page sees it: `open`, `complete` or `expired`.
    pub async fn session_status(&self, session: &str) -> CallResult<String> {
        let body = self.client.get(&format!("api/checkout-sessions/retrieve/{session}?livemode=false"), Some(&self.cookies)).await?;
        Ok(text(&body["checkoutSession"]["status"]))
    }

    /// Buys from a payment link, with retries until the purchase is complete, sold out, or abandoned.
    pub async fn buy(&self, link: &str, plan: Plan) -> End {
        let page = loop {
            match self.open(link).await {
                Ok(page) => break page,
                Err(error) => self.after(&error).await,
            }
        };
        for round in 0.. {
            let paid = self.pay(&page, plan, round).await;
            match paid {
                Ok(()) if matches!(plan, Plan::LeavesCardForm | Plan::LeavesWallet) => return End::Left,
                Err(CallError::Rejected { ref error, .. }) if error.contains("Exceed inventory") => return End::SoldOut,
                _ => {}
            }
            let begun = Instant::now();
            while begun.elapsed() < WATCH {
                match self.session_status(&page.session).await.as_deref() {
                    Ok("complete") => return End::Complete(page.session),
                    Ok("expired") => return End::Left,
                    // No payment is in flight, so the page offers to pay again.
                    Ok(_) if paid.is_err() && begun.elapsed() > 3 * POLL => break,
                    _ => tokio::time::sleep(POLL).await,
                }
            }
        }
        End::Left
    }
}

fn text(value: &Value) -> String {
    value.as_str().unwrap_or_default().to_owned()
}

pub fn any_number(random: &dyn Random) -> u64 {
    u64::from_le_bytes(random.bytes())
}

/// A random number below `limit`.
pub fn below(random: &dyn Random, limit: u32) -> u32 {
    u32::try_from(any_number(random) % u64::from(limit)).expect("below a u32")
}
