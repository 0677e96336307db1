//! The card rail. It reports the provider's state and makes no business decisions.

use super::client::{Call, CallError, Client, Problem};
use super::{currency, event, intent};
use crate::outbound::PrivateNetworks;
use async_trait::async_trait;
use reqwest::Method as Verb;
use serde_json::Value;
use souk_domain::customer::ProviderCustomer;
use souk_domain::operation::ClockWatch;
use souk_domain::payment::{
    CardEvent, CardHolder, CardIntent, CardRail, CardRefundRequest, CardRequest, CardSetup, ChargeRequest, Currency, Decline, EventError,
    EventRange, Method, MethodSettings, Movement, Outcome, ProviderDispute, ProviderRefund, RailError, Secret, SetupOutcome, SetupRequest,
};
use souk_domain::shared::{Mode, Timestamp};
use std::sync::Arc;
use url::Url;

/// Stripe rejects longer descriptions. Only the merchant sees them.
const MAX_DESCRIPTION_CHARS: usize = 1_000;
/// The metadata field with the attempt's id, which is also the idempotency key.
pub(super) const ATTEMPT: &str = "metadata[attempt]";
pub(super) const INTENTS: &str = "/v1/payment_intents";
pub(super) const EXPAND: &str = "expand[]";
/// Requests the full payment method with the intent, not only its id.
pub(super) const EXPANDED: &str = "?expand%5B%5D=payment_method";

/// Said instead of the answer itself, because the administrator chose who answers.
const REJECTED_KEY: &str = "the card processor rejected secret_key";

/// The rail to Stripe, or to the sandbox of this store.
pub struct StripeRail {
    client: Client,
}

struct Settings<'a> {
    api_host: &'a str,
    publishable_key: &'a str,
    secret_key: &'a Secret,
    webhook_signing_secret: &'a Secret,
}

impl StripeRail {
    /// `own_address` is the address of the store itself, without a path (`http://127.0.0.1:8080`). It completes an `api_host` that begins
    /// with `/`.
    pub fn new(own_address: &Url) -> Result<Self, reqwest::Error> {
        Self::reaching(own_address, PrivateNetworks::Refused)
    }

    /// As [`StripeRail::new`], with or without hosts in private networks.
    pub fn reaching(own_address: &Url, private: PrivateNetworks) -> Result<Self, reqwest::Error> {
        Ok(Self { client: Client::new(own_address.clone(), private)? })
    }

    /// Reports the time of the card processor.
    #[must_use]
    pub fn watched_by(mut self, watch: Arc<ClockWatch>) -> Self {
        self.client.report_dates(watch);
        self
    }

    pub(super) async fn call(
        &self,
        method: &Method,
        verb: Verb,
        path: String,
        form: Vec<(&'static str, String)>,
        key: Option<&str>,
    ) -> Result<Value, CallError> {
        let Settings { api_host, secret_key, .. } =
            settings(method).ok_or_else(|| CallError::Misconfigured("the method is not a card method".to_owned()))?;
        self.client.call(Call { api_host, secret_key, method: verb, path, form, idempotency_key: key }).await
    }
}

#[async_trait]
impl CardRail for StripeRail {
    async fn validate_settings(&self, method: &Method, currencies: &[Currency]) -> Result<(), RailError> {
        let settings = settings(method).ok_or_else(|| misconfigured("the method is not a card method"))?;
        if key_mode(settings.publishable_key) != Some(method.mode) {
            return Err(misconfigured(match method.mode {
                Mode::Live => "publishable_key must begin with pk_live_ in live mode",
                Mode::Test => "publishable_key must begin with pk_test_ in test mode",
            }));
        }
        for currency in currencies {
            let digits = currency::decimals(&currency.contract)
                .ok_or_else(|| misconfigured("a currency's contract must be an ISO 4217 code in lower case"))?;
            if digits != currency.decimals {
                return Err(RailError::Misconfigured(format!("{} has {digits} decimals, not {}", currency.contract, currency.decimals)));
            }
        }
        // The cheapest call that requires the secret key and returns its mode.
        let balance = self.call(method, Verb::GET, "/v1/balance".to_owned(), Vec::new(), None).await.map_err(|error| match error {
            CallError::Rejected { .. } => misconfigured(REJECTED_KEY),
            other => rail_error(other),
        })?;
        match balance["livemode"].as_bool() {
            Some(livemode) if Mode::from_livemode(livemode) == method.mode => Ok(()),
            Some(_) => Err(misconfigured("secret_key belongs to the other mode than publishable_key")),
            None => Err(misconfigured("api_host is not a card processor that we know")),
        }
    }

