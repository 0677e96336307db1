//! Charges, one row each so that tests can count them, and the processor's balance.

use super::call::{Answer, ApiError, CallError};
use super::intent::Intent;
use super::state::State;
use crate::store::{Row, SandboxDbError};
use serde_json::{Value, json};

pub(super) struct Charge {
    pub id: String,
    pub intent: String,
    pub attempt: String,
    pub amount: i64,
    pub amount_refunded: i64,
    /// The amount that disputes have withdrawn and not reinstated.
    pub amount_disputed: i64,
    pub currency: String,
    disputed: bool,
    created: i64,
}

/// Selects charges in the column order that [`Charge::from_row`] reads.
macro_rules! select {
    ($rest:literal) => {
        concat!(
            "SELECT id, intent, attempt, amount, amount_refunded, amount_disputed, currency, disputed, created_at FROM card_charges ",
            $rest
        )
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
            amount_disputed: row.int(5)?,
            currency: row.text(6)?,
            disputed: row.int(7)? != 0,
            created: row.int(8)? / 1_000_000,
        })
    }

    /// The amount that was neither refunded nor withdrawn.
    pub const fn refundable(&self) -> i64 {
        self.amount - self.amount_refunded - self.amount_disputed
    }

    /// The wire format of a charge that has failed.
    pub fn failed_wire(&self) -> Value {
        let mut wire = self.wire();
        wire["paid"] = json!(false);
        wire["status"] = json!("failed");
        wire
    }

    pub fn wire(&self) -> Value {
        json!({
            "id": self.id, "object": "charge", "amount": self.amount, "amount_captured": self.amount, "amount_refunded": self.amount_refunded,
            "captured": true, "disputed": self.disputed, "paid": true, "refunded": self.amount_refunded == self.amount,
            "status": "succeeded", "currency": self.currency, "payment_intent": self.intent, "metadata": { "attempt": self.attempt },
            "created": self.created, "livemode": false,
        })
    }
}

/// Removes a charge that has failed after it had succeeded. One that was refunded or disputed cannot fail.
pub(super) async fn remove(state: &mut State<'_>, charge: &Charge) -> Result<(), CallError> {
    if charge.amount_refunded > 0 || charge.disputed {
        let message = format!("Charge {} was refunded or disputed.", charge.id);
        return Err(ApiError::invalid("charge_unexpected_state", message).into());
    }
    let sql = "DELETE FROM card_charges WHERE id = $1 AND amount_refunded = 0 AND disputed = 0";
    changed_one(state.tx.execute(sql, &[(&charge.id).into()]).await?)
}

/// Charges the intent's amount.
pub(super) async fn create(state: &mut State<'_>, intent: &Intent) -> Result<Charge, CallError> {
    let charge = Charge {
        id: state.id("ch"),
        intent: intent.id.clone(),
        attempt: intent.metadata.get("attempt").cloned().unwrap_or_default(),
        amount: intent.amount,
        amount_refunded: 0,
        amount_disputed: 0,
        currency: intent.currency.clone(),
        disputed: false,
        created: state.now.seconds(),
    };
    let sql =
        "INSERT INTO card_charges (id, intent, attempt, amount, amount_refunded, amount_disputed, fees, currency, disputed, created_at)
         VALUES ($1, $2, $3, $4, 0, 0, 0, $5, 0, $6)";
    let now = state.now.micros();
    let values = [
        (&charge.id).into(),
        (&charge.intent).into(),
        (&charge.attempt).into(),
        charge.amount.into(),
        (&charge.currency).into(),
        now.into(),
    ];
    state.tx.execute(sql, &values).await?;
    Ok(charge)
}

pub(super) async fn of_intent(state: &mut State<'_>, intent: &str) -> Result<Vec<Charge>, CallError> {
    let rows = state.tx.rows(select!("WHERE intent = $1 ORDER BY created_at, id"), &[intent.into()]).await?;
    Ok(rows.iter().map(Charge::from_row).collect::<Result<_, _>>()?)
}

pub(super) async fn load(state: &mut State<'_>, id: &str) -> Result<Charge, CallError> {
    let rows = state.tx.rows(select!("WHERE id = $1"), &[id.into()]).await?;
    let row = rows.first().ok_or_else(|| ApiError::missing("charge", id))?;
    Ok(Charge::from_row(row)?)
}

