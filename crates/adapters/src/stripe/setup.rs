//! Saves cards without a payment, and creates the provider's customers for them.

use super::card::{self, PaymentError};
use super::client::CallError;
use super::rail::{ATTEMPT, EXPANDED, StripeRail, clean_path, rail_error, reason};
use reqwest::Method as Verb;
use serde::Deserialize;
use serde_json::Value;
use souk_domain::customer::ProviderCustomer;
use souk_domain::payment::{CardHolder, CardSetup, Decline, Method, RailError, SetupOutcome, SetupRequest};

const SETUPS: &str = "/v1/setup_intents";

/// The relevant fields of a setup intent.
#[derive(Debug, Deserialize)]
struct SetupIntent {
    id: String,
    status: String,
    livemode: bool,
    client_secret: Option<String>,
    customer: Option<String>,
    #[serde(default)]
    payment_method: Value,
    last_setup_error: Option<PaymentError>,
    cancellation_reason: Option<String>,
}

impl StripeRail {
    /// Creates the provider's customer of a holder, or returns the known one. The request must be identical on every try, because the
    /// provider compares requests with the same idempotency key. The name and email may change, so a second call sets them.
    pub(super) async fn customer_opened(
        &self,
        method: &Method,
        known: Option<&ProviderCustomer>,
        holder: &CardHolder,
    ) -> Result<String, RailError> {
        if let Some(ProviderCustomer { provider_id, is_erased: false }) = known
            && self.name_customer(method, provider_id, holder).await?
        {
            return Ok(provider_id.clone());
        }
        let form = vec![("metadata[customer]", holder.customer.to_string()), ("metadata[method]", method.id.to_string())];
        // A customer that was deleted at the provider is replaced by a new one, not by the old answer under the old key.
        let former = known.map(|known| known.provider_id.as_str()).unwrap_or_default();
        let key = format!("customer_{}_{}_{former}", holder.customer, method.id);
        let created = self.call(method, Verb::POST, "/v1/customers".to_owned(), form, Some(&key)).await.map_err(rail_error)?;
        let id = created["id"].as_str().unwrap_or_default();
        if !self.name_customer(method, id, holder).await? {
            return Err(RailError::Unreachable("the provider does not know the customer that it has created".to_owned()));
        }
        Ok(id.to_owned())
    }

    /// Returns whether the provider has the customer.
    async fn name_customer(&self, method: &Method, id: &str, holder: &CardHolder) -> Result<bool, RailError> {
        let path = clean_path("/v1/customers", "cus_", id, "")
            .ok_or_else(|| RailError::Unreachable("the customer is not of the expected shape".to_owned()))?;
        let fields = [("name", &holder.name), ("email", &holder.email)];
        let form: Vec<_> = fields.into_iter().filter(|(_, text)| !text.is_empty()).map(|(name, text)| (name, text.clone())).collect();
        if form.is_empty() {
            return Ok(true);
        }
        match self.call(method, Verb::POST, path, form, None).await {
            Ok(customer) => Ok(customer["deleted"].as_bool() != Some(true)),
            Err(CallError::Rejected { problem, .. }) if problem.code.as_deref() == Some("resource_missing") => Ok(false),
            Err(error) => {
                // Only the merchant sees the name and email, so a payment does not fail because of them.
                tracing::warn!(
                    customer = holder.customer.as_str(),
                    reason = reason(error),
                    "cannot name the customer at the card processor"
                );
                Ok(true)
            }
        }
    }

    /// Deletes a customer, with the saved cards. Succeeds as well if the provider does not have the customer any more.
    pub(super) async fn customer_deleted(&self, method: &Method, provider_id: &str) -> Result<(), RailError> {
        let path = clean_path("/v1/customers", "cus_", provider_id, "")
            .ok_or_else(|| RailError::Rejected("the customer is not of the expected shape".to_owned()))?;
        match self.call(method, Verb::DELETE, path, Vec::new(), None).await {
            Ok(answer) if answer["deleted"].as_bool() == Some(true) => Ok(()),
            Ok(_) => Err(RailError::Unreachable("the provider did not confirm that the customer is deleted".to_owned())),
            Err(CallError::Rejected { status: 404, problem }) if problem.code.as_deref() == Some("resource_missing") => Ok(()),
            Err(error) => Err(rail_error(error)),
        }
    }

