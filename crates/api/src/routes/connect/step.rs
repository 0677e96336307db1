//! The steps of a connect session: requests to the wallet, its responses, and the transitions between them.

use super::claims::{self, Answer};
use super::wallet_actions::SignatureRequest;
use super::{confirmation, wallet_actions};
use crate::problem::Problem;
use crate::state::App;
use poem::http::StatusCode;
use serde_json::{Value, json};
use souk_domain::access::{
    self, ConnectAction, ConnectExpired, ConnectFailure, ConnectSession, ConnectStatus, ConnectStep, Profile, Wallet,
    advance_connect_session,
};
use souk_domain::checkout::{self, TransferError, WalletStep};
use souk_domain::payment::{self, PurposeKind};
use souk_domain::shared::{SessionId, StorageError, Timestamp};
use std::sync::Arc;
use subtle::ConstantTimeEq;
use tokio::time::Instant;

/// The session has ended or does not exist.
pub fn expired() -> Problem {
    Problem::bad(ConnectExpired.to_string()).code("CONNECT_EXPIRED")
}

/// Why a session has failed, or that it has ended.
pub fn rejection_of(session: &ConnectSession) -> Problem {
    match (session.status, session.error_code.as_str()) {
        (ConnectStatus::Forbidden, _) => other_wallet(),
        (ConnectStatus::Error, code) if !code.is_empty() => {
            let failed = Problem::bad(session.error.clone()).code(code);
            session.error_params.iter().fold(failed, |problem, (name, value)| problem.param(name, value))
        }
        _ => expired(),
    }
}

/// Finds a session of an action, after the decisions of the network have concluded it.
pub async fn find(app: &App, action: ConnectAction, token: &str) -> Result<Option<ConnectSession>, StorageError> {
    let found = app.ctx.store.read().await?.connect_sessions().find(token, app.ctx.now()).await?;
    match found.filter(|session| session.action == action) {
        Some(session) => payment::conclude_connect_session(&app.ctx, session).await.map(Some),
        None => Ok(None),
    }
}

/// The response comes from another wallet than the one bound to the session.
pub fn other_wallet() -> Problem {
    Problem::forbidden_for("Login user and wallet user mismatch, please relogin and try again").code("CONNECT_OTHER_WALLET")
}

fn declined() -> Problem {
    Problem::bad("You have declined the authentication request").code("CONNECT_DECLINED")
}

fn busy() -> Problem {
    Problem::bad("Busy processing another DID Connect request").code("CONNECT_BUSY")
}

fn wrong_challenge() -> Problem {
    Problem::bad("Challenge mismatch").code("CONNECT_CHALLENGE")
}

fn missing_claim() -> Problem {
    Problem::bad("The response lacks the requested claim").code("CONNECT_NO_CLAIM")
}

/// A new challenge for each step: 16 random bytes in upper-case hex.
pub fn challenge(app: &App) -> String {
    hex::encode_upper(app.ctx.random.bytes::<16>())
}

