//! Customers and their saved payment methods.

use super::call::{Answer, ApiError, Call, CallError, Form};
use super::card::{self, Presence, TestCard, Verdict};
use super::state::{Object, State, Stored};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use std::collections::BTreeMap;

#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Customer {
    id: String,
    name: Option<String>,
    email: Option<String>,
    description: Option<String>,
    metadata: BTreeMap<String, String>,
    created: i64,
    #[serde(default)]
    deleted: bool,
}

impl Object for Customer {
    const KIND: &'static str = "customer";

    fn id(&self) -> &str {
        &self.id
    }
}

impl Customer {
    /// A customer who has not been deleted.
    pub async fn existing(state: &mut State<'_>, id: &str) -> Result<Stored<Self>, CallError> {
        let stored = state.need::<Self>(id).await?;
        if stored.value.deleted {
            return Err(ApiError::missing(Self::KIND, id).into());
        }
        Ok(stored)
    }

    fn wire(&self) -> Value {
        if self.deleted {
            return json!({ "id": self.id, "object": Self::KIND, "deleted": true });
        }
        json!({
            "id": self.id, "object": Self::KIND, "name": self.name, "email": self.email, "description": self.description,
            "metadata": self.metadata, "created": self.created, "livemode": false,
        })
    }
}

/// A card. Neither its number nor the billing address is stored.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct PaymentMethod {
    pub id: String,
    pub card: TestCard,
    pub customer: Option<String>,
    /// Whether the cardholder has agreed to off-session charges, with the second step if there was one.
    set_up: bool,
    /// Detached from its customer, so that it cannot be used any more.
    #[serde(default)]
    detached: bool,
    /// A decline code set by a test, which the bank returns for off-session charges.
    #[serde(rename = "ordered_decline")]
    forced_decline: Option<String>,
    last4: String,
    exp_month: u8,
    exp_year: u16,
    created: i64,
}

impl Object for PaymentMethod {
    const KIND: &'static str = "payment_method";

    fn id(&self) -> &str {
        &self.id
    }
}

impl PaymentMethod {
    pub fn wire(&self) -> Value {
        json!({
            "id": self.id, "object": Self::KIND, "type": "card", "customer": self.customer, "created": self.created, "livemode": false,
            "card": { "brand": "visa", "last4": self.last4, "exp_month": self.exp_month, "exp_year": self.exp_year },
        })
    }

    /// The card named by `payment_method`, or entered in `payment_method_data`.
    pub async fn from_form(state: &mut State<'_>, form: &Form) -> Result<Option<Self>, CallError> {
        if let Some(id) = form.text("payment_method") {
            return Ok(Some(state.need::<Self>(id).await?.value));
        }
        if form.values("payment_method_data[").next().is_none() {
            return Ok(None);
        }
        store_card(state, form, "payment_method_data[type]", "payment_method_data[card]").await.map(Some)
    }

    /// The response of the card's bank to a payment.
    pub fn pay(&self, off_session: bool) -> Verdict {
        match self.forced_decline.as_deref().and_then(card::decline) {
            Some(decline) if off_session => Verdict::Declined(decline),
            _ => self.card.pay(if off_session { Presence::Away { set_up: self.set_up } } else { Presence::There }),
        }
    }

    /// Saves the card for `customer`, who was present and agreed.
    pub async fn setup_future_usage(state: &mut State<'_>, id: &str, customer: &str) -> Result<(), CallError> {
        let mut method = state.need::<Self>(id).await?;
        let attached = method.value.customer.is_none();
        method.value.customer = Some(customer.to_owned());
        method.value.set_up = true;
        state.save(&mut method).await?;
        if attached {
            state.record("payment_method.attached", &method.value.wire()).await?;
        }
        Ok(())
    }

    /// Checks that a saved card is used for its own customer, and that an off-session charge uses a saved card.
    pub fn check_payer(&self, customer: Option<&str>, off_session: bool) -> Result<(), ApiError> {
        let message = match (self.customer.as_deref(), customer) {
            _ if self.detached => "The payment method was detached from a Customer. It may not be used again.",
            (Some(owner), Some(payer)) if owner == payer => return Ok(()),
            (Some(_), _) => "The payment method belongs to a Customer. Pass that customer.",
            (None, _) if off_session => "The payment method must be attached to the customer to be charged off-session.",
            (None, _) => return Ok(()),
        };
        Err(ApiError::invalid("payment_method_unexpected_state", message.to_owned()).with_param("payment_method"))
    }
}

/// Reads an entered card and stores its behavior.
async fn store_card(state: &mut State<'_>, form: &Form, kind: &str, prefix: &str) -> Result<PaymentMethod, CallError> {
    if form.need(kind)? != "card" {
        return Err(ApiError::invalid("parameter_invalid", "Only cards are known here.".to_owned()).with_param(kind).into());
    }
    let card::CardInput { card, last4, exp_month, exp_year } = card::read(form, prefix, state.now)?;
    let (id, created) = (state.id("pm"), state.now.seconds());
    let method = PaymentMethod {
        id,
        card,
        customer: None,
        set_up: false,
        detached: false,
        forced_decline: None,
        last4,
        exp_month,
        exp_year,
        created,
    };
    Ok(state.insert(method).await?.value)
}

