//! Attempts on hold: their network moved an amount that differs from the requested one, and an owner has to decide.
//!
//! One model serves every purpose. The network is not asked any more and its later answers are ignored; what it moved is stored with the
//! attempt. The money of a payment is posted to suspense at once, because its network may return it meanwhile. Everything else is posted
//! by the decision.

use super::connect_result::{publish_decision, publish_decline};
use super::settlement::{handler_of, intent_of};
use super::{
    Attempt, AttemptContext, AttemptStatus, Decline, Intent, IntentStatus, PlannedPayment, Purpose, SettledAttempt, Settlement,
    SettlementError,
};
use crate::context::Context;
use crate::ledger::{Account, Entry, EntryType, Posting};
use crate::shared::{Amount, AttemptId, EntryId, Listed, Mode, Page, PaymentIntentId, StorageError};
use crate::storage::UnitOfWork;

/// The error code of attempts whose settled amount differs from the requested one.
pub const AMOUNT_DIFFERS: &str = "amount_differs";
/// Attempts before giving up when another unit of work changed the same rows.
const MAX_TRIES: u32 = 8;

/// What a network moved instead of the requested amount.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Moved {
    /// Zero: the network confirmed the transaction and moved nothing.
    pub amount: Amount,
    /// The network's reference of the movement.
    pub reference: String,
}

/// The attempts on hold that one list of an owner contains.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum HoldClass {
    /// Payments of customers, whose money is in suspense.
    Payments,
    /// Everything else: refunds, payouts, and what moves into and out of deposits.
    Transfers,
}

