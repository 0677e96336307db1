//! What an email about billing says.

use super::{ExpandedCreditNote, Invoice, ResumedFrom, Subscription};
use crate::customer::Customer;
use crate::payment::{Currency, Dispute, Intent, Method, Refund};
use crate::shared::{Amount, CurrencyId, CustomerId, Language, MethodId, Timestamp};

/// Whom an email goes to.
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

/// An email with everything it says, in the recipient's language.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BillingEmail {
    /// The same for every attempt to send this email, and for no other email: letters, digits, `_` and `-`.
    pub id: String,
    pub content: BillingEmailContent,
    /// When the event happened, in the customer's time.
    pub at: Timestamp,
    pub recipient: Recipient,
    /// Whom the email is about: the recipient, unless it goes to the store.
    pub customer: Customer,
    pub currency: Currency,
    pub method: Method,
    /// The wall time from which the lifetime of the links counts.
    pub links_from: Timestamp,
}

#[expect(clippy::large_enum_variant, reason = "one email is written at a time, and none is kept")]
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum BillingEmailContent {
    /// `first_invoice`: the subscription's invoice, if it has one already.
    Started {
        plan: SubscribedPlan,
        first_invoice: Option<Invoice>,
    },
    TrialEnding(SubscribedPlan),
    /// `code`: the network's reason. `subscription`: the one that the invoice belongs to.
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
    /// To the store, here and below.
    RefundFailed(Box<Refund>),
    Disputed(Box<Dispute>),
    /// `amount`: what the invoice lines of the payment could not give.
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
    /// An attempt forfeits a part of its security stake.
    pub stake_pays: bool,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SubscribedItem {
    pub title: String,
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
