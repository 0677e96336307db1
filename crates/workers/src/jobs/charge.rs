//! Sends the payment attempts that a billing batch created. Payload: `attempts`, ids separated by commas.

use super::Jobs;
use souk_domain::events::{Job, JobError};
use souk_domain::payment::{self, SettlementError};
use souk_domain::shared::AttemptId;

pub async fn run(jobs: &Jobs, job: &Job) -> Result<(), JobError> {
    let ids = job.value("attempts")?.split(',').map(AttemptId::parse).collect::<Result<Vec<_>, _>>();
    let ids = ids.map_err(|error| JobError::Fail(error.to_string()))?;
    payment::charge(&jobs.ctx, &ids).await.map_err(|error| job_error(&error))
}

/// Retries if a result could not be recorded; the retry skips attempts that have been settled in the meantime.
fn job_error(error: &SettlementError) -> JobError {
    match error {
        SettlementError::Contended | SettlementError::Rail(_) | SettlementError::Storage(_) => JobError::Retry(error.to_string()),
        SettlementError::Orphan
        | SettlementError::Unsupported(_)
        | SettlementError::Amount(_)
        | SettlementError::Ledger(_)
        | SettlementError::Handler(_) => JobError::Fail(error.to_string()),
    }
}