/// Builds the request of the session's current step.
pub async fn build_step(app: &App, session: &ConnectSession) -> Result<Value, StorageError> {
    let now = app.ctx.now();
    let language = claims::language_of(session);
    if let (ConnectStep::Transfer | ConnectStep::Stake, Some(action), Some(wallet)) =
        (session.step, wallet_actions::action_of(session), &session.wallet)
    {
        return match wallet_actions::build_request(app, session, &action, wallet).await {
            Ok(SignatureRequest { claim, chain }) => Ok(claims::request(app, session, claim, chain, now)),
            Err(error) => reject_action(app, session, error, now).await,
        };
    }
    if matches!(session.step, ConnectStep::Principal) {
        return Ok(claims::request(app, session, claims::principal_claim(session.action, language), claims::no_chain(), now));
    }
    if matches!(session.step, ConnectStep::Profile) {
        return Ok(claims::request(app, session, claims::profile_claim(language), claims::no_chain(), now));
    }
    let (Some(id), Some(wallet)) = (checkout_of(session), &session.wallet) else { return Ok(claims::rejected(app, &expired(), now)) };
    let ctx = &app.ctx;
    let prepared = match session.step {
        ConnectStep::Mandate => checkout::prepare_mandate(ctx, &id, wallet, session.nonce)
            .await
            .map(|prepared| (claims::mandate_claim(&prepared, &app.site.name, language), claims::chain_of(app, &prepared.method))),
        ConnectStep::Stake => checkout::prepare_stake(ctx, &id, wallet, session.nonce)
            .await
            .map(|prepared| (claims::stake_claim(&prepared, language), claims::chain_of(app, &prepared.method))),
        _ => checkout::prepare_transfer(ctx, &id, wallet, session.nonce)
            .await
            .map(|prepared| (claims::transfer_claim(&prepared, language), claims::chain_of(app, &prepared.method))),
    };
    match prepared {
        Ok((claim, chain)) => Ok(claims::request(app, session, claim, chain, now)),
        Err(error) => reject(app, session, error).await,
    }
}

/// Handles the first read by the wallet. For a checkout, this determines what has to be signed.
pub async fn scan(app: &App, session: &ConnectSession, scanned: ConnectSession) -> Result<Value, StorageError> {
    let scanned = match (&session.wallet, checkout_of(session)) {
        (Some(wallet), Some(id)) if session.action != ConnectAction::Login && wallet_actions::action_of(session).is_none() => {
            match checkout::next_wallet_step(&app.ctx, &id, &wallet.did).await {
                Ok(wanted) => ConnectSession { step: step_for(wanted), ..scanned },
                Err(error) => return reject(app, session, error).await,
            }
        }
        _ => scanned,
    };
    advance_connect_session(&app.ctx, session, &scanned).await?;
    build_step(app, &scanned).await
}

/// If nothing has to be signed, the wallet is asked to confirm its account once, so that its user consents.
const fn step_for(wanted: WalletStep) -> ConnectStep {
    match wanted {
        WalletStep::Transfer => ConnectStep::Transfer,
        WalletStep::Mandate => ConnectStep::Mandate,
        WalletStep::Stake => ConnectStep::Stake,
        WalletStep::Nothing => ConnectStep::Principal,
    }
}

/// Ends the session with an error, which is also sent to the wallet.
async fn reject(app: &App, session: &ConnectSession, error: TransferError) -> Result<Value, StorageError> {
    match error {
        TransferError::Storage(error) => Err(error),
        error => {
            let problem = Problem::from(error);
            fail(app, session, ConnectStatus::Error, &problem).await?;
            Ok(claims::rejected(app, &problem, app.ctx.now()))
        }
    }
}

/// The checkout session that the wallet pays.
pub fn checkout_of(session: &ConnectSession) -> Option<SessionId> {
    session.params.get("checkoutSessionId").and_then(|id| SessionId::parse(id).ok())
}

