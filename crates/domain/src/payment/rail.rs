//! The ports to the payment networks. A rail reports what happened; the domain decides what that means.

use super::{Currency, Method, ProviderDispute, ProviderRefund, Trigger};
use crate::access::Did;
use crate::shared::{Amount, AttemptId, CustomerId, MethodId, RefundId, Timestamp};
use async_trait::async_trait;
use std::time::Duration;

/// What a network said about an attempt.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Outcome {
    /// The network says that the money moved.
    Settled(Settlement),
    /// The network refuses, finally: this attempt can never settle.
    Declined(Decline),
    /// The network knows the attempt and has not decided. `requires_payer`: it waits for the payer (a card form, a second step).
    Pending { requires_payer: bool, last_error: Option<Decline> },
    /// The network has never heard of the attempt: nothing moved, the same bytes or key may be sent again.
    NotFound,
    /// No answer was seen, or none that we understand. Never a failure (invariant 4).
    Unknown(String),
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Settlement {
    /// The network's name of the payment: a transaction hash, a card payment intent.
    pub reference: String,
    /// Who paid, as the network knows them; empty for cards.
    pub payer: String,
    /// What the network says it moved, in base units: to this store, or to whom the payer was asked to pay; from the store where it
    /// paid out; into a stake, or back out of it to who staked; zero for a mandate.
    pub amount: Amount,
    /// The card that is kept at the provider since, or was kept before. None for wallets and for cards that are not kept.
    pub card: Option<SavedCard>,
}

/// Why a network refused, in its own terms. `message` may be shown to the payer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Decline {
    pub code: String,
    pub message: String,
}

/// A call that could not be made or understood. For calls that move no money; those that do answer [`Outcome::Unknown`].
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum RailError {
    #[error("the payment network could not be reached: {0}")]
    Unreachable(String),
    #[error("the payment network refused the request: {0}")]
    Rejected(String),
    #[error("the method's settings do not fit its network: {0}")]
    Misconfigured(String),
}

/// A payment that a wallet is asked to sign.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TransferRequest {
    pub payer: Did,
    /// The payer's public key, base58 as wallets send it.
    pub payer_key: String,
    /// Who is paid. `None`: this store.
    pub to: Option<Did>,
    pub amount: Amount,
    /// What the payment is for; carried in the transaction's data.
    pub reference: String,
    /// Makes two requests for the same thing two transactions.
    pub nonce: u64,
}

/// A standing permission that a wallet is asked to sign: what this store may take without asking again.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MandateRequest {
    pub payer: Did,
    /// The payer's public key, base58 as wallets send it.
    pub payer_key: String,
    /// For each currency of the method, each at most once, the most of one charge. Never zero: to networks that means "any amount".
    pub limits: Vec<(Currency, Amount)>,
    /// What the permission is for; carried in the transaction's data.
    pub reference: String,
    /// Makes two requests for the same thing two transactions.
    pub nonce: u64,
}

/// A deposit that a wallet is asked to sign: this store may take from it what is owed, and returns the rest.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StakeRequest {
    pub payer: Did,
    /// The payer's public key, base58 as wallets send it.
    pub payer_key: String,
    pub amount: Amount,
    /// The stake's id, its nonce at the network: every stake has an address of its own, and a second payment adds to it.
    pub subject: String,
    /// How long the payer waits for the money after revoking the stake alone, in whole seconds. Fixed by the first deposit.
    pub waiting: Duration,
    /// Carried in the transaction's data.
    pub reference: String,
    /// Makes two requests for the same thing two transactions.
    pub nonce: u64,
}

/// Money that this store moves by itself, with its own key.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum StoreTransaction {
    /// From the payer to this store, by the payer's mandate.
    Pull { payer: Did },
    /// From this store to somebody: a refund.
    Payout { to: Did },
    /// Out of a stake, back to who staked.
    ReturnStake { payer: Did, subject: String },
    /// Out of a stake to this store, for what is owed.
    Slash { payer: Did, subject: String },
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StoreTransactionRequest {
    pub transaction: StoreTransaction,
    pub amount: Amount,
    /// What the money is for; carried in the transaction's data.
    pub reference: String,
    /// Makes two requests for the same thing two transactions. Unlike any nonce of the same account's last transaction.
    pub nonce: u64,
}

/// What a stake holds, in base units.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct StakeState {
    /// May be returned or slashed.
    pub held: Amount,
    /// On its way back to the payer, who revoked it: may still be slashed, no longer returned.
    pub revoked: Amount,
}

