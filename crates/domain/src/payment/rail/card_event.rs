//! The events that a card processor sends. Each names an object that the store then fetches.

use crate::shared::Timestamp;

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
    /// A payment intent or a setup intent: see [`super::CardRail::find`] and [`super::CardRail::find_setup`].
    Intent { provider_id: String },
    /// A payment intent that has failed or was canceled, possibly after it had succeeded: see [`super::CardRail::find_charge`].
    Failure { payment: String },
    /// The charge of a payment intent, which is disputed or was refunded: see [`super::CardRail::disputes_of`] and [`super::CardRail::refunds_of`].
    Charge { payment: String },
    /// See [`super::CardRail::find_dispute`]. `payment` is the disputed payment intent, where the event names one.
    Dispute { provider_id: String, payment: Option<String> },
    /// See [`super::CardRail::find_refund`]. `payment` is the refunded payment intent, where the event names one.
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
