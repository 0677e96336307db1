//! The provider's payment intent, and what it says about an attempt.

use serde::Deserialize;
use serde_json::Value;
use souk_domain::payment::{CardIntent, Currency, Method, Outcome, Refusal, Settlement};
use souk_domain::shared::Amount;

/// The part of a payment intent that decides anything. Fields that are missing make the answer one that we do not understand.
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
}

#[derive(Debug, Deserialize)]
struct PaymentError {
    code: Option<String>,
    decline_code: Option<String>,
    message: Option<String>,
}

impl From<PaymentError> for Refusal {
    fn from(error: PaymentError) -> Self {
        Self {
            code: error.decline_code.or(error.code).unwrap_or_else(|| "card_error".to_owned()),
            message: error.message.unwrap_or_else(|| "The card was declined.".to_owned()),
        }
    }
}

/// What `value`, an intent as the provider answered it, says. `provider_id` is the intent that was asked for.
pub(super) fn outcome(method: &Method, currency: &Currency, provider_id: &str, value: &Value) -> Outcome {
    match parse(method, currency, value) {
        Ok(intent) if intent.id == provider_id => judge(intent),
        Ok(intent) => Outcome::Unknown(format!("asked for {provider_id}, was told of {}", intent.id)),
        Err(reason) => Outcome::Unknown(reason),
    }
}

/// Reads the answer to a creation. Fails with a sentence when it is not the intent that was asked for.
pub(super) fn opened(method: &Method, currency: &Currency, value: &Value) -> Result<CardIntent, String> {
    let mut intent = parse(method, currency, value)?;
    let client_secret = intent.client_secret.take().ok_or_else(|| "the intent has no client secret".to_owned())?;
    Ok(CardIntent { provider_id: intent.id.clone(), client_secret, outcome: judge(intent) })
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

fn judge(intent: Intent) -> Outcome {
    let last_error = intent.last_payment_error.map(Refusal::from);
    match intent.status.as_str() {
        "succeeded" => Outcome::Settled(Settlement {
            reference: intent.id,
            payer: String::new(),
            amount: Amount::new(u128::from(intent.amount_received)),
        }),
        "processing" => Outcome::Pending { requires_payer: false, last_error },
        "requires_payment_method" | "requires_confirmation" | "requires_action" => Outcome::Pending { requires_payer: true, last_error },
        "canceled" => Outcome::Refused(last_error.unwrap_or_else(|| Refusal {
            code: intent.cancellation_reason.unwrap_or_else(|| "canceled".to_owned()),
            message: "The payment was cancelled.".to_owned(),
        })),
        // requires_capture among them: nobody asked for a payment that is captured later.
        other => Outcome::Unknown(format!("the intent has the status {other}")),
    }
}
