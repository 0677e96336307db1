//! Setup intents: a card is kept for later, no money moves.

use super::books::{Books, Kept, Object};
use super::call::{Answer, ApiError, Call, Caller, Refusal};
use super::card::{self, Decline, Verdict};
use super::customer::{Customer, PaymentMethod};
use super::intent::{Status, challenge, check_secret, one_of, only_cards};
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

pub(super) async fn create(books: &mut Books<'_>, call: &Call) -> Result<Answer, Refusal> {
    let form = &call.form;
    form.allow(&["customer", "usage", "description", "payment_method_types[", "metadata["])?;
    only_cards(call)?;
    if let Some(customer) = form.text("customer") {
        books.need::<Customer>(customer).await?;
    }
    let usage = one_of(form, "usage", &["off_session", "on_session"])?.unwrap_or("off_session");
    let id = books.id("seti");
    let intent = SetupIntent {
        client_secret: books.client_secret(&id),
        id,
        status: Status::RequiresPaymentMethod,
        customer: form.owned("customer"),
        payment_method: None,
        usage: usage.to_owned(),
        description: form.owned("description"),
        metadata: form.metadata()?,
        last_setup_error: None,
        cancellation_reason: None,
        created: books.now.seconds(),
    };
    let wire = books.insert(intent).await?.value.wire(Caller::Secret);
    books.record("setup_intent.created", &wire).await?;
    Ok(Answer::ok(wire))
}

pub(super) async fn retrieve(books: &mut Books<'_>, call: &Call, id: &str) -> Result<Answer, Refusal> {
    call.form.allow(&["client_secret"])?;
    let kept = books.need::<SetupIntent>(id).await?;
    check_secret(call, SetupIntent::KIND, id, &kept.value.client_secret)?;
    Ok(Answer::ok(kept.value.wire(call.caller)))
}

pub(super) async fn confirm(books: &mut Books<'_>, call: &Call, id: &str) -> Result<Answer, Refusal> {
    call.form.allow(&["client_secret", "payment_method", "payment_method_data[", "return_url", "use_stripe_sdk"])?;
    let mut kept = books.need::<SetupIntent>(id).await?;
    check_secret(call, SetupIntent::KIND, id, &kept.value.client_secret)?;
    if !kept.value.status.is_open() {
        return Err(kept.value.unexpected_state(call.caller, "confirm").into());
    }
    let method = PaymentMethod::from_form(books, &call.form).await?.ok_or_else(|| {
        ApiError::invalid("parameter_missing", "Missing required param: payment_method.".to_owned()).with_param("payment_method")
    })?;
    method.check_payer(kept.value.customer.as_deref(), false)?;
    kept.value.payment_method = Some(method.id);
    kept.value.last_setup_error = None;
    match method.card.keep() {
        Verdict::Declined(decline) => fail(books, kept, call.caller, decline).await,
        Verdict::SecondStep => {
            kept.value.status = Status::RequiresAction;
            books.save(&mut kept).await?;
            books.record("setup_intent.requires_action", &kept.value.wire(Caller::Secret)).await?;
            Ok(Answer::ok(kept.value.wire(call.caller)))
        }
        Verdict::Paid | Verdict::Later { .. } | Verdict::Never => succeed(books, kept, call.caller).await,
    }
}

pub(super) async fn authenticate(books: &mut Books<'_>, call: &Call, id: &str) -> Result<Answer, Refusal> {
    call.form.allow(&["client_secret", "success"])?;
    call.form.need("success")?;
    let success = call.form.flag("success")?;
    let kept = books.need::<SetupIntent>(id).await?;
    check_secret(call, SetupIntent::KIND, id, &kept.value.client_secret)?;
    match kept.value.status {
        Status::RequiresAction if success => succeed(books, kept, call.caller).await,
        Status::RequiresAction => {
            let decline = Decline { code: "setup_intent_authentication_failure", ..card::AUTHENTICATION_FAILED };
            fail(books, kept, call.caller, decline).await
        }
        _ => Err(kept.value.unexpected_state(call.caller, "authenticate").into()),
    }
}

pub(super) async fn cancel(books: &mut Books<'_>, call: &Call, id: &str) -> Result<Answer, Refusal> {
    call.form.allow(&["cancellation_reason"])?;
    let reason = one_of(&call.form, "cancellation_reason", &["duplicate", "requested_by_customer", "abandoned"])?;
    let mut kept = books.need::<SetupIntent>(id).await?;
    if !kept.value.status.is_open() {
        return Err(kept.value.unexpected_state(call.caller, "cancel").into());
    }
    kept.value.status = Status::Canceled;
    kept.value.cancellation_reason = reason.map(str::to_owned);
    books.save(&mut kept).await?;
    let wire = kept.value.wire(Caller::Secret);
    books.record("setup_intent.canceled", &wire).await?;
    Ok(Answer::ok(wire))
}

async fn succeed(books: &mut Books<'_>, mut kept: Kept<SetupIntent>, caller: Caller) -> Result<Answer, Refusal> {
    kept.value.status = Status::Succeeded;
    books.save(&mut kept).await?;
    if let (Some(customer), Some(id)) = (&kept.value.customer, &kept.value.payment_method) {
        PaymentMethod::keep_for(books, id, customer).await?;
    }
    books.record("setup_intent.succeeded", &kept.value.wire(Caller::Secret)).await?;
    Ok(Answer::ok(kept.value.wire(caller)))
}

async fn fail(books: &mut Books<'_>, mut kept: Kept<SetupIntent>, caller: Caller, decline: Decline) -> Result<Answer, Refusal> {
    let Decline { code, decline_code, message } = decline;
    kept.value.status = Status::RequiresPaymentMethod;
    kept.value.payment_method = None;
    kept.value.last_setup_error = Some(json!({ "type": "card_error", "code": code, "decline_code": decline_code, "message": message }));
    books.save(&mut kept).await?;
    books.record("setup_intent.setup_failed", &kept.value.wire(Caller::Secret)).await?;
    Ok(ApiError::card(code, decline_code, message).with_object(SetupIntent::KIND, kept.value.wire(caller)).answer())
}
