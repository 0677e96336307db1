//! The ports to the payment networks. A rail reports what happened; the domain decides what that means.

use super::{Currency, GasState, Method, MethodKind, ProviderDispute, ProviderRefund, SandboxOff, Trigger};
use crate::access::Did;
use crate::shared::{Amount, AttemptId, CustomerId, MethodId, RefundId, Timestamp};
use async_trait::async_trait;
use std::time::Duration;

/// A network's answer about an attempt.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Outcome {
    /// The network confirms that the money moved.
    Settled(Settlement),
    /// The network declined finally: this attempt can never settle.
    Declined(Decline),
    /// The network knows the attempt and has not decided. `requires_payer`: it waits for the payer (a card form, a 3-D Secure step).
    Pending { requires_payer: bool, last_error: Option<Decline> },
    /// The network does not know the attempt: nothing moved, and the same bytes or key can be sent again.
    NotFound,
    /// No answer was received, or none that could be understood. Never a failure (invariant 4).
    Unknown(String),
}

impl Outcome {
    /// A name for logs and metrics.
    #[must_use]
    pub const fn name(&self) -> &'static str {
        match self {
            Self::Settled(_) => "settled",
            Self::Declined(_) => "declined",
            Self::Pending { .. } => "pending",
            Self::NotFound => "not_found",
            Self::Unknown(_) => "unknown",
        }
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Settlement {
    /// The network's reference of the payment: a transaction hash, a card payment intent.
    pub reference: String,
    /// The payer's account at the network; empty for cards.
    pub payer: String,
    /// The amount that the network moved, in base units: to this store or the named recipient, from the store for a payout, into a stake or
    /// out of it; zero for a mandate.
    pub amount: Amount,
    /// The card that is saved at the provider. `None` for wallets and for cards that are not saved.
    pub card: Option<SavedCard>,
}

/// Why a network declined, in its own terms. `message` may be shown to the payer.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Decline {
    pub code: String,
    pub message: String,
}

/// An error of a call that moves no money. Calls that move money return [`Outcome::Unknown`] instead.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum RailError {
    #[error("the payment network could not be reached: {0}")]
    Unreachable(String),
    #[error("the payment network rejected the request: {0}")]
    Rejected(String),
    #[error("the method's settings don't match its network: {0}")]
    Misconfigured(String),
    #[error(transparent)]
    SandboxOff(#[from] SandboxOff),
}

/// A payment that a wallet is asked to sign.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TransferRequest {
    pub payer: Did,
    /// The payer's public key, base58 as wallets send it.
    pub payer_key: String,
    /// The recipient. `None`: this store.
    pub to: Option<Did>,
    pub amount: Amount,
    /// What the payment is for; carried in the transaction's data.
    pub reference: String,
    /// Makes two otherwise equal requests different transactions.
    pub nonce: u64,
}

/// The most of one charge in a currency.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CurrencyLimit {
    pub currency: Currency,
    pub most: Amount,
}

/// A mandate that a wallet is asked to sign: what this store may charge without asking again.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MandateRequest {
    pub payer: Did,
    /// The payer's public key, base58 as wallets send it.
    pub payer_key: String,
    /// The most of one charge, for each currency of the method (each at most once). Never zero: networks read that as "any amount".
    pub limits: Vec<CurrencyLimit>,
    /// What the mandate is for; carried in the transaction's data.
    pub reference: String,
    /// Makes two otherwise equal requests different transactions.
    pub nonce: u64,
}

/// A stake that a wallet is asked to sign: this store may forfeit it for overdue invoices, and returns the rest.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StakeRequest {
    pub payer: Did,
    /// The payer's public key, base58 as wallets send it.
    pub payer_key: String,
    pub amount: Amount,
    /// The stake's id, used as its nonce at the network: each stake has its own address, and a second payment adds to it.
    pub subject: String,
    /// How long the payer waits for the money after revoking the stake, in whole seconds. Fixed by the first payment.
    pub waiting: Duration,
    /// Carried in the transaction's data.
    pub reference: String,
    /// Makes two otherwise equal requests different transactions.
    pub nonce: u64,
}

