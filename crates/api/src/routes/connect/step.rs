//! One step of a connect session: the wallet's answer, and what it leads to.

use super::claims::{self, Answer};
use super::collect;
use crate::state::App;
use serde_json::{Value, json};
use souk_domain::access::{self, ConnectAction, ConnectMove, ConnectSession, ConnectStatus, ConnectStep, Profile, Wallet};
use souk_domain::billing::{self, ManageError};
use souk_domain::checkout;
use souk_domain::shared::{SessionId, StorageError, Timestamp};
use subtle::ConstantTimeEq;

const GONE: &str = "Session not found or expired";
const DECLINED: &str = "You have declined the authentication request";
const BUSY: &str = "Busy processing another DID Connect request";
const CHALLENGE: &str = "Challenge mismatch";
const OTHER_WALLET: &str = "Login user and wallet user mismatch, please relogin and try again";
const NO_CLAIM: &str = "The answer lacks the claim that was asked for";

/// A fresh challenge: 16 random bytes in upper hex, one for each step.
pub fn challenge(app: &App) -> String {
    hex::encode_upper(app.ctx.random.bytes::<16>())
}

/// What the wallet is asked next.
pub async fn ask(app: &App, session: &ConnectSession) -> Result<Value, StorageError> {
    let now = app.ctx.now();
    let language = claims::language_of(session);
    if let (ConnectStep::Transfer, Some(debt), Some(wallet)) = (session.step, collect::debt_of(session), &session.wallet) {
        return match collect::ask(app, session, &debt, wallet).await {
            Ok((claim, chain)) => Ok(claims::request(app, session, claim, chain, now)),
            Err(error) => not_collected(app, session, error, now).await,
        };
    }
    Ok(match session.step {
        ConnectStep::Principal => claims::request(app, session, claims::principal_claim(language), claims::no_chain(), now),
        ConnectStep::Profile => claims::request(app, session, claims::profile_claim(language), claims::no_chain(), now),
        ConnectStep::Transfer => match (checkout_of(session), &session.wallet) {
            (Some(id), Some(wallet)) => match checkout::ask_for_transfer(&app.ctx, &id, wallet, session.nonce).await {
                Ok(asked) => claims::request(app, session, claims::transfer_claim(&asked, language), claims::chain_of(app, &asked.method), now),
                Err(checkout::TransferError::Storage(error)) => return Err(error),
                Err(error) => {
                    fail(app, session, ConnectStatus::Error, &error.to_string()).await?;
                    claims::refused(app, &error.to_string(), now)
                }
            },
            _ => claims::refused(app, GONE, now),
        },
    })
}

fn checkout_of(session: &ConnectSession) -> Option<SessionId> {
    session.params.get("checkoutSessionId").and_then(|id| SessionId::parse(id).ok())
}

