//! Queries a network about an attempt, and sends what was not sent yet.

use super::{
    Attempt, AttemptKind, CardFormError, CardRefundRequest, ChargeRequest, Currency, Decline, IDEMPOTENCY_KEY_TTL, Method, Outcome,
    Purpose, RailError, Settlement, SetupOutcome, SignedTransaction, card_request, setup_request,
};
use crate::context::Context;
use crate::operation::RestoreHeld;
use crate::shared::{Amount, StorageError};
use std::time::Duration;

/// An attempt with the method and currency that are needed to reach its network.
#[derive(Debug, Clone)]
pub struct AttemptContext {
    pub attempt: Attempt,
    pub method: Method,
    pub currency: Currency,
}

/// What triggered a query. Determines whether transactions may be sent and whether the reconciler is rescheduled.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Trigger {
    /// The attempt was never sent before: it was just written, or claimed for its first sending.
    Initial,
    /// A page polls: no transaction is sent, and the reconciler's schedule stays.
    Poll,
    /// The reconciler, or the network's own event.
    Reconciler,
}

/// A decline of a transaction that may have been sent before is final only if the network has had no record of it for this long after its
/// first possible sending: a lagging or different node can decline a transaction that has settled elsewhere.
const DECLINE_CONFIRMATION_WINDOW: Duration = Duration::from_secs(24 * 3_600);

/// A network call, including the queries before and after it, takes at most this long. If less time is left of the lease, nothing is sent,
/// and the reconciler continues.
pub const CALL_DEADLINE_MARGIN: Duration = Duration::from_secs(45);

/// Queries the network. If the network does not know the attempt, sends it: the same bytes, or under the same key.
#[tracing::instrument(skip_all)]
pub async fn query_or_send(ctx: &Context, context: &AttemptContext, trigger: Trigger) -> Outcome {
    let AttemptContext { attempt, method, currency } = context;
    if let Err(off) = ctx.networks.check_open(method) {
        return Outcome::Unknown(off.to_string());
    }
    if ctx.networks.is_held() {
        return query_only(ctx, context).await;
    }
    // While the clock is not trusted, nothing is concluded from the time that has passed. Both are read before a network answers, because
    // its answer can change them.
    let (is_trusted, now) = (ctx.trust.is_trusted(), ctx.now());
    let is_late = !is_trusted || now.since(attempt.created_at) > IDEMPOTENCY_KEY_TTL;
    let heard = |outcome| ctx.networks.heard(method, outcome, ctx.now());
    match &attempt.kind {
        AttemptKind::Wallet { bytes, hash, .. } => {
            let Some(rail) = ctx.networks.wallet(method.kind) else { return no_rail() };
            let signed = SignedTransaction { bytes: bytes.clone(), hash: hash.clone() };
            if trigger == Trigger::Initial {
                return heard(rail.send(method, currency, &signed).await);
            }
            let sent_from = attempt.sent_at.unwrap_or(attempt.created_at);
            match heard(rail.find(method, currency, hash).await) {
                // The first sender may still be sending it. Its decline is final only as long as there is no other sender.
                Outcome::NotFound if trigger == Trigger::Poll => Outcome::NotFound,
                Outcome::NotFound => match heard(rail.send(method, currency, &signed).await) {
                    Outcome::Declined(decline) if !is_trusted || now.since(sent_from) < DECLINE_CONFIRMATION_WINDOW => {
                        Outcome::Unknown(decline.message)
                    }
                    outcome => outcome,
                },
                known => known,
            }
        }
        AttemptKind::Card { provider_id, .. } => {
            let Some(rail) = ctx.networks.card(method.kind) else { return no_rail() };
            if !provider_id.is_empty() {
                return heard(rail.find(method, currency, provider_id).await);
            }
            let request = match card_request(ctx, method, attempt).await {
                Ok(request) => request,
                Err(error) => return not_requested(ctx, method, error),
            };
            let opened = rail.open(method, currency, &request).await;
            match ctx.networks.heard_result(method, opened, ctx.now()) {
                Ok(intent) => with_stored_ids(ctx, attempt, &intent.provider_id, &intent.client_secret, intent.outcome).await,
                Err(error) => not_opened(error),
            }
        }
        AttemptKind::CardSetup { provider_id, holder, .. } => {
            let Some(rail) = ctx.networks.card(method.kind) else { return no_rail() };
            if !provider_id.is_empty() {
                return heard(setup_outcome(provider_id, rail.find_setup(method, provider_id).await));
            }
            let request = match setup_request(ctx, method, &attempt.id, holder).await {
                Ok(request) => request,
                Err(error) => return not_requested(ctx, method, error),
            };
            let opened = rail.open_setup(method, &request).await;
            match ctx.networks.heard_result(method, opened, ctx.now()) {
                Ok(setup) => {
                    let outcome = setup_outcome(&setup.provider_id, setup.outcome);
                    with_stored_ids(ctx, attempt, &setup.provider_id, &setup.client_secret, outcome).await
                }
                Err(error) => not_opened(error),
            }
        }
        AttemptKind::OffSession { card, provider_id } => {
            let Some(rail) = ctx.networks.card(method.kind) else { return no_rail() };
            if !provider_id.is_empty() {
                return heard(rail.find_charge(method, currency, provider_id).await);
            }
            let description = attempt.purpose.subject().to_owned();
            let (attempt_id, card, period) = (attempt.id.clone(), card.clone(), attempt.period.clone());
            let request = ChargeRequest { attempt: attempt_id, amount: attempt.amount, description, card, period, is_late };
            let charged = rail.charge(method, currency, &request).await;
            match ctx.networks.heard_result(method, charged, ctx.now()) {
                // A final answer is recorded with its outcome. Only an open intent needs its id stored for the next query.
                Ok(intent) if matches!(intent.outcome, Outcome::Settled(_) | Outcome::Declined(_)) => intent.outcome,
                Ok(intent) => with_stored_ids(ctx, attempt, &intent.provider_id, "", intent.outcome).await,
                Err(error) => not_opened(error),
            }
        }
        AttemptKind::CardRefund { payment } => {
            let Some(rail) = ctx.networks.card(method.kind) else { return no_rail() };
            let Purpose::Refund(refund) = &attempt.purpose else { return Outcome::Unknown("no refund".to_owned()) };
            let (refund, provider_id) = (refund.clone(), payment.clone());
            let request = CardRefundRequest { attempt: attempt.id.clone(), refund, provider_id, amount: attempt.amount, is_late };
            heard(rail.refund(method, currency, &request).await)
        }
    }
}

