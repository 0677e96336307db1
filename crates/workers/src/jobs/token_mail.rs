//! Sends the email before an access token expires. Payload: `token`.

use super::Jobs;
use super::billing_email::job_error;
use super::delivery::delivery;
use souk_domain::access::Did;
use souk_domain::events::{Job, JobError};
use souk_domain::publishing::access_tokens::compose_expiry_reminder;
use souk_domain::shared::Mode;

pub async fn run(jobs: &Jobs, job: &Job) -> Result<(), JobError> {
    let token = Did::from_verified(job.value("token")?);
    let Some(reminder) = compose_expiry_reminder(&jobs.ctx, &token).await? else { return Ok(()) };
    // As in test mode: nobody has paid, and a user can enter any address into the profile. Only confirmed addresses get emails.
    let delivery = delivery(jobs, Mode::Test, &reminder.recipient.email).await?;
    jobs.token_mails.send_reminder(&reminder, delivery).await.map_err(job_error)
}
