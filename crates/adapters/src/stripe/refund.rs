//! Refunds to the card that paid.

use super::charge::safe_id;
use super::client::CallError;
use super::list::unreadable;
use super::rail::{StripeRail, clean_path, decline, reason};
use reqwest::Method as Verb;
use serde::Deserialize;
use serde_json::Value;
use souk_domain::payment::{CardRefundRequest, Currency, Method, Outcome, ProviderRefund, ProviderRefundStatus, RailError, Settlement};
use souk_domain::shared::{Amount, RefundId, Timestamp};

const REFUNDS: &str = "/v1/refunds";

#[derive(Debug, Deserialize)]
struct Refund {
    id: String,
    amount: u64,
    currency: String,
    payment_intent: Option<String>,
    status: Option<String>,
    failure_reason: Option<String>,
    reason: Option<String>,
    #[serde(default)]
    metadata: Metadata,
    #[serde(default)]
    created: i64,
}

#[derive(Debug, Default, Deserialize)]
struct Metadata {
    /// The store's id of the refund, if the store requested it.
    refund: Option<String>,
}

const NOT_TAKEN: &str = "The card's bank did not take the money back.";

impl StripeRail {
    pub(super) async fn refunded(&self, method: &Method, currency: &Currency, request: &CardRefundRequest) -> Outcome {
        let key = request.attempt.as_str();
        if request.is_late {
            match self.find_earlier_refund(method, request).await {
                Ok(None) => {}
                Ok(Some(refund)) => return outcome(currency, request, &refund),
                Err(reason) => return Outcome::Unknown(reason),
            }
        }
        let form = vec![
            ("payment_intent", request.provider_id.clone()),
            ("amount", request.amount.to_string()),
            ("metadata[refund]", request.refund.to_string()),
            ("metadata[attempt]", key.to_owned()),
        ];
        let refund = match self.call(method, Verb::POST, REFUNDS.to_owned(), form, Some(key)).await {
            Ok(answer) => answer,
            Err(CallError::Rejected { status: 400 | 402 | 404, problem }) if problem.kind != "idempotency_error" => {
                return Outcome::Declined((*problem).into());
            }
            Err(error) => return Outcome::Unknown(reason(error)),
        };
        match outcome(currency, request, &refund) {
            // A repeated key returns the first response, however old. Read the refund's current status instead.
            Outcome::Pending { .. } => self.current_refund(method, currency, request, &refund).await,
            decided => decided,
        }
    }

    /// Searches the payment's refunds for that of an attempt whose idempotency key the provider no longer remembers.
    async fn find_earlier_refund(&self, method: &Method, request: &CardRefundRequest) -> Result<Option<Value>, String> {
        let payment = safe_id(&request.provider_id).ok_or("the payment's name is not one of the provider's")?;
        let path = format!("{REFUNDS}?payment_intent={payment}&limit=100");
        let page = self.call(method, Verb::GET, path, Vec::new(), None).await.map_err(reason)?;
        let refunds = page["data"].as_array().ok_or("the list is not of the expected shape")?;
        let refund = refunds.iter().find(|refund| refund["metadata"]["attempt"] == request.attempt.as_str());
        match refund {
            None if page["has_more"] == true => Err("the payment has too many refunds to look through".to_owned()),
            refund => Ok(refund.cloned()),
        }
    }

    async fn current_refund(&self, method: &Method, currency: &Currency, request: &CardRefundRequest, refund: &Value) -> Outcome {
        let Some(path) = refund_path(refund["id"].as_str().unwrap_or_default()) else {
            return Outcome::Unknown("the refund is not of the expected shape".to_owned());
        };
        match self.call(method, Verb::GET, path, Vec::new(), None).await {
            Ok(answer) => outcome(currency, request, &answer),
            Err(error) => Outcome::Unknown(reason(error)),
        }
    }
}

impl StripeRail {
    pub(super) async fn refund_found(&self, method: &Method, provider_id: &str) -> Result<Option<ProviderRefund>, RailError> {
        let Some(path) = refund_path(provider_id) else { return Ok(None) };
        self.object(method, path).await?.map(provider_refund).transpose()
    }

    pub(super) async fn refunds_found(&self, method: &Method, payment: &str) -> Result<Vec<ProviderRefund>, RailError> {
        self.objects_of(method, REFUNDS, payment).await?.into_iter().map(provider_refund).collect()
    }
}

/// The path of a refund. The ids of refunds of some older payments begin with `pyr_`.
fn refund_path(id: &str) -> Option<String> {
    ["re_", "pyr_"].iter().find_map(|prefix| clean_path(REFUNDS, prefix, id, ""))
}

fn provider_refund(refund: Refund) -> Result<ProviderRefund, RailError> {
    let status = match refund.status.as_deref() {
        Some("succeeded") => ProviderRefundStatus::Succeeded,
        Some("pending" | "requires_action") => ProviderRefundStatus::Pending,
        Some(ended @ ("failed" | "canceled")) => {
            let code = refund.failure_reason.unwrap_or_else(|| ended.to_owned());
            ProviderRefundStatus::Failed(decline(&code, NOT_TAKEN))
        }
        other => return Err(unreadable(&format!("the refund has the status {}", other.unwrap_or("none")))),
    };
    Ok(ProviderRefund {
        payment: refund.payment_intent.ok_or_else(|| unreadable("the refund names no payment"))?,
        provider_id: refund.id,
        amount: Amount::new(u128::from(refund.amount)),
        currency: refund.currency,
        status,
        ours: refund.metadata.refund.and_then(|id| RefundId::parse(&id).ok()),
        reason: refund.reason.unwrap_or_default(),
        created: Timestamp::from_seconds(refund.created),
    })
}

fn outcome(currency: &Currency, request: &CardRefundRequest, value: &Value) -> Outcome {
    let refund = match Refund::deserialize(value) {
        Ok(refund) => refund,
        Err(error) => return Outcome::Unknown(format!("the refund is not of the expected shape: {error}")),
    };
    if refund.currency != currency.contract || refund.payment_intent.as_deref() != Some(request.provider_id.as_str()) {
        return Outcome::Unknown("the refund is of another payment".to_owned());
    }
    match refund.status.as_deref() {
        Some("succeeded") => Outcome::Settled(Settlement {
            reference: refund.id,
            payer: String::new(),
            amount: Amount::new(u128::from(refund.amount)),
            card: None,
        }),
        Some("pending") => Outcome::Pending { requires_payer: false, last_error: None },
        Some("requires_action") => Outcome::Pending { requires_payer: true, last_error: None },
        Some(ended @ ("failed" | "canceled")) => {
            let code = refund.failure_reason.unwrap_or_else(|| ended.to_owned());
            Outcome::Declined(decline(&code, NOT_TAKEN))
        }
        other => Outcome::Unknown(format!("the refund has the status {}", other.unwrap_or("none"))),
    }
}
