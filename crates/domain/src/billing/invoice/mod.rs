//! Invoices: drafts from submit on, numbered when they become payable or paid (invariant 11).

mod finalize;
mod number;
mod payment;
mod sale_shares;
#[cfg(test)]
mod sale_shares_tests;
mod settle;
mod status;

pub(crate) use finalize::{Finalization, finalize, finalize_all};
pub use number::*;
pub use payment::*;
pub use sale_shares::{DueShare, SaleShare, SaleShares, SharedLine, due_shares};
pub(crate) use sale_shares::{book_shares, kept_amount, sharing};
pub(crate) use settle::{Receipt, apply_balance, plan_payments, settle, unapply_balance};
pub use status::*;

use super::{Period, PricingFormula, Scope};
use crate::customer::{Address, Customer};
use crate::payment::Description;
use crate::shared::{
    Amount, AmountError, ClockId, CurrencyId, CustomerId, InvoiceId, InvoiceItemId, Listed, MethodId, Mode, Page, PaymentIntentId, PriceId,
    SessionId, StorageError, SubscriptionId, SubscriptionItemId, Timestamp,
};
use crate::storage::UnitOfWork;
use async_trait::async_trait;
use std::collections::{BTreeSet, HashMap};

/// Why an invoice was written (SPEC.md 3). One-time purchases are `manual`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum BillingReason {
    Manual,
    SubscriptionCreate,
    SubscriptionCycle,
    SubscriptionUpdate,
    SubscriptionRecover,
    SubscriptionThreshold,
    SubscriptionCancel,
    SlashStake,
    Stake,
    ReturnStake,
    Recharge,
    /// A payment into the stake of the overdraft protection.
    StakeOverdraftProtection,
    /// The fee for a renewal that the overdraft protection paid.
    OverdraftProtection,
}

impl BillingReason {
    pub const ALL: [Self; 13] = [
        Self::Manual,
        Self::SubscriptionCreate,
        Self::SubscriptionCycle,
        Self::SubscriptionUpdate,
        Self::SubscriptionRecover,
        Self::SubscriptionThreshold,
        Self::SubscriptionCancel,
        Self::SlashStake,
        Self::Stake,
        Self::ReturnStake,
        Self::Recharge,
        Self::StakeOverdraftProtection,
        Self::OverdraftProtection,
    ];

    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Manual => "manual",
            Self::SubscriptionCreate => "subscription_create",
            Self::SubscriptionCycle => "subscription_cycle",
            Self::SubscriptionUpdate => "subscription_update",
            Self::SubscriptionRecover => "subscription_recover",
            Self::SubscriptionThreshold => "subscription_threshold",
            Self::SubscriptionCancel => "subscription_cancel",
            Self::SlashStake => "slash_stake",
            Self::Stake => "stake",
            Self::ReturnStake => "return_stake",
            Self::Recharge => "recharge",
            Self::StakeOverdraftProtection => "stake_overdraft_protection",
            Self::OverdraftProtection => "overdraft_protection",
        }
    }

    #[must_use]
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|reason| reason.name() == name)
    }

    /// Whether it documents a stake, its return or its forfeit.
    #[must_use]
    pub const fn is_stake(self) -> bool {
        matches!(self, Self::SlashStake | Self::Stake | Self::ReturnStake | Self::SubscriptionRecover | Self::StakeOverdraftProtection)
    }

    /// Whether the invoice can have lines of prices that are paid once.
    #[must_use]
    pub const fn may_sell_once(self) -> bool {
        matches!(self, Self::Manual | Self::SubscriptionCreate)
    }

    /// Whether the invoice only documents a transaction: no receivable, no revenue, not creditable.
    #[must_use]
    pub const fn is_statement(self) -> bool {
        self.is_stake() || matches!(self, Self::Recharge)
    }
}

/// The billing details of the customer at the time of writing.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BillTo {
    pub name: String,
    pub email: String,
    pub phone: String,
    pub address: Option<Address>,
}