/// Codes with which networks refuse a charge by mandate for the mandate's sake: none, revoked, run out, or too small for the amount.
/// Asking for the same charge again is of no use; asking the payer for a new mandate is.
pub const MANDATE_DECLINES: [&str; 5] =
    ["INSUFFICIENT_DELEGATION", "INVALID_DELEGATION", "INVALID_DELEGATION_TYPE_URL", "DELEGATION_EXPIRED", "DELEGATION_DENIED"];
/// The code with which networks refuse what an account or a stake cannot cover.
pub const INSUFFICIENT_FUND: &str = "INSUFFICIENT_FUND";

impl Decline {
    /// Whether the mandate stood in the way: missing, revoked, run out or too small.
    #[must_use]
    pub fn is_for_mandate(&self) -> bool {
        MANDATE_DECLINES.contains(&self.code.as_str())
    }

    /// Whether there was too little money.
    #[must_use]
    pub fn is_for_funds(&self) -> bool {
        self.code == INSUFFICIENT_FUND
    }
}

/// What goes to the wallet. Both texts are in the network's own encoding (base58 for arcblock).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UnsignedTransaction {
    pub partial_tx: String,
    /// The token's address, which the wallet's requirement names; of several, the first.
    pub token: String,
}

/// A checked, signed transaction: stored before it is sent, and sent again byte for byte (invariant 1).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SignedTransaction {
    pub bytes: Vec<u8>,
    pub hash: String,
}

/// How a signed transaction differs from what was asked. Nothing is sent then.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum CheckError {
    #[error("the transaction cannot be decoded")]
    Malformed,
    #[error("the transaction is not the one that was asked for: {0}")]
    Differs(&'static str),
    #[error("the transaction's signature is not valid")]
    BadSignature,
}

/// A network whose payers sign in a wallet.
#[async_trait]
pub trait WalletRail: Send + Sync {
    /// Asks the network whether these settings and currencies are real. Must fail with [`RailError::Misconfigured`] when they are not.
    async fn verify(&self, method: &Method, currencies: &[Currency]) -> Result<(), RailError>;

    /// Builds the transfer, to this store or to whom the request names, that the wallet must sign. Makes no network call.
    fn prepare(&self, method: &Method, currency: &Currency, request: &TransferRequest) -> Result<UnsignedTransaction, RailError>;

    /// Compares a signed transaction with `request`, field by field, and verifies its signatures. Makes no network call.
    fn check(
        &self,
        method: &Method,
        currency: &Currency,
        request: &TransferRequest,
        signed_tx: &str,
    ) -> Result<SignedTransaction, CheckError>;

    /// Builds the permission that the wallet must sign. It replaces what the payer permitted this store before; it is shared by all
    /// that the payer owes. Makes no network call.
    fn prepare_mandate(&self, method: &Method, request: &MandateRequest) -> Result<UnsignedTransaction, RailError>;

    /// Compares a signed permission with `request`, field by field, and verifies its signature. `signed_tx` is the whole transaction or,
    /// from wallets that answer a `signature` claim, the signature alone, over what was prepared. Makes no network call.
    fn check_mandate(&self, method: &Method, request: &MandateRequest, signed_tx: &str) -> Result<SignedTransaction, CheckError>;

    /// Builds the deposit that the wallet must sign. Makes no network call.
    fn prepare_stake(&self, method: &Method, currency: &Currency, request: &StakeRequest) -> Result<UnsignedTransaction, RailError>;

    /// Compares a signed deposit with `request`, field by field, and verifies its signatures. Makes no network call.
    fn check_stake(
        &self,
        method: &Method,
        currency: &Currency,
        request: &StakeRequest,
        signed_tx: &str,
    ) -> Result<SignedTransaction, CheckError>;

    /// Whether the payer's mandate permits a charge of `amount` now. Not whether the balance suffices: see [`Self::balance`].
    async fn permits(&self, method: &Method, currency: &Currency, payer: &Did, amount: Amount) -> Result<bool, RailError>;

    /// What a stake holds; nothing where there is none.
    async fn staked(&self, method: &Method, currency: &Currency, payer: &Did, subject: &str) -> Result<StakeState, RailError>;

    /// Signs a transaction with this store's key. The same request must give the same bytes. The result is stored, then sent with
    /// [`Self::send`] and looked up with [`Self::find`] like any other transaction. Makes no network call.
    fn sign(&self, method: &Method, currency: &Currency, request: &StoreTransactionRequest) -> Result<SignedTransaction, RailError>;

    /// Sends exactly these bytes. Sending them twice must not move money twice.
    async fn send(&self, method: &Method, currency: &Currency, signed: &SignedTransaction) -> Outcome;

    /// Asks the network what became of a transaction.
    async fn find(&self, method: &Method, currency: &Currency, hash: &str) -> Outcome;

    /// What the payer holds, for the question whether a payment could succeed.
    async fn balance(&self, method: &Method, currency: &Currency, payer: &Did) -> Result<Amount, RailError>;
}

