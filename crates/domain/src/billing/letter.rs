//! Letters about subscriptions: what a mail of each kind has to say, read when it is written.

use super::{
    Invoice, InvoiceStatus, MailingError, Notice, OVERDUE_REMINDER, Subscription, SubscriptionStatus, notice::trial_notice_at, time_of,
};
use crate::context::Context;
use crate::customer::Customer;
use crate::payment::{Currency, Method, Refund, RefundStatus};
use crate::shared::{Amount, CurrencyId, CustomerId, InvoiceId, MethodId, RefundId, StorageError, SubscriptionId, Timestamp};
use crate::storage::UnitOfWork;
use async_trait::async_trait;

/// A mail to a customer, in their language, with everything it says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Letter {
    /// The same for every attempt to send this letter, and for no other: letters, digits, `_` and `-`.
    pub id: String,
    pub news: News,
    /// The moment it speaks of, in the customer's time.
    pub at: Timestamp,
    pub customer: Customer,
    pub currency: Currency,
    pub method: Method,
    /// From when the days of its links count, in everybody's time.
    pub links_from: Timestamp,
}

#[expect(clippy::large_enum_variant, reason = "one letter is written at a time, and none is kept")]
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum News {
    /// With the first invoice, where one was written.
    Started(Subscribed, Option<Invoice>),
    TrialEnding(Subscribed),
    /// `code`: why, in the network's terms. `subscription`: whose invoice it is.
    PaymentFailed {
        subscription: Box<Subscription>,
        invoice: Box<Invoice>,
        code: String,
    },
    /// With what is owed, oldest first.
    Overdue(Subscribed, Vec<Invoice>),
    /// Ended, or to end; with what is still owed.
    Canceled(Subscribed, Vec<Invoice>),
    Refunded(Box<Refund>, Option<Box<Invoice>>),
}

/// A subscription, and what it is for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Subscribed {
    pub subscription: Subscription,
    pub lines: Vec<SubscribedLine>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SubscribedLine {
    pub title: String,
    pub quantity: u64,
    /// What a period costs; `None`: whatever was used.
    pub amount: Option<Amount>,
}

impl Subscribed {
    /// What a period costs before anything that is used.
    #[must_use]
    pub fn fixed_sum(&self) -> Amount {
        Amount::sum(self.lines.iter().filter_map(|line| line.amount)).unwrap_or_default()
    }

    #[must_use]
    pub fn has_usage(&self) -> bool {
        self.lines.iter().any(|line| line.amount.is_none())
    }
}

/// Sends letters. Sending one twice hands over a message under the same id.
#[async_trait]
pub trait BillingMailer: Send + Sync {
    async fn send(&self, letter: &Letter) -> Result<(), MailingError>;
}

/// Writes the letter of a notice. `None`: its subject is gone, there is no reason for it any more, or nowhere to send it.
pub async fn write_letter(ctx: &Context, unit: &mut dyn UnitOfWork, notice: &Notice) -> Result<Option<Letter>, StorageError> {
    let written = match notice {
        Notice::Started(id) => started(unit, id).await?,
        Notice::TrialEnding { subscription, at } => trial_ending(ctx, unit, subscription, *at).await?,
        Notice::PaymentFailed { invoice, refusals, code } => payment_failed(unit, invoice, *refusals, code).await?,
        Notice::Overdue { subscription, at } => overdue(ctx, unit, subscription, *at).await?,
        Notice::Canceled(id) => canceled(unit, id).await?,
        Notice::Refunded(id) => refunded(unit, id).await?,
    };
    let Some(Draft { id, news, at, parties: (customer, currency, method) }) = written else { return Ok(None) };
    let customer = unit.customers().find(&customer).await?;
    let currency = unit.methods().find_currency(&currency).await?;
    let method = unit.methods().find(&method).await?;
    let (Some(customer), Some(currency), Some(method)) = (customer, currency, method) else { return Ok(None) };
    if customer.email.is_empty() {
        return Ok(None);
    }
    Ok(Some(Letter { id, news, at, customer, currency, method, links_from: ctx.now() }))
}

/// A letter whose people and money are still to be looked up.
struct Draft {
    id: String,
    news: News,
    at: Timestamp,
    parties: (CustomerId, CurrencyId, MethodId),
}

fn parties(subscription: &Subscription) -> (CustomerId, CurrencyId, MethodId) {
    (subscription.customer_id.clone(), subscription.currency_id.clone(), subscription.method_id.clone())
}

async fn subscribed(unit: &mut dyn UnitOfWork, subscription: Subscription) -> Result<Subscribed, StorageError> {
    let ids: Vec<_> = subscription.items.iter().map(|item| item.price_id.clone()).collect();
    let sold = unit.prices().find_with_products(&ids).await?;
    let mut lines = Vec::with_capacity(subscription.items.len());
    for item in &subscription.items {
        let Some((price, product)) = sold.iter().find(|(price, _)| price.id == item.price_id) else { continue };
        let charge = || price.rate_in(&subscription.currency_id).and_then(|rate| rate.charge(item.quantity).ok());
        let amount = if price.is_metered() { None } else { Some(charge().unwrap_or_default()) };
        lines.push(SubscribedLine { title: product.name.clone(), quantity: item.quantity, amount });
    }
    Ok(Subscribed { subscription, lines })
}

