//! The result of a connect session in which a wallet signs transactions: what the network decided about all of them.
//!
//! Attempts name their connect session, so the result does not depend on the process that received the signatures. A decision concludes the
//! session through the outbox, and every read of the session does the same.

use super::{Attempt, AttemptKind, AttemptStatus, Decline, IntentStatus, PurposeKind};
use crate::access::{
    CONFIRMATION_LIFETIME, CONNECT_LIFETIME, ConnectAction, ConnectExpired, ConnectFailure, ConnectSession, ConnectStatus, ConnectStep,
    FINAL_CONNECT_LIFETIME, advance_in,
};
use crate::context::Context;
use crate::events::{Message, Topic};
use crate::shared::{EventId, StorageError, Timestamp};
use crate::storage::UnitOfWork;

impl From<Decline> for ConnectFailure {
    /// The parameter is the network's code.
    fn from(decline: Decline) -> Self {
        let params = [("reason".to_owned(), decline.code)].into();
        Self { message: decline.message, code: "NETWORK_DECLINED".to_owned(), params }
    }
}

/// Publishes that the network has decided about an attempt, for the connect session in which a wallet signed it.
pub(super) async fn publish_decision(ctx: &Context, unit: &mut dyn UnitOfWork, attempt: &Attempt) -> Result<(), StorageError> {
    let Some(token) = current_token(unit, attempt).await? else { return Ok(()) };
    let now = ctx.now();
    let message = Message::new(Topic::ConcludeConnect, now).with("token", token);
    unit.outbox().publish(&EventId::new(now, ctx.random.as_ref()), &message, now).await
}

/// The connect session that waits for an attempt. For an attempt of an order that may be another one than when the attempt was read.
pub(crate) async fn current_token(unit: &mut dyn UnitOfWork, attempt: &Attempt) -> Result<Option<String>, StorageError> {
    if attempt.session_id.is_none() || !matches!(attempt.kind, AttemptKind::Wallet { .. }) {
        return Ok(attempt.connect_token.clone());
    }
    Ok(unit.attempts().find(&attempt.id).await?.and_then(|attempt| attempt.connect_token))
}

/// As [`publish_decision`], for a decline. Until the end of this unit of work, no other one writes an attempt for the connect session: see
/// [`super::lock_step`].
pub(super) async fn publish_decline(ctx: &Context, unit: &mut dyn UnitOfWork, attempt: &Attempt) -> Result<(), StorageError> {
    if let Some(token) = current_token(unit, attempt).await? {
        unit.connect_sessions().lock(&token).await?;
    }
    publish_decision(ctx, unit, attempt).await
}

/// Why the network declined one of these transactions.
pub(super) fn decline_among(transactions: &[Attempt]) -> Option<Decline> {
    let declined = transactions.iter().find(|attempt| attempt.status == AttemptStatus::Declined)?;
    Some(declined.last_error.clone().unwrap_or_default())
}

/// What was signed in a connect session, and what followed it.
struct Signed {
    /// Oldest first.
    transactions: Vec<Attempt>,
    /// Whether the checkout that the transactions belong to is complete. `None`: they belong to none.
    is_order_complete: Option<bool>,
}

impl Signed {
    async fn read(unit: &mut dyn UnitOfWork, token: &str) -> Result<Self, StorageError> {
        let transactions = unit.attempts().of_connect_session(token).await?;
        let is_order_complete = match transactions.iter().find_map(|attempt| attempt.session_id.as_ref()) {
            Some(order) => {
                let intent = unit.intents().find_by_session(order).await?;
                Some(intent.is_some_and(|intent| intent.status == IntentStatus::Succeeded))
            }
            None => None,
        };
        Ok(Self { transactions, is_order_complete })
    }

    fn has(&self, kind: PurposeKind) -> bool {
        self.transactions.iter().any(|attempt| attempt.purpose.kind() == kind)
    }
}

/// Whether the wallet has signed everything that the session asks for, if all of it has settled. A checkout is complete by then. Otherwise,
/// while a step is in progress, that is known only for a step that no other follows.
fn is_signed(session: &ConnectSession, signed: &Signed) -> bool {
    if let Some(is_complete) = signed.is_order_complete {
        return is_complete;
    }
    let has_signed_step = session.step != ConnectStep::Stake || signed.has(PurposeKind::Stake);
    let is_last_step = match session.step {
        ConnectStep::Transfer => session.action != ConnectAction::ChangePayment,
        ConnectStep::Stake | ConnectStep::Principal => true,
        ConnectStep::Mandate | ConnectStep::Profile => false,
    };
    match session.status {
        ConnectStatus::Confirming => has_signed_step,
        ConnectStatus::Working => has_signed_step && is_last_step,
        _ => false,
    }
}

