//! Executes the effects of a wallet's response, and answers the wallet once the network has decided or the wallet's time is over.
//!
//! Nothing depends on this process afterwards: the decision of the network concludes the session (`payment::conclude_connect_session`).

use super::step::{self, busy, challenge, rejection_of};
use super::{claims, wallet_actions};
use crate::problem::Problem;
use crate::state::App;
use serde_json::{Value, json};
use souk_domain::access::{ConnectAction, ConnectSession, ConnectStatus, ConnectStep, Wallet};
use souk_domain::checkout::{self, TransferError};
use souk_domain::payment::{self, SigningStep, WalletSignature};
use souk_domain::shared::{SessionId, StorageError};
use std::sync::Arc;
use std::time::Duration;
use tokio::time::{Instant, sleep_until, timeout_at};

/// The interval in which a waiting step reads what was stored.
const RECHECK: Duration = Duration::from_millis(500);
/// The part of the wallet's time in which its next request is built.
const NEXT_REQUEST_TIME: Duration = Duration::from_secs(1);

/// As [`step::submit`], in a task of its own, because a wallet may close its connection while the step is executed. The task ends at the
/// deadline of the answer; only the calls that send the transaction go on, whose time is limited.
pub async fn submit(app: &Arc<App>, action: ConnectAction, token: &str, public_key: &str, envelope: &str) -> Result<Value, StorageError> {
    let (app, token, public_key, envelope) = (Arc::clone(app), token.to_owned(), public_key.to_owned(), envelope.to_owned());
    let task = tokio::spawn(async move { step::submit(&app, action, &token, &public_key, &envelope).await });
    task.await.map_err(|error| StorageError::Driver(Box::new(error)))?
}

/// What became of the effects of a step.
pub enum Executed {
    /// Its transactions are stored, and decided or being sent; or the session has ended meanwhile.
    Stored,
    Refused(Problem),
    /// Nothing was stored, because the server failed or the network did not answer a question in time. The wallet can repeat the step.
    Repeatable(Problem),
}

/// Checks, stores and sends a signed transaction.
pub async fn send(
    app: &Arc<App>,
    session: &ConnectSession,
    wallet: &Wallet,
    signed: &str,
    deadline: Instant,
) -> Result<Executed, StorageError> {
    let (task_app, task_session, wallet, signed) = (Arc::clone(app), session.clone(), wallet.clone(), signed.to_owned());
    let effects = async move { submit_signed(&task_app, &task_session, &wallet, &signed).await };
    execute(app, session, deadline, effects).await
}

/// Charges or completes an order for which the wallet has nothing to sign.
pub async fn advance(app: &Arc<App>, session: &ConnectSession, id: &SessionId, deadline: Instant) -> Result<Executed, StorageError> {
    let (task_app, task_session, id) = (Arc::clone(app), session.clone(), id.clone());
    let effects = async move {
        checkout::advance_in_connect(&task_app.ctx, &id, signing_step(&task_session)).await?;
        Ok(())
    };
    execute(app, session, deadline, effects).await
}

/// Runs the effects of a step in a task of their own, and returns without their result when the time is over. Sending what they have stored
/// goes on, and the reconciler continues it. Effects that have not stored anything until then never will.
async fn execute(
    app: &Arc<App>,
    session: &ConnectSession,
    deadline: Instant,
    effects: impl Future<Output = Result<(), Problem>> + Send + 'static,
) -> Result<Executed, StorageError> {
    let known = payment::connect_transactions(&app.ctx, &session.token).await?.len();
    let failure = match timeout_at(deadline - NEXT_REQUEST_TIME, tokio::spawn(effects)).await {
        Ok(Ok(Ok(()))) => return Ok(Executed::Stored),
        Ok(Ok(Err(problem))) if !step::is_retryable(&problem) => return Ok(Executed::Refused(problem)),
        Ok(Ok(Err(problem))) => problem,
        Ok(Err(error)) => return Err(StorageError::Driver(Box::new(error))),
        Err(_) => step::network_too_slow(),
    };
    // The transaction may have been stored before the failure.
    let is_reopened = payment::reopen_connect_step(&app.ctx, session, known, challenge(app)).await?;
    Ok(if is_reopened { Executed::Repeatable(failure) } else { Executed::Stored })
}

/// The step that the session is in.
fn signing_step(session: &ConnectSession) -> SigningStep<'_> {
    SigningStep { token: &session.token, challenge: &session.challenge }
}

async fn submit_signed(app: &App, session: &ConnectSession, wallet: &Wallet, signed: &str) -> Result<(), Problem> {
    let signature = WalletSignature { payer: wallet, nonce: session.nonce, signed, step: Some(signing_step(session)) };
    if let Some(action) = wallet_actions::action_of(session) {
        return wallet_actions::submit(app, session, &action, signature).await;
    }
    let Some(id) = step::checkout_of(session) else { return Err(step::expired()) };
    let sent: Result<String, TransferError> = match session.step {
        ConnectStep::Mandate => checkout::submit_signed_mandate(&app.ctx, &id, signature).await,
        ConnectStep::Stake => checkout::submit_signed_stake(&app.ctx, &id, signature).await,
        _ => checkout::submit_signed_transfer(&app.ctx, &id, signature).await,
    };
    sent?;
    Ok(())
}

/// Ends the steps of a session in which everything is signed. Waits for the network's decision until `deadline`; afterwards the wallet is
/// told that the payment is being confirmed.
pub async fn conclude(app: &App, session: ConnectSession, deadline: Instant) -> Result<Value, StorageError> {
    let deadline = deadline.min(Instant::now() + app.limits.confirmation_wait);
    let mut session = payment::await_decisions(&app.ctx, session).await?;
    while session.status == ConnectStatus::Confirming && Instant::now() < deadline {
        sleep_until(deadline.min(Instant::now() + RECHECK)).await;
        session = payment::conclude_connect_session(&app.ctx, session).await?;
    }
    answer(app, &session).await
}

/// The message to the wallet about a session that asks for nothing now: it has ended, its payment is being confirmed, or another response of
/// the wallet is being processed.
pub async fn answer(app: &App, session: &ConnectSession) -> Result<Value, StorageError> {
    let now = app.ctx.now();
    let transactions = payment::connect_transactions(&app.ctx, &session.token).await?;
    let response = payment::last_hash(&transactions).map_or_else(|| json!({}), |hash| json!({ "hash": hash }));
    Ok(match session.status {
        ConnectStatus::Succeed => claims::accepted(app, session, response, now),
        ConnectStatus::Confirming => claims::confirming(app, session, response, now),
        ConnectStatus::Working if !transactions.is_empty() => claims::confirming(app, session, response, now),
        ConnectStatus::Working => claims::rejected(app, &busy(), now),
        _ => claims::rejected(app, &rejection_of(session), now),
    })
}