/// Takes a wallet's answer. The challenge is checked before anything is stored, and used up before anything is done.
pub async fn take(app: &App, action: ConnectAction, token: &str, public_key: &str, envelope: &str) -> Result<Value, StorageError> {
    let now = app.ctx.now();
    let found = app.ctx.store.read().await?.connect_sessions().find(token, now).await?;
    let Some(session) = found.filter(|session| session.action == action && !session.status.is_final()) else {
        return Ok(claims::refused(app, GONE, now));
    };
    let opened = match app.envelopes.open(envelope, public_key, now) {
        Ok(opened) => opened,
        Err(error) => {
            fail(app, &session, ConnectStatus::Error, &error.to_string()).await?;
            return Ok(claims::refused(app, &error.to_string(), now));
        }
    };
    let Ok(answer) = serde_json::from_str::<Answer>(&opened.body) else { return Ok(claims::refused(app, NO_CLAIM, now)) };
    let matches: bool = answer.challenge.as_bytes().ct_eq(session.challenge.as_bytes()).into();
    if !matches || session.status == ConnectStatus::Working {
        return Ok(claims::refused(app, CHALLENGE, now));
    }
    let wallet = Wallet { did: opened.issuer, public_key: public_key.to_owned() };
    if session.wallet.as_ref().is_some_and(|known| known.did != wallet.did) {
        return Ok(claims::refused(app, OTHER_WALLET, now));
    }
    match answer.action.as_str() {
        "declineAuth" => {
            fail(app, &session, ConnectStatus::Error, DECLINED).await?;
            return Ok(claims::accepted(app, &session, json!({}), now));
        }
        "busy" => {
            fail(app, &session, ConnectStatus::Busy, BUSY).await?;
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
        return Ok(claims::refused(app, CHALLENGE, now));
    }
    carry_out(app, working, &answer, now).await
}

async fn carry_out(app: &App, session: ConnectSession, answer: &Answer, now: Timestamp) -> Result<Value, StorageError> {
    let Some(wallet) = session.wallet.clone() else { return Ok(claims::refused(app, GONE, now)) };
    match session.step {
        ConnectStep::Principal => {
            let next = match session.action {
                ConnectAction::Login => ConnectStep::Profile,
                ConnectAction::Payment | ConnectAction::Collect | ConnectAction::CollectBatch => ConnectStep::Transfer,
            };
            let next = ConnectSession { status: ConnectStatus::Scanned, step: next, challenge: challenge(app), ..session.clone() };
            advance(app, &session, &next).await?;
            ask(app, &next).await
        }
        ConnectStep::Profile => {
            let told = answer.claim("profile").map(|claim| Profile {
                full_name: claim.full_name.clone(),
                email: claim.email.clone(),
                phone: claim.phone.clone(),
            });
            access::welcome(&app.ctx, &wallet, &told.unwrap_or_default(), claims::language_of(&session)).await?;
            succeed(app, session, json!({}), now).await
        }
        ConnectStep::Transfer if collect::debt_of(&session).is_some() => {
            let (Some(debt), Some(claim)) = (collect::debt_of(&session), answer.claim("prepareTx")) else {
                fail(app, &session, ConnectStatus::Error, NO_CLAIM).await?;
                return Ok(claims::refused(app, NO_CLAIM, now));
            };
            match billing::take_collection(&app.ctx, &debt, &wallet, session.nonce, &claim.final_tx).await {
                Ok(hash) => succeed(app, session, json!({ "hash": hash }), now).await,
                Err(error) => not_collected(app, &session, error, now).await,
            }
        }
        ConnectStep::Transfer => {
            let (Some(id), Some(claim)) = (checkout_of(&session), answer.claim("prepareTx")) else {
                fail(app, &session, ConnectStatus::Error, NO_CLAIM).await?;
                return Ok(claims::refused(app, NO_CLAIM, now));
            };
            match checkout::take_transfer(&app.ctx, &id, &wallet, session.nonce, &claim.final_tx).await {
                Ok(hash) => succeed(app, session, json!({ "hash": hash }), now).await,
                Err(checkout::TransferError::Storage(error)) => Err(error),
                Err(error) => {
                    fail(app, &session, ConnectStatus::Error, &error.to_string()).await?;
                    Ok(claims::refused(app, &error.to_string(), now))
                }
            }
        }
    }
}

async fn not_collected(app: &App, session: &ConnectSession, error: ManageError, now: Timestamp) -> Result<Value, StorageError> {
    if let ManageError::Storage(error) = error {
        return Err(error);
    }
    fail(app, session, ConnectStatus::Error, &error.to_string()).await?;
    Ok(claims::refused(app, &error.to_string(), now))
}

async fn succeed(app: &App, session: ConnectSession, response: Value, now: Timestamp) -> Result<Value, StorageError> {
    let done = ConnectSession { status: ConnectStatus::Succeed, ..session.clone() };
    advance(app, &session, &done).await?;
    Ok(claims::accepted(app, &done, response, now))
}

async fn fail(app: &App, session: &ConnectSession, status: ConnectStatus, error: &str) -> Result<(), StorageError> {
    let failed = ConnectSession { status, error: error.to_owned(), ..session.clone() };
    advance(app, session, &failed).await.map(|_| ())
}

/// Compare-and-set from where `session` was read to `next`.
pub async fn advance(app: &App, session: &ConnectSession, next: &ConnectSession) -> Result<bool, StorageError> {
    let mut unit = app.ctx.store.begin().await?;
    let step = ConnectMove { token: &session.token, from: session.status, challenge: &session.challenge, next };
    let moved = unit.connect_sessions().advance(&step).await?;
    unit.commit().await?;
    Ok(moved)
}
