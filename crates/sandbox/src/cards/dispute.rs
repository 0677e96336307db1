//! Disputes of charges: inquiries and chargebacks of the cardholder's bank, and their decisions.
//!
//! As at Stripe, a chargeback withdraws the amount and a fee immediately; a won dispute returns the amount but not the fee.

use super::call::{Answer, ApiError, Call, CallError, Form};
use super::card::{CardDispute, TestCard};
use super::charge::{self, Charge};
use super::intent::{Intent, one_of};
use super::state::{Object, State, Stored, page};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use std::collections::BTreeMap;

/// The processor's fee for a chargeback, in minor units of the charge's currency.
pub(super) const FEE: i64 = 1_500;
/// Time for the store to respond, in seconds.
const RESPONSE_SECONDS: i64 = 7 * 86_400;
const REASONS: [&str; 8] = [
    "credit_not_processed",
    "duplicate",
    "fraudulent",
    "general",
    "product_not_received",
    "product_unacceptable",
    "subscription_canceled",
    "unrecognized",
];

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Status {
    /// An inquiry: the bank asks for information and withdraws nothing.
    WarningNeedsResponse,
    WarningUnderReview,
    WarningClosed,
    /// A chargeback: the funds are withdrawn.
    NeedsResponse,
    UnderReview,
    Won,
    Lost,
}

impl Status {
    const ALL: [Self; 7] = [
        Self::WarningNeedsResponse,
        Self::WarningUnderReview,
        Self::WarningClosed,
        Self::NeedsResponse,
        Self::UnderReview,
        Self::Won,
        Self::Lost,
    ];

    const fn name(self) -> &'static str {
        match self {
            Self::WarningNeedsResponse => "warning_needs_response",
            Self::WarningUnderReview => "warning_under_review",
            Self::WarningClosed => "warning_closed",
            Self::NeedsResponse => "needs_response",
            Self::UnderReview => "under_review",
            Self::Won => "won",
            Self::Lost => "lost",
        }
    }

    fn parse(text: &str) -> Result<Self, ApiError> {
        let known = Self::ALL.into_iter().find(|status| status.name() == text);
        known.ok_or_else(|| ApiError::invalid("parameter_invalid", format!("Invalid status: {text}")).with_param("status"))
    }

    const fn is_inquiry(self) -> bool {
        matches!(self, Self::WarningNeedsResponse | Self::WarningUnderReview | Self::WarningClosed)
    }

    const fn is_closed(self) -> bool {
        matches!(self, Self::WarningClosed | Self::Won | Self::Lost)
    }

    const fn may_become(self, next: Self) -> bool {
        match self {
            Self::WarningNeedsResponse => matches!(next, Self::WarningUnderReview | Self::WarningClosed | Self::NeedsResponse),
            Self::WarningUnderReview => matches!(next, Self::WarningClosed | Self::NeedsResponse),
            Self::NeedsResponse => matches!(next, Self::UnderReview | Self::Won | Self::Lost),
            Self::UnderReview => matches!(next, Self::Won | Self::Lost),
            Self::WarningClosed | Self::Won | Self::Lost => false,
        }
    }
}

/// A movement of funds by a dispute; negative for withdrawals.
#[derive(Debug, Serialize, Deserialize)]
struct BalanceTransaction {
    id: String,
    amount: i64,
    fee: i64,
    created: i64,
}

#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Dispute {
    id: String,
    charge: String,
    payment_intent: String,
    amount: i64,
    currency: String,
    reason: String,
    status: Status,
    evidence: Option<String>,
    submissions: u32,
    balance_transactions: Vec<BalanceTransaction>,
    metadata: BTreeMap<String, String>,
    created: i64,
}

impl Object for Dispute {
    const KIND: &'static str = "dispute";

    fn id(&self) -> &str {
        &self.id
    }
}

impl Dispute {
    fn wire(&self) -> Value {
        let moved = self.balance_transactions.iter().map(|moved| {
            let fees = (moved.fee != 0)
                .then(|| json!({ "amount": moved.fee, "currency": self.currency, "description": "Dispute fee", "type": "stripe_fee" }));
            json!({
                "id": moved.id, "object": "balance_transaction", "type": "adjustment", "reporting_category": "dispute",
                "amount": moved.amount, "fee": moved.fee, "net": moved.amount - moved.fee, "currency": self.currency,
                "fee_details": fees.into_iter().collect::<Vec<_>>(), "source": self.id, "created": moved.created, "status": "available",
            })
        });
        json!({
            "id": self.id, "object": Self::KIND, "amount": self.amount, "currency": self.currency, "charge": self.charge,
            "payment_intent": self.payment_intent, "reason": self.reason, "status": self.status.name(),
            "is_charge_refundable": self.status.is_inquiry(), "balance_transactions": moved.collect::<Vec<_>>(),
            "evidence": { "uncategorized_text": self.evidence },
            "evidence_details": {
                "due_by": self.created + RESPONSE_SECONDS, "has_evidence": self.evidence.is_some(), "past_due": false,
                "submission_count": self.submissions,
            },
            "metadata": self.metadata, "created": self.created, "livemode": false,
        })
    }
}

