//! The port to card processors.

use super::{CardEvent, ChargedPeriod, Decline, EventError, EventRange, Movement, Outcome, RailError};
use crate::customer::ProviderCustomer;
use crate::payment::{Currency, Method, ProviderDispute, ProviderRefund};
use crate::shared::{Amount, AttemptId, CustomerId, RefundId, Timestamp};
use async_trait::async_trait;
use std::time::Duration;

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
    /// Their customer at the provider, once it is known.
    pub provider_id: Option<String>,
}

impl CardHolder {
    #[must_use]
    pub const fn new(customer: CustomerId, name: String, email: String) -> Self {
        Self { customer, name, email, provider_id: None }
    }
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
    /// Sent in the provider's metadata.
    pub period: Option<ChargedPeriod>,
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

/// A card processor.
#[async_trait]
pub trait CardRail: Send + Sync {
    /// Validates the settings against the network. Must fail with [`RailError::Misconfigured`] when they are wrong.
    async fn validate_settings(&self, method: &Method, currencies: &[Currency]) -> Result<(), RailError>;

    /// Creates the provider's customer of a holder, or keeps the known one if the provider still has it, and names it. The same holder always
    /// yields the same customer of a method, until their data is erased. Returns the provider's id.
    async fn open_customer(&self, method: &Method, known: Option<&ProviderCustomer>, holder: &CardHolder) -> Result<String, RailError>;

    /// Deletes a provider's customer for good, with the name, the email and the saved cards. Payments stay, and can be refunded. Succeeds as
    /// well if the provider does not have the customer any more.
    async fn delete_customer(&self, method: &Method, provider_id: &str) -> Result<(), RailError>;

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

    /// What the network has moved to and from this store since a time, in these currencies, in any order. Contains what it may still be
    /// moving. For a store that was restored from a backup.
    async fn movements(&self, _method: &Method, _currencies: &[Currency], _since: Timestamp) -> Result<Vec<Movement>, RailError> {
        Err(RailError::Rejected("the network does not list its payments".to_owned()))
    }
}
