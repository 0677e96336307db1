//! Confirms by a link that an address belongs to somebody who wants test emails.

use super::{KnownAddress, MailAddress, MailingError};
use crate::context::Context;
use crate::events::{Message, Topic};
use crate::operation::{VisitorNetwork, hour_of};
use crate::shared::{EventId, Language, StorageError, Timestamp};
use async_trait::async_trait;
use std::time::Duration;

/// An address gets at most one link in this time, however many users request it. The link is valid as long.
pub const CONFIRMATION_INTERVAL: Duration = Duration::from_secs(24 * 3_600);

/// How many links one site requests within an hour at most: an IPv4 address, or an IPv6 network of 48 bits. In a whole day
/// this is an eighth of [`UNUSED_LINKS_MAX`], so that one site cannot use up the links of all others.
pub const LINKS_OF_SITE: u32 = 5;

/// How many links the addresses of one mailbox get together within an hour.
const LINKS_OF_MAILBOX: u32 = 1;

/// How many links of the whole store are unused within this time at most. Concurrent requests can exceed it by their number.
pub const UNUSED_LINKS_MAX: u32 = 1_000;

#[derive(Debug, thiserror::Error)]
pub enum ConfirmationError {
    #[error("There is no email address to confirm.")]
    NoAddress,
    #[error("This address has been confirmed already.")]
    Confirmed,
    #[error("We have sent a link to this address within the last 24 hours.")]
    SentAlready,
    #[error("Too many confirmation links were requested from your network. Please try again in an hour.")]
    TooManyOfSite,
    #[error("This store has sent too many confirmation links today. Please try again tomorrow.")]
    TooMany,
    /// It was used or replaced, has expired, or was never sent.
    #[error("This link has been used or is not valid any more.")]
    LinkInvalid,
    #[error(transparent)]
    Storage(#[from] StorageError),
}

/// The email with a link. It contains no text that a visitor has entered, because anybody can request it for any address.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ConfirmationEmail {
    pub address: MailAddress,
    /// Names the request in the link.
    pub request: String,
    pub requested_at: Timestamp,
    pub language: Language,
}

#[async_trait]
pub trait ConfirmationMailer: Send + Sync {
    async fn send_link(&self, email: &ConfirmationEmail) -> Result<(), MailingError>;
}

/// Requests the email with a link. The links of a visitor's site are limited ([`LINKS_OF_SITE`]).
#[tracing::instrument(skip_all)]
pub async fn request_confirmation(
    ctx: &Context,
    address: &str,
    language: Language,
    visitor: &VisitorNetwork,
) -> Result<(), ConfirmationError> {
    let address = MailAddress::of(address).ok_or(ConfirmationError::NoAddress)?;
    let now = ctx.now();
    let mut bytes = [0; 16];
    ctx.random.fill(&mut bytes);
    let request: String = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
    let since = now.minus(CONFIRMATION_INTERVAL);
    let mut unit = ctx.store.begin().await?;
    if unit.mail_addresses().count_unconfirmed(since, UNUSED_LINKS_MAX).await? >= UNUSED_LINKS_MAX {
        return Err(ConfirmationError::TooMany);
    }
    if !unit.mail_addresses().request(&address, &request, now, since).await? {
        let known = unit.mail_addresses().find(&address).await?;
        let is_confirmed = known.is_some_and(|known| known.confirmed_at.is_some());
        return Err(if is_confirmed { ConfirmationError::Confirmed } else { ConfirmationError::SentAlready });
    }
    if !unit.hourly_counts().count(&format!("confirm:{}", address.mailbox()), hour_of(now), LINKS_OF_MAILBOX).await? {
        return Err(ConfirmationError::SentAlready);
    }
    let site = &visitor.site;
    if !site.is_empty() && !unit.hourly_counts().count(&format!("confirm:{site}"), hour_of(now), LINKS_OF_SITE).await? {
        return Err(ConfirmationError::TooManyOfSite);
    }
    let message = Message::new(Topic::ConfirmationMail, now).with("request", &request).with("language", language.tag());
    unit.outbox().publish(&EventId::new(now, ctx.random.as_ref()), &message, now).await?;
    unit.commit().await?;
    Ok(())
}

/// Confirms the address of a link's request, once.
#[tracing::instrument(skip_all)]
pub async fn confirm_address(ctx: &Context, request: &str) -> Result<MailAddress, ConfirmationError> {
    let now = ctx.now();
    let mut unit = ctx.store.begin().await?;
    let confirmed = unit.mail_addresses().confirm(request, now, now.minus(CONFIRMATION_INTERVAL)).await?;
    let address = confirmed.ok_or(ConfirmationError::LinkInvalid)?;
    unit.commit().await?;
    Ok(address)
}

/// What is known about an address. `None`: nothing, or it is empty.
pub async fn known_address(ctx: &Context, address: &str) -> Result<Option<KnownAddress>, StorageError> {
    let Some(address) = MailAddress::of(address) else { return Ok(None) };
    ctx.store.read().await?.mail_addresses().find(&address).await
}
