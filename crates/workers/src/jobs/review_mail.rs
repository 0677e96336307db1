//! Sends an email about a step of a review. Payload: `entry`, `to`.

use super::Jobs;
use super::billing_email::job_error;
use super::delivery::delivery;
use souk_domain::access::Did;
use souk_domain::events::{Job, JobError};
use souk_domain::publishing::review::compose_review_email;
use souk_domain::shared::{Mode, ReviewEntryId};

pub async fn run(jobs: &Jobs, job: &Job) -> Result<(), JobError> {
    let entry = ReviewEntryId::parse(job.value("entry")?).map_err(|error| JobError::Fail(error.to_string()))?;
    let to = Did::from_verified(job.value("to")?);
    let Some(email) = compose_review_email(&jobs.ctx, &entry, &to).await? else { return Ok(()) };
    // As for access tokens: only confirmed addresses get emails.
    let delivery = delivery(jobs, Mode::Test, &email.recipient.email).await?;
    jobs.review_mails.send_review(&email, delivery).await.map_err(job_error)
}
