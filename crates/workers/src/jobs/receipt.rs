//! Sends the receipt of a paid invoice by email. Payload: `invoice`.

use super::Jobs;
use super::billing_email::job_error;
use super::delivery::delivery;
use souk_domain::billing::{BillingReason, DownloadLink, InvoiceStatus, ReceiptOrder, deposit_at_start, expand_invoice};
use souk_domain::events::{Job, JobError};
use souk_domain::shared::InvoiceId;
use souk_domain::store::App;

pub async fn run(jobs: &Jobs, job: &Job) -> Result<(), JobError> {
    let id = InvoiceId::parse(job.value("invoice")?).map_err(|error| JobError::Fail(error.to_string()))?;
    let mut unit = jobs.ctx.store.read().await?;
    let Some(invoice) = expand_invoice(unit.as_mut(), &id).await? else { return Ok(()) };
    if invoice.invoice.status != InvoiceStatus::Paid {
        return Ok(());
    }
    // A free period of a subscription needs no receipt: the email about its start says when the first payment is due.
    if invoice.invoice.total.is_zero() && invoice.invoice.subscription_id.is_some() {
        return Ok(());
    }
    let granted = match &invoice.invoice.session_id {
        Some(session) => unit.entitlements().of_session(session).await?,
        None => Vec::new(),
    };
    let dids: Vec<_> = granted.into_iter().map(|entitlement| entitlement.app).collect();
    let apps = unit.apps().find_all(&dids).await?;
    let deposit = match &invoice.subscription {
        Some(subscription) if invoice.invoice.reason == BillingReason::SubscriptionCreate => {
            deposit_at_start(unit.as_mut(), subscription).await?
        }
        _ => None,
    };
    drop(unit);
    let language = invoice.customer.language;
    let download = |app: &App| DownloadLink { title: app.title.in_language(language).to_owned(), path: format!("/apps/{}", app.did) };
    let order = ReceiptOrder { downloads: apps.iter().map(download).collect(), deposit, language, invoice, links_from: jobs.ctx.now() };
    let delivery = delivery(jobs, order.invoice.invoice.mode, &order.invoice.invoice.bill_to.email).await?;
    jobs.receipts.send(&order, delivery).await.map_err(job_error)
}