    async fn open_customer(&self, method: &Method, known: Option<&ProviderCustomer>, holder: &CardHolder) -> Result<String, RailError> {
        self.customer_opened(method, known, holder).await
    }

    async fn delete_customer(&self, method: &Method, provider_id: &str) -> Result<(), RailError> {
        self.customer_deleted(method, provider_id).await
    }

    async fn open(&self, method: &Method, currency: &Currency, request: &CardRequest) -> Result<CardIntent, RailError> {
        let attempt = request.attempt.as_str();
        let mut form = vec![
            ("amount", request.amount.to_string()),
            ("currency", currency.contract.clone()),
            ("payment_method_types[]", "card".to_owned()),
            (ATTEMPT, attempt.to_owned()),
        ];
        form.extend(description(&request.description));
        // In test mode nothing was bought, but the address may be real: send no receipt.
        if let Some(email) = request.receipt_email.as_ref().filter(|_| method.mode.is_live()) {
            form.push(("receipt_email", email.clone()));
        }
        if let Some(holder) = &request.setup_future_usage {
            form.push(("customer", self.customer_of(method, holder).await?));
            form.push(("setup_future_usage", "off_session".to_owned()));
        }
        let answer = self.call(method, Verb::POST, INTENTS.to_owned(), form, Some(attempt)).await.map_err(rail_error)?;
        intent::opened(method, currency, &answer).map_err(|reason| {
            tracing::warn!(attempt, reason, "unexpected answer of the card processor");
            RailError::Unreachable(reason)
        })
    }

    async fn find(&self, method: &Method, currency: &Currency, provider_id: &str) -> Outcome {
        let Some(path) = intent_path(provider_id, EXPANDED) else { return Outcome::NotFound };
        match self.call(method, Verb::GET, path, Vec::new(), None).await {
            Ok(answer) => intent::outcome(method, currency, provider_id, &answer),
            Err(CallError::Rejected { status: 404, problem }) if problem.code.as_deref() == Some("resource_missing") => Outcome::NotFound,
            Err(error) => Outcome::Unknown(reason(error)),
        }
    }

    async fn cancel(&self, method: &Method, currency: &Currency, provider_id: &str) -> Outcome {
        let Some(path) = intent_path(provider_id, "/cancel") else { return Outcome::NotFound };
        let rejected = match self.call(method, Verb::POST, path, vec![("cancellation_reason", "abandoned".to_owned())], None).await {
            Ok(answer) => return intent::outcome(method, currency, provider_id, &answer),
            Err(error) => error,
        };
        // Too late to cancel, or already canceled: the error carries the current intent.
        if let CallError::Rejected { problem, .. } = &rejected
            && let Some(intent) = problem.payment_intent.as_ref().filter(|intent| !intent::needs_card_lookup(intent))
        {
            return intent::outcome(method, currency, provider_id, intent);
        }
        self.find(method, currency, provider_id).await
    }

    async fn open_setup(&self, method: &Method, request: &SetupRequest) -> Result<CardSetup, RailError> {
        self.setup_opened(method, request).await
    }

    async fn find_setup(&self, method: &Method, provider_id: &str) -> SetupOutcome {
        self.setup_found(method, provider_id).await
    }

    async fn cancel_setup(&self, method: &Method, provider_id: &str) -> SetupOutcome {
        self.setup_canceled(method, provider_id).await
    }

    async fn charge(&self, method: &Method, currency: &Currency, request: &ChargeRequest) -> Result<CardIntent, RailError> {
        self.charged(method, currency, request).await
    }

    async fn find_charge(&self, method: &Method, currency: &Currency, provider_id: &str) -> Outcome {
        self.charge_found(method, currency, provider_id.to_owned()).await.outcome
    }

    async fn refund(&self, method: &Method, currency: &Currency, request: &CardRefundRequest) -> Outcome {
        self.refunded(method, currency, request).await
    }