impl Attempt {
    /// Whether an owner has to decide about what its network moved. Later answers of its network are ignored.
    #[must_use]
    pub fn is_on_hold(&self) -> bool {
        self.status == AttemptStatus::Unknown && self.moved.is_some()
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
    let Listed { count, list } = unit.attempts().on_hold(HoldClass::Payments, mode, page).await?;
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

/// Puts an attempt on hold, unless it has ended or is on hold already.
pub(super) async fn hold(
    ctx: &Context,
    unit: &mut dyn UnitOfWork,
    context: &AttemptContext,
    settlement: &Settlement,
) -> Result<(), SettlementError> {
    let attempt = &context.attempt;
    let error = amount_differs(attempt, settlement);
    let moved = Moved { amount: settlement.amount, reference: settlement.reference.clone() };
    if !unit.attempts().hold(&attempt.id, &moved, &error, ctx.now()).await? {
        return Ok(());
    }
    let purpose = attempt.purpose.name();
    tracing::warn!(attempt = %attempt.id, purpose, asked = %attempt.amount, moved = %moved.amount, "a network moved a different amount than requested: it is on hold");
    if let Some(intent) = intent_of(unit, attempt).await? {
        unit.intents().set_status(&intent, IntentStatus::Processing, Some(&error), ctx.now()).await?;
    }
    post_suspense(ctx, unit, context, settlement).await
}

/// Why an attempt is on hold.
fn amount_differs(attempt: &Attempt, settlement: &Settlement) -> Decline {
    let message = format!("The network moved {} instead of {}", settlement.amount, attempt.amount);
    Decline { code: AMOUNT_DIFFERS.to_owned(), message }
}

/// Posts the money of a payment to suspense, once, and writes the intent that received it, so that it can be refunded over the network and
/// its dashboard refunds and disputes are found. The intent that was to be paid can be paid again. The caller has locked the attempt.
async fn post_suspense(
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
    unit.attempts().decline_held(&attempt.id, error, ctx.now()).await
}

/// Applies the decline of an attempt whose hold has ended, so that what was not moved can be moved again.
pub async fn release_held(ctx: &Context, unit: &mut dyn UnitOfWork, attempt: &Attempt) -> Result<(), SettlementError> {
    let Some(error) = &attempt.last_error else { return Ok(()) };
    handler_of(ctx, attempt)?.declined(ctx, unit, attempt, error).await?;
    Ok(publish_decline(ctx, unit, attempt).await?)
}

/// An attempt whose hold has ended with a settlement.
#[derive(Debug, Clone)]
pub struct SettledHold {
    /// Its amount is what counts as settled.
    pub attempt: Attempt,
    pub settlement: Settlement,
}

/// Ends a hold: `amount` counts as settled. The caller then applies it, for instance by [`apply_settled_hold`]. `None`: the attempt is no
/// longer on hold.
pub async fn settle_hold(
    ctx: &Context,
    unit: &mut dyn UnitOfWork,
    attempt: &Attempt,
    amount: Amount,
) -> Result<Option<SettledHold>, StorageError> {
    let Some(moved) = attempt.moved.as_ref().filter(|_| attempt.is_on_hold()) else { return Ok(None) };
    if !unit.attempts().settle_held(&attempt.id, amount, ctx.now()).await? {
        return Ok(None);
    }
    publish_decision(ctx, unit, attempt).await?;
    let settlement = Settlement { reference: moved.reference.clone(), payer: String::new(), amount, card: None };
    Ok(Some(SettledHold { attempt: Attempt { status: AttemptStatus::Settled, amount, ..attempt.clone() }, settlement }))
}

/// Applies the settlement of an attempt whose hold has ended. Returns the attempts that must be sent after the commit.
pub async fn apply_settled_hold(ctx: &Context, unit: &mut dyn UnitOfWork, hold: &SettledHold) -> Result<Vec<AttemptId>, SettlementError> {
    let SettledHold { attempt, settlement } = hold;
    handler_of(ctx, attempt)?.settled_all(ctx, unit, &[SettledAttempt { attempt, settlement }]).await
}

/// Ends a hold because its network reports that the movement with this reference has failed: nothing was moved after all. False: the
/// attempt is not on hold for that movement.
pub async fn fail_hold(ctx: &Context, id: &AttemptId, reference: &str, decline: &Decline) -> Result<bool, SettlementError> {
    for _ in 0..MAX_TRIES {
        match try_fail_hold(ctx, id, reference, decline).await {
            Err(SettlementError::Contended) => {}
            done => return done,
        }
    }
    Err(SettlementError::Contended)
}

async fn try_fail_hold(ctx: &Context, id: &AttemptId, reference: &str, decline: &Decline) -> Result<bool, SettlementError> {
    let mut unit = ctx.store.begin().await?;
    let is_of_movement =
        |attempt: &Attempt| attempt.is_on_hold() && attempt.moved.as_ref().is_some_and(|moved| moved.reference == reference);
    let Some(attempt) = unit.attempts().find(id).await?.filter(is_of_movement) else { return Ok(false) };
    if !unit.attempts().decline_held(id, decline, ctx.now()).await? {
        return Ok(false);
    }
    handler_of(ctx, &attempt)?.declined(ctx, unit.as_mut(), &attempt, decline).await?;
    publish_decline(ctx, unit.as_mut(), &attempt).await?;
    unit.commit().await?;
    Ok(true)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::payment::{AttemptKind, MethodAmount};
    use crate::shared::{CurrencyId, MethodId, RefundId, StakeId, Timestamp};

    #[test]
    fn an_unknown_attempt_that_moved_another_amount_is_on_hold_whatever_its_purpose() {
        let stake = || StakeId::parse("stk_1").expect("an id");
        let purposes = [
            Purpose::Payment(PaymentIntentId::parse("pi_1").expect("an id")),
            Purpose::Refund(RefundId::parse("re_1").expect("an id")),
            Purpose::Stake(stake()),
            Purpose::ReturnStake(stake()),
            Purpose::Slash(stake()),
        ];
        let attempt = |purpose: &Purpose, status, has_moved: bool| {
            let id = AttemptId::parse("att_1").expect("an id");
            let of = MethodAmount {
                method_id: MethodId::parse("pm_1").expect("an id"),
                currency_id: CurrencyId::parse("pc_1").expect("an id"),
                amount: Amount::new(5),
            };
            let kind = AttemptKind::CardRefund { payment: String::new() };
            let moved = has_moved.then(|| Moved { amount: Amount::ZERO, reference: "HASH".to_owned() });
            let open_attempt = Attempt::begin(id, purpose.clone(), kind, of, Timestamp::from_seconds(0));
            Attempt { status, moved, ..open_attempt }
        };
        for purpose in &purposes {
            for (status, has_moved, is_on_hold) in [
                (AttemptStatus::Unknown, true, true),
                (AttemptStatus::Unknown, false, false),
                (AttemptStatus::Open, false, false),
                (AttemptStatus::Declined, true, false),
                (AttemptStatus::Settled, true, false),
            ] {
                assert_eq!(attempt(purpose, status, has_moved).is_on_hold(), is_on_hold, "{purpose:?} {status:?} {has_moved}");
            }
        }
    }
}
