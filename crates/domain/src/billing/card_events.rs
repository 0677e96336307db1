//! Events of card processors, from webhook deliveries and from the processors' lists. An event is only a hint: a job asks the network what
//! has changed (invariant 10).

use super::PaymentSource;
use super::credit::{CardCheckError, check_card_payment, record_dispute, record_provider_refund};
use crate::context::Context;
use crate::events::{Message, Topic};
use crate::operation::CLOCK_TOLERANCE;
use crate::payment::{Attempt, CardEvent, CardHint, EventRange, Method, RailError, UnreadEvents, reverse_if_failed};
use crate::shared::{AttemptId, EventId, MethodId, StorageError, Timestamp};
use crate::storage::UnitOfWork;
use futures_util::future::join_all;
use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

/// Handles an event whose signature is verified. If it concerns a payment of this store, publishes a message for a job that queries the
/// network.
///
/// # Errors
/// [`StorageError`] when the message could not be written: the processor then sends the event again.
#[tracing::instrument(skip_all, fields(method = %method.id, event = event.id, kind = event.kind))]
pub async fn receive_card_event(ctx: &Context, method: &Method, event: &CardEvent) -> Result<(), StorageError> {
    let Some(hint) = &event.hint else { return Ok(()) };
    let mut unit = ctx.store.begin().await?;
    publish(ctx, unit.as_mut(), method, hint).await?;
    unit.commit().await
}

/// The interval in which the list of events of each card method is read.
pub const EVENT_LIST_INTERVAL: Duration = Duration::from_secs(3_600);
/// Ranges overlap by this time. An event can appear in the provider's list up to five minutes after a younger one, and by a clock that is
/// trusted the store can be ahead of the provider by [`CLOCK_TOLERANCE`]: what the provider records in that time is in the next range.
const EVENT_LIST_OVERLAP: Duration = CLOCK_TOLERANCE.saturating_add(Duration::from_secs(300));
/// The longest range read at once: an outage of weeks is read day by day.
const EVENT_LIST_RANGE: Duration = Duration::from_secs(24 * 3_600);
/// The shortest range: a failure of a longer one halves it, because a busy store can have more events than a list returns.
const EVENT_LIST_SHORTEST: Duration = Duration::from_secs(300);
/// The most messages in one commit.
const MESSAGE_CHUNK: usize = 100;
/// How long card processors list events.
pub const EVENT_RETENTION: Duration = Duration::from_secs(30 * 24 * 3_600);

/// Reads the providers' lists of events about failed payments, refunds and disputes, and handles each like a webhook delivery: deliveries
/// can be lost. The lists of unresponsive providers do not delay the others.
///
/// # Errors
/// The first failure, after all lists were read. What was not read is read at the next interval.
#[tracing::instrument(skip_all)]
pub async fn read_event_lists(ctx: &Context) -> Result<(), CardCheckError> {
    let now = ctx.now();
    let mut unit = ctx.store.begin().await?;
    let claimed = unit.methods().claim_unread(now.minus(EVENT_LIST_INTERVAL), now).await?;
    unit.commit().await?;
    // The list of a paused method is read later, from where it was left.
    let open = claimed.iter().filter(|unread| !ctx.networks.is_paused(&unread.method));
    let results = join_all(open.map(|unread| read_event_list(ctx, unread, now))).await;
    results.into_iter().collect()
}

async fn read_event_list(ctx: &Context, unread: &UnreadEvents, now: Timestamp) -> Result<(), CardCheckError> {
    let method = &unread.method;
    let rail = ctx.networks.card(method.kind).ok_or(CardCheckError::NoCardNetwork)?;
    let mut read_until = unread.since.max(now.minus(EVENT_RETENTION));
    let mut length = EVENT_LIST_RANGE;
    while read_until < now {
        let range = EventRange { since: read_until.minus(EVENT_LIST_OVERLAP), until: now.min(read_until.plus(length)) };
        let listed = ctx.networks.heard_result(method, rail.list_changes(method, &range).await, ctx.now());
        let read = range.until.since(read_until);
        let events = match listed {
            Ok(events) => events,
            Err(error) => match halved(read) {
                Some(half) if ctx.networks.admit(&method.id, ctx.now()).is_ok() => {
                    tracing::warn!(error = &error as &dyn std::error::Error, method = %method.id, "a shorter range of events is read after a failure");
                    length = half;
                    continue;
                }
                _ => return Err(error.into()),
            },
        };
        // A change has several events; one message is enough.
        let hints: BTreeSet<_> = events.into_iter().filter_map(|event| event.hint).collect();
        publish_all(ctx, method, &hints.into_iter().collect::<Vec<_>>(), range.until).await?;
        read_until = range.until;
        length = grown(length);
    }
    Ok(())
}

