//! Test bench: a card processor on a socket, a rail connected to it, and a browser with a card.

use crate::ledger::bench::sandbox_clock;
use poem::listener::{Acceptor, Listener, TcpListener};
use poem::web::Data;
use poem::{EndpointExt, IntoResponse, Response, Route, Server, handler};
use reqwest::Method as Verb;
use serde_json::Value;
use souk_adapters::stripe::StripeRail;
use souk_adapters::testing::{FixedClock, SeededRandom, TestDatabase};
use souk_domain::payment::{
    CardHint, CardHolder, CardIntent, CardRail, CardRefundRequest, CardRequest, CardSetup, ChargeRequest, Currency, Method, MethodKind,
    MethodSettings, Outcome, RailError, SavedCard, Secret, SetupOutcome, SetupRequest,
};
use souk_domain::shared::{Amount, AttemptId, Clock, CurrencyId, CustomerId, MethodId, Mode, Random, RefundId, Timestamp};
use souk_sandbox::Admission;
use souk_sandbox::cards::{CardProcessor, CardProcessorConfig, Secret as SandboxSecret, Webhook, routes};
use souk_sandbox::store::SandboxDb;
use std::collections::VecDeque;
use std::path::Path;
use std::sync::{Arc, Mutex};
use std::time::Duration;
use tokio_util::sync::{CancellationToken, DropGuard};

pub const SECRET_KEY: &str = "sk_sandbox_1";
pub const PUBLISHABLE_KEY: &str = "pk_sandbox_1";
pub const WEBHOOK_SECRET: &str = "whsec_1";

pub const ACCEPTED: &str = "4242424242424242";
pub const DECLINED: &str = "4000000000000002";
pub const INSUFFICIENT: &str = "4000000000009995";
pub const LOST: &str = "4000000000009987";
pub const STOLEN: &str = "4000000000009979";
pub const EXPIRED: &str = "4000000000000069";
pub const INCORRECT_CVC: &str = "4000000000000127";
pub const PROCESSING_ERROR: &str = "4000000000000119";
pub const SECOND_STEP: &str = "4000002500003155";
pub const ALWAYS_SECOND_STEP: &str = "4000002760003184";
pub const DECLINES_LATER: &str = "4000000000000341";
pub const SLOW: &str = "4000000000000077";
pub const SILENT: &str = "4000000000006009";

/// The webhook endpoint. Records the signature and body of each delivery. Responds with the statuses in `failures` first, then with 200.
#[derive(Default)]
pub struct Inbox {
    pub delivered: Mutex<Vec<(String, Vec<u8>)>>,
    pub failures: Mutex<VecDeque<u16>>,
}

pub struct Bench {
    pub rail: StripeRail,
    pub method: Method,
    pub currency: Currency,
    pub clock: Arc<FixedClock>,
    pub inbox: Arc<Inbox>,
    pub address: String,
    http: reqwest::Client,
    _stop: DropGuard,
}

/// An HTTP response as a client sees it.
pub struct HttpResponse {
    pub status: u16,
    pub replayed: bool,
    /// The `request-id` header; empty if there is none.
    pub request_id: String,
    pub body: Value,
}

#[handler]
fn receive(inbox: Data<&Arc<Inbox>>, headers: &poem::http::HeaderMap, body: Vec<u8>) -> Response {
    let signature = headers.get("stripe-signature").and_then(|value| value.to_str().ok()).unwrap_or_default().to_owned();
    inbox.delivered.lock().expect("inbox").push((signature, body));
    let status = inbox.failures.lock().expect("inbox").pop_front().unwrap_or(200);
    poem::http::StatusCode::from_u16(status).expect("a status").into_response()
}

async fn sandbox_db(db: &TestDatabase) -> SandboxDb {
    match db.address().strip_prefix("sqlite://") {
        Some(path) => SandboxDb::open_sqlite(&Path::new(path).with_file_name("sandbox.db")).await,
        None => SandboxDb::open_postgres(db.address()).await,
    }
    .expect("opens")
}

impl Bench {
    pub async fn open(db: &TestDatabase) -> Self {
        Self::with(db, true).await
    }

