//! Sends an email to the owner about a finding. The payload is that of the finding.

use super::Jobs;
use super::billing_email::job_error;
use super::delivery::delivery;
use souk_domain::doctor::compose_owner_notice;
use souk_domain::events::{Job, JobError};
use souk_domain::shared::Mode;

pub async fn run(jobs: &Jobs, job: &Job) -> Result<(), JobError> {
    let Some(notice) = compose_owner_notice(&jobs.ctx, &job.payload).await? else { return Ok(()) };
    // Findings concern the installation, whichever modes it uses.
    let delivery = delivery(jobs, Mode::Live, &notice.recipient.email).await?;
    jobs.owner_mails.send(&notice, delivery).await.map_err(job_error)
}
