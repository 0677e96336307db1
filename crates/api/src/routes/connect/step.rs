//! The steps of a connect session: requests to the wallet, its responses, and the transitions between them.

use super::claims::{self, Answer};
use super::wallet_actions::SignatureRequest;
use super::{confirmation, wallet_actions};
use crate::problem::Problem;
use crate::state::App;
use poem::http::StatusCode;
use serde_json::{Value, json};
use souk_domain::access::{self, ConnectAction, ConnectSession, ConnectStatus, ConnectStep, ConnectTransition, Profile, Wallet};
use souk_domain::checkout::{self, TransferError, WalletStep};
use souk_domain::events::{Message, Topic};
use souk_domain::payment::Decline;
use souk_domain::shared::{EventId, SessionId, StorageError, Timestamp};
use std::sync::Arc;
use subtle::ConstantTimeEq;

/// The session has ended or does not exist.
pub fn expired() -> Problem {
    Problem::bad("Session not found or expired").code("CONNECT_EXPIRED")
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
    advance(app, session, &scanned).await?;
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

fn checkout_of(session: &ConnectSession) -> Option<SessionId> {
    session.params.get("checkoutSessionId").and_then(|id| SessionId::parse(id).ok())
}

/// Handles a wallet's response. The challenge is verified before anything is stored, and replaced before the step is executed.
pub async fn submit(app: &Arc<App>, action: ConnectAction, token: &str, public_key: &str, envelope: &str) -> Result<Value, StorageError> {
    let now = app.ctx.now();
    let found = app.ctx.store.read().await?.connect_sessions().find(token, now).await?;
    let Some(session) = found.filter(|session| session.action == action && !session.status.is_final()) else {
        return Ok(claims::rejected(app, &expired(), now));
    };
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
    if !matches || session.status == ConnectStatus::Working {
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
    if !advance(app, &session, &working).await? {
        return Ok(claims::rejected(app, &wrong_challenge(), now));
    }
    execute_step(app, working, &answer, now).await
}

async fn execute_step(app: &Arc<App>, session: ConnectSession, answer: &Answer, now: Timestamp) -> Result<Value, StorageError> {
    let Some(wallet) = session.wallet.clone() else { return Ok(claims::rejected(app, &expired(), now)) };
    match session.step {
        ConnectStep::Principal if session.action == ConnectAction::Login => advance_to(app, session, ConnectStep::Profile).await,
        ConnectStep::Principal if wallet_actions::action_of(&session).is_some() => advance_to(app, session, ConnectStep::Transfer).await,
        ConnectStep::Principal => match checkout_of(&session) {
            Some(id) => next(app, session, &id, &wallet, None, now).await,
            None => Ok(claims::rejected(app, &expired(), now)),
        },
        ConnectStep::Profile => {
            let profile = answer.claim("profile").map(|claim| Profile {
                full_name: claim.full_name.clone(),
                email: claim.email.clone(),
                phone: claim.phone.clone(),
            });
            access::register_login(&app.ctx, &wallet, &profile.unwrap_or_default(), claims::language_of(&session)).await?;
            succeed(app, session, json!({}), now).await
        }
        ConnectStep::Transfer | ConnectStep::Stake if wallet_actions::action_of(&session).is_some() => {
            let (Some(action), Some(signed)) = (wallet_actions::action_of(&session), answer.signed()) else {
                fail(app, &session, ConnectStatus::Error, &missing_claim()).await?;
                return Ok(claims::rejected(app, &missing_claim(), now));
            };
            match wallet_actions::submit(app, &session, &action, &wallet, signed).await {
                Ok(_) if wallet_actions::requires_stake(app, &session, &action, &wallet).await => {
                    advance_to(app, session, ConnectStep::Stake).await
                }
                Ok(hash) => confirmation::conclude(app, SignedStep { session, hash }).await,
                Err(error) => reject_action(app, &session, error, now).await,
            }
        }
        ConnectStep::Transfer | ConnectStep::Mandate | ConnectStep::Stake => {
            let (Some(id), Some(signed)) = (checkout_of(&session), answer.signed()) else {
                fail(app, &session, ConnectStatus::Error, &missing_claim()).await?;
                return Ok(claims::rejected(app, &missing_claim(), now));
            };
            let ctx = &app.ctx;
            let result = match session.step {
                ConnectStep::Mandate => checkout::submit_signed_mandate(ctx, &id, &wallet, session.nonce, signed).await,
                ConnectStep::Stake => checkout::submit_signed_stake(ctx, &id, &wallet, session.nonce, signed).await,
                _ => checkout::submit_signed_transfer(ctx, &id, &wallet, session.nonce, signed).await,
            };
            match result {
                Ok(hash) if session.step == ConnectStep::Transfer => confirmation::conclude(app, SignedStep { session, hash }).await,
                Ok(hash) => next(app, session, &id, &wallet, Some(hash), now).await,
                Err(error) => reject(app, &session, error).await,
            }
        }
    }
}

/// Reports that an action failed. After an error of the server, the session stays open and the wallet can try again.
async fn reject_action(app: &App, session: &ConnectSession, problem: Problem, now: Timestamp) -> Result<Value, StorageError> {
    if problem.status != StatusCode::INTERNAL_SERVER_ERROR {
        fail(app, session, ConnectStatus::Error, &problem).await?;
    }
    Ok(claims::rejected(app, &problem, now))
}

/// A step whose signed transaction was sent, and was the last one that the session requires.
pub struct SignedStep {
    pub session: ConnectSession,
    pub hash: String,
}

/// Ends the session as the network has decided about its transaction.
pub async fn conclude(app: &App, SignedStep { session, hash }: SignedStep, decline: Option<Decline>) -> Result<Value, StorageError> {
    let now = app.ctx.now();
    match decline {
        Some(decline) => reject_action(app, &session, decline.into(), now).await,
        None => succeed(app, session, json!({ "hash": hash }), now).await,
    }
}

/// Continues with the next signature that the checkout requires, or ends the session. `hash`: the transaction that was signed last.
async fn next(
    app: &Arc<App>,
    session: ConnectSession,
    id: &SessionId,
    wallet: &Wallet,
    hash: Option<String>,
    now: Timestamp,
) -> Result<Value, StorageError> {
    match (checkout::next_wallet_step(&app.ctx, id, &wallet.did).await, hash) {
        // The last signature may have completed the session already.
        (Ok(WalletStep::Nothing) | Err(TransferError::Complete), Some(hash)) => {
            confirmation::conclude(app, SignedStep { session, hash }).await
        }
        (Err(TransferError::Complete), None) => succeed(app, session, json!({}), now).await,
        (Ok(WalletStep::Nothing), None) => {
            // If this first call does not settle the payment, the reconciler continues, and the page learns the result by polling.
            if let Err(error) = checkout::advance(&app.ctx, id).await {
                tracing::warn!(session = %id, %error, "the payment stays with the reconciler");
            }
            succeed(app, session, json!({}), now).await
        }
        (Ok(wanted), _) => advance_to(app, session, step_for(wanted)).await,
        (Err(error), _) => reject(app, &session, error).await,
    }
}

async fn advance_to(app: &App, session: ConnectSession, step: ConnectStep) -> Result<Value, StorageError> {
    let next = ConnectSession { status: ConnectStatus::Scanned, step, challenge: challenge(app), ..session.clone() };
    advance(app, &session, &next).await?;
    build_step(app, &next).await
}

async fn succeed(app: &App, session: ConnectSession, response: Value, now: Timestamp) -> Result<Value, StorageError> {
    let done = ConnectSession { status: ConnectStatus::Succeed, ..session.clone() };
    advance(app, &session, &done).await?;
    Ok(claims::accepted(app, &done, response, now))
}

async fn fail(app: &App, session: &ConnectSession, status: ConnectStatus, problem: &Problem) -> Result<(), StorageError> {
    let failed = ConnectSession {
        status,
        error: problem.to_string(),
        error_code: problem.body.code.clone().unwrap_or_default(),
        error_params: problem.body.params.clone().unwrap_or_default(),
        ..session.clone()
    };
    advance(app, session, &failed).await.map(|_| ())
}

/// Replaces the session's state by `next` if it has not changed since `session` was read, and notifies the pages that wait for it.
/// Returns whether it did.
pub async fn advance(app: &App, session: &ConnectSession, next: &ConnectSession) -> Result<bool, StorageError> {
    let now = app.ctx.now();
    let next = ConnectSession { updated_at: now, ..next.clone() };
    let mut unit = app.ctx.store.begin().await?;
    let step = ConnectTransition { token: &session.token, from: session.status, challenge: &session.challenge, next: &next };
    let moved = unit.connect_sessions().advance(&step).await?;
    if moved && next.status.public_name() != session.status.public_name() {
        let message = Message::new(Topic::ConnectUpdate, now).with("token", &session.token);
        unit.outbox().publish(&EventId::new(now, app.ctx.random.as_ref()), &message, now).await?;
    }
    unit.commit().await?;
    Ok(moved)
}
