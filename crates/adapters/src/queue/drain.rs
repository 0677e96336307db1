//! Carrying out what is due without a queue: for tests of a whole app on a fixed clock, and for a last sweep.

use super::Work;
use super::leases::claim_for_relay;
use super::worker::attempt;
use souk_domain::shared::StorageError;

const CHUNK: u32 = 100;

/// Carries out every row that is due by the clock of `work`, and what these publish, one after the other.
/// Returns how many attempts were made. Rows that are on their way through a queue are left to it.
pub async fn drain(work: &Work) -> Result<u64, StorageError> {
    let mut attempts = 0;
    loop {
        let now = work.clock.now();
        let mut connection = work.database.begin_relaxed().await?;
        let due = claim_for_relay(&mut connection, now, work.config.lease, CHUNK).await?;
        connection.commit().await?;
        if due.is_empty() {
            return Ok(attempts);
        }
        for pushed in &due {
            attempts += u64::from(attempt(work, pushed).await?);
        }
    }
}
