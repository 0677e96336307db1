//! Queries the network for the result of a payment attempt. Payload: `attempt`.

use super::Jobs;
use souk_domain::events::{Job, JobError};
use souk_domain::payment::{self, SettlementError};
use souk_domain::shared::AttemptId;

pub async fn run(jobs: &Jobs, job: &Job) -> Result<(), JobError> {
    let attempt = AttemptId::parse(job.value("attempt")?).map_err(|error| JobError::Fail(error.to_string()))?;
    // A pending result is not an error: the attempt's row holds the time of the next query.
    payment::settle(&jobs.ctx, &attempt).await.map_err(|error| match error {
        SettlementError::Storage(error) => error.into(),
        SettlementError::Contended => JobError::Retry(error.to_string()),
        SettlementError::Orphan
        | SettlementError::Unsupported(_)
        | SettlementError::Amount(_)
        | SettlementError::Ledger(_)
        | SettlementError::Rail(_)
        | SettlementError::Handler(_) => JobError::Fail(error.to_string()),
    })
}
