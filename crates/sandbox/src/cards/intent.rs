//! Payment intents, their states and transitions.

use super::call::{Answer, ApiError, Call, CallError, Caller, Form, Wait};
use super::card::{self, Decline, TestCard, Verdict};
use super::customer::{Customer, PaymentMethod};
use super::state::{Object, State, Stored, page};
use super::{charge, currency, dispute};
use crate::time::Timestamp;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use subtle::ConstantTimeEq;

/// The fields of `automatic_payment_methods`.
const AUTOMATIC_FIELDS: [&str; 2] = ["automatic_payment_methods[enabled]", "automatic_payment_methods[allow_redirects]"];
/// The path at which the store mounts the endpoints, for the URL of the challenge page in the payer's browser.
const MOUNT: &str = "/sandbox/stripe";

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Status {
    RequiresPaymentMethod,
    RequiresConfirmation,
    RequiresAction,
    Processing,
    Succeeded,
    Canceled,
}

impl Status {
    pub const fn name(self) -> &'static str {
        match self {
            Self::RequiresPaymentMethod => "requires_payment_method",
            Self::RequiresConfirmation => "requires_confirmation",
            Self::RequiresAction => "requires_action",
            Self::Processing => "processing",
            Self::Succeeded => "succeeded",
            Self::Canceled => "canceled",
        }
    }

    /// Returns whether the intent is undecided and not processing.
    pub const fn is_open(self) -> bool {
        matches!(self, Self::RequiresPaymentMethod | Self::RequiresConfirmation | Self::RequiresAction)
    }
}

/// `automatic_payment_methods` of an intent. The processor chooses the methods, and it knows only cards.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct AutomaticMethods {
    enabled: bool,
    allow_redirects: String,
}

/// The scheduled result of a processing intent.
#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
struct Due {
    at_micros: i64,
    paid: bool,
}

#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct Intent {
    pub id: String,
    pub client_secret: String,
    pub amount: i64,
    pub currency: String,
    pub metadata: BTreeMap<String, String>,
    pub description: Option<String>,
    pub status: Status,
    pub created: i64,
    pub payment_method: Option<String>,
    pub customer: Option<String>,
    receipt_email: Option<String>,
    setup_future_usage: Option<String>,
    #[serde(default)]
    automatic_payment_methods: Option<AutomaticMethods>,
    amount_received: i64,
    latest_charge: Option<String>,
    last_payment_error: Option<Value>,
    canceled_at: Option<i64>,
    cancellation_reason: Option<String>,
    due: Option<Due>,
}

impl Object for Intent {
    const KIND: &'static str = "payment_intent";

    fn id(&self) -> &str {
        &self.id
    }

    fn due_at(&self) -> Option<Timestamp> {
        self.due.map(|due| Timestamp::from_micros(due.at_micros))
    }
}

impl Intent {
    /// The wire format. Browsers see fewer fields.
    pub fn wire(&self, caller: Caller) -> Value {
        let next_action = (self.status == Status::RequiresAction).then(|| challenge(Self::KIND, &self.id, &self.client_secret));
        let mut wire = json!({
            "id": self.id, "object": Self::KIND, "amount": self.amount, "amount_capturable": 0, "amount_received": self.amount_received,
            "automatic_payment_methods": self.automatic_payment_methods,
            "canceled_at": self.canceled_at, "cancellation_reason": self.cancellation_reason, "capture_method": "automatic",
            "client_secret": self.client_secret, "confirmation_method": "automatic", "created": self.created, "currency": self.currency,
            "customer": self.customer, "description": self.description, "last_payment_error": self.last_payment_error,
            "latest_charge": self.latest_charge, "livemode": false, "metadata": self.metadata, "next_action": next_action,
            "payment_method": self.payment_method, "payment_method_types": ["card"], "receipt_email": self.receipt_email,
            "setup_future_usage": self.setup_future_usage, "status": self.status.name(),
        });
        if let (Caller::Publishable, Some(fields)) = (caller, wire.as_object_mut()) {
            fields.retain(|name, _| !matches!(name.as_str(), "customer" | "latest_charge" | "metadata" | "receipt_email"));
        }
        wire
    }

