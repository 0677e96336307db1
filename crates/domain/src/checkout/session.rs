//! Checkout sessions.

use super::{FormOptions, LineItem, SessionMode, SubscriptionTerms};
use crate::access::Did;
use crate::customer::{Contact, CustomerStatus};
use crate::operation::VisitorNetwork;
use crate::payment::{Currency, Method};
use crate::pricing::Metadata;
use crate::shared::{
    Amount, CurrencyId, CustomerId, InvoiceId, Listed, MandateId, MethodId, Mode, Page, PaymentIntentId, PaymentLinkId, SessionId, StakeId,
    StorageError, SubscriptionId, Timestamp,
};
use async_trait::async_trait;
use std::time::Duration;

/// The default lifetime of a session.
pub const SESSION_LIFETIME: Duration = Duration::from_secs(24 * 3_600);
/// The longest lifetime that the creator of a session can request.
pub const SESSION_LIFETIME_MAX: Duration = Duration::from_secs(30 * 24 * 3_600);
/// Repeated starts of one link by one visitor within this window return the same session (SPEC.md 9).
pub const START_WINDOW: Duration = Duration::from_secs(3);

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum SessionStatus {
    Open,
    Complete,
    Expired,
}

impl SessionStatus {
    pub const ALL: [Self; 3] = [Self::Open, Self::Complete, Self::Expired];

    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Open => "open",
            Self::Complete => "complete",
            Self::Expired => "expired",
        }
    }

    #[must_use]
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|status| status.name() == name)
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum PaymentStatus {
    Unpaid,
    Paid,
    NoPaymentRequired,
}

impl PaymentStatus {
    pub const ALL: [Self; 3] = [Self::Unpaid, Self::Paid, Self::NoPaymentRequired];

    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Unpaid => "unpaid",
            Self::Paid => "paid",
            Self::NoPaymentRequired => "no_payment_required",
        }
    }

    #[must_use]
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|status| status.name() == name)
    }
}

/// A hash of the visitor cookie of a browser.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BrowserMark(pub String);

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Session {
    pub id: SessionId,
    pub mode: Mode,
    pub kind: SessionMode,
    pub status: SessionStatus,
    pub payment_status: PaymentStatus,
    pub link_id: Option<PaymentLinkId>,
    pub items: Vec<LineItem>,
    /// The initial currency; after a submit, the submitted one.
    pub currency_id: CurrencyId,
    pub form: FormOptions,
    pub terms: SubscriptionTerms,
    /// Whether the offered cross-sell must be added.
    pub requires_cross_sell: bool,
    pub success_url: Option<String>,
    pub cancel_url: Option<String>,
    /// The browser that started or last submitted it, as [`BrowserMark`] names it. Its pages receive the session's realtime events.
    pub browser: Option<BrowserMark>,
    /// The user who submitted it first. Nobody else can submit it then.
    pub payer: Option<Did>,
    pub customer_id: Option<CustomerId>,
    pub contact: Option<Contact>,
    pub method_id: Option<MethodId>,
    pub intent_id: Option<PaymentIntentId>,
    pub invoice_id: Option<InvoiceId>,
    /// The ids of its subscriptions, allocated at submit; their rows are inserted when it completes.
    pub subscription_ids: Vec<SubscriptionId>,
    /// The mandate that its subscriptions are charged by.
    pub mandate_id: Option<MandateId>,
    /// The stake that secures its subscriptions, placed for the first of them.
    pub stake_id: Option<StakeId>,
    /// The end of the trial, as computed at submit.
    pub trial_end: Option<Timestamp>,
    pub amount_total: Amount,
    pub metadata: Metadata,
    pub expires_at: Timestamp,
    pub created_at: Timestamp,
    pub updated_at: Timestamp,
    /// Optimistic lock: each write names the version that it read, and increases it.
    pub version: u64,
}

impl Session {
    /// Whether it is complete and paid, or complete with nothing to pay (SPEC.md 4).
    #[must_use]
    pub const fn is_complete(&self) -> bool {
        matches!(self.status, SessionStatus::Complete)
            && matches!(self.payment_status, PaymentStatus::Paid | PaymentStatus::NoPaymentRequired)
    }

    /// Whether `expires_at` is not later than `now` (SPEC.md 4). A complete session does not expire.
    #[must_use]
    pub fn is_expired(&self, now: Timestamp) -> bool {
        match self.status {
            SessionStatus::Expired => true,
            SessionStatus::Open => self.expires_at <= now,
            SessionStatus::Complete => false,
        }
    }
}

#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct SessionFilter {
    pub statuses: Vec<SessionStatus>,
    pub link: Option<PaymentLinkId>,
    pub metadata: Metadata,
}

