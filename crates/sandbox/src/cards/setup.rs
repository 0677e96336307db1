//! Setup intents, which save a card for later without a payment.

use super::call::{Answer, ApiError, Call, CallError, Caller};
use super::card::{self, Decline, Verdict};
use super::customer::{Customer, PaymentMethod};
use super::intent::{AutomaticMethods, Status, challenge, check_secret, one_of, payment_methods};
use super::state::{Object, State, Stored};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use std::collections::BTreeMap;

#[derive(Debug, Serialize, Deserialize)]
pub(super) struct SetupIntent {
    id: String,
    client_secret: String,
    status: Status,
    customer: Option<String>,
    payment_method: Option<String>,
    usage: String,
    #[serde(default)]
    automatic_payment_methods: Option<AutomaticMethods>,
    description: Option<String>,
    metadata: BTreeMap<String, String>,
    last_setup_error: Option<Value>,
    cancellation_reason: Option<String>,
    created: i64,
}

impl Object for SetupIntent {
    const KIND: &'static str = "setup_intent";

    fn id(&self) -> &str {
        &self.id
    }
}

impl SetupIntent {
    fn wire(&self, caller: Caller) -> Value {
        let next_action = (self.status == Status::RequiresAction).then(|| challenge(Self::KIND, &self.id, &self.client_secret));
        let mut wire = json!({
            "id": self.id, "object": Self::KIND, "client_secret": self.client_secret, "status": self.status.name(),
            "customer": self.customer, "payment_method": self.payment_method, "payment_method_types": ["card"], "usage": self.usage,
            "automatic_payment_methods": self.automatic_payment_methods,
            "description": self.description, "metadata": self.metadata, "last_setup_error": self.last_setup_error,
            "cancellation_reason": self.cancellation_reason, "next_action": next_action, "created": self.created, "livemode": false,
        });
        if let (Caller::Publishable, Some(fields)) = (caller, wire.as_object_mut()) {
            fields.retain(|name, _| !matches!(name.as_str(), "customer" | "metadata"));
        }
        wire
    }

    fn unexpected_state(&self, caller: Caller, verb: &str) -> ApiError {
        let message = format!("You cannot {verb} this SetupIntent because it has a status of {}.", self.status.name());
        ApiError::invalid("setup_intent_unexpected_state", message).with_object(Self::KIND, self.wire(caller))
    }
}

pub(super) async fn create(state: &mut State<'_>, call: &Call) -> Result<Answer, CallError> {
    let form = &call.form;
    form.allow(&["customer", "usage", "description", "payment_method_types[", "automatic_payment_methods[", "metadata["])?;
    let automatic_payment_methods = payment_methods(form)?;
    if let Some(customer) = form.text("customer") {
        Customer::existing(state, customer).await?;
    }
    let usage = one_of(form, "usage", &["off_session", "on_session"])?.unwrap_or("off_session");
    let id = state.id("seti");
    let intent = SetupIntent {
        client_secret: state.client_secret(&id),
        id,
        status: Status::RequiresPaymentMethod,
        customer: form.owned("customer"),
        payment_method: None,
        usage: usage.to_owned(),
        automatic_payment_methods,
        description: form.owned("description"),
        metadata: form.metadata()?,
        last_setup_error: None,
        cancellation_reason: None,
        created: state.now.seconds(),
    };
    let wire = state.insert(intent).await?.value.wire(Caller::Secret);
    state.record("setup_intent.created", &wire).await?;
    Ok(Answer::ok(wire))
}

pub(super) async fn retrieve(state: &mut State<'_>, call: &Call, id: &str) -> Result<Answer, CallError> {
    call.form.allow(&["client_secret"])?;
    let stored = state.need::<SetupIntent>(id).await?;
    check_secret(call, SetupIntent::KIND, id, &stored.value.client_secret)?;
    Ok(Answer::ok(stored.value.wire(call.caller)))
}

