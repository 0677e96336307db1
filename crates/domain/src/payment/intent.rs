//! Payment intents and the attempts to settle them.

use super::{CardHolder, ChargedPeriod, Decline, Description, HoldClass, Moved, Recheck, SavedCard};
use crate::access::Did;
use crate::pricing::Metadata;
use crate::shared::{
    Amount, AttemptId, ClockId, CurrencyId, CustomerId, InvoiceId, Listed, MandateId, MethodId, Mode, Page, PaymentIntentId, RefundId,
    SessionId, StakeId, StorageError, SubscriptionId, Timestamp,
};
use async_trait::async_trait;
use std::collections::{BTreeMap, HashMap};
use std::time::Duration;

/// The intent statuses of payment-kit.md 2 that Souk uses.
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
    pub description: Description,
    pub amount: Amount,
    pub amount_received: Amount,
    /// Refunds and balance payouts over this payment, pending ones included (invariant 8): never more than `amount_received`.
    pub amount_refunded: Amount,
    pub currency_id: CurrencyId,
    pub method_id: MethodId,
    pub customer_id: CustomerId,
    pub subscription_id: Option<SubscriptionId>,
    /// The checkout session it belongs to; `None` for renewals and other collections.
    pub session_id: Option<SessionId>,
    /// The invoices it pays; at least one, or none if it received the money of a payment on hold.
    pub invoices: Vec<InvoiceId>,
    pub last_error: Option<Decline>,
    /// The network's reference of the payment, once settled.
    pub reference: String,
    /// The payer's account at the network.
    pub payer: String,
    /// The payment on hold whose money it received. It is of no session and no subscription; refunds and payouts use it once the hold is
    /// resolved.
    pub held_attempt_id: Option<AttemptId>,
    /// Metadata attached by the store.
    pub metadata: Metadata,
    pub created_at: Timestamp,
    pub updated_at: Timestamp,
}

/// The status of an attempt. `Open` and `Unknown` count as open: an intent has at most one open attempt (invariant 1).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum AttemptStatus {
    /// Committed; possibly sent.
    Open,
    /// Sent, and the answer was not received. The reconciler queries the network.
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
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum PurposeKind {
    Payment,
    Mandate,
    Stake,
    ReturnStake,
    Slash,
    Refund,
    Recharge,
}