/// The result of [`CheckoutSessions::load_for_submit`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SubmitContext {
    pub session: Session,
    /// `None`: the method does not exist, or does not have the currency.
    pub chosen: Option<ChosenMethod>,
    /// `None`: the payer has never bought from this store.
    pub customer_status: Option<CustomerStatus>,
}

/// The payment method and the currency that a payer chose.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ChosenMethod {
    pub method: Method,
    pub currency: Currency,
}

/// An expired session: its `expires_at` and its id.
pub type DueSession = (Timestamp, SessionId);

#[async_trait]
pub trait CheckoutSessions: Send {
    /// Inserts a session that an integrator created.
    async fn insert(&mut self, session: &Session) -> Result<(), StorageError>;
    /// Inserts a session that a visitor started from a link.
    async fn insert_started(&mut self, session: &Session, visitor: &VisitorNetwork) -> Result<(), StorageError>;
    async fn find(&mut self, id: &SessionId) -> Result<Option<Session>, StorageError>;
    /// Locks and returns a session until this unit of work ends.
    async fn lock(&mut self, id: &SessionId) -> Result<Option<Session>, StorageError>;
    /// Reads what a submit is checked against: the session, the chosen method and currency, and the payer's customer status.
    async fn load_for_submit(
        &mut self,
        id: &SessionId,
        method: &MethodId,
        currency: &CurrencyId,
        payer: &Did,
    ) -> Result<Option<SubmitContext>, StorageError>;
    /// The number of submitted orders that wait for their payment and were started by the visitor who started this session, in its mode; at
    /// most `limit`. Zero for a session that an integrator created.
    async fn count_waiting_of_visitor(&mut self, id: &SessionId, limit: u32) -> Result<u32, StorageError>;
    /// The number of the payer's other open orders of the session's mode that reserve limited stock, at most `limit`.
    async fn count_reserving(&mut self, session: &Session, payer: &Did, limit: u32) -> Result<u32, StorageError>;
    /// Writes a session if it still has the version that was read, and increases the version. False: it was changed meanwhile.
    async fn update(&mut self, session: &Session) -> Result<bool, StorageError>;
    /// As [`CheckoutSessions::update`], but if the session was changed meanwhile, the unit of work fails with [`StorageError::Conflict`],
    /// at the latest on commit.
    async fn update_or_conflict(&mut self, session: &Session) -> Result<(), StorageError>;
    async fn list(&mut self, mode: Mode, filter: &SessionFilter, page: &Page) -> Result<Listed<Session>, StorageError>;
    /// Claims a start: returns `session` if this visitor has not started this link since `since`, else the session of that earlier start.
    /// Concurrent callers get the same answer.
    async fn claim_start(&mut self, key: &str, session: &SessionId, now: Timestamp, since: Timestamp) -> Result<SessionId, StorageError>;
    /// Expires due open sessions that were never submitted, by one conditional update. Returns their number.
    async fn expire_idle(&mut self, now: Timestamp, limit: u32) -> Result<u64, StorageError>;
    /// Deletes expired sessions that a visitor started from a link before `before` and never submitted, oldest first. Returns their number.
    async fn prune_unsubmitted(&mut self, before: Timestamp, limit: u32) -> Result<u64, StorageError>;
    /// Deletes unpaid orders, oldest first, with everything that was written for them. Returns their number. An unpaid order was started by a
    /// visitor from a link, was submitted, has expired, and has not changed since `before`. Must keep an order for which money moved or can
    /// still move, or that has a deposit, taken stock or a numbered document. A settled mandate moves no money.
    async fn prune_unpaid(&mut self, before: Timestamp, limit: u32) -> Result<u64, StorageError>;
    /// The number of orders that [`CheckoutSessions::prune_unpaid`] would delete, at most `limit`, so that counting takes bounded time.
    async fn count_unpaid(&mut self, before: Timestamp, limit: u32) -> Result<u32, StorageError>;
    /// The `limit` unpaid orders to delete first among the oldest `among`, ranked as in
    /// [`crate::operation::StoredByVisitors::first_to_delete`].
    async fn first_unpaid(&mut self, before: Timestamp, limit: u32, among: u32) -> Result<Vec<SessionId>, StorageError>;
    /// As [`CheckoutSessions::prune_unpaid`], for those of these orders that may still be deleted.
    async fn delete_unpaid(&mut self, orders: &[SessionId], before: Timestamp) -> Result<u64, StorageError>;
    /// Open sessions whose stock is reserved, which were last changed until `before`, and for which no attempt is open or unknown. Those that
    /// have waited longest come first.
    async fn with_idle_stock(&mut self, before: Timestamp, limit: u32) -> Result<Vec<SessionId>, StorageError>;
    /// Open sessions whose `expires_at` has passed, oldest first, after the passed one.
    async fn due_for_expiry(&mut self, now: Timestamp, after: Option<&DueSession>, limit: u32) -> Result<Vec<DueSession>, StorageError>;
}
