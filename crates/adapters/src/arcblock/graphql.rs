//! Calls a chain's GraphQL endpoint and classifies the errors.

use crate::date_header::DateListener;
use crate::outbound::{BlockedAddress, Outbound, PrivateNetworks, is_blocked};
use serde::Deserialize;
use serde_json::{Value, json};
use souk_domain::operation::ClockWatch;
use souk_domain::payment::RailError;
use std::sync::Arc;
use std::time::Duration;
use url::Url;

/// The timeout of a call. After it, the outcome is unknown.
const TIMEOUT: Duration = Duration::from_secs(10);
/// The largest response that is read, in bytes.
const MAX_ANSWER: usize = 1 << 20;
/// Codes of the chain's own failures, after which the same transaction may still succeed.
const TRANSIENT: [&str; 7] =
    ["INTERNAL", "TIMEOUT", "CONSENSUS_RPC_ERROR", "STORAGE_RPC_ERROR", "RPC_CONNECTION_ERROR", "TOO_MANY_TXS", "INTERNAL_SERVER_ERROR"];
/// How GraphQL servers say that a field is unknown.
const UNKNOWN_FIELD: &str = "Cannot query field";

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum CallError {
    /// There was no response, or the response is not from a chain.
    #[error("{0}")]
    Unanswered(String),
    /// The chain rejected the request.
    #[error("{code}: {message}")]
    Rejected { code: String, message: String },
}

impl CallError {
    /// Returns whether the request itself caused the rejection, so that a retry cannot succeed.
    pub fn is_final(&self) -> bool {
        matches!(self, Self::Rejected { code, .. } if !code.is_empty() && !TRANSIENT.contains(&code.as_str()))
    }

    /// Returns whether the chain does not know a field that the query names. Such a query fails as a whole.
    pub fn is_unknown_field(&self) -> bool {
        matches!(self, Self::Rejected { message, .. } if message.contains(UNKNOWN_FIELD))
    }
}

impl From<CallError> for RailError {
    fn from(error: CallError) -> Self {
        match error {
            CallError::Unanswered(reason) => Self::Unreachable(reason),
            CallError::Rejected { .. } => Self::Rejected(error.to_string()),
        }
    }
}

#[derive(Deserialize)]
struct Answer {
    #[serde(default)]
    data: Value,
    #[serde(default)]
    errors: Vec<GraphError>,
}

#[derive(Deserialize)]
struct GraphError {
    #[serde(default)]
    message: String,
    #[serde(default)]
    code: Option<String>,
    #[serde(default)]
    extensions: Option<Extensions>,
}

#[derive(Deserialize)]
struct Extensions {
    #[serde(default)]
    code: Option<String>,
}

impl GraphError {
    fn into_call_error(self) -> CallError {
        let named = self.code.or(self.extensions.and_then(|extensions| extensions.code));
        let code = named.unwrap_or_else(|| leading_code(&self.message).to_owned());
        CallError::Rejected { code, message: self.message }
    }
}

/// Reads the code from the beginning of the message, where some gateways put it instead of in its own field.
fn leading_code(message: &str) -> &str {
    let end = message.find(|letter: char| !letter.is_ascii_uppercase() && letter != '_').unwrap_or(message.len());
    if message[..end].contains('_') { &message[..end] } else { "" }
}

/// The HTTP client for all chains.
#[derive(Clone)]
pub struct GraphQl {
    outbound: Outbound,
    dates: DateListener,
}

impl GraphQl {
    pub fn new(own_address: Url, private: PrivateNetworks) -> Result<Self, RailError> {
        let outbound = Outbound::new(own_address, private, |builder| builder.timeout(TIMEOUT));
        Ok(Self { outbound: outbound.map_err(|error| RailError::Misconfigured(error.to_string()))?, dates: DateListener::none() })
    }

    pub(super) fn report_dates(&mut self, watch: Arc<ClockWatch>) {
        self.dates = DateListener::new(watch, Some(self.outbound.own_address().clone()));
    }

    /// Completes a host of a method's settings: a path refers to this store.
    pub fn address(&self, host: &str) -> Result<Url, url::ParseError> {
        if host.starts_with('/') { self.outbound.own_address().join(host) } else { Url::parse(host) }
    }

    /// Sends one query and returns its `data`.
    pub async fn call(&self, endpoint: &Url, query: &str, headers: &[(&'static str, String)]) -> Result<Value, CallError> {
        let client = self.outbound.client(endpoint).map_err(|blocked| CallError::Unanswered(blocked.to_string()))?;
        let mut request = client.post(endpoint.clone()).json(&json!({"query": query}));
        for (name, value) in headers {
            request = request.header(*name, value);
        }
        let mut response = request.send().await.map_err(unanswered)?;
        self.dates.hear(&response);
        let status = response.status();
        let mut body = Vec::new();
        while let Some(chunk) = response.chunk().await.map_err(unanswered)? {
            if body.len() + chunk.len() > MAX_ANSWER {
                return Err(CallError::Unanswered(format!("the answer is longer than {MAX_ANSWER} bytes")));
            }
            body.extend_from_slice(&chunk);
        }
        if status.is_server_error() || status.is_redirection() {
            return Err(CallError::Unanswered(format!("HTTP {status}")));
        }
        let answer: Answer =
            serde_json::from_slice(&body).map_err(|_| CallError::Unanswered(format!("HTTP {status} without an answer")))?;
        match answer.errors.into_iter().next() {
            Some(error) => Err(error.into_call_error()),
            None if status.is_success() && answer.data.is_object() => Ok(answer.data),
            None => Err(CallError::Unanswered(format!("HTTP {status} without data"))),
        }
    }
}

/// Describes a failed request without its address, which is in the method's settings already.
fn unanswered(error: reqwest::Error) -> CallError {
    let kind = if is_blocked(&error) {
        return CallError::Unanswered(BlockedAddress.to_string());
    } else if error.is_timeout() {
        "no answer in time"
    } else if error.is_connect() {
        "no connection"
    } else {
        "the connection broke"
    };
    CallError::Unanswered(kind.to_owned())
}

/// Quotes a text as a GraphQL string, which has the syntax of a JSON string.
pub fn quoted(text: &str) -> String {
    Value::from(text).to_string()
}
