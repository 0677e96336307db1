//! Sends the transaction that a wallet has signed, and answers the wallet once the network has decided or the wallet's time is over.
//!
//! Nothing depends on this process afterwards: the decision of the network concludes the session (`payment::conclude_connect_session`).

use super::step::{self, rejection_of};
use super::{claims, wallet_actions};
use crate::limits::CONFIRMATION_WAIT;
use crate::problem::Problem;
use crate::state::App;
use serde_json::{Value, json};
use souk_domain::access::{ConnectAction, ConnectSession, ConnectStatus, ConnectStep, Wallet};
use souk_domain::checkout::{self, TransferError};
use souk_domain::payment::{self, WalletSignature};
use souk_domain::shared::StorageError;
use std::sync::Arc;
use std::time::Duration;
use tokio::time::{Instant, sleep_until, timeout};

/// The interval in which a waiting step reads what was stored.
const RECHECK: Duration = Duration::from_millis(500);

/// As [`step::submit`], in a task of its own, because a wallet may close its connection while the step is executed. The task ends with the
/// calls that send the transaction, whose time is limited, and with the wait for the decision.
pub async fn submit(app: &Arc<App>, action: ConnectAction, token: &str, public_key: &str, envelope: &str) -> Result<Value, StorageError> {
    let (app, token, public_key, envelope) = (Arc::clone(app), token.to_owned(), public_key.to_owned(), envelope.to_owned());
    let task = tokio::spawn(async move { step::submit(&app, action, &token, &public_key, &envelope).await });
    task.await.map_err(|error| StorageError::Driver(Box::new(error)))?
}

/// Checks, stores and sends a signed transaction. Returns without the network's answer if that takes longer than [`CONFIRMATION_WAIT`] and
/// the transaction is stored: sending goes on, and the reconciler continues it.
pub async fn send(app: &Arc<App>, session: &ConnectSession, wallet: &Wallet, signed: &str) -> Result<Result<(), Problem>, StorageError> {
    let known = payment::connect_transactions(&app.ctx, &session.token).await?.len();
    let mut task = tokio::spawn({
        let (app, session, wallet, signed) = (Arc::clone(app), session.clone(), wallet.clone(), signed.to_owned());
        async move { submit_signed(&app, &session, &wallet, &signed).await }
    });
    let mut wait = CONFIRMATION_WAIT;
    loop {
        match timeout(wait, &mut task).await {
            Ok(Ok(result)) => return Ok(result),
            Ok(Err(error)) => return Err(StorageError::Driver(Box::new(error))),
            Err(_) if payment::connect_transactions(&app.ctx, &session.token).await?.len() > known => return Ok(Ok(())),
            // The network is queried before the transaction is stored. The wallet is told nothing about a payment that does not exist yet.
            Err(_) => wait = RECHECK,
        }
    }
}

async fn submit_signed(app: &App, session: &ConnectSession, wallet: &Wallet, signed: &str) -> Result<(), Problem> {
    let signature = WalletSignature { payer: wallet, nonce: session.nonce, signed, connect_token: Some(&session.token) };
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
    let mut session = payment::await_decisions(&app.ctx, session).await?;
    while session.status == ConnectStatus::Confirming && Instant::now() < deadline {
        sleep_until(deadline.min(Instant::now() + RECHECK)).await;
        session = payment::conclude_connect_session(&app.ctx, session).await?;
    }
    answer(app, &session).await
}

/// The message to the wallet about a session that asks for nothing more.
pub async fn answer(app: &App, session: &ConnectSession) -> Result<Value, StorageError> {
    let now = app.ctx.now();
    let transactions = payment::connect_transactions(&app.ctx, &session.token).await?;
    let response = payment::last_hash(&transactions).map_or_else(|| json!({}), |hash| json!({ "hash": hash }));
    Ok(match session.status {
        ConnectStatus::Succeed => claims::accepted(app, session, response, now),
        ConnectStatus::Confirming => claims::confirming(app, session, response, now),
        _ => claims::rejected(app, &rejection_of(session), now),
    })
}