/// The final state of a session that the decisions about its transactions result in. `None`: there is none yet.
fn final_state(session: &ConnectSession, signed: &Signed, now: Timestamp) -> Option<ConnectSession> {
    let transactions = &signed.transactions;
    if session.status.is_final() || transactions.is_empty() {
        return None;
    }
    let expires_at = now.plus(CONNECT_LIFETIME);
    if let Some(decline) = decline_among(transactions) {
        return Some(ConnectSession { expires_at, ..session.failed(ConnectStatus::Error, decline.into()) });
    }
    if transactions.iter().any(|attempt| attempt.status != AttemptStatus::Settled) {
        return None;
    }
    if is_signed(session, signed) {
        return Some(ConnectSession { status: ConnectStatus::Succeed, expires_at, ..session.clone() });
    }
    // The session expired while its wallet was asked for the last signature.
    let is_incomplete = session.status == ConnectStatus::Confirming;
    is_incomplete.then(|| ConnectSession { expires_at, ..session.failed(ConnectStatus::Error, ConnectExpired.into()) })
}

/// The state of a session whose time is over. As long as the network has not decided about what was signed, that is not an error.
fn after_expiry(session: &ConnectSession, signed: &Signed, now: Timestamp) -> ConnectSession {
    let confirming = confirming(session, now);
    match final_state(session, signed, now).or_else(|| final_state(&confirming, signed, now)) {
        Some(decided) => ConnectSession { expires_at: now.plus(FINAL_CONNECT_LIFETIME), ..decided },
        None if signed.transactions.is_empty() => session.failed(ConnectStatus::Error, ConnectExpired.into()),
        None => confirming,
    }
}

fn confirming(session: &ConnectSession, now: Timestamp) -> ConnectSession {
    ConnectSession { status: ConnectStatus::Confirming, expires_at: now.plus(CONFIRMATION_LIFETIME), ..session.clone() }
}

/// The attempts of a connect session, oldest first.
pub async fn connect_transactions(ctx: &Context, token: &str) -> Result<Vec<Attempt>, StorageError> {
    ctx.store.read().await?.attempts().of_connect_session(token).await
}

/// The hash of the transaction that the wallet signed last. A charge that follows it was signed by the store.
#[must_use]
pub fn last_hash(transactions: &[Attempt]) -> Option<&str> {
    // Payments are charges if the wallet has signed something else.
    let signed = transactions.iter().rev().find(|attempt| attempt.purpose.kind() != PurposeKind::Payment);
    match &signed.or(transactions.last())?.kind {
        AttemptKind::Wallet { hash, .. } => Some(hash),
        _ => None,
    }
}

/// The current state of a session, after the decisions of the network have concluded it. `None`: it does not exist, or it has expired without
/// a signature.
pub async fn current_connect_session(ctx: &Context, token: &str) -> Result<Option<ConnectSession>, StorageError> {
    let now = ctx.now();
    let mut unit = ctx.store.read().await?;
    let found = unit.connect_sessions().find(token, now).await?;
    if let Some(session) = found {
        drop(unit);
        return conclude_connect_session(ctx, session).await.map(Some);
    }
    let Some(lapsed) = unit.connect_sessions().find_lapsed(token, now).await? else { return Ok(None) };
    let has_signed = !unit.attempts().of_connect_session(token).await?.is_empty();
    drop(unit);
    if has_signed { transition(ctx, lapsed, after_expiry_if_due).await.map(Some) } else { Ok(None) }
}

/// Ends a session if the network has declined one of its transactions, or has settled all that it asks for. Returns its current state.
#[tracing::instrument(skip_all)]
pub async fn conclude_connect_session(ctx: &Context, session: ConnectSession) -> Result<ConnectSession, StorageError> {
    if session.status.is_final() || session.status == ConnectStatus::Created {
        return Ok(session);
    }
    let mut unit = ctx.store.read().await?;
    let signed = Signed::read(unit.as_mut(), &session.token).await?;
    drop(unit);
    match final_state(&session, &signed, ctx.now()) {
        Some(_) => transition(ctx, session, final_state).await,
        None => Ok(session),
    }
}

