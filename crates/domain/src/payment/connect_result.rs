//! The result of a connect session in which a wallet signs transactions: what the network decided about all of them.
//!
//! Attempts name their connect session, so the result does not depend on the process that received the signatures. A decision concludes the
//! session through the outbox, and every read of the session does the same.

use super::{Attempt, AttemptKind, AttemptStatus, Decline, PurposeKind};
use crate::access::{
    CONFIRMATION_LIFETIME, CONNECT_LIFETIME, ConnectAction, ConnectExpired, ConnectFailure, ConnectSession, ConnectStatus, ConnectStep,
    EXPIRED_CONNECT_LIFETIME, advance_connect_session,
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
    let Some(token) = &attempt.connect_token else { return Ok(()) };
    let now = ctx.now();
    let message = Message::new(Topic::ConcludeConnect, now).with("token", token);
    unit.outbox().publish(&EventId::new(now, ctx.random.as_ref()), &message, now).await
}

/// Why the network declined one of these transactions.
fn decline_among(transactions: &[Attempt]) -> Option<Decline> {
    let declined = transactions.iter().find(|attempt| attempt.status == AttemptStatus::Declined)?;
    Some(declined.last_error.clone().unwrap_or_default())
}

/// Why the network declined a transaction of a connect session. Nothing more is sent for that session then.
pub(crate) async fn connect_decline(unit: &mut dyn UnitOfWork, token: Option<&str>) -> Result<Option<Decline>, StorageError> {
    match token {
        Some(token) => Ok(decline_among(&unit.attempts().of_connect_session(token).await?)),
        None => Ok(None),
    }
}

/// Whether the wallet has signed everything that the session asks for. While a step is in progress, that is known only for a step that no
/// other follows.
fn is_signed(session: &ConnectSession, transactions: &[Attempt]) -> bool {
    match (session.status, session.step) {
        (ConnectStatus::Confirming, _) => true,
        // A larger order may need a new mandate after its stake.
        (ConnectStatus::Working, ConnectStep::Stake) => {
            let has = |kind| transactions.iter().any(|attempt| attempt.purpose.kind() == kind);
            has(PurposeKind::Mandate) && has(PurposeKind::Stake)
        }
        (ConnectStatus::Working, ConnectStep::Transfer) => session.action != ConnectAction::ChangePayment,
        _ => false,
    }
}

/// The final state of a session that the decisions about its transactions result in. `None`: there is none yet.
fn final_state(session: &ConnectSession, transactions: &[Attempt], now: Timestamp) -> Option<ConnectSession> {
    if session.status.is_final() || transactions.is_empty() {
        return None;
    }
    let expires_at = now.plus(CONNECT_LIFETIME);
    if let Some(decline) = decline_among(transactions) {
        return Some(ConnectSession { expires_at, ..session.failed(ConnectStatus::Error, decline.into()) });
    }
    let is_settled = transactions.iter().all(|attempt| attempt.status == AttemptStatus::Settled);
    (is_settled && is_signed(session, transactions)).then(|| ConnectSession {
        status: ConnectStatus::Succeed,
        expires_at,
        ..session.clone()
    })
}

/// The attempts whose transactions a wallet signed in a connect session, oldest first.
pub async fn connect_transactions(ctx: &Context, token: &str) -> Result<Vec<Attempt>, StorageError> {
    ctx.store.read().await?.attempts().of_connect_session(token).await
}

/// The hash of the transaction that the wallet signed last.
#[must_use]
pub fn last_hash(transactions: &[Attempt]) -> Option<&str> {
    transactions.iter().rev().find_map(|attempt| match &attempt.kind {
        AttemptKind::Wallet { hash, .. } => Some(hash.as_str()),
        _ => None,
    })
}

/// Ends a session if the network has declined one of its transactions, or has settled all that it asks for. Returns its current state.
#[tracing::instrument(skip_all)]
pub async fn conclude_connect_session(ctx: &Context, session: ConnectSession) -> Result<ConnectSession, StorageError> {
    if session.status.is_final() || session.status == ConnectStatus::Created {
        return Ok(session);
    }
    let transactions = connect_transactions(ctx, &session.token).await?;
    match final_state(&session, &transactions, ctx.now()) {
        Some(next) => transition(ctx, session, next).await,
        None => Ok(session),
    }
}

/// As [`conclude_connect_session`], by the token of the session. It may have expired.
pub async fn conclude_connect(ctx: &Context, token: &str) -> Result<(), StorageError> {
    let found = ctx.store.read().await?.connect_sessions().find(token, ctx.now()).await?;
    match found {
        Some(session) => conclude_connect_session(ctx, session).await.map(drop),
        None => Ok(()),
    }
}

/// Records that a wallet has signed everything that a session asks for. Returns the session's state: final, or `Confirming` until the
/// network has decided.
#[tracing::instrument(skip_all)]
pub async fn await_decisions(ctx: &Context, session: ConnectSession) -> Result<ConnectSession, StorageError> {
    let transactions = connect_transactions(ctx, &session.token).await?;
    let now = ctx.now();
    let confirming = ConnectSession { status: ConnectStatus::Confirming, expires_at: now.plus(CONFIRMATION_LIFETIME), ..session.clone() };
    let next = final_state(&confirming, &transactions, now).unwrap_or(confirming);
    let session = transition(ctx, session, next).await?;
    // A decision since the transactions were read may have been published before the session was `Confirming`.
    conclude_connect_session(ctx, session).await
}

