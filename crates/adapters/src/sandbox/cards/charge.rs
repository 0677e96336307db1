//! Charges, one row each so that they can be counted, and their refunds.

use super::books::{self, Books, Object};
use super::call::{Answer, ApiError, Call, Refusal};
use super::intent::{Intent, one_of};
use crate::sandbox::store::{Row, SandboxDbError};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use std::collections::BTreeMap;

pub(super) struct Charge {
    pub id: String,
    pub intent: String,
    pub attempt: String,
    pub amount: i64,
    pub amount_refunded: i64,
    pub currency: String,
    created: i64,
}

/// Selects charges in the column order that [`Charge::from_row`] reads.
macro_rules! select {
    ($rest:literal) => {
        concat!("SELECT id, intent, attempt, amount, amount_refunded, currency, created_at FROM card_charges ", $rest)
    };
}

impl Charge {
    fn from_row(row: &Row) -> Result<Self, SandboxDbError> {
        Ok(Self {
            id: row.text(0)?,
            intent: row.text(1)?,
            attempt: row.text(2)?,
            amount: row.int(3)?,
            amount_refunded: row.int(4)?,
            currency: row.text(5)?,
            created: row.int(6)? / 1_000_000,
        })
    }

    pub fn wire(&self) -> Value {
        json!({
            "id": self.id, "object": "charge", "amount": self.amount, "amount_captured": self.amount, "amount_refunded": self.amount_refunded,
            "captured": true, "paid": true, "refunded": self.amount_refunded == self.amount, "status": "succeeded",
            "currency": self.currency, "payment_intent": self.intent, "metadata": { "attempt": self.attempt },
            "created": self.created, "livemode": false,
        })
    }
}

/// Takes the money.
pub(super) async fn make(books: &mut Books<'_>, intent: &Intent) -> Result<Charge, Refusal> {
    let charge = Charge {
        id: books.id("ch"),
        intent: intent.id.clone(),
        attempt: intent.metadata.get("attempt").cloned().unwrap_or_default(),
        amount: intent.amount,
        amount_refunded: 0,
        currency: intent.currency.clone(),
        created: books.now.seconds(),
    };
    let sql =
        "INSERT INTO card_charges (id, intent, attempt, amount, amount_refunded, currency, created_at) VALUES ($1, $2, $3, $4, 0, $5, $6)";
    let now = books.now.micros();
    let values = [
        (&charge.id).into(),
        (&charge.intent).into(),
        (&charge.attempt).into(),
        charge.amount.into(),
        (&charge.currency).into(),
        now.into(),
    ];
    books.tx.execute(sql, &values).await?;
    Ok(charge)
}

pub(super) async fn of_intent(books: &mut Books<'_>, intent: &str) -> Result<Vec<Charge>, Refusal> {
    let rows = books.tx.rows(select!("WHERE intent = $1 ORDER BY created_at, id"), &[intent.into()]).await?;
    Ok(rows.iter().map(Charge::from_row).collect::<Result<_, _>>()?)
}

#[derive(Debug, Serialize, Deserialize)]
struct Refund {
    id: String,
    charge: String,
    payment_intent: String,
    amount: i64,
    currency: String,
    reason: Option<String>,
    metadata: BTreeMap<String, String>,
    created: i64,
}

impl Object for Refund {
    const KIND: &'static str = "refund";

    fn id(&self) -> &str {
        &self.id
    }
}

impl Refund {
    fn wire(&self) -> Value {
        json!({
            "id": self.id, "object": Self::KIND, "amount": self.amount, "charge": self.charge, "payment_intent": self.payment_intent,
            "currency": self.currency, "reason": self.reason, "metadata": self.metadata, "status": "succeeded", "created": self.created,
        })
    }
}

/// Gives money back. What was refunded is added up by a guarded update: never more than was charged.
pub(super) async fn refund(books: &mut Books<'_>, call: &Call) -> Result<Answer, Refusal> {
    let form = &call.form;
    form.allow(&["payment_intent", "charge", "amount", "reason", "metadata["])?;
    let reason = one_of(form, "reason", &["duplicate", "fraudulent", "requested_by_customer"])?.map(str::to_owned);
    let asked = form.amount("amount")?;
    let charge = refundable(books, call).await?;
    let left = charge.amount - charge.amount_refunded;
    let amount = asked.unwrap_or(left);
    let sql = "UPDATE card_charges SET amount_refunded = amount_refunded + $1 WHERE id = $2 AND amount_refunded + $1 <= amount";
    if amount == 0 || books.tx.execute(sql, &[amount.into(), (&charge.id).into()]).await? != 1 {
        return Err(too_much(&charge, amount).into());
    }
    let refund = Refund {
        id: books.id("re"),
        charge: charge.id.clone(),
        payment_intent: charge.intent,
        amount,
        currency: charge.currency,
        reason,
        metadata: form.metadata()?,
        created: books.now.seconds(),
    };
    let wire = books.insert(refund).await?.value.wire();
    books.record("refund.created", &wire).await?;
    let rows = books.tx.rows(select!("WHERE id = $1"), &[(&charge.id).into()]).await?;
    for row in &rows {
        let charge = Charge::from_row(row)?.wire();
        books.record("charge.refunded", &charge).await?;
    }
    Ok(Answer::ok(wire))
}

