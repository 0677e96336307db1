//! Advances a test clock to its target. Payload: `clock`.

use super::Jobs;
use souk_domain::billing::{self, BillingError};
use souk_domain::events::{Job, JobError};
use souk_domain::shared::ClockId;

pub async fn run(jobs: &Jobs, job: &Job) -> Result<(), JobError> {
    let clock = ClockId::parse(job.value("clock")?).map_err(|error| JobError::Fail(error.to_string()))?;
    // If the clock has not reached its target, the recurring `AdvanceClocks` job continues.
    billing::advance_clock(&jobs.ctx, &clock).await.map(drop).map_err(|error| job_error(&error))
}

/// Retries transient errors; all others fail the job.
pub(super) fn job_error(error: &BillingError) -> JobError {
    match error {
        BillingError::Orphan
        | BillingError::Unwritable { .. }
        | BillingError::Note(_)
        | BillingError::Ledger(_)
        | BillingError::Amount(_)
        | BillingError::Settlement(_) => JobError::Fail(error.to_string()),
        BillingError::Contended | BillingError::Rail(_) | BillingError::Storage(_) => JobError::Retry(error.to_string()),
    }
}
