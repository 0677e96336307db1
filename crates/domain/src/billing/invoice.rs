//! Invoices: a draft from submit, numbered when they become payable or paid (invariant 11).

use crate::customer::Address;
use crate::shared::{
    Amount, CurrencyId, CustomerId, InvoiceId, InvoiceItemId, Listed, MethodId, Mode, Page, PaymentIntentId, PriceId, SessionId,
    StorageError, Timestamp,
};
use async_trait::async_trait;

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum InvoiceStatus {
    Draft,
    Open,
    Paid,
    Uncollectible,
    Void,
}

impl InvoiceStatus {
    pub const ALL: [Self; 5] = [Self::Draft, Self::Open, Self::Paid, Self::Uncollectible, Self::Void];

    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Draft => "draft",
            Self::Open => "open",
            Self::Paid => "paid",
            Self::Uncollectible => "uncollectible",
            Self::Void => "void",
        }
    }

    #[must_use]
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|status| status.name() == name)
    }
}

/// Why an invoice was written (SPEC.md 3). One-time purchases are `manual`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum BillingReason {
    Manual,
}

impl BillingReason {
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Manual => "manual",
        }
    }

    #[must_use]
    pub fn from_name(name: &str) -> Option<Self> {
        (name == "manual").then_some(Self::Manual)
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

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Invoice {
    pub id: InvoiceId,
    pub mode: Mode,
    /// Given on finalization, without gaps, in one series for each mode.
    pub number: Option<u64>,
    pub status: InvoiceStatus,
    pub reason: BillingReason,
    pub description: String,
    pub customer_id: CustomerId,
    pub currency_id: CurrencyId,
    pub method_id: MethodId,
    pub session_id: Option<SessionId>,
    pub intent_id: Option<PaymentIntentId>,
    pub bill_to: BillTo,
    pub total: Amount,
    pub amount_paid: Amount,
    pub created_at: Timestamp,
    pub finalized_at: Option<Timestamp>,
    pub paid_at: Option<Timestamp>,
    pub updated_at: Timestamp,
}

impl Invoice {
    /// `SOUK-000042`, or `SOUK-TEST-000042` in test mode; `None` while it is a draft.
    #[must_use]
    pub fn number_text(&self) -> Option<String> {
        let series = if self.mode.is_live() { "SOUK" } else { "SOUK-TEST" };
        self.number.map(|number| format!("{series}-{number:06}"))
    }
}

/// A line of an invoice, with the inputs of its amount: `unit_amount * quantity`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct InvoiceItem {
    pub id: InvoiceItemId,
    pub invoice_id: InvoiceId,
    pub price_id: Option<PriceId>,
    pub description: String,
    pub quantity: u64,
    pub unit_amount: Amount,
    pub amount: Amount,
}

#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct InvoiceFilter {
    /// Empty: any.
    pub statuses: Vec<InvoiceStatus>,
    pub customer_id: Option<CustomerId>,
    pub currency_id: Option<CurrencyId>,
    /// Leaves out invoices of amount zero.
    pub ignore_zero: bool,
}

#[async_trait]
pub trait Invoices: Send {
    /// Inserts a draft, or replaces the draft with this id and its items. False when it is no draft any more.
    async fn put_draft(&mut self, invoice: &Invoice, items: &[InvoiceItem]) -> Result<bool, StorageError>;
    /// Draft or open to paid, and gives it the next number of its mode if it has none, in one unit of work. False when it was paid or void already.
    async fn pay(&mut self, id: &InvoiceId, amount: Amount, now: Timestamp) -> Result<bool, StorageError>;
    /// Draft to void, without a number. False when it is no draft.
    async fn void_draft(&mut self, id: &InvoiceId, now: Timestamp) -> Result<bool, StorageError>;
    async fn find(&mut self, id: &InvoiceId) -> Result<Option<Invoice>, StorageError>;
    async fn items(&mut self, id: &InvoiceId) -> Result<Vec<InvoiceItem>, StorageError>;
    /// Newest first.
    async fn list(&mut self, mode: Mode, filter: &InvoiceFilter, page: &Page) -> Result<Listed<Invoice>, StorageError>;
}
