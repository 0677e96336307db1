//! A client of the store whose URL can change with every restart, and whose requests can be lost.

use reqwest::{Method, StatusCode};
use serde_json::Value;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};
use tokio::sync::watch;
use url::Url;

/// Timeout of a request.
const TIMEOUT: Duration = Duration::from_secs(30);

/// Why a request failed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum CallError {
    /// No response arrived. Whether the request had an effect is unknown.
    Lost(String),
    /// The store rejected the request.
    Rejected { status: u16, code: String, error: String },
}

pub type CallResult<T> = Result<T, CallError>;

/// A successful response.
pub struct Answer {
    pub body: Value,
    /// `name=value` of each cookie in the response.
    pub cookies: Vec<String>,
}

/// How long the store took to answer a call of its API.
#[derive(Debug, Clone, Copy)]
pub struct CallTime {
    pub begun: Instant,
    pub took: Duration,
}

/// Options of a request.
#[derive(Default)]
pub struct CallOptions<'a> {
    pub cookies: Option<&'a str>,
    pub json: Option<Value>,
    pub form: Option<&'a [(&'a str, &'a str)]>,
    /// A body of another type, which is named first.
    pub body: Option<(&'a str, Vec<u8>)>,
    pub bearer: Option<&'a str>,
    pub key: Option<&'a str>,
}

/// A client that all visitors share; it follows the store to its new URL after a restart.
pub struct StoreClient {
    pub http: reqwest::Client,
    addresses: watch::Sender<Vec<Url>>,
    turn: AtomicUsize,
    /// Responses with status 500, which must not occur.
    pub failures: Mutex<Vec<String>>,
    /// The answered calls of its API.
    pub times: Mutex<Vec<CallTime>>,
}

impl StoreClient {
    pub fn new() -> Self {
        let http = reqwest::Client::builder().timeout(TIMEOUT).redirect(reqwest::redirect::Policy::none()).no_proxy().build();
        let (addresses, _) = watch::channel(Vec::new());
        Self { http: http.expect("a client"), addresses, turn: AtomicUsize::new(0), failures: Mutex::default(), times: Mutex::default() }
    }

    /// Sets the URLs of the store's processes, which are used in turn; empty while the store is down.
    pub fn move_to(&self, addresses: Vec<Url>) {
        self.addresses.send_replace(addresses);
    }

    /// Waits until a process of the store is open, and returns its URL.
    pub async fn address(&self) -> Url {
        let mut changes = self.addresses.subscribe();
        let open = changes.wait_for(|addresses| !addresses.is_empty()).await.expect("the sender lives as long as we do");
        open[self.turn.fetch_add(1, Ordering::Relaxed) % open.len()].clone()
    }

    /// Sends a request once.
    pub async fn call(&self, method: Method, path: &str, options: CallOptions<'_>) -> CallResult<Answer> {
        let url = self.address().await.join(path).expect("a path");
        let mut request = self.http.request(method, url);
        if let Some(cookies) = options.cookies {
            request = request.header("cookie", cookies);
        }
        if let Some(bearer) = options.bearer {
            request = request.bearer_auth(bearer);
        }
        if let Some(key) = options.key {
            request = request.header("idempotency-key", key);
        }
        if let Some(json) = &options.json {
            request = request.json(json);
        }
        if let Some(form) = options.form {
            request = request.form(form);
        }
        if let Some((kind, body)) = options.body {
            request = request.header("content-type", kind).body(body);
        }
        let lost = |error: reqwest::Error| CallError::Lost(format!("{error:?}"));
        let begun = Instant::now();
        let response = request.send().await.map_err(lost)?;
        let status = response.status();
        let pair = |value: &reqwest::header::HeaderValue| value.to_str().ok()?.split(';').next().map(ToOwned::to_owned);
        let cookies = response.headers().get_all("set-cookie").iter().filter_map(pair).collect();
        let text = response.text().await.map_err(lost)?;
        if path.starts_with("api/") {
            self.times.lock().expect("no panic").push(CallTime { begun, took: begun.elapsed() });
        }
        let body: Value = serde_json::from_str(&text).unwrap_or(Value::Null);
        if status.is_success() {
            return Ok(Answer { body, cookies });
        }
        if status == StatusCode::INTERNAL_SERVER_ERROR {
            self.failures.lock().expect("no panic").push(format!("{path}: {text}"));
        }
        let word = |name: &str| body[name].as_str().unwrap_or_default().to_owned();
        let error = body["error"]["message"].as_str().map_or_else(|| word("error"), ToOwned::to_owned);
        Err(CallError::Rejected { status: status.as_u16(), code: word("code"), error })
    }

    /// Downloads a file.
    pub async fn fetch(&self, path: &str, cookies: Option<&str>) -> CallResult<Vec<u8>> {
        let mut request = self.http.get(self.address().await.join(path).expect("a path"));
        if let Some(cookies) = cookies {
            request = request.header("cookie", cookies);
        }
        let lost = |error: reqwest::Error| CallError::Lost(format!("{error:?}"));
        let response = request.send().await.map_err(lost)?;
        let status = response.status();
        let bytes = response.bytes().await.map_err(lost)?;
        if status == StatusCode::OK {
            return Ok(bytes.to_vec());
        }
        Err(CallError::Rejected { status: status.as_u16(), code: String::new(), error: String::from_utf8_lossy(&bytes).into_owned() })
    }

    pub async fn get(&self, path: &str, cookies: Option<&str>) -> CallResult<Value> {
        self.call(Method::GET, path, CallOptions { cookies, ..CallOptions::default() }).await.map(|answer| answer.body)
    }

    pub async fn post(&self, path: &str, cookies: Option<&str>, json: Value) -> CallResult<Value> {
        self.call(Method::POST, path, CallOptions { cookies, json: Some(json), ..CallOptions::default() }).await.map(|answer| answer.body)
    }
}