/// The parameters of a new dispute.
pub(super) struct NewDispute {
    pub amount: i64,
    pub reason: &'static str,
    pub inquiry: bool,
}

/// Opens a dispute. Fails while another dispute of the charge is open, or if the amount exceeds the refundable amount.
pub(super) async fn open(state: &mut State<'_>, charge: Charge, new: NewDispute) -> Result<Value, CallError> {
    // This comes first because it locks the charge's row.
    charge::mark_disputed(state, &charge.id).await?;
    let of_charge = state.containing::<Dispute>(&format!("\"charge\":\"{}\"", charge.id)).await?;
    if of_charge.iter().any(|dispute| !dispute.status.is_closed()) {
        return Err(ApiError::invalid("charge_already_disputed", format!("Charge {} is disputed already.", charge.id)).into());
    }
    let NewDispute { amount, reason, inquiry } = new;
    if amount > charge.refundable() {
        let message = format!("Dispute amount ({amount}) is greater than what is left of the charge ({}).", charge.refundable());
        return Err(ApiError::invalid("amount_too_large", message).with_param("amount").into());
    }
    let dispute = Dispute {
        id: state.id("du"),
        charge: charge.id,
        payment_intent: charge.intent,
        amount,
        currency: charge.currency,
        reason: reason.to_owned(),
        status: if inquiry { Status::WarningNeedsResponse } else { Status::NeedsResponse },
        evidence: None,
        submissions: 0,
        balance_transactions: Vec::new(),
        metadata: BTreeMap::new(),
        created: state.now.seconds(),
    };
    let mut stored = state.insert(dispute).await?;
    state.record("charge.dispute.created", &stored.value.wire()).await?;
    if !inquiry {
        withdraw(state, &mut stored.value).await?;
        state.save(&mut stored).await?;
        state.record("charge.dispute.funds_withdrawn", &stored.value.wire()).await?;
    }
    Ok(stored.value.wire())
}

async fn withdraw(state: &mut State<'_>, dispute: &mut Dispute) -> Result<(), CallError> {
    charge::withdraw(state, &dispute.charge, dispute.amount, FEE).await?;
    let (id, created) = (state.id("txn"), state.now.seconds());
    dispute.balance_transactions.push(BalanceTransaction { id, amount: -dispute.amount, fee: FEE, created });
    Ok(())
}

async fn reinstate(state: &mut State<'_>, dispute: &mut Dispute) -> Result<(), CallError> {
    charge::reinstate(state, &dispute.charge, dispute.amount).await?;
    let (id, created) = (state.id("txn"), state.now.seconds());
    dispute.balance_transactions.push(BalanceTransaction { id, amount: dispute.amount, fee: 0, created });
    Ok(())
}

/// Changes the status of a dispute, moves the funds accordingly, and records the events.
async fn advance(state: &mut State<'_>, mut stored: Stored<Dispute>, next: Status) -> Result<Value, CallError> {
    let status = stored.value.status;
    if !status.may_become(next) {
        let message = format!("A dispute with a status of {} cannot become {}.", status.name(), next.name());
        return Err(ApiError::invalid("dispute_unexpected_state", message).into());
    }
    stored.value.status = next;
    let mut events = vec!["charge.dispute.updated"];
    match next {
        Status::NeedsResponse => {
            withdraw(state, &mut stored.value).await?;
            events.push("charge.dispute.funds_withdrawn");
        }
        Status::Won => {
            reinstate(state, &mut stored.value).await?;
            events = vec!["charge.dispute.funds_reinstated", "charge.dispute.closed"];
        }
        closed if closed.is_closed() => events = vec!["charge.dispute.closed"],
        _ => {}
    }
    state.save(&mut stored).await?;
    let wire = stored.value.wire();
    for event in events {
        state.record(event, &wire).await?;
    }
    Ok(wire)
}

pub(super) async fn retrieve(state: &mut State<'_>, id: &str) -> Result<Answer, CallError> {
    Ok(Answer::ok(state.need::<Dispute>(id).await?.value.wire()))
}

/// The disputes of a payment or of a charge, newest first.
pub(super) async fn list(state: &mut State<'_>, call: &Call) -> Result<Answer, CallError> {
    call.form.allow(&["payment_intent", "charge", "limit", "starting_after"])?;
    let filter = ["payment_intent", "charge"].into_iter().find_map(|name| Some(format!("\"{name}\":\"{}\"", call.form.text(name)?)));
    let found = state.containing::<Dispute>(&filter.unwrap_or_default()).await?;
    page("/v1/disputes", &call.form, found, |dispute| dispute.created, Dispute::wire)
}

