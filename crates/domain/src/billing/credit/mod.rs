//! Credit notes, the only way to return what an invoice charged (billing model, section 2, "Credit notes"), and what networks take back:
//! disputes, late failures and refunds in the provider's dashboard.

mod allocation;
mod card_check;
mod card_payment;
mod create;
mod daily_cap;
mod dashboard_refund;
mod dispute;
mod dispute_change;
mod dispute_posting;
mod issue;
mod order_refund;
mod payout;
mod provider_refund;
mod refund;
mod refund_hold;
mod suspense;
mod undo;

use super::{NoteError, SendRefundError};
pub(crate) use allocation::Destination;
pub use card_check::{CardCheckError, check_card_payment};
pub use create::{CreateNoteError, CreditNoteOrder, CreditNotePreview, CreditTo, OrderedItem, create_credit_note, preview_credit_note};
pub(crate) use daily_cap::{OrderedBy, publish_refunds};
pub use dispute::{DisputeError, record_dispute};
pub(super) use dispute_posting::is_contested;
pub use issue::IssuedNote;
pub(crate) use issue::{ItemOrder, NewNote, NoteOrder, credit_everything, issue_note, issue_notes};
pub(crate) use order_refund::refund_fully;
pub use order_refund::{RefundError, RefundOrder, Refundable, RefundedNote, refund_invoice, refund_payment, refundable};
pub use payout::{PayoutError, PayoutOrder, pay_out_balance, payout_limit};
pub use provider_refund::{ProviderRefundError, record_provider_refund};
pub use refund::RefundAttempt;
pub use refund::{RefundDecisionError, RetryRefundError, move_refund_to_balance, refund_failed_later, retry_refund};
pub(crate) use refund::{refund_declined, refund_settled, retry_refund_as};
pub(super) use refund_hold::{UnsentPart, post_excess_refund, record_short_refund};
pub use suspense::{ResolvedSuspense, SuspenseError, SuspenseTo, resolve_suspense};
pub(super) use undo::{lock_paid_by, take_newest_first};

use super::PricingFormula;
use crate::shared::{
    Amount, CreditNoteId, CurrencyId, CustomerId, InvoiceId, InvoiceItemId, Listed, MethodId, Mode, Page, StorageError, SubscriptionId,
    Timestamp,
};
use async_trait::async_trait;
use std::time::Duration;

/// Why a credit note was written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum CreditNoteReason {
    PlanChange,
    Cancellation,
    UsageCorrection,
    Duplicate,
    Fraudulent,
    Dispute,
    Other,
}

impl CreditNoteReason {
    pub const ALL: [Self; 7] =
        [Self::PlanChange, Self::Cancellation, Self::UsageCorrection, Self::Duplicate, Self::Fraudulent, Self::Dispute, Self::Other];

    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::PlanChange => "plan_change",
            Self::Cancellation => "cancellation",
            Self::UsageCorrection => "usage_correction",
            Self::Duplicate => "duplicate",
            Self::Fraudulent => "fraudulent",
            Self::Dispute => "dispute",
            Self::Other => "other",
        }
    }

    #[must_use]
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|reason| reason.name() == name)
    }

    /// Whether a fully credited line keeps its access: the customer now pays for something else instead.
    #[must_use]
    pub const fn keeps_access(self) -> bool {
        matches!(self, Self::PlanChange | Self::UsageCorrection)
    }
}

/// A final document: it never changes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CreditNote {
    pub id: CreditNoteId,
    pub mode: Mode,
    /// Its number in the mode's gapless series of credit notes.
    pub number: u64,
    pub invoice_id: InvoiceId,
    pub subscription_id: Option<SubscriptionId>,
    pub customer_id: CustomerId,
    pub currency_id: CurrencyId,
    pub method_id: MethodId,
    pub reason: CreditNoteReason,
    /// A note to the customer.
    pub memo: String,
    /// `due_reduced + to_balance + refunded`.
    pub total: Amount,
    /// The reduction of the invoice's amount due.
    pub due_reduced: Amount,
    pub to_balance: Amount,
    /// Refunded over networks, pending refunds included.
    pub refunded: Amount,
    pub created_at: Timestamp,
}

impl CreditNote {
    #[must_use]
    pub fn number_text(&self) -> String {
        super::DocumentType::CreditNote.number_text(self.mode, self.number)
    }
}

/// The part of a credit note for one invoice line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CreditNoteItem {
    pub note_id: CreditNoteId,
    pub invoice_item_id: InvoiceItemId,
    pub amount: Amount,
    /// Whether access to what the line paid for ends.
    pub revokes: bool,
    /// How the amount was computed, if unused time was credited.
    pub pricing_formula: Option<PricingFormula>,
}

/// Filters the list of credit notes. `None` matches any value.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct CreditNoteFilter {
    pub customer_id: Option<CustomerId>,
    pub invoice_id: Option<InvoiceId>,
    pub subscription_id: Option<SubscriptionId>,
}

#[async_trait]
pub trait CreditNotes: Send {
    /// Inserts notes, and their items in order within each note.
    async fn insert_all(&mut self, notes: &[CreditNote], items: &[CreditNoteItem]) -> Result<(), StorageError>;
    /// As [`CreditNotes::insert_all`], for one note.
    async fn insert(&mut self, note: &CreditNote, items: &[CreditNoteItem]) -> Result<(), StorageError> {
        self.insert_all(std::slice::from_ref(note), items).await
    }
    async fn find(&mut self, id: &CreditNoteId) -> Result<Option<CreditNote>, StorageError>;
    /// The items of these notes, in order within each note.
    async fn items_of(&mut self, notes: &[CreditNoteId]) -> Result<Vec<CreditNoteItem>, StorageError>;
    /// The total time by which the plan changes of a subscription made after `since` were backdated, and thus credited time that had passed
    /// already.
    async fn backdated(&mut self, subscription: &SubscriptionId, since: Timestamp) -> Result<Duration, StorageError>;
    /// Lists credit notes, newest first.
    async fn list(&mut self, mode: Mode, filter: &CreditNoteFilter, page: &Page) -> Result<Listed<CreditNote>, StorageError>;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_reason_round_trips_by_name() {
        for reason in CreditNoteReason::ALL {
            assert_eq!(CreditNoteReason::from_name(reason.name()), Some(reason));
        }
    }
}
