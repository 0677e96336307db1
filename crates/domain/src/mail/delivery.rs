//! Where an email goes, and when.

use super::MailAddress;
use crate::context::Context;
use crate::operation::{HOUR, hour_of};
use crate::shared::{Mode, StorageError, Timestamp};

/// How many emails a mailbox gets within an hour of UTC. The others wait for the next hour: a receipt is late rather than lost.
pub const MAILS_PER_HOUR: u32 = 12;

/// How many of them are about sales. The others are not sent, since the pages show every sale: a mailbox would otherwise get nothing else.
pub const SALE_MAILS_PER_HOUR: u32 = 4;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Delivery {
    /// The mail server. Without one, emails are files in the mail folder.
    Server,
    /// The mail folder.
    Folder,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Dispatch {
    Now(Delivery),
    /// The mailbox has had [`MAILS_PER_HOUR`].
    Later(Timestamp),
}

/// Decides about an email that is about to be sent, and counts it. Each attempt to send it counts.
pub async fn dispatch(ctx: &Context, mode: Mode, address: &str) -> Result<Dispatch, StorageError> {
    // The mailer rejects an email without an address.
    let Some(address) = MailAddress::of(address) else { return Ok(Dispatch::Now(Delivery::Folder)) };
    if !mode.is_live() {
        let known = ctx.store.read().await?.mail_addresses().find(&address).await?;
        if known.is_none_or(|known| known.confirmed_at.is_none()) {
            return Ok(Dispatch::Now(Delivery::Folder));
        }
    }
    let hour = hour_of(ctx.now());
    let mut unit = ctx.store.begin().await?;
    if !unit.hourly_counts().count(&format!("mail:{}", address.mailbox()), hour, MAILS_PER_HOUR).await? {
        return Ok(Dispatch::Later(hour.plus(HOUR)));
    }
    unit.commit().await?;
    Ok(Dispatch::Now(Delivery::Server))
}

/// As [`dispatch`], about an email about a sale. It goes to confirmed addresses only, as in test mode: a user can enter any address into the
/// profile. `None`: the mailbox has had [`SALE_MAILS_PER_HOUR`], or [`MAILS_PER_HOUR`], and it is not sent.
pub async fn dispatch_sale(ctx: &Context, address: &str) -> Result<Option<Delivery>, StorageError> {
    let Some(known) = MailAddress::of(address) else { return Ok(None) };
    let mut unit = ctx.store.begin().await?;
    let subject = format!("sale-mail:{}", known.mailbox());
    if !unit.hourly_counts().count(&subject, hour_of(ctx.now()), SALE_MAILS_PER_HOUR).await? {
        return Ok(None);
    }
    unit.commit().await?;
    Ok(match dispatch(ctx, Mode::Test, address).await? {
        Dispatch::Now(delivery) => Some(delivery),
        Dispatch::Later(_) => None,
    })
}
