//! The processor: permissions of calls, one transaction per call, and background work.

use super::call::{Answer, ApiError, Call, CallError, Caller, Verb};
use super::customer::PaymentMethod;
use super::event::{self, Webhook};
use super::fault::Faults;
use super::secret::Secret;
use super::state::{Object, State, TABLES};
use super::{charge, customer, dispute, idempotency, intent, refund, setup};
use crate::store::{SandboxDb, SandboxDbError};
use crate::time::{Clock, Random};
use serde_json::json;
use std::sync::Arc;
use std::time::Duration;
use subtle::ConstantTimeEq;
use tokio::sync::Notify;
use tokio_util::sync::CancellationToken;

/// Maximum number of lost races in a row before a call is rejected with 429.
const MAX_RACES: usize = 10;
/// How often a delayed answer checks the clock.
const POLL: Duration = Duration::from_millis(50);
/// How often the processor checks for due work.
const TICK: Duration = Duration::from_millis(500);
const PRUNE_EVERY: Duration = Duration::from_secs(60 * 60);
/// Maximum number of objects settled per tick.
const SETTLE_BATCH: i64 = 100;

pub struct CardProcessorConfig {
    pub secret_key: Secret,
    /// `pk_sandbox_…`
    pub publishable_key: String,
    pub webhook: Option<Webhook>,
    /// Opens the test endpoints to everyone:
    /// - `POST` and `DELETE /faults`: inject and clear faults;
    /// - `GET /debug/charges`, `/debug/refunds`, `/debug/disputes`: all objects, for counting;
    /// - `POST /debug/payment_methods/{id}` with `decline_code`: the decline code of a saved card for off-session charges; empty:
    ///   restores the card's normal behavior;
    /// - `POST /debug/payment_intents/{id}`: a succeeded payment fails later;
    /// - `POST /debug/disputes` with `payment_intent`, `status` (`needs_response` or `warning_needs_response`), `amount`, `reason`: a
    ///   dispute is opened;
    /// - `POST /debug/disputes/{id}` with `status`: changes the status of a dispute;
    /// - `POST /debug/refunds` with `payment_intent`, `amount`, `reason`: a refund in the processor's dashboard;
    /// - `POST /debug/refunds/{id}` with `failure_reason`: fails a succeeded refund.
    pub faults: bool,
}

/// A simulated external card processor with its own keys, state and events.
pub struct CardProcessor {
    db: SandboxDb,
    pub(super) clock: Clock,
    random: Random,
    config: CardProcessorConfig,
    http: reqwest::Client,
    pub(super) faults: Faults,
    changed: Notify,
}