/// The outcome of a card form that was not requested.
pub(super) fn not_requested(ctx: &Context, method: &Method, error: CardFormError) -> Outcome {
    match error {
        CardFormError::Rail(error) => ctx.networks.heard(method, not_opened(error), ctx.now()),
        CardFormError::Storage(error) => Outcome::Unknown(error.to_string()),
    }
}

/// Queries the network in a restored store that must not send anything. The original may have sent this attempt after the backup.
async fn query_only(ctx: &Context, AttemptContext { attempt, method, currency }: &AttemptContext) -> Outcome {
    let heard = |outcome| ctx.networks.heard(method, outcome, ctx.now());
    match &attempt.kind {
        AttemptKind::Wallet { hash, .. } => match ctx.networks.wallet(method.kind) {
            Some(rail) => heard(rail.find(method, currency, hash).await),
            None => no_rail(),
        },
        AttemptKind::Card { provider_id, .. } | AttemptKind::OffSession { provider_id, .. } if !provider_id.is_empty() => {
            match ctx.networks.card(method.kind) {
                Some(rail) => heard(rail.find(method, currency, provider_id).await),
                None => no_rail(),
            }
        }
        AttemptKind::CardSetup { provider_id, .. } if !provider_id.is_empty() => match ctx.networks.card(method.kind) {
            Some(rail) => heard(setup_outcome(provider_id, rail.find_setup(method, provider_id).await)),
            None => no_rail(),
        },
        // Only sending it again would tell.
        AttemptKind::Card { .. } | AttemptKind::OffSession { .. } | AttemptKind::CardSetup { .. } | AttemptKind::CardRefund { .. } => {
            Outcome::Unknown(RestoreHeld.to_string())
        }
    }
}

fn no_rail() -> Outcome {
    Outcome::Unknown("no rail serves this type of method".to_owned())
}

/// Converts the outcome of a card set-up. A saved card is a settlement of amount zero.
#[must_use]
pub fn setup_outcome(provider_id: &str, outcome: SetupOutcome) -> Outcome {
    match outcome {
        SetupOutcome::Saved(card) => {
            Outcome::Settled(Settlement { reference: provider_id.to_owned(), payer: String::new(), amount: Amount::ZERO, card: Some(card) })
        }
        SetupOutcome::Declined(decline) => Outcome::Declined(decline),
        SetupOutcome::Pending { requires_payer, last_error } => Outcome::Pending { requires_payer, last_error },
        SetupOutcome::NotFound => Outcome::NotFound,
        SetupOutcome::Unknown(reason) => Outcome::Unknown(reason),
    }
}

/// Converts an error on opening a card intent. If the provider rejects it, it can never be paid, since no client secret exists. A lost
/// answer may hide an opened intent.
#[must_use]
pub fn not_opened(error: RailError) -> Outcome {
    match error {
        RailError::Unreachable(_) | RailError::SandboxOff(_) | RailError::TooManyCardForms => Outcome::Unknown(error.to_string()),
        RailError::Rejected(message) => Outcome::Declined(Decline { code: "not_opened".to_owned(), message }),
        // The payer sees this message; details about the store's settings are for its owner.
        RailError::Misconfigured(_) => {
            Outcome::Declined(Decline { code: "not_opened".to_owned(), message: "Sorry, something went wrong.".to_owned() })
        }
    }
}

/// Stores the provider's ids of an attempt, so that the next query can use them.
async fn with_stored_ids(ctx: &Context, attempt: &Attempt, provider_id: &str, client_secret: &str, outcome: Outcome) -> Outcome {
    match store_provider_ids(ctx, attempt, provider_id, client_secret).await {
        Ok(()) => outcome,
        Err(error) => Outcome::Unknown(error.to_string()),
    }
}

async fn store_provider_ids(ctx: &Context, attempt: &Attempt, provider_id: &str, client_secret: &str) -> Result<(), StorageError> {
    let mut unit = ctx.store.begin().await?;
    unit.attempts().set_provider_ids(&attempt.id, provider_id, client_secret, ctx.now()).await?;
    unit.commit().await
}