/// A transaction that this store signs with its own key.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum StoreTransaction {
    /// From the payer to this store, by the payer's mandate.
    Pull { payer: Did },
    /// From this store to another account: a refund or a payout.
    Payout { to: Did },
    /// From a stake back to its payer.
    ReturnStake { payer: Did, subject: String },
    /// From a stake to this store.
    Slash { payer: Did, subject: String },
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StoreTransactionRequest {
    pub transaction: StoreTransaction,
    pub amount: Amount,
    /// What the money is for; carried in the transaction's data.
    pub reference: String,
    /// Makes two otherwise equal requests different transactions. Must differ from the nonce of the account's last transaction.
    pub nonce: u64,
}

/// The state of a stake at its network, in base units.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct StakeState {
    /// Can be returned or forfeited.
    pub held: Amount,
    /// Revoked by the payer, to whom the network will pay it out: can still be forfeited, but not returned.
    pub revoked: Amount,
}

/// Decline codes for a missing, revoked, expired or insufficient mandate. Retrying the same charge is useless; the payer has to grant a new
/// mandate.
pub const MANDATE_DECLINES: [&str; 5] =
    ["INSUFFICIENT_DELEGATION", "INVALID_DELEGATION", "INVALID_DELEGATION_TYPE_URL", "DELEGATION_EXPIRED", "DELEGATION_DENIED"];
/// The decline code for insufficient funds of an account or a stake.
pub const INSUFFICIENT_FUND: &str = "INSUFFICIENT_FUND";
/// The decline code for a transaction whose sender could not pay its gas.
pub const INSUFFICIENT_GAS: &str = "INSUFFICIENT_GAS";

impl Decline {
    /// Whether the mandate caused the decline: missing, revoked, expired or insufficient.
    #[must_use]
    pub fn is_for_mandate(&self) -> bool {
        MANDATE_DECLINES.contains(&self.code.as_str())
    }

    /// Whether insufficient funds caused the decline.
    #[must_use]
    pub fn is_for_funds(&self) -> bool {
        self.code == INSUFFICIENT_FUND
    }
}

/// A transaction for the wallet to sign. Both texts use the network's own encoding (base58 for arcblock).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UnsignedTransaction {
    pub partial_tx: String,
    /// The address of the token that the wallet's requirement names; of several tokens, the first.
    pub token: String,
}

/// A checked, signed transaction: stored before it is sent, and sent again byte for byte (invariant 1).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SignedTransaction {
    pub bytes: Vec<u8>,
    pub hash: String,
}

/// Why a signed transaction does not match its request. Nothing is sent then.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum CheckError {
    #[error("the transaction cannot be decoded")]
    Malformed,
    #[error("the transaction doesn't match the request: {0}")]
    Differs(&'static str),
    #[error("the transaction's signature is not valid")]
    BadSignature,
}

/// A network whose payers sign in a wallet.
#[async_trait]
pub trait WalletRail: Send + Sync {
    /// Validates settings and currencies against the network. Must fail with [`RailError::Misconfigured`] when they are wrong.
    async fn validate_settings(&self, method: &Method, currencies: &[Currency]) -> Result<(), RailError>;

    /// Builds the transfer, to this store or to the request's recipient, that the wallet must sign. Makes no network call.
    fn prepare(&self, method: &Method, currency: &Currency, request: &TransferRequest) -> Result<UnsignedTransaction, RailError>;

    /// Compares a signed transaction with `request`, field by field, and verifies its signatures. Makes no network call.
    fn check(
        &self,
        method: &Method,
        currency: &Currency,
        request: &TransferRequest,
        signed_tx: &str,
    ) -> Result<SignedTransaction, CheckError>;

    /// Builds the mandate that the wallet must sign. It replaces the payer's former mandate for this store, and covers everything that the
    /// payer owes. Makes no network call.
    fn prepare_mandate(&self, method: &Method, request: &MandateRequest) -> Result<UnsignedTransaction, RailError>;

    /// Compares a signed mandate with `request`, field by field, and verifies its signature. `signed_tx` is the full transaction or, from
    /// wallets that answer a `signature` claim, only the signature of the prepared one. Makes no network call.
    fn check_mandate(&self, method: &Method, request: &MandateRequest, signed_tx: &str) -> Result<SignedTransaction, CheckError>;

    /// Builds the stake payment that the wallet must sign. Makes no network call.
    fn prepare_stake(&self, method: &Method, currency: &Currency, request: &StakeRequest) -> Result<UnsignedTransaction, RailError>;