#[derive(Debug, thiserror::Error)]
pub enum OpenError {
    #[error(transparent)]
    Storage(#[from] SandboxDbError),
    #[error("the client that delivers events cannot be made: {0}")]
    Client(#[from] reqwest::Error),
}

/// Creates the tables of the processor if they are missing.
pub async fn create_tables(db: &SandboxDb) -> Result<(), SandboxDbError> {
    db.create_tables(&TABLES).await
}

impl CardProcessor {
    /// Opens the processor and creates missing tables.
    pub async fn open(db: SandboxDb, clock: Clock, random: Random, config: CardProcessorConfig) -> Result<Arc<Self>, OpenError> {
        create_tables(&db).await?;
        // Events go to the store itself, which may not be reachable through a proxy.
        let http = reqwest::Client::builder().redirect(reqwest::redirect::Policy::none()).no_proxy().build()?;
        Ok(Arc::new(Self { db, clock, random, config, http, faults: Faults::default(), changed: Notify::new() }))
    }

    /// Settles due objects and delivers events until `stop`. Calls work without it, but then nothing happens in the background.
    pub async fn run(&self, stop: CancellationToken) {
        let mut pruned = None;
        loop {
            let now = self.clock.now();
            if pruned.is_none_or(|at| now.since(at) >= PRUNE_EVERY) {
                pruned = Some(now);
                log_failure(idempotency::prune(&self.db, now).await.map_err(CallError::from));
            }
            log_failure(self.tick().await);
            tokio::select! {
                () = stop.cancelled() => return,
                () = self.changed.notified() => {}
                () = tokio::time::sleep(TICK) => {}
            }
        }
    }

    /// One iteration of [`CardProcessor::run`].
    pub(super) async fn tick(&self) -> Result<(), CallError> {
        let now = self.clock.now().micros();
        let sql = "SELECT id, kind FROM card_objects WHERE due_at > 0 AND due_at <= $1 ORDER BY due_at, id LIMIT $2";
        for row in self.db.rows(sql, &[now.into(), SETTLE_BATCH.into()]).await? {
            match self.settle(&row.text(0)?, &row.text(1)?).await {
                // A concurrent call has settled the object first.
                Ok(_) | Err(CallError::Raced) => {}
                Err(error) => return Err(error),
            }
        }
        if let Some(webhook) = &self.config.webhook {
            event::deliver(&self.db, &self.http, webhook, &self.clock).await?;
        }
        Ok(())
    }

    /// A new id of an answer, for its `request-id` header.
    pub(super) fn request_id(&self) -> String {
        format!("req_{}", hex::encode(self.random.bytes::<7>()))
    }

    pub(super) const fn has_faults(&self) -> bool {
        self.config.faults
    }

    /// Identifies the kind of key.
    pub(super) fn caller(&self, key: Option<&str>) -> Result<Caller, ApiError> {
        let key = key.ok_or_else(|| ApiError::unauthorized("You did not provide an API key."))?;
        let is = |known: &str| !known.is_empty() && bool::from(key.as_bytes().ct_eq(known.as_bytes()));
        match () {
            () if is(self.config.secret_key.reveal()) => Ok(Caller::Secret),
            () if is(&self.config.publishable_key) => Ok(Caller::Publishable),
            () => Err(ApiError::unauthorized("Invalid API Key provided.")),
        }
    }

    /// Performs a call. Its effect is committed when this returns.
    pub(super) async fn perform(&self, call: &Call) -> Answer {
        for _ in 0..MAX_RACES {
            match self.attempt(call).await {
                Ok(answer) => {
                    self.changed.notify_one();
                    return answer;
                }
                Err(CallError::Raced) => {}
                Err(CallError::Api(error)) => return error.answer(),
                Err(error) => {
                    log_failure(Err(error));
                    return ApiError::internal().answer();
                }
            }
        }
        ApiError::busy().answer()
    }

    /// Delays the answer as the test card requires. No transaction is open in the meantime.
    pub(super) async fn delay(&self, answer: Answer, caller: Caller) -> Answer {
        let Some(wait) = &answer.wait else { return answer };
        while self.clock.now() < wait.until {
            tokio::time::sleep(POLL).await;
        }
        let Some(intent) = &wait.intent else { return ApiError::timed_out().answer() };
        for _ in 0..MAX_RACES {
            if let Ok(settled) = self.current_intent(intent, caller, &wait.expansions).await {
                return settled;
            }
        }
        answer
    }

    /// Applies the scheduled change of an object if it is due.
    async fn settle(&self, id: &str, kind: &str) -> Result<(), CallError> {
        let mut state = self.state().await?;
        if kind == refund::Refund::KIND {
            refund::load(&mut state, id).await?;
        } else {
            intent::load(&mut state, id).await?;
        }
        state.close().await
    }

    /// The current intent, without checking the client secret.
    async fn current_intent(&self, intent: &str, caller: Caller, expansions: &[String]) -> Result<Answer, CallError> {
        let mut state = self.state().await?;
        let stored = intent::load(&mut state, intent).await?;
        let mut answer = Answer::ok(stored.value.wire(caller));
        if caller == Caller::Secret {
            expand(&mut state, expansions, &mut answer).await?;
        }
        state.close().await?;
        Ok(answer)
    }

    pub(super) async fn state(&self) -> Result<State<'_>, CallError> {
        State::open(&self.db, self.clock.now(), &self.random, self.config.webhook.is_some()).await
    }

    async fn attempt(&self, call: &Call) -> Result<Answer, CallError> {
        let mut state = self.state().await?;
        // Idempotency keys of browsers are ignored, because they could collide with those of the server.
        let key = call.idempotency_key.as_deref().filter(|_| call.verb == Verb::Post && call.caller == Caller::Secret);
        if let Some(key) = key
            && let Some(answer) = idempotency::claim(&mut state, key, call).await?
        {
            return Ok(answer);
        }
        let mut bare = call.clone();
        let expansions = bare.form.take_expansions()?;
        let mut answer = dispatch(&mut state, &bare, self.config.faults).await?;
        if let Some(wait) = &mut answer.wait {
            wait.expansions.clone_from(&expansions);
        }
        if call.caller == Caller::Secret {
            expand(&mut state, &expansions, &mut answer).await?;
        }
        if let Some(key) = key {
            idempotency::keep(&mut state, key, &answer).await?;
        }
        state.close().await?;
        Ok(answer)
    }
}

/// Replaces the ids that the call asked to expand by their objects.
async fn expand(state: &mut State<'_>, fields: &[String], answer: &mut Answer) -> Result<(), CallError> {
    if answer.status != 200 {
        return Ok(());
    }
    for field in fields {
        let Some(id) = answer.body[field].as_str() else { continue };
        answer.body[field] = match field.as_str() {
            "latest_charge" => charge::load(state, id).await?.wire(),
            _ => state.need::<PaymentMethod>(id).await?.value.wire(),
        };
    }
    Ok(())
}

/// Dispatches a call. The operations of the first block may be called with the publishable key.
async fn dispatch(state: &mut State<'_>, call: &Call, debug: bool) -> Result<Answer, CallError> {
    let path: Vec<&str> = call.path.split('/').collect();
    match (call.verb, path.as_slice()) {
        (Verb::Get, ["v1", "payment_intents", id]) => return intent::retrieve(state, call, id).await,
        (Verb::Post, ["v1", "payment_intents", id, "confirm"]) => return intent::confirm(state, call, id).await,
        (Verb::Post, ["v1", "payment_intents", id, "authenticate"]) => return intent::authenticate(state, call, id).await,
        (Verb::Get, ["v1", "setup_intents", id]) => return setup::retrieve(state, call, id).await,
        (Verb::Post, ["v1", "setup_intents", id, "confirm"]) => return setup::confirm(state, call, id).await,
        (Verb::Post, ["v1", "setup_intents", id, "authenticate"]) => return setup::authenticate(state, call, id).await,
        (Verb::Post, ["v1", "payment_methods"]) => return customer::create_method(state, call).await,
        (Verb::Post, ["debug", "payment_methods", id]) if debug => return customer::force_decline(state, call, id).await,
        (Verb::Post, ["debug", "payment_intents", id]) if debug => return intent::fail_for_test(state, call, id).await,
        (Verb::Get, ["debug", "charges"]) if debug => return charge::all(state).await,
        (Verb::Get, ["debug", "refunds"]) if debug => return refund::all(state).await,
        (Verb::Post, ["debug", "refunds"]) if debug => return refund::create_for_test(state, call).await,
        (Verb::Post, ["debug", "refunds", id]) if debug => return refund::fail_for_test(state, call, id).await,
        (Verb::Get, ["debug", "disputes"]) if debug => return dispute::all(state).await,
        (Verb::Post, ["debug", "disputes"]) if debug => return dispute::create_for_test(state, call).await,
        (Verb::Post, ["debug", "disputes", id]) if debug => return dispute::set_status_for_test(state, call, id).await,
        _ if call.caller == Caller::Publishable => return Err(ApiError::forbidden().into()),
        _ => {}
    }
    match (call.verb, path.as_slice()) {
        (Verb::Post, ["v1", "payment_intents"]) => intent::create(state, call).await,
        (Verb::Get, ["v1", "payment_intents"]) => intent::list(state, call).await,
        (Verb::Post, ["v1", "payment_intents", id, "cancel"]) => intent::cancel(state, call, id).await,
        (Verb::Post, ["v1", "setup_intents"]) => setup::create(state, call).await,
        (Verb::Post, ["v1", "setup_intents", id, "cancel"]) => setup::cancel(state, call, id).await,
        (Verb::Post, ["v1", "customers"]) => customer::create(state, call).await,
        (Verb::Post, ["v1", "customers", id]) => customer::update(state, call, id).await,
        (Verb::Get, ["v1", "customers", id]) => customer::retrieve(state, id).await,
        (Verb::Delete, ["v1", "customers", id]) => customer::delete(state, call, id).await,
        (Verb::Get, ["v1", "payment_methods", id]) => customer::retrieve_method(state, id).await,
        (Verb::Post, ["v1", "payment_methods", id, "attach"]) => customer::attach(state, call, id).await,
        (Verb::Post, ["v1", "refunds"]) => refund::create(state, call).await,
        (Verb::Get, ["v1", "refunds"]) => refund::list(state, call).await,
        (Verb::Get, ["v1", "refunds", id]) => refund::retrieve(state, id).await,
        (Verb::Get, ["v1", "disputes"]) => dispute::list(state, call).await,
        (Verb::Get, ["v1", "disputes", id]) => dispute::retrieve(state, id).await,
        (Verb::Post, ["v1", "disputes", id]) => dispute::update(state, call, id).await,
        (Verb::Post, ["v1", "disputes", id, "close"]) => dispute::close(state, call, id).await,
        (Verb::Get, ["v1", "events"]) => event::list(state, call).await,
        (Verb::Get, ["v1", "events", id]) => event::retrieve(state, id).await,
        (Verb::Get, ["v1", "balance"]) => charge::balance(state).await,
        (Verb::Get, ["v1", "account"]) => {
            Ok(Answer::ok(json!({ "id": "acct_sandbox", "object": "account", "charges_enabled": true, "livemode": false })))
        }
        _ => Err(ApiError::unknown_path().into()),
    }
}

fn log_failure(result: Result<(), CallError>) {
    if let Err(error) = result {
        tracing::error!(error = %error, "the sandbox's card processor failed");
    }
}
