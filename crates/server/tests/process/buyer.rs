//! Visitors: they sign in with a wallet, fill it, and buy; they retry what got lost, as pages do, and some walk away.

use crate::front::{Extra, Front, Miss, Told};
use reqwest::Method;
use serde_json::{Map, Value, json};
use souk_adapters::arcblock::TestWallet;
use souk_adapters::identity::verify;
use souk_adapters::testing::{RunningClock, SeededRandom};
use souk_domain::shared::{Amount, Clock, Random};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// How long a page waits for its payment before it tries again.
const WATCH: Duration = Duration::from_secs(2);
const POLL: Duration = Duration::from_millis(100);
/// After a lost call, before the next.
const BREATH: Duration = Duration::from_millis(40);

pub const GOOD: &str = "4242424242424242";
const DECLINED: &str = "4000000000000002";
const SECOND_STEP: &str = "4000002500003155";
const DECLINES_LATER: &str = "4000000000000341";

/// What a visitor means to do at the till.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Plan {
    Wallet,
    Card(&'static str),
    /// A first card that does not pay, then a good one.
    CardAfter(&'static str),
    /// Submits for one rail, then pays by the other.
    WalletThenCard,
    CardThenWallet,
    /// Two tabs at once, one with the wallet and one with the card.
    TwoTabs,
    /// Opens the card form and leaves.
    LeavesCardForm,
    /// Signs, and leaves before any answer.
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
    front: Arc<Front>,
    wallet: TestWallet,
    random: SeededRandom,
    /// What the browser of a signed-in visitor sends.
    pub cookies: String,
    name: String,
}

/// Where to pay, from what the checkout page was told.
struct Till {
    session: String,
    wallet: Choice,
    card: Choice,
    publishable: String,
}

/// A payment method and its currency.
struct Choice {
    id: String,
    currency: String,
}

impl Buyer {
    /// Signs in, and asks the faucet for tokens; tries until both have worked.
    pub async fn arrive(front: Arc<Front>, seed: u64) -> Self {
        let random = SeededRandom::new(seed);
        let wallet = TestWallet::from_seed(&(&random as &dyn Random).bytes());
        let mut buyer = Self { front, wallet, random, cookies: String::new(), name: format!("Buyer {seed:x}") };
        loop {
            match buyer.sign_in().await {
                Ok(cookies) => break buyer.cookies = cookies,
                Err(miss) => buyer.after(&miss).await,
            }
        }
        let address = buyer.wallet.did().to_string();
        while let Err(miss) = buyer.front.post("sandbox/arcblock/faucet", None, json!({ "address": address })).await {
            buyer.after(&miss).await;
        }
        buyer
    }

    pub fn random(&self) -> &dyn Random {
        &self.random
    }

    async fn after(&self, _miss: &Miss) {
        tokio::time::sleep(BREATH).await;
    }

    async fn sign_in(&self) -> Told<String> {
        let (token, browser) = self.connect("login", "", "").await?;
        let path = format!("api/did/login/auth?_t_={token}");
        let asked = self.read(&self.front.get(&path, None).await?)?;
        let asked = self.read(&self.answer(&path, &asked, json!({ "type": "authPrincipal" })).await?)?;
        let profile = json!({ "type": "profile", "fullName": self.name, "email": "buyer@souk.example" });
        self.read(&self.answer(&path, &asked, profile).await?)?;
        let extra = Extra { cookies: Some(&browser), ..Extra::default() };
        let status = self.front.call(Method::GET, &format!("api/did/login/status?_t_={token}"), extra).await?;
        let login = status.cookies.into_iter().find(|cookie| cookie.starts_with("login_token="));
        login.ok_or_else(|| Miss::Lost(format!("no cookie: {}", status.body)))
    }

    /// Begins a session with the wallet: its token, and the browser's cookie.
    async fn connect(&self, action: &str, query: &str, cookies: &str) -> Told<(String, String)> {
        let extra = Extra { cookies: Some(cookies).filter(|text| !text.is_empty()), ..Extra::default() };
        let begun = self.front.call(Method::POST, &format!("api/did/{action}/token?livemode=false&locale=en{query}"), extra).await?;
        let browser = begun.cookies.into_iter().find(|cookie| cookie.starts_with("connect_browser=")).unwrap_or_default();
        Ok((text(&begun.body["token"]), browser))
    }

    /// What the store signed; its refusals come in signed answers too.
    fn read(&self, body: &Value) -> Told<Map<String, Value>> {
        let (info, key) = (text(&body["authInfo"]), text(&body["appPk"]));
        let claims = verify(&info, &key, RunningClock.now()).unwrap_or_else(|error| panic!("the store's own envelope: {error}: {body}"));
        match claims.body.get("status").and_then(Value::as_str) {
            Some("error") => Err(Miss::Refused { status: 200, code: "WALLET".to_owned(), error: text(&claims.body["errorMessage"]) }),
            _ => Ok(claims.body),
        }
    }

    fn envelope(&self, asked: &Map<String, Value>, claim: Value) -> Value {
        let body = json!({ "action": "responseAuth", "challenge": asked["challenge"], "requestedClaims": [claim] });
        let Value::Object(body) = body else { unreachable!("an object") };
        json!({ "userPk": self.wallet.public_key_base58(), "userInfo": self.wallet.sign_envelope(body, RunningClock.now()) })
    }

    async fn answer(&self, path: &str, asked: &Map<String, Value>, claim: Value) -> Told<Value> {
        self.front.post(path, None, self.envelope(asked, claim)).await
    }

    /// Opens the checkout of a link: the first page of a purchase.
    async fn open(&self, link: &str) -> Told<Till> {
        let path = format!("api/checkout-sessions/start/{link}?livemode=false");
        let body = self.front.post(&path, Some(&self.cookies), json!({})).await?;
        let method = |kind: &str| {
            let found = body["paymentMethods"].as_array().into_iter().flatten().find(|method| method["type"] == kind);
            found.unwrap_or_else(|| panic!("no {kind}: {body}")).clone()
        };
        let ids = |method: &Value| Choice { id: text(&method["id"]), currency: text(&method["default_currency_id"]) };
        let (wallet, card) = (method("arcblock"), method("stripe"));
        Ok(Till {
            session: text(&body["checkoutSession"]["id"]),
            wallet: ids(&wallet),
            card: ids(&card),
            publishable: text(&card["settings"]["stripe"]["publishable_key"]),
        })
    }

    /// Presses the pay button. The key is repeated for a lost answer, as the page does; a reload takes another.
    async fn submit(&self, till: &Till, method: &Choice) -> Told<Value> {
        let form = json!({
            "payment_method": method.id, "payment_currency": method.currency,
            "customer_name": self.name, "customer_email": "buyer@souk.example", "customer_phone": "+14155552671",
            "billing_address": { "country": "us", "state": "CA", "city": "San Francisco", "line1": "1 Market Street", "postal_code": "94105" },
        });
        let path = format!("api/checkout-sessions/{}/submit?livemode=false", till.session);
        let keyed = below(&self.random, 2) == 0;
        let key = format!("{:x}", any_number(&self.random));
        for _ in 0..3 {
            let extra =
                Extra { cookies: Some(&self.cookies), json: Some(form.clone()), key: keyed.then_some(key.as_str()), ..Extra::default() };
            match self.front.call(Method::PUT, &path, extra).await {
                Err(Miss::Lost(_)) => tokio::time::sleep(BREATH).await,
                seen => return seen.map(|answer| answer.body),
            }
        }
        Err(Miss::Lost("submit".to_owned()))
    }

    /// Lets the wallet sign what it is asked for. `leave`: does not wait for the answer to its signature.
    async fn pay_by_wallet(&self, till: &Till, leave: bool) -> Told<()> {
        let query = format!("&checkoutSessionId={}&sessionUserDid={}", till.session, self.wallet.did());
        let (token, _) = self.connect("payment", &query, &self.cookies).await?;
        let path = format!("api/did/payment/auth?_t_={token}");
        let asked = self.read(&self.front.get(&path, None).await?)?;
        let claim = &asked["requestedClaims"][0];
        let wanted = &claim["requirement"]["tokens"][0];
        let amount = Amount::parse_base_units(&text(&wanted["value"])).expect("an amount");
        let signed = self.wallet.sign_transfer(&text(&claim["partialTx"]), &text(&wanted["address"]), amount).expect("a transfer");
        let answer = self.envelope(&asked, json!({ "type": "prepareTx", "finalTx": signed }));
        let sent = self.front.post(&path, None, answer.clone());
        if leave {
            let _ = tokio::time::timeout(Duration::from_millis(u64::from(below(&self.random, 30))), sent).await;
            return Ok(());
        }
        match sent.await {
            // Wallets send the same answer again.
            Err(Miss::Lost(_)) => self.read(&self.front.post(&path, None, answer).await?).map(drop),
            seen => self.read(&seen?).map(drop),
        }
    }

    /// Types a card into the form of the sandbox.
    async fn pay_by_card(&self, till: &Till, submitted: &Value, number: &str) -> Told<()> {
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
        let confirmed = self.card_call(till, &format!("{intent}/confirm"), &form).await?;
        if confirmed["status"] == "requires_action" {
            let form = [("client_secret", secret.as_str()), ("success", "true")];
            self.card_call(till, &format!("{intent}/authenticate"), &form).await?;
        }
        Ok(())
    }

    async fn card_call(&self, till: &Till, path: &str, form: &[(&str, &str)]) -> Told<Value> {
        let extra = Extra { form: Some(form), bearer: Some(&till.publishable), ..Extra::default() };
        let path = format!("sandbox/stripe/v1/payment_intents/{path}");
        self.front.call(Method::POST, &path, extra).await.map(|answer| answer.body)
    }

    /// One press of the button and one payment. A refusal is no failure of the test: the look at the session tells.
    async fn pay(&self, till: &Till, plan: Plan, round: u32) -> Told<()> {
        let by_wallet = async |leave| {
            self.submit(till, &till.wallet).await?;
            self.pay_by_wallet(till, leave).await
        };
        let by_card = async |number| {
            let submitted = self.submit(till, &till.card).await?;
            self.pay_by_card(till, &submitted, number).await
        };
        match plan {
            Plan::Wallet => by_wallet(false).await,
            Plan::LeavesWallet => by_wallet(true).await,
            Plan::Card(number) => by_card(number).await,
            Plan::CardAfter(first) => by_card(if round == 0 { first } else { GOOD }).await,
            Plan::WalletThenCard => {
                self.submit(till, &till.wallet).await?;
                by_card(GOOD).await
            }
            Plan::CardThenWallet => {
                self.submit(till, &till.card).await?;
                by_wallet(false).await
            }
            Plan::TwoTabs => {
                let (wallet, card) = tokio::join!(by_wallet(false), by_card(GOOD));
                wallet.or(card)
            }
            Plan::LeavesCardForm => self.submit(till, &till.card).await.map(drop),
        }
    }

    /// The session as the page sees it: `open`, `complete` or `expired`.
    async fn look(&self, session: &str) -> Told<String> {
        let body = self.front.get(&format!("api/checkout-sessions/retrieve/{session}?livemode=false"), Some(&self.cookies)).await?;
        Ok(text(&body["checkoutSession"]["status"]))
    }

    /// Buys what a link sells, and tries until it is bought, sold out, or the visitor leaves.
    pub async fn buy(&self, link: &str, plan: Plan) -> End {
        let till = loop {
            match self.open(link).await {
                Ok(till) => break till,
                Err(miss) => self.after(&miss).await,
            }
        };
        for round in 0.. {
            let paid = self.pay(&till, plan, round).await;
            match paid {
                Ok(()) if matches!(plan, Plan::LeavesCardForm | Plan::LeavesWallet) => return End::Left,
                Err(Miss::Refused { ref error, .. }) if error.contains("Exceed inventory") => return End::SoldOut,
                _ => {}
            }
            let begun = Instant::now();
            while begun.elapsed() < WATCH {
                match self.look(&till.session).await.as_deref() {
                    Ok("complete") => return End::Complete(till.session),
                    Ok("expired") => return End::Left,
                    // Nothing is on its way: the page offers to pay again.
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

/// A number below `limit`.
pub fn below(random: &dyn Random, limit: u32) -> u32 {
    u32::try_from(any_number(random) % u64::from(limit)).expect("below a u32")
}
