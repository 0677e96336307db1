//! A call to the processor and its answer, independent of HTTP.

use crate::store::SandboxDbError;
use crate::time::Timestamp;
use serde_json::{Map, Value, json};
use sha2::{Digest, Sha256};
use std::collections::BTreeMap;

const MAX_METADATA_KEYS: usize = 50;
/// The ids that a call can ask to be replaced by their objects.
const EXPANDABLE: [&str; 2] = ["latest_charge", "payment_method"];

/// The kind of API key of a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Caller {
    /// The store's server.
    Secret,
    /// A browser, which must present the client secret of each object it accesses.
    Publishable,
}

/// The API's methods.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Verb {
    Get,
    Post,
    Delete,
}

#[derive(Debug, Clone)]
pub(super) struct Call {
    pub caller: Caller,
    pub verb: Verb,
    /// The path without a leading slash.
    pub path: String,
    pub form: Form,
    pub idempotency_key: Option<String>,
}

impl Call {
    /// A digest of path and form, to detect different requests with the same idempotency key.
    pub fn fingerprint(&self) -> String {
        let mut hash = Sha256::new();
        for text in [self.path.as_str()].into_iter().chain(self.form.0.iter().flat_map(|(name, value)| [name.as_str(), value.as_str()])) {
            hash.update((text.len() as u64).to_be_bytes());
            hash.update(text);
        }
        hex::encode(hash.finalize())
    }
}

/// Form fields by full name, such as `payment_method_data[card][number]`. Empty values count as absent.
#[derive(Debug, Clone, Default)]
pub(super) struct Form(BTreeMap<String, String>);

impl Form {
    pub fn from_pairs(pairs: impl IntoIterator<Item = (String, String)>) -> Self {
        Self(pairs.into_iter().filter(|(_, value)| !value.is_empty()).collect())
    }

    /// Parses query and body; fields of the body take precedence.
    pub fn parse(query: &str, body: &[u8]) -> Self {
        let both = [query.as_bytes(), body];
        Self::from_pairs(both.into_iter().flat_map(|text| url::form_urlencoded::parse(text).into_owned()))
    }

    pub fn text(&self, name: &str) -> Option<&str> {
        self.0.get(name).map(String::as_str)
    }

    pub fn owned(&self, name: &str) -> Option<String> {
        self.0.get(name).cloned()
    }

    pub fn need(&self, name: &str) -> Result<&str, ApiError> {
        self.text(name).ok_or_else(|| ApiError::invalid("parameter_missing", format!("Missing required param: {name}.")).with_param(name))
    }

    pub fn flag(&self, name: &str) -> Result<bool, ApiError> {
        match self.text(name) {
            None | Some("false") => Ok(false),
            Some("true") => Ok(true),
            Some(other) => Err(ApiError::invalid("parameter_invalid_boolean", format!("Invalid boolean: {other}")).with_param(name)),
        }
    }

    /// A positive number of minor units.
    pub fn amount(&self, name: &str) -> Result<Option<i64>, ApiError> {
        let Some(text) = self.text(name) else { return Ok(None) };
        let amount = text.parse().ok().filter(|amount| *amount > 0 && text.bytes().all(|byte| byte.is_ascii_digit()));
        amount.map(Some).ok_or_else(|| {
            ApiError::invalid("parameter_invalid_integer", "This value must be greater than or equal to 1.".to_owned()).with_param(name)
        })
    }

    /// The names and values of all fields whose names start with `prefix`.
    pub fn fields<'a>(&'a self, prefix: &'a str) -> impl Iterator<Item = (&'a str, &'a str)> {
        self.0.iter().filter(move |(name, _)| name.starts_with(prefix)).map(|(name, value)| (name.as_str(), value.as_str()))
    }

    /// The values of all fields whose names start with `prefix`.
    pub fn values<'a>(&'a self, prefix: &'a str) -> impl Iterator<Item = &'a str> {
        self.fields(prefix).map(|(_, value)| value)
    }

    pub fn metadata(&self) -> Result<BTreeMap<String, String>, ApiError> {
        let entry =
            |(name, value): (&String, &String)| Some((name.strip_prefix("metadata[")?.strip_suffix(']')?.to_owned(), value.clone()));
        let metadata: BTreeMap<_, _> = self.0.iter().filter_map(entry).collect();
        if metadata.len() > MAX_METADATA_KEYS || metadata.iter().any(|(name, value)| name.len() > 40 || value.chars().count() > 500) {
            return Err(ApiError::invalid(
                "parameter_invalid",
                "Metadata has at most 50 keys of 40 and values of 500 characters.".to_owned(),
            )
            .with_param("metadata"));
        }
        Ok(metadata)
    }

    /// Removes and returns the `expand[]` fields, because they affect the format of the answer, not the call. Only the fields of
    /// [`EXPANDABLE`] can be expanded.
    pub fn take_expansions(&mut self) -> Result<Vec<String>, ApiError> {
        let expanded: Vec<String> = self.0.extract_if(.., |name, _| name.starts_with("expand[")).map(|(_, value)| value).collect();
        match expanded.iter().find(|field| !EXPANDABLE.contains(&field.as_str())) {
            None => Ok(expanded),
            Some(field) => {
                Err(ApiError::invalid("parameter_invalid", format!("This property cannot be expanded ({field}).")).with_param("expand"))
            }
        }
    }

    /// Rejects unknown fields, as Stripe does. A name that ends with `[` allows all fields with that prefix.
    pub fn allow(&self, names: &[&str]) -> Result<(), ApiError> {
        let known = |field: &str| names.iter().any(|name| if name.ends_with('[') { field.starts_with(name) } else { field == *name });
        match self.0.keys().find(|field| !known(field)) {
            None => Ok(()),
            Some(field) => Err(ApiError::invalid("parameter_unknown", format!("Received unknown parameter: {field}")).with_param(field)),
        }
    }
}

