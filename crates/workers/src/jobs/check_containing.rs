//! Orders the checks of versions that contain content which was blocked or unblocked. Payload: `sha256`, `after`.

use super::Jobs;
use souk_domain::events::{Job, JobError};
use souk_domain::publishing::digests::continue_checks;
use souk_domain::shared::VersionId;

pub async fn run(jobs: &Jobs, job: &Job) -> Result<(), JobError> {
    let after = VersionId::parse(job.value("after")?).map_err(|error| JobError::Fail(error.to_string()))?;
    Ok(continue_checks(&jobs.ctx, job.value("sha256")?, &after).await?)
}
