//! Reads disputes from the provider.

use super::list::unreadable;
use super::rail::{StripeRail, clean_path};
use serde::Deserialize;
use souk_domain::payment::{DisputeStatus, Method, ProviderDispute, RailError};
use souk_domain::shared::{Amount, Timestamp};

const DISPUTES: &str = "/v1/disputes";

#[derive(Debug, Deserialize)]
struct Dispute {
    id: String,
    amount: u64,
    currency: String,
    payment_intent: Option<String>,
    status: String,
    reason: String,
    created: i64,
    #[serde(default)]
    balance_transactions: Vec<BalanceTransaction>,
    #[serde(default)]
    evidence_details: EvidenceDetails,
}

/// Funds withdrawn (negative) or reinstated (positive), in the currency of the store's account.
#[derive(Debug, Deserialize)]
struct BalanceTransaction {
    amount: i64,
    fee: i64,
    currency: String,
}

#[derive(Debug, Default, Deserialize)]
struct EvidenceDetails {
    due_by: Option<i64>,
}

impl StripeRail {
    pub(super) async fn dispute_found(&self, method: &Method, provider_id: &str) -> Result<Option<ProviderDispute>, RailError> {
        // Disputes of early accounts have ids that begin with `dp_`.
        let Some(path) = ["du_", "dp_"].iter().find_map(|prefix| clean_path(DISPUTES, prefix, provider_id, "")) else { return Ok(None) };
        self.object(method, path).await?.map(read).transpose()
    }

    pub(super) async fn disputes_found(&self, method: &Method, payment: &str) -> Result<Vec<ProviderDispute>, RailError> {
        self.objects_of(method, DISPUTES, payment).await?.into_iter().map(read).collect()
    }
}

fn read(dispute: Dispute) -> Result<ProviderDispute, RailError> {
    let status = status(&dispute.status).ok_or_else(|| unreadable(&format!("the dispute has the status {}", dispute.status)))?;
    let moved = &dispute.balance_transactions;
    let fee: i64 = moved.iter().map(|moved| moved.fee).sum();
    Ok(ProviderDispute {
        payment: dispute.payment_intent.ok_or_else(|| unreadable("the dispute names no payment"))?,
        provider_id: dispute.id,
        amount: Amount::new(u128::from(dispute.amount)),
        fee: Amount::new(u128::try_from(fee).unwrap_or(0)),
        fee_currency: moved.first().map_or_else(|| dispute.currency.clone(), |moved| moved.currency.clone()),
        currency: dispute.currency,
        status,
        funds_withdrawn: moved.iter().map(|moved| moved.amount).sum::<i64>() < 0,
        reason: dispute.reason,
        respond_by: dispute.evidence_details.due_by.filter(|seconds| *seconds > 0).map(Timestamp::from_seconds),
        created: Timestamp::from_seconds(dispute.created),
    })
}

fn status(name: &str) -> Option<DisputeStatus> {
    Some(match name {
        "warning_needs_response" => DisputeStatus::Inquiry,
        "warning_under_review" => DisputeStatus::InquiryUnderReview,
        "warning_closed" => DisputeStatus::InquiryClosed,
        "needs_response" => DisputeStatus::NeedsResponse,
        "under_review" => DisputeStatus::UnderReview,
        "won" => DisputeStatus::Won,
        "lost" => DisputeStatus::Lost,
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::{Value, json};

    /// A response in the form that Stripe's documentation shows.
    fn answer(status: &str, moved: Value) -> Value {
        json!({
            "id": "du_1MtJUT2eZvKYlo2CNaw2HvEv", "object": "dispute", "amount": 1_000, "balance_transactions": moved,
            "charge": "ch_1AZtxr2eZvKYlo2CJDX8whov", "created": 1_680_651_737, "currency": "eur", "evidence": {},
            "evidence_details": { "due_by": 1_682_294_399, "has_evidence": false, "past_due": false, "submission_count": 0 },
            "is_charge_refundable": false, "livemode": false, "metadata": {}, "payment_intent": "pi_1", "reason": "general",
            "status": status,
        })
    }

    fn read_answer(status: &str, moved: Value) -> Result<ProviderDispute, RailError> {
        read(serde_json::from_value(answer(status, moved)).expect("the shape"))
    }

    #[test]
    fn funds_and_fees_are_sums_of_the_balance_transactions_in_every_status() {
        let withdrawn = json!({ "amount": -1_090, "fee": 1_500, "net": -2_590, "currency": "usd" });
        let reinstated = json!({ "amount": 1_090, "fee": 0, "net": 1_090, "currency": "usd" });
        let fee_returned = json!({ "amount": 1_090, "fee": -1_500, "net": 2_590, "currency": "usd" });
        for (moved, funds_withdrawn, fee, currency) in [
            (json!([]), false, 0, "eur"),
            (json!([withdrawn]), true, 1_500, "usd"),
            (json!([withdrawn, reinstated]), false, 1_500, "usd"),
            (json!([withdrawn, fee_returned]), false, 0, "usd"),
        ] {
            let dispute = read_answer("under_review", moved).expect("reads");
            assert_eq!(
                (dispute.funds_withdrawn, dispute.fee, dispute.fee_currency.as_str()),
                (funds_withdrawn, Amount::new(fee), currency)
            );
            assert_eq!((dispute.amount, dispute.currency.as_str()), (Amount::new(1_000), "eur"), "the amount is in the payment's currency");
            assert_eq!(dispute.respond_by, Some(Timestamp::from_seconds(1_682_294_399)));
        }
    }

    #[test]
    fn an_unknown_status_is_an_error() {
        assert!(matches!(read_answer("prevented", json!([])), Err(RailError::Unreachable(_))));
    }
}
