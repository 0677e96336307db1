//! The emails about developers by a deposit: to the owners of the store when somebody has become one, and to a developer whose passport was
//! withdrawn because of the deposit.

use crate::access::{Did, Passport, Role};
use crate::billing::Recipient;
use crate::context::Context;
use crate::events::{Message, NewMessage, Topic};
use crate::mail::{Delivery, MailingError};
use crate::shared::{EventId, PassportId, StorageError, Timestamp};
use crate::storage::UnitOfWork;
use async_trait::async_trait;

/// The most owners who get an email about one developer.
const OWNERS_MAX: u32 = 50;

/// What has happened.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DeveloperNews {
    /// Somebody has become a developer by a deposit; the recipient owns the store.
    Joined,
    /// The recipient has revoked the deposit, and is no developer any more.
    Revoked,
}

/// An email about a developer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DeveloperEmail {
    /// The user who gets it.
    pub to: Did,
    pub recipient: Recipient,
    pub news: DeveloperNews,
    pub passport: PassportId,
    /// The developer, and their name, which may be empty.
    pub developer: Did,
    pub developer_name: String,
    pub at: Timestamp,
}

#[async_trait]
pub trait DeveloperMailer: Send + Sync {
    async fn send_developer_news(&self, email: &DeveloperEmail, delivery: Delivery) -> Result<(), MailingError>;
}

/// Orders the emails about a new developer.
pub(super) async fn order_joined(ctx: &Context, unit: &mut dyn UnitOfWork, passport: &Passport) -> Result<(), StorageError> {
    let mut to = unit.users().holders(&[Role::Owner], OWNERS_MAX).await?;
    to.retain(|did| *did != passport.holder);
    order(ctx, unit, passport, &to).await
}

/// Orders the email about a passport that was withdrawn because its deposit was revoked.
pub(super) async fn order_revoked(ctx: &Context, unit: &mut dyn UnitOfWork, passport: &Passport) -> Result<(), StorageError> {
    order(ctx, unit, passport, std::slice::from_ref(&passport.holder)).await
}

async fn order(ctx: &Context, unit: &mut dyn UnitOfWork, passport: &Passport, to: &[Did]) -> Result<(), StorageError> {
    let now = ctx.now();
    let message = |did: &Did| NewMessage {
        id: EventId::new(now, ctx.random.as_ref()),
        message: Message::new(Topic::DeveloperMail, now).with("passport", &passport.id).with("to", did),
    };
    let messages: Vec<_> = to.iter().map(message).collect();
    if messages.is_empty() { Ok(()) } else { unit.outbox().publish_all(&messages, now).await }
}

/// Composes an email about a developer. `None`: the recipient has no address or owns the store no more, or the passport has changed
/// meanwhile.
pub async fn compose_developer_email(ctx: &Context, passport: &PassportId, to: &Did) -> Result<Option<DeveloperEmail>, StorageError> {
    let mut unit = ctx.store.read().await?;
    let Some(passport) = unit.users().find_passport(passport).await? else { return Ok(None) };
    let Some(developer) = unit.users().find(&passport.holder).await? else { return Ok(None) };
    let (news, at) = match (passport.holder == *to, passport.revoked_at) {
        (true, Some(at)) => (DeveloperNews::Revoked, at),
        (false, None) => (DeveloperNews::Joined, passport.issued_at),
        _ => return Ok(None),
    };
    let owns = unit.users().passports(to).await?.iter().any(|held| held.role == Role::Owner);
    let user = unit.users().find(to).await?;
    let user = user.filter(|user| (news == DeveloperNews::Revoked || owns) && !user.email.is_empty());
    Ok(user.map(|user| DeveloperEmail {
        to: to.clone(),
        recipient: Recipient { name: user.full_name, email: user.email, language: user.language },
        news,
        passport: passport.id,
        developer: developer.did,
        developer_name: developer.full_name,
        at,
    }))
}
