//! Payments on hold: their network moved an amount that differs from the requested one, and an owner has to decide.

use super::connect_result::publish_decline;
use super::settlement::handler_of;
use super::{Attempt, AttemptContext, AttemptStatus, Decline, Intent, IntentStatus, PlannedPayment, Purpose, Settlement, SettlementError};
use crate::context::Context;
use crate::ledger::{Account, Entry, EntryType, Posting};
use crate::shared::{Amount, EntryId, Listed, Mode, Page, PaymentIntentId, StorageError};
use crate::storage::UnitOfWork;

/// The error code of attempts whose settled amount differs from the requested one.
pub const AMOUNT_DIFFERS: &str = "amount_differs";

impl Attempt {
    /// Whether the money of this payment is in suspense. Later answers of its network are ignored; an owner ends the hold.
    #[must_use]
    pub fn is_on_hold(&self) -> bool {
        let is_payment = matches!(self.purpose, Purpose::Payment(_)) && self.status == AttemptStatus::Unknown;
        is_payment && self.last_error.as_ref().is_some_and(|error| error.code == AMOUNT_DIFFERS)
    }
}

/// A payment on hold, with what an owner needs to decide about its money.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PaymentOnHold {
    pub attempt: Attempt,
    /// The intent that was to be paid.
    pub asked: Intent,
    /// The intent that received the money. None: the network moved nothing.
    pub held: Option<Intent>,
    /// The parts of invoices that were to be paid.
    pub planned: Vec<PlannedPayment>,
}

/// One page of the payments on hold, newest first.
///
/// # Errors
/// If the storage fails.
pub async fn payments_on_hold(unit: &mut dyn UnitOfWork, mode: Mode, page: &Page) -> Result<Listed<PaymentOnHold>, StorageError> {
    let Listed { count, list } = unit.attempts().on_hold(mode, page).await?;
    if list.is_empty() {
        return Ok(Listed { count, list: Vec::new() });
    }
    let attempts: Vec<_> = list.iter().map(|attempt| attempt.id.clone()).collect();
    let intents: Vec<_> = list.iter().filter_map(|attempt| attempt.purpose.intent().cloned()).collect();
    let asked = unit.intents().find_all(&intents).await?;
    let held = unit.intents().find_all_held(&attempts).await?;
    let mut planned = unit.attempts().planned_by_all(&attempts).await?;
    let with_intents = |attempt: Attempt| {
        let asked = asked.iter().find(|intent| attempt.purpose.intent() == Some(&intent.id))?.clone();
        let held = held.iter().find(|intent| intent.held_attempt_id.as_ref() == Some(&attempt.id)).cloned();
        let planned = planned.remove(&attempt.id).unwrap_or_default();
        Some(PaymentOnHold { attempt, asked, held, planned })
    };
    Ok(Listed { count, list: list.into_iter().filter_map(with_intents).collect() })
}

/// Why an attempt is on hold.
pub(super) fn amount_differs(attempt: &Attempt, settlement: &Settlement) -> Decline {
    let message = format!("The network moved {} instead of {}", settlement.amount, attempt.amount);
    Decline { code: AMOUNT_DIFFERS.to_owned(), message }
}