    /// Compares a signed stake payment with `request`, field by field, and verifies its signatures. Makes no network call.
    fn check_stake(
        &self,
        method: &Method,
        currency: &Currency,
        request: &StakeRequest,
        signed_tx: &str,
    ) -> Result<SignedTransaction, CheckError>;

    /// The address of the payer's mandate for this store. `None`: mandates have no address on this network.
    fn mandate_address(&self, _payer: &Did) -> Option<Did> {
        None
    }

    /// The address of a stake; `subject` is its id. `None`: stakes have no address on this network.
    fn stake_address(&self, _payer: &Did, _subject: &str) -> Option<Did> {
        None
    }

    /// Whether the payer's mandate allows a charge of `amount` now. Does not consider the account's funds: see [`Self::balance`].
    async fn mandate_allows(&self, method: &Method, currency: &Currency, payer: &Did, amount: Amount) -> Result<bool, RailError>;

    /// The state of a stake; zero if there is none.
    async fn stake_balance(&self, method: &Method, currency: &Currency, payer: &Did, subject: &str) -> Result<StakeState, RailError>;

    /// Signs a transaction with this store's key. The same request must yield the same bytes. The result is stored, then sent with
    /// [`Self::send`] and looked up with [`Self::find`] like any other transaction. Makes no network call.
    fn sign(&self, method: &Method, currency: &Currency, request: &StoreTransactionRequest) -> Result<SignedTransaction, RailError>;

    /// Sends exactly these bytes. Sending them twice must not move money twice.
    async fn send(&self, method: &Method, currency: &Currency, signed: &SignedTransaction) -> Outcome;

    /// Queries the network about a transaction.
    async fn find(&self, method: &Method, currency: &Currency, hash: &str) -> Outcome;

    /// The payer's funds, to check whether a payment can succeed.
    async fn balance(&self, method: &Method, currency: &Currency, payer: &Did) -> Result<Amount, RailError>;

    /// What the network charges for transactions, and whether this store has staked for gas.
    async fn gas(&self, method: &Method) -> Result<GasState, RailError>;

    /// Stakes the least amount that exempts this store from gas, and returns the state after it. Does nothing if it is exempt already. A
    /// repeated call must not stake twice, whatever became of the first one.
    async fn stake_for_gas(&self, method: &Method) -> Result<GasState, RailError>;
}

/// A card that is saved at the provider for later charges. Contains only what may be shown.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SavedCard {
    /// The provider's customer (`cus_…`).
    pub customer: String,
    /// The provider's payment method (`pm_…`).
    pub card: String,
    /// The provider's brand name: `visa`, `mastercard`, `amex`.
    pub brand: String,
    pub last4: String,
    /// `None`: the provider did not report it in a known form.
    pub expiry: Option<CardExpiry>,
}

/// The last month in which a card is valid.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CardExpiry {
    /// 1 to 12.
    pub month: u8,
    pub year: u16,
}

impl CardExpiry {
    #[must_use]
    pub fn new(month: u8, year: u16) -> Option<Self> {
        ((1..=12).contains(&month) && (2000..=9999).contains(&year)).then_some(Self { month, year })
    }
}

/// The customer for whom a card is saved. Name and email are shown to the store at the provider; either may be empty.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CardHolder {
    pub customer: CustomerId,
    pub name: String,
    pub email: String,
}

/// Limits the number of concurrent calls to a network. Shared by all background charging in a process; a customer who pays on a page does
/// not wait for a slot. Initial charges and all other background calls ([`Trigger::Reconciler`]) have the same number of slots each, so that
/// a batch of renewals does not delay the reconciling of outcomes.
#[async_trait]
pub trait ConcurrencyLimit: Send + Sync {
    /// Waits for a slot of the method's network, first come, first served. Dropping the result frees the slot.
    async fn take(&self, method: &MethodId, trigger: Trigger) -> Box<dyn Send>;
}

/// Counts what the networks answer, for the owner's metrics.
pub trait OutcomeObserver: Send + Sync {
    /// Called whenever an outcome is recorded for an attempt, so an attempt that is checked again counts again.
    fn observe(&self, network: MethodKind, outcome: &Outcome);
}

/// Makes the sandbox follow a customer's test clock.
#[async_trait]
pub trait SandboxTime: Send + Sync {
    /// Sets the time at which the sandbox evaluates the payer's mandates and stakes. Earlier times than the last one are ignored.
    async fn set(&self, payer: &Did, now: Timestamp) -> Result<(), RailError>;
}