impl BillTo {
    #[must_use]
    pub fn of(customer: &Customer) -> Self {
        Self {
            name: customer.name.clone(),
            email: customer.email.clone(),
            phone: customer.phone.clone(),
            address: customer.address.clone(),
        }
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Invoice {
    pub id: InvoiceId,
    pub mode: Mode,
    /// Allocated on finalization, without gaps, in one series for each mode and document type.
    pub number: Option<u64>,
    pub status: InvoiceStatus,
    pub reason: BillingReason,
    pub description: Description,
    pub customer_id: CustomerId,
    pub currency_id: CurrencyId,
    pub method_id: MethodId,
    pub session_id: Option<SessionId>,
    pub subscription_id: Option<SubscriptionId>,
    /// The time that it bills for, if any. There is one invoice for each subscription, start and reason (invariant 2).
    pub period: Option<Period>,
    pub intent_id: Option<PaymentIntentId>,
    /// The network transaction of a statement: of a stake, its return or forfeit, or added funds.
    pub reference: Option<String>,
    pub bill_to: BillTo,
    /// The sum of its lines, before credit. Fixed on finalization.
    pub total: Amount,
    /// Payments less reversals, by networks, the balance and stakes.
    pub amount_paid: Amount,
    /// The credit that reduced the amount due. Credit that was returned to payments or the balance is not included.
    pub amount_credited: Amount,
    /// How often its collection was declined.
    pub failure_count: u32,
    /// When its collection is retried automatically.
    pub retry_at: Option<Timestamp>,
    /// The customer's test clock.
    pub clock_id: Option<ClockId>,
    pub created_at: Timestamp,
    pub finalized_at: Option<Timestamp>,
    pub paid_at: Option<Timestamp>,
    pub updated_at: Timestamp,
}

/// The document types. Each has its own number series in each mode (invariant 11).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum DocumentType {
    Invoice,
    CreditNote,
    /// Documents a transaction of a stake or of added funds: no receivable, no revenue, not creditable.
    Statement,
}

impl DocumentType {
    pub const ALL: [Self; 3] = [Self::Invoice, Self::CreditNote, Self::Statement];

    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Invoice => "invoice",
            Self::CreditNote => "credit_note",
            Self::Statement => "statement",
        }
    }

    #[must_use]
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| kind.name() == name)
    }

    /// Formats a number as it is printed: `SOUK-000042`, `SOUK-TEST-CN-000042`.
    #[must_use]
    pub fn number_text(self, mode: Mode, number: u64) -> String {
        format!("{}-{number:06}", series(mode, self))
    }
}

impl Invoice {
    /// The printed number; `None` while the invoice has none.
    #[must_use]
    pub fn number_text(&self) -> Option<String> {
        self.number.map(|number| self.document().number_text(self.mode, number))
    }

    #[must_use]
    pub const fn document(&self) -> DocumentType {
        if self.reason.is_statement() { DocumentType::Statement } else { DocumentType::Invoice }
    }

    /// The amount still to be paid; derived, never stored.
    #[must_use]
    pub fn remaining(&self) -> Amount {
        let settled = self.amount_paid.plus(self.amount_credited);
        settled.ok().and_then(|settled| self.total.minus(settled).ok()).unwrap_or_default()
    }

    /// The total less the credit that reduced the due.
    #[must_use]
    pub fn amount_due(&self) -> Amount {
        self.total.minus(self.amount_credited).unwrap_or_default()
    }

