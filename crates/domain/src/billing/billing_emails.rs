//! Composes emails about subscriptions, refunds and credit notes. Their content is read from the database when the email is sent.

use super::billing_email_content::{BillingEmail, BillingEmailContent, Draft, Recipient, SubscribedItem, SubscribedPlan};
use super::{
    Invoice, InvoiceStatus, Notification, OVERDUE_REMINDER, ResumedFrom, Stake, StakeTransferKind, Subscription, SubscriptionStatus,
    expand_credit_note, reminders::trial_reminder_at, store_emails, time_of,
};
use crate::context::Context;
use crate::mail::{Delivery, MailingError};
use crate::payment::RefundStatus;
use crate::pricing::CatalogueItem;
use crate::shared::{Amount, CreditNoteId, InvoiceId, RefundId, StorageError, SubscriptionId, Timestamp};
use crate::storage::UnitOfWork;
use async_trait::async_trait;

/// Sends billing emails. Sending one twice sends a message with the same id, so that mail servers can drop the duplicate.
#[async_trait]
pub trait BillingMailer: Send + Sync {
    async fn send(&self, email: &BillingEmail, delivery: Delivery) -> Result<(), MailingError>;
}

/// Composes the email of a notification. `None`: its subject is gone, the notification no longer applies, or the recipient has no email
/// address.
#[tracing::instrument(skip_all)]
pub async fn compose_billing_email(
    ctx: &Context,
    unit: &mut dyn UnitOfWork,
    notification: &Notification,
) -> Result<Option<BillingEmail>, StorageError> {
    let draft = match notification {
        Notification::Started(id) => started(unit, id).await?,
        Notification::TrialEnding { subscription, at } => trial_ending(ctx, unit, subscription, *at).await?,
        Notification::PaymentFailed { invoice, failures, code } => payment_failed(unit, invoice, *failures, code).await?,
        Notification::Overdue { subscription, at } => overdue(ctx, unit, subscription, *at).await?,
        Notification::CancellationScheduled { subscription, canceled_at } => {
            cancellation_scheduled(ctx, unit, subscription, *canceled_at).await?
        }
        Notification::Resumed { subscription, from, at } => resumed(unit, subscription, *from, *at).await?,
        Notification::Ended(id) => ended(unit, id).await?,
        Notification::Refunded(id) => refunded(unit, id).await?,
        Notification::Credited(id) => credited(unit, id).await?,
        Notification::RefundFailed { refund, failures } => store_emails::refund_failed(unit, refund, *failures).await?,
        Notification::Disputed(id) => store_emails::disputed(unit, id).await?,
        Notification::DashboardRefund { intent, reference, amount } => {
            store_emails::dashboard_refund(unit, intent, reference, *amount).await?
        }
    };
    let Some(Draft { id, content, at, customer_id, currency_id, method_id }) = draft else { return Ok(None) };
    let customer = unit.customers().find(&customer_id).await?;
    let currency = unit.methods().find_currency(&currency_id).await?;
    let method = unit.methods().find(&method_id).await?;
    let (Some(customer), Some(currency), Some(method)) = (customer, currency, method) else { return Ok(None) };
    let recipient = if content.is_for_store() { store_emails::owner_recipient(unit).await? } else { Some(Recipient::of(&customer)) };
    let Some(recipient) = recipient.filter(|recipient| !recipient.email.is_empty()) else {
        if content.is_for_store() {
            tracing::warn!(email = id, "the store's owner has no email address: the console alone shows this notification");
        }
        return Ok(None);
    };
    Ok(Some(BillingEmail { id, content, at, recipient, customer, currency, method, links_from: ctx.now() }))
}

impl Draft {
    fn of(subscription: &Subscription, id: String, content: BillingEmailContent, at: Timestamp) -> Self {
        Self {
            id,
            content,
            at,
            customer_id: subscription.customer_id.clone(),
            currency_id: subscription.currency_id.clone(),
            method_id: subscription.method_id.clone(),
        }
    }
}

async fn plan_of(unit: &mut dyn UnitOfWork, subscription: &Subscription) -> Result<SubscribedPlan, StorageError> {
    let ids: Vec<_> = subscription.items.iter().map(|item| item.price_id.clone()).collect();
    let sold = unit.prices().find_with_products(&ids).await?;
    let mut lines = Vec::with_capacity(subscription.items.len());
    for item in &subscription.items {
        let Some(CatalogueItem { price, product }) = sold.iter().find(|sold| sold.price.id == item.price_id) else { continue };
        let charge = || price.pricing_in(&subscription.currency_id).and_then(|pricing| pricing.amount_for(item.quantity).ok());
        let amount = if price.is_metered() { None } else { Some(charge().unwrap_or_default()) };
        lines.push(SubscribedItem { title: product.localized_name(), quantity: item.quantity, amount });
    }
    let stake = stake_of(unit, subscription).await?;
    let stake_pays = stake.and_then(|stake| stake.reservation).is_some_and(|reservation| reservation.kind == StakeTransferKind::Forfeit);
    let deposit = deposit_at_start(unit, subscription).await?;
    Ok(SubscribedPlan { subscription: subscription.clone(), lines, stake_pays, deposit })
}

