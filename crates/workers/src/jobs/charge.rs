//! Sends the attempts that a round of the billing engine wrote. Payload: `attempts`, ids joined by commas.

use super::Jobs;
use souk_domain::billing::{self, BillingError};
use souk_domain::events::{Job, JobError};
use souk_domain::shared::AttemptId;

pub async fn run(jobs: &Jobs, job: &Job) -> Result<(), JobError> {
    let ids = job.value("attempts")?.split(',').map(AttemptId::parse).collect::<Result<Vec<_>, _>>();
    let ids = ids.map_err(|error| JobError::Fail(error.to_string()))?;
    billing::charge(&jobs.ctx, &ids).await.map_err(|error| told(&error))
}

/// What could not be written down is tried again; attempts that were decided meanwhile are left alone then.
pub(super) fn told(error: &BillingError) -> JobError {
    match error {
        BillingError::Orphan | BillingError::Unwritable { .. } | BillingError::Ledger(_) | BillingError::Amount(_) => {
            JobError::Fail(error.to_string())
        }
        BillingError::Contended | BillingError::Rail(_) | BillingError::Storage(_) => JobError::Retry(error.to_string()),
    }
}
