//! Refunds to a card, made by the store or in the processor's dashboard, and refunds that fail later.

use super::call::{Answer, ApiError, Call, CallError};
use super::card::{RefundCourse, TestCard};
use super::charge::{self, Charge};
use super::intent::{self, one_of};
use super::state::{Object, State, Stored, page};
use crate::time::Timestamp;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::time::Duration;

/// Time until a refund of some test cards succeeds or fails.
const DECIDED_AFTER: Duration = Duration::from_secs(2);
/// The failure reasons of banks.
const FAILURES: [&str; 7] = [
    "charge_for_pending_refund_disputed",
    "declined",
    "expired_or_canceled_card",
    "insufficient_funds",
    "lost_or_stolen_card",
    "merchant_request",
    "unknown",
];
/// The failure reason of the test card whose refunds fail.
const CARD_FAILURE: &str = "expired_or_canceled_card";

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Status {
    Pending,
    Succeeded,
    Failed,
}

impl Status {
    const fn name(self) -> &'static str {
        match self {
            Self::Pending => "pending",
            Self::Succeeded => "succeeded",
            Self::Failed => "failed",
        }
    }
}

#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
struct Due {
    at_micros: i64,
    status: Status,
}

#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Refund {
    id: String,
    charge: String,
    payment_intent: String,
    amount: i64,
    currency: String,
    reason: Option<String>,
    metadata: BTreeMap<String, String>,
    status: Status,
    failure_reason: Option<String>,
    /// The scheduled change of status.
    due: Option<Due>,
    created: i64,
}

impl Object for Refund {
    const KIND: &'static str = "refund";

    fn id(&self) -> &str {
        &self.id
    }

    fn due_at(&self) -> Option<Timestamp> {
        self.due.map(|due| Timestamp::from_micros(due.at_micros))
    }
}

impl Refund {
    fn wire(&self) -> Value {
        let transaction = |name: &str| format!("txn_{name}_{}", self.id);
        json!({
            "id": self.id, "object": Self::KIND, "amount": self.amount, "charge": self.charge, "payment_intent": self.payment_intent,
            "currency": self.currency, "reason": self.reason, "metadata": self.metadata, "status": self.status.name(),
            "failure_reason": self.failure_reason, "balance_transaction": transaction("refund"),
            "failure_balance_transaction": (self.status == Status::Failed).then(|| transaction("failure")), "created": self.created,
        })
    }
}

/// `POST /v1/refunds`
pub(super) async fn create(state: &mut State<'_>, call: &Call) -> Result<Answer, CallError> {
    call.form.allow(&["payment_intent", "charge", "amount", "reason", "metadata["])?;
    let metadata = call.form.metadata()?;
    refund(state, call, metadata).await
}

/// For tests: makes a refund in the processor's dashboard, which has no metadata of the store.
pub(super) async fn create_for_test(state: &mut State<'_>, call: &Call) -> Result<Answer, CallError> {
    call.form.allow(&["payment_intent", "charge", "amount", "reason"])?;
    refund(state, call, BTreeMap::new()).await
}

/// Makes a refund. A guarded update ensures that refunds never exceed the charge.
async fn refund(state: &mut State<'_>, call: &Call, metadata: BTreeMap<String, String>) -> Result<Answer, CallError> {
    let form = &call.form;
    let reason = one_of(form, "reason", &["duplicate", "fraudulent", "requested_by_customer"])?.map(str::to_owned);
    let requested = form.amount("amount")?;
    let charge = match form.text("charge") {
        Some(id) => charge::load(state, id).await?,
        None => charge::of_payment(state, form.need("payment_intent")?).await?,
    };
    let amount = requested.unwrap_or_else(|| charge.refundable());
    if amount == 0 || !charge::add_refunded(state, &charge.id, amount).await? {
        return Err(excess_error(&charge, amount).into());
    }
    let due_at = state.now.plus(DECIDED_AFTER).micros();
    let card = intent::load(state, &charge.intent).await?.value.card(state).await?;
    let (status, due) = match card.map_or(RefundCourse::Succeeds, TestCard::refund) {
        RefundCourse::Succeeds => (Status::Succeeded, None),
        RefundCourse::SucceedsLater => (Status::Pending, Some(Due { at_micros: due_at, status: Status::Succeeded })),
        RefundCourse::FailsLater => (Status::Succeeded, Some(Due { at_micros: due_at, status: Status::Failed })),
    };
    let refund = Refund {
        id: state.id("re"),
        charge: charge.id.clone(),
        payment_intent: charge.intent,
        amount,
        currency: charge.currency,
        reason,
        metadata,
        status,
        failure_reason: None,
        due,
        created: state.now.seconds(),
    };
    let wire = state.insert(refund).await?.value.wire();
    state.record("refund.created", &wire).await?;
    let refunded = charge::load(state, &charge.id).await?.wire();
    state.record("charge.refunded", &refunded).await?;
    Ok(Answer::ok(wire))
}

