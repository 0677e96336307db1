//! Publishes an event to open pages. Payload: `event`, and the ids that belong to it.

use super::Jobs;
use souk_domain::events::{Job, JobError, PublicEvent, RealtimeMessage};

pub async fn run(jobs: &Jobs, job: &Job) -> Result<(), JobError> {
    let name = job.value("event")?.to_owned();
    let mut ids = job.payload.clone();
    ids.remove("event");
    let message = RealtimeMessage::Event(PublicEvent { name, ids });
    jobs.realtime.publish(&message).await.map_err(|error| JobError::Retry(error.to_string()))
}
