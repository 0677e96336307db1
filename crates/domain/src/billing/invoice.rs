//! Invoices: a draft from submit, numbered when they become payable or paid (invariant 11).

use super::{Calculation, Period, Scope};
use crate::customer::Address;
use crate::shared::{
    Amount, ClockId, CurrencyId, CustomerId, InvoiceId, InvoiceItemId, Listed, MethodId, Mode, Page, PaymentIntentId, PriceId, SessionId,
    StorageError, SubscriptionId, Timestamp,
};
use async_trait::async_trait;
use std::time::Duration;

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

/// What happens to an invoice, as [`Invoices`] writes it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum InvoiceChange {
    /// A draft is put anew: its checkout changed.
    Rewrite,
    Pay,
    /// A collection of it was refused.
    Refuse,
    /// When it is tried again by itself is settled.
    Schedule,
    /// Nothing is asked for any more; the number stays.
    Void,
    /// The checkout ended without it.
    VoidDraft,
}

impl InvoiceChange {
    pub const ALL: [Self; 6] = [Self::Rewrite, Self::Pay, Self::Refuse, Self::Schedule, Self::Void, Self::VoidDraft];
}

/// A change that the status does not allow.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("an invoice that is {} does not allow: {change:?}", status.name())]
pub struct IllegalInvoiceChange {
    pub status: InvoiceStatus,
    pub change: InvoiceChange,
}

impl InvoiceStatus {
    /// The status after a change. [`Invoices`] refuses the same ones, by conditional updates.
    pub const fn after(self, change: InvoiceChange) -> Result<Self, IllegalInvoiceChange> {
        Ok(match (self, change) {
            (Self::Draft, InvoiceChange::Rewrite) => Self::Draft,
            (Self::Draft | Self::Open | Self::Uncollectible, InvoiceChange::Pay) => Self::Paid,
            (Self::Open | Self::Uncollectible, InvoiceChange::Refuse) | (Self::Uncollectible, InvoiceChange::Schedule) => {
                Self::Uncollectible
            }
            (Self::Open | Self::Uncollectible, InvoiceChange::Void) | (Self::Draft, InvoiceChange::VoidDraft) => Self::Void,
            (Self::Draft, InvoiceChange::Refuse | InvoiceChange::Schedule | InvoiceChange::Void)
            | (Self::Open, InvoiceChange::Rewrite | InvoiceChange::Schedule | InvoiceChange::VoidDraft)
            | (Self::Uncollectible, InvoiceChange::Rewrite | InvoiceChange::VoidDraft)
            | (Self::Paid | Self::Void, _) => return Err(IllegalInvoiceChange { status: self, change }),
        })
    }
}

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
}

impl BillingReason {
    pub const ALL: [Self; 11] = [
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
        }
    }

    #[must_use]
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|reason| reason.name() == name)
    }

    /// Deposits and what becomes of them: they are no price of anything.
    #[must_use]
    pub const fn is_stake(self) -> bool {
        matches!(self, Self::SlashStake | Self::Stake | Self::ReturnStake | Self::SubscriptionRecover)
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
    pub subscription_id: Option<SubscriptionId>,
    /// What it bills for, where it bills for time. One invoice for each subscription, start and reason (invariant 2).
    pub period: Option<Period>,
    pub intent_id: Option<PaymentIntentId>,
    /// The transaction that it tells of, where no intent does: of a stake, its return or its taking, or of funds.
    pub reference: Option<String>,
    pub bill_to: BillTo,
    pub total: Amount,
    pub amount_paid: Amount,
    /// How often its collection was refused.
    pub refusals: u32,
    /// When collection is tried again by itself.
    pub retry_at: Option<Timestamp>,
    /// The customer's test clock.
    pub clock_id: Option<ClockId>,
    pub created_at: Timestamp,
    pub finalized_at: Option<Timestamp>,
    pub paid_at: Option<Timestamp>,
    pub updated_at: Timestamp,
}

impl Invoice {
    /// `SOUK-000042`, or `SOUK-TEST-000042` in test mode; `None` while it is a draft.
    #[must_use]
    pub fn number_text(&self) -> Option<String> {
        self.number.map(|number| format!("{}-{number:06}", series(self.mode)))
    }
}

/// What the numbers of a mode begin with.
const fn series(mode: Mode) -> &'static str {
    if mode.is_live() { "SOUK" } else { "SOUK-TEST" }
}

