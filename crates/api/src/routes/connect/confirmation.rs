//! Waits for the network's decision about a transaction that a wallet has signed, and answers the wallet if there is none in time.

use super::claims;
use super::step::{self, SignedStep};
use crate::state::App;
use serde_json::{Value, json};
use souk_domain::access::{CONNECT_LIFETIME, ConnectAction, ConnectStep};
use souk_domain::payment::{AttemptStatus, Decline};
use souk_domain::shared::StorageError;
use std::sync::Arc;
use std::time::Duration;
use tokio::time::{sleep, timeout};

/// The interval in which a waiting step reads the status of its attempt. The page and the reconciler query the network.
const RECHECK: Duration = Duration::from_millis(500);
/// How much longer than [`crate::limits::CONFIRMATION_WAIT`] a call may take. Only a slow network exceeds it.
const MARGIN: Duration = Duration::from_millis(500);

/// As [`step::submit`]. A wallet never waits longer than the confirmation time for a network: the step continues without it, and the
/// session stays `scanned` until then.
pub async fn submit(app: &Arc<App>, action: ConnectAction, token: &str, public_key: &str, envelope: &str) -> Result<Value, StorageError> {
    let now = app.ctx.now();
    let session = app.ctx.store.read().await?.connect_sessions().find(token, now).await?;
    let Some(session) = session.filter(|session| signs(session.step)) else {
        return step::submit(app, action, token, public_key, envelope).await;
    };
    let (task_app, token, public_key, envelope) = (Arc::clone(app), token.to_owned(), public_key.to_owned(), envelope.to_owned());
    let task = tokio::spawn(async move { step::submit(&task_app, action, &token, &public_key, &envelope).await });
    match timeout(crate::limits::CONFIRMATION_WAIT + MARGIN, task).await {
        Ok(Ok(answer)) => answer,
        Ok(Err(error)) => Err(StorageError::Driver(Box::new(error))),
        Err(_) => Ok(claims::confirming(app, &session, json!({}), app.ctx.now())),
    }
}

/// Whether a step's response is a signed transaction.
const fn signs(step: ConnectStep) -> bool {
    matches!(step, ConnectStep::Transfer | ConnectStep::Mandate | ConnectStep::Stake)
}

/// Completes a step whose transaction was sent: at once if the network has decided, else when it does. In the latter case the wallet is
/// told that the payment is being confirmed.
pub async fn conclude(app: &Arc<App>, signed: SignedStep) -> Result<Value, StorageError> {
    let (session, hash) = (signed.session.clone(), signed.hash.clone());
    let task_app = Arc::clone(app);
    let task = tokio::spawn(async move {
        match timeout(CONNECT_LIFETIME, decision(&task_app, &signed.hash)).await {
            Ok(decision) => step::conclude(&task_app, signed, decision?).await,
            // The connect session has expired.
            Err(_) => Ok(json!({})),
        }
    });
    match timeout(app.limits.confirmation_wait, task).await {
        Ok(Ok(answer)) => answer,
        Ok(Err(error)) => Err(StorageError::Driver(Box::new(error))),
        Err(_) => Ok(claims::confirming(app, &session, json!({ "hash": hash }), app.ctx.now())),
    }
}

/// Waits until the network has decided about a transaction. Returns the reason if it declined.
async fn decision(app: &App, hash: &str) -> Result<Option<Decline>, StorageError> {
    loop {
        let found = app.ctx.store.read().await?.attempts().find_by_hash(hash).await?;
        match found {
            Some(attempt) if attempt.status.is_open() => sleep(RECHECK).await,
            Some(attempt) if attempt.status == AttemptStatus::Declined => return Ok(Some(attempt.last_error.unwrap_or_default())),
            _ => return Ok(None),
        }
    }
}