pub(super) async fn create(state: &mut State<'_>, call: &Call) -> Result<Answer, CallError> {
    let form = &call.form;
    form.allow(&["name", "email", "description", "metadata["])?;
    let customer = Customer {
        id: state.id("cus"),
        name: form.owned("name"),
        email: form.owned("email"),
        description: form.owned("description"),
        metadata: form.metadata()?,
        created: state.now.seconds(),
        deleted: false,
    };
    let wire = state.insert(customer).await?.value.wire();
    state.record("customer.created", &wire).await?;
    Ok(Answer::ok(wire))
}

/// Updates the fields that are present.
pub(super) async fn update(state: &mut State<'_>, call: &Call, id: &str) -> Result<Answer, CallError> {
    let form = &call.form;
    form.allow(&["name", "email", "description", "metadata["])?;
    let mut stored = Customer::existing(state, id).await?;
    let customer = &mut stored.value;
    for (name, field) in [("name", &mut customer.name), ("email", &mut customer.email), ("description", &mut customer.description)] {
        if let Some(text) = form.owned(name) {
            *field = Some(text);
        }
    }
    customer.metadata.extend(form.metadata()?);
    state.save(&mut stored).await?;
    let wire = stored.value.wire();
    state.record("customer.updated", &wire).await?;
    Ok(Answer::ok(wire))
}

pub(super) async fn retrieve(state: &mut State<'_>, id: &str) -> Result<Answer, CallError> {
    Ok(Answer::ok(state.need::<Customer>(id).await?.value.wire()))
}

/// Deletes a customer for good, and detaches the customer's cards. The payments stay.
pub(super) async fn delete(state: &mut State<'_>, call: &Call, id: &str) -> Result<Answer, CallError> {
    call.form.allow(&[])?;
    let mut stored = Customer::existing(state, id).await?;
    let former = stored.value.wire();
    let Customer { id, created, .. } = stored.value;
    stored.value = Customer { id, name: None, email: None, description: None, metadata: BTreeMap::new(), created, deleted: true };
    state.save(&mut stored).await?;
    for PaymentMethod { id, .. } in state.containing::<PaymentMethod>(&format!("\"customer\":\"{}\"", stored.value.id)).await? {
        let mut method = state.need::<PaymentMethod>(&id).await?;
        method.value.customer = None;
        method.value.set_up = false;
        method.value.detached = true;
        state.save(&mut method).await?;
        state.record("payment_method.detached", &method.value.wire()).await?;
    }
    state.record("customer.deleted", &former).await?;
    Ok(Answer::ok(stored.value.wire()))
}

pub(super) async fn create_method(state: &mut State<'_>, call: &Call) -> Result<Answer, CallError> {
    call.form.allow(&["type", "card[", "billing_details[", "metadata["])?;
    Ok(Answer::ok(store_card(state, &call.form, "type", "card").await?.wire()))
}

pub(super) async fn retrieve_method(state: &mut State<'_>, id: &str) -> Result<Answer, CallError> {
    Ok(Answer::ok(state.need::<PaymentMethod>(id).await?.value.wire()))
}

/// Attaches a card to a customer after checking it with its bank, as a setup does.
pub(super) async fn attach(state: &mut State<'_>, call: &Call, id: &str) -> Result<Answer, CallError> {
    call.form.allow(&["customer"])?;
    let customer = call.form.need("customer")?;
    Customer::existing(state, customer).await?;
    let mut method = state.need::<PaymentMethod>(id).await?;
    method.value.check_payer(Some(customer), false)?;
    if let Verdict::Declined(decline) = method.value.card.save() {
        return Err(ApiError::card(decline.code, decline.decline_code, decline.message).into());
    }
    method.value.customer = Some(customer.to_owned());
    state.save(&mut method).await?;
    let wire = method.value.wire();
    state.record("payment_method.attached", &wire).await?;
    Ok(Answer::ok(wire))
}

/// For tests: makes the bank decline off-session charges of a saved card with `decline_code`; without one, restores the card's
/// normal behavior.
pub(super) async fn force_decline(state: &mut State<'_>, call: &Call, id: &str) -> Result<Answer, CallError> {
    call.form.allow(&["decline_code"])?;
    let forced_decline = call.form.owned("decline_code");
    if forced_decline.as_deref().is_some_and(|code| card::decline(code).is_none()) {
        return Err(ApiError::invalid("parameter_invalid", "No bank here knows this decline_code.".to_owned())
            .with_param("decline_code")
            .into());
    }
    let mut method = state.need::<PaymentMethod>(id).await?;
    method.value.forced_decline = forced_decline;
    state.save(&mut method).await?;
    Ok(Answer::ok(method.value.wire()))
}