pub(super) async fn confirm(state: &mut State<'_>, call: &Call, id: &str) -> Result<Answer, CallError> {
    call.form.allow(&["client_secret", "payment_method", "payment_method_data[", "return_url", "use_stripe_sdk"])?;
    let mut stored = state.need::<SetupIntent>(id).await?;
    check_secret(call, SetupIntent::KIND, id, &stored.value.client_secret)?;
    if !stored.value.status.is_open() {
        return Err(stored.value.unexpected_state(call.caller, "confirm").into());
    }
    let method = PaymentMethod::from_form(state, &call.form).await?.ok_or_else(|| {
        ApiError::invalid("parameter_missing", "Missing required param: payment_method.".to_owned()).with_param("payment_method")
    })?;
    method.check_payer(stored.value.customer.as_deref(), false)?;
    stored.value.payment_method = Some(method.id);
    stored.value.last_setup_error = None;
    match method.card.save() {
        Verdict::Declined(decline) => fail(state, stored, call.caller, decline).await,
        Verdict::SecondStep => {
            stored.value.status = Status::RequiresAction;
            state.save(&mut stored).await?;
            state.record("setup_intent.requires_action", &stored.value.wire(Caller::Secret)).await?;
            Ok(Answer::ok(stored.value.wire(call.caller)))
        }
        Verdict::Paid | Verdict::Later { .. } | Verdict::Never => succeed(state, stored, call.caller).await,
    }
}

pub(super) async fn authenticate(state: &mut State<'_>, call: &Call, id: &str) -> Result<Answer, CallError> {
    call.form.allow(&["client_secret", "success"])?;
    call.form.need("success")?;
    let success = call.form.flag("success")?;
    let stored = state.need::<SetupIntent>(id).await?;
    check_secret(call, SetupIntent::KIND, id, &stored.value.client_secret)?;
    match stored.value.status {
        Status::RequiresAction if success => succeed(state, stored, call.caller).await,
        Status::RequiresAction => {
            let decline = Decline { code: "setup_intent_authentication_failure", ..card::AUTHENTICATION_FAILED };
            fail(state, stored, call.caller, decline).await
        }
        _ => Err(stored.value.unexpected_state(call.caller, "authenticate").into()),
    }
}

pub(super) async fn cancel(state: &mut State<'_>, call: &Call, id: &str) -> Result<Answer, CallError> {
    call.form.allow(&["cancellation_reason"])?;
    let reason = one_of(&call.form, "cancellation_reason", &["duplicate", "requested_by_customer", "abandoned"])?;
    let mut stored = state.need::<SetupIntent>(id).await?;
    if !stored.value.status.is_open() {
        return Err(stored.value.unexpected_state(call.caller, "cancel").into());
    }
    stored.value.status = Status::Canceled;
    stored.value.cancellation_reason = reason.map(str::to_owned);
    state.save(&mut stored).await?;
    let wire = stored.value.wire(Caller::Secret);
    state.record("setup_intent.canceled", &wire).await?;
    Ok(Answer::ok(wire))
}

async fn succeed(state: &mut State<'_>, mut stored: Stored<SetupIntent>, caller: Caller) -> Result<Answer, CallError> {
    stored.value.status = Status::Succeeded;
    state.save(&mut stored).await?;
    if let (Some(customer), Some(id)) = (&stored.value.customer, &stored.value.payment_method) {
        PaymentMethod::setup_future_usage(state, id, customer).await?;
    }
    state.record("setup_intent.succeeded", &stored.value.wire(Caller::Secret)).await?;
    Ok(Answer::ok(stored.value.wire(caller)))
}

async fn fail(state: &mut State<'_>, mut stored: Stored<SetupIntent>, caller: Caller, decline: Decline) -> Result<Answer, CallError> {
    let Decline { code, decline_code, message } = decline;
    stored.value.status = Status::RequiresPaymentMethod;
    stored.value.payment_method = None;
    stored.value.last_setup_error = Some(json!({ "type": "card_error", "code": code, "decline_code": decline_code, "message": message }));
    state.save(&mut stored).await?;
    state.record("setup_intent.setup_failed", &stored.value.wire(Caller::Secret)).await?;
    Ok(ApiError::card(code, decline_code, message).with_object(SetupIntent::KIND, stored.value.wire(caller)).answer())
}