    /// The test card of the last payment attempt.
    pub async fn card(&self, state: &mut State<'_>) -> Result<Option<TestCard>, CallError> {
        match &self.payment_method {
            Some(id) => Ok(state.load::<PaymentMethod>(id).await?.map(|method| method.value.card)),
            None => Ok(None),
        }
    }

    fn unexpected_state(&self, caller: Caller, verb: &str) -> ApiError {
        let message = match self.status {
            Status::Succeeded => format!("You cannot {verb} this PaymentIntent because it has already succeeded."),
            status => format!("You cannot {verb} this PaymentIntent because it has a status of {}.", status.name()),
        };
        ApiError::invalid("payment_intent_unexpected_state", message).with_object(Self::KIND, self.wire(caller))
    }
}

/// The `next_action` that tells the browser to open the second step.
pub(super) fn challenge(kind: &str, id: &str, client_secret: &str) -> Value {
    let address = format!("{MOUNT}/challenge/{kind}s/{id}?client_secret={client_secret}");
    json!({ "type": "use_sandbox_challenge", "challenge_url": address })
}

/// Checks the client secret, which is required for browsers and optional for servers.
pub(super) fn check_secret(call: &Call, kind: &str, id: &str, client_secret: &str) -> Result<(), ApiError> {
    match call.form.text("client_secret") {
        Some(shown) if bool::from(shown.as_bytes().ct_eq(client_secret.as_bytes())) => Ok(()),
        None if call.caller == Caller::Secret => Ok(()),
        _ => Err(ApiError::missing(kind, id)),
    }
}

pub(super) async fn create(state: &mut State<'_>, call: &Call) -> Result<Answer, CallError> {
    let form = &call.form;
    form.allow(&[
        "amount",
        "currency",
        "confirm",
        "off_session",
        "customer",
        "payment_method",
        "description",
        "receipt_email",
        "setup_future_usage",
        "payment_method_types[",
        "automatic_payment_methods[",
        "metadata[",
        "return_url",
    ])?;
    check_usage(form)?;
    let currency = currency::parse(form.need("currency")?)?;
    form.need("amount")?;
    let amount = form.amount("amount")?.unwrap_or_default();
    currency::check_amount(amount, &currency)?;
    let automatic_payment_methods = payment_methods(form)?;
    let (confirm, off_session) = (form.flag("confirm")?, form.flag("off_session")?);
    if off_session && !confirm {
        return Err(ApiError::invalid("parameter_invalid", "off_session needs confirm=true.".to_owned()).with_param("off_session").into());
    }
    if let Some(customer) = form.text("customer") {
        Customer::existing(state, customer).await?;
    }
    let payment_method = match form.text("payment_method") {
        Some(id) => Some(state.need::<PaymentMethod>(id).await?.value),
        None => None,
    };
    let id = state.id("pi");
    let intent = Intent {
        client_secret: state.client_secret(&id),
        id,
        amount,
        currency,
        metadata: form.metadata()?,
        description: form.owned("description"),
        status: if payment_method.is_some() { Status::RequiresConfirmation } else { Status::RequiresPaymentMethod },
        created: state.now.seconds(),
        payment_method: payment_method.as_ref().map(|method| method.id.clone()),
        customer: form.owned("customer"),
        receipt_email: form.owned("receipt_email"),
        setup_future_usage: form.owned("setup_future_usage"),
        automatic_payment_methods,
        amount_received: 0,
        latest_charge: None,
        last_payment_error: None,
        canceled_at: None,
        cancellation_reason: None,
        due: None,
    };
    let stored = state.insert(intent).await?;
    let wire = stored.value.wire(Caller::Secret);
    state.record("payment_intent.created", &wire).await?;
    match payment_method {
        _ if !confirm => Ok(Answer::ok(wire)),
        Some(method) => pay(state, call.caller, stored, &method, off_session).await,
        None => Err(no_payment_method(&stored.value, call.caller).into()),
    }
}

