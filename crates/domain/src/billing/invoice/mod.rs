//! Invoices: a draft from submit, numbered when they become payable or paid (invariant 11).

mod finalize;
mod payment;
mod settle;
mod status;

pub(crate) use finalize::{Finalization, finalize, finalize_all};
pub use payment::*;
pub(crate) use settle::{PaidInvoice, Receipt, apply_balance, plan_payments, settle, unapply_balance};
pub use status::*;

use super::{Period, PricingFormula, Scope};
use crate::customer::{Address, Customer};
use crate::shared::{
    Amount, AmountError, ClockId, CurrencyId, CustomerId, InvoiceId, InvoiceItemId, Listed, MethodId, Mode, Page, PaymentIntentId, PriceId,
    SessionId, StorageError, SubscriptionId, SubscriptionItemId, Timestamp,
};
use async_trait::async_trait;

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
    /// A payment into the stake of an overdraft protection.
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

    /// Deposits and what becomes of them.
    #[must_use]
    pub const fn is_stake(self) -> bool {
        matches!(self, Self::SlashStake | Self::Stake | Self::ReturnStake | Self::SubscriptionRecover | Self::StakeOverdraftProtection)
    }

    /// Documents a transaction: no receivable, no revenue, not creditable.
    #[must_use]
    pub const fn is_statement(self) -> bool {
        self.is_stake() || matches!(self, Self::Recharge)
    }
}

/// Who an invoice is written to, as they were when it was written.
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
    /// Given on finalization, without gaps, in one series for each mode and document type.
    pub number: Option<u64>,
    pub status: InvoiceStatus,
    pub reason: BillingReason,
    pub description: String,
    pub customer_id: CustomerId,
    pub currency_id: CurrencyId,
    pub method_id: MethodId,
    pub session_id: Option<SessionId>,
    pub subscription_id: Option<SubscriptionId>,
    /// What it bills for, where it bills for time. One invoice for each subscription, start and reason (invariant 2).
    pub period: Option<Period>,
    pub intent_id: Option<PaymentIntentId>,
    /// The transaction that it tells of, where no intent does: of a stake, its return or its taking, or of funds.
    pub reference: Option<String>,
    pub bill_to: BillTo,
    /// What its lines ask for, before credit. Fixed when it is finalized.
    pub total: Amount,
    /// Payments that stand, by networks, the balance and stakes.
    pub amount_paid: Amount,
    /// What credit notes took off what was due. What they gave back of payments is not in it.
    pub amount_credited: Amount,
    /// How often its collection was declined.
    pub failure_count: u32,
    /// When collection is tried again by itself.
    pub retry_at: Option<Timestamp>,
    /// The customer's test clock.
    pub clock_id: Option<ClockId>,
    pub created_at: Timestamp,
    pub finalized_at: Option<Timestamp>,
    pub paid_at: Option<Timestamp>,
    pub updated_at: Timestamp,
}

/// The documents that have a series of numbers of their own in each mode (invariant 11).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum DocumentType {
    Invoice,
    CreditNote,
    /// Documents a transaction of a deposit or of funds: no receivable, no revenue, not creditable.
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

    /// `SOUK-000042`, `SOUK-TEST-CN-000042`.
    #[must_use]
    pub fn number_text(self, mode: Mode, number: u64) -> String {
        format!("{}-{number:06}", series(mode, self))
    }
}

impl Invoice {
    /// Its number as it is printed; `None` while it is a draft.
    #[must_use]
    pub fn number_text(&self) -> Option<String> {
        self.number.map(|number| self.document().number_text(self.mode, number))
    }

    #[must_use]
    pub const fn document(&self) -> DocumentType {
        if self.reason.is_statement() { DocumentType::Statement } else { DocumentType::Invoice }
    }

    /// What is still to be paid: derived, never stored.
    #[must_use]
    pub fn remaining(&self) -> Amount {
        let settled = self.amount_paid.plus(self.amount_credited);
        settled.ok().and_then(|settled| self.total.minus(settled).ok()).unwrap_or_default()
    }

    /// What it asks the customer for: its total less credit.
    #[must_use]
    pub fn amount_due(&self) -> Amount {
        self.total.minus(self.amount_credited).unwrap_or_default()
    }

