//! Notifications: which emails are sent about billing, and when.

use super::Invoice;
use crate::context::Context;
use crate::events::{Message, NewMessage, Topic};
use crate::shared::{
    Amount, CreditNoteId, CurrencyId, DisputeId, EventId, InvoiceId, PaymentIntentId, RefundId, StorageError, SubscriptionId, Timestamp,
};
use crate::storage::UnitOfWork;
use std::collections::BTreeMap;
use std::time::Duration;

/// How long before the end of a trial its reminder is sent. Trials that are not longer than this get no reminder: the email about their
/// start names their end.
pub const TRIAL_REMINDER: Duration = Duration::from_secs(3 * 24 * 3_600);
/// How long a subscription is past due before one reminder lists everything overdue. Each failed payment before that has its own email.
pub const OVERDUE_REMINDER: Duration = Duration::from_secs(7 * 24 * 3_600);

/// An email to send, carried by a message of [`Topic::BillingMail`] or, if wall time is its reason, of [`Topic::ReminderMail`]. The job that
/// composes the email decides whether the notification still applies.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Notification {
    Started(SubscriptionId),
    /// `at`: when a test clock passed the reminder's time; `None`: wall time decides.
    TrialEnding {
        subscription: SubscriptionId,
        at: Option<Timestamp>,
    },
    /// `failures`: the invoice's failed payments, including this one. `code`: the network's decline code.
    PaymentFailed {
        invoice: InvoiceId,
        failures: u32,
        code: String,
    },
    Overdue {
        subscription: SubscriptionId,
        at: Option<Timestamp>,
    },
    /// The subscription will end at a later time. `canceled_at`: [`Subscription::canceled_at`] of this cancellation.
    CancellationScheduled {
        subscription: SubscriptionId,
        canceled_at: Timestamp,
    },
    /// `at`: the time of the resumption, in the customer's time.
    Resumed {
        subscription: SubscriptionId,
        from: ResumedFrom,
        at: Timestamp,
    },
    Ended(SubscriptionId),
    Refunded(RefundId),
    /// A credit note was issued.
    Credited(CreditNoteId),
    /// To the store: a refund failed and needs a decision. `failures`: how often it has failed.
    RefundFailed {
        refund: RefundId,
        failures: u32,
    },
    /// To the store: a payment is disputed, or the dispute was decided.
    Disputed(DisputeId),
    /// To the store: a refund made in the provider's dashboard exceeds the creditable amount of the payment's invoice lines.
    /// `amount`: the excess. `reference`: the provider's id of the refund.
    DashboardRefund {
        intent: PaymentIntentId,
        reference: String,
        amount: Amount,
    },
}

/// The state that a subscription left when it resumed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ResumedFrom {
    /// A scheduled cancellation was undone.
    Cancellation,
    Pause,
}

impl ResumedFrom {
    const ALL: [Self; 2] = [Self::Cancellation, Self::Pause];

    const fn name(self) -> &'static str {
        match self {
            Self::Cancellation => "cancellation",
            Self::Pause => "pause",
        }
    }
}

