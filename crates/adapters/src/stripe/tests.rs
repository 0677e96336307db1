//! Tests the rail against a test double that returns scripted responses and records the exact requests.

use super::StripeRail;
use crate::outbound::PrivateNetworks;
use poem::http::{Method as Verb, StatusCode};
use poem::listener::{Acceptor, Listener, TcpListener};
use poem::{Endpoint, Request, Response, Server};
use serde_json::{Value, json};
use souk_domain::payment::{
    CardRail, CardRequest, Currency, Decline, Method, MethodKind, MethodSettings, Outcome, RailError, Secret, Settlement,
};
use souk_domain::shared::{Amount, AttemptId, CurrencyId, MethodId, Mode, Timestamp};
use std::collections::VecDeque;
use std::sync::{Arc, Mutex};
use url::Url;

/// A recorded request.
#[derive(Debug, Clone, PartialEq, Eq)]
struct RecordedRequest {
    line: String,
    authorization: String,
    version: String,
    idempotency_key: Option<String>,
    form: Vec<(String, String)>,
}

#[derive(Default)]
struct Script {
    answers: VecDeque<(u16, String)>,
    requests: Vec<RecordedRequest>,
}

#[derive(Clone)]
struct Double(Arc<Mutex<Script>>);

impl Endpoint for Double {
    type Output = Response;

    async fn call(&self, mut request: Request) -> poem::Result<Response> {
        let header = |name: &str| request.header(name).map(str::to_owned);
        let mut requests = RecordedRequest {
            line: format!("{} {}", request.method(), request.uri()),
            authorization: header("authorization").expect("every call is authenticated"),
            version: header("stripe-version").expect("every call names its version"),
            idempotency_key: header("idempotency-key"),
            form: Vec::new(),
        };
        if request.method() == Verb::POST {
            assert_eq!(request.content_type(), Some("application/x-www-form-urlencoded"));
        }
        let body = request.take_body().into_vec().await.expect("a body");
        requests.form = url::form_urlencoded::parse(&body).into_owned().collect();
        let mut script = self.0.lock().expect("script");
        script.requests.push(requests);
        let (status, body) = script.answers.pop_front().expect("an unexpected call");
        let mut response = Response::builder().status(StatusCode::from_u16(status).expect("a status"));
        if status == 302 {
            response = response.header("location", "/v1/elsewhere");
        }
        Ok(response.body(body))
    }
}

struct Bench {
    double: Double,
    rail: StripeRail,
    method: Method,
    currency: Currency,
}

impl Bench {
    async fn open(mode: Mode) -> Self {
        let acceptor = TcpListener::bind("127.0.0.1:0").into_acceptor().await.expect("listens");
        let address = *acceptor.local_addr()[0].as_socket_addr().expect("an address");
        let double = Double(Arc::default());
        tokio::spawn(Server::new_with_acceptor(acceptor).run(double.clone()));
        let nowhere = Url::parse("http://127.0.0.1:1").expect("an address");
        let rail = StripeRail::reaching(&nowhere, PrivateNetworks::Allowed).expect("a client");
        Self { double, rail, method: method(mode, &format!("http://{address}/")), currency: currency("usd", 2) }
    }

    fn will_answer(&self, status: u16, body: impl ToString) {
        self.double.0.lock().expect("script").answers.push_back((status, body.to_string()));
    }

    fn requests(&self) -> Vec<RecordedRequest> {
        self.double.0.lock().expect("script").requests.clone()
    }

    async fn find(&self) -> Outcome {
        self.rail.find(&self.method, &self.currency, "pi_1").await
    }
}

fn method(mode: Mode, api_host: &str) -> Method {
    let kind = if mode.is_live() { "live" } else { "test" };
    Method {
        id: MethodId::parse("pm_1").expect("an id"),
        mode,
        kind: MethodKind::Stripe,
        active: true,
        name: "Card".to_owned(),
        description: String::new(),
        logo: String::new(),
        settings: MethodSettings::Stripe {
            api_host: api_host.to_owned(),
            dashboard: String::new(),
            publishable_key: format!("pk_{kind}_1"),
            secret_key: Secret::new("sk_1"),
            webhook_signing_secret: Secret::new("whsec_1"),
        },
        default_currency_id: None,
        created_at: Timestamp::from_seconds(0),
        updated_at: Timestamp::from_seconds(0),
    }
}