/// The refunds of a payment.
pub(super) async fn refunds(books: &mut Books<'_>, call: &Call) -> Result<Answer, Refusal> {
    call.form.allow(&["payment_intent", "limit"])?;
    let payment = call.form.need("payment_intent")?;
    let found = books.having::<Refund>(&format!("\"payment_intent\":\"{payment}\"")).await?;
    Ok(books::page("/v1/refunds", found.iter().map(Refund::wire).collect(), call.form.amount("limit")?))
}

pub(super) async fn retrieve_refund(books: &mut Books<'_>, id: &str) -> Result<Answer, Refusal> {
    Ok(Answer::ok(books.need::<Refund>(id).await?.value.wire()))
}

async fn refundable(books: &mut Books<'_>, call: &Call) -> Result<Charge, Refusal> {
    if let Some(id) = call.form.text("charge") {
        let rows = books.tx.rows(select!("WHERE id = $1"), &[id.into()]).await?;
        let row = rows.first().ok_or_else(|| ApiError::missing("charge", id))?;
        return Ok(Charge::from_row(row)?);
    }
    let id = call.form.need("payment_intent")?;
    let intent = super::intent::load(books, id).await?.value;
    let charge = of_intent(books, id).await?.into_iter().next();
    charge.ok_or_else(|| {
        let message = format!("This PaymentIntent ({}) does not have a successful charge to refund.", intent.id);
        ApiError::invalid("payment_intent_unexpected_state", message).into()
    })
}

fn too_much(charge: &Charge, asked: i64) -> ApiError {
    let left = charge.amount - charge.amount_refunded;
    if left == 0 {
        return ApiError::invalid("charge_already_refunded", format!("Charge {} has already been refunded.", charge.id));
    }
    let message = format!("Refund amount ({asked}) is greater than unrefunded amount on charge ({left}).");
    ApiError::invalid("amount_too_large", message).with_param("amount")
}

/// Every charge ever made: `[{payment_intent, attempt, amount, currency}]`, so that a test can count what was charged twice.
pub(super) async fn all(books: &mut Books<'_>) -> Result<Answer, Refusal> {
    let rows = books.tx.rows(select!("ORDER BY created_at, id"), &[]).await?;
    let charges: Vec<Charge> = rows.iter().map(Charge::from_row).collect::<Result<_, _>>()?;
    let wire = |charge: &Charge| json!({ "payment_intent": charge.intent, "attempt": charge.attempt, "amount": charge.amount, "currency": charge.currency });
    Ok(Answer::ok(charges.iter().map(wire).collect()))
}

/// Every refund ever made: `[{payment_intent, refund, amount, currency}]`, `refund` as the order for it was named.
pub(super) async fn all_refunds(books: &mut Books<'_>) -> Result<Answer, Refusal> {
    let found = books.having::<Refund>("").await?;
    let wire = |refund: &Refund| {
        let name = refund.metadata.get("refund").map(String::as_str).unwrap_or_default();
        json!({ "payment_intent": refund.payment_intent, "refund": name, "amount": refund.amount, "currency": refund.currency })
    };
    Ok(Answer::ok(found.iter().map(wire).collect()))
}

/// What the processor holds: charged and not given back, per currency.
pub(super) async fn balance(books: &mut Books<'_>) -> Result<Answer, Refusal> {
    let sql = "SELECT currency, CAST(SUM(amount - amount_refunded) AS BIGINT) FROM card_charges GROUP BY currency ORDER BY currency";
    let mut available = Vec::new();
    for row in books.tx.rows(sql, &[]).await? {
        available.push(json!({ "amount": row.int(1)?, "currency": row.text(0)? }));
    }
    Ok(Answer::ok(json!({ "object": "balance", "available": available, "pending": [], "livemode": false })))
}