/// As [`conclude_connect_session`], by the token of the session.
pub async fn conclude_connect(ctx: &Context, token: &str) -> Result<(), StorageError> {
    current_connect_session(ctx, token).await.map(drop)
}

/// Records that a wallet has signed everything that a session asks for. Returns the session's state: final, or `Confirming` until the
/// network has decided.
#[tracing::instrument(skip_all)]
pub async fn await_decisions(ctx: &Context, session: ConnectSession) -> Result<ConnectSession, StorageError> {
    let session = transition(ctx, session, |session, signed, now| {
        let confirming = confirming(session, now);
        Some(final_state(&confirming, signed, now).unwrap_or(confirming))
    })
    .await?;
    // A decision since the transactions were read may have been published before the session was `Confirming`.
    conclude_connect_session(ctx, session).await
}

/// Handles sessions that have expired after a wallet had scanned them, at most `limit`, and notifies the pages that wait for them: those with
/// open transactions wait for the network, the others end. Returns their number.
#[tracing::instrument(skip_all)]
pub async fn expire_connect_sessions(ctx: &Context, limit: u32) -> Result<usize, StorageError> {
    let lapsed = ctx.store.read().await?.connect_sessions().lapsed(ctx.now(), limit).await?;
    let number = lapsed.len();
    for session in lapsed {
        transition(ctx, session, after_expiry_if_due).await?;
    }
    Ok(number)
}

/// [`after_expiry`], unless another caller has prolonged the session.
fn after_expiry_if_due(session: &ConnectSession, signed: &Signed, now: Timestamp) -> Option<ConnectSession> {
    (session.expires_at <= now).then(|| after_expiry(session, signed, now))
}

