//! When customers are told about their subscriptions by mail.

use super::{Invoice, Period, Subscription, SubscriptionStatus};
use crate::context::Context;
use crate::events::{Message, Topic};
use crate::shared::{CurrencyId, EventId, InvoiceId, RefundId, StorageError, SubscriptionId, Timestamp};
use crate::storage::UnitOfWork;
use std::collections::BTreeMap;
use std::time::Duration;

/// The end of a trial is announced this long before. A trial that is no longer than that is not announced: its first mail
/// names the end.
pub const TRIAL_NOTICE: Duration = Duration::from_secs(3 * 24 * 3_600);
/// A subscription that has owed for this long is reminded of all that is overdue, once. What failed, and when it is tried again,
/// was told at each refusal before.
pub const OVERDUE_REMINDER: Duration = Duration::from_secs(7 * 24 * 3_600);

/// A mail that is to be written, as a message of [`Topic::BillingMail`] carries it. Whether there is still reason for it is
/// decided when it is written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Notice {
    Started(SubscriptionId),
    /// `at`: when a test clock passed the moment; `None`: everybody's time decides.
    TrialEnding {
        subscription: SubscriptionId,
        at: Option<Timestamp>,
    },
    /// `refusals`: how many there were with this one. `code`: why, in the network's terms.
    PaymentFailed {
        invoice: InvoiceId,
        refusals: u32,
        code: String,
    },
    Overdue {
        subscription: SubscriptionId,
        at: Option<Timestamp>,
    },
    /// Ended, or to end at a time.
    Canceled(SubscriptionId),
    Refunded(RefundId),
}

impl Notice {
    #[must_use]
    pub const fn kind(&self) -> &'static str {
        match self {
            Self::Started(_) => "started",
            Self::TrialEnding { .. } => "trial_ending",
            Self::PaymentFailed { .. } => "payment_failed",
            Self::Overdue { .. } => "overdue",
            Self::Canceled(_) => "canceled",
            Self::Refunded(_) => "refunded",
        }
    }

    #[must_use]
    pub fn message(&self, run_at: Timestamp) -> Message {
        let message = Message::new(Topic::BillingMail, run_at).with("kind", self.kind());
        let dated = |message: Message, at: &Option<Timestamp>| match at {
            Some(at) => message.with("at", at.micros()),
            None => message,
        };
        match self {
            Self::Started(id) | Self::Canceled(id) => message.with("subscription", id),
            Self::TrialEnding { subscription, at } | Self::Overdue { subscription, at } => {
                dated(message.with("subscription", subscription), at)
            }
            Self::PaymentFailed { invoice, refusals, code } => {
                message.with("invoice", invoice).with("refusals", refusals).with("code", code)
            }
            Self::Refunded(id) => message.with("refund", id),
        }
    }

    /// Reads what [`Self::message`] wrote. `None`: it makes no sense.
    #[must_use]
    pub fn of(payload: &BTreeMap<String, String>) -> Option<Self> {
        let value = |name: &str| payload.get(name).map(String::as_str);
        let subscription = || SubscriptionId::parse(value("subscription")?).ok();
        let at = match value("at") {
            Some(micros) => Some(Timestamp::from_micros(micros.parse().ok()?)),
            None => None,
        };
        Some(match value("kind")? {
            "started" => Self::Started(subscription()?),
            "trial_ending" => Self::TrialEnding { subscription: subscription()?, at },
            "payment_failed" => Self::PaymentFailed {
                invoice: InvoiceId::parse(value("invoice")?).ok()?,
                refusals: value("refusals")?.parse().ok()?,
                code: value("code")?.to_owned(),
            },
            "overdue" => Self::Overdue { subscription: subscription()?, at },
            "canceled" => Self::Canceled(subscription()?),
            "refunded" => Self::Refunded(RefundId::parse(value("refund")?).ok()?),
            _ => return None,
        })
    }
}

/// Asks for a mail, now or at a later time of everybody's.
pub async fn announce(ctx: &Context, unit: &mut dyn UnitOfWork, notice: &Notice, run_at: Timestamp) -> Result<(), StorageError> {
    let now = ctx.now();
    unit.outbox().publish(&EventId::new(now, ctx.random.as_ref()), &notice.message(run_at), now).await
}

/// To be called where an invoice is paid: its customer's open pages are told, and the receipt is mailed.
pub(super) async fn announce_paid(ctx: &Context, unit: &mut dyn UnitOfWork, invoice: &Invoice) -> Result<(), StorageError> {
    let now = ctx.now();
    let of = (invoice.customer_id.as_str(), &invoice.currency_id, invoice.subscription_id.as_ref());
    unit.outbox().publish_all(&paid_news(&invoice.id, of, now).map(|news| (EventId::new(now, ctx.random.as_ref()), news)), now).await
}

