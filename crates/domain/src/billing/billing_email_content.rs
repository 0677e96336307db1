//! The content of billing emails.

use super::{ExpandedCreditNote, Invoice, ResumedFrom, Subscription};
use crate::customer::Customer;
use crate::payment::{Currency, Dispute, Intent, Method, Refund};
use crate::shared::{Amount, CurrencyId, CustomerId, Language, MethodId, Text, Timestamp};

/// The addressee of an email.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Recipient {
    /// May be empty.
    pub name: String,
    pub email: String,
    pub language: Language,
}

impl Recipient {
    #[must_use]
    pub fn of(customer: &Customer) -> Self {
        Self { name: customer.name.clone(), email: customer.email.clone(), language: customer.language }
    }
}

/// An email with all data it is rendered from. [`Recipient::language`] selects its language.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BillingEmail {
    /// Idempotency key: the same on every attempt to send this email, and unique to it. Letters, digits, `_` and `-`.
    pub id: String,
    pub content: BillingEmailContent,
    /// When the event happened, in the customer's time.
    pub at: Timestamp,
    pub recipient: Recipient,
    /// The customer whom the email is about. Also its recipient, unless the email goes to the store.
    pub customer: Customer,
    pub currency: Currency,
    pub method: Method,
    /// The wall time at which the lifetime of the links begins.
    pub links_from: Timestamp,
}

#[expect(clippy::large_enum_variant, reason = "one email exists at a time, and none is stored")]
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum BillingEmailContent {
    /// `first_invoice`: the subscription's latest invoice, if there is one.
    Started {
        plan: SubscribedPlan,
        first_invoice: Option<Invoice>,
    },
    TrialEnding(SubscribedPlan),
    /// `code`: the network's decline code. `subscription`: the invoice's subscription.
    PaymentFailed {
        subscription: Box<Subscription>,
        invoice: Box<Invoice>,
        code: String,
    },
    /// `overdue`, here and below: the subscription's overdue invoices, oldest first.
    Overdue {
        plan: SubscribedPlan,
        overdue: Vec<Invoice>,
    },
    CancellationScheduled {
        plan: SubscribedPlan,
        overdue: Vec<Invoice>,
    },
    Resumed {
        plan: SubscribedPlan,
        from: ResumedFrom,
        overdue: Vec<Invoice>,
    },
    Ended {
        plan: SubscribedPlan,
        overdue: Vec<Invoice>,
    },
    Refunded {
        refund: Box<Refund>,
        invoice: Option<Box<Invoice>>,
    },
    Credited(Box<ExpandedCreditNote>),
    /// Sent to the store, like the variants below.
    RefundFailed(Box<Refund>),
    Disputed(Box<Dispute>),
    /// `amount`: the part of the refund that no credit note over the payment's invoice lines could cover.
    DashboardRefund {
        intent: Box<Intent>,
        reference: String,
        amount: Amount,
    },
}

impl BillingEmailContent {
    /// Whether the email goes to the owner of the store.
    #[must_use]
    pub const fn is_for_store(&self) -> bool {
        matches!(self, Self::RefundFailed(_) | Self::Disputed(_) | Self::DashboardRefund { .. })
    }
}

/// A subscription with its items.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SubscribedPlan {
    pub subscription: Subscription,
    pub lines: Vec<SubscribedItem>,
    /// Whether an attempt to forfeit part of its stake is in flight.
    pub stake_pays: bool,
    /// The refundable deposit that was paid when it started.
    pub deposit: Option<Amount>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SubscribedItem {
    pub title: Text,
    pub quantity: u64,
    /// The price of one period; `None`: the price depends on usage.
    pub amount: Option<Amount>,
}

impl SubscribedPlan {
    /// The price of one period without usage.
    #[must_use]
    pub fn fixed_total(&self) -> Amount {
        Amount::sum(self.lines.iter().filter_map(|line| line.amount)).unwrap_or_default()
    }

    #[must_use]
    pub fn has_usage(&self) -> bool {
        self.lines.iter().any(|line| line.amount.is_none())
    }
}

/// An email whose customer, currency and method are not read yet.
pub(super) struct Draft {
    pub id: String,
    pub content: BillingEmailContent,
    pub at: Timestamp,
    pub customer_id: CustomerId,
    pub currency_id: CurrencyId,
    pub method_id: MethodId,
}
