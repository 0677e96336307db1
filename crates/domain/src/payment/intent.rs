//! Payment intents and the attempts to settle them.

use super::{CardHolder, Decline, SavedCard};
use crate::access::Did;
use crate::pricing::Metadata;
use crate::shared::{
    Amount, AttemptId, ClockId, CurrencyId, CustomerId, InvoiceId, Listed, MandateId, MethodId, Mode, Page, PaymentIntentId, RefundId,
    SessionId, StakeId, StorageError, SubscriptionId, Timestamp,
};
use async_trait::async_trait;
use std::time::Duration;

/// The statuses of payment-kit.md 2 that this product moves through.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum IntentStatus {
    RequiresPaymentMethod,
    RequiresAction,
    Processing,
    Canceled,
    Succeeded,
}

impl IntentStatus {
    pub const ALL: [Self; 5] = [Self::RequiresPaymentMethod, Self::RequiresAction, Self::Processing, Self::Canceled, Self::Succeeded];

    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::RequiresPaymentMethod => "requires_payment_method",
            Self::RequiresAction => "requires_action",
            Self::Processing => "processing",
            Self::Canceled => "canceled",
            Self::Succeeded => "succeeded",
        }
    }

    #[must_use]
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|status| status.name() == name)
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Intent {
    pub id: PaymentIntentId,
    pub mode: Mode,
    pub status: IntentStatus,
    pub description: String,
    pub amount: Amount,
    pub amount_received: Amount,
    /// Reserved by refunds and pay-outs of the balance, or sent by them (invariant 8): never more than `amount_received`.
    pub amount_refunded: Amount,
    pub currency_id: CurrencyId,
    pub method_id: MethodId,
    pub customer_id: CustomerId,
    pub subscription_id: Option<SubscriptionId>,
    /// The checkout it belongs to; a renewal and a collection belong to none.
    pub session_id: Option<SessionId>,
    /// The invoices it pays, at least one; the first gives it its name.
    pub invoices: Vec<InvoiceId>,
    pub last_error: Option<Decline>,
    /// The network's name of the payment, once settled.
    pub reference: String,
    /// Who paid, as the network knows them.
    pub payer: String,
    /// What the store attached to it.
    pub metadata: Metadata,
    pub created_at: Timestamp,
    pub updated_at: Timestamp,
}

/// Where an attempt stands. `Open` and `Unknown` are open: the intent allows one of them at a time (invariant 1).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum AttemptStatus {
    /// Written down; perhaps sent.
    Open,
    /// Sent, and the answer was not seen. The reconciler asks.
    Unknown,
    Settled,
    Declined,
}

impl AttemptStatus {
    pub const ALL: [Self; 4] = [Self::Open, Self::Unknown, Self::Settled, Self::Declined];

    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Open => "open",
            Self::Unknown => "unknown",
            Self::Settled => "settled",
            Self::Declined => "declined",
        }
    }

    #[must_use]
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|status| status.name() == name)
    }

    #[must_use]
    pub const fn is_open(self) -> bool {
        matches!(self, Self::Open | Self::Unknown)
    }
}

/// The kinds of purposes that an attempt can have.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum PurposeKind {
    Payment,
    Mandate,
    Stake,
    ReturnStake,
    Slash,
    Refund,
    Recharge,
}

/// What an attempt is for. Each purpose of each object has one open attempt at a time (invariant 1).
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Purpose {
    Payment(PaymentIntentId),
    /// A permission to charge later is being given.
    Mandate(MandateId),
    /// A payment into a stake.
    Stake(StakeId),
    /// A part of a stake goes back to its payer.
    ReturnStake(StakeId),
    /// A part of a stake goes to the store.
    Slash(StakeId),
    Refund(RefundId),
    /// Funds for the account that a subscription is charged by. They pass by the store: its journal has no entry for them.
    Recharge(SubscriptionId),
}

impl Purpose {
    #[must_use]
    pub const fn kind(&self) -> PurposeKind {
        match self {
            Self::Payment(_) => PurposeKind::Payment,
            Self::Mandate(_) => PurposeKind::Mandate,
            Self::Stake(_) => PurposeKind::Stake,
            Self::ReturnStake(_) => PurposeKind::ReturnStake,
            Self::Slash(_) => PurposeKind::Slash,
            Self::Refund(_) => PurposeKind::Refund,
            Self::Recharge(_) => PurposeKind::Recharge,
        }
    }

