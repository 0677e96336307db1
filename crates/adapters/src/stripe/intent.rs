//! Reads the provider's payment intents and derives the outcome of an attempt.

use super::card::{self, PaymentError};
use serde::Deserialize;
use serde_json::Value;
use souk_domain::payment::{CardIntent, Currency, Decline, Method, Outcome, Settlement};
use souk_domain::shared::Amount;

/// The relevant fields of a payment intent. A response that lacks one of them is not understood, and the outcome is unknown.
#[derive(Debug, Deserialize)]
struct Intent {
    id: String,
    status: String,
    amount_received: u64,
    currency: String,
    livemode: bool,
    client_secret: Option<String>,
    last_payment_error: Option<PaymentError>,
    cancellation_reason: Option<String>,
    customer: Option<String>,
    #[serde(default)]
    payment_method: Value,
}

/// Derives the outcome from `value`, the provider's response. `provider_id` is the id of the requested intent.
pub(super) fn outcome(method: &Method, currency: &Currency, provider_id: &str, value: &Value) -> Outcome {
    match parse(method, currency, value) {
        Ok(intent) if intent.id == provider_id => outcome_of(intent),
        Ok(intent) => Outcome::Unknown(format!("requested {provider_id}, received {}", intent.id)),
        Err(reason) => Outcome::Unknown(reason),
    }
}

/// Reads the response to a creation. The error is a sentence that says why the response is not the requested intent.
pub(super) fn opened(method: &Method, currency: &Currency, value: &Value) -> Result<CardIntent, String> {
    let mut intent = parse(method, currency, value)?;
    let client_secret = intent.client_secret.take().ok_or_else(|| "the intent has no client secret".to_owned())?;
    Ok(CardIntent { provider_id: intent.id.clone(), client_secret, outcome: outcome_of(intent) })
}

/// Returns whether the card of a succeeded intent needs another request: the intent has a customer, but only the payment method's id.
pub(super) fn needs_card_lookup(value: &Value) -> bool {
    value["status"] == "succeeded" && value["customer"].is_string() && value["payment_method"].is_string()
}

/// Reads an intent that was confirmed on creation. Its client secret is dropped, because nobody needs it.
pub(super) fn charged(method: &Method, currency: &Currency, value: &Value) -> Result<CardIntent, String> {
    let intent = parse(method, currency, value)?;
    Ok(CardIntent { provider_id: intent.id.clone(), client_secret: String::new(), outcome: outcome_of(intent) })
}

fn parse(method: &Method, currency: &Currency, value: &Value) -> Result<Intent, String> {
    let intent = Intent::deserialize(value).map_err(|error| format!("the intent is not of the expected shape: {error}"))?;
    if intent.livemode != method.mode.is_live() {
        return Err("the intent is of the other mode".to_owned());
    }
    if intent.currency != currency.contract {
        return Err(format!("the intent is in {}, not in {}", intent.currency, currency.contract));
    }
    Ok(intent)
}

fn outcome_of(intent: Intent) -> Outcome {
    let last_error = intent.last_payment_error.map(Decline::from);
    match intent.status.as_str() {
        "succeeded" => Outcome::Settled(Settlement {
            reference: intent.id,
            payer: String::new(),
            amount: Amount::new(u128::from(intent.amount_received)),
            card: card::saved(intent.customer.as_deref(), &intent.payment_method),
        }),
        "processing" => Outcome::Pending { requires_payer: false, last_error },
        "requires_payment_method" | "requires_confirmation" | "requires_action" => Outcome::Pending { requires_payer: true, last_error },
        "canceled" => Outcome::Declined(last_error.unwrap_or_else(|| Decline {
            code: intent.cancellation_reason.unwrap_or_else(|| "canceled".to_owned()),
            message: "The payment was canceled.".to_owned(),
        })),
        // Includes requires_capture: the store never requests a payment that is captured later.
        other => Outcome::Unknown(format!("the intent has the status {other}")),
    }
}