    /// The invoice after its payments or credits changed. When nothing remains it is paid if its total is zero or a payment stands,
    /// else void. When a payment was undone it is overdue, and nothing tries it automatically.
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

/// What the numbers of a mode begin with.
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

/// The number that a text names, as invoices and statements print it, in whatever letters, or alone: `SOUK-000042`, `000042`, `42`.
#[must_use]
pub fn read_number(text: &str, mode: Mode) -> Option<u64> {
    let text = text.trim().to_ascii_uppercase();
    let own = |document| text.strip_prefix(series(mode, document)).and_then(|rest| rest.strip_prefix('-'));
    let digits = own(DocumentType::Statement).or_else(|| own(DocumentType::Invoice)).unwrap_or(&text);
    let number = digits.bytes().all(|byte| byte.is_ascii_digit()).then(|| digits.parse().ok()).flatten();
    // No series comes to what no database can count.
    number.filter(|number| i64::try_from(*number).is_ok())
}

/// A line of an invoice, with the inputs and the formula of its amount.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct InvoiceItem {
    pub id: InvoiceItemId,
    pub invoice_id: InvoiceId,
    /// What of a subscription it bills for.
    pub subscription_item_id: Option<SubscriptionItemId>,
    pub price_id: Option<PriceId>,
    pub description: String,
    pub quantity: u64,
    pub unit_amount: Amount,
    /// Its total: discount and tax are zero.
    pub amount: Amount,
    /// What credit notes gave of it: never more than its amount (invariant 8).
    pub credited: Amount,
    /// The time it bills for. Metered items and proration differ from their invoice.
    pub period: Option<Period>,
    /// Until when its time is paid for: at first its period's end, earlier once unused time was credited.
    pub covers_until: Option<Timestamp>,
    pub calculation: PricingFormula,
}

impl InvoiceItem {
    /// What credit notes can still give of it.
    #[must_use]
    pub fn creditable(&self) -> Amount {
        self.amount.minus(self.credited).unwrap_or_default()
    }

    /// Whether the time that it bills for, and that was not credited, contains `at`.
    #[must_use]
    pub fn covers(&self, at: Timestamp) -> bool {
        self.period.is_some_and(|period| period.start <= at) && self.covers_until.is_some_and(|until| at < until)
    }
}

/// What a credit note gives of a line: a compare-and-set on what was given before.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ItemCredit {
    pub id: InvoiceItemId,
    pub credited_before: Amount,
    pub credited: Amount,
    pub covers_until: Option<Timestamp>,
}

#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct InvoiceFilter {
    /// Empty: any.
    pub statuses: Vec<InvoiceStatus>,
    pub customer_id: Option<CustomerId>,
    pub currency_id: Option<CurrencyId>,
    pub subscription_id: Option<SubscriptionId>,
    /// Stakes and slashes too, and those by which a subscription went on; returned stakes too.
    pub include_staking: bool,
    pub include_return_staking: bool,
    /// Of stakes, those by which a cancelled subscription went on.
    pub include_recovered_from: bool,
    /// Leaves out invoices of total zero.
    pub ignore_zero: bool,
    /// Those whose description holds the words, or whose id or number they are; empty: all.
    pub query: String,
}