/// What an attempt is for. Each purpose and object have at most one open attempt (invariant 1).
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Purpose {
    Payment(PaymentIntentId),
    /// Sets up a mandate for later charges.
    Mandate(MandateId),
    /// A payment into a stake.
    Stake(StakeId),
    /// Returns a part of a stake to its payer.
    ReturnStake(StakeId),
    /// Forfeits a part of a stake to the store.
    Slash(StakeId),
    Refund(RefundId),
    /// Tops up the account that a subscription is charged by. The money never belongs to the store and is not posted to its journal.
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

    /// The id of the object concerned.
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

    /// The intent that is paid.
    #[must_use]
    pub const fn intent(&self) -> Option<&PaymentIntentId> {
        if let Self::Payment(intent) = self { Some(intent) } else { None }
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

/// What an attempt sends to its network.
#[derive(Clone, PartialEq, Eq)]
pub enum AttemptKind {
    /// A transaction signed by the payer or by this store's own key. Retries send the same bytes.
    Wallet { payer: Did, bytes: Vec<u8>, hash: String },
    /// A card intent at the provider, opened under the attempt's id. Both texts are empty until the provider has answered. With a holder,
    /// the card is saved for later charges.
    Card { provider_id: String, client_secret: String, setup_future_usage: Option<CardHolder> },
    /// Saves a card without charging it, opened in the same way.
    CardSetup { provider_id: String, client_secret: String, holder: CardHolder },
    /// An off-session charge of a saved card. The provider id is empty until the provider has answered.
    OffSession { card: SavedCard, provider_id: String },
    /// Refunds a provider's intent to its card.
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
    /// The checkout session that it belongs to.
    pub session_id: Option<SessionId>,
    /// The token of the connect session that waits for its outcome: a wallet signed it there, or it follows what a wallet signed there.
    /// Secret.
    pub connect_token: Option<String>,
    pub method_id: MethodId,
    pub currency_id: CurrencyId,
    pub amount: Amount,
    pub status: AttemptStatus,
    pub kind: AttemptKind,
    /// The period that an automatic charge pays.
    pub period: Option<ChargedPeriod>,
    pub last_error: Option<Decline>,
    /// What the network moved instead of `amount`, if that was a different amount.
    pub moved: Option<Moved>,
    /// The number of queries without a final answer.
    pub checks: u32,
    /// When the reconciler queries next.
    pub check_at: Timestamp,
    /// When it was claimed for its first sending. It was certainly not sent before that time.
    pub sent_at: Option<Timestamp>,
    pub created_at: Timestamp,
    pub updated_at: Timestamp,
}

/// An amount that moves by a payment method, in one of the method's currencies.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MethodAmount {
    pub method_id: MethodId,
    pub currency_id: CurrencyId,
    pub amount: Amount,
}

impl Attempt {
    /// A new attempt outside a session, to be committed before it is sent. The reconciler first checks it after [`next_check`].
    #[must_use]
    pub fn begin(id: AttemptId, purpose: Purpose, kind: AttemptKind, of: MethodAmount, now: Timestamp) -> Self {
        let MethodAmount { method_id, currency_id, amount } = of;
        Self {
            id,
            purpose,
            session_id: None,
            connect_token: None,
            method_id,
            currency_id,
            amount,
            status: AttemptStatus::Open,
            kind,
            period: None,
            last_error: None,
            moved: None,
            checks: 0,
            check_at: next_check(now, 0),
            sent_at: None,
            created_at: now,
            updated_at: now,
        }
    }
}

/// The time of the next query after `checks` answers that were not final: 5 s, doubling up to one hour. Queries go on until the network
/// gives a final answer.
#[must_use]
pub fn next_check(now: Timestamp, checks: u32) -> Timestamp {
    let seconds = 5u64.saturating_mul(1 << checks.min(10)).min(3_600);
    now.plus(Duration::from_secs(seconds))
}

/// A part of a payment that is refunded.
#[derive(Debug, Clone, Copy)]
pub struct RefundPart<'a> {
    pub intent: &'a PaymentIntentId,
    pub amount: Amount,
}

