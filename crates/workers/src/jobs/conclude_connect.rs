//! Ends a connect session whose transactions the network has decided about. Payload: `token`.

use super::Jobs;
use souk_domain::events::{Job, JobError};
use souk_domain::payment;

pub async fn run(jobs: &Jobs, job: &Job) -> Result<(), JobError> {
    payment::conclude_connect(&jobs.ctx, job.value("token")?).await?;
    Ok(())
}