/// How long an idempotency key counts as valid. Providers forget keys after 24 hours, so an older key offers no protection.
pub const IDEMPOTENCY_KEY_TTL: Duration = Duration::from_secs(20 * 3_600);

/// A card payment.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CardRequest {
    /// Sent as the provider's idempotency key and in its metadata.
    pub attempt: AttemptId,
    pub amount: Amount,
    pub description: String,
    pub receipt_email: Option<String>,
    /// `Some`: after payment the card is saved at the provider for off-session charges.
    pub setup_future_usage: Option<CardHolder>,
}

/// A provider's payment intent with the data for the card form in the browser.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CardIntent {
    pub provider_id: String,
    pub client_secret: String,
    pub outcome: Outcome,
}

/// Saves a card without a payment: for a trial, or a change of method.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SetupRequest {
    /// Sent as the provider's idempotency key and in its metadata.
    pub attempt: AttemptId,
    pub holder: CardHolder,
}

/// The provider's answer about saving a card. No money moves, so there are fewer states than in [`Outcome`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SetupOutcome {
    Saved(SavedCard),
    /// This set-up can never save a card.
    Declined(Decline),
    /// As in [`Outcome::Pending`].
    Pending {
        requires_payer: bool,
        last_error: Option<Decline>,
    },
    /// The provider does not know it.
    NotFound,
    /// No answer was received, or none that could be understood.
    Unknown(String),
}

/// A provider's set-up intent with the data for the card form in the browser.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CardSetup {
    pub provider_id: String,
    pub client_secret: String,
    pub outcome: SetupOutcome,
}

/// An off-session charge of a saved card.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ChargeRequest {
    /// Sent as the provider's idempotency key and in its metadata.
    pub attempt: AttemptId,
    pub amount: Amount,
    pub description: String,
    pub card: SavedCard,
    /// Whether the attempt is older than [`IDEMPOTENCY_KEY_TTL`], so that the provider must be searched for an earlier result first.
    pub is_late: bool,
}

/// A refund to the card that paid.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CardRefundRequest {
    /// Sent as the provider's idempotency key and in its metadata. A failed refund is retried by another attempt: under the same key the
    /// provider would repeat its first answer.
    pub attempt: AttemptId,
    /// Sent in the provider's metadata.
    pub refund: RefundId,
    /// The provider's intent that was paid.
    pub provider_id: String,
    /// The full amount or a part.
    pub amount: Amount,
    /// See [`ChargeRequest::is_late`].
    pub is_late: bool,
}

/// An event that the provider signed. Its payload is never trusted: the object is fetched again.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CardEvent {
    pub id: String,
    pub kind: String,
    /// The object to query; `None`: nothing that concerns this store.
    pub hint: Option<CardHint>,
}

impl CardEvent {
    /// The payment intent that the event concerns, whichever object of it has changed.
    #[must_use]
    pub fn intent(&self) -> Option<&str> {
        match self.hint.as_ref()? {
            CardHint::Intent { provider_id } => Some(provider_id),
            CardHint::Charge { payment } | CardHint::Failure { payment } => Some(payment),
            CardHint::Dispute { payment, .. } | CardHint::Refund { payment, .. } => payment.as_deref(),
        }
    }
}

/// An object that may have changed. Hints can be late, duplicated or lost, and do not describe the change.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum CardHint {
    /// A payment intent or a setup intent: see [`CardRail::find`] and [`CardRail::find_setup`].
    Intent { provider_id: String },
    /// A payment intent that has failed or was canceled, possibly after it had succeeded: see [`CardRail::find_charge`].
    Failure { payment: String },
    /// The charge of a payment intent, which is disputed or was refunded: see [`CardRail::disputes_of`] and [`CardRail::refunds_of`].
    Charge { payment: String },
    /// See [`CardRail::find_dispute`]. `payment` is the disputed payment intent, where the event names one.
    Dispute { provider_id: String, payment: Option<String> },
    /// See [`CardRail::find_refund`]. `payment` is the refunded payment intent, where the event names one.
    Refund { provider_id: String, payment: Option<String> },
}