#[async_trait]
pub trait Intents: Send {
    /// Inserts an intent, or replaces amount, currency, method and status of one that has not succeeded; metadata is kept. If it has
    /// succeeded, the unit of work fails with [`StorageError::Conflict`], at the latest on commit.
    async fn upsert(&mut self, intent: &Intent) -> Result<(), StorageError> {
        self.put_all(std::slice::from_ref(intent)).await
    }
    /// As [`Intents::put`], for several distinct intents.
    async fn put_all(&mut self, intents: &[Intent]) -> Result<(), StorageError>;
    async fn find(&mut self, id: &PaymentIntentId) -> Result<Option<Intent>, StorageError>;
    /// The received amounts in a currency among the newest `limit` paid intents with this id or a later one.
    async fn received_since(
        &mut self,
        mode: Mode,
        currency: &CurrencyId,
        first: &PaymentIntentId,
        limit: u32,
    ) -> Result<Vec<Amount>, StorageError>;
    async fn find_all(&mut self, ids: &[PaymentIntentId]) -> Result<Vec<Intent>, StorageError>;
    /// The current intent of a checkout session.
    async fn find_by_session(&mut self, session: &SessionId) -> Result<Option<Intent>, StorageError>;
    /// Sets the status to `succeeded`, from any other status. Returns true to exactly one caller.
    async fn succeed(&mut self, paid: &PaidIntent, now: Timestamp) -> Result<bool, StorageError> {
        Ok(self.succeed_all(std::slice::from_ref(paid), now).await? == 1)
    }
    /// As [`Intents::succeed`], for several distinct intents. Returns how many were not `succeeded` before.
    async fn succeed_all(&mut self, paid: &[PaidIntent], now: Timestamp) -> Result<u64, StorageError>;
    /// Sets the status and the last error of an intent that has not ended.
    async fn set_status(
        &mut self,
        id: &PaymentIntentId,
        status: IntentStatus,
        error: Option<&Decline>,
        now: Timestamp,
    ) -> Result<bool, StorageError>;
    /// Reserves parts of what can still be refunded, by conditional updates. Several parts can be of one intent. False: the rest of an intent
    /// is smaller than its parts, and nothing is written.
    async fn reserve_refunds(&mut self, parts: &[RefundPart<'_>], now: Timestamp) -> Result<bool, StorageError>;
    /// As [`Intents::reserve_refunds`], for one part.
    async fn reserve_refund(&mut self, id: &PaymentIntentId, amount: Amount, now: Timestamp) -> Result<bool, StorageError> {
        self.reserve_refunds(&[RefundPart { intent: id, amount }], now).await
    }
    /// Releases a reservation whose money stays with the store.
    async fn release_refund(&mut self, id: &PaymentIntentId, amount: Amount, now: Timestamp) -> Result<(), StorageError>;
    /// A customer's succeeded payments in a currency that can still be refunded in part, newest first, at most `limit`; without those on
    /// hold.
    async fn with_room(&mut self, customer: &CustomerId, currency: &CurrencyId, limit: u32) -> Result<Vec<Intent>, StorageError>;
    /// The customer's newest succeeded payment above zero in a currency. Its payer is the account that paid last.
    async fn last_paid(&mut self, customer: &CustomerId, currency: &CurrencyId) -> Result<Option<Intent>, StorageError>;
    /// The intent that received the money of a payment on hold.
    async fn find_held(&mut self, attempt: &AttemptId) -> Result<Option<Intent>, StorageError>;
    /// As [`Intents::find_held`], for several payments on hold.
    async fn find_all_held(&mut self, attempts: &[AttemptId]) -> Result<Vec<Intent>, StorageError>;
    /// The payment with this reference at the provider.
    async fn find_by_reference(&mut self, method: &MethodId, reference: &str) -> Result<Option<Intent>, StorageError>;
    /// The customer's payment intents above zero, newest first.
    async fn of_customer(&mut self, customer: &CustomerId, page: &Page) -> Result<Listed<Intent>, StorageError>;
    async fn list(&mut self, mode: Mode, page: &Page) -> Result<Listed<Intent>, StorageError>;
    /// Intents that match words of the description, the id or the network's reference: of the whole store or, like
    /// [`Intents::of_customer`], of one customer. Newest first.
    async fn search(&mut self, mode: Mode, customer: Option<&CustomerId>, words: &str, page: &Page)
    -> Result<Listed<Intent>, StorageError>;
    /// Replaces the metadata of an intent of this mode, in any status. False: there is none.
    async fn update_metadata(
        &mut self,
        mode: Mode,
        id: &PaymentIntentId,
        metadata: &Metadata,
        now: Timestamp,
    ) -> Result<bool, StorageError>;
}

/// How an intent was paid.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PaidIntent {
    pub id: PaymentIntentId,
    pub amount: Amount,
    /// The network's reference of the payment.
    pub reference: String,
    /// The account that paid.
    pub payer: String,
}

/// The part of an invoice that an attempt pays: what remained when the attempt was written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PlannedPayment {
    pub invoice_id: InvoiceId,
    pub amount: Amount,
}

/// An attempt to be inserted, and what it pays.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewAttempt {
    pub attempt: Attempt,
    pub planned: Vec<PlannedPayment>,
}

/// A transaction at the network of a method.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct TransactionKey {
    pub method_id: MethodId,
    pub hash: String,
}