/// The length of the next range after one of this length has failed. `None`: it was the shortest.
fn halved(failed: Duration) -> Option<Duration> {
    (failed > EVENT_LIST_SHORTEST).then(|| (failed / 2).max(EVENT_LIST_SHORTEST))
}

/// The length of the next range after one was read.
fn grown(length: Duration) -> Duration {
    length.saturating_mul(2).min(EVENT_LIST_RANGE)
}

/// Publishes the messages of a range of events, at most [`MESSAGE_CHUNK`] in one commit: the last commit records that the range was read.
/// After a crash in between, the range is read again, and a second message about a change finds nothing new.
async fn publish_all(ctx: &Context, method: &Method, hints: &[CardHint], read_until: Timestamp) -> Result<(), StorageError> {
    let chunks = hints.len().div_ceil(MESSAGE_CHUNK).max(1);
    for chunk in 0..chunks {
        let mut unit = ctx.store.begin().await?;
        for hint in hints.iter().skip(chunk * MESSAGE_CHUNK).take(MESSAGE_CHUNK) {
            publish(ctx, unit.as_mut(), method, hint).await?;
        }
        if chunk + 1 == chunks {
            unit.methods().set_events_read(&method.id, read_until).await?;
        }
        unit.commit().await?;
    }
    Ok(())
}

/// Publishes a message for a job that queries the network, if the hint concerns a payment of this store.
async fn publish(ctx: &Context, unit: &mut dyn UnitOfWork, method: &Method, hint: &CardHint) -> Result<(), StorageError> {
    let Some(message) = message_for(unit, method, hint, ctx.now()).await? else { return Ok(()) };
    unit.outbox().publish(&EventId::new(ctx.now(), ctx.random.as_ref()), &message, ctx.now()).await
}

fn settle_message(attempt: &Attempt, now: Timestamp) -> Message {
    Message::new(Topic::SettleAttempt, now).with("attempt", &attempt.id).with("method", &attempt.method_id)
}

/// `None`: the event concerns no payment of this store, or a payment that is settled already.
async fn message_for(unit: &mut dyn UnitOfWork, method: &Method, hint: &CardHint, now: Timestamp) -> Result<Option<Message>, StorageError> {
    match hint {
        CardHint::Intent { provider_id } => {
            let attempt = unit.attempts().find_by_provider(&method.id, provider_id).await?.filter(|attempt| attempt.status.is_open());
            Ok(attempt.map(|attempt| settle_message(&attempt, now)))
        }
        CardHint::Failure { payment } => {
            let attempt = unit.attempts().find_by_provider(&method.id, payment).await?;
            match attempt.filter(|attempt| attempt.status.is_open()) {
                Some(attempt) => Ok(Some(settle_message(&attempt, now))),
                None => Ok(settled_attempt(unit, &method.id, payment).await?.and_then(|_| hint_message(&method.id, hint, now))),
            }
        }
        CardHint::Charge { payment }
        | CardHint::Dispute { payment: Some(payment), .. }
        | CardHint::Refund { payment: Some(payment), .. } => {
            let is_ours = is_ours(unit, &method.id, payment).await?;
            Ok(is_ours.then(|| hint_message(&method.id, hint, now)).flatten())
        }
        CardHint::Dispute { payment: None, .. } | CardHint::Refund { payment: None, .. } => Ok(hint_message(&method.id, hint, now)),
    }
}

/// Whether the payment belongs to this store: several stores can share one account at the processor.
async fn is_ours(unit: &mut dyn UnitOfWork, method: &MethodId, payment: &str) -> Result<bool, StorageError> {
    let is_known = unit.intents().find_by_reference(method, payment).await?.is_some();
    Ok(is_known || unit.attempts().find_by_provider(method, payment).await?.is_some())
}

/// The attempt that settled a payment of invoices. An attempt knows its provider's id only if the payer entered the card.
async fn settled_attempt(unit: &mut dyn UnitOfWork, method: &MethodId, payment: &str) -> Result<Option<AttemptId>, StorageError> {
    let Some(intent) = unit.intents().find_by_reference(method, payment).await? else { return Ok(None) };
    let payments = unit.invoice_payments().of_intent(&intent.id).await?;
    Ok(payments.into_iter().find_map(|payment| match payment.source {
        PaymentSource::Network { attempt, .. } => Some(attempt),
        PaymentSource::Balance(_) | PaymentSource::Stake(_) => None,
    }))
}