/// Loads an intent after applying its scheduled result if that is due.
pub(super) async fn load(state: &mut State<'_>, id: &str) -> Result<Stored<Intent>, CallError> {
    let mut stored = state.need::<Intent>(id).await?;
    if let Some(due) = stored.value.due.take_if(|due| due.at_micros <= state.now.micros()) {
        if due.paid {
            succeed(state, &mut stored.value).await?;
        } else {
            fail(state, &mut stored.value, card::GENERIC).await?;
        }
        state.save(&mut stored).await?;
    }
    Ok(stored)
}

/// A customer's intents, newest first.
pub(super) async fn list(state: &mut State<'_>, call: &Call) -> Result<Answer, CallError> {
    call.form.allow(&["customer", "created[gte]", "limit", "starting_after"])?;
    let filter = call.form.text("customer").map_or_else(String::new, |customer| format!("\"customer\":\"{customer}\""));
    let mut found = state.containing::<Intent>(&filter).await?;
    if let Some(since) = call.form.amount("created[gte]")? {
        found.retain(|intent| intent.created >= since);
    }
    page("/v1/payment_intents", &call.form, found, |intent| intent.created, |intent| intent.wire(call.caller))
}

pub(super) async fn retrieve(state: &mut State<'_>, call: &Call, id: &str) -> Result<Answer, CallError> {
    call.form.allow(&["client_secret"])?;
    let stored = load(state, id).await?;
    check_secret(call, Intent::KIND, id, &stored.value.client_secret)?;
    Ok(Answer::ok(stored.value.wire(call.caller)))
}

pub(super) async fn confirm(state: &mut State<'_>, call: &Call, id: &str) -> Result<Answer, CallError> {
    let form = &call.form;
    form.allow(&[
        "client_secret",
        "payment_method",
        "payment_method_data[",
        "off_session",
        "return_url",
        "use_stripe_sdk",
        "setup_future_usage",
    ])?;
    check_usage(form)?;
    let mut stored = load(state, id).await?;
    check_secret(call, Intent::KIND, id, &stored.value.client_secret)?;
    let off_session = form.flag("off_session")?;
    if off_session && call.caller == Caller::Publishable {
        return Err(ApiError::forbidden().into());
    }
    if !stored.value.status.is_open() {
        return Err(stored.value.unexpected_state(call.caller, "confirm").into());
    }
    if let Some(usage) = form.owned("setup_future_usage") {
        stored.value.setup_future_usage = Some(usage);
    }
    let method = match PaymentMethod::from_form(state, form).await? {
        Some(method) => method,
        None => match &stored.value.payment_method {
            Some(id) => state.need::<PaymentMethod>(id).await?.value,
            None => return Err(no_payment_method(&stored.value, call.caller).into()),
        },
    };
    pay(state, call.caller, stored, &method, off_session).await
}

/// Handles the payer's response to the second step.
pub(super) async fn authenticate(state: &mut State<'_>, call: &Call, id: &str) -> Result<Answer, CallError> {
    call.form.allow(&["client_secret", "success"])?;
    call.form.need("success")?;
    let success = call.form.flag("success")?;
    let mut stored = load(state, id).await?;
    check_secret(call, Intent::KIND, id, &stored.value.client_secret)?;
    if stored.value.status != Status::RequiresAction {
        return Err(stored.value.unexpected_state(call.caller, "authenticate").into());
    }
    let declined = if success {
        succeed(state, &mut stored.value).await?;
        None
    } else {
        fail(state, &mut stored.value, card::AUTHENTICATION_FAILED).await?;
        Some(card::AUTHENTICATION_FAILED)
    };
    state.save(&mut stored).await?;
    Ok(answer(&stored.value, call.caller, declined))
}

