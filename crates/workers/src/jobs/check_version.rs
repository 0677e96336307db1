//! Runs the checks of an uploaded version.

use super::{Checks, Jobs};
use souk_domain::events::{Job, JobError};
use souk_domain::publishing::bundle::checks::{CheckPorts, run_checks};
use souk_domain::shared::VersionId;

pub async fn run(jobs: &Jobs, job: &Job) -> Result<(), JobError> {
    let id = VersionId::parse(job.value("version")?).map_err(|error| JobError::Fail(error.to_string()))?;
    let Checks { dids, reader, spool, files } = &jobs.checks;
    let ports = CheckPorts { dids: dids.as_ref(), reader: reader.as_ref(), spool: spool.as_ref(), files: files.as_ref() };
    Ok(run_checks(&jobs.ctx, &ports, &id).await?)
}