/// A range of time in which a provider recorded events; both ends are part of it, in whole seconds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct EventRange {
    pub since: Timestamp,
    pub until: Timestamp,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum EventError {
    #[error("verify sig failed")]
    BadSignature,
    #[error("the event is not JSON of the expected shape")]
    Malformed,
}

/// A card processor.
#[async_trait]
pub trait CardRail: Send + Sync {
    /// Validates the settings against the network. Must fail with [`RailError::Misconfigured`] when they are wrong.
    async fn validate_settings(&self, method: &Method, currencies: &[Currency]) -> Result<(), RailError>;

    /// Opens the provider's intent. The same `request.attempt` must always yield the same intent.
    async fn open(&self, method: &Method, currency: &Currency, request: &CardRequest) -> Result<CardIntent, RailError>;

    /// Queries the provider about an intent.
    async fn find(&self, method: &Method, currency: &Currency, provider_id: &str) -> Outcome;

    /// Cancels an intent that will not be paid. Returns its final state, since it may have settled meanwhile.
    async fn cancel(&self, method: &Method, currency: &Currency, provider_id: &str) -> Outcome;

    /// Opens the provider's intent to save a card. The same `request.attempt` must always yield the same intent.
    async fn open_setup(&self, method: &Method, request: &SetupRequest) -> Result<CardSetup, RailError>;

    /// Queries the provider about a set-up.
    async fn find_setup(&self, method: &Method, provider_id: &str) -> SetupOutcome;

    /// Cancels a set-up that will not be completed. Returns its final state, since it may have saved a card meanwhile.
    async fn cancel_setup(&self, method: &Method, provider_id: &str) -> SetupOutcome;

    /// Charges a saved card off-session. The same `request.attempt` is charged at most once: to learn its outcome, send it again, or call
    /// [`CardRail::find_charge`] once its `provider_id` is known.
    ///
    /// A declined charge is [`Outcome::Declined`] with the provider's own code, and its intent is canceled, so that it can never settle. A
    /// card that requires authentication is declined with `authentication_required`, since the customer is absent. `provider_id` is empty
    /// if no answer named an intent; `client_secret` is always empty. Fails only if the call could not be made at all.
    async fn charge(&self, method: &Method, currency: &Currency, request: &ChargeRequest) -> Result<CardIntent, RailError>;

    /// Queries a charge whose intent is known. As in [`CardRail::charge`], an intent that waits for its payer is canceled before the charge
    /// is reported as declined, since it would otherwise stay open forever.
    async fn find_charge(&self, method: &Method, currency: &Currency, provider_id: &str) -> Outcome;

    /// Refunds a card payment. The same `request.attempt` moves money at most once, and every call returns its outcome.
    /// [`Outcome::Settled`] contains the provider's refund id and the refunded amount. A refund above the paid amount is declined.
    async fn refund(&self, method: &Method, currency: &Currency, request: &CardRefundRequest) -> Outcome;

    /// Fetches the current state of a dispute. Events about it are only hints: neither their order nor their payload is trusted. `None`:
    /// the provider does not know it.
    async fn find_dispute(&self, method: &Method, provider_id: &str) -> Result<Option<ProviderDispute>, RailError>;

    /// All disputes of a payment intent, newest first. Finds those whose events were lost.
    async fn disputes_of(&self, method: &Method, payment: &str) -> Result<Vec<ProviderDispute>, RailError>;

    /// Fetches the current state of a refund, made by this store or in the dashboard. It may have failed after [`CardRail::refund`]
    /// reported [`Outcome::Settled`]. `None`: the provider does not know it.
    async fn find_refund(&self, method: &Method, provider_id: &str) -> Result<Option<ProviderRefund>, RailError>;

    /// All refunds of a payment intent, newest first: made by this store, or in the provider's dashboard.
    async fn refunds_of(&self, method: &Method, payment: &str) -> Result<Vec<ProviderRefund>, RailError>;

    /// The events about failed payments, refunds and disputes that the provider recorded in a range, oldest first. Finds changes whose webhook deliveries
    /// were lost.
    async fn list_changes(&self, method: &Method, range: &EventRange) -> Result<Vec<CardEvent>, RailError>;

    /// Checks the signature of a delivered event in constant time, with a tolerance of five minutes.
    fn read_event(&self, method: &Method, body: &[u8], signature: &str, now: Timestamp) -> Result<CardEvent, EventError>;
}