pub(super) async fn cancel(state: &mut State<'_>, call: &Call, id: &str) -> Result<Answer, CallError> {
    call.form.allow(&["cancellation_reason"])?;
    let reason = one_of(&call.form, "cancellation_reason", &["duplicate", "fraudulent", "requested_by_customer", "abandoned"])?;
    let mut stored = load(state, id).await?;
    if !stored.value.status.is_open() {
        return Err(stored.value.unexpected_state(call.caller, "cancel").into());
    }
    stored.value.status = Status::Canceled;
    stored.value.canceled_at = Some(state.now.seconds());
    stored.value.cancellation_reason = reason.map(str::to_owned);
    state.save(&mut stored).await?;
    let wire = stored.value.wire(Caller::Secret);
    state.record("payment_intent.canceled", &wire).await?;
    Ok(Answer::ok(wire))
}

async fn pay(
    state: &mut State<'_>,
    caller: Caller,
    mut stored: Stored<Intent>,
    method: &PaymentMethod,
    off_session: bool,
) -> Result<Answer, CallError> {
    let intent = &mut stored.value;
    method.check_payer(intent.customer.as_deref(), off_session)?;
    intent.payment_method = Some(method.id.clone());
    intent.last_payment_error = None;
    let mut declined = None;
    let mut wait = None;
    match method.pay(off_session) {
        Verdict::Paid => succeed(state, intent).await?,
        Verdict::Declined(decline) => {
            fail(state, intent, decline).await?;
            declined = Some(decline);
        }
        Verdict::SecondStep => enter(state, intent, Status::RequiresAction).await?,
        Verdict::Later { after, paid, answer_waits } => {
            let at = state.now.plus(after);
            intent.due = Some(Due { at_micros: at.micros(), paid });
            enter(state, intent, Status::Processing).await?;
            wait = answer_waits.then(|| Wait { until: at, intent: Some(intent.id.clone()), expansions: Vec::new() });
        }
        Verdict::Never => {
            enter(state, intent, Status::Processing).await?;
            wait = Some(Wait { until: state.now.plus(card::SILENCE), intent: None, expansions: Vec::new() });
        }
    }
    state.save(&mut stored).await?;
    Ok(Answer { wait, ..answer(&stored.value, caller, declined) })
}

/// Charges the card and completes the intent.
async fn succeed(state: &mut State<'_>, intent: &mut Intent) -> Result<(), CallError> {
    let charge = charge::create(state, intent).await?;
    intent.latest_charge = Some(charge.id.clone());
    intent.amount_received = intent.amount;
    if let (Some(_), Some(customer), Some(method)) = (&intent.setup_future_usage, &intent.customer, &intent.payment_method) {
        PaymentMethod::setup_future_usage(state, method, customer).await?;
    }
    state.record("charge.succeeded", &charge.wire()).await?;
    enter(state, intent, Status::Succeeded).await?;
    dispute::after_charge(state, intent, charge).await
}

async fn fail(state: &mut State<'_>, intent: &mut Intent, decline: Decline) -> Result<(), CallError> {
    let method = match &intent.payment_method {
        Some(id) => state.load::<PaymentMethod>(id).await?.map(|method| method.value.wire()),
        None => None,
    };
    intent.last_payment_error = Some(json!({
        "type": "card_error", "code": decline.code, "decline_code": decline.decline_code, "message": decline.message, "payment_method": method,
    }));
    intent.payment_method = None;
    enter(state, intent, Status::RequiresPaymentMethod).await
}