/// The number that a text names, as invoices write it, in whatever letters, or by itself: `SOUK-000042`, `000042`, `42`.
#[must_use]
pub fn read_number(text: &str, mode: Mode) -> Option<u64> {
    let text = text.trim().to_ascii_uppercase();
    let digits = text.strip_prefix(series(mode)).and_then(|rest| rest.strip_prefix('-')).unwrap_or(&text);
    let number = digits.bytes().all(|byte| byte.is_ascii_digit()).then(|| digits.parse().ok()).flatten();
    // No series comes to what no database can count.
    number.filter(|number| i64::try_from(*number).is_ok())
}

/// A line of an invoice, with the inputs and the formula of its amount.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct InvoiceItem {
    pub id: InvoiceItemId,
    pub invoice_id: InvoiceId,
    pub price_id: Option<PriceId>,
    pub description: String,
    pub quantity: u64,
    pub unit_amount: Amount,
    pub amount: Amount,
    /// What time it bills for; metered items and proration differ from their invoice.
    pub period: Option<Period>,
    pub calculation: Calculation,
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
    /// Leaves out invoices of amount zero, but for those that credit has paid: there is something to read, and to give back.
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
    /// The next `count` numbers of a mode's series, the first of them. Whoever asks next waits until this unit of work ends.
    async fn take_numbers(&mut self, mode: Mode, count: u32) -> Result<u64, StorageError>;
    /// Inserts a finalized invoice with its number. [`StorageError::Duplicate`] when its subscription, start and reason have
    /// one already (invariant 2), and the unit of work must be dropped.
    async fn insert_final(&mut self, invoice: &Invoice, items: &[InvoiceItem]) -> Result<(), StorageError> {
        self.insert_final_all(&[(invoice.clone(), items.to_vec())]).await
    }
    /// As [`Invoices::insert_final`], all or none.
    async fn insert_final_all(&mut self, invoices: &[(Invoice, Vec<InvoiceItem>)]) -> Result<(), StorageError>;
    /// Draft, open or uncollectible to paid, and gives it the next number of its mode if it has none, in one unit of work.
    /// Answers the status it had; `None` when it was paid or void already.
    async fn pay(
        &mut self,
        id: &InvoiceId,
        amount: Amount,
        intent: Option<&PaymentIntentId>,
        now: Timestamp,
    ) -> Result<Option<InvoiceStatus>, StorageError>;
    /// A refused collection: open to uncollectible, one refusal more, and when it is tried again.
    async fn refuse(&mut self, id: &InvoiceId, retry_at: Option<Timestamp>, now: Timestamp) -> Result<bool, StorageError>;
    /// Open or uncollectible to void, keeping its number. False when it is paid, void or a draft.
    async fn void(&mut self, id: &InvoiceId, now: Timestamp) -> Result<bool, StorageError>;
    /// Draft to void, without a number. False when it is no draft.
    async fn void_draft(&mut self, id: &InvoiceId, now: Timestamp) -> Result<bool, StorageError>;
    async fn find(&mut self, id: &InvoiceId) -> Result<Option<Invoice>, StorageError>;
    async fn find_all(&mut self, ids: &[InvoiceId]) -> Result<Vec<Invoice>, StorageError>;
    async fn items(&mut self, id: &InvoiceId) -> Result<Vec<InvoiceItem>, StorageError>;
    /// The same of several, each one's in its order.
    async fn items_of(&mut self, ids: &[InvoiceId]) -> Result<Vec<InvoiceItem>, StorageError>;
    /// Newest first.
    async fn list(&mut self, mode: Mode, filter: &InvoiceFilter, page: &Page) -> Result<Listed<Invoice>, StorageError>;
    /// The uncollectible ones of a customer, oldest first, however many.
    async fn overdue(&mut self, customer: &CustomerId) -> Result<Vec<Invoice>, StorageError>;
    /// The uncollectible ones of a subscription, oldest first, however many.
    async fn overdue_of(&mut self, subscription: &SubscriptionId) -> Result<Vec<Invoice>, StorageError>;
    /// When an uncollectible one is tried again by itself.
    async fn schedule(&mut self, id: &InvoiceId, retry_at: Option<Timestamp>) -> Result<(), StorageError>;
    /// The open and the uncollectible ones of a subscription, oldest first.
    async fn unpaid_of(&mut self, subscription: &SubscriptionId) -> Result<Vec<Invoice>, StorageError>;
    /// Those of a subscription with a number that bill for time from `start` on, the last issued first, at most `limit`.
    async fn issued_since(&mut self, subscription: &SubscriptionId, start: Timestamp, limit: u32) -> Result<Vec<Invoice>, StorageError>;
    /// Those of a subscription with a number that bill for time within the period around `at`: from the invoice that began it on, in the
    /// order of their numbers, the last `limit` of them; and the one that begins the next period.
    async fn of_period(&mut self, subscription: &SubscriptionId, at: Timestamp, limit: u32) -> Result<Vec<Invoice>, StorageError>;
    /// When the time begins that the latest one for this reason bills for.
    async fn last_start(&mut self, subscription: &SubscriptionId, reason: BillingReason) -> Result<Option<Timestamp>, StorageError>;
    /// By how much, together, those for this reason that were written after `since` are dated back: the time for which they bill
    /// began so long before they were written.
    async fn dated_back(
        &mut self,
        subscription: &SubscriptionId,
        reason: BillingReason,
        since: Timestamp,
    ) -> Result<Duration, StorageError>;
    /// Takes those whose time to be tried again has come: their `retry_at` is cleared, so that nobody else takes them.
    async fn claim_retries(&mut self, scope: &Scope, now: Timestamp, limit: u32) -> Result<Vec<Invoice>, StorageError>;
    /// When the next one of a clock is tried again.
    async fn next_retry(&mut self, clock: &ClockId) -> Result<Option<Timestamp>, StorageError>;
    /// Nothing of a subscription is tried again by itself.
    async fn stop_retries(&mut self, subscription: &SubscriptionId, now: Timestamp) -> Result<(), StorageError>;
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn each_illegal_change_is_refused_by_name() {
        use InvoiceChange as C;
        use InvoiceStatus as S;
        let legal = [
            (S::Draft, C::Rewrite, S::Draft),
            (S::Draft, C::Pay, S::Paid),
            (S::Draft, C::VoidDraft, S::Void),
            (S::Open, C::Pay, S::Paid),
            (S::Open, C::Refuse, S::Uncollectible),
            (S::Open, C::Void, S::Void),
            (S::Uncollectible, C::Pay, S::Paid),
            (S::Uncollectible, C::Refuse, S::Uncollectible),
            (S::Uncollectible, C::Schedule, S::Uncollectible),
            (S::Uncollectible, C::Void, S::Void),
        ];
        for status in S::ALL {
            for change in C::ALL {
                let expected = legal.iter().find(|(from, by, _)| *from == status && *by == change).map(|(_, _, to)| *to);
                assert_eq!(status.after(change), expected.ok_or(IllegalInvoiceChange { status, change }), "{status:?} {change:?}");
            }
        }
        let refused = IllegalInvoiceChange { status: S::Paid, change: C::VoidDraft };
        assert_eq!(refused.to_string(), "an invoice that is paid does not allow: VoidDraft");
    }

    proptest! {
        #[test]
        fn whatever_comes_paid_and_void_are_never_left_and_what_is_payable_is_no_draft_again(
            first in proptest::sample::select(InvoiceStatus::ALL.to_vec()),
            changes in proptest::collection::vec(proptest::sample::select(InvoiceChange::ALL.to_vec()), 0..20),
        ) {
            let mut status = first;
            for change in changes {
                let next = match status.after(change) {
                    Ok(next) => next,
                    Err(refused) => {
                        let text = format!("an invoice that is {} does not allow: {change:?}", status.name());
                        prop_assert_eq!(refused.to_string(), text);
                        status
                    }
                };
                let is_final = matches!(status, InvoiceStatus::Paid | InvoiceStatus::Void);
                prop_assert!(!is_final || next == status, "{:?} {:?}", status, change);
                prop_assert!(next != InvoiceStatus::Draft || status == InvoiceStatus::Draft, "{:?} {:?}", status, change);
                // Nothing becomes open but by being issued so, and a refusal is never taken back.
                prop_assert!(next != InvoiceStatus::Open || status == InvoiceStatus::Open, "{:?} {:?}", status, change);
                status = next;
            }
        }
    }

    #[test]
    fn a_number_is_read_as_people_write_it_and_none_that_no_database_counts_to() {
        for text in ["42", " 000042 ", "SOUK-000042", "souk-42"] {
            let text = text.replace("SOUK", series(Mode::Live)).replace("souk", &series(Mode::Live).to_ascii_lowercase());
            assert_eq!(read_number(&text, Mode::Live), Some(42), "{text}");
        }
        for text in ["", "-42", "4 2", "9999999999999999999", "99999999999999999999999"] {
            assert_eq!(read_number(text, Mode::Live), None, "{text}");
        }
    }
}