    pub async fn with(db: &TestDatabase, faults: bool) -> Self {
        let acceptor = TcpListener::bind("127.0.0.1:0").into_acceptor().await.expect("listens");
        let address = format!("http://{}", acceptor.local_addr()[0].as_socket_addr().expect("an address"));
        let clock = Arc::new(FixedClock::default());
        let config = CardProcessorConfig {
            secret_key: SandboxSecret::new(SECRET_KEY),
            publishable_key: PUBLISHABLE_KEY.to_owned(),
            webhook: Some(Webhook { url: format!("{address}/hook"), secret: SandboxSecret::new(WEBHOOK_SECRET) }),
            faults,
        };
        let seeded = SeededRandom::new(1);
        let random = souk_sandbox::time::Random::new(move |bytes| seeded.fill(bytes));
        let processor = CardProcessor::open(sandbox_db(db).await, sandbox_clock(&clock), random, config).await.expect("opens");
        let inbox = Arc::new(Inbox::default());
        let app = Route::new()
            .nest("/sandbox/stripe", routes(processor.clone(), Admission::unlimited()))
            .at("/hook", poem::post(receive.data(inbox.clone())));
        let stop = CancellationToken::new();
        tokio::spawn(stop.clone().run_until_cancelled_owned(Server::new_with_acceptor(acceptor).run(app)));
        let stopped = stop.clone();
        tokio::spawn(async move { processor.run(stopped).await });
        let rail = StripeRail::new(&address.parse().expect("an address")).expect("a client");
        let http = reqwest::Client::builder().no_proxy().build().expect("a client");
        Self { rail, method: method(clock.now()), currency: currency(clock.now()), clock, inbox, address, http, _stop: stop.drop_guard() }
    }

    pub async fn open_intent(&self, attempt: &str, cents: u128) -> CardIntent {
        self.try_open(attempt, cents).await.expect("opens")
    }

    pub async fn try_open(&self, attempt: &str, cents: u128) -> Result<CardIntent, RailError> {
        let attempt = AttemptId::parse(attempt).expect("an id");
        let request = CardRequest {
            attempt,
            amount: Amount::new(cents),
            description: "An app".to_owned(),
            receipt_email: None,
            setup_future_usage: None,
        };
        self.rail.open(&self.method, &self.currency, &request).await
    }

    pub async fn find(&self, intent: &CardIntent) -> Outcome {
        self.rail.find(&self.method, &self.currency, &intent.provider_id).await
    }

    /// Confirms an intent, as the card form does.
    pub async fn confirm(&self, intent: &CardIntent, number: &str) -> HttpResponse {
        let path = format!("/v1/payment_intents/{}/confirm", intent.provider_id);
        let mut form = vec![("client_secret", intent.client_secret.as_str())];
        form.extend(card(number));
        self.browser(Verb::POST, &path, &form).await
    }

    pub async fn open_setup(&self, attempt: &str) -> CardSetup {
        let request = SetupRequest { attempt: AttemptId::parse(attempt).expect("an id"), holder: holder("Ada") };
        self.rail.open_setup(&self.method, &request).await.expect("opens")
    }

    pub async fn find_setup(&self, setup: &CardSetup) -> SetupOutcome {
        self.rail.find_setup(&self.method, &setup.provider_id).await
    }

    /// Confirms a setup, as the card form does to save a card.
    pub async fn confirm_setup(&self, setup: &CardSetup, number: &str) -> HttpResponse {
        let mut form = vec![("client_secret", setup.client_secret.as_str())];
        form.extend(card(number));
        self.browser(Verb::POST, &format!("/v1/setup_intents/{}/confirm", setup.provider_id), &form).await
    }

    pub async fn answer_setup(&self, setup: &CardSetup, success: &str) -> HttpResponse {
        let form = [("client_secret", setup.client_secret.as_str()), ("success", success)];
        self.browser(Verb::POST, &format!("/v1/setup_intents/{}/authenticate", setup.provider_id), &form).await
    }

    /// Saves a card, including the verification step if the card requires one.
    pub async fn saved(&self, attempt: &str, number: &str) -> SavedCard {
        let setup = self.open_setup(attempt).await;
        if self.confirm_setup(&setup, number).await.body["status"] == "requires_action" {
            self.answer_setup(&setup, "true").await;
        }
        match self.find_setup(&setup).await {
            SetupOutcome::Saved(card) => card,
            other => panic!("not saved: {other:?}"),
        }
    }

