//! The steps of a connect session: requests to the wallet, its responses, and the transitions between them.

use super::claims::{self, Answer};
use super::confirmation::{self, Executed};
use super::wallet_actions;
use super::wallet_actions::SignatureRequest;
use crate::limits::ANSWER_DEADLINE;
use crate::problem::Problem;
use crate::state::App;
use poem::http::StatusCode;
use serde_json::{Value, json};
use souk_domain::access::{
    self, ConnectAction, ConnectExpired, ConnectFailure, ConnectSession, ConnectStatus, ConnectStep, Did, Profile, Wallet,
    advance_connect_session,
};
use souk_domain::checkout::{self, TransferError, WalletStep};
use souk_domain::payment::{self, AttemptStatus, STEP_LIFETIME};
use souk_domain::shared::{SessionId, StorageError};
use std::sync::Arc;
use subtle::ConstantTimeEq;
use tokio::time::{Instant, timeout_at};

/// The session has ended or does not exist.
pub fn expired() -> Problem {
    ConnectExpired.into()
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
    let found = payment::current_connect_session(&app.ctx, token).await?;
    Ok(found.filter(|session| session.action == action))
}

/// The response comes from another wallet than the one bound to the session.
pub fn other_wallet() -> Problem {
    Problem::forbidden_for("Login user and wallet user mismatch, please relogin and try again").code("CONNECT_OTHER_WALLET")
}

fn declined() -> Problem {
    Problem::bad("You have declined the authentication request").code("CONNECT_DECLINED")
}

pub fn busy() -> Problem {
    Problem::bad("Busy processing another DID Connect request").code("CONNECT_BUSY")
}

fn wrong_challenge() -> Problem {
    Problem::bad("Challenge mismatch").code("CONNECT_CHALLENGE")
}

fn missing_claim() -> Problem {
    Problem::bad("The response lacks the requested claim").code("CONNECT_NO_CLAIM")
}

/// The network did not answer a question that comes before the signature.
pub fn network_too_slow() -> Problem {
    let message = "The payment network did not answer in time. Please try again.";
    Problem::new(StatusCode::BAD_GATEWAY, message).code("NETWORK_UNREACHABLE").param("reason", "timeout")
}

/// Whether the wallet can repeat the step: the server or the network has failed, and the request was not refused.
pub fn is_retryable(problem: &Problem) -> bool {
    problem.status.is_server_error()
}

/// A new challenge for each step: 16 random bytes in upper-case hex.
pub fn challenge(app: &App) -> String {
    hex::encode_upper(app.ctx.random.bytes::<16>())
}

/// Builds the request of the session's current step.
pub async fn build_step(app: &App, session: &ConnectSession, deadline: Instant) -> Result<Value, StorageError> {
    match timeout_at(deadline, request_of(app, session)).await.unwrap_or_else(|_| Err(network_too_slow())) {
        Ok(Some(request)) => Ok(request),
        Ok(None) => {
            // The mandate or delegation is everything that the wallet had to sign.
            let signed = ConnectSession { step: ConnectStep::Transfer, ..session.clone() };
            confirmation::conclude(app, signed, deadline).await
        }
        Err(problem) => refuse(app, session, problem).await,
    }
}

/// The request of the session's current step. `None`: nothing is to be signed any more.
async fn request_of(app: &App, session: &ConnectSession) -> Result<Option<Value>, Problem> {
    let now = app.ctx.now();
    let language = claims::language_of(session);
    if let (ConnectStep::Transfer | ConnectStep::Stake, Some(action), Some(wallet)) =
        (session.step, wallet_actions::action_of(session), &session.wallet)
    {
        let request = wallet_actions::build_request(app, session, &action, wallet).await?;
        return Ok(request.map(|SignatureRequest { claim, chain }| claims::request(app, session, claim, chain, now)));
    }
    if matches!(session.step, ConnectStep::Principal) {
        let claim = claims::principal_claim(session.action, language);
        return Ok(Some(claims::request(app, session, claim, claims::no_chain(), now)));
    }
    if matches!(session.step, ConnectStep::Profile) {
        return Ok(Some(claims::request(app, session, claims::profile_claim(language), claims::no_chain(), now)));
    }
    let (Some(id), Some(wallet)) = (checkout_of(session), &session.wallet) else { return Err(expired()) };
    let ctx = &app.ctx;
    let (claim, chain) = match session.step {
        ConnectStep::Mandate => {
            let prepared = checkout::prepare_mandate(ctx, &id, wallet, session.nonce).await?;
            (claims::mandate_claim(&prepared, &app.site.name, language), claims::chain_of(app, &prepared.method))
        }
        ConnectStep::Stake => {
            let prepared = match checkout::prepare_stake(ctx, &id, wallet, session.nonce).await {
                Ok(None) | Err(TransferError::Complete) => return Ok(None),
                Ok(Some(prepared)) => prepared,
                Err(error) => return Err(error.into()),
            };
            (claims::stake_claim(&prepared, language), claims::chain_of(app, &prepared.method))
        }
        _ => {
            let prepared = checkout::prepare_transfer(ctx, &id, wallet, session.nonce).await?;
            (claims::transfer_claim(&prepared, language), claims::chain_of(app, &prepared.method))
        }
    };
    Ok(Some(claims::request(app, session, claim, chain, now)))
}

