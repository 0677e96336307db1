//! Asks the network what became of an attempt. Payload: `attempt`.

use super::Jobs;
use souk_domain::checkout::{self, SettleError};
use souk_domain::events::{Job, JobError};
use souk_domain::shared::AttemptId;

pub async fn run(jobs: &Jobs, job: &Job) -> Result<(), JobError> {
    let attempt = AttemptId::parse(job.value("attempt")?).map_err(|error| JobError::Fail(error.to_string()))?;
    // An outcome that is not final is not an error: the attempt's own row says when to ask again.
    checkout::settle(&jobs.ctx, &attempt).await.map_err(|error| match error {
        SettleError::Storage(error) => error.into(),
        SettleError::Contended => JobError::Retry(error.to_string()),
        SettleError::Billing(error) => super::charge::told(&error),
        SettleError::Orphan | SettleError::Ledger(_) | SettleError::Rail(_) => JobError::Fail(error.to_string()),
    })
}