/// A card that the provider keeps for later charges. We know no more of it than what may be shown.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SavedCard {
    /// The provider's customer (`cus_…`).
    pub customer: String,
    /// The provider's payment method (`pm_…`).
    pub card: String,
    /// As the provider writes it: `visa`, `mastercard`, `amex`.
    pub brand: String,
    pub last4: String,
    /// `None` where the provider did not tell it in a form that we know.
    pub expiry: Option<CardExpiry>,
}

/// The last month in which a card is good.
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

/// Whom a card is kept for. Name and address are for the merchant's eyes at the provider; either may be empty.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CardHolder {
    pub customer: CustomerId,
    pub name: String,
    pub email: String,
}

/// Keeps how much is on its way to a network at once within a limit. Shared by everything in a process that charges while nobody
/// waits; a customer who pays at a page does not queue here. Charges, and the reconciler ([`Trigger::Reconciler`]) with what it asks about and
/// sends, have as many slots each: what became of a payment is not learned behind a whole round of renewals.
#[async_trait]
pub trait ConcurrencyLimit: Send + Sync {
    /// Waits for a slot of the method's network, first come, first served. It is free again when the answer is dropped.
    async fn take(&self, method: &MethodId, trigger: Trigger) -> Box<dyn Send>;
}

/// Lets the sandbox follow a customer's test clock.
#[async_trait]
pub trait SandboxTime: Send + Sync {
    /// Sets the time by which the sandbox judges what the payer's mandates and stakes allow. It never goes back: an earlier time than
    /// the last one changes nothing.
    async fn set(&self, payer: &Did, now: Timestamp) -> Result<(), RailError>;
}

/// Providers forget idempotency keys after a day: a key that is older than this protects nothing any more.
pub const IDEMPOTENCY_KEY_TTL: Duration = Duration::from_secs(20 * 3_600);

/// A payment that a card is asked for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CardRequest {
    /// Sent as the provider's idempotency key and in its metadata.
    pub attempt: AttemptId,
    pub amount: Amount,
    pub description: String,
    pub receipt_email: Option<String>,
    /// Some: once paid, the card stays at the provider and may be charged while its owner is away.
    pub setup_future_usage: Option<CardHolder>,
}

/// What the card form in the browser needs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CardIntent {
    pub provider_id: String,
    pub client_secret: String,
    pub outcome: Outcome,
}

/// Saving a card without paying: a trial, a change of method.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SetupRequest {
    /// Sent as the provider's idempotency key and in its metadata.
    pub attempt: AttemptId,
    pub holder: CardHolder,
}

/// What the provider said about saving a card. No money is in question, so the states are fewer than [`Outcome`]'s.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SetupOutcome {
    Saved(SavedCard),
    /// This setup can never save a card.
    Declined(Decline),
    /// As in [`Outcome::Pending`].
    Pending {
        requires_payer: bool,
        last_error: Option<Decline>,
    },
    /// The provider has never heard of it.
    NotFound,
    /// No answer was seen, or none that we understand.
    Unknown(String),
}

/// What the card form in the browser needs to save a card.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CardSetup {
    pub provider_id: String,
    pub client_secret: String,
    pub outcome: SetupOutcome,
}

/// A charge of a saved card while its owner is away.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ChargeRequest {
    /// Sent as the provider's idempotency key and in its metadata.
    pub attempt: AttemptId,
    pub amount: Amount,
    pub description: String,
    pub card: SavedCard,
    /// The attempt is older than [`IDEMPOTENCY_KEY_TTL`]: what it did must be looked for before it is done.
    pub is_late: bool,
}

/// Money that goes back to the card it came from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CardRefundRequest {
    /// Sent as the provider's idempotency key and in its metadata. A refund that failed is retried by another attempt: under the same key
    /// the provider would answer as it did to the first.
    pub attempt: AttemptId,
    /// Sent in the provider's metadata.
    pub refund: RefundId,
    /// The provider's intent that was paid.
    pub provider_id: String,
    /// All of it or a part.
    pub amount: Amount,
    /// As of [`ChargeRequest::is_late`].
    pub is_late: bool,
}

/// An event that the provider signed. Its payload is never trusted: the object is fetched again.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CardEvent {
    pub id: String,
    pub kind: String,
    /// What to ask the provider about; `None`: nothing that this store knows.
    pub hint: Option<CardHint>,
}

impl CardEvent {
    /// The intent that the event is about, whatever object of it has changed.
    #[must_use]
    pub fn intent(&self) -> Option<&str> {
        match self.hint.as_ref()? {
            CardHint::Intent { provider_id } => Some(provider_id),
            CardHint::Charge { payment } => Some(payment),
            CardHint::Dispute { payment, .. } | CardHint::Refund { payment, .. } => payment.as_deref(),
        }
    }
}