/// Handles the first read by the wallet. For a checkout, this determines what has to be signed.
pub async fn scan(app: &App, session: &ConnectSession, deadline: Instant) -> Result<Value, StorageError> {
    let mut scanned = ConnectSession { status: ConnectStatus::Scanned, ..session.clone() };
    if let (Some(wallet), Some(id)) = (&session.wallet, checkout_of(session))
        && session.action != ConnectAction::Login
        && wallet_actions::action_of(session).is_none()
    {
        match next_wallet_step(app, &id, wallet, deadline).await {
            Ok(wanted) => scanned.step = step_for(wanted),
            Err(problem) => return refuse(app, session, problem).await,
        }
    }
    if advance_connect_session(&app.ctx, session, &scanned).await? {
        return build_step(app, &scanned, deadline).await;
    }
    // Another read was quicker, and its request may have been answered already.
    match find(app, session.action, &session.token).await? {
        Some(found) if found.status == ConnectStatus::Scanned => build_step(app, &found, deadline).await,
        Some(found) => confirmation::answer(app, &found).await,
        None => Ok(claims::rejected(app, &expired(), app.ctx.now())),
    }
}

/// What the wallet signs next for a checkout. The network may be asked whether an earlier mandate suffices.
async fn next_wallet_step(app: &App, id: &SessionId, wallet: &Wallet, deadline: Instant) -> Result<WalletStep, Problem> {
    let wanted = timeout_at(deadline, checkout::next_wallet_step(&app.ctx, id, &wallet.did)).await;
    Ok(wanted.map_err(|_| network_too_slow())??)
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

/// Tells the wallet why a step is not possible. That ends the session, unless the wallet can repeat the step.
async fn refuse(app: &App, session: &ConnectSession, problem: Problem) -> Result<Value, StorageError> {
    let now = app.ctx.now();
    if is_retryable(&problem) {
        let problem = if problem.status == StatusCode::BAD_GATEWAY { network_too_slow() } else { problem };
        return Ok(claims::rejected(app, &problem, now));
    }
    if fail(app, session, ConnectStatus::Error, &problem).await? {
        return Ok(claims::rejected(app, &problem, now));
    }
    // The session has changed meanwhile, for instance by a decline of the network.
    match find(app, session.action, &session.token).await? {
        Some(found) if found.status != ConnectStatus::Scanned => confirmation::answer(app, &found).await,
        _ => Ok(claims::rejected(app, &problem, now)),
    }
}

/// The checkout session that the wallet pays.
pub fn checkout_of(session: &ConnectSession) -> Option<SessionId> {
    session.params.get("checkoutSessionId").and_then(|id| SessionId::parse(id).ok())
}

/// Handles a wallet's response. The challenge is verified before anything is stored, and replaced before the step is executed.
pub async fn submit(app: &Arc<App>, action: ConnectAction, token: &str, public_key: &str, envelope: &str) -> Result<Value, StorageError> {
    let (now, deadline) = (app.ctx.now(), Instant::now() + ANSWER_DEADLINE);
    let Some(session) = find(app, action, token).await? else { return Ok(claims::rejected(app, &expired(), now)) };
    let opened = app.did_auth_tokens.open(envelope, public_key, now);
    match session.status {
        // The network may have declined an earlier transaction while the wallet signed this one.
        ConnectStatus::Error if !payment::connect_transactions(&app.ctx, token).await?.is_empty() => {
            return Ok(claims::rejected(app, &rejection_of(&session), now));
        }
        ConnectStatus::Working | ConnectStatus::Confirming | ConnectStatus::Succeed => {
            return match opened {
                Ok(opened) => repeated(app, &session, &opened.issuer).await,
                Err(error) => Ok(claims::rejected(app, &error.into(), now)),
            };
        }
        status if status.is_final() => return Ok(claims::rejected(app, &expired(), now)),
        _ => {}
    }
    let opened = match opened {
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
        wallet: Some(session.wallet.clone().unwrap_or_else(|| wallet.clone())),
        expires_at: session.expires_at.max(now.plus(STEP_LIFETIME)),
        ..session.clone()
    };
    if !advance_connect_session(&app.ctx, &session, &working).await? {
        return match find(app, action, token).await? {
            Some(found) if found.status != ConnectStatus::Scanned => repeated(app, &found, &wallet.did).await,
            _ => Ok(claims::rejected(app, &wrong_challenge(), now)),
        };
    }
    execute_step(app, working, &answer, deadline).await
}

/// Answers a response that the wallet sends again, or that comes while another one is being processed: it has no effect.
async fn repeated(app: &App, session: &ConnectSession, issuer: &Did) -> Result<Value, StorageError> {
    match &session.wallet {
        Some(wallet) if wallet.did == *issuer => confirmation::answer(app, session).await,
        _ => Ok(claims::rejected(app, &other_wallet(), app.ctx.now())),
    }
}

async fn execute_step(app: &Arc<App>, session: ConnectSession, answer: &Answer, deadline: Instant) -> Result<Value, StorageError> {
    let now = app.ctx.now();
    let Some(wallet) = session.wallet.clone() else { return Ok(claims::rejected(app, &expired(), now)) };
    match session.step {
        ConnectStep::Principal if session.action == ConnectAction::Login => advance_to(app, session, ConnectStep::Profile, deadline).await,
        ConnectStep::Principal if wallet_actions::action_of(&session).is_some() => {
            advance_to(app, session, ConnectStep::Transfer, deadline).await
        }
        ConnectStep::Principal => match checkout_of(&session) {
            Some(id) => continue_checkout(app, session, &id, &wallet, deadline).await,
            None => Ok(claims::rejected(app, &expired(), now)),
        },
        ConnectStep::Profile => {
            let profile = answer.claim("profile").map(|claim| Profile {
                full_name: claim.full_name.clone(),
                email: claim.email.clone(),
                phone: claim.phone.clone(),
            });
            access::register_login(&app.ctx, &wallet, &profile.unwrap_or_default(), claims::language_of(&session)).await?;
            succeed(app, session).await
        }
        ConnectStep::Transfer | ConnectStep::Mandate | ConnectStep::Stake => {
            let Some(signed) = answer.signed() else { return refuse(app, &session, missing_claim()).await };
            match confirmation::send(app, &session, &wallet, signed, deadline).await? {
                Executed::Refused(problem) | Executed::Repeatable(problem) => refuse(app, &session, problem).await,
                Executed::Stored => after_signature(app, session, &wallet, deadline).await,
            }
        }
    }
}

/// Asks for the next signature, or waits for the network if there is none.
async fn after_signature(app: &App, session: ConnectSession, wallet: &Wallet, deadline: Instant) -> Result<Value, StorageError> {
    let next = timeout_at(deadline, next_signature(app, &session, wallet)).await;
    match next.unwrap_or_else(|_| Err(network_too_slow())) {
        Ok(Some(step)) => advance_to(app, session, step, deadline).await,
        Ok(None) => confirmation::conclude(app, session, deadline).await,
        // Whether a deposit is missing is determined when the wallet reads the session again.
        Err(problem) if is_retryable(&problem) && asks_for_deposit(&session) => {
            let next = ConnectSession { step: ConnectStep::Stake, ..scanned(app, &session) };
            advance_connect_session(&app.ctx, &session, &next).await?;
            refuse(app, &next, problem).await
        }
        Err(problem) if is_retryable(&problem) => confirmation::conclude(app, session, deadline).await,
        Err(problem) => refuse(app, &session, problem).await,
    }
}

/// Whether a deposit may be required after the step of a session.
fn asks_for_deposit(session: &ConnectSession) -> bool {
    match session.step {
        ConnectStep::Mandate => true,
        ConnectStep::Transfer => session.action == ConnectAction::ChangePayment,
        ConnectStep::Stake | ConnectStep::Principal | ConnectStep::Profile => false,
    }
}

/// The signature that the session requires after the one that was just submitted. What is still being confirmed counts as granted.
async fn next_signature(app: &App, session: &ConnectSession, wallet: &Wallet) -> Result<Option<ConnectStep>, Problem> {
    let transactions = payment::connect_transactions(&app.ctx, &session.token).await?;
    // A decline by the network is the session's result.
    if transactions.iter().any(|attempt| attempt.status == AttemptStatus::Declined) {
        return Ok(None);
    }
    if let Some(action) = wallet_actions::action_of(session) {
        let is_required = wallet_actions::requires_stake(app, session, &action, wallet).await?;
        return Ok(is_required.then_some(ConnectStep::Stake));
    }
    // A mandate is asked for before the deposit.
    let (ConnectStep::Mandate, Some(id)) = (session.step, checkout_of(session)) else { return Ok(None) };
    match checkout::next_wallet_step(&app.ctx, &id, &wallet.did).await {
        // The last signature may have completed the session already.
        Ok(WalletStep::Nothing) | Err(TransferError::Complete) => Ok(None),
        // The network has declined meanwhile what the wallet has signed.
        Ok(WalletStep::Mandate) => Ok(None),
        Ok(wanted) => Ok(Some(step_for(wanted))),
        Err(error) => Err(error.into()),
    }
}

/// Continues with the first signature that the checkout requires after its payer has confirmed the account, or charges the order.
async fn continue_checkout(
    app: &Arc<App>,
    session: ConnectSession,
    id: &SessionId,
    wallet: &Wallet,
    deadline: Instant,
) -> Result<Value, StorageError> {
    let wanted = match timeout_at(deadline, checkout::next_wallet_step(&app.ctx, id, &wallet.did)).await {
        Ok(Err(TransferError::Complete)) => return succeed(app, session).await,
        Ok(wanted) => wanted.map_err(Problem::from),
        Err(_) => Err(network_too_slow()),
    };
    match wanted {
        Ok(WalletStep::Nothing) => {}
        Ok(wanted) => return advance_to(app, session, step_for(wanted), deadline).await,
        Err(problem) if is_retryable(&problem) => {
            // The challenge is used.
            let next = scanned(app, &session);
            advance_connect_session(&app.ctx, &session, &next).await?;
            return refuse(app, &next, problem).await;
        }
        Err(problem) => return refuse(app, &session, problem).await,
    }
    match confirmation::advance(app, &session, id, deadline).await? {
        Executed::Refused(problem) | Executed::Repeatable(problem) => refuse(app, &session, problem).await,
        // An order that costs nothing now has no charge.
        Executed::Stored if payment::connect_transactions(&app.ctx, &session.token).await?.is_empty() => succeed(app, session).await,
        Executed::Stored => confirmation::conclude(app, session, deadline).await,
    }
}

/// The session after a step: it waits for the wallet's response to a new challenge.
fn scanned(app: &App, session: &ConnectSession) -> ConnectSession {
    ConnectSession { status: ConnectStatus::Scanned, challenge: challenge(app), ..session.clone() }
}

async fn advance_to(app: &App, session: ConnectSession, step: ConnectStep, deadline: Instant) -> Result<Value, StorageError> {
    let next = ConnectSession { step, ..scanned(app, &session) };
    if advance_connect_session(&app.ctx, &session, &next).await? {
        return build_step(app, &next, deadline).await;
    }
    current_answer(app, &session).await
}

async fn succeed(app: &App, session: ConnectSession) -> Result<Value, StorageError> {
    let done = ConnectSession { status: ConnectStatus::Succeed, ..session.clone() };
    if advance_connect_session(&app.ctx, &session, &done).await? {
        return Ok(claims::accepted(app, &done, json!({}), app.ctx.now()));
    }
    current_answer(app, &session).await
}

/// The answer about a session that has changed while a step was executed, for instance by a decline of the network.
async fn current_answer(app: &App, session: &ConnectSession) -> Result<Value, StorageError> {
    match find(app, session.action, &session.token).await? {
        Some(found) => confirmation::answer(app, &found).await,
        None => Ok(claims::rejected(app, &expired(), app.ctx.now())),
    }
}

/// Ends the session. False: it has changed meanwhile.
async fn fail(app: &App, session: &ConnectSession, status: ConnectStatus, problem: &Problem) -> Result<bool, StorageError> {
    let failure = ConnectFailure {
        message: problem.to_string(),
        code: problem.body.code.clone().unwrap_or_default(),
        params: problem.body.params.clone().unwrap_or_default(),
    };
    advance_connect_session(&app.ctx, session, &session.failed(status, failure)).await
}