impl Notification {
    #[must_use]
    pub const fn kind(&self) -> &'static str {
        match self {
            Self::Started(_) => "started",
            Self::TrialEnding { .. } => "trial_ending",
            Self::PaymentFailed { .. } => "payment_failed",
            Self::Overdue { .. } => "overdue",
            Self::CancellationScheduled { .. } => "cancellation_scheduled",
            Self::Resumed { .. } => "resumed",
            Self::Ended(_) => "ended",
            Self::Refunded(_) => "refunded",
            Self::Credited(_) => "credited",
            Self::RefundFailed { .. } => "refund_failed",
            Self::Disputed(_) => "disputed",
            Self::DashboardRefund { .. } => "dashboard_refund",
        }
    }

    const fn topic(&self) -> Topic {
        match self {
            Self::TrialEnding { at: None, .. } | Self::Overdue { at: None, .. } => Topic::ReminderMail,
            _ => Topic::BillingMail,
        }
    }

    #[must_use]
    pub fn message(&self, run_at: Timestamp) -> Message {
        let message = Message::new(self.topic(), run_at).with("kind", self.kind());
        match self {
            Self::Started(id) | Self::Ended(id) => message.with("subscription", id),
            Self::TrialEnding { subscription, at } | Self::Overdue { subscription, at } => {
                let message = message.with("subscription", subscription);
                match at {
                    Some(at) => message.with("at", at.micros()),
                    None => message,
                }
            }
            Self::PaymentFailed { invoice, failures, code } => {
                message.with("invoice", invoice).with("failures", failures).with("code", code)
            }
            Self::CancellationScheduled { subscription, canceled_at } => {
                message.with("subscription", subscription).with("at", canceled_at.micros())
            }
            Self::Resumed { subscription, from, at } => {
                message.with("subscription", subscription).with("from", from.name()).with("at", at.micros())
            }
            Self::Refunded(id) => message.with("refund", id),
            Self::Credited(id) => message.with("note", id),
            Self::RefundFailed { refund, failures } => message.with("refund", refund).with("failures", failures),
            Self::Disputed(id) => message.with("dispute", id),
            Self::DashboardRefund { intent, reference, amount } => {
                message.with("intent", intent).with("reference", reference).with("amount", amount)
            }
        }
    }

    /// Reads what [`Self::message`] wrote. `None`: the payload is malformed.
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
                failures: value("failures")?.parse().ok()?,
                code: value("code")?.to_owned(),
            },
            "overdue" => Self::Overdue { subscription: subscription()?, at },
            "cancellation_scheduled" => Self::CancellationScheduled { subscription: subscription()?, canceled_at: at? },
            "resumed" => {
                let name = value("from")?;
                let from = ResumedFrom::ALL.into_iter().find(|from| from.name() == name)?;
                Self::Resumed { subscription: subscription()?, from, at: at? }
            }
            "ended" => Self::Ended(subscription()?),
            "refunded" => Self::Refunded(RefundId::parse(value("refund")?).ok()?),
            "credited" => Self::Credited(CreditNoteId::parse(value("note")?).ok()?),
            "refund_failed" => {
                Self::RefundFailed { refund: RefundId::parse(value("refund")?).ok()?, failures: value("failures")?.parse().ok()? }
            }
            "disputed" => Self::Disputed(DisputeId::parse(value("dispute")?).ok()?),
            "dashboard_refund" => Self::DashboardRefund {
                intent: PaymentIntentId::parse(value("intent")?).ok()?,
                reference: value("reference")?.to_owned(),
                amount: Amount::parse_base_units(value("amount")?).ok()?,
            },
            _ => return None,
        })
    }
}

/// Requests an email, now or at a later wall time.
pub async fn notify(ctx: &Context, unit: &mut dyn UnitOfWork, notification: &Notification, run_at: Timestamp) -> Result<(), StorageError> {
    let now = ctx.now();
    unit.outbox().publish(&EventId::new(now, ctx.random.as_ref()), &notification.message(run_at), now).await
}

/// The messages that request several emails now.
pub(super) fn messages_of(ctx: &Context, notifications: &[Notification]) -> Vec<NewMessage> {
    let now = ctx.now();
    let message =
        |notification: &Notification| NewMessage { id: EventId::new(now, ctx.random.as_ref()), message: notification.message(now) };
    notifications.iter().map(message).collect()
}

/// Requests several emails now.
pub(super) async fn notify_all(ctx: &Context, unit: &mut dyn UnitOfWork, notifications: &[Notification]) -> Result<(), StorageError> {
    if notifications.is_empty() {
        return Ok(());
    }
    unit.outbox().publish_all(&messages_of(ctx, notifications), ctx.now()).await
}

