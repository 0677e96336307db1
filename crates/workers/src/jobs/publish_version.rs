//! Publishes a version that is scheduled, or that the store publishes by itself. Payload: `version`.

use super::{Checks, Jobs};
use souk_domain::events::{Job, JobError};
use souk_domain::publishing::publication::{PublishPorts, StorePublication, publish_by_store};
use souk_domain::shared::VersionId;

pub async fn run(jobs: &Jobs, job: &Job) -> Result<(), JobError> {
    let id = VersionId::parse(job.value("version")?).map_err(|error| JobError::Fail(error.to_string()))?;
    let Checks { dids, reader, files, .. } = &jobs.checks;
    let ports = PublishPorts { dids: dids.as_ref(), reader: reader.as_ref(), files: files.as_ref() };
    match publish_by_store(&jobs.ctx, &ports, &id).await? {
        StorePublication::Done => Ok(()),
        StorePublication::Later(at) => Err(JobError::Later(at)),
    }
}
