//! Mails what happened to a subscription. Payload: that of a `Notice`.

use super::Jobs;
use souk_domain::billing::{MailingError, Notice, write_letter};
use souk_domain::events::{Job, JobError};

pub async fn run(jobs: &Jobs, job: &Job) -> Result<(), JobError> {
    let notice = Notice::of(&job.payload).ok_or_else(|| JobError::Fail("the message makes no sense".to_owned()))?;
    let mut unit = jobs.ctx.store.read().await?;
    let letter = write_letter(&jobs.ctx, unit.as_mut(), &notice).await?;
    drop(unit);
    match letter {
        Some(letter) => jobs.letters.send(&letter).await.map_err(told),
        None => Ok(()),
    }
}

/// What becomes of a job whose mail did not leave.
pub(super) fn told(error: MailingError) -> JobError {
    match error {
        MailingError::Unavailable(reason) => JobError::Retry(reason),
        MailingError::Refused(reason) => JobError::Fail(reason),
    }
}
