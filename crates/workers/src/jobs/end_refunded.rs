//! Ends a subscription whose current period was revoked by a credit note. Payload: `note`.

use super::Jobs;
use super::advance::job_error;
use souk_domain::billing;
use souk_domain::events::{Job, JobError};
use souk_domain::shared::CreditNoteId;

pub async fn run(jobs: &Jobs, job: &Job) -> Result<(), JobError> {
    let note = CreditNoteId::parse(job.value("note")?).map_err(|error| JobError::Fail(error.to_string()))?;
    billing::end_refunded(&jobs.ctx, &note).await.map_err(|error| job_error(&error))
}
