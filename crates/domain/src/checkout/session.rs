//! Checkout sessions: one visit to the till.

use super::{FormOptions, LineItem, SessionMode, SubscriptionTerms};
use crate::access::Did;
use crate::customer::{Contact, CustomerStatus};
use crate::payment::{Currency, Method};
use crate::pricing::Metadata;
use crate::shared::{
    Amount, CurrencyId, CustomerId, InvoiceId, Listed, MandateId, MethodId, Mode, Page, PaymentIntentId, PaymentLinkId, SessionId, StakeId,
    StorageError, SubscriptionId, Timestamp,
};
use async_trait::async_trait;
use std::time::Duration;

/// How long a session can be paid, unless its maker says otherwise.
pub const SESSION_LIFETIME: Duration = Duration::from_secs(24 * 3_600);
/// The longest lifetime its maker may ask for.
pub const SESSION_LIFETIME_MAX: Duration = Duration::from_secs(30 * 24 * 3_600);
/// SPEC.md 9: repeated starts of one link by one visitor within this window give one session.
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

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Session {
    pub id: SessionId,
    pub mode: Mode,
    pub kind: SessionMode,
    pub status: SessionStatus,
    pub payment_status: PaymentStatus,
    pub link_id: Option<PaymentLinkId>,
    pub items: Vec<LineItem>,
    /// The currency it began with, then the one it was submitted in.
    pub currency_id: CurrencyId,
    pub form: FormOptions,
    pub terms: SubscriptionTerms,
    /// Whether what is offered beside the items must be taken.
    pub requires_cross_sell: bool,
    pub success_url: Option<String>,
    pub cancel_url: Option<String>,
    /// Whose it is, from the first submit on. Nobody else can submit it then.
    pub payer: Option<Did>,
    pub customer_id: Option<CustomerId>,
    pub contact: Option<Contact>,
    pub method_id: Option<MethodId>,
    pub intent_id: Option<PaymentIntentId>,
    pub invoice_id: Option<InvoiceId>,
    /// The subscriptions that it begins, named at submit; their rows are written when it completes.
    pub subscription_ids: Vec<SubscriptionId>,
    /// The permission that they are charged by.
    pub mandate_id: Option<MandateId>,
    /// Secures the subscriptions that it begins. It is placed for the first of them.
    pub stake_id: Option<StakeId>,
    /// When the trial ends, as it was reckoned at submit.
    pub trial_end: Option<Timestamp>,
    pub amount_total: Amount,
    pub metadata: Metadata,
    pub expires_at: Timestamp,
    pub created_at: Timestamp,
    pub updated_at: Timestamp,
    /// Counts changes; each write names the one it read.
    pub version: u64,
}

impl Session {
    /// SPEC.md 4: complete and paid, or complete with nothing to pay.
    #[must_use]
    pub const fn is_complete(&self) -> bool {
        matches!(self.status, SessionStatus::Complete)
            && matches!(self.payment_status, PaymentStatus::Paid | PaymentStatus::NoPaymentRequired)
    }

    /// SPEC.md 4: expired when `expires_at` is not later than now. A complete session does not expire.
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

/// What [`CheckoutSessions::load_for_submit`] finds.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SubmitContext {
    pub session: Session,
    /// `None`: there is no such method, or it has no such currency.
    pub method: Option<(Method, Currency)>,
    /// `None`: the payer has never bought here.
    pub standing: Option<CustomerStatus>,
}

/// A session whose time is over, and since when.
pub type DueSession = (Timestamp, SessionId);

#[async_trait]
pub trait CheckoutSessions: Send {
    async fn insert(&mut self, session: &Session) -> Result<(), StorageError>;
    async fn find(&mut self, id: &SessionId) -> Result<Option<Session>, StorageError>;
    /// What a submit is judged by: a session, with the method and currency that were chosen, and how the payer stands with the store.
    async fn load_for_submit(
        &mut self,
        id: &SessionId,
        method: &MethodId,
        currency: &CurrencyId,
        payer: &Did,
    ) -> Result<Option<SubmitContext>, StorageError>;
    /// Writes a changed session if it still has the version that was read, and counts the version up. False: somebody was faster.
    async fn update(&mut self, session: &Session) -> Result<bool, StorageError>;
    /// As [`CheckoutSessions::update`], where nothing more is decided by the answer: when somebody was faster, the unit of work fails with
    /// [`StorageError::Conflict`], at the latest when it commits.
    async fn update_or_conflict(&mut self, session: &Session) -> Result<(), StorageError>;
    async fn list(&mut self, mode: Mode, filter: &SessionFilter, page: &Page) -> Result<Listed<Session>, StorageError>;
    /// Claims a start: answers `session` when this visitor has not started this link since `since`,
    /// else the session of that earlier start. Of several at once, all get the same answer.
    async fn claim_start(&mut self, key: &str, session: &SessionId, now: Timestamp, since: Timestamp) -> Result<SessionId, StorageError>;
    /// Ends open sessions that were never submitted and whose time is over, by one conditional update. Answers how many.
    async fn expire_idle(&mut self, now: Timestamp, limit: u32) -> Result<u64, StorageError>;
    /// Open sessions whose time is over, oldest first, beginning after the last one seen.
    async fn due_for_expiry(&mut self, now: Timestamp, after: Option<&DueSession>, limit: u32) -> Result<Vec<DueSession>, StorageError>;
}
