//! Rows that sleep because a wrong clock has written their time: a due time further ahead than the longest interval of its kind, or the
//! time of a past event that lies in the future. Times that may be far ahead on purpose, as those of reminders, are not touched.

use super::Connection;
use souk_domain::billing::EVENT_RETENTION;
use souk_domain::operation::CLOCK_TOLERANCE;
use souk_domain::shared::{StorageError, Timestamp};
use std::time::Duration;

/// No check, retry or lease is further ahead: the longest delay of each is an hour.
const LONGEST_DELAY: Duration = Duration::from_secs(2 * 3_600);
/// An attempt that a process claimed by the wrong clock may be on its way to the network, and a keyed call may be running. This is longer
/// than any lease of either.
const ATTEMPT_DELAY: Duration = Duration::from_secs(600);
/// The same for messages, whose leases are extended every few seconds.
const MESSAGE_DELAY: Duration = Duration::from_secs(60);

/// `$1`: the latest possible time. `$2`: the time that replaces later ones.
pub(super) const CHECKS: &str = "UPDATE attempts SET check_at = $2
    WHERE method_id IN (SELECT id FROM payment_methods) AND status IN ('open', 'unknown') AND check_at > $1";
pub(super) const RECHECKS: &str = "UPDATE attempts SET recheck_at = $2 WHERE recheck_at IS NOT NULL AND recheck_at > $1";
pub(super) const PLAN_CHANGES: &str = "UPDATE pending_plan_changes SET check_at = $2 WHERE check_at IS NOT NULL AND check_at > $1";
pub(super) const LEASES: &str = "UPDATE outbox SET claimed_until = $2 WHERE claimed_until IS NOT NULL AND claimed_until > $1";
/// Retries, and messages that the wrong clock published to be delivered at once.
pub(super) const MESSAGES: &str = "UPDATE outbox SET run_at = $2
    WHERE dead_at IS NULL AND run_at > $1 AND (attempts > 0 OR (created_at > $1 AND run_at <= created_at))";
pub(super) const STAKES: &str = "UPDATE stakes SET checked_at = $2
    WHERE (status = 'held' OR (status = 'releasing' AND release_reason = 'revoked')) AND checked_at > $1";
/// Calls that were claimed by the wrong clock, for a caller who repeats one.
pub(super) const KEYED_CALLS: &str = "UPDATE idempotency_keys SET lease_until = $2 WHERE claimed_at > $1 AND lease_until > $2";
const CLAIMED_LISTS: &str = "UPDATE payment_methods SET events_claimed_at = $2 WHERE events_claimed_at > $1";
const READ_LISTS: &str = "UPDATE payment_methods SET events_read_until = $2 WHERE events_read_until > $1";

pub(super) async fn pull_forward(connection: &mut Connection, now: Timestamp) -> Result<(), StorageError> {
    let (due, past) = (now.plus(LONGEST_DELAY), now.plus(CLOCK_TOLERANCE));
    let replacements = [
        (CHECKS, due, now.plus(ATTEMPT_DELAY)),
        (RECHECKS, due, now.plus(ATTEMPT_DELAY)),
        (PLAN_CHANGES, due, now),
        (LEASES, due, now.plus(MESSAGE_DELAY)),
        (MESSAGES, due, now),
        (STAKES, past, now),
        (KEYED_CALLS, past, now.plus(ATTEMPT_DELAY)),
        (CLAIMED_LISTS, past, now),
        // What was read is not known: the whole list is read again. Events are only hints.
        (READ_LISTS, past, now.minus(EVENT_RETENTION)),
    ];
    for (update, latest, replacement) in replacements {
        connection.query(update).bind(latest).bind(replacement).execute().await?;
    }
    Ok(())
}