#[async_trait]
pub trait Invoices: Send {
    /// Inserts the first draft of an invoice.
    async fn insert_draft(&mut self, invoice: &Invoice, items: &[InvoiceItem]) -> Result<(), StorageError>;
    /// Inserts a draft, or replaces the draft with this id and its items. Where it is no draft any more, the unit of work fails with
    /// [`StorageError::Conflict`], at the latest when it commits.
    async fn put_draft(&mut self, invoice: &Invoice, items: &[InvoiceItem]) -> Result<(), StorageError>;
    /// The first of the next `count` numbers of a series. The next caller waits until this unit of work ends.
    async fn allocate_numbers(&mut self, mode: Mode, document: DocumentType, count: u32) -> Result<u64, StorageError>;
    /// Inserts finalized invoices with their numbers, all or none. [`StorageError::Duplicate`] when a subscription, start and reason
    /// have one already (invariant 2), and the unit of work must be dropped.
    async fn insert_final_all(&mut self, invoices: &[(Invoice, Vec<InvoiceItem>)]) -> Result<(), StorageError>;
    /// Reads these invoices, ids ascending; nobody else changes them, their lines, payments and attempts until this unit of work ends.
    async fn lock_all(&mut self, ids: &[InvoiceId]) -> Result<Vec<Invoice>, StorageError>;
    /// As [`Invoices::lock_all`], one.
    async fn lock(&mut self, id: &InvoiceId) -> Result<Option<Invoice>, StorageError> {
        Ok(self.lock_all(std::slice::from_ref(id)).await?.into_iter().next())
    }
    /// Writes status, number, subscription, period, amounts, intent and times of invoices that still have the status and the amounts of
    /// `before`. False: one of them changed, and the unit of work must be dropped.
    async fn update_all(&mut self, changes: &[(Invoice, Invoice)]) -> Result<bool, StorageError>;
    /// As [`Invoices::update_all`], one.
    async fn update(&mut self, before: &Invoice, after: &Invoice) -> Result<bool, StorageError> {
        self.update_all(&[(before.clone(), after.clone())]).await
    }
    /// A declined collection: open to uncollectible, one failure more, and when it is tried again. False: nothing remains of it.
    async fn decline(&mut self, id: &InvoiceId, retry_at: Option<Timestamp>, now: Timestamp) -> Result<bool, StorageError>;
    /// Draft to void, without a number. False when it is no draft.
    async fn drop_draft(&mut self, id: &InvoiceId, now: Timestamp) -> Result<bool, StorageError>;
    async fn find(&mut self, id: &InvoiceId) -> Result<Option<Invoice>, StorageError>;
    async fn find_all(&mut self, ids: &[InvoiceId]) -> Result<Vec<Invoice>, StorageError>;
    async fn items(&mut self, id: &InvoiceId) -> Result<Vec<InvoiceItem>, StorageError>;
    /// The lines of several invoices, those of each invoice in their order.
    async fn items_of(&mut self, ids: &[InvoiceId]) -> Result<Vec<InvoiceItem>, StorageError>;
    /// The lines of a subscription's numbered invoices that cover `at`: see [`InvoiceItem::covers`]. In the order of their ids.
    async fn items_covering(&mut self, subscription: &SubscriptionId, at: Timestamp) -> Result<Vec<InvoiceItem>, StorageError>;
    /// The lines of numbered invoices that bill a subscription item for time from `since` on and can still give something, newest first.
    async fn items_billing(&mut self, item: &SubscriptionItemId, since: Timestamp) -> Result<Vec<InvoiceItem>, StorageError>;
    /// Writes what credit notes gave of lines. False: one of them gave something else before, and the unit of work must be dropped.
    async fn credit_items(&mut self, credits: &[ItemCredit]) -> Result<bool, StorageError>;
    /// Newest first.
    async fn list(&mut self, mode: Mode, filter: &InvoiceFilter, page: &Page) -> Result<Listed<Invoice>, StorageError>;
    /// The uncollectible ones of a customer, oldest first, however many.
    async fn overdue(&mut self, customer: &CustomerId) -> Result<Vec<Invoice>, StorageError>;
    /// The uncollectible ones of a subscription, oldest first, however many.
    async fn overdue_of(&mut self, subscription: &SubscriptionId) -> Result<Vec<Invoice>, StorageError>;
    /// When an uncollectible one is tried again automatically.
    async fn schedule(&mut self, id: &InvoiceId, retry_at: Option<Timestamp>) -> Result<(), StorageError>;
    /// The open and the uncollectible ones of a subscription, oldest first.
    async fn unpaid_of(&mut self, subscription: &SubscriptionId) -> Result<Vec<Invoice>, StorageError>;
    /// The open and the uncollectible ones of a customer in a currency, oldest first, at most `limit`.
    async fn unpaid_in(&mut self, customer: &CustomerId, currency: &CurrencyId, limit: u32) -> Result<Vec<Invoice>, StorageError>;
    /// When the time begins that the latest one for this reason bills for.
    async fn last_start(&mut self, subscription: &SubscriptionId, reason: BillingReason) -> Result<Option<Timestamp>, StorageError>;
    /// Takes those whose time to be tried again has come: their `retry_at` is cleared, so that nobody else takes them.
    async fn claim_retries(&mut self, scope: &Scope, now: Timestamp, limit: u32) -> Result<Vec<Invoice>, StorageError>;
    /// When the next one of a clock is tried again.
    async fn next_retry(&mut self, clock: &ClockId) -> Result<Option<Timestamp>, StorageError>;
    /// Nothing of a subscription is tried again automatically.
    async fn stop_retries(&mut self, subscription: &SubscriptionId, now: Timestamp) -> Result<(), StorageError>;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_number_is_read_as_people_write_it_and_none_that_no_database_counts_to() {
        for mode in [Mode::Live, Mode::Test] {
            let invoice = series(mode, DocumentType::Invoice);
            let statement = series(mode, DocumentType::Statement);
            for text in ["42", " 000042 ", &format!("{invoice}-000042"), &format!("{}-42", statement.to_ascii_lowercase())] {
                assert_eq!(read_number(text, mode), Some(42), "{text}");
            }
        }
        for text in ["", "-42", "4 2", "9999999999999999999", "99999999999999999999999"] {
            assert_eq!(read_number(text, Mode::Live), None, "{text}");
        }
    }
}