async fn started(unit: &mut dyn UnitOfWork, id: &SubscriptionId) -> Result<Option<Draft>, StorageError> {
    let found = unit.subscriptions().find(id).await?;
    let Some(subscription) = found.filter(|one| one.status != SubscriptionStatus::Canceled) else { return Ok(None) };
    let first = match &subscription.latest_invoice_id {
        Some(invoice) => unit.invoices().find(invoice).await?,
        None => None,
    };
    let (at, parties) = (subscription.created_at, parties(&subscription));
    let news = News::Started(subscribed(unit, subscription).await?, first);
    Ok(Some(Draft { id: format!("started-{id}"), news, at, parties }))
}

async fn trial_ending(
    ctx: &Context,
    unit: &mut dyn UnitOfWork,
    id: &SubscriptionId,
    at: Option<Timestamp>,
) -> Result<Option<Draft>, StorageError> {
    let Some(subscription) = unit.subscriptions().find(id).await? else { return Ok(None) };
    let Some(trial) = subscription.trial else { return Ok(None) };
    let Some(notice_at) = trial_notice_at(&trial) else { return Ok(None) };
    let now = match at {
        Some(at) => at,
        None => time_of(ctx, unit, subscription.clock_id.as_ref()).await?,
    };
    let is_time = now >= notice_at && now < trial.end;
    // A clock may be past the trial by now: the letter tells of the moment when it was not.
    let goes_on = match subscription.status {
        SubscriptionStatus::Trialing => subscription.ends_at().is_none_or(|end| end > trial.end),
        SubscriptionStatus::Paused => false,
        SubscriptionStatus::Canceled => subscription.ended_at.is_some_and(|end| end > trial.end),
        SubscriptionStatus::Active | SubscriptionStatus::PastDue => true,
    };
    if !is_time || !goes_on {
        return Ok(None);
    }
    let parties = parties(&subscription);
    let news = News::TrialEnding(subscribed(unit, subscription).await?);
    Ok(Some(Draft { id: format!("trial_ending-{id}"), news, at: notice_at, parties }))
}

async fn payment_failed(unit: &mut dyn UnitOfWork, id: &InvoiceId, refusals: u32, code: &str) -> Result<Option<Draft>, StorageError> {
    let Some(invoice) = unit.invoices().find(id).await? else { return Ok(None) };
    // Paid or void by now, or refused again: the mail of that refusal tells what holds.
    if invoice.status != InvoiceStatus::Uncollectible || invoice.refusals > refusals {
        return Ok(None);
    }
    let Some(owner) = &invoice.subscription_id else { return Ok(None) };
    let Some(subscription) = unit.subscriptions().find(owner).await? else { return Ok(None) };
    let parties = (invoice.customer_id.clone(), invoice.currency_id.clone(), subscription.method_id.clone());
    let at = invoice.updated_at;
    let news = News::PaymentFailed { subscription: Box::new(subscription), invoice: Box::new(invoice), code: code.to_owned() };
    Ok(Some(Draft { id: format!("payment_failed-{id}-{refusals}"), news, at, parties }))
}

async fn owed(unit: &mut dyn UnitOfWork, subscription: &Subscription) -> Result<Vec<Invoice>, StorageError> {
    let mut owed = unit.invoices().overdue(&subscription.customer_id).await?;
    owed.retain(|invoice| invoice.subscription_id.as_ref() == Some(&subscription.id) && invoice.currency_id == subscription.currency_id);
    Ok(owed)
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
    let owed = owed(unit, &subscription).await?;
    // A debt that was paid and made anew has a reminder of its own.
    if now < since.plus(OVERDUE_REMINDER) || owed.is_empty() {
        return Ok(None);
    }
    let parties = parties(&subscription);
    let news = News::Overdue(subscribed(unit, subscription).await?, owed);
    Ok(Some(Draft { id: format!("overdue-{id}-{}", since.seconds()), news, at: since.plus(OVERDUE_REMINDER), parties }))
}

async fn canceled(unit: &mut dyn UnitOfWork, id: &SubscriptionId) -> Result<Option<Draft>, StorageError> {
    let Some(subscription) = unit.subscriptions().find(id).await? else { return Ok(None) };
    let asked_at = subscription.canceled_at.unwrap_or(subscription.updated_at);
    let (id, at) = match (subscription.ended_at, subscription.ends_at()) {
        (Some(ended), _) => (format!("canceled-{id}"), ended),
        (None, Some(_)) => (format!("canceling-{id}-{}", asked_at.seconds()), asked_at),
        // It was resumed meanwhile.
        (None, None) => return Ok(None),
    };
    let owed = owed(unit, &subscription).await?;
    let parties = parties(&subscription);
    let news = News::Canceled(subscribed(unit, subscription).await?, owed);
    Ok(Some(Draft { id, news, at, parties }))
}

async fn refunded(unit: &mut dyn UnitOfWork, id: &RefundId) -> Result<Option<Draft>, StorageError> {
    let found = unit.refunds().find(id).await?;
    let Some(refund) = found.filter(|refund| refund.status == RefundStatus::Succeeded) else { return Ok(None) };
    let invoice = match &refund.invoice_id {
        Some(invoice) => unit.invoices().find(invoice).await?.map(Box::new),
        None => None,
    };
    let parties = (refund.customer_id.clone(), refund.currency_id.clone(), refund.method_id.clone());
    let at = refund.updated_at;
    Ok(Some(Draft { id: format!("refunded-{id}"), news: News::Refunded(Box::new(refund), invoice), at, parties }))
}
