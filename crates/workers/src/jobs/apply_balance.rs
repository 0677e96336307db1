//! Pays unpaid invoices from a balance that has increased. Payload: `customer`, `currency`.

use super::Jobs;
use super::advance::job_error;
use souk_domain::billing;
use souk_domain::events::{Job, JobError};
use souk_domain::shared::{CurrencyId, CustomerId};

pub async fn run(jobs: &Jobs, job: &Job) -> Result<(), JobError> {
    let customer = CustomerId::parse(job.value("customer")?).map_err(|error| JobError::Fail(error.to_string()))?;
    let currency = CurrencyId::parse(job.value("currency")?).map_err(|error| JobError::Fail(error.to_string()))?;
    billing::pay_from_balance(&jobs.ctx, &customer, &currency).await.map_err(|error| job_error(&error))
}