/// Submits evidence. Three texts decide a dispute immediately, as in Stripe's test mode; any other text leads to a review.
pub(super) async fn update(state: &mut State<'_>, call: &Call, id: &str) -> Result<Answer, CallError> {
    let form = &call.form;
    form.allow(&["evidence[uncategorized_text]", "submit", "metadata["])?;
    let mut stored = state.need::<Dispute>(id).await?;
    stored.value.metadata.extend(form.metadata()?);
    let submits = form.text("submit").is_none() || form.flag("submit")?;
    let evidence = form.owned("evidence[uncategorized_text]");
    if evidence.is_some() {
        stored.value.evidence.clone_from(&evidence);
        stored.value.submissions += u32::from(submits);
    }
    let status = stored.value.status;
    let next = match evidence.as_deref().filter(|_| submits) {
        None => None,
        Some(_) if status.is_closed() => {
            return Err(ApiError::invalid("dispute_unexpected_state", "This dispute is already closed.".to_owned()).into());
        }
        Some("winning_evidence") if status.is_inquiry() => Some(Status::WarningClosed),
        Some("winning_evidence") => Some(Status::Won),
        Some("losing_evidence" | "escalate_inquiry_evidence") if status.is_inquiry() => Some(Status::NeedsResponse),
        Some("losing_evidence") => Some(Status::Lost),
        Some(_) if status == Status::WarningNeedsResponse => Some(Status::WarningUnderReview),
        Some(_) if status == Status::NeedsResponse => Some(Status::UnderReview),
        Some(_) => None,
    };
    match next {
        Some(next) => Ok(Answer::ok(advance(state, stored, next).await?)),
        None => {
            state.save(&mut stored).await?;
            let wire = stored.value.wire();
            state.record("charge.dispute.updated", &wire).await?;
            Ok(Answer::ok(wire))
        }
    }
}

/// Accepts the dispute on behalf of the store.
pub(super) async fn close(state: &mut State<'_>, call: &Call, id: &str) -> Result<Answer, CallError> {
    call.form.allow(&[])?;
    let stored = state.need::<Dispute>(id).await?;
    let next = if stored.value.status.is_inquiry() { Status::WarningClosed } else { Status::Lost };
    Ok(Answer::ok(advance(state, stored, next).await?))
}

/// For tests: opens a dispute of `payment_intent`; `status` selects an inquiry or a chargeback.
pub(super) async fn create_for_test(state: &mut State<'_>, call: &Call) -> Result<Answer, CallError> {
    let form = &call.form;
    form.allow(&["payment_intent", "amount", "reason", "status"])?;
    let inquiry = match form.text("status").map(Status::parse).transpose()?.unwrap_or(Status::NeedsResponse) {
        Status::WarningNeedsResponse => true,
        Status::NeedsResponse => false,
        other => return Err(ApiError::invalid("parameter_invalid", format!("A dispute does not begin as {}.", other.name())).into()),
    };
    let charge = charge::of_payment(state, form.need("payment_intent")?).await?;
    let reason = reason(form)?;
    let amount = form.amount("amount")?.unwrap_or_else(|| charge.refundable());
    Ok(Answer::ok(open(state, charge, NewDispute { amount, reason, inquiry }).await?))
}

fn reason(form: &Form) -> Result<&'static str, ApiError> {
    let named = one_of(form, "reason", &REASONS)?;
    Ok(REASONS.into_iter().find(|reason| named == Some(reason)).unwrap_or("fraudulent"))
}

/// For tests: changes the status of a dispute, as its bank would.
pub(super) async fn set_status_for_test(state: &mut State<'_>, call: &Call, id: &str) -> Result<Answer, CallError> {
    call.form.allow(&["status"])?;
    let next = Status::parse(call.form.need("status")?)?;
    let stored = state.need::<Dispute>(id).await?;
    Ok(Answer::ok(advance(state, stored, next).await?))
}

/// For tests: all disputes.
pub(super) async fn all(state: &mut State<'_>) -> Result<Answer, CallError> {
    Ok(Answer::ok(state.containing::<Dispute>("").await?.iter().map(Dispute::wire).collect()))
}

/// Opens the dispute that a test card brings, after its charge has been recorded.
pub(super) async fn after_charge(state: &mut State<'_>, intent: &Intent, charge: Charge) -> Result<(), CallError> {
    let Some(CardDispute { reason, inquiry }) = intent.card(state).await?.and_then(TestCard::dispute) else { return Ok(()) };
    let amount = charge.amount;
    open(state, charge, NewDispute { amount, reason, inquiry }).await.map(drop)
}