/// What an invoice that is paid is told by.
pub(crate) fn paid_news(
    invoice: &InvoiceId,
    (customer, currency, subscription): (&str, &CurrencyId, Option<&SubscriptionId>),
    now: Timestamp,
) -> [Message; 2] {
    let told = Message::new(Topic::Realtime, now).with("event", "invoice.paid").with("id", invoice);
    let told = told.with("customer_id", customer).with("currency_id", currency);
    let told = match subscription {
        Some(subscription) => told.with("subscription_id", subscription),
        None => told,
    };
    [told, Message::new(Topic::ReceiptMail, now).with("invoice", invoice)]
}

/// To be called where a subscription begins: asks for the mail that announces the end of its trial, if it has one that is long
/// enough. Customers on a test clock get it when their clock passes that moment.
pub async fn announce_trial(ctx: &Context, unit: &mut dyn UnitOfWork, subscription: &Subscription) -> Result<(), StorageError> {
    match subscription.trial.as_ref().and_then(trial_notice_at) {
        Some(at) if subscription.clock_id.is_none() => {
            announce(ctx, unit, &Notice::TrialEnding { subscription: subscription.id.clone(), at: None }, at).await
        }
        _ => Ok(()),
    }
}

/// The same for the reminder of a subscription that has just begun to owe.
pub(super) async fn announce_debt(ctx: &Context, unit: &mut dyn UnitOfWork, subscription: &Subscription) -> Result<(), StorageError> {
    match subscription.past_due_since {
        Some(since) if subscription.clock_id.is_none() => {
            let notice = Notice::Overdue { subscription: subscription.id.clone(), at: None };
            announce(ctx, unit, &notice, since.plus(OVERDUE_REMINDER)).await
        }
        _ => Ok(()),
    }
}

/// When the end of a trial is announced.
pub(super) fn trial_notice_at(trial: &Period) -> Option<Timestamp> {
    let at = trial.end.minus(TRIAL_NOTICE);
    (at > trial.start).then_some(at)
}

/// What a test clock passes on its way: later than `from`, not later than `to`.
pub(super) fn passed(subscription: &Subscription, from: Timestamp, to: Timestamp) -> Vec<Notice> {
    let is_passed = |at: &Timestamp| *at > from && *at <= to;
    let trial = subscription.trial.as_ref().filter(|_| subscription.status == SubscriptionStatus::Trialing);
    let trial = trial.and_then(trial_notice_at).filter(is_passed);
    let debt = subscription.past_due_since.map(|since| since.plus(OVERDUE_REMINDER)).filter(is_passed);
    let id = || subscription.id.clone();
    let trial = trial.map(|at| Notice::TrialEnding { subscription: id(), at: Some(at) });
    let debt = debt.map(|at| Notice::Overdue { subscription: id(), at: Some(at) });
    trial.into_iter().chain(debt).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const DAY: i64 = 86_400;

    fn at(days: i64) -> Timestamp {
        Timestamp::from_seconds(days * DAY)
    }

    #[test]
    fn every_notice_is_read_back_from_its_message() {
        let subscription = || SubscriptionId::parse("sub_1").expect("an id");
        let (invoice, refund) = (InvoiceId::parse("in_1").expect("an id"), RefundId::parse("re_1").expect("an id"));
        for notice in [
            Notice::Started(subscription()),
            Notice::TrialEnding { subscription: subscription(), at: Some(Timestamp::from_micros(7)) },
            Notice::TrialEnding { subscription: subscription(), at: None },
            Notice::PaymentFailed { invoice, refusals: 3, code: "INSUFFICIENT_FUND".to_owned() },
            Notice::Overdue { subscription: subscription(), at: Some(at(1)) },
            Notice::Canceled(subscription()),
            Notice::Refunded(refund),
        ] {
            assert_eq!(Notice::of(&notice.message(at(0)).payload), Some(notice));
        }
    }

    #[test]
    fn a_message_of_no_sense_is_no_notice() {
        let read = |message: Message| Notice::of(&message.payload);
        let message = |kind: &str| Message::new(Topic::BillingMail, at(0)).with("kind", kind);
        assert_eq!(read(message("started")), None);
        assert_eq!(read(message("started").with("subscription", "in_1")), None);
        assert_eq!(read(message("overdue").with("subscription", "sub_1").with("at", "soon")), None);
        assert_eq!(read(message("birthday").with("subscription", "sub_1")), None);
    }

    #[test]
    fn a_trial_is_announced_three_days_before_its_end_and_a_short_one_never() {
        let trial = |days: i64| Period { start: at(0), end: at(days) };
        assert_eq!(trial_notice_at(&trial(14)), Some(at(11)));
        assert_eq!(trial_notice_at(&trial(4)), Some(at(1)));
        assert_eq!(trial_notice_at(&trial(3)), None);
        assert_eq!(trial_notice_at(&trial(1)), None);
    }
}
