//! Off-session charges: the customer is not present.

use super::client::{CallError, Problem};
use super::intent;
use super::rail::{ATTEMPT, EXPAND, INTENTS, StripeRail, decline, description, rail_error, reason};
use reqwest::Method as Verb;
use souk_domain::payment::{CardIntent, CardRail, ChargeRequest, ChargedPeriod, Currency, Method, Outcome, RailError};

/// The most pages of 100 payment intents that are searched.
const PAGES: u32 = 50;

/// Returns the id if it is safe in a URL.
pub(super) fn safe_id(id: &str) -> Option<&str> {
    let is_safe = !id.is_empty() && id.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_');
    is_safe.then_some(id)
}

impl StripeRail {
    pub(super) async fn charged(&self, method: &Method, currency: &Currency, request: &ChargeRequest) -> Result<CardIntent, RailError> {
        let attempt = request.attempt.as_str();
        if request.is_late {
            match self.find_earlier_intent(method, request).await {
                Ok(None) => {}
                Ok(Some(provider_id)) => return Ok(self.charge_found(method, currency, provider_id).await),
                Err(reason) => {
                    return Ok(CardIntent { provider_id: String::new(), client_secret: String::new(), outcome: Outcome::Unknown(reason) });
                }
            }
        }
        let mut form = vec![
            ("amount", request.amount.to_string()),
            ("currency", currency.contract.clone()),
            ("payment_method_types[]", "card".to_owned()),
            ("customer", request.card.customer.clone()),
            ("payment_method", request.card.card.clone()),
            ("confirm", "true".to_owned()),
            ("off_session", "true".to_owned()),
            (EXPAND, "payment_method".to_owned()),
            (ATTEMPT, attempt.to_owned()),
        ];
        form.extend(description(&request.description));
        form.extend(request.period.iter().flat_map(metadata));
        let read = match self.call(method, Verb::POST, INTENTS.to_owned(), form, Some(attempt)).await {
            Ok(answer) if intent::needs_card_lookup(&answer) => {
                let provider_id = answer["id"].as_str().unwrap_or_default();
                let outcome = self.find(method, currency, provider_id).await;
                Ok(CardIntent { provider_id: provider_id.to_owned(), client_secret: String::new(), outcome })
            }
            Ok(answer) => intent::charged(method, currency, &answer),
            Err(CallError::Rejected { status: 400 | 402 | 404, problem }) if problem.kind != "idempotency_error" => {
                declined(method, currency, *problem)
            }
            Err(error @ CallError::Misconfigured(_)) => return Err(rail_error(error)),
            // A rejected idempotency key, or one used for another request, says nothing about the outcome of the first try.
            Err(error) => Err(reason(error)),
        };
        let intent = read.unwrap_or_else(|reason| {
            tracing::warn!(attempt, reason, "the outcome of a card charge is unknown");
            CardIntent { provider_id: String::new(), client_secret: String::new(), outcome: Outcome::Unknown(reason) }
        });
        Ok(self.cancel_if_payer_required(method, currency, intent).await)
    }

    /// Returns the outcome of a charge whose intent is known. Cancels the intent if it requires the payer's action.
    pub(super) async fn charge_found(&self, method: &Method, currency: &Currency, provider_id: String) -> CardIntent {
        let outcome = self.find(method, currency, &provider_id).await;
        self.cancel_if_payer_required(method, currency, CardIntent { provider_id, client_secret: String::new(), outcome }).await
    }

    /// Searches the customer's intents, newest first, for that of an attempt whose idempotency key the provider no longer remembers.
    async fn find_earlier_intent(&self, method: &Method, request: &ChargeRequest) -> Result<Option<String>, String> {
        let customer = safe_id(&request.card.customer).ok_or("the customer's name is not one of the provider's")?;
        let mut after = String::new();
        for _ in 0..PAGES {
            let path = format!("{INTENTS}?customer={customer}&limit=100{after}");
            let page = self.call(method, Verb::GET, path, Vec::new(), None).await.map_err(reason)?;
            let intents = page["data"].as_array().ok_or("the list is not of the expected shape")?;
            let found = intents.iter().find(|intent| intent["metadata"]["attempt"] == request.attempt.as_str());
            if let Some(found) = found {
                return Ok(found["id"].as_str().map(ToOwned::to_owned));
            }
            let last = intents.last().and_then(|intent| safe_id(intent["id"].as_str()?));
            match last {
                Some(last) if page["has_more"] == true => after = format!("&starting_after={last}"),
                _ => return Ok(None),
            }
        }
        Err("the customer has too many payments to look through".to_owned())
    }

    /// Cancels an intent that requires the payer's action, because no payer is present. The charge counts as declined only once the intent
    /// is canceled.
    async fn cancel_if_payer_required(&self, method: &Method, currency: &Currency, intent: CardIntent) -> CardIntent {
        let Outcome::Pending { requires_payer: true, last_error } = &intent.outcome else { return intent };
        let outcome = match (self.cancel(method, currency, &intent.provider_id).await, last_error) {
            (Outcome::Declined(_), Some(decline)) => Outcome::Declined(decline.clone()),
            (Outcome::Declined(_), None) => {
                Outcome::Declined(decline("authentication_required", "The bank requires the cardholder to verify this payment."))
            }
            (Outcome::Pending { requires_payer: true, .. } | Outcome::NotFound, _) => {
                Outcome::Unknown("the declined charge could not be ended".to_owned())
            }
            (other, _) => other,
        };
        CardIntent { outcome, ..intent }
    }
}

/// The metadata by which a restored store finds what a charge has paid for.
fn metadata(period: &ChargedPeriod) -> [(&'static str, String); 3] {
    period.fields().map(|(name, value)| {
        let field = match name {
            "invoice" => "metadata[invoice]",
            "subscription" => "metadata[subscription]",
            _ => "metadata[period_start]",
        };
        (field, value)
    })
}

/// Reads a decline. If it carries no intent, no intent was created.
fn declined(method: &Method, currency: &Currency, problem: Problem) -> Result<CardIntent, String> {
    if let Some(value) = &problem.payment_intent {
        return intent::charged(method, currency, value);
    }
    Ok(CardIntent { provider_id: String::new(), client_secret: String::new(), outcome: Outcome::Declined(problem.into()) })
}
