//! Runs due jobs without a queue: for tests of the whole app on a fixed clock, and for a last sweep.

use super::Work;
use super::leases::claim_for_relay;
use super::relay::open_lanes;
use super::worker::attempt;
use souk_domain::shared::StorageError;

const CHUNK: u32 = 100;

/// Runs every job that is due at the time of `work.clock`, including jobs that these jobs publish, one after another. Returns the number
/// of attempts. Skips rows that the relay has already claimed for a queue.
pub async fn drain(work: &Work) -> Result<u64, StorageError> {
    let mut attempts = 0;
    loop {
        let now = work.clock.now();
        let mut due = Vec::new();
        for lane in open_lanes(work, now).await? {
            let mut connection = work.database.begin_relaxed().await?;
            due.extend(claim_for_relay(&mut connection, &lane, now, work.config.lease, CHUNK).await?);
            connection.commit().await?;
        }
        // In the order in which they were published.
        due.sort_by(|one, other| one.id.cmp(&other.id));
        if due.is_empty() {
            return Ok(attempts);
        }
        for pushed in &due {
            attempts += u64::from(attempt(work, pushed).await?);
        }
    }
}
