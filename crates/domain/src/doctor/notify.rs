//! Mails to the owner about findings that appear while the store runs: at most one per finding and day.

use super::of_operation;
use crate::billing::{Recipient, owner_recipient};
use crate::context::Context;
use crate::events::{Message, Topic};
use crate::mail::{Delivery, MailingError};
use crate::operation::{Finding, FindingCode};
use crate::shared::{EventId, StorageError, Timestamp};
use async_trait::async_trait;
use std::collections::BTreeMap;

const DAY_SECONDS: i64 = 24 * 3_600;
/// The payload names of the code and the time; the other entries are parameters of the finding.
const CODE: &str = "finding";
const AT: &str = "found_at";

/// A mail to the owner.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OwnerNotice {
    /// Equal for every attempt to send it.
    pub id: String,
    pub at: Timestamp,
    pub recipient: Recipient,
    pub finding: Finding,
}

#[async_trait]
pub trait OwnerMailer: Send + Sync {
    async fn send(&self, notice: &OwnerNotice, delivery: Delivery) -> Result<(), MailingError>;
}

/// Orders a mail for each finding about which the owner has none of today. Returns how many.
#[tracing::instrument(skip_all)]
pub async fn notify_owner(ctx: &Context) -> Result<u64, StorageError> {
    let findings = of_operation(ctx).await?;
    if findings.is_empty() {
        return Ok(0);
    }
    let now = ctx.now();
    let day = now.seconds().div_euclid(DAY_SECONDS);
    let notified = ctx.store.read().await?.owner_notices().of_day(day).await?;
    let unnotified: Vec<_> = findings.into_iter().filter(|finding| !notified.contains(&finding.key())).collect();
    if unnotified.is_empty() {
        return Ok(0);
    }
    let (mut unit, mut ordered) = (ctx.store.begin().await?, 0);
    for finding in &unnotified {
        if unit.owner_notices().claim(&finding.key(), day).await? {
            let message = message(finding, now);
            unit.outbox().publish(&EventId::new(now, ctx.random.as_ref()), &message, now).await?;
            ordered += 1;
        }
    }
    unit.commit().await?;
    Ok(ordered)
}

fn message(finding: &Finding, now: Timestamp) -> Message {
    let message = Message::new(Topic::OwnerMail, now).with(CODE, finding.code.name()).with(AT, now.seconds());
    finding.params.iter().fold(message, |message, (name, value)| message.with(name, value))
}

/// Composes the mail of a message. `None`: no owner has an email address, or the message is of another version.
pub async fn compose_owner_notice(ctx: &Context, payload: &BTreeMap<String, String>) -> Result<Option<OwnerNotice>, StorageError> {
    let found_at = payload.get(AT).and_then(|seconds| seconds.parse().ok()).map(Timestamp::from_seconds);
    let code = payload.get(CODE).and_then(|code| FindingCode::from_name(code));
    let (Some(at), Some(code)) = (found_at, code) else { return Ok(None) };
    let params = payload.iter().filter(|(name, _)| !matches!(name.as_str(), CODE | AT));
    let finding = Finding { code, params: params.map(|(name, value)| (name.clone(), value.clone())).collect() };
    let recipient = owner_recipient(ctx.store.read().await?.as_mut()).await?;
    Ok(recipient.map(|recipient| OwnerNotice {
        id: format!("{}-{}", finding.key(), at.seconds().div_euclid(DAY_SECONDS)),
        at,
        recipient,
        finding,
    }))
}
