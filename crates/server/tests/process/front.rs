//! The store as its visitors reach it: an address that may change with every restart, and calls that may be lost.

use reqwest::{Method, StatusCode};
use serde_json::Value;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;
use tokio::sync::watch;
use url::Url;

/// A visitor's patience with one call.
const DEADLINE: Duration = Duration::from_secs(30);

/// Why a call brought nothing.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Miss {
    /// No answer was seen. Whether the call had an effect is unknown.
    Lost(String),
    /// The store answered, and refused.
    Refused { status: u16, code: String, error: String },
}

pub type Told<T> = Result<T, Miss>;

/// An answer that was seen.
pub struct Answer {
    pub body: Value,
    /// `name=value` of each cookie that was set.
    pub cookies: Vec<String>,
}

/// What a call carries beside its path.
#[derive(Default)]
pub struct Extra<'a> {
    pub cookies: Option<&'a str>,
    pub json: Option<Value>,
    pub form: Option<&'a [(&'a str, &'a str)]>,
    pub bearer: Option<&'a str>,
    pub key: Option<&'a str>,
}

/// Shared by all visitors; follows the store from one address to the next.
pub struct Front {
    http: reqwest::Client,
    addresses: watch::Sender<Vec<Url>>,
    turn: AtomicUsize,
    /// Answers that no store should give.
    pub failures: Mutex<Vec<String>>,
}

impl Front {
    pub fn new() -> Self {
        let http = reqwest::Client::builder().timeout(DEADLINE).redirect(reqwest::redirect::Policy::none()).no_proxy().build();
        let (addresses, _) = watch::channel(Vec::new());
        Self { http: http.expect("a client"), addresses, turn: AtomicUsize::new(0), failures: Mutex::default() }
    }

    /// Where the store is now; empty while it is down. Of several processes, visitors come to each in turn.
    pub fn move_to(&self, addresses: Vec<Url>) {
        self.addresses.send_replace(addresses);
    }

    /// Waits until the store is open somewhere.
    pub async fn address(&self) -> Url {
        let mut changes = self.addresses.subscribe();
        let open = changes.wait_for(|addresses| !addresses.is_empty()).await.expect("the sender lives as long as we do");
        open[self.turn.fetch_add(1, Ordering::Relaxed) % open.len()].clone()
    }

    /// One call, tried once.
    pub async fn call(&self, method: Method, path: &str, extra: Extra<'_>) -> Told<Answer> {
        let url = self.address().await.join(path).expect("a path");
        let mut request = self.http.request(method, url);
        if let Some(cookies) = extra.cookies {
            request = request.header("cookie", cookies);
        }
        if let Some(bearer) = extra.bearer {
            request = request.bearer_auth(bearer);
        }
        if let Some(key) = extra.key {
            request = request.header("idempotency-key", key);
        }
        if let Some(json) = &extra.json {
            request = request.json(json);
        }
        if let Some(form) = extra.form {
            request = request.form(form);
        }
        let lost = |error: reqwest::Error| Miss::Lost(error.to_string());
        let response = request.send().await.map_err(lost)?;
        let status = response.status();
        let pair = |value: &reqwest::header::HeaderValue| value.to_str().ok()?.split(';').next().map(ToOwned::to_owned);
        let cookies = response.headers().get_all("set-cookie").iter().filter_map(pair).collect();
        let text = response.text().await.map_err(lost)?;
        let body: Value = serde_json::from_str(&text).unwrap_or(Value::Null);
        if status.is_success() {
            return Ok(Answer { body, cookies });
        }
        if status == StatusCode::INTERNAL_SERVER_ERROR {
            self.failures.lock().expect("no panic").push(format!("{path}: {text}"));
        }
        let word = |name: &str| body[name].as_str().unwrap_or_default().to_owned();
        let error = body["error"]["message"].as_str().map_or_else(|| word("error"), ToOwned::to_owned);
        Err(Miss::Refused { status: status.as_u16(), code: word("code"), error })
    }

    pub async fn get(&self, path: &str, cookies: Option<&str>) -> Told<Value> {
        self.call(Method::GET, path, Extra { cookies, ..Extra::default() }).await.map(|answer| answer.body)
    }

    pub async fn post(&self, path: &str, cookies: Option<&str>, json: Value) -> Told<Value> {
        self.call(Method::POST, path, Extra { cookies, json: Some(json), ..Extra::default() }).await.map(|answer| answer.body)
    }
}