    pub async fn charge(&self, attempt: &str, cents: u128, card: &SavedCard) -> CardIntent {
        let attempt = AttemptId::parse(attempt).expect("an id");
        let request = ChargeRequest {
            attempt,
            amount: Amount::new(cents),
            description: "in_1".to_owned(),
            card: card.clone(),
            period: None,
            is_late: false,
        };
        self.rail.charge(&self.method, &self.currency, &request).await.expect("the call is made")
    }

    /// Sets the decline code that the bank of a saved card returns from now on. An empty code restores the card's normal behavior.
    pub async fn set_bank_decline(&self, card: &SavedCard, decline_code: &str) {
        let path = format!("/debug/payment_methods/{}", card.card);
        assert_eq!(self.call("", Verb::POST, &path, &[("decline_code", decline_code)], None).await.status, 200);
    }

    /// Refunds with the first attempt of a refund.
    pub async fn refund(&self, refund: &str, provider_id: &str, cents: u128) -> Outcome {
        self.refund_by(&refund.replace("re_", "att_of_"), refund, provider_id, cents).await
    }

    pub async fn refund_by(&self, attempt: &str, refund: &str, provider_id: &str, cents: u128) -> Outcome {
        let (attempt, refund) = (AttemptId::parse(attempt).expect("an id"), RefundId::parse(refund).expect("an id"));
        let request =
            CardRefundRequest { attempt, refund, provider_id: provider_id.to_owned(), amount: Amount::new(cents), is_late: false };
        self.rail.refund(&self.method, &self.currency, &request).await
    }

    /// Makes a payment that succeeds, and returns its id at the provider.
    pub async fn paid(&self, attempt: &str, cents: u128, number: &str) -> String {
        let intent = self.open_intent(attempt, cents).await;
        assert_eq!(self.confirm(&intent, number).await.body["status"], "succeeded");
        intent.provider_id
    }

    /// Posts to the sandbox's own test endpoints.
    pub async fn post_test_endpoint(&self, path: &str, form: &[(&str, &str)]) -> Value {
        let answer = self.call("", Verb::POST, &format!("/debug/{path}"), form, None).await;
        assert_eq!(answer.status, 200, "{}", answer.body);
        answer.body
    }

    /// Returns the funds that the processor holds for the store, in cents.
    pub async fn held(&self) -> i64 {
        let balance = self.server(Verb::GET, "/v1/balance", &[]).await.body;
        balance["available"][0]["amount"].as_i64().expect("an amount")
    }

    /// Returns the hints of the delivered events of a kind.
    pub fn hints(&self, kind: &str) -> Vec<CardHint> {
        let delivered = self.inbox.delivered.lock().expect("inbox").clone();
        let read = |(signature, body): &(String, Vec<u8>)| {
            self.rail.read_event(&self.method, body, signature, self.clock.now()).expect("a signed event")
        };
        delivered.iter().map(read).filter(|event| event.kind == kind).filter_map(|event| event.hint).collect()
    }

    /// Waits until an event of each kind has been delivered.
    pub async fn events(&self, kinds: &[&str]) {
        until(&format!("{kinds:?}"), async || kinds.iter().all(|kind| self.kinds().iter().any(|arrived| arrived == kind))).await;
    }

    pub async fn answer_second_step(&self, intent: &CardIntent, success: &str) -> HttpResponse {
        let path = format!("/v1/payment_intents/{}/authenticate", intent.provider_id);
        self.browser(Verb::POST, &path, &[("client_secret", &intent.client_secret), ("success", success)]).await
    }

    pub async fn browser(&self, verb: Verb, path: &str, form: &[(&str, &str)]) -> HttpResponse {
        self.call(PUBLISHABLE_KEY, verb, path, form, None).await
    }

    pub async fn server(&self, verb: Verb, path: &str, form: &[(&str, &str)]) -> HttpResponse {
        self.call(SECRET_KEY, verb, path, form, None).await
    }