    #[must_use]
    pub const fn name(&self) -> &'static str {
        match self {
            Self::Payment(_) => "payment",
            Self::Mandate(_) => "mandate",
            Self::Stake(_) => "stake",
            Self::ReturnStake(_) => "return_stake",
            Self::Slash(_) => "slash",
            Self::Refund(_) => "refund",
            Self::Recharge(_) => "recharge",
        }
    }

    /// The id of the object it is about.
    #[must_use]
    pub fn subject(&self) -> &str {
        match self {
            Self::Payment(id) => id.as_str(),
            Self::Mandate(id) => id.as_str(),
            Self::Stake(id) | Self::ReturnStake(id) | Self::Slash(id) => id.as_str(),
            Self::Recharge(id) => id.as_str(),
            Self::Refund(id) => id.as_str(),
        }
    }

    #[must_use]
    pub fn of(name: &str, subject: &str) -> Option<Self> {
        Some(match name {
            "payment" => Self::Payment(PaymentIntentId::parse(subject).ok()?),
            "mandate" => Self::Mandate(MandateId::parse(subject).ok()?),
            "stake" => Self::Stake(StakeId::parse(subject).ok()?),
            "return_stake" => Self::ReturnStake(StakeId::parse(subject).ok()?),
            "slash" => Self::Slash(StakeId::parse(subject).ok()?),
            "refund" => Self::Refund(RefundId::parse(subject).ok()?),
            "recharge" => Self::Recharge(SubscriptionId::parse(subject).ok()?),
            _ => return None,
        })
    }
}

/// What an attempt sends.
#[derive(Clone, PartialEq, Eq)]
pub enum AttemptKind {
    /// A signed transaction, sent again byte for byte: of the payer, or of this store's own key.
    Wallet { payer: Did, bytes: Vec<u8>, hash: String },
    /// A card intent at the provider, opened under the attempt's id. Both texts are empty until the provider has answered.
    /// With a holder, the card is kept for later charges.
    Card { provider_id: String, client_secret: String, setup_future_usage: Option<CardHolder> },
    /// A card that is to be kept without being charged now, opened in the same way.
    CardSetup { provider_id: String, client_secret: String, holder: CardHolder },
    /// A charge of a kept card while the customer is not there. The name is empty until the provider has answered.
    OffSession { card: SavedCard, provider_id: String },
    /// Money back to the card that a provider's intent was paid with.
    CardRefund { payment: String },
}

impl std::fmt::Debug for AttemptKind {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Wallet { payer, hash, .. } => f.debug_struct("Wallet").field("payer", payer).field("hash", hash).finish_non_exhaustive(),
            Self::Card { provider_id, .. } => f.debug_struct("Card").field("provider_id", provider_id).finish_non_exhaustive(),
            Self::CardSetup { provider_id, .. } => f.debug_struct("CardSetup").field("provider_id", provider_id).finish_non_exhaustive(),
            Self::OffSession { provider_id, .. } => f.debug_struct("OffSession").field("provider_id", provider_id).finish_non_exhaustive(),
            Self::CardRefund { payment } => f.debug_struct("CardRefund").field("payment", payment).finish(),
        }
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Attempt {
    pub id: AttemptId,
    pub purpose: Purpose,
    /// The checkout that it belongs to.
    pub session_id: Option<SessionId>,
    pub method_id: MethodId,
    pub currency_id: CurrencyId,
    pub amount: Amount,
    pub status: AttemptStatus,
    pub kind: AttemptKind,
    pub last_error: Option<Decline>,
    /// How often the network was asked without a final answer.
    pub checks: u32,
    /// When the reconciler asks next.
    pub check_at: Timestamp,
    /// From when on it may have been sent, where that is written down beforehand: who writes it knows that nothing was sent earlier.
    pub sent_at: Option<Timestamp>,
    pub created_at: Timestamp,
    pub updated_at: Timestamp,
}

impl Attempt {
    /// One that is written down before anybody sends it, outside of any session. The reconciler asks for it first after [`next_check`].
    #[must_use]
    pub fn begin(
        id: AttemptId,
        purpose: Purpose,
        kind: AttemptKind,
        (method_id, currency_id): (MethodId, CurrencyId),
        amount: Amount,
        now: Timestamp,
    ) -> Self {
        Self {
            id,
            purpose,
            session_id: None,
            method_id,
            currency_id,
            amount,
            status: AttemptStatus::Open,
            kind,
            last_error: None,
            checks: 0,
            check_at: next_check(now, 0),
            sent_at: None,
            created_at: now,
            updated_at: now,
        }
    }
}

/// When the network is asked again after `checks` answers that were not final:
/// 5 s doubling up to one hour. It goes on until the network answers.
#[must_use]
pub fn next_check(now: Timestamp, checks: u32) -> Timestamp {
    let seconds = 5u64.saturating_mul(1 << checks.min(10)).min(3_600);
    now.plus(Duration::from_secs(seconds))
}