/// Loads a refund after applying its scheduled change if that is due.
pub(super) async fn load(state: &mut State<'_>, id: &str) -> Result<Stored<Refund>, CallError> {
    let mut stored = state.need::<Refund>(id).await?;
    match stored.value.due.take_if(|due| due.at_micros <= state.now.micros()) {
        Some(Due { status: Status::Failed, .. }) => fail(state, &mut stored, CARD_FAILURE).await?,
        Some(Due { status, .. }) => {
            stored.value.status = status;
            state.save(&mut stored).await?;
            let wire = stored.value.wire();
            state.record("refund.updated", &wire).await?;
            state.record("charge.refund.updated", &wire).await?;
        }
        None => {}
    }
    Ok(stored)
}

/// Fails a refund: its amount returns to the store's balance and can be refunded again.
async fn fail(state: &mut State<'_>, stored: &mut Stored<Refund>, reason: &str) -> Result<(), CallError> {
    charge::subtract_refunded(state, &stored.value.charge, stored.value.amount).await?;
    stored.value.status = Status::Failed;
    stored.value.failure_reason = Some(reason.to_owned());
    stored.value.due = None;
    state.save(stored).await?;
    let wire = stored.value.wire();
    for event in ["refund.updated", "refund.failed", "charge.refund.updated"] {
        state.record(event, &wire).await?;
    }
    Ok(())
}

/// For tests: fails a succeeded refund.
pub(super) async fn fail_for_test(state: &mut State<'_>, call: &Call, id: &str) -> Result<Answer, CallError> {
    call.form.allow(&["failure_reason"])?;
    let reason = one_of(&call.form, "failure_reason", &FAILURES)?.unwrap_or("unknown");
    let mut stored = load(state, id).await?;
    if stored.value.status == Status::Failed {
        return Err(ApiError::invalid("refund_unexpected_state", "This refund has failed already.".to_owned()).into());
    }
    fail(state, &mut stored, reason).await?;
    Ok(Answer::ok(stored.value.wire()))
}

pub(super) async fn retrieve(state: &mut State<'_>, id: &str) -> Result<Answer, CallError> {
    Ok(Answer::ok(load(state, id).await?.value.wire()))
}

/// The refunds of a payment or of a charge, newest first.
pub(super) async fn list(state: &mut State<'_>, call: &Call) -> Result<Answer, CallError> {
    call.form.allow(&["payment_intent", "charge", "limit", "starting_after"])?;
    let filter = ["payment_intent", "charge"].into_iter().find_map(|name| Some(format!("\"{name}\":\"{}\"", call.form.text(name)?)));
    let found = state.containing::<Refund>(&filter.unwrap_or_default()).await?;
    page("/v1/refunds", &call.form, found, |refund| refund.created, Refund::wire)
}

fn excess_error(charge: &Charge, requested: i64) -> ApiError {
    let left = charge.refundable();
    if charge.amount_disputed > 0 {
        let message = format!("Charge {} has been charged back; what was withdrawn cannot be refunded.", charge.id);
        return ApiError::invalid("charge_disputed", message);
    }
    if left == 0 {
        return ApiError::invalid("charge_already_refunded", format!("Charge {} has already been refunded.", charge.id));
    }
    let message = format!("Refund amount ({requested}) is greater than unrefunded amount on charge ({left}).");
    ApiError::invalid("amount_too_large", message).with_param("amount")
}

/// For tests: all refunds as `[{id, payment_intent, refund, amount, currency, status}]`; `refund` is the store's refund id, empty for
/// refunds made in the dashboard.
pub(super) async fn all(state: &mut State<'_>) -> Result<Answer, CallError> {
    let found = state.containing::<Refund>("").await?;
    let wire = |refund: &Refund| {
        let name = refund.metadata.get("refund").map(String::as_str).unwrap_or_default();
        json!({
            "id": refund.id, "payment_intent": refund.payment_intent, "refund": name, "amount": refund.amount, "currency": refund.currency,
            "status": refund.status.name(),
        })
    };
    Ok(Answer::ok(found.iter().map(wire).collect()))
}