#[async_trait]
pub trait Attempts: Send {
    /// The number of attempts on hold of a class, at most `limit`.
    async fn count_on_hold(&mut self, class: HoldClass, limit: u32) -> Result<u32, StorageError>;
    /// The attempts on hold of a class and mode. Payments are in the order of the intents that were to be paid, newest first, and
    /// `starting_after` is such an intent, which has at most one of them. Transfers are in the order of their own ids, newest first.
    async fn on_hold(&mut self, class: HoldClass, mode: Mode, page: &Page) -> Result<Listed<Attempt>, StorageError>;
    /// Puts an open attempt on hold: its network moved a different amount. False: it has ended or is on hold already.
    async fn hold(&mut self, id: &AttemptId, moved: &Moved, error: &Decline, now: Timestamp) -> Result<bool, StorageError>;
    /// Sets the status of an attempt on hold to declined. Returns true to exactly one caller.
    async fn decline_held(&mut self, id: &AttemptId, error: &Decline, now: Timestamp) -> Result<bool, StorageError>;
    /// Sets the status of an attempt on hold to settled, and its amount to what counts as settled. The error that says what its network
    /// moved is kept. Returns true to exactly one caller.
    async fn settle_held(&mut self, id: &AttemptId, amount: Amount, now: Timestamp) -> Result<bool, StorageError>;
    /// Inserts an attempt and its planned payments, and locks each invoice. [`StorageError::Duplicate`] when the purpose or one of the
    /// invoices has an open attempt already, when less remains of an invoice than is planned, or when a wallet's transaction was used
    /// before; the caller must then drop the unit of work.
    async fn insert(&mut self, attempt: &Attempt, planned: &[PlannedPayment]) -> Result<(), StorageError> {
        self.insert_all(&[NewAttempt { attempt: attempt.clone(), planned: planned.to_vec() }]).await
    }
    /// As [`Attempts::insert`], for several attempts, all or none.
    async fn insert_all(&mut self, attempts: &[NewAttempt]) -> Result<(), StorageError>;
    /// As [`Attempts::insert_all`], for attempts that pay only invoices which this unit of work has inserted. No other unit of work sees
    /// these, so they are neither read nor locked. `remaining` is the amount that remains of each.
    async fn insert_all_for_new_invoices(
        &mut self,
        attempts: &[NewAttempt],
        remaining: &HashMap<InvoiceId, Amount>,
    ) -> Result<(), StorageError>;
    async fn find(&mut self, id: &AttemptId) -> Result<Option<Attempt>, StorageError>;
    /// The attempt of a transaction that a wallet or the store has signed.
    async fn find_by_hash(&mut self, hash: &str) -> Result<Option<Attempt>, StorageError>;
    /// The attempts of a connect session, oldest first: of the transactions that its wallet signed, and of the charges that follow them.
    async fn of_connect_session(&mut self, token: &str) -> Result<Vec<Attempt>, StorageError>;
    /// Makes an open attempt part of another connect session, which waits for its outcome. False: the attempt has ended.
    async fn set_connect_token(&mut self, id: &AttemptId, token: &str) -> Result<bool, StorageError>;
    async fn find_by_provider(&mut self, method: &MethodId, provider_id: &str) -> Result<Option<Attempt>, StorageError>;
    async fn open_of_intent(&mut self, intent: &PaymentIntentId) -> Result<Option<Attempt>, StorageError>;
    async fn open_of(&mut self, purpose: &Purpose) -> Result<Option<Attempt>, StorageError>;
    async fn find_all(&mut self, ids: &[AttemptId]) -> Result<Vec<Attempt>, StorageError>;
    /// The attempts among `ids` that are open.
    async fn find_open(&mut self, ids: &[AttemptId]) -> Result<Vec<Attempt>, StorageError>;
    /// As [`Attempts::find_open`], in the order of their ids. No outcome of them is recorded until this unit of work ends.
    async fn lock_open(&mut self, ids: &[AttemptId]) -> Result<Vec<Attempt>, StorageError>;
    /// The methods of attempts, in the order of the attempts' ids.
    async fn methods_of(&mut self, ids: &[AttemptId]) -> Result<Vec<(AttemptId, MethodId)>, StorageError>;
    /// The accounts of the wallets in these transactions, by method and hash: of who pays the store or receives money from it. Hashes of
    /// other transactions are missing.
    async fn wallets_of(&mut self, transactions: &[TransactionKey]) -> Result<BTreeMap<TransactionKey, Did>, StorageError>;
    /// The planned payments of an attempt, in the order of the invoice ids: oldest first.
    async fn planned_by(&mut self, id: &AttemptId) -> Result<Vec<PlannedPayment>, StorageError> {
        Ok(self.planned_by_all(std::slice::from_ref(id)).await?.remove(id).unwrap_or_default())
    }
    /// As [`Attempts::planned_by`], for several attempts. Those that plan nothing are missing.
    async fn planned_by_all(&mut self, ids: &[AttemptId]) -> Result<HashMap<AttemptId, Vec<PlannedPayment>>, StorageError>;
    /// The invoices among these that an open attempt covers.
    async fn in_flight(&mut self, invoices: &[InvoiceId]) -> Result<Vec<InvoiceId>, StorageError>;
    /// Keeps other units of work from covering an invoice until this one ends. False: an open attempt covers it.
    async fn lock_not_in_flight(&mut self, invoice: &InvoiceId) -> Result<bool, StorageError>;
    /// Claims settled payments of wallets that are due for another look ([`super::RECHECK_AFTER`] after they settled), at most `limit`:
    /// each is returned to one caller, and due again at `next`.
    async fn claim_rechecks(&mut self, now: Timestamp, next: Timestamp, limit: u32) -> Result<Vec<Recheck>, StorageError>;
    /// Records that a settled payment was not found, and when it is looked up again.
    async fn doubt(&mut self, id: &AttemptId, next: Timestamp) -> Result<(), StorageError>;
    /// Records that a settled payment is final.
    async fn end_rechecks(&mut self, id: &AttemptId) -> Result<(), StorageError>;
    /// Marks a settled attempt as reversed. Returns true to exactly one caller.
    async fn claim_reversal(&mut self, id: &AttemptId, now: Timestamp) -> Result<bool, StorageError>;
    /// Claims attempts for their first sending: records that they are about to be sent, and returns those that were not claimed before.
    /// Each is returned to one caller, and skipped by [`Attempts::claim_due`] until `check_at`.
    async fn claim_unsent(&mut self, ids: &[AttemptId], now: Timestamp, check_at: Timestamp) -> Result<Vec<AttemptId>, StorageError>;
    /// Whether any attempt of the method is open.
    async fn has_open_for_method(&mut self, method: &MethodId) -> Result<bool, StorageError>;
    /// Whether an open attempt covers an invoice of a test clock's customer.
    async fn has_open_for_clock(&mut self, clock: &ClockId) -> Result<bool, StorageError>;
    /// Stores the provider's ids of a card attempt, once.
    async fn set_provider_ids(
        &mut self,
        id: &AttemptId,
        provider_id: &str,
        client_secret: &str,
        now: Timestamp,
    ) -> Result<(), StorageError>;
    /// Makes an unsent attempt the one that its network knows under this reference: its transaction, or its payment at the provider. It
    /// counts as sent. False: it was sent or has ended.
    async fn adopt(&mut self, id: &AttemptId, reference: &str, now: Timestamp) -> Result<bool, StorageError>;
    /// Sets the status to declined, unless another sender has claimed the attempt since it was read (its `check_at` has moved): what that
    /// sender sends may succeed. An attempt on hold stays on hold. Returns true to exactly one caller.
    async fn decline(&mut self, attempt: &Attempt, error: &Decline, now: Timestamp) -> Result<bool, StorageError>;
    /// Sets the status to declined even if another sender has claimed the attempt. An attempt on hold stays on hold. Returns true to
    /// exactly one caller.
    async fn decline_claimed(&mut self, id: &AttemptId, error: Option<&Decline>, now: Timestamp) -> Result<bool, StorageError>;
    /// Sets the status of open attempts that are not on hold to settled. Returns each attempt to exactly one caller.
    async fn settle_all(&mut self, ids: &[AttemptId], now: Timestamp) -> Result<Vec<AttemptId>, StorageError>;
    /// Records an answer that is not final, and when the reconciler queries next; `None`: a page has polled, and the reconciler's time
    /// stays. False: the attempt has ended or was put on hold meanwhile, and the answer is irrelevant.
    async fn reschedule(
        &mut self,
        id: &AttemptId,
        status: AttemptStatus,
        error: Option<&Decline>,
        check_at: Option<Timestamp>,
        now: Timestamp,
    ) -> Result<bool, StorageError>;
    /// Claims a poll of the network, if the attempt was not touched since `since`, or by a clock that was ahead of now. Of several concurrent
    /// callers, one gets true.
    async fn claim_poll(&mut self, id: &AttemptId, since: Timestamp, now: Timestamp) -> Result<bool, StorageError>;
    /// The methods of open attempts whose `check_at` has come, without those on hold.
    async fn networks_due(&mut self, now: Timestamp) -> Result<Vec<MethodId>, StorageError>;
    /// Claims open attempts of a method whose `check_at` has come and that are not on hold, and sets it to `again_at`, so that no other
    /// worker claims them. The claimer may send them; `sent_at` becomes `now` for those that were never claimed before.
    async fn claim_due(
        &mut self,
        method: &MethodId,
        now: Timestamp,
        again_at: Timestamp,
        limit: u32,
    ) -> Result<Vec<AttemptId>, StorageError>;
    /// Gives back attempts that were claimed at `claimed_at` until `lease_end` by [`Attempts::claim_unsent`] or [`Attempts::claim_due`],
    /// and certainly not sent since: they are due at `check_at`. Those that were claimed for the first time count as unsent again.
    /// Attempts that another caller has claimed since are left as they are.
    async fn release(
        &mut self,
        ids: &[AttemptId],
        claimed_at: Timestamp,
        lease_end: Timestamp,
        check_at: Timestamp,
    ) -> Result<(), StorageError>;
}