async fn stake_of(unit: &mut dyn UnitOfWork, subscription: &Subscription) -> Result<Option<Stake>, StorageError> {
    match &subscription.stake_id {
        Some(id) => unit.stakes().find(id).await,
        None => Ok(None),
    }
}

/// The refundable deposit that was paid when the subscription started. `None`: there was none, or it was paid for another subscription of
/// the same checkout.
pub async fn deposit_at_start(unit: &mut dyn UnitOfWork, subscription: &Subscription) -> Result<Option<Amount>, StorageError> {
    let stake = stake_of(unit, subscription).await?;
    let own = stake.filter(|stake| stake.subject.subscription() == Some(&subscription.id) && !stake.amount.is_zero());
    Ok(own.map(|stake| stake.amount))
}

async fn started(unit: &mut dyn UnitOfWork, id: &SubscriptionId) -> Result<Option<Draft>, StorageError> {
    let found = unit.subscriptions().find(id).await?;
    let Some(subscription) = found.filter(|subscription| subscription.status != SubscriptionStatus::Canceled) else { return Ok(None) };
    let first_invoice = match &subscription.latest_invoice_id {
        Some(invoice) => unit.invoices().find(invoice).await?,
        None => None,
    };
    let content = BillingEmailContent::Started { plan: plan_of(unit, &subscription).await?, first_invoice };
    Ok(Some(Draft::of(&subscription, format!("started-{id}"), content, subscription.created_at)))
}

async fn trial_ending(
    ctx: &Context,
    unit: &mut dyn UnitOfWork,
    id: &SubscriptionId,
    at: Option<Timestamp>,
) -> Result<Option<Draft>, StorageError> {
    let Some(subscription) = unit.subscriptions().find(id).await? else { return Ok(None) };
    let Some(trial) = subscription.trial else { return Ok(None) };
    let Some(reminder_at) = trial_reminder_at(&trial) else { return Ok(None) };
    let now = match at {
        Some(at) => at,
        None => time_of(ctx, unit, subscription.clock_id.as_ref()).await?,
    };
    let is_time = now >= reminder_at && now < trial.end;
    // A test clock may have passed the end of the trial meanwhile: the email describes the time of the reminder.
    let renews = match subscription.status {
        SubscriptionStatus::Trialing => subscription.ends_at().is_none_or(|end| end > trial.end),
        SubscriptionStatus::Paused => false,
        SubscriptionStatus::Canceled => subscription.ended_at.is_some_and(|end| end > trial.end),
        SubscriptionStatus::Active | SubscriptionStatus::PastDue => true,
    };
    if !is_time || !renews {
        return Ok(None);
    }
    let content = BillingEmailContent::TrialEnding(plan_of(unit, &subscription).await?);
    Ok(Some(Draft::of(&subscription, format!("trial_ending-{id}"), content, reminder_at)))
}

async fn payment_failed(unit: &mut dyn UnitOfWork, id: &InvoiceId, failures: u32, code: &str) -> Result<Option<Draft>, StorageError> {
    let Some(invoice) = unit.invoices().find(id).await? else { return Ok(None) };
    // It was paid or voided meanwhile, or a later payment failed and has its own email.
    if invoice.status != InvoiceStatus::Uncollectible || invoice.failure_count > failures {
        return Ok(None);
    }
    let Some(subscription_id) = &invoice.subscription_id else { return Ok(None) };
    let Some(subscription) = unit.subscriptions().find(subscription_id).await? else { return Ok(None) };
    Ok(Some(Draft {
        id: format!("payment_failed-{id}-{failures}"),
        at: invoice.updated_at,
        customer_id: invoice.customer_id.clone(),
        currency_id: invoice.currency_id.clone(),
        method_id: subscription.method_id.clone(),
        content: BillingEmailContent::PaymentFailed {
            subscription: Box::new(subscription),
            invoice: Box::new(invoice),
            code: code.to_owned(),
        },
    }))
}

/// The overdue invoices of a subscription, in its currency.
async fn overdue_invoices(unit: &mut dyn UnitOfWork, subscription: &Subscription) -> Result<Vec<Invoice>, StorageError> {
    let mut overdue = unit.invoices().overdue(&subscription.customer_id).await?;
    overdue.retain(|invoice| invoice.subscription_id.as_ref() == Some(&subscription.id) && invoice.currency_id == subscription.currency_id);
    Ok(overdue)
}