    /// Returns the invoice with changed payments or credit. When nothing remains, it is paid if its total is zero or a payment stands, else
    /// void. A paid invoice with a remainder becomes overdue, and is not retried automatically.
    ///
    /// # Errors
    /// [`AmountError`] when payments and credit exceed the total.
    pub fn with_amounts(&self, paid: Amount, credited: Amount, now: Timestamp) -> Result<Self, AmountError> {
        let remaining = self.total.minus(paid.plus(credited)?)?;
        let is_settled = remaining.is_zero();
        let status = match (is_settled, self.status) {
            (true, _) if self.total.is_zero() || !paid.is_zero() => InvoiceStatus::Paid,
            (true, _) => InvoiceStatus::Void,
            (false, InvoiceStatus::Paid) => InvoiceStatus::Uncollectible,
            (false, status) => status,
        };
        let paid_at = if status == InvoiceStatus::Paid { self.paid_at.or(Some(now)) } else { None };
        let retry_at = self.retry_at.filter(|_| !is_settled);
        Ok(Self { status, amount_paid: paid, amount_credited: credited, paid_at, retry_at, updated_at: now, ..self.clone() })
    }
}

/// The prefix of printed numbers.
const fn series(mode: Mode, document: DocumentType) -> &'static str {
    match (mode, document) {
        (Mode::Live, DocumentType::Invoice) => "SOUK",
        (Mode::Live, DocumentType::CreditNote) => "SOUK-CN",
        (Mode::Live, DocumentType::Statement) => "SOUK-ST",
        (Mode::Test, DocumentType::Invoice) => "SOUK-TEST",
        (Mode::Test, DocumentType::CreditNote) => "SOUK-TEST-CN",
        (Mode::Test, DocumentType::Statement) => "SOUK-TEST-ST",
    }
}

/// A line of an invoice, with the inputs and the formula of its amount.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct InvoiceItem {
    pub id: InvoiceItemId,
    pub invoice_id: InvoiceId,
    /// The subscription item that it bills for.
    pub subscription_item_id: Option<SubscriptionItemId>,
    pub price_id: Option<PriceId>,
    pub description: Description,
    pub quantity: u64,
    pub unit_amount: Amount,
    /// The line's total; discount and tax are zero for now.
    pub amount: Amount,
    /// The sum of credit notes over this line: never more than its amount (invariant 8).
    pub credited: Amount,
    /// The time that it bills for. Differs from the invoice's period for metered items and prorated lines.
    pub period: Option<Period>,
    /// When its cover ends: initially the end of its period, earlier once unused time was credited.
    pub covers_until: Option<Timestamp>,
    pub pricing_formula: PricingFormula,
}

impl InvoiceItem {
    /// The amount that credit notes can still credit.
    #[must_use]
    pub fn creditable(&self) -> Amount {
        self.amount.minus(self.credited).unwrap_or_default()
    }

    /// Whether the billed and not yet credited time contains `at`.
    #[must_use]
    pub fn covers(&self, at: Timestamp) -> bool {
        self.period.is_some_and(|period| period.start <= at) && self.covers_until.is_some_and(|until| at < until)
    }
}

/// The effect of a credit note on a line, written by compare-and-set on `credited_before`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ItemCredit {
    pub id: InvoiceItemId,
    pub credited_before: Amount,
    pub credited: Amount,
    pub covers_until: Option<Timestamp>,
}

#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct InvoiceFilter {
    /// Empty matches any status.
    pub statuses: Vec<InvoiceStatus>,
    pub customer_id: Option<CustomerId>,
    pub currency_id: Option<CurrencyId>,
    pub subscription_id: Option<SubscriptionId>,
    /// Includes stakes, forfeits, stakes of recovered subscriptions, and returned stakes.
    pub include_staking: bool,
    pub include_return_staking: bool,
    /// Includes stakes of recovered subscriptions.
    pub include_recovered_from: bool,
    /// Leaves out invoices of total zero.
    pub ignore_zero: bool,
    /// Matches words of the description, the id, or the beginning of the number. Empty matches all.
    pub query: String,
}

/// A finalized invoice that is not written yet.
#[derive(Debug, Clone)]
pub struct NewInvoice {
    pub invoice: Invoice,
    pub items: Vec<InvoiceItem>,
}

/// When the collection of an invoice is tried again; `None`: not automatically.
#[derive(Debug, Clone)]
pub struct ScheduledRetry {
    pub id: InvoiceId,
    pub at: Option<Timestamp>,
}