#[async_trait]
pub trait Intents: Send {
    /// Inserts, or replaces amount, currency, method and status of an intent that has not succeeded. What the store attached stays.
    /// Where it has succeeded, the unit of work fails with [`StorageError::Conflict`], at the latest when it commits.
    async fn put(&mut self, intent: &Intent) -> Result<(), StorageError> {
        self.put_all(std::slice::from_ref(intent)).await
    }
    /// As [`Intents::put`], different ones.
    async fn put_all(&mut self, intents: &[Intent]) -> Result<(), StorageError>;
    async fn find(&mut self, id: &PaymentIntentId) -> Result<Option<Intent>, StorageError>;
    async fn find_all(&mut self, ids: &[PaymentIntentId]) -> Result<Vec<Intent>, StorageError>;
    /// The current intent of a checkout session.
    async fn find_by_session(&mut self, session: &SessionId) -> Result<Option<Intent>, StorageError>;
    /// To `succeeded`, from any status but that. True for exactly one caller.
    async fn succeed(
        &mut self,
        id: &PaymentIntentId,
        amount: Amount,
        reference: &str,
        payer: &str,
        now: Timestamp,
    ) -> Result<bool, StorageError>;
    /// Moves an intent that has not ended, and notes the last error.
    async fn set_status(
        &mut self,
        id: &PaymentIntentId,
        status: IntentStatus,
        error: Option<&Decline>,
        now: Timestamp,
    ) -> Result<bool, StorageError>;
    /// Reserves a part of what a payment can still send back, by one conditional update. False: it has less room than that.
    async fn reserve_refund(&mut self, id: &PaymentIntentId, amount: Amount, now: Timestamp) -> Result<bool, StorageError>;
    /// Frees a reservation whose money stays at the store.
    async fn release_refund(&mut self, id: &PaymentIntentId, amount: Amount, now: Timestamp) -> Result<(), StorageError>;
    /// The succeeded payments of a customer in a currency that have something left to send back, newest first, at most `limit`.
    async fn with_room(&mut self, customer: &CustomerId, currency: &CurrencyId, limit: u32) -> Result<Vec<Intent>, StorageError>;
    /// The customer's succeeded payments above zero in a currency, newest first: the account that paid last.
    async fn last_paid(&mut self, customer: &CustomerId, currency: &CurrencyId) -> Result<Option<Intent>, StorageError>;
    /// The payment that a provider knows by this name.
    async fn find_by_reference(&mut self, method: &MethodId, reference: &str) -> Result<Option<Intent>, StorageError>;
    /// The customer's payment intents above zero, newest first.
    async fn of_customer(&mut self, customer: &CustomerId, page: &Page) -> Result<Listed<Intent>, StorageError>;
    async fn list(&mut self, mode: Mode, page: &Page) -> Result<Listed<Intent>, StorageError>;
    /// Those whose description holds the words, or whose id or name at the network they are: of the store, or, as
    /// [`Intents::of_customer`], of one. Newest first.
    async fn search(&mut self, mode: Mode, customer: Option<&CustomerId>, words: &str, page: &Page)
    -> Result<Listed<Intent>, StorageError>;
    /// Replaces what the store attached to one of this mode, whatever became of it. False: there is none.
    async fn label(&mut self, mode: Mode, id: &PaymentIntentId, metadata: &Metadata, now: Timestamp) -> Result<bool, StorageError>;
}

/// What an attempt is to pay of one invoice: what remained when the attempt was written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PlannedPayment {
    pub invoice_id: InvoiceId,
    pub amount: Amount,
}

