//! Deletes a customer at a card processor whose data was erased. Payload: `method`, `customer`.

use super::Jobs;
use souk_domain::events::{Job, JobError};
use souk_domain::payment::{RailError, SANDBOX_PAUSE};
use souk_domain::privacy::{DeletionError, delete_provider_customer};
use souk_domain::shared::MethodId;

pub async fn run(jobs: &Jobs, job: &Job) -> Result<(), JobError> {
    let method = MethodId::parse(job.value("method")?).map_err(|error| JobError::Fail(error.to_string()))?;
    match delete_provider_customer(&jobs.ctx, &method, job.value("customer")?).await {
        Ok(()) => Ok(()),
        Err(DeletionError::NotBefore(at)) => Err(JobError::Later(at)),
        Err(DeletionError::Rail(RailError::SandboxOff(_))) => Err(JobError::Later(jobs.ctx.now().plus(SANDBOX_PAUSE))),
        Err(DeletionError::Storage(error)) => Err(error.into()),
        // Also after a rejection: the owner may have to correct the settings of the method. The last failure is a dead letter, which the
        // owner is told about and can retry.
        Err(DeletionError::Rail(error)) => Err(JobError::Retry(error.to_string())),
    }
}