    /// The provider's customer for a form.
    pub(super) async fn customer_of(&self, method: &Method, holder: &CardHolder) -> Result<String, RailError> {
        match &holder.provider_id {
            Some(known) => Ok(known.clone()),
            None => self.customer_opened(method, None, holder).await,
        }
    }

    pub(super) async fn setup_opened(&self, method: &Method, request: &SetupRequest) -> Result<CardSetup, RailError> {
        let customer = self.customer_of(method, &request.holder).await?;
        let form = vec![
            ("customer", customer),
            ("usage", "off_session".to_owned()),
            ("payment_method_types[]", "card".to_owned()),
            (ATTEMPT, request.attempt.to_string()),
        ];
        let answer = self.call(method, Verb::POST, SETUPS.to_owned(), form, Some(request.attempt.as_str())).await.map_err(rail_error)?;
        opened(method, &answer).map_err(|reason| {
            tracing::warn!(attempt = request.attempt.as_str(), reason, "unexpected answer of the card processor");
            RailError::Unreachable(reason)
        })
    }

    pub(super) async fn setup_found(&self, method: &Method, provider_id: &str) -> SetupOutcome {
        let Some(path) = clean_path(SETUPS, "seti_", provider_id, EXPANDED) else { return SetupOutcome::NotFound };
        match self.call(method, Verb::GET, path, Vec::new(), None).await {
            Ok(answer) => outcome(method, provider_id, &answer),
            Err(CallError::Rejected { status: 404, problem }) if problem.code.as_deref() == Some("resource_missing") => {
                SetupOutcome::NotFound
            }
            Err(error) => SetupOutcome::Unknown(reason(error)),
        }
    }

    pub(super) async fn setup_canceled(&self, method: &Method, provider_id: &str) -> SetupOutcome {
        let Some(path) = clean_path(SETUPS, "seti_", provider_id, "/cancel") else { return SetupOutcome::NotFound };
        match self.call(method, Verb::POST, path, vec![("cancellation_reason", "abandoned".to_owned())], None).await {
            Ok(answer) => outcome(method, provider_id, &answer),
            // Too late to cancel, already canceled, or the outcome is unknown: read the current state.
            Err(_) => self.setup_found(method, provider_id).await,
        }
    }
}

fn opened(method: &Method, value: &Value) -> Result<CardSetup, String> {
    let mut setup = parse(method, value)?;
    let client_secret = setup.client_secret.take().ok_or_else(|| "the setup has no client secret".to_owned())?;
    Ok(CardSetup { provider_id: setup.id.clone(), client_secret, outcome: judge(setup) })
}

fn outcome(method: &Method, provider_id: &str, value: &Value) -> SetupOutcome {
    match parse(method, value) {
        Ok(setup) if setup.id == provider_id => judge(setup),
        Ok(setup) => SetupOutcome::Unknown(format!("requested {provider_id}, received {}", setup.id)),
        Err(reason) => SetupOutcome::Unknown(reason),
    }
}

fn parse(method: &Method, value: &Value) -> Result<SetupIntent, String> {
    let setup = SetupIntent::deserialize(value).map_err(|error| format!("the setup is not of the expected shape: {error}"))?;
    if setup.livemode != method.mode.is_live() {
        return Err("the setup is of the other mode".to_owned());
    }
    Ok(setup)
}

fn judge(setup: SetupIntent) -> SetupOutcome {
    let last_error = setup.last_setup_error.map(Decline::from);
    match setup.status.as_str() {
        "succeeded" => match card::saved(setup.customer.as_deref(), &setup.payment_method) {
            Some(card) => SetupOutcome::Saved(card),
            None => SetupOutcome::Unknown("the setup succeeded without a card".to_owned()),
        },
        "processing" => SetupOutcome::Pending { requires_payer: false, last_error },
        "requires_payment_method" | "requires_confirmation" | "requires_action" => {
            SetupOutcome::Pending { requires_payer: true, last_error }
        }
        "canceled" => SetupOutcome::Declined(last_error.unwrap_or_else(|| Decline {
            code: setup.cancellation_reason.unwrap_or_else(|| "canceled".to_owned()),
            message: "Saving the card was canceled.".to_owned(),
        })),
        other => SetupOutcome::Unknown(format!("the setup has the status {other}")),
    }
}