/// Publishes the messages of invoices that were just paid.
pub(super) async fn notify_paid(ctx: &Context, unit: &mut dyn UnitOfWork, invoices: &[&Invoice]) -> Result<(), StorageError> {
    if invoices.is_empty() {
        return Ok(());
    }
    let now = ctx.now();
    let paid = |invoice: &&Invoice| {
        let paid = InvoicePaid {
            invoice: &invoice.id,
            customer: invoice.customer_id.as_str(),
            currency: &invoice.currency_id,
            subscription: invoice.subscription_id.as_ref(),
        };
        paid_messages(&paid, now).map(|message| NewMessage { id: EventId::new(now, ctx.random.as_ref()), message })
    };
    let messages: Vec<_> = invoices.iter().flat_map(paid).collect();
    unit.outbox().publish_all(&messages, now).await
}

/// An invoice that was just paid, as its messages name it.
pub(crate) struct InvoicePaid<'a> {
    pub invoice: &'a InvoiceId,
    /// The customer's id. Empty: a purchase without a customer.
    pub customer: &'a str,
    pub currency: &'a CurrencyId,
    pub subscription: Option<&'a SubscriptionId>,
}

/// The messages about a paid invoice: one updates the customer's open pages, one emails the receipt.
pub(crate) fn paid_messages(paid: &InvoicePaid<'_>, now: Timestamp) -> [Message; 2] {
    let page = Message::new(Topic::Realtime, now).with("event", "invoice.paid").with("id", paid.invoice);
    let page = page.with("customer_id", paid.customer).with("currency_id", paid.currency);
    let page = match paid.subscription {
        Some(subscription) => page.with("subscription_id", subscription),
        None => page,
    };
    [page, Message::new(Topic::ReceiptMail, now).with("invoice", paid.invoice)]
}

#[cfg(test)]
mod tests {
    use super::*;

    const DAY: i64 = 86_400;

    fn at(days: i64) -> Timestamp {
        Timestamp::from_seconds(days * DAY)
    }

    #[test]
    fn every_notification_round_trips_through_its_message() {
        let subscription = || SubscriptionId::parse("sub_1").expect("an id");
        let (invoice, refund) = (InvoiceId::parse("in_1").expect("an id"), RefundId::parse("re_1").expect("an id"));
        for notification in [
            Notification::Started(subscription()),
            Notification::TrialEnding { subscription: subscription(), at: Some(Timestamp::from_micros(7)) },
            Notification::TrialEnding { subscription: subscription(), at: None },
            Notification::PaymentFailed { invoice, failures: 3, code: "INSUFFICIENT_FUND".to_owned() },
            Notification::Overdue { subscription: subscription(), at: Some(at(1)) },
            Notification::CancellationScheduled { subscription: subscription(), canceled_at: Timestamp::from_micros(7) },
            Notification::Resumed { subscription: subscription(), from: ResumedFrom::Cancellation, at: at(1) },
            Notification::Resumed { subscription: subscription(), from: ResumedFrom::Pause, at: at(2) },
            Notification::Ended(subscription()),
            Notification::Refunded(refund.clone()),
            Notification::Credited(CreditNoteId::parse("cn_1").expect("an id")),
            Notification::RefundFailed { refund, failures: 2 },
            Notification::Disputed(DisputeId::parse("dp_1").expect("an id")),
            Notification::DashboardRefund {
                intent: PaymentIntentId::parse("pi_1").expect("an id"),
                reference: "re_provider".to_owned(),
                amount: Amount::new(500),
            },
        ] {
            assert_eq!(Notification::of(&notification.message(at(0)).payload), Some(notification));
        }
    }

    #[test]
    fn malformed_messages_are_rejected() {
        let read = |message: Message| Notification::of(&message.payload);
        let message = |kind: &str| Message::new(Topic::BillingMail, at(0)).with("kind", kind);
        assert_eq!(read(message("started")), None);
        assert_eq!(read(message("started").with("subscription", "in_1")), None);
        assert_eq!(read(message("overdue").with("subscription", "sub_1").with("at", "soon")), None);
        assert_eq!(read(message("cancellation_scheduled").with("subscription", "sub_1")), None);
        assert_eq!(read(message("resumed").with("subscription", "sub_1").with("from", "sleep").with("at", 7)), None);
        assert_eq!(read(message("resumed").with("subscription", "sub_1").with("from", "pause")), None);
        assert_eq!(read(message("birthday").with("subscription", "sub_1")), None);
    }
}
