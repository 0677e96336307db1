//! Asks the user for something on a page of the store, which sends it sealed to this computer (reference/store.md 5.2).

use crate::report::printable;
use crate::store::{Http, StoreError};
use base64::Engine;
use base64::engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD};
use crypto_box::SecretKey;
use serde::Deserialize;
use serde_json::Value;
use souk_domain::publishing::tools::comparison_code;
use souk_domain::shared::Random;
use std::time::Duration;
use tokio::time::{Instant, sleep};
use url::Url;
use url::form_urlencoded::Serializer;

pub const POLL_EVERY: Duration = Duration::from_millis(1_500);
/// As long as a store keeps the session.
const WITHIN: Duration = Duration::from_secs(75 * 60);
/// How often in a row the store may not answer.
const MISSES_MAX: u32 = 5;

#[derive(Debug, thiserror::Error)]
pub enum ToolSessionError {
    #[error("{reason}: run `{command}` again")]
    Ended { reason: String, command: &'static str },
    #[error("nobody has approved the request within {} minutes: run `{command}` again", WITHIN.as_secs() / 60)]
    TimedOut { command: &'static str },
    #[error("the answer of the store cannot be opened: run `{command}` again")]
    Sealed { command: &'static str },
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// What is asked for.
#[derive(Debug, Clone, Copy)]
pub struct ToolRequest<'r> {
    /// The name of the action, which is that of the page as well.
    pub action: &'static str,
    /// The command that asks, for messages.
    pub command: &'static str,
    /// What the page shows as the program that asks.
    pub source: &'r str,
}

impl ToolRequest<'_> {
    pub fn sealed(&self) -> ToolSessionError {
        ToolSessionError::Sealed { command: self.command }
    }
}

/// A session as the store begins it.
#[derive(Debug, Deserialize)]
struct Begun {
    token: String,
    url: String,
}

#[derive(Debug, Deserialize)]
struct Status {
    #[serde(default)]
    status: String,
    #[serde(default)]
    error: Value,
    #[serde(default)]
    config: Option<String>,
}

impl Status {
    /// Why the session has ended.
    fn failure(&self) -> Option<String> {
        // As published tools, which stop at any value that JavaScript takes for true.
        let is_error = self.status == "error" || !(matches!(&self.error, Value::Null | Value::Bool(false)) || self.error == "");
        let text = self.error.as_str().filter(|text| !text.is_empty()).unwrap_or("the store has ended the connection");
        is_error.then(|| printable(text))
    }
}

/// Begins a session, shows its page with the code to compare, and waits for the answer, which is opened.
///
/// # Errors
/// The user denies the request or does not answer, or the store fails.
pub async fn ask(
    http: &Http,
    random: &dyn Random,
    request: &ToolRequest<'_>,
    every: Duration,
    show: &dyn Fn(&Url, &str),
) -> Result<Vec<u8>, ToolSessionError> {
    let key = SecretKey::from_bytes(random.bytes());
    let sealed_to = URL_SAFE_NO_PAD.encode(key.public_key().as_bytes());
    let query = Serializer::new(String::new()).append_pair("_ek_", &sealed_to).append_pair("source", request.source).finish();
    let calls = format!("api/did/{}", request.action);
    let begun: Begun = http.get(&format!("{calls}/token?{query}")).await?;
    show(&page(http, request, &begun.url)?, &comparison_code(key.public_key().as_bytes()));
    let token = Serializer::new(String::new()).append_pair("_t_", &begun.token).finish();
    let config = match poll(http, request, &format!("{calls}/status?{token}"), every).await {
        Err(error @ ToolSessionError::TimedOut { .. }) => {
            // The store would find out by itself.
            drop(http.get::<Value>(&format!("{calls}/timeout?{token}")).await);
            return Err(error);
        }
        polled => polled?,
    };
    let sealed = STANDARD.decode(&config).map_err(|_| request.sealed())?;
    key.unseal(&sealed).map_err(|_| request.sealed())
}

/// The page on which the user approves the request.
fn page(http: &Http, request: &ToolRequest<'_>, url: &str) -> Result<Url, StoreError> {
    let mut page = http.address.join(request.action).map_err(|error| http.not_a_store(error.to_string()))?;
    page.query_pairs_mut().append_pair("__connect_url__", &URL_SAFE_NO_PAD.encode(url)).append_pair("source", request.source);
    Ok(page)
}

/// Waits for the answer. It is read at the second report of success, as published tools do.
async fn poll(http: &Http, request: &ToolRequest<'_>, path: &str, every: Duration) -> Result<String, ToolSessionError> {
    let (deadline, mut misses) = (Instant::now() + WITHIN, 0);
    loop {
        match status(http, request, path).await {
            Ok(Status { status: state, .. }) if state == "succeed" => break,
            Ok(_) => misses = 0,
            Err(ToolSessionError::Store(error)) if error.may_pass() && misses < MISSES_MAX => misses += 1,
            Err(error) => return Err(error),
        }
        if Instant::now() >= deadline {
            return Err(ToolSessionError::TimedOut { command: request.command });
        }
        sleep(every).await;
    }
    status(http, request, path).await?.config.ok_or_else(|| request.sealed())
}

async fn status(http: &Http, request: &ToolRequest<'_>, path: &str) -> Result<Status, ToolSessionError> {
    let status: Status = http.get(path).await?;
    match status.failure() {
        Some(reason) => Err(ToolSessionError::Ended { reason, command: request.command }),
        None => Ok(status),
    }
}