/// An object that may have changed. A hint can be late, doubled or lost, and says nothing about the change.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum CardHint {
    /// A payment intent or a setup intent: see [`CardRail::find`] and [`CardRail::find_setup`].
    Intent { provider_id: String },
    /// The charge of a payment intent, which is disputed or was refunded: see [`CardRail::disputes_of`] and [`CardRail::refunds_of`].
    Charge { payment: String },
    /// See [`CardRail::find_dispute`]. `payment` is the disputed payment intent, where the event names one.
    Dispute { provider_id: String, payment: Option<String> },
    /// See [`CardRail::find_refund`]. `payment` is the refunded payment intent, where the event names one.
    Refund { provider_id: String, payment: Option<String> },
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
    /// Asks the network whether these settings are real. Must fail with [`RailError::Misconfigured`] when they are not.
    async fn verify(&self, method: &Method, currencies: &[Currency]) -> Result<(), RailError>;

    /// Opens the provider's intent. The same `request.attempt` must yield the same intent, however often it is sent.
    async fn open(&self, method: &Method, currency: &Currency, request: &CardRequest) -> Result<CardIntent, RailError>;

    /// Asks the provider what became of an intent.
    async fn find(&self, method: &Method, currency: &Currency, provider_id: &str) -> Outcome;

    /// Ends an intent that nobody will pay any more. Answers what it has become: it may have settled meanwhile.
    async fn cancel(&self, method: &Method, currency: &Currency, provider_id: &str) -> Outcome;

    /// Opens the provider's intent to save a card. The same `request.attempt` must yield the same one, however often it is sent.
    async fn open_setup(&self, method: &Method, request: &SetupRequest) -> Result<CardSetup, RailError>;

    /// Asks the provider what became of a setup.
    async fn find_setup(&self, method: &Method, provider_id: &str) -> SetupOutcome;

    /// Ends a setup that nobody will complete any more. Answers what it has become: it may have saved a card meanwhile.
    async fn cancel_setup(&self, method: &Method, provider_id: &str) -> SetupOutcome;

    /// Charges a saved card at once, its owner being away. The same `request.attempt` is charged at most once, however often it is sent:
    /// what became of it is asked by sending it again, or by [`CardRail::find_charge`] once its `provider_id` is known.
    ///
    /// A declined charge is [`Outcome::Declined`] with the provider's own code, and its intent is ended, so that it can never settle.
    /// Nobody is there to take a second step: a card that wants one is refused with `authentication_required`. `provider_id` is
    /// empty where no answer named an intent, `client_secret` always. Fails only when the call could not be made at all.
    async fn charge(&self, method: &Method, currency: &Currency, request: &ChargeRequest) -> Result<CardIntent, RailError>;

    /// Asks what became of a charge whose intent is known. As by [`CardRail::charge`], an intent that waits for a payer is ended,
    /// and only then is the charge refused: else nobody would ever pay it, and it would stand open for good.
    async fn find_charge(&self, method: &Method, currency: &Currency, provider_id: &str) -> Outcome;

    /// Gives money back. The same `request.attempt` moves money at most once, and answers what became of it however often it is sent.
    /// [`Outcome::Settled`] names the provider's refund and the amount that went back; more than was paid is refused.
    async fn refund(&self, method: &Method, currency: &Currency, request: &CardRefundRequest) -> Outcome;

    /// Asks the provider for a dispute as it is now. An event about it is only a hint: neither the order of events nor their payload is
    /// believed. `None`: the provider has never heard of it.
    async fn find_dispute(&self, method: &Method, provider_id: &str) -> Result<Option<ProviderDispute>, RailError>;

    /// All disputes of a payment intent, newest first. Finds those whose events were lost.
    async fn disputes_of(&self, method: &Method, payment: &str) -> Result<Vec<ProviderDispute>, RailError>;

    /// Asks the provider for a refund as it is now, whoever made it. It may have failed after [`CardRail::refund`] reported
    /// [`Outcome::Settled`]. `None`: the provider has never heard of it.
    async fn find_refund(&self, method: &Method, provider_id: &str) -> Result<Option<ProviderRefund>, RailError>;

    /// All refunds of a payment intent, newest first: those of this store, and those that somebody made in the provider's dashboard.
    async fn refunds_of(&self, method: &Method, payment: &str) -> Result<Vec<ProviderRefund>, RailError>;

    /// Checks the signature of a delivered event in constant time, with a tolerance of five minutes.
    fn read_event(&self, method: &Method, body: &[u8], signature: &str, now: Timestamp) -> Result<CardEvent, EventError>;
}