/// Handles a wallet's response. The challenge is verified before anything is stored, and replaced before the step is executed.
pub async fn submit(app: &Arc<App>, action: ConnectAction, token: &str, public_key: &str, envelope: &str) -> Result<Value, StorageError> {
    let (now, started_at) = (app.ctx.now(), Instant::now());
    let Some(session) = find(app, action, token).await? else { return Ok(claims::rejected(app, &expired(), now)) };
    match session.status {
        // The network may have declined an earlier transaction while the wallet signed this one.
        ConnectStatus::Error if !payment::connect_transactions(&app.ctx, token).await?.is_empty() => {
            return Ok(claims::rejected(app, &rejection_of(&session), now));
        }
        // The challenge of the step that is being processed is used, and no other step has begun.
        ConnectStatus::Working | ConnectStatus::Confirming => return Ok(claims::rejected(app, &wrong_challenge(), now)),
        status if status.is_final() => return Ok(claims::rejected(app, &expired(), now)),
        _ => {}
    }
    let opened = match app.did_auth_tokens.open(envelope, public_key, now) {
        Ok(opened) => opened,
        Err(error) => {
            let problem = Problem::from(error);
            fail(app, &session, ConnectStatus::Error, &problem).await?;
            return Ok(claims::rejected(app, &problem, now));
        }
    };
    let Ok(answer) = serde_json::from_str::<Answer>(&opened.body) else { return Ok(claims::rejected(app, &missing_claim(), now)) };
    let matches: bool = answer.challenge.as_bytes().ct_eq(session.challenge.as_bytes()).into();
    if !matches {
        return Ok(claims::rejected(app, &wrong_challenge(), now));
    }
    let wallet = Wallet { did: opened.issuer, public_key: public_key.to_owned() };
    if session.wallet.as_ref().is_some_and(|known| known.did != wallet.did) {
        fail(app, &session, ConnectStatus::Forbidden, &other_wallet()).await?;
        return Ok(claims::rejected(app, &other_wallet(), now));
    }
    match answer.action.as_str() {
        "declineAuth" => {
            fail(app, &session, ConnectStatus::Error, &declined()).await?;
            return Ok(claims::accepted(app, &session, json!({}), now));
        }
        "busy" => {
            fail(app, &session, ConnectStatus::Busy, &busy()).await?;
            return Ok(json!({}));
        }
        _ => {}
    }
    let working = ConnectSession {
        status: ConnectStatus::Working,
        challenge: challenge(app),
        wallet: Some(session.wallet.clone().unwrap_or(wallet)),
        ..session.clone()
    };
    if !advance_connect_session(&app.ctx, &session, &working).await? {
        return Ok(claims::rejected(app, &wrong_challenge(), now));
    }
    execute_step(app, working, &answer, started_at).await
}

async fn execute_step(app: &Arc<App>, session: ConnectSession, answer: &Answer, started_at: Instant) -> Result<Value, StorageError> {
    let now = app.ctx.now();
    let Some(wallet) = session.wallet.clone() else { return Ok(claims::rejected(app, &expired(), now)) };
    match session.step {
        ConnectStep::Principal if session.action == ConnectAction::Login => advance_to(app, session, ConnectStep::Profile).await,
        ConnectStep::Principal if wallet_actions::action_of(&session).is_some() => advance_to(app, session, ConnectStep::Transfer).await,
        ConnectStep::Principal => match checkout_of(&session) {
            Some(id) => continue_checkout(app, session, &id, &wallet, now).await,
            None => Ok(claims::rejected(app, &expired(), now)),
        },
        ConnectStep::Profile => {
            let profile = answer.claim("profile").map(|claim| Profile {
                full_name: claim.full_name.clone(),
                email: claim.email.clone(),
                phone: claim.phone.clone(),
            });
            access::register_login(&app.ctx, &wallet, &profile.unwrap_or_default(), claims::language_of(&session)).await?;
            succeed(app, session, now).await
        }
        ConnectStep::Transfer | ConnectStep::Mandate | ConnectStep::Stake => {
            let Some(signed) = answer.signed() else {
                fail(app, &session, ConnectStatus::Error, &missing_claim()).await?;
                return Ok(claims::rejected(app, &missing_claim(), now));
            };
            if let Err(problem) = confirmation::send(app, &session, &wallet, signed).await? {
                return reject_action(app, &session, problem, now).await;
            }
            match next_signature(app, &session, &wallet).await {
                Ok(Some(step)) => advance_to(app, session, step).await,
                Ok(None) => confirmation::conclude(app, session, started_at + app.limits.confirmation_wait).await,
                Err(problem) => reject_action(app, &session, problem, now).await,
            }
        }
    }
}