/// Replaces the state of a session by what `next` makes of it and its transactions, unless another caller was quicker: no attempt is written
/// for the session meanwhile. Returns the session's current state.
async fn transition(
    ctx: &Context,
    session: ConnectSession,
    next: impl Fn(&ConnectSession, &Signed, Timestamp) -> Option<ConnectSession> + Send,
) -> Result<ConnectSession, StorageError> {
    let now = ctx.now();
    let mut unit = ctx.store.begin().await?;
    let Some(stored) = unit.connect_sessions().lock(&session.token).await? else {
        return Ok(session.failed(ConnectStatus::Error, ConnectExpired.into()));
    };
    if stored.status != session.status || stored.challenge != session.challenge {
        return Ok(stored);
    }
    let signed = Signed::read(unit.as_mut(), &session.token).await?;
    // The caller may have changed the step.
    let session = ConnectSession { step: session.step, ..stored };
    let Some(next) = next(&session, &signed, now) else { return Ok(session) };
    advance_in(ctx, unit.as_mut(), &session, &next).await?;
    unit.commit().await?;
    Ok(next)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::access::Did;
    use crate::payment::{MethodAmount, Purpose};
    use crate::shared::{Amount, AttemptId, CurrencyId, MandateId, MethodId, PaymentIntentId, StakeId};
    use std::collections::BTreeMap;

    fn session(status: ConnectStatus, action: ConnectAction, step: ConnectStep) -> ConnectSession {
        let at = Timestamp::from_seconds(0);
        ConnectSession {
            token: "00ff".to_owned(),
            action,
            status,
            step,
            challenge: "AA".to_owned(),
            browser: [3; 32],
            params: BTreeMap::new(),
            wallet: None,
            nonce: 7,
            error: String::new(),
            error_code: String::new(),
            error_params: BTreeMap::new(),
            browser_session: None,
            created_at: at,
            updated_at: at,
            expires_at: at.plus(CONNECT_LIFETIME),
        }
    }

    fn attempt(purpose: Purpose, status: AttemptStatus) -> Attempt {
        let kind = AttemptKind::Wallet { payer: Did::from_verified("z1"), bytes: vec![1], hash: format!("hash of {}", purpose.name()) };
        let of = MethodAmount {
            method_id: MethodId::parse("pm_1").expect("an id"),
            currency_id: CurrencyId::parse("pc_1").expect("an id"),
            amount: Amount::new(1),
        };
        let begun = Attempt::begin(AttemptId::parse("att_1").expect("an id"), purpose, kind, of, Timestamp::from_seconds(0));
        let decline = Decline { code: "FORBIDDEN".to_owned(), message: "No".to_owned() };
        Attempt { status, last_error: (status == AttemptStatus::Declined).then_some(decline), ..begun }
    }

    fn mandate(status: AttemptStatus) -> Attempt {
        attempt(Purpose::Mandate(MandateId::parse("man_1").expect("an id")), status)
    }

    fn stake(status: AttemptStatus) -> Attempt {
        attempt(Purpose::Stake(StakeId::parse("stk_1").expect("an id")), status)
    }

    fn payment(status: AttemptStatus) -> Attempt {
        attempt(Purpose::Payment(PaymentIntentId::parse("pi_1").expect("an id")), status)
    }

    /// Transactions of a checkout that is complete or not.
    fn of_order(transactions: Vec<Attempt>, is_complete: bool) -> Signed {
        Signed { transactions, is_order_complete: Some(is_complete) }
    }

    /// Transactions of no checkout.
    fn of_subscription(transactions: Vec<Attempt>) -> Signed {
        Signed { transactions, is_order_complete: None }
    }

    #[test]
    fn a_session_succeeds_once_all_its_transactions_have_settled_and_fails_with_the_first_decline() {
        use AttemptStatus::{Declined, Open, Settled, Unknown};
        let confirming = session(ConnectStatus::Confirming, ConnectAction::ChangePayment, ConnectStep::Stake);
        for (of_mandate, of_stake, expected) in [
            (Open, Open, None),
            (Settled, Unknown, None),
            (Open, Settled, None),
            (Settled, Settled, Some(ConnectStatus::Succeed)),
            (Declined, Settled, Some(ConnectStatus::Error)),
            (Declined, Open, Some(ConnectStatus::Error)),
            (Settled, Declined, Some(ConnectStatus::Error)),
        ] {
            let signed = of_subscription(vec![mandate(of_mandate), stake(of_stake)]);
            let after = final_state(&confirming, &signed, Timestamp::from_seconds(1));
            assert_eq!(after.as_ref().map(|after| after.status), expected, "{of_mandate:?} {of_stake:?}");
            let code = after.filter(|after| after.status == ConnectStatus::Error).map(|after| (after.error_code, after.error_params));
            let declined = ("NETWORK_DECLINED".to_owned(), BTreeMap::from([("reason".to_owned(), "FORBIDDEN".to_owned())]));
            assert_eq!(code, (expected == Some(ConnectStatus::Error)).then_some(declined));
        }
    }

    #[test]
    fn a_session_that_may_ask_for_another_signature_does_not_succeed() {
        use ConnectAction::{ChangePayment, Restake};
        let settled = AttemptStatus::Settled;
        for (status, action, step, transactions, succeeds) in [
            (ConnectStatus::Working, Restake, ConnectStep::Transfer, vec![stake(settled)], true),
            (ConnectStatus::Working, ChangePayment, ConnectStep::Transfer, vec![mandate(settled)], false),
            (ConnectStatus::Scanned, ChangePayment, ConnectStep::Stake, vec![mandate(settled)], false),
            (ConnectStatus::Working, ChangePayment, ConnectStep::Stake, vec![mandate(settled)], false),
            (ConnectStatus::Working, ChangePayment, ConnectStep::Stake, vec![mandate(settled), stake(settled)], true),
            (ConnectStatus::Confirming, ChangePayment, ConnectStep::Transfer, vec![mandate(settled)], true),
            (ConnectStatus::Confirming, ChangePayment, ConnectStep::Transfer, vec![], false),
        ] {
            let number = transactions.len();
            let after = final_state(&session(status, action, step), &of_subscription(transactions), Timestamp::from_seconds(1));
            let is_success = after.is_some_and(|after| after.status == ConnectStatus::Succeed);
            assert_eq!(is_success, succeeds, "{status:?} {action:?} {step:?} {number}");
        }
    }

    #[test]
    fn a_session_of_a_checkout_succeeds_once_the_checkout_is_complete() {
        use ConnectStatus::{Confirming, Error, Scanned, Succeed, Working};
        let settled = AttemptStatus::Settled;
        for (status, step, is_complete, expected) in [
            (Scanned, ConnectStep::Stake, true, Some(Succeed)),
            (Working, ConnectStep::Mandate, true, Some(Succeed)),
            (Confirming, ConnectStep::Mandate, true, Some(Succeed)),
            (Scanned, ConnectStep::Stake, false, None),
            (Working, ConnectStep::Mandate, false, None),
            (Confirming, ConnectStep::Mandate, false, Some(Error)),
        ] {
            let signed = of_order(vec![mandate(settled)], is_complete);
            let after = final_state(&session(status, ConnectAction::Subscription, step), &signed, Timestamp::from_seconds(1));
            assert_eq!(after.map(|after| after.status), expected, "{status:?} {step:?} {is_complete}");
        }
        let in_flight = of_order(vec![mandate(settled), payment(AttemptStatus::Open)], false);
        let working = session(Working, ConnectAction::Subscription, ConnectStep::Mandate);
        assert_eq!(final_state(&working, &in_flight, Timestamp::from_seconds(1)), None);
    }

    #[test]
    fn an_expired_session_fails_only_if_nothing_that_was_signed_is_undecided_or_complete() {
        use AttemptStatus::{Declined, Open, Settled, Unknown};
        use ConnectAction::{ChangePayment, Payment, Subscription};
        use ConnectStatus::{Confirming, Error, Scanned, Succeed, Working};
        for (status, action, step, signed, expected) in [
            (Working, Payment, ConnectStep::Transfer, of_subscription(vec![]), Error),
            (Working, Payment, ConnectStep::Transfer, of_order(vec![payment(Open)], false), Confirming),
            (Working, Payment, ConnectStep::Transfer, of_order(vec![payment(Settled)], true), Succeed),
            (Working, Subscription, ConnectStep::Mandate, of_order(vec![mandate(Settled)], true), Succeed),
            (Working, Subscription, ConnectStep::Mandate, of_order(vec![mandate(Settled)], false), Error),
            (Working, Subscription, ConnectStep::Mandate, of_order(vec![mandate(Open)], false), Confirming),
            (Working, Subscription, ConnectStep::Stake, of_order(vec![mandate(Settled), stake(Unknown)], false), Confirming),
            (Working, Subscription, ConnectStep::Stake, of_order(vec![mandate(Open), stake(Declined)], false), Error),
            (Scanned, Subscription, ConnectStep::Stake, of_order(vec![mandate(Open)], false), Confirming),
            (Scanned, Subscription, ConnectStep::Stake, of_order(vec![mandate(Settled)], false), Error),
            (Scanned, Subscription, ConnectStep::Stake, of_order(vec![mandate(Settled)], true), Succeed),
            (Confirming, Subscription, ConnectStep::Stake, of_order(vec![mandate(Unknown)], false), Confirming),
            (Working, ChangePayment, ConnectStep::Transfer, of_subscription(vec![mandate(Settled)]), Succeed),
            (Scanned, ChangePayment, ConnectStep::Stake, of_subscription(vec![mandate(Settled)]), Error),
            (Confirming, ChangePayment, ConnectStep::Stake, of_subscription(vec![mandate(Settled)]), Error),
        ] {
            let now = Timestamp::from_seconds(301);
            let after = after_expiry(&session(status, action, step), &signed, now);
            let number = signed.transactions.len();
            assert_eq!(after.status, expected, "{status:?} {action:?} {step:?} {number} {:?}", signed.is_order_complete);
            let lives_until = now.plus(if expected == Confirming { CONFIRMATION_LIFETIME } else { FINAL_CONNECT_LIFETIME });
            assert_eq!(after.expires_at, if number == 0 { session(status, action, step).expires_at } else { lives_until });
        }
    }

    #[test]
    fn a_final_state_does_not_change() {
        let failed = session(ConnectStatus::Forbidden, ConnectAction::Payment, ConnectStep::Transfer);
        let signed = of_order(vec![mandate(AttemptStatus::Declined)], true);
        assert_eq!(final_state(&failed, &signed, Timestamp::from_seconds(1)), None);
    }

    #[test]
    fn the_last_hash_is_that_of_the_newest_transaction_of_the_wallet() {
        let transactions = [mandate(AttemptStatus::Open), stake(AttemptStatus::Open), payment(AttemptStatus::Open)];
        assert_eq!(last_hash(&transactions), Some("hash of stake"), "the store has signed the charge");
        assert_eq!(last_hash(&transactions[2..]), Some("hash of payment"));
        assert_eq!(last_hash(&[]), None);
    }
}