/// The charge of a succeeded payment.
pub(super) async fn of_payment(state: &mut State<'_>, id: &str) -> Result<Charge, CallError> {
    let intent = super::intent::load(state, id).await?.value;
    let charge = of_intent(state, id).await?.into_iter().next();
    charge.ok_or_else(|| {
        let message = format!("This PaymentIntent ({}) does not have a successful charge.", intent.id);
        ApiError::invalid("payment_intent_unexpected_state", message).into()
    })
}

/// Reserves a refund of the charge. Returns `false` if the amount exceeds the refundable amount.
pub(super) async fn add_refunded(state: &mut State<'_>, id: &str, amount: i64) -> Result<bool, CallError> {
    let sql =
        "UPDATE card_charges SET amount_refunded = amount_refunded + $1 WHERE id = $2 AND amount_refunded + amount_disputed + $1 <= amount";
    Ok(state.tx.execute(sql, &[amount.into(), id.into()]).await? == 1)
}

pub(super) async fn subtract_refunded(state: &mut State<'_>, id: &str, amount: i64) -> Result<(), CallError> {
    let sql = "UPDATE card_charges SET amount_refunded = amount_refunded - $1 WHERE id = $2 AND amount_refunded >= $1";
    changed_one(state.tx.execute(sql, &[amount.into(), id.into()]).await?)
}

pub(super) async fn mark_disputed(state: &mut State<'_>, id: &str) -> Result<(), CallError> {
    changed_one(state.tx.execute("UPDATE card_charges SET disputed = 1 WHERE id = $1", &[id.into()]).await?)
}

/// Withdraws a disputed amount, and the processor's fee.
pub(super) async fn withdraw(state: &mut State<'_>, id: &str, amount: i64, fee: i64) -> Result<(), CallError> {
    let sql = "UPDATE card_charges SET amount_disputed = amount_disputed + $1, fees = fees + $2
         WHERE id = $3 AND amount_refunded + amount_disputed + $1 <= amount";
    match state.tx.execute(sql, &[amount.into(), fee.into(), id.into()]).await? {
        1 => Ok(()),
        _ => Err(ApiError::invalid("amount_too_large", "The charge was refunded meanwhile.".to_owned()).into()),
    }
}

/// Reinstates a withdrawn amount; the processor keeps its fee.
pub(super) async fn reinstate(state: &mut State<'_>, id: &str, amount: i64) -> Result<(), CallError> {
    let sql = "UPDATE card_charges SET amount_disputed = amount_disputed - $1 WHERE id = $2 AND amount_disputed >= $1";
    changed_one(state.tx.execute(sql, &[amount.into(), id.into()]).await?)
}

/// Checks that an update changed exactly one row. The row exists, so otherwise another call has changed it.
const fn changed_one(rows: u64) -> Result<(), CallError> {
    if rows == 1 { Ok(()) } else { Err(CallError::Raced) }
}

/// All charges as `[{payment_intent, attempt, amount, currency}]`, so that tests can detect double charges.
pub(super) async fn all(state: &mut State<'_>) -> Result<Answer, CallError> {
    let rows = state.tx.rows(select!("ORDER BY created_at, id"), &[]).await?;
    let charges: Vec<Charge> = rows.iter().map(Charge::from_row).collect::<Result<_, _>>()?;
    let wire = |charge: &Charge| json!({ "payment_intent": charge.intent, "attempt": charge.attempt, "amount": charge.amount, "currency": charge.currency });
    Ok(Answer::ok(charges.iter().map(wire).collect()))
}

/// The processor's balance per currency: charges less refunds, disputed amounts and fees. It can be negative.
pub(super) async fn balance(state: &mut State<'_>) -> Result<Answer, CallError> {
    let sql = "SELECT currency, CAST(SUM(amount - amount_refunded - amount_disputed - fees) AS BIGINT) FROM card_charges
         GROUP BY currency ORDER BY currency";
    let mut available = Vec::new();
    for row in state.tx.rows(sql, &[]).await? {
        available.push(json!({ "amount": row.int(1)?, "currency": row.text(0)? }));
    }
    Ok(Answer::ok(json!({ "object": "balance", "available": available, "pending": [], "livemode": false })))
}