/// Posts the money of a payment to suspense, once, and writes the intent that received it, so that it can be refunded over the network and
/// its dashboard refunds and disputes are found. The intent that was to be paid can be paid again. The caller has locked the attempt.
pub(super) async fn post_suspense(
    ctx: &Context,
    unit: &mut dyn UnitOfWork,
    context: &AttemptContext,
    settlement: &Settlement,
) -> Result<(), SettlementError> {
    let attempt = &context.attempt;
    let Purpose::Payment(asked) = &attempt.purpose else { return Ok(()) };
    if settlement.amount.is_zero() {
        return Ok(());
    }
    let posted = unit.journal().of_subject(attempt.id.as_str()).await?;
    if posted.iter().any(|entry| entry.kind == EntryType::SuspenseReceived) {
        return Ok(());
    }
    tracing::warn!(attempt = %attempt.id, asked = %attempt.amount, moved = %settlement.amount, "a network moved a different amount than requested: the payment is on hold");
    let now = ctx.now();
    let postings = vec![
        Posting::debit(Account::cash(&attempt.method_id), settlement.amount, &attempt.currency_id),
        Posting::credit(Account::Suspense, settlement.amount, &attempt.currency_id),
    ];
    let id = EntryId::new(now, ctx.random.as_ref());
    let entry = Entry::new(id, context.method.mode, EntryType::SuspenseReceived, attempt.id.as_str(), now, postings)?;
    unit.journal().post(&entry).await?;
    let asked = unit.intents().find(asked).await?.ok_or(SettlementError::Orphan)?;
    let held = Intent {
        id: PaymentIntentId::new(now, ctx.random.as_ref()),
        status: IntentStatus::Succeeded,
        amount: settlement.amount,
        amount_received: settlement.amount,
        amount_refunded: Amount::ZERO,
        subscription_id: None,
        session_id: None,
        invoices: Vec::new(),
        last_error: None,
        reference: settlement.reference.clone(),
        payer: settlement.payer.clone(),
        held_attempt_id: Some(attempt.id.clone()),
        created_at: now,
        updated_at: now,
        ..asked
    };
    unit.intents().upsert(&held).await?;
    Ok(())
}

/// Ends a hold: the attempt is declined, and the caller decides what happens to the money. The caller then calls [`release_held`]. False:
/// the attempt is no longer on hold.
pub async fn end_hold(ctx: &Context, unit: &mut dyn UnitOfWork, attempt: &Attempt) -> Result<bool, StorageError> {
    let Some(error) = attempt.last_error.as_ref().filter(|_| attempt.is_on_hold()) else { return Ok(false) };
    unit.attempts().decline_claimed(&attempt.id, Some(error), ctx.now()).await
}

/// Applies the decline of a payment whose hold has ended, so that what is still unpaid can be paid again.
pub async fn release_held(ctx: &Context, unit: &mut dyn UnitOfWork, attempt: &Attempt) -> Result<(), SettlementError> {
    let Some(error) = &attempt.last_error else { return Ok(()) };
    handler_of(ctx, attempt)?.declined(ctx, unit, attempt, error).await?;
    Ok(publish_decline(ctx, unit, attempt).await?)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::payment::{AttemptKind, MethodAmount};
    use crate::shared::{AttemptId, CurrencyId, MethodId, RefundId, Timestamp};

    #[test]
    fn only_an_unknown_payment_with_a_differing_amount_is_on_hold() {
        let payment = Purpose::Payment(PaymentIntentId::parse("pi_1").expect("an id"));
        let refund = Purpose::Refund(RefundId::parse("re_1").expect("an id"));
        let attempt = |purpose: &Purpose, status, code: Option<&str>| {
            let id = AttemptId::parse("att_1").expect("an id");
            let of = MethodAmount {
                method_id: MethodId::parse("pm_1").expect("an id"),
                currency_id: CurrencyId::parse("pc_1").expect("an id"),
                amount: Amount::new(5),
            };
            let kind = AttemptKind::CardRefund { payment: String::new() };
            let last_error = code.map(|code| Decline { code: code.to_owned(), message: String::new() });
            let open_attempt = Attempt::begin(id, purpose.clone(), kind, of, Timestamp::from_seconds(0));
            Attempt { status, last_error, ..open_attempt }
        };
        for (purpose, status, code, is_on_hold) in [
            (&payment, AttemptStatus::Unknown, Some(AMOUNT_DIFFERS), true),
            (&payment, AttemptStatus::Unknown, None, false),
            (&payment, AttemptStatus::Unknown, Some("insufficient_funds"), false),
            (&payment, AttemptStatus::Declined, Some(AMOUNT_DIFFERS), false),
            (&refund, AttemptStatus::Unknown, Some(AMOUNT_DIFFERS), false),
        ] {
            assert_eq!(attempt(purpose, status, code).is_on_hold(), is_on_hold, "{purpose:?} {status:?} {code:?}");
        }
    }
}