fn currency(code: &str, decimals: u32) -> Currency {
    Currency {
        id: CurrencyId::parse("pc_1").expect("an id"),
        method_id: MethodId::parse("pm_1").expect("an id"),
        mode: Mode::Test,
        active: true,
        name: code.to_owned(),
        symbol: code.to_owned(),
        logo: String::new(),
        decimals,
        maximum_precision: decimals,
        contract: code.to_owned(),
        is_base: false,
        created_at: Timestamp::from_seconds(0),
        updated_at: Timestamp::from_seconds(0),
    }
}

fn request() -> CardRequest {
    CardRequest {
        attempt: AttemptId::parse("att_1").expect("an id"),
        amount: Amount::new(1_050),
        description: "A & B".to_owned(),
        receipt_email: Some("ada@example.org".to_owned()),
        setup_future_usage: None,
    }
}

fn intent(status: &str) -> Value {
    json!({
        "id": "pi_1", "object": "payment_intent", "status": status, "amount": 1050, "amount_received": 0, "currency": "usd",
        "livemode": false, "client_secret": "pi_1_secret_1", "last_payment_error": null, "cancellation_reason": null, "metadata": {},
    })
}

fn with(mut value: Value, name: &str, field: Value) -> Value {
    value[name] = field;
    value
}

fn fields(pairs: &[(&str, &str)]) -> Vec<(String, String)> {
    pairs.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect()
}

#[tokio::test]
async fn creating_an_intent_sends_the_attempt_as_key_and_metadata() {
    let bench = Bench::open(Mode::Test).await;
    bench.will_answer(200, intent("requires_payment_method"));
    let opened = bench.rail.open(&bench.method, &bench.currency, &request()).await.expect("opens");
    assert_eq!((opened.provider_id.as_str(), opened.client_secret.as_str()), ("pi_1", "pi_1_secret_1"));
    assert_eq!(opened.outcome, Outcome::Pending { requires_payer: true, last_error: None });
    let expected = RecordedRequest {
        line: "POST /v1/payment_intents".to_owned(),
        authorization: "Bearer sk_1".to_owned(),
        version: "2024-06-20".to_owned(),
        idempotency_key: Some("att_1".to_owned()),
        form: fields(&[
            ("amount", "1050"),
            ("currency", "usd"),
            ("payment_method_types[]", "card"),
            ("metadata[attempt]", "att_1"),
            ("description", "A & B"),
        ]),
    };
    assert_eq!(bench.requests(), [expected]);
}

#[tokio::test]
async fn receipts_are_mailed_in_live_mode_only() {
    let bench = Bench::open(Mode::Live).await;
    bench.will_answer(200, with(intent("requires_payment_method"), "livemode", true.into()));
    bench.rail.open(&bench.method, &bench.currency, &request()).await.expect("opens");
    assert!(bench.requests()[0].form.contains(&("receipt_email".to_owned(), "ada@example.org".to_owned())));
}

#[tokio::test]
async fn a_currency_without_cents_is_sent_in_whole_units() {
    let mut bench = Bench::open(Mode::Test).await;
    bench.currency = currency("jpy", 0);
    bench.will_answer(200, with(intent("requires_payment_method"), "currency", "jpy".into()));
    bench.rail.open(&bench.method, &bench.currency, &CardRequest { amount: Amount::new(500), ..request() }).await.expect("opens");
    assert!(bench.requests()[0].form.starts_with(&fields(&[("amount", "500"), ("currency", "jpy")])));
}

#[tokio::test]
async fn every_status_has_its_outcome() {
    let bench = Bench::open(Mode::Test).await;
    let declined = json!({ "code": "card_declined", "decline_code": "insufficient_funds", "message": "Your card has insufficient funds." });
    let decline = Decline { code: "insufficient_funds".to_owned(), message: "Your card has insufficient funds.".to_owned() };
    let pending = |requires_payer| Outcome::Pending { requires_payer, last_error: None };
    let settlement = Settlement { reference: "pi_1".to_owned(), payer: String::new(), amount: Amount::new(1_049), card: None };
    let abandoned = Decline { code: "abandoned".to_owned(), message: "The payment was canceled.".to_owned() };
    for (answer, expected) in [
        (with(intent("succeeded"), "amount_received", 1_049.into()), Outcome::Settled(settlement)),
        (intent("processing"), pending(false)),
        (intent("requires_action"), pending(true)),
        (intent("requires_confirmation"), pending(true)),
        (
            with(intent("requires_payment_method"), "last_payment_error", declined),
            Outcome::Pending { requires_payer: true, last_error: Some(decline) },
        ),
        (with(intent("canceled"), "cancellation_reason", "abandoned".into()), Outcome::Declined(abandoned)),
    ] {
        bench.will_answer(200, &answer);
        assert_eq!(bench.find().await, expected, "{answer}");
    }
    assert_eq!(bench.requests()[0].line, "GET /v1/payment_intents/pi_1?expand%5B%5D=payment_method");
}

