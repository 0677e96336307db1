//! The processor: who may call what, one transaction per call, and what happens by itself.

use super::call::{Answer, ApiError, Call, CallError, Caller};
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

/// A call that loses this many races in a row is refused for the time being.
const MAX_RACES: usize = 10;
/// How often a kept-back answer looks at the clock.
const POLL: Duration = Duration::from_millis(50);
/// How often the processor looks for what is due.
const TICK: Duration = Duration::from_millis(500);
const PRUNE_EVERY: Duration = Duration::from_secs(60 * 60);
/// Intents that are settled in one round.
const SETTLE_BATCH: i64 = 100;

pub struct CardProcessorConfig {
    pub secret_key: Secret,
    /// `pk_sandbox_…`
    pub publishable_key: String,
    pub webhook: Option<Webhook>,
    /// Opens the endpoints of tests to everyone:
    /// - `POST` and `DELETE /faults`: answers that get lost;
    /// - `GET /debug/charges`, `/debug/refunds`, `/debug/disputes`: everything, for counting;
    /// - `POST /debug/payment_methods/{id}` with `decline_code`: what the bank of a saved card answers while its owner is away; empty:
    ///   the card is itself again;
    /// - `POST /debug/disputes` with `payment_intent`, `status` (`needs_response` or `warning_needs_response`), `amount`, `reason`: a
    ///   cardholder complains;
    /// - `POST /debug/disputes/{id}` with `status`: the bank moves a dispute on;
    /// - `POST /debug/refunds` with `payment_intent`, `amount`, `reason`: a refund in the processor's dashboard;
    /// - `POST /debug/refunds/{id}` with `failure_reason`: a refund fails after it succeeded.
    pub faults: bool,
}

/// An outside card processor with its own keys, state and events.
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

impl CardProcessor {
    /// Creates the processor's tables where they are missing.
    pub async fn open(db: SandboxDb, clock: Clock, random: Random, config: CardProcessorConfig) -> Result<Arc<Self>, OpenError> {
        db.create_tables(&TABLES).await?;
        // Events go to the store itself, which no proxy can reach.
        let http = reqwest::Client::builder().redirect(reqwest::redirect::Policy::none()).no_proxy().build()?;
        Ok(Arc::new(Self { db, clock, random, config, http, faults: Faults::default(), changed: Notify::new() }))
    }

    /// Settles what is due and delivers events until `stop`. Calls work without it, but nothing happens by itself.
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

    /// One round of [`CardProcessor::run`].
    pub(super) async fn tick(&self) -> Result<(), CallError> {
        let now = self.clock.now().micros();
        let sql = "SELECT id, kind FROM card_objects WHERE due_at > 0 AND due_at <= $1 ORDER BY due_at, id LIMIT $2";
        for row in self.db.rows(sql, &[now.into(), SETTLE_BATCH.into()]).await? {
            match self.settle(&row.text(0)?, &row.text(1)?).await {
                // Somebody who asked for the object has settled it first.
                Ok(_) | Err(CallError::Raced) => {}
                Err(error) => return Err(error),
            }
        }
        if let Some(webhook) = &self.config.webhook {
            event::deliver(&self.db, &self.http, webhook, &self.clock).await?;
        }
        Ok(())
    }

    pub(super) const fn has_faults(&self) -> bool {
        self.config.faults
    }

    /// Whose key this is.
    pub(super) fn caller(&self, key: Option<&str>) -> Result<Caller, ApiError> {
        let key = key.ok_or_else(|| ApiError::unauthorized("You did not provide an API key."))?;
        let is = |ours: &str| !ours.is_empty() && bool::from(key.as_bytes().ct_eq(ours.as_bytes()));
        match () {
            () if is(self.config.secret_key.reveal()) => Ok(Caller::Secret),
            () if is(&self.config.publishable_key) => Ok(Caller::Publishable),
            () => Err(ApiError::unauthorized("Invalid API Key provided.")),
        }
    }

    /// Makes a call. Its effect is committed when this returns.
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

    /// Keeps the answer back as long as the card says. Nothing is open in the database meanwhile.
    pub(super) async fn keep_back(&self, answer: Answer, caller: Caller) -> Answer {
        let Some(wait) = &answer.wait else { return answer };
        while self.clock.now() < wait.until {
            tokio::time::sleep(POLL).await;
        }
        let Some(intent) = &wait.intent else { return ApiError::timed_out().answer() };
        for _ in 0..MAX_RACES {
            if let Ok(settled) = self.look(intent, caller).await {
                return settled;
            }
        }
        answer
    }

    /// Lets happen what is due of an object.
    async fn settle(&self, id: &str, kind: &str) -> Result<(), CallError> {
        let mut state = self.state().await?;
        if kind == refund::Refund::KIND {
            refund::load(&mut state, id).await?;
        } else {
            intent::load(&mut state, id).await?;
        }
        state.close().await
    }

