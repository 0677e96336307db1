//! Sends the state of a connect session to the pages that wait for it. Payload: `token`.

use super::Jobs;
use souk_domain::events::{Job, JobError, RealtimeMessage};

pub async fn run(jobs: &Jobs, job: &Job) -> Result<(), JobError> {
    let token = job.value("token")?;
    let session = jobs.ctx.store.read().await?.connect_sessions().find(token, jobs.ctx.now()).await?;
    // A session that has expired or was abandoned has no page that waits for it.
    let Some(update) = session.and_then(|session| session.update()) else { return Ok(()) };
    jobs.realtime.publish(&RealtimeMessage::Connect(update)).await.map_err(|error| JobError::Retry(error.to_string()))
}