    async fn find_dispute(&self, method: &Method, provider_id: &str) -> Result<Option<ProviderDispute>, RailError> {
        self.dispute_found(method, provider_id).await
    }

    async fn disputes_of(&self, method: &Method, payment: &str) -> Result<Vec<ProviderDispute>, RailError> {
        self.disputes_found(method, payment).await
    }

    async fn find_refund(&self, method: &Method, provider_id: &str) -> Result<Option<ProviderRefund>, RailError> {
        self.refund_found(method, provider_id).await
    }

    async fn refunds_of(&self, method: &Method, payment: &str) -> Result<Vec<ProviderRefund>, RailError> {
        self.refunds_found(method, payment).await
    }

    async fn list_changes(&self, method: &Method, range: &EventRange) -> Result<Vec<CardEvent>, RailError> {
        self.changes_listed(method, range).await
    }

    async fn movements(&self, method: &Method, currencies: &[Currency], since: Timestamp) -> Result<Vec<Movement>, RailError> {
        self.movements_listed(method, currencies, since).await
    }

    fn read_event(&self, method: &Method, body: &[u8], signature: &str, now: Timestamp) -> Result<CardEvent, EventError> {
        let settings = settings(method).ok_or(EventError::BadSignature)?;
        event::read(settings.webhook_signing_secret, body, signature, now)
    }
}

fn settings(method: &Method) -> Option<Settings<'_>> {
    match &method.settings {
        MethodSettings::Stripe { api_host, publishable_key, secret_key, webhook_signing_secret, .. } => {
            Some(Settings { api_host, publishable_key, secret_key, webhook_signing_secret })
        }
        _ => None,
    }
}

/// Returns the mode of a publishable key. `pk_sandbox_` keys belong to the store's own sandbox.
fn key_mode(publishable_key: &str) -> Option<Mode> {
    let starts = |prefix: &str| publishable_key.strip_prefix(prefix).is_some_and(|rest| !rest.is_empty());
    match () {
        () if starts("pk_live_") => Some(Mode::Live),
        () if starts("pk_test_") || starts("pk_sandbox_") => Some(Mode::Test),
        () => None,
    }
}

fn intent_path(provider_id: &str, rest: &str) -> Option<String> {
    clean_path(INTENTS, "pi_", provider_id, rest)
}

/// Builds the path of an object. Returns `None` if `id` has the wrong form, because it could lead to another path of the provider.
pub(super) fn clean_path(folder: &str, prefix: &str, id: &str, rest: &str) -> Option<String> {
    let clean = id.starts_with(prefix) && id.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_');
    clean.then(|| format!("{folder}/{id}{rest}"))
}

/// Builds the form field `description`, truncated to the provider's limit. Returns `None` for an empty text.
pub(super) fn description(text: &str) -> Option<(&'static str, String)> {
    let truncated: String = text.chars().take(MAX_DESCRIPTION_CHARS).collect();
    (!truncated.is_empty()).then_some(("description", truncated))
}

pub(super) fn decline(code: &str, message: &str) -> Decline {
    Decline { code: code.to_owned(), message: message.to_owned() }
}

impl From<Problem> for Decline {
    fn from(problem: Problem) -> Self {
        Self { code: problem.decline_code.or(problem.code).unwrap_or(problem.kind), message: problem.message }
    }
}

fn misconfigured(sentence: &str) -> RailError {
    RailError::Misconfigured(sentence.to_owned())
}

pub(super) fn rail_error(error: CallError) -> RailError {
    match error {
        CallError::Unknown(reason) => RailError::Unreachable(reason),
        CallError::Rejected { status: 401 | 403, .. } => misconfigured(REJECTED_KEY),
        CallError::Rejected { problem, .. } => RailError::Rejected(describe(*problem)),
        CallError::Misconfigured(reason) => RailError::Misconfigured(reason),
    }
}

pub(super) fn reason(error: CallError) -> String {
    match error {
        CallError::Unknown(reason) | CallError::Misconfigured(reason) => reason,
        CallError::Rejected { status, problem } => {
            format!("the card processor rejected the query with status {status}: {}", describe(*problem))
        }
    }
}

fn describe(problem: Problem) -> String {
    match problem.decline_code.or(problem.code) {
        Some(code) => format!("{} ({code})", problem.message),
        None if problem.message.is_empty() => problem.kind,
        None => problem.message,
    }
}
