//! Sends the email of a `Notification`. The payload is that of the notification.

use super::Jobs;
use super::delivery::delivery;
use souk_domain::billing::{Notification, compose_billing_email, is_reminder_paused};
use souk_domain::events::{Job, JobError};
use souk_domain::mail::MailingError;
use souk_domain::payment::SANDBOX_PAUSE;

pub async fn run(jobs: &Jobs, job: &Job) -> Result<(), JobError> {
    let notification = Notification::of(&job.payload).ok_or_else(|| JobError::Fail("the payload is not a notification".to_owned()))?;
    let mut unit = jobs.ctx.store.read().await?;
    if is_reminder_paused(&jobs.ctx, unit.as_mut(), &notification).await? {
        return Err(JobError::Later(jobs.ctx.now().plus(SANDBOX_PAUSE)));
    }
    let email = compose_billing_email(&jobs.ctx, unit.as_mut(), &notification).await?;
    drop(unit);
    let Some(email) = email else { return Ok(()) };
    let delivery = delivery(jobs, email.customer.mode, &email.recipient.email).await?;
    jobs.billing_emails.send(&email, delivery).await.map_err(job_error)
}

/// Retries while the mail server is unavailable; a rejected email fails the job.
pub(super) fn job_error(error: MailingError) -> JobError {
    match error {
        MailingError::Unavailable(reason) => JobError::Retry(reason),
        MailingError::Rejected(reason) => JobError::Fail(reason),
    }
}
