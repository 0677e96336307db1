//! Composes emails to the store's owner about events that need a decision. Their content is read from the database when the email is sent.

use super::billing_email_content::{BillingEmailContent, Draft, Recipient};
use crate::access::Role;
use crate::payment::RefundStatus;
use crate::shared::{Amount, DisputeId, PaymentIntentId, RefundId, StorageError};
use crate::storage::UnitOfWork;

/// The recipient of emails to the store: among owners with an email address, the one with the oldest passport.
pub async fn owner_recipient(unit: &mut dyn UnitOfWork) -> Result<Option<Recipient>, StorageError> {
    let passports = unit.users().list_passports().await?;
    for passport in passports.into_iter().filter(|passport| passport.role == Role::Owner && passport.revoked_at.is_none()) {
        let user = unit.users().find(&passport.holder).await?.filter(|user| !user.email.is_empty());
        if let Some(user) = user {
            return Ok(Some(Recipient { name: user.full_name, email: user.email, language: user.language }));
        }
    }
    Ok(None)
}

/// `None`: the refund was retried or moved meanwhile, or it failed again, which has its own email.
pub(super) async fn refund_failed(unit: &mut dyn UnitOfWork, id: &RefundId, failures: u32) -> Result<Option<Draft>, StorageError> {
    let found = unit.refunds().find(id).await?;
    let Some(refund) = found.filter(|refund| refund.status == RefundStatus::Failed && refund.failure_count == failures) else {
        return Ok(None);
    };
    Ok(Some(Draft {
        id: format!("refund_failed-{id}-{failures}"),
        at: refund.updated_at,
        customer_id: refund.customer_id.clone(),
        currency_id: refund.currency_id.clone(),
        method_id: refund.method_id.clone(),
        content: BillingEmailContent::RefundFailed(Box::new(refund)),
    }))
}

pub(super) async fn disputed(unit: &mut dyn UnitOfWork, id: &DisputeId) -> Result<Option<Draft>, StorageError> {
    let Some(dispute) = unit.disputes().find(id).await? else { return Ok(None) };
    Ok(Some(Draft {
        id: format!("disputed-{id}-{}", dispute.status.name()),
        at: dispute.updated_at,
        customer_id: dispute.customer_id.clone(),
        currency_id: dispute.currency_id.clone(),
        method_id: dispute.method_id.clone(),
        content: BillingEmailContent::Disputed(Box::new(dispute)),
    }))
}

pub(super) async fn dashboard_refund(
    unit: &mut dyn UnitOfWork,
    intent: &PaymentIntentId,
    reference: &str,
    amount: Amount,
) -> Result<Option<Draft>, StorageError> {
    let Some(intent) = unit.intents().find(intent).await? else { return Ok(None) };
    let safe = reference.replace(|character: char| !character.is_ascii_alphanumeric() && character != '_', "-");
    Ok(Some(Draft {
        id: format!("dashboard_refund-{safe}"),
        at: intent.updated_at,
        customer_id: intent.customer_id.clone(),
        currency_id: intent.currency_id.clone(),
        method_id: intent.method_id.clone(),
        content: BillingEmailContent::DashboardRefund { intent: Box::new(intent), reference: reference.to_owned(), amount },
    }))
}