    pub async fn call(&self, key: &str, verb: Verb, path: &str, form: &[(&str, &str)], idempotency_key: Option<&str>) -> HttpResponse {
        let mut request = self.http.request(verb.clone(), format!("{}/sandbox/stripe{path}", self.address));
        if !key.is_empty() {
            request = request.bearer_auth(key);
        }
        if let Some(key) = idempotency_key {
            request = request.header("idempotency-key", key);
        }
        request = if verb == Verb::GET { request.query(form) } else { request.form(form) };
        let response = request.send().await.expect("an answer");
        let (status, replayed) = (response.status().as_u16(), response.headers().contains_key("idempotent-replayed"));
        let request_id = response.headers().get("request-id").and_then(|id| id.to_str().ok()).unwrap_or_default().to_owned();
        let text = response.text().await.expect("a body");
        let body = if text.is_empty() { Value::Null } else { serde_json::from_str(&text).expect("JSON") };
        HttpResponse { status, replayed, request_id, body }
    }

    pub async fn page(&self, path: &str) -> (u16, String) {
        let response = self.http.get(format!("{}/sandbox/stripe{path}", self.address)).send().await.expect("an answer");
        (response.status().as_u16(), response.text().await.expect("a body"))
    }

    /// Orders a fault for the next server-side calls, such as a response that is lost after the call took effect.
    pub async fn fault(&self, order: Value) {
        let request = self.http.post(format!("{}/sandbox/stripe/faults", self.address)).json(&order);
        assert_eq!(request.send().await.expect("an answer").status(), 204);
    }

    /// Returns the charged attempts, one entry per charge, sorted.
    pub async fn charged(&self) -> Vec<String> {
        let charges = self.call("", Verb::GET, "/debug/charges", &[], None).await.body;
        let charges = charges.as_array().expect("a list");
        let attempt = |charge: &Value| charge["attempt"].as_str().expect("an attempt").to_owned();
        let mut attempts: Vec<String> = charges.iter().map(attempt).collect();
        attempts.sort();
        attempts
    }

    /// Returns the kinds of the delivered events in order of arrival.
    pub fn kinds(&self) -> Vec<String> {
        let delivered = self.inbox.delivered.lock().expect("inbox");
        let kind = |body: &[u8]| serde_json::from_slice::<Value>(body).expect("JSON")["type"].as_str().expect("a type").to_owned();
        delivered.iter().map(|(_, body)| kind(body)).collect()
    }
}

/// Polls until `condition` is true.
///
/// # Panics
/// If it is not true within ten seconds.
pub async fn until(what: &str, mut condition: impl AsyncFnMut() -> bool) {
    let held = async {
        while !condition().await {
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    };
    tokio::time::timeout(Duration::from_secs(10), held).await.unwrap_or_else(|_| panic!("waited in vain: {what}"));
}

pub fn card(number: &str) -> [(&'static str, &str); 5] {
    [
        ("payment_method_data[type]", "card"),
        ("payment_method_data[card][number]", number),
        ("payment_method_data[card][exp_month]", "12"),
        ("payment_method_data[card][exp_year]", "2030"),
        ("payment_method_data[card][cvc]", "123"),
    ]
}

pub fn holder(name: &str) -> CardHolder {
    let customer = CustomerId::parse("cus_1").expect("an id");
    CardHolder::new(customer, name.to_owned(), "ada@example.org".to_owned())
}

fn method(now: Timestamp) -> Method {
    Method {
        id: MethodId::parse("pm_1").expect("an id"),
        mode: Mode::Test,
        kind: MethodKind::Stripe,
        active: true,
        name: "Card".to_owned(),
        description: String::new(),
        logo: String::new(),
        settings: MethodSettings::Stripe {
            api_host: "/sandbox/stripe".to_owned(),
            dashboard: "/sandbox/stripe/dashboard".to_owned(),
            publishable_key: PUBLISHABLE_KEY.to_owned(),
            secret_key: Secret::new(SECRET_KEY),
            webhook_signing_secret: Secret::new(WEBHOOK_SECRET),
        },
        default_currency_id: None,
        created_at: now,
        updated_at: now,
    }
}

fn currency(now: Timestamp) -> Currency {
    Currency {
        id: CurrencyId::parse("pc_1").expect("an id"),
        method_id: MethodId::parse("pm_1").expect("an id"),
        mode: Mode::Test,
        active: true,
        name: "US Dollar".to_owned(),
        symbol: "USD".to_owned(),
        logo: String::new(),
        decimals: 2,
        maximum_precision: 2,
        contract: "usd".to_owned(),
        is_base: false,
        created_at: now,
        updated_at: now,
    }
}