/// Ends sessions that have expired after a wallet had scanned them, at most `limit`, and notifies the pages that wait for them. Returns
/// their number.
#[tracing::instrument(skip_all)]
pub async fn expire_connect_sessions(ctx: &Context, limit: u32) -> Result<usize, StorageError> {
    let now = ctx.now();
    let lapsed = ctx.store.read().await?.connect_sessions().lapsed(now, limit).await?;
    for session in &lapsed {
        let transactions = connect_transactions(ctx, &session.token).await?;
        let decided = final_state(session, &transactions, now);
        let next = decided.unwrap_or_else(|| session.failed(ConnectStatus::Error, ConnectExpired.into()));
        // Pages read the state until then.
        let next = ConnectSession { expires_at: now.plus(EXPIRED_CONNECT_LIFETIME), ..next };
        advance_connect_session(ctx, session, &next).await?;
    }
    Ok(lapsed.len())
}

/// Replaces the state of a session unless another caller was quicker. Returns its current state.
async fn transition(ctx: &Context, session: ConnectSession, next: ConnectSession) -> Result<ConnectSession, StorageError> {
    if advance_connect_session(ctx, &session, &next).await? {
        return Ok(next);
    }
    let found = ctx.store.read().await?.connect_sessions().find(&session.token, ctx.now()).await?;
    Ok(found.unwrap_or_else(|| session.failed(ConnectStatus::Error, ConnectExpired.into())))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::access::Did;
    use crate::payment::{MethodAmount, Purpose};
    use crate::shared::{Amount, AttemptId, CurrencyId, MandateId, MethodId, StakeId};
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

    #[test]
    fn a_session_succeeds_once_all_its_transactions_have_settled_and_fails_with_the_first_decline() {
        use AttemptStatus::{Declined, Open, Settled, Unknown};
        let confirming = session(ConnectStatus::Confirming, ConnectAction::Subscription, ConnectStep::Stake);
        for (of_mandate, of_stake, expected) in [
            (Open, Open, None),
            (Settled, Unknown, None),
            (Open, Settled, None),
            (Settled, Settled, Some(ConnectStatus::Succeed)),
            (Declined, Settled, Some(ConnectStatus::Error)),
            (Declined, Open, Some(ConnectStatus::Error)),
            (Settled, Declined, Some(ConnectStatus::Error)),
        ] {
            let after = final_state(&confirming, &[mandate(of_mandate), stake(of_stake)], Timestamp::from_seconds(1));
            assert_eq!(after.as_ref().map(|after| after.status), expected, "{of_mandate:?} {of_stake:?}");
            let code = after.filter(|after| after.status == ConnectStatus::Error).map(|after| (after.error_code, after.error_params));
            let declined = ("NETWORK_DECLINED".to_owned(), BTreeMap::from([("reason".to_owned(), "FORBIDDEN".to_owned())]));
            assert_eq!(code, (expected == Some(ConnectStatus::Error)).then_some(declined));
        }
    }

    #[test]
    fn a_session_that_may_ask_for_another_signature_does_not_succeed() {
        use ConnectAction::{ChangePayment, Payment, Subscription};
        let settled = AttemptStatus::Settled;
        for (status, action, step, transactions, succeeds) in [
            (ConnectStatus::Working, Payment, ConnectStep::Transfer, vec![stake(settled)], true),
            (ConnectStatus::Working, ChangePayment, ConnectStep::Transfer, vec![mandate(settled)], false),
            (ConnectStatus::Working, Subscription, ConnectStep::Mandate, vec![mandate(settled)], false),
            (ConnectStatus::Scanned, Subscription, ConnectStep::Stake, vec![mandate(settled)], false),
            (ConnectStatus::Working, Subscription, ConnectStep::Stake, vec![mandate(settled)], false),
            (ConnectStatus::Working, Subscription, ConnectStep::Stake, vec![stake(settled)], false),
            (ConnectStatus::Working, Subscription, ConnectStep::Stake, vec![mandate(settled), stake(settled)], true),
            (ConnectStatus::Confirming, Subscription, ConnectStep::Mandate, vec![mandate(settled)], true),
            (ConnectStatus::Confirming, Subscription, ConnectStep::Mandate, vec![], false),
        ] {
            let after = final_state(&session(status, action, step), &transactions, Timestamp::from_seconds(1));
            assert_eq!(after.is_some(), succeeds, "{status:?} {action:?} {step:?} {}", transactions.len());
        }
    }

    #[test]
    fn a_final_state_does_not_change() {
        let failed = session(ConnectStatus::Forbidden, ConnectAction::Payment, ConnectStep::Transfer);
        assert_eq!(final_state(&failed, &[mandate(AttemptStatus::Declined)], Timestamp::from_seconds(1)), None);
    }

    #[test]
    fn the_last_hash_is_that_of_the_newest_transaction() {
        let transactions = [mandate(AttemptStatus::Open), stake(AttemptStatus::Open)];
        assert_eq!(last_hash(&transactions), Some("hash of stake"));
        assert_eq!(last_hash(&[]), None);
    }
}