/// For tests: fails a succeeded payment later. Its charge is gone, and the intent waits for another card.
pub(super) async fn fail_for_test(state: &mut State<'_>, call: &Call, id: &str) -> Result<Answer, CallError> {
    call.form.allow(&[])?;
    let mut stored = load(state, id).await?;
    if stored.value.status != Status::Succeeded {
        return Err(stored.value.unexpected_state(call.caller, "fail").into());
    }
    let charge = charge::of_payment(state, id).await?;
    charge::remove(state, &charge).await?;
    state.record("charge.failed", &charge.failed_wire()).await?;
    stored.value.amount_received = 0;
    fail(state, &mut stored.value, card::GENERIC).await?;
    state.save(&mut stored).await?;
    Ok(Answer::ok(stored.value.wire(call.caller)))
}

/// Sets the status and records its event.
async fn enter(state: &mut State<'_>, intent: &mut Intent, status: Status) -> Result<(), CallError> {
    intent.status = status;
    let event = match status {
        Status::Succeeded => "payment_intent.succeeded",
        Status::Processing => "payment_intent.processing",
        Status::RequiresAction => "payment_intent.requires_action",
        Status::Canceled => "payment_intent.canceled",
        Status::RequiresPaymentMethod | Status::RequiresConfirmation => "payment_intent.payment_failed",
    };
    state.record(event, &intent.wire(Caller::Secret)).await
}

fn answer(intent: &Intent, caller: Caller, declined: Option<Decline>) -> Answer {
    match declined {
        None => Answer::ok(intent.wire(caller)),
        Some(Decline { code, decline_code, message }) => {
            ApiError::card(code, decline_code, message).with_object(Intent::KIND, intent.wire(caller)).answer()
        }
    }
}

fn no_payment_method(intent: &Intent, caller: Caller) -> ApiError {
    let message = "You cannot confirm this PaymentIntent because it's missing a payment method.".to_owned();
    ApiError::invalid("payment_intent_unexpected_state", message).with_object(Intent::KIND, intent.wire(caller))
}

fn check_usage(form: &Form) -> Result<(), ApiError> {
    one_of(form, "setup_future_usage", &["off_session", "on_session"]).map(|_| ())
}

/// Returns the value of a field, which must be one of `values` if present.
pub(super) fn one_of<'a>(form: &'a Form, name: &str, values: &[&str]) -> Result<Option<&'a str>, ApiError> {
    match form.text(name) {
        Some(text) if !values.contains(&text) => Err(ApiError::invalid("parameter_invalid", format!("Invalid {name}.")).with_param(name)),
        text => Ok(text),
    }
}

/// Reads `payment_method_types` and `automatic_payment_methods`, which exclude each other.
pub(super) fn payment_methods(form: &Form) -> Result<Option<AutomaticMethods>, ApiError> {
    let invalid = |message: &str, param: &str| ApiError::invalid("parameter_invalid", message.to_owned()).with_param(param);
    if form.values("payment_method_types[").any(|kind| kind != "card") {
        return Err(invalid("Only payment_method_types card are known here.", "payment_method_types"));
    }
    if let Some(unknown) = form.fields("automatic_payment_methods[").map(|(name, _)| name).find(|name| !AUTOMATIC_FIELDS.contains(name)) {
        return Err(ApiError::invalid("parameter_unknown", format!("Received unknown parameter: {unknown}")).with_param(unknown));
    }
    if form.values("automatic_payment_methods[").next().is_none() {
        return Ok(None);
    }
    let [enabled, redirects] = AUTOMATIC_FIELDS;
    form.need(enabled)?;
    let methods = AutomaticMethods {
        enabled: form.flag(enabled)?,
        allow_redirects: one_of(form, redirects, &["always", "never"])?.unwrap_or("always").to_owned(),
    };
    if methods.enabled && form.values("payment_method_types[").next().is_some() {
        let message = "You may only specify one of these parameters: automatic_payment_methods, payment_method_types.";
        return Err(invalid(message, "payment_method_types"));
    }
    Ok(Some(methods))
}
