//! The email to a developer before an access token expires.

use super::AccessToken;
use super::create::developer_passport;
use crate::access::Did;
use crate::billing::Recipient;
use crate::context::Context;
use crate::events::{Message, NewMessage, Topic};
use crate::mail::{Delivery, MailingError};
use crate::shared::{EventId, StorageError, Timestamp};
use async_trait::async_trait;

/// The email about a token that expires soon.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ExpiryReminder {
    pub recipient: Recipient,
    pub token: AccessToken,
    pub at: Timestamp,
}

#[async_trait]
pub trait TokenMailer: Send + Sync {
    async fn send_reminder(&self, reminder: &ExpiryReminder, delivery: Delivery) -> Result<(), MailingError>;
}

/// Orders an email for each token that is due for one, at most `limit`. Returns how many.
#[tracing::instrument(skip_all)]
pub async fn order_expiry_reminders(ctx: &Context, limit: u32) -> Result<u64, StorageError> {
    let now = ctx.now();
    let mut unit = ctx.store.begin().await?;
    let due = unit.access_tokens().claim_reminders(now, limit).await?;
    if due.is_empty() {
        return Ok(0);
    }
    let message = |token: &AccessToken| NewMessage {
        id: EventId::new(now, ctx.random.as_ref()),
        message: Message::new(Topic::TokenMail, now).with("token", &token.id),
    };
    let messages: Vec<_> = due.iter().map(message).collect();
    unit.outbox().publish_all(&messages, now).await?;
    unit.commit().await?;
    Ok(due.len() as u64)
}

/// Composes the email about a token. `None`: it was deleted or has expired, or its owner is no developer any more or has no address.
pub async fn compose_expiry_reminder(ctx: &Context, id: &Did) -> Result<Option<ExpiryReminder>, StorageError> {
    let at = ctx.now();
    let mut unit = ctx.store.read().await?;
    let Some(token) = unit.access_tokens().find(id).await?.filter(|token| token.expires_at > at) else { return Ok(None) };
    let passport = developer_passport(unit.as_mut(), &token.owner).await?;
    let user = unit.users().find(&token.owner).await?;
    let is_valid = passport.is_some_and(|passport| passport.id == token.passport_id);
    let user = user.filter(|user| is_valid && !user.email.is_empty());
    let recipient = user.map(|user| Recipient { name: user.full_name, email: user.email, language: user.language });
    Ok(recipient.map(|recipient| ExpiryReminder { recipient, token, at }))
}
