//! Sends the link that confirms an address. Payload: `request`, `language`.

use super::Jobs;
use super::billing_email::job_error;
use souk_domain::events::{Job, JobError};
use souk_domain::mail::ConfirmationEmail;
use souk_domain::shared::Language;

pub async fn run(jobs: &Jobs, job: &Job) -> Result<(), JobError> {
    let request = job.value("request")?;
    let found = jobs.ctx.store.read().await?.mail_addresses().find_requested(request).await?;
    // The address was confirmed meanwhile, or has expired.
    let Some(known) = found else { return Ok(()) };
    let language = Language::from_tag(job.value("language")?);
    let email = ConfirmationEmail { address: known.address, request: request.to_owned(), requested_at: known.requested_at, language };
    jobs.confirmations.send_link(&email).await.map_err(job_error)
}
