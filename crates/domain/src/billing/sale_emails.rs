//! The emails about sales whose price has shares: to the beneficiaries, and to the owner of the store.

use super::billing_email_content::Recipient;
use super::invoice::kept_amount;
use super::store_emails::owner_recipient;
use crate::access::Did;
use crate::context::Context;
use crate::mail::{Delivery, MailingError};
use crate::shared::{Amount, Currency, InvoiceId, Mode, StorageError, Text, Timestamp};
use async_trait::async_trait;
use std::collections::BTreeSet;

/// What an email about a sale says. Amounts are those after refunds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SaleNews {
    /// To a beneficiary: their share.
    Share(Amount),
    /// To the owner of the store: what the sale has brought, and what of it belongs to beneficiaries.
    Sale { total: Amount, shared: Amount },
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SaleEmail {
    /// Idempotency key: the same on every attempt to send this email, and unique to it. Letters, digits, `_` and `-`.
    pub id: String,
    pub recipient: Recipient,
    pub news: SaleNews,
    pub invoice: InvoiceId,
    pub mode: Mode,
    /// The names of what was sold, of which the recipient has a share.
    pub sold: Vec<Text>,
    pub currency: Currency,
    pub at: Timestamp,
}

#[async_trait]
pub trait SaleMailer: Send + Sync {
    async fn send_sale(&self, email: &SaleEmail, delivery: Delivery) -> Result<(), MailingError>;
}

/// Composes the email about a sale to a beneficiary, or to the owner of the store if `to` is `None`. `None`: the sale was refunded meanwhile,
/// or the recipient has no email address.
#[tracing::instrument(skip_all, fields(invoice = %id))]
pub async fn compose_sale_email(ctx: &Context, id: &InvoiceId, to: Option<&Did>) -> Result<Option<SaleEmail>, StorageError> {
    let mut unit = ctx.store.read().await?;
    let Some(invoice) = unit.invoices().find(id).await? else { return Ok(None) };
    let Some(currency) = unit.methods().find_currency(&invoice.currency_id).await? else { return Ok(None) };
    let mut shares = unit.sale_shares().of_invoices(std::slice::from_ref(id)).await?;
    shares.retain(|share| to.is_none_or(|to| share.beneficiary == *to));
    let Some(at) = shares.iter().map(|share| share.created_at).min() else { return Ok(None) };
    let sum = Amount::sum(shares.iter().map(|share| share.amount)).unwrap_or_default();
    let (news, recipient) = match to {
        Some(beneficiary) => {
            let user = unit.users().find(beneficiary).await?;
            let recipient = user.map(|user| Recipient { name: user.full_name, email: user.email, language: user.language });
            (SaleNews::Share(sum), recipient)
        }
        None => {
            let lines = unit.invoices().items(id).await?;
            let payments = unit.invoice_payments().of_invoices(std::slice::from_ref(id)).await?;
            let total = kept_amount(&invoice, &lines, &payments).unwrap_or_default();
            (SaleNews::Sale { total, shared: sum }, owner_recipient(unit.as_mut()).await?)
        }
    };
    let Some(recipient) = recipient.filter(|recipient| !recipient.email.is_empty() && !sum.is_zero()) else { return Ok(None) };
    let prices: BTreeSet<_> = shares.iter().map(|share| share.price_id.clone()).collect();
    let sold = unit.prices().find_with_products(&prices.into_iter().collect::<Vec<_>>()).await?;
    Ok(Some(SaleEmail {
        id: format!("sale-{id}-{}", to.map_or("store", Did::as_str)),
        recipient,
        news,
        invoice: id.clone(),
        mode: invoice.mode,
        sold: sold.iter().map(|sold| sold.product.localized_name()).collect(),
        currency,
        at,
    }))
}