    /// The intent by now, without asking who wants to know.
    async fn look(&self, intent: &str, caller: Caller) -> Result<Answer, CallError> {
        let mut state = self.state().await?;
        let stored = intent::load(&mut state, intent).await?;
        state.close().await?;
        Ok(Answer::ok(stored.value.wire(caller)))
    }

    pub(super) async fn state(&self) -> Result<State<'_>, CallError> {
        State::open(&self.db, self.clock.now(), &self.random, self.config.webhook.is_some()).await
    }

    async fn attempt(&self, call: &Call) -> Result<Answer, CallError> {
        let mut state = self.state().await?;
        // A browser's key could meet a server's: only servers have them.
        let key = call.idempotency_key.as_deref().filter(|_| call.post && call.caller == Caller::Secret);
        if let Some(key) = key
            && let Some(answer) = idempotency::claim(&mut state, key, call).await?
        {
            return Ok(answer);
        }
        let mut bare = call.clone();
        let expansions = bare.form.take_expansions()?;
        let mut answer = dispatch(&mut state, &bare, self.config.faults).await?;
        if call.caller == Caller::Secret {
            customer::expand(&mut state, &expansions, &mut answer).await?;
        }
        if let Some(key) = key {
            idempotency::keep(&mut state, key, &answer).await?;
        }
        state.close().await?;
        Ok(answer)
    }
}

/// The API. What stands above the line browsers may call with the publishable key.
async fn dispatch(state: &mut State<'_>, call: &Call, debug: bool) -> Result<Answer, CallError> {
    let path: Vec<&str> = call.path.split('/').collect();
    match (call.post, path.as_slice()) {
        (false, ["v1", "payment_intents", id]) => return intent::retrieve(state, call, id).await,
        (true, ["v1", "payment_intents", id, "confirm"]) => return intent::confirm(state, call, id).await,
        (true, ["v1", "payment_intents", id, "authenticate"]) => return intent::authenticate(state, call, id).await,
        (false, ["v1", "setup_intents", id]) => return setup::retrieve(state, call, id).await,
        (true, ["v1", "setup_intents", id, "confirm"]) => return setup::confirm(state, call, id).await,
        (true, ["v1", "setup_intents", id, "authenticate"]) => return setup::authenticate(state, call, id).await,
        (true, ["v1", "payment_methods"]) => return customer::create_method(state, call).await,
        (true, ["debug", "payment_methods", id]) if debug => return customer::order_decline(state, call, id).await,
        (false, ["debug", "charges"]) if debug => return charge::all(state).await,
        (false, ["debug", "refunds"]) if debug => return refund::all(state).await,
        (true, ["debug", "refunds"]) if debug => return refund::order(state, call).await,
        (true, ["debug", "refunds", id]) if debug => return refund::order_failure(state, call, id).await,
        (false, ["debug", "disputes"]) if debug => return dispute::all(state).await,
        (true, ["debug", "disputes"]) if debug => return dispute::order(state, call).await,
        (true, ["debug", "disputes", id]) if debug => return dispute::order_status(state, call, id).await,
        _ if call.caller == Caller::Publishable => return Err(ApiError::forbidden().into()),
        _ => {}
    }
    match (call.post, path.as_slice()) {
        (true, ["v1", "payment_intents"]) => intent::create(state, call).await,
        (false, ["v1", "payment_intents"]) => intent::list(state, call).await,
        (true, ["v1", "payment_intents", id, "cancel"]) => intent::cancel(state, call, id).await,
        (true, ["v1", "setup_intents"]) => setup::create(state, call).await,
        (true, ["v1", "setup_intents", id, "cancel"]) => setup::cancel(state, call, id).await,
        (true, ["v1", "customers"]) => customer::create(state, call).await,
        (true, ["v1", "customers", id]) => customer::update(state, call, id).await,
        (false, ["v1", "customers", id]) => customer::retrieve(state, id).await,
        (false, ["v1", "payment_methods", id]) => customer::retrieve_method(state, id).await,
        (true, ["v1", "payment_methods", id, "attach"]) => customer::attach(state, call, id).await,
        (true, ["v1", "refunds"]) => refund::create(state, call).await,
        (false, ["v1", "refunds"]) => refund::list(state, call).await,
        (false, ["v1", "refunds", id]) => refund::retrieve(state, id).await,
        (false, ["v1", "disputes"]) => dispute::list(state, call).await,
        (false, ["v1", "disputes", id]) => dispute::retrieve(state, id).await,
        (true, ["v1", "disputes", id]) => dispute::update(state, call, id).await,
        (true, ["v1", "disputes", id, "close"]) => dispute::close(state, call, id).await,
        (false, ["v1", "events"]) => event::list(state, call).await,
        (false, ["v1", "events", id]) => event::retrieve(state, id).await,
        (false, ["v1", "balance"]) => charge::balance(state).await,
        (false, ["v1", "account"]) => {
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
