//! Advances a test clock to its target. Payload: `clock`.

use super::{Jobs, charge::told};
use souk_domain::billing;
use souk_domain::events::{Job, JobError};
use souk_domain::shared::ClockId;

pub async fn run(jobs: &Jobs, job: &Job) -> Result<(), JobError> {
    let clock = ClockId::parse(job.value("clock")?).map_err(|error| JobError::Fail(error.to_string()))?;
    // What is left over goes on in the round that looks for clocks under way.
    billing::advance_clock(&jobs.ctx, &clock).await.map(drop).map_err(|error| told(&error))
}
