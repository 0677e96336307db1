//! Sends an email about a developer by a deposit. Payload: `passport`, `to`.

use super::Jobs;
use super::billing_email::job_error;
use super::delivery::delivery;
use souk_domain::access::Did;
use souk_domain::events::{Job, JobError};
use souk_domain::publishing::staking::compose_developer_email;
use souk_domain::shared::{Mode, PassportId};

pub async fn run(jobs: &Jobs, job: &Job) -> Result<(), JobError> {
    let passport = PassportId::parse(job.value("passport")?).map_err(|error| JobError::Fail(error.to_string()))?;
    let to = Did::from_verified(job.value("to")?);
    let Some(email) = compose_developer_email(&jobs.ctx, &passport, &to).await? else { return Ok(()) };
    // As for access tokens: only confirmed addresses get emails.
    let delivery = delivery(jobs, Mode::Test, &email.recipient.email).await?;
    jobs.developer_mails.send_developer_news(&email, delivery).await.map_err(job_error)
}