/// Invariant 4: an outcome that was not observed or not understood is unknown. It is never a failure and never "not found".
#[tokio::test]
async fn a_response_that_is_not_understood_is_unknown() {
    let bench = Bench::open(Mode::Test).await;
    let error = |code: &str| json!({ "error": { "type": "invalid_request_error", "code": code, "message": "No." } });
    for (status, answer) in [
        (200, "<html>".to_owned()),
        (200, json!({}).to_string()),
        (200, intent("requires_capture").to_string()),
        (200, intent("of_tomorrow").to_string()),
        (200, with(intent("succeeded"), "id", "pi_2".into()).to_string()),
        (200, with(intent("succeeded"), "currency", "eur".into()).to_string()),
        (200, with(intent("succeeded"), "livemode", true.into()).to_string()),
        (200, with(intent("succeeded"), "amount_received", Value::Null).to_string()),
        (200, with(intent("succeeded"), "amount_received", (-1).into()).to_string()),
        (200, " ".repeat((1 << 20) + 1)),
        (302, String::new()),
        (401, error("api_key_expired").to_string()),
        (404, "<h1>nginx</h1>".to_owned()),
        (404, error("other").to_string()),
        (409, error("idempotency_key_in_use").to_string()),
        (429, error("rate_limit").to_string()),
        (500, error("resource_missing").to_string()),
        (502, String::new()),
    ] {
        bench.will_answer(status, &answer);
        let outcome = bench.find().await;
        assert!(matches!(outcome, Outcome::Unknown(_)), "{status} {answer:.80}: {outcome:?}");
    }
}

#[tokio::test]
async fn only_the_providers_own_error_makes_an_intent_not_found() {
    let bench = Bench::open(Mode::Test).await;
    bench.will_answer(
        404,
        json!({ "error": { "type": "invalid_request_error", "code": "resource_missing", "message": "No such payment_intent" } }),
    );
    assert_eq!(bench.find().await, Outcome::NotFound);
    assert_eq!(bench.rail.find(&bench.method, &bench.currency, "pi_1/../balance").await, Outcome::NotFound, "and nothing is asked");
    assert_eq!(bench.requests().len(), 1);
}

#[tokio::test]
async fn a_network_that_cannot_be_reached_is_unknown() {
    let bench = Bench::open(Mode::Test).await;
    // Nothing listens on port 1, which is the rail's own address in this test.
    let away = method(Mode::Test, "/sandbox/stripe");
    assert!(matches!(bench.rail.find(&away, &bench.currency, "pi_1").await, Outcome::Unknown(_)));
    assert!(matches!(bench.rail.cancel(&away, &bench.currency, "pi_1").await, Outcome::Unknown(_)));
    assert!(matches!(bench.rail.open(&away, &bench.currency, &request()).await, Err(RailError::Unreachable(_))));
    assert!(matches!(bench.rail.validate_settings(&away, &[]).await, Err(RailError::Unreachable(_))));
}

#[tokio::test]
async fn the_secret_key_is_not_sent_over_plain_http() {
    let bench = Bench::open(Mode::Test).await;
    for host in ["http://stripe.example", "ftp://stripe.example", "stripe.example", "http://localhost.example"] {
        let rejected = bench.rail.open(&method(Mode::Test, host), &bench.currency, &request()).await;
        assert!(matches!(rejected, Err(RailError::Misconfigured(_))), "{host}: {rejected:?}");
    }
}

#[tokio::test]
async fn canceling_returns_the_current_state_of_the_intent() {
    let bench = Bench::open(Mode::Test).await;
    bench.will_answer(200, intent("canceled"));
    assert!(matches!(bench.rail.cancel(&bench.method, &bench.currency, "pi_1").await, Outcome::Declined(_)));
    assert_eq!(bench.requests()[0].line, "POST /v1/payment_intents/pi_1/cancel");
    assert_eq!(bench.requests()[0].form, fields(&[("cancellation_reason", "abandoned")]));

    let settled = with(intent("succeeded"), "amount_received", 1_050.into());
    let too_late =
        json!({ "error": { "type": "invalid_request_error", "code": "payment_intent_unexpected_state", "payment_intent": settled } });
    bench.will_answer(400, too_late);
    assert!(matches!(bench.rail.cancel(&bench.method, &bench.currency, "pi_1").await, Outcome::Settled(_)), "from the decline");

    bench.will_answer(500, "");
    bench.will_answer(200, settled);
    assert!(matches!(bench.rail.cancel(&bench.method, &bench.currency, "pi_1").await, Outcome::Settled(_)), "asked again");
}