#[async_trait]
pub trait Attempts: Send {
    /// Writes an attempt and what it is to pay. The lock of each invoice is held from here on.
    /// [`StorageError::Duplicate`] when the purpose or one of the invoices has an open attempt already, when an invoice asks for less
    /// than is planned for it, or when a wallet's transaction was used before. The unit of work must be dropped then.
    async fn insert(&mut self, attempt: &Attempt, planned: &[PlannedPayment]) -> Result<(), StorageError> {
        self.insert_all(&[(attempt.clone(), planned.to_vec())]).await
    }
    /// As [`Attempts::insert`], all or none.
    async fn insert_all(&mut self, attempts: &[(Attempt, Vec<PlannedPayment>)]) -> Result<(), StorageError>;
    async fn find(&mut self, id: &AttemptId) -> Result<Option<Attempt>, StorageError>;
    async fn find_by_provider(&mut self, method: &MethodId, provider_id: &str) -> Result<Option<Attempt>, StorageError>;
    async fn open_of_intent(&mut self, intent: &PaymentIntentId) -> Result<Option<Attempt>, StorageError>;
    async fn open_of(&mut self, purpose: &Purpose) -> Result<Option<Attempt>, StorageError>;
    /// Those among `ids` that are open.
    async fn find_open(&mut self, ids: &[AttemptId]) -> Result<Vec<Attempt>, StorageError>;
    /// What an attempt is to pay, the invoices in the order of their ids: oldest first.
    async fn planned_by(&mut self, id: &AttemptId) -> Result<Vec<PlannedPayment>, StorageError>;
    /// Those among `invoices` that an open attempt covers.
    async fn in_flight(&mut self, invoices: &[InvoiceId]) -> Result<Vec<InvoiceId>, StorageError>;
    /// Keeps everybody from covering an invoice until this unit of work ends. False: it is covered.
    async fn lock_not_in_flight(&mut self, invoice: &InvoiceId) -> Result<bool, StorageError>;
    /// Writes down that these are about to be sent, and answers those that nobody sent before. Each is answered to one caller, and
    /// left alone by [`Attempts::claim_due`] until `check_at`.
    async fn claim_unsent(&mut self, ids: &[AttemptId], now: Timestamp, check_at: Timestamp) -> Result<Vec<AttemptId>, StorageError>;
    /// Whether any attempt of the method is open.
    async fn has_open_for_method(&mut self, method: &MethodId) -> Result<bool, StorageError>;
    /// Whether any attempt of this moment covers an invoice of a test clock's customer.
    async fn has_open_for_clock(&mut self, clock: &ClockId) -> Result<bool, StorageError>;
    /// Notes the provider's names of a card attempt, once.
    async fn set_provider_ids(
        &mut self,
        id: &AttemptId,
        provider_id: &str,
        client_secret: &str,
        now: Timestamp,
    ) -> Result<(), StorageError>;
    /// To refused, unless somebody else has taken it in hand since `attempt` was read (its `check_at` has moved): what they send may
    /// go through, and they find out. True for exactly one caller.
    async fn decline(&mut self, attempt: &Attempt, error: &Decline, now: Timestamp) -> Result<bool, StorageError>;
    /// From an open status to a final one. True for exactly one caller.
    async fn finish(
        &mut self,
        id: &AttemptId,
        status: AttemptStatus,
        error: Option<&Decline>,
        now: Timestamp,
    ) -> Result<bool, StorageError>;
    /// Stays open: notes that the answer was not final and when the reconciler asks next; `None`: a page asked, the reconciler's turn
    /// stays. False: it has ended meanwhile, and what the answer says concerns nobody any more.
    async fn reschedule(
        &mut self,
        id: &AttemptId,
        status: AttemptStatus,
        error: Option<&Decline>,
        check_at: Option<Timestamp>,
        now: Timestamp,
    ) -> Result<bool, StorageError>;
    /// Takes the turn of a page to ask, if nobody has touched the attempt since `since`. True for one of several at once.
    async fn claim_poll(&mut self, id: &AttemptId, since: Timestamp, now: Timestamp) -> Result<bool, StorageError>;
    /// Open attempts whose `check_at` has come, moved on to `again_at` so that nobody else takes them now. Whoever takes them may
    /// send them: `sent_at` says so, and is `now` for those that nobody has taken before.
    async fn claim_due(&mut self, now: Timestamp, again_at: Timestamp, limit: u32) -> Result<Vec<AttemptId>, StorageError>;
}

#[async_trait]
pub trait Methods: Send {
    async fn insert(&mut self, method: &super::Method) -> Result<(), StorageError>;
    async fn update(&mut self, method: &super::Method) -> Result<(), StorageError>;
    async fn find(&mut self, id: &MethodId) -> Result<Option<super::Method>, StorageError>;
    async fn list(&mut self, mode: Mode) -> Result<Vec<super::Method>, StorageError>;
    async fn insert_currency(&mut self, currency: &super::Currency) -> Result<(), StorageError>;
    async fn update_currency(&mut self, currency: &super::Currency) -> Result<(), StorageError>;
    async fn find_currency(&mut self, id: &CurrencyId) -> Result<Option<super::Currency>, StorageError>;
    async fn currencies(&mut self, mode: Mode) -> Result<Vec<super::Currency>, StorageError>;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_reconciler_asks_often_at_first_and_hourly_in_the_end() {
        let now = Timestamp::from_seconds(0);
        assert_eq!(next_check(now, 0).seconds(), 5);
        assert_eq!(next_check(now, 3).seconds(), 40);
        assert_eq!(next_check(now, 500).seconds(), 3_600);
    }
}