async fn overdue(
    ctx: &Context,
    unit: &mut dyn UnitOfWork,
    id: &SubscriptionId,
    at: Option<Timestamp>,
) -> Result<Option<Draft>, StorageError> {
    let found = unit.subscriptions().find(id).await?;
    let Some(subscription) = found.filter(|one| one.status == SubscriptionStatus::PastDue) else { return Ok(None) };
    let Some(since) = subscription.past_due_since else { return Ok(None) };
    let now = match at {
        Some(at) => at,
        None => time_of(ctx, unit, subscription.clock_id.as_ref()).await?,
    };
    let overdue = overdue_invoices(unit, &subscription).await?;
    // A subscription that paid and became past due again gets its own reminder.
    if now < since.plus(OVERDUE_REMINDER) || overdue.is_empty() {
        return Ok(None);
    }
    let content = BillingEmailContent::Overdue { plan: plan_of(unit, &subscription).await?, overdue };
    Ok(Some(Draft::of(&subscription, format!("overdue-{id}-{}", since.seconds()), content, since.plus(OVERDUE_REMINDER))))
}

async fn cancellation_scheduled(
    ctx: &Context,
    unit: &mut dyn UnitOfWork,
    id: &SubscriptionId,
    canceled_at: Timestamp,
) -> Result<Option<Draft>, StorageError> {
    let Some(subscription) = unit.subscriptions().find(id).await? else { return Ok(None) };
    // Resumed or canceled again meanwhile: the later change has its own email.
    if subscription.ended_at.is_some() || subscription.canceled_at != Some(canceled_at) {
        return Ok(None);
    }
    let now = time_of(ctx, unit, subscription.clock_id.as_ref()).await?;
    // The end has been reached: it is about to be recorded and has its own email.
    if subscription.ends_at().is_none_or(|end| end <= now) {
        return Ok(None);
    }
    let overdue = overdue_invoices(unit, &subscription).await?;
    let content = BillingEmailContent::CancellationScheduled { plan: plan_of(unit, &subscription).await?, overdue };
    Ok(Some(Draft::of(&subscription, format!("cancellation_scheduled-{id}-{}", canceled_at.micros()), content, canceled_at)))
}

async fn resumed(unit: &mut dyn UnitOfWork, id: &SubscriptionId, from: ResumedFrom, at: Timestamp) -> Result<Option<Draft>, StorageError> {
    let found = unit.subscriptions().find(id).await?;
    let Some(subscription) = found.filter(|one| one.ended_at.is_none()) else { return Ok(None) };
    let is_undone = match from {
        // Canceled again: that cancellation has its own email.
        ResumedFrom::Cancellation => subscription.ends_at().is_some(),
        ResumedFrom::Pause => subscription.status == SubscriptionStatus::Paused,
    };
    if is_undone {
        return Ok(None);
    }
    let overdue = overdue_invoices(unit, &subscription).await?;
    let content = BillingEmailContent::Resumed { plan: plan_of(unit, &subscription).await?, from, overdue };
    Ok(Some(Draft::of(&subscription, format!("resumed-{id}-{}", at.micros()), content, at)))
}

async fn ended(unit: &mut dyn UnitOfWork, id: &SubscriptionId) -> Result<Option<Draft>, StorageError> {
    let Some(subscription) = unit.subscriptions().find(id).await? else { return Ok(None) };
    let Some(ended_at) = subscription.ended_at else { return Ok(None) };
    let overdue = overdue_invoices(unit, &subscription).await?;
    let content = BillingEmailContent::Ended { plan: plan_of(unit, &subscription).await?, overdue };
    Ok(Some(Draft::of(&subscription, format!("ended-{id}"), content, ended_at)))
}

async fn refunded(unit: &mut dyn UnitOfWork, id: &RefundId) -> Result<Option<Draft>, StorageError> {
    let found = unit.refunds().find(id).await?;
    let Some(refund) = found.filter(|refund| refund.status == RefundStatus::Succeeded) else { return Ok(None) };
    let invoice = match &refund.invoice_id {
        Some(invoice) => unit.invoices().find(invoice).await?.map(Box::new),
        None => None,
    };
    Ok(Some(Draft {
        id: format!("refunded-{id}"),
        at: refund.updated_at,
        customer_id: refund.customer_id.clone(),
        currency_id: refund.currency_id.clone(),
        method_id: refund.method_id.clone(),
        content: BillingEmailContent::Refunded { refund: Box::new(refund), invoice },
    }))
}

async fn credited(unit: &mut dyn UnitOfWork, id: &CreditNoteId) -> Result<Option<Draft>, StorageError> {
    let Some(expanded) = expand_credit_note(unit, id).await? else { return Ok(None) };
    let note = &expanded.note;
    Ok(Some(Draft {
        id: format!("credited-{id}"),
        at: note.created_at,
        customer_id: note.customer_id.clone(),
        currency_id: note.currency_id.clone(),
        method_id: note.method_id.clone(),
        content: BillingEmailContent::Credited(Box::new(expanded)),
    }))
}
