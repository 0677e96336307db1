//! The ports to the payment networks. A rail reports what happened; the domain decides what that means.

mod card;
mod card_event;
mod movement;
mod wallet;

pub use card::*;
pub use card_event::*;
pub use movement::{ChargedPeriod, Movement};
pub use wallet::*;

use super::{MethodKind, SandboxOff, Trigger};
use crate::access::Did;
use crate::shared::{Amount, MethodId, Timestamp};
use async_trait::async_trait;

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
    /// Refused by the store before the network was called.
    #[error("Too many card forms were opened. Please try again later.")]
    TooManyCardForms,
}

/// Decline codes for a missing, revoked, expired or insufficient mandate. Retrying the same charge is useless; the payer has to grant a new
/// mandate.
pub const MANDATE_DECLINES: [&str; 5] =
    ["INSUFFICIENT_DELEGATION", "INVALID_DELEGATION", "INVALID_DELEGATION_TYPE_URL", "DELEGATION_EXPIRED", "DELEGATION_DENIED"];
/// The decline code for insufficient funds of an account or a stake.
pub const INSUFFICIENT_FUND: &str = "INSUFFICIENT_FUND";
/// The decline code for a transaction whose sender could not pay its gas.
pub const INSUFFICIENT_GAS: &str = "INSUFFICIENT_GAS";
/// The decline code for a payment into a stake that its network keeps under other terms than this store's. Its payer can take it back; this
/// store holds nothing.
pub const STAKE_TERMS_DIFFER: &str = "STAKE_TERMS_DIFFER";

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