/// The message whose consumer calls [`check_card_hint`].
fn hint_message(method: &MethodId, hint: &CardHint, now: Timestamp) -> Option<Message> {
    let message = Message::new(Topic::CheckCard, now).with("method", method);
    match hint {
        CardHint::Intent { .. } => None,
        CardHint::Failure { payment } => Some(message.with("failure", payment)),
        CardHint::Charge { payment } => Some(message.with("payment", payment)),
        CardHint::Dispute { provider_id, .. } => Some(message.with("dispute", provider_id)),
        CardHint::Refund { provider_id, .. } => Some(message.with("refund", provider_id)),
    }
}

/// Parses the payload of a [`Topic::CheckCard`] message. `None`: the payload is malformed.
#[must_use]
pub fn card_hint_of(payload: &BTreeMap<String, String>) -> Option<CardHint> {
    let value = |name: &str| payload.get(name).cloned();
    let payment = value("payment").map(|payment| CardHint::Charge { payment });
    let failure = value("failure").map(|payment| CardHint::Failure { payment });
    let dispute = value("dispute").map(|provider_id| CardHint::Dispute { provider_id, payment: None });
    let refund = value("refund").map(|provider_id| CardHint::Refund { provider_id, payment: None });
    payment.or(failure).or(dispute).or(refund)
}

/// Queries the network for the object of a hint, and records what has changed.
///
/// # Errors
/// Those of [`check_card_payment`]. An object unknown to the provider is not an error.
#[tracing::instrument(skip_all, fields(method = %method))]
pub async fn check_card_hint(ctx: &Context, method: &MethodId, hint: &CardHint) -> Result<(), CardCheckError> {
    let Some(method) = ctx.store.read().await?.methods().find(method).await? else { return Ok(()) };
    ctx.networks.check_open(&method).map_err(RailError::from)?;
    let rail = ctx.networks.card(method.kind).ok_or(CardCheckError::NoCardNetwork)?;
    match hint {
        // Attempts are settled by [`Topic::SettleAttempt`] messages.
        CardHint::Intent { .. } => {}
        CardHint::Failure { payment } => {
            let mut unit = ctx.store.read().await?;
            let attempt = settled_attempt(unit.as_mut(), &method.id, payment).await?;
            drop(unit);
            if let Some(attempt) = attempt {
                reverse_if_failed(ctx, &attempt, payment).await?;
            }
        }
        CardHint::Charge { payment } => check_card_payment(ctx, &method, payment).await?,
        CardHint::Dispute { provider_id, .. } => {
            if let Some(dispute) = rail.find_dispute(&method, provider_id).await? {
                record_dispute(ctx, &method, &dispute).await?;
            }
        }
        CardHint::Refund { provider_id, .. } => {
            if let Some(refund) = rail.find_refund(&method, provider_id).await? {
                record_provider_refund(ctx, &method, &refund).await?;
            }
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_range_halves_after_a_failure_and_grows_to_a_day_again() {
        let minutes = |count: u64| Duration::from_secs(count * 60);
        let mut length = EVENT_LIST_RANGE;
        let mut failed = vec![length];
        while let Some(half) = halved(length) {
            length = half;
            failed.push(length);
        }
        assert_eq!((failed.len(), length), (10, EVENT_LIST_SHORTEST));
        assert_eq!(halved(minutes(8)), Some(minutes(5)), "not below the shortest");
        for _ in 0..9 {
            length = grown(length);
        }
        assert_eq!(length, EVENT_LIST_RANGE);
    }

    #[test]
    fn a_hint_round_trips_through_its_message() {
        let method = MethodId::parse("pm_1").expect("an id");
        let at = Timestamp::from_seconds(0);
        let read = |hint: &CardHint| hint_message(&method, hint, at).and_then(|message| card_hint_of(&message.payload));
        let charge = CardHint::Charge { payment: "pi_1".to_owned() };
        assert_eq!(read(&charge), Some(charge.clone()));
        let failure = CardHint::Failure { payment: "pi_1".to_owned() };
        assert_eq!(read(&failure), Some(failure.clone()));
        let dispute = |payment: Option<&str>| CardHint::Dispute { provider_id: "du_1".to_owned(), payment: payment.map(str::to_owned) };
        assert_eq!(read(&dispute(Some("pi_1"))), Some(dispute(None)));
        let refund = |payment: Option<&str>| CardHint::Refund { provider_id: "re_1".to_owned(), payment: payment.map(str::to_owned) };
        assert_eq!(read(&refund(None)), Some(refund(None)));
        assert_eq!(read(&CardHint::Intent { provider_id: "pi_1".to_owned() }), None, "attempts have their own message");
        assert_eq!(card_hint_of(&BTreeMap::new()), None);
    }
}
