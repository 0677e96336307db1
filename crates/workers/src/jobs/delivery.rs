//! Where the emails of jobs go.

use super::Jobs;
use souk_domain::events::JobError;
use souk_domain::mail::{Delivery, Dispatch, MAILS_PER_HOUR, dispatch};
use souk_domain::shared::Mode;

/// Where an email to this address goes. Beyond the limit of the address, the job waits for the next hour.
pub async fn delivery(jobs: &Jobs, mode: Mode, address: &str) -> Result<Delivery, JobError> {
    match dispatch(&jobs.ctx, mode, address).await? {
        Dispatch::Now(delivery) => Ok(delivery),
        Dispatch::Later(until) => {
            tracing::warn!(until = until.to_iso(), limit = MAILS_PER_HOUR, "an address has had its emails of this hour: the others wait");
            Err(JobError::Later(until))
        }
    }
}