/// The signature that the session requires after the one that was just submitted. What is still being confirmed counts as granted.
async fn next_signature(app: &App, session: &ConnectSession, wallet: &Wallet) -> Result<Option<ConnectStep>, Problem> {
    if let Some(action) = wallet_actions::action_of(session) {
        let is_required = wallet_actions::requires_stake(app, session, &action, wallet).await;
        return Ok(is_required.then_some(ConnectStep::Stake));
    }
    let (ConnectStep::Mandate | ConnectStep::Stake, Some(id)) = (session.step, checkout_of(session)) else { return Ok(None) };
    let wanted = checkout::next_wallet_step(&app.ctx, &id, &wallet.did).await;
    let transactions = payment::connect_transactions(&app.ctx, &session.token).await?;
    let has_mandate = transactions.iter().any(|attempt| attempt.purpose.kind() == PurposeKind::Mandate);
    match wanted {
        // The last signature may have completed the session already.
        Ok(WalletStep::Nothing) | Err(TransferError::Complete) => Ok(None),
        // The network has declined the mandate that the wallet has signed, which is the session's result.
        Ok(WalletStep::Mandate) if has_mandate => Ok(None),
        Ok(wanted) => Ok(Some(step_for(wanted))),
        Err(error) => Err(error.into()),
    }
}

/// Reports that an action failed. After an error of the server, the session stays open until it expires.
async fn reject_action(app: &App, session: &ConnectSession, problem: Problem, now: Timestamp) -> Result<Value, StorageError> {
    if problem.status != StatusCode::INTERNAL_SERVER_ERROR {
        fail(app, session, ConnectStatus::Error, &problem).await?;
    }
    Ok(claims::rejected(app, &problem, now))
}

/// Continues with the first signature that the checkout requires after its payer has confirmed the account, or ends the session.
async fn continue_checkout(
    app: &Arc<App>,
    session: ConnectSession,
    id: &SessionId,
    wallet: &Wallet,
    now: Timestamp,
) -> Result<Value, StorageError> {
    match checkout::next_wallet_step(&app.ctx, id, &wallet.did).await {
        Err(TransferError::Complete) => succeed(app, session, now).await,
        Ok(WalletStep::Nothing) => {
            // If this first call does not settle the payment, the reconciler continues, and the page learns the result by polling.
            if let Err(error) = checkout::advance(&app.ctx, id).await {
                tracing::warn!(session = %id, %error, "the payment stays with the reconciler");
            }
            succeed(app, session, now).await
        }
        Ok(wanted) => advance_to(app, session, step_for(wanted)).await,
        Err(error) => reject(app, &session, error).await,
    }
}

async fn advance_to(app: &App, session: ConnectSession, step: ConnectStep) -> Result<Value, StorageError> {
    let next = ConnectSession { status: ConnectStatus::Scanned, step, challenge: challenge(app), ..session.clone() };
    if advance_connect_session(&app.ctx, &session, &next).await? {
        return build_step(app, &next).await;
    }
    // The network has declined an earlier transaction meanwhile.
    match find(app, session.action, &session.token).await? {
        Some(ended) => confirmation::answer(app, &ended).await,
        None => Ok(claims::rejected(app, &expired(), app.ctx.now())),
    }
}

async fn succeed(app: &App, session: ConnectSession, now: Timestamp) -> Result<Value, StorageError> {
    let done = ConnectSession { status: ConnectStatus::Succeed, ..session.clone() };
    advance_connect_session(&app.ctx, &session, &done).await?;
    Ok(claims::accepted(app, &done, json!({}), now))
}

async fn fail(app: &App, session: &ConnectSession, status: ConnectStatus, problem: &Problem) -> Result<(), StorageError> {
    let failure = ConnectFailure {
        message: problem.to_string(),
        code: problem.body.code.clone().unwrap_or_default(),
        params: problem.body.params.clone().unwrap_or_default(),
    };
    advance_connect_session(&app.ctx, session, &session.failed(status, failure)).await.map(drop)
}