/// A method whose provider may have recorded events that this store has not received.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UnreadEvents {
    pub method: super::Method,
    /// All events until then have been read from the provider's list.
    pub since: Timestamp,
}

#[async_trait]
pub trait Methods: Send {
    async fn insert(&mut self, method: &super::Method) -> Result<(), StorageError>;
    async fn update(&mut self, method: &super::Method) -> Result<(), StorageError>;
    async fn find(&mut self, id: &MethodId) -> Result<Option<super::Method>, StorageError>;
    async fn list(&mut self, mode: Mode) -> Result<Vec<super::Method>, StorageError>;
    /// Claims the methods of card networks whose list of events was last claimed at `before` or earlier. Must return a method to one of
    /// several concurrent callers only.
    async fn claim_unread(&mut self, before: Timestamp, now: Timestamp) -> Result<Vec<UnreadEvents>, StorageError>;
    /// Records that all events until `until` have been read.
    async fn set_events_read(&mut self, id: &MethodId, until: Timestamp) -> Result<(), StorageError>;
    async fn insert_currency(&mut self, currency: &super::Currency) -> Result<(), StorageError>;
    async fn update_currency(&mut self, currency: &super::Currency) -> Result<(), StorageError>;
    async fn find_currency(&mut self, id: &CurrencyId) -> Result<Option<super::Currency>, StorageError>;
    async fn currencies(&mut self, mode: Mode) -> Result<Vec<super::Currency>, StorageError>;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_reconciler_queries_often_at_first_and_hourly_later() {
        let now = Timestamp::from_seconds(0);
        assert_eq!(next_check(now, 0).seconds(), 5);
        assert_eq!(next_check(now, 3).seconds(), 40);
        assert_eq!(next_check(now, 500).seconds(), 3_600);
    }
}
