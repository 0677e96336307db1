//! Charges while the customer is away.

use super::client::{CallError, Problem};
use super::intent;
use super::rail::{ATTEMPT, EXPAND, INTENTS, StripeRail, decline, description, rail_error, reason};
use reqwest::Method as Verb;
use souk_domain::payment::{CardIntent, CardRail, ChargeRequest, Currency, Method, Outcome, RailError};

/// The most pages of 100 that are looked through.
const PAGES: u32 = 50;

/// A name that may stand in an address.
pub(super) fn word(name: &str) -> Option<&str> {
    let sound = !name.is_empty() && name.bytes().all(|letter| letter.is_ascii_alphanumeric() || letter == b'_');
    sound.then_some(name)
}

impl StripeRail {
    pub(super) async fn charged(&self, method: &Method, currency: &Currency, request: &ChargeRequest) -> Result<CardIntent, RailError> {
        let attempt = request.attempt.as_str();
        if request.is_late {
            match self.made_before(method, request).await {
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
        let read = match self.call(method, Verb::POST, INTENTS.to_owned(), form, Some(attempt)).await {
            Ok(answer) if intent::hides_its_card(&answer) => {
                let provider_id = answer["id"].as_str().unwrap_or_default();
                let outcome = self.find(method, currency, provider_id).await;
                Ok(CardIntent { provider_id: provider_id.to_owned(), client_secret: String::new(), outcome })
            }
            Ok(answer) => intent::charged(method, currency, &answer),
            Err(CallError::Refused { status: 400 | 402 | 404, problem }) if problem.kind != "idempotency_error" => {
                refused(method, currency, *problem)
            }
            Err(error @ CallError::Unusable(_)) => return Err(rail_error(error)),
            // A key that is refused or was used for something else says nothing about what the first try did.
            Err(error) => Err(reason(error)),
        };
        let intent = read.unwrap_or_else(|reason| {
            tracing::warn!(attempt, reason, "the outcome of a card charge is unknown");
            CardIntent { provider_id: String::new(), client_secret: String::new(), outcome: Outcome::Unknown(reason) }
        });
        Ok(self.without_second_chance(method, currency, intent).await)
    }

    /// What became of a charge whose intent is known; ended, where it waits for a payer.
    pub(super) async fn charge_found(&self, method: &Method, currency: &Currency, provider_id: String) -> CardIntent {
        let outcome = self.find(method, currency, &provider_id).await;
        self.without_second_chance(method, currency, CardIntent { provider_id, client_secret: String::new(), outcome }).await
    }

    /// The intent of an attempt whose key the provider has forgotten, among all of the customer's, newest first.
    async fn made_before(&self, method: &Method, request: &ChargeRequest) -> Result<Option<String>, String> {
        let customer = word(&request.card.customer).ok_or("the customer's name is not one of the provider's")?;
        let mut after = String::new();
        for _ in 0..PAGES {
            let path = format!("{INTENTS}?customer={customer}&limit=100{after}");
            let page = self.call(method, Verb::GET, path, Vec::new(), None).await.map_err(reason)?;
            let intents = page["data"].as_array().ok_or("the list is not of the expected shape")?;
            let made = intents.iter().find(|intent| intent["metadata"]["attempt"] == request.attempt.as_str());
            if let Some(made) = made {
                return Ok(made["id"].as_str().map(ToOwned::to_owned));
            }
            let last = intents.last().and_then(|intent| word(intent["id"].as_str()?));
            match last {
                Some(last) if page["has_more"] == true => after = format!("&starting_after={last}"),
                _ => return Ok(None),
            }
        }
        Err("the customer has too many payments to look through".to_owned())
    }

    /// An intent that waits for a payer waits for nobody: it is ended, and only then is the charge refused for good.
    async fn without_second_chance(&self, method: &Method, currency: &Currency, intent: CardIntent) -> CardIntent {
        let Outcome::Pending { requires_payer: true, last_error } = &intent.outcome else { return intent };
        let outcome = match (self.cancel(method, currency, &intent.provider_id).await, last_error) {
            (Outcome::Declined(_), Some(decline)) => Outcome::Declined(decline.clone()),
            (Outcome::Declined(_), None) => {
                Outcome::Declined(decline("authentication_required", "The card's bank wants to hear its owner."))
            }
            (Outcome::Pending { requires_payer: true, .. } | Outcome::NotFound, _) => {
                Outcome::Unknown("the declined charge could not be ended".to_owned())
            }
            (other, _) => other,
        };
        CardIntent { outcome, ..intent }
    }
}

/// A decline carries its intent; a decline without one opened none.
fn refused(method: &Method, currency: &Currency, problem: Problem) -> Result<CardIntent, String> {
    if let Some(value) = &problem.payment_intent {
        return intent::charged(method, currency, value);
    }
    Ok(CardIntent { provider_id: String::new(), client_secret: String::new(), outcome: Outcome::Declined(problem.into()) })
}
