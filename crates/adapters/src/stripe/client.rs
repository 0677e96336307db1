//! Makes one authenticated, form-encoded call, and determines from the response whether the call had an effect.

use crate::date_header::DateListener;
use crate::outbound::{BlockedAddress, Outbound, PrivateNetworks, is_blocked};
use reqwest::header::{AUTHORIZATION, HeaderName, HeaderValue};
use reqwest::{ClientBuilder, Method, StatusCode};
use serde::Deserialize;
use serde_json::Value;
use souk_domain::operation::ClockWatch;
use souk_domain::payment::Secret;
use std::sync::Arc;
use std::time::Duration;
use url::{Host, Url};

const STRIPE: &str = "https://api.stripe.com";
/// The API version whose objects this rail reads. Sent explicitly, because an account's default version may differ or change.
const API_VERSION: &str = "2024-06-20";
const TIMEOUT: Duration = Duration::from_secs(10);
const CONNECT_TIMEOUT: Duration = Duration::from_secs(5);
/// A payment intent has about 3 kB; no expected response comes close to this limit.
const MAX_RESPONSE_BYTES: usize = 1 << 20;

const IDEMPOTENCY_KEY: HeaderName = HeaderName::from_static("idempotency-key");
const STRIPE_VERSION: HeaderName = HeaderName::from_static("stripe-version");

/// An error object from the provider.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct Problem {
    #[serde(rename = "type")]
    pub kind: String,
    pub code: Option<String>,
    pub decline_code: Option<String>,
    pub message: String,
    /// The current payment intent, if the error refers to one.
    pub payment_intent: Option<Value>,
    /// The current setup intent, if the error refers to one.
    pub setup_intent: Option<Value>,
}

#[derive(Debug)]
pub(super) enum CallError {
    /// There was no response, or none that says whether the call had an effect.
    Unknown(String),
    /// The provider rejected the call.
    Rejected { status: u16, problem: Box<Problem> },
    /// The method's settings do not allow the call.
    Misconfigured(String),
}

#[derive(Debug, Deserialize)]
struct Failure {
    error: Problem,
}

pub(super) struct Call<'a> {
    pub api_host: &'a str,
    pub secret_key: &'a Secret,
    pub method: Method,
    pub path: String,
    pub form: Vec<(&'static str, String)>,
    pub idempotency_key: Option<&'a str>,
}

pub(super) struct Client {
    outbound: Outbound,
    dates: DateListener,
}

impl Client {
    pub fn new(own_address: Url, private: PrivateNetworks) -> Result<Self, reqwest::Error> {
        let timeouts = |builder: ClientBuilder| builder.connect_timeout(CONNECT_TIMEOUT).timeout(TIMEOUT);
        Ok(Self { outbound: Outbound::new(own_address, private, timeouts)?, dates: DateListener::none() })
    }

    pub fn report_dates(&mut self, watch: Arc<ClockWatch>) {
        self.dates = DateListener::new(watch, Some(self.outbound.own_address().clone()));
    }

    pub async fn call(&self, call: Call<'_>) -> Result<Value, CallError> {
        let (client, address) = self.address(call.api_host, &call.path)?;
        let mut request = client.request(call.method, address).header(STRIPE_VERSION, API_VERSION);
        request = request.header(AUTHORIZATION, bearer(call.secret_key)?);
        if let Some(key) = call.idempotency_key {
            request = request.header(IDEMPOTENCY_KEY, key);
        }
        if !call.form.is_empty() {
            request = request.form(&call.form);
        }
        let response = request.send().await.map_err(unknown)?;
        self.dates.hear(&response);
        let status = response.status();
        let body = read(response).await?;
        interpret(status, &body)
    }

    fn address(&self, api_host: &str, path: &str) -> Result<(&reqwest::Client, Url), CallError> {
        let own = api_host.starts_with('/');
        let base = match api_host.trim_end_matches('/') {
            _ if own => format!("{}{}", self.outbound.own_address().as_str().trim_end_matches('/'), api_host.trim_end_matches('/')),
            "" => STRIPE.to_owned(),
            host => host.to_owned(),
        };
        let address =
            Url::parse(&format!("{base}{path}")).map_err(|_| CallError::Misconfigured("api_host is not an address".to_owned()))?;
        let is_confidential = own || address.scheme() == "https" || address.scheme() == "http" && is_loopback(&address);
        if !is_confidential {
            return Err(CallError::Misconfigured("api_host must begin with https://, the secret key travels to it".to_owned()));
        }
        let client = self.outbound.client(&address).map_err(|blocked| CallError::Unknown(blocked.to_string()))?;
        Ok((client, address))
    }
}

fn is_loopback(address: &Url) -> bool {
    match address.host() {
        Some(Host::Domain(name)) => name == "localhost",
        Some(Host::Ipv4(ip)) => ip.is_loopback(),
        Some(Host::Ipv6(ip)) => ip.is_loopback(),
        None => false,
    }
}

fn bearer(key: &Secret) -> Result<HeaderValue, CallError> {
    if key.reveal().is_empty() {
        return Err(CallError::Misconfigured("secret_key is missing".to_owned()));
    }
    let mut value = HeaderValue::from_str(&format!("Bearer {}", key.reveal()))
        .map_err(|_| CallError::Misconfigured("secret_key holds characters that no key has".to_owned()))?;
    value.set_sensitive(true);
    Ok(value)
}

fn unknown(error: reqwest::Error) -> CallError {
    let what = match &error {
        error if is_blocked(error) => BlockedAddress.to_string(),
        error if error.is_timeout() => "it did not answer in time".to_owned(),
        _ => "the connection failed".to_owned(),
    };
    tracing::debug!(error = ?error.without_url(), "card processor call failed");
    CallError::Unknown(what)
}

async fn read(mut response: reqwest::Response) -> Result<Vec<u8>, CallError> {
    let mut body = Vec::new();
    while let Some(chunk) = response.chunk().await.map_err(unknown)? {
        if body.len() + chunk.len() > MAX_RESPONSE_BYTES {
            return Err(CallError::Unknown("its answer is too long".to_owned()));
        }
        body.extend_from_slice(&chunk);
    }
    Ok(body)
}

/// Interprets a response. A rejection counts only if its body is an error object of the provider: a proxy's 404 page says nothing about a
/// payment. After 409 (the first call with this key is still running), 429 and 5xx, it is unknown whether the call had an effect.
fn interpret(status: StatusCode, body: &[u8]) -> Result<Value, CallError> {
    if status.is_success() {
        return serde_json::from_slice(body).map_err(|_| CallError::Unknown("its answer is not JSON".to_owned()));
    }
    let open = matches!(status, StatusCode::CONFLICT | StatusCode::TOO_MANY_REQUESTS) || !status.is_client_error();
    match serde_json::from_slice(body) {
        Ok(Failure { error }) if !open => Err(CallError::Rejected { status: status.as_u16(), problem: Box::new(error) }),
        _ => Err(CallError::Unknown(format!("it answered {}", status.as_u16()))),
    }
}