#[tokio::test]
async fn a_rejected_creation_gives_the_reason() {
    let bench = Bench::open(Mode::Test).await;
    bench.will_answer(400, json!({ "error": { "type": "invalid_request_error", "code": "amount_too_small", "message": "Too small." } }));
    let rejected = bench.rail.open(&bench.method, &bench.currency, &request()).await;
    assert_eq!(rejected, Err(RailError::Rejected("Too small. (amount_too_small)".to_owned())));
    bench.will_answer(401, json!({ "error": { "type": "invalid_request_error", "message": "Invalid API Key provided." } }));
    let rejected = bench.rail.open(&bench.method, &bench.currency, &request()).await;
    assert_eq!(rejected, Err(RailError::Misconfigured("the card processor rejected secret_key".to_owned())));
}

#[tokio::test]
async fn settings_are_verified_at_the_provider() {
    let bench = Bench::open(Mode::Test).await;
    bench.will_answer(200, json!({ "object": "balance", "livemode": false }));
    assert_eq!(bench.rail.validate_settings(&bench.method, &[currency("usd", 2), currency("jpy", 0)]).await, Ok(()));
    assert_eq!(bench.requests()[0].line, "GET /v1/balance");

    bench.will_answer(200, json!({ "object": "balance", "livemode": true }));
    bench.will_answer(401, json!({ "error": { "type": "invalid_request_error", "message": "Invalid API Key provided." } }));
    bench.will_answer(200, json!({ "hello": "world" }));
    for _ in 0..3 {
        let rejected = bench.rail.validate_settings(&bench.method, &[]).await;
        assert!(matches!(rejected, Err(RailError::Misconfigured(_))), "{rejected:?}");
    }
    assert_eq!(bench.requests().len(), 4);
}

#[tokio::test]
async fn invalid_settings_are_rejected_without_a_call() {
    let bench = Bench::open(Mode::Test).await;
    for currencies in [[currency("jpy", 2)], [currency("usd", 6)], [currency("USD", 2)]] {
        let rejected = bench.rail.validate_settings(&bench.method, &currencies).await;
        assert!(matches!(rejected, Err(RailError::Misconfigured(_))), "{rejected:?}");
    }
    let live = Method { mode: Mode::Live, ..bench.method.clone() };
    assert!(matches!(bench.rail.validate_settings(&live, &[]).await, Err(RailError::Misconfigured(_))), "a test key in live mode");
    let chain = MethodSettings::Bitcoin { explorer_host: String::new() };
    assert!(matches!(
        bench.rail.validate_settings(&Method { settings: chain, ..bench.method.clone() }, &[]).await,
        Err(RailError::Misconfigured(_))
    ));
    assert_eq!(bench.requests(), []);
}

#[tokio::test]
async fn a_blocked_address_is_unknown_and_nothing_is_sent_to_it() {
    let bench = Bench::open(Mode::Test).await;
    let guarded = StripeRail::new(&Url::parse("http://127.0.0.1:1").expect("an address")).expect("a client");
    let blocked = guarded.open(&bench.method, &bench.currency, &request()).await;
    assert_eq!(blocked, Err(RailError::Unreachable(crate::outbound::BlockedAddress.to_string())));
    let outcome = guarded.cancel(&bench.method, &bench.currency, "pi_1").await;
    assert!(matches!(outcome, Outcome::Unknown(_)), "{outcome:?}");
    assert_eq!(bench.requests().len(), 0);
}

#[tokio::test]
async fn settings_are_rejected_without_the_answer_of_the_host() {
    let bench = Bench::open(Mode::Test).await;
    bench.will_answer(401, json!({ "error": { "type": "x", "message": "secret of the local network" } }));
    let rejected = bench.rail.validate_settings(&bench.method, &[]).await;
    assert_eq!(rejected, Err(RailError::Misconfigured("the card processor rejected secret_key".to_owned())));
}
