//! Sends an email about a sale. Payload: `invoice`, `to`; without `to`, it goes to the owner of the store.

use super::Jobs;
use super::billing_email::job_error;
use souk_domain::access::Did;
use souk_domain::billing::compose_sale_email;
use souk_domain::events::{Job, JobError};
use souk_domain::mail::dispatch_sale;
use souk_domain::shared::InvoiceId;

pub async fn run(jobs: &Jobs, job: &Job) -> Result<(), JobError> {
    let invoice = InvoiceId::parse(job.value("invoice")?).map_err(|error| JobError::Fail(error.to_string()))?;
    let to = job.payload.get("to").map(|did| Did::from_verified(did.as_str()));
    let Some(email) = compose_sale_email(&jobs.ctx, &invoice, to.as_ref()).await? else { return Ok(()) };
    let Some(delivery) = dispatch_sale(&jobs.ctx, &email.recipient.email).await? else { return Ok(()) };
    jobs.sale_mails.send_sale(&email, delivery).await.map_err(job_error)
}