/// The answer, which is sent once the call's effect is committed.
#[derive(Debug, Clone)]
pub(super) struct Answer {
    pub status: u16,
    pub body: Value,
    /// Whether this is a stored answer for a repeated idempotency key.
    pub replayed: bool,
    pub wait: Option<Wait>,
}

/// How long a test card delays the answer.
#[derive(Debug, Clone)]
pub(super) struct Wait {
    pub until: Timestamp,
    /// The intent to answer with in its state at that time; `None` for the card that never answers.
    pub intent: Option<String>,
    /// The fields that the answer expands.
    pub expansions: Vec<String>,
}

impl Answer {
    pub const fn ok(body: Value) -> Self {
        Self { status: 200, body, replayed: false, wait: None }
    }
}

/// An error in the API's format.
#[derive(Debug, Clone)]
pub(super) struct ApiError {
    pub status: u16,
    pub kind: &'static str,
    pub message: String,
    pub details: Box<Details>,
}

#[derive(Debug, Clone, Default)]
pub(super) struct Details {
    pub code: Option<String>,
    pub decline_code: Option<String>,
    pub param: Option<String>,
    /// The current object, under `payment_intent` or `setup_intent`.
    pub object: Option<(&'static str, Value)>,
}

impl ApiError {
    fn new(status: u16, kind: &'static str, code: Option<&str>, message: impl Into<String>) -> Self {
        let details = Box::new(Details { code: code.map(str::to_owned), ..Details::default() });
        Self { status, kind, message: message.into(), details }
    }

    pub fn invalid(code: &str, message: String) -> Self {
        Self::new(400, "invalid_request_error", Some(code), message)
    }

    pub fn missing(kind: &str, id: &str) -> Self {
        // The id is echoed only inside a JSON string, so that it cannot be interpreted as markup.
        Self::new(404, "invalid_request_error", Some("resource_missing"), format!("No such {kind}: '{id}'"))
    }

    pub fn card(code: &str, decline_code: Option<&str>, message: &str) -> Self {
        let mut error = Self::new(402, "card_error", Some(code), message);
        error.details.decline_code = decline_code.map(str::to_owned);
        error
    }

    pub fn unauthorized(message: &str) -> Self {
        Self::new(401, "invalid_request_error", None, message)
    }

    pub fn forbidden() -> Self {
        Self::new(403, "invalid_request_error", Some("secret_key_required"), "This API call cannot be made with a publishable API key.")
    }

    pub fn unknown_path() -> Self {
        Self::new(404, "invalid_request_error", None, "Unrecognized request URL.")
    }

    pub fn too_large() -> Self {
        Self::new(413, "invalid_request_error", None, "The request is too large.")
    }

    pub fn idempotency(message: &str) -> Self {
        Self::new(400, "idempotency_error", None, message)
    }

    pub fn busy() -> Self {
        Self::new(
            429,
            "invalid_request_error",
            Some("lock_timeout"),
            "This object cannot be accessed right now because another request is accessing it.",
        )
    }

    pub fn internal() -> Self {
        Self::new(500, "api_error", None, "An error occurred on our side.")
    }

    pub fn timed_out() -> Self {
        Self::new(504, "api_error", None, "The card's bank did not answer.")
    }

    pub fn with_param(mut self, param: &str) -> Self {
        self.details.param = Some(param.to_owned());
        self
    }

    pub fn with_object(mut self, name: &'static str, object: Value) -> Self {
        self.details.object = Some((name, object));
        self
    }

    pub fn answer(self) -> Answer {
        let mut error = Map::new();
        error.insert("type".to_owned(), self.kind.into());
        error.insert("message".to_owned(), self.message.into());
        let Details { code, decline_code, param, object } = *self.details;
        for (name, value) in [("code", code), ("decline_code", decline_code), ("param", param)] {
            if let Some(value) = value {
                error.insert(name.to_owned(), value.into());
            }
        }
        if let Some((name, object)) = object {
            error.insert(name.to_owned(), object);
        }
        Answer { status: self.status, body: json!({ "error": error }), replayed: false, wait: None }
    }
}

/// Why a call had no effect. A decline is not an error, because it is a stored result.
#[derive(Debug, thiserror::Error)]
pub(super) enum CallError {
    #[error("{}", .0.message)]
    Api(ApiError),
    /// Another call changed the object first; this call has to be repeated.
    #[error("lost a race")]
    Raced,
    #[error(transparent)]
    Storage(#[from] SandboxDbError),
    #[error("a stored object is not of the shape that was written: {0}")]
    Corrupt(#[from] serde_json::Error),
}

impl From<ApiError> for CallError {
    fn from(error: ApiError) -> Self {
        Self::Api(error)
    }
}
