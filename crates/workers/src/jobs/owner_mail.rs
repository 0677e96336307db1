//! Sends an email to the owner about a finding. The payload is that of the finding.

use super::Jobs;
use super::billing_email::job_error;
use souk_domain::doctor::compose_owner_notice;
use souk_domain::events::{Job, JobError};

pub async fn run(jobs: &Jobs, job: &Job) -> Result<(), JobError> {
    match compose_owner_notice(&jobs.ctx, &job.payload).await? {
        Some(notice) => jobs.owner_mails.send(&notice).await.map_err(job_error),
        None => Ok(()),
    }
}