/// Locks invoices, and returns them by id.
pub(crate) async fn lock_by_id(unit: &mut dyn UnitOfWork, ids: &[InvoiceId]) -> Result<HashMap<InvoiceId, Invoice>, StorageError> {
    let locked = if ids.is_empty() { Vec::new() } else { unit.invoices().lock_all(ids).await? };
    Ok(locked.into_iter().map(|invoice| (invoice.id.clone(), invoice)).collect())
}

/// The lines of invoices, in order within each.
pub(crate) async fn lines_by_invoice(
    unit: &mut dyn UnitOfWork,
    ids: &[InvoiceId],
) -> Result<HashMap<InvoiceId, Vec<InvoiceItem>>, StorageError> {
    let found = if ids.is_empty() { Vec::new() } else { unit.invoices().items_of(ids).await? };
    let mut lines: HashMap<_, Vec<_>> = HashMap::new();
    for line in found {
        lines.entry(line.invoice_id.clone()).or_default().push(line);
    }
    Ok(lines)
}

/// An invoice before and after a change.
#[derive(Debug, Clone)]
pub struct ChangedInvoice {
    /// As it was read.
    pub before: Invoice,
    pub after: Invoice,
}

#[async_trait]
pub trait Invoices: Send {
    /// Inserts the first draft of an invoice.
    async fn insert_draft(&mut self, invoice: &Invoice, items: &[InvoiceItem]) -> Result<(), StorageError>;
    /// Inserts a draft, or replaces the draft with this id and its items. If the invoice is no longer a draft, the unit of work fails with
    /// [`StorageError::Conflict`], at the latest on commit.
    async fn put_draft(&mut self, invoice: &Invoice, items: &[InvoiceItem]) -> Result<(), StorageError>;
    /// Allocates the next `count` numbers of a series, and returns the first. Another caller waits until this unit of work ends.
    async fn allocate_numbers(&mut self, mode: Mode, document: DocumentType, count: u32) -> Result<u64, StorageError>;
    /// Inserts finalized invoices with their numbers, all or none. [`StorageError::Duplicate`] when a subscription, start and reason have
    /// an invoice already (invariant 2); the caller must then drop the unit of work.
    async fn insert_final_all(&mut self, invoices: &[NewInvoice]) -> Result<(), StorageError>;
    /// Locks and returns these invoices, ids ascending. Until this unit of work ends, no other one changes them, their lines, payments or
    /// attempts.
    async fn lock_all(&mut self, ids: &[InvoiceId]) -> Result<Vec<Invoice>, StorageError>;
    /// As [`Invoices::lock_all`], for one invoice.
    async fn lock(&mut self, id: &InvoiceId) -> Result<Option<Invoice>, StorageError> {
        Ok(self.lock_all(std::slice::from_ref(id)).await?.into_iter().next())
    }
    /// Writes status, number, subscription, period, amounts, intent and times of invoices that still have the status and the amounts of
    /// `before`. False: one of them has changed, and the caller must drop the unit of work.
    async fn update_all(&mut self, changes: &[ChangedInvoice]) -> Result<bool, StorageError>;
    /// As [`Invoices::update_all`], for one invoice.
    async fn update(&mut self, before: &Invoice, after: &Invoice) -> Result<bool, StorageError> {
        self.update_all(&[ChangedInvoice { before: before.clone(), after: after.clone() }]).await
    }
    /// Records declined collections: changes open to uncollectible, counts the failure and sets the next retry. False: an invoice is not
    /// due, because nothing remains to be paid.
    async fn decline_all(&mut self, retries: &[ScheduledRetry], now: Timestamp) -> Result<bool, StorageError>;
    /// Voids a draft without a number. False: it is not a draft.
    async fn drop_draft(&mut self, id: &InvoiceId, now: Timestamp) -> Result<bool, StorageError>;
    async fn find(&mut self, id: &InvoiceId) -> Result<Option<Invoice>, StorageError>;
    async fn find_all(&mut self, ids: &[InvoiceId]) -> Result<Vec<Invoice>, StorageError>;
    /// The invoice of a subscription whose period begins then; void ones do not count.
    async fn of_period(&mut self, subscription: &SubscriptionId, start: Timestamp) -> Result<Option<Invoice>, StorageError>;
    async fn items(&mut self, id: &InvoiceId) -> Result<Vec<InvoiceItem>, StorageError>;
    /// The lines of several invoices, in order within each invoice.
    async fn items_of(&mut self, ids: &[InvoiceId]) -> Result<Vec<InvoiceItem>, StorageError>;
    /// The lines of a subscription's numbered invoices that cover `at` (see [`InvoiceItem::covers`]), ordered by id.
    async fn items_covering(&mut self, subscription: &SubscriptionId, at: Timestamp) -> Result<Vec<InvoiceItem>, StorageError>;
    /// The lines of numbered invoices that bill these subscription items for time from `since` on and are not fully credited, newest first.
    async fn items_billing(&mut self, items: &[SubscriptionItemId], since: Timestamp) -> Result<Vec<InvoiceItem>, StorageError>;
    /// Writes the credited amounts of lines. False: one of them was credited meanwhile, and the caller must drop the unit of work.
    async fn credit_items(&mut self, credits: &[ItemCredit]) -> Result<bool, StorageError>;
    /// Lists invoices, newest first.
    async fn list(&mut self, mode: Mode, filter: &InvoiceFilter, page: &Page) -> Result<Listed<Invoice>, StorageError>;
    /// All uncollectible invoices of a customer, oldest first.
    async fn overdue(&mut self, customer: &CustomerId) -> Result<Vec<Invoice>, StorageError>;
    /// All uncollectible invoices of a subscription, oldest first.
    async fn overdue_of(&mut self, subscription: &SubscriptionId) -> Result<Vec<Invoice>, StorageError>;
    /// The subscriptions among these that have an uncollectible invoice.
    async fn with_overdue(&mut self, subscriptions: &[SubscriptionId]) -> Result<BTreeSet<SubscriptionId>, StorageError>;
    /// Sets when uncollectible invoices are retried automatically.
    async fn schedule_all(&mut self, retries: &[ScheduledRetry]) -> Result<(), StorageError>;
    /// The open and uncollectible invoices of these subscriptions, oldest first.
    async fn unpaid_of_all(&mut self, subscriptions: &[SubscriptionId]) -> Result<Vec<Invoice>, StorageError>;
    /// As [`Invoices::unpaid_of_all`], for one subscription.
    async fn unpaid_of(&mut self, subscription: &SubscriptionId) -> Result<Vec<Invoice>, StorageError> {
        self.unpaid_of_all(std::slice::from_ref(subscription)).await
    }
    /// The open and uncollectible invoices of a customer in a currency, oldest first, at most `limit`.
    async fn unpaid_in(&mut self, customer: &CustomerId, currency: &CurrencyId, limit: u32) -> Result<Vec<Invoice>, StorageError>;
    /// The latest period start of a subscription's invoices with this reason.
    async fn last_start(&mut self, subscription: &SubscriptionId, reason: BillingReason) -> Result<Option<Timestamp>, StorageError>;
    /// Claims the invoices whose retry is due, except those of subscriptions that are on hold or are charged by `paused` methods: clears
    /// their `retry_at`, so that no other worker claims them.
    async fn claim_retries(&mut self, scope: &Scope, now: Timestamp, limit: u32, paused: &[MethodId])
    -> Result<Vec<Invoice>, StorageError>;
    /// The time of the next retry among the invoices of a test clock.
    async fn next_retry(&mut self, clock: &ClockId) -> Result<Option<Timestamp>, StorageError>;
    /// Cancels all automatic retries of a subscription's invoices.
    async fn stop_retries(&mut self, subscription: &SubscriptionId, now: Timestamp) -> Result<(), StorageError>;
}
