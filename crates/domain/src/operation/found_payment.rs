//! Movements of money that a restored store has found at its networks and that belong to nothing it knows, such as an order that was paid
//! after the backup was taken. An owner decides about them.

use crate::shared::{Amount, CurrencyId, MethodId, Mode, StorageError, Timestamp};
use async_trait::async_trait;

/// The most found payments of one list.
pub const FOUND_PAYMENTS_MAX: u32 = 200;

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FoundPayment {
    pub mode: Mode,
    pub method_id: MethodId,
    /// The network's reference: a transaction hash, a card payment intent.
    pub reference: String,
    /// Whether the store received it.
    pub is_incoming: bool,
    /// The other account; empty for cards.
    pub account: String,
    pub amount: Amount,
    pub currency_id: CurrencyId,
    /// When the network moved it.
    pub moved_at: Timestamp,
    pub found_at: Timestamp,
    /// When an owner has dealt with it.
    pub handled_at: Option<Timestamp>,
}

#[async_trait]
pub trait FoundPayments: Send {
    /// Adds a payment, once.
    async fn add(&mut self, payment: &FoundPayment) -> Result<(), StorageError>;
    /// Removes a payment that nobody has dealt with, because it belongs to something after all.
    async fn withdraw(&mut self, method: &MethodId, reference: &str) -> Result<(), StorageError>;
    /// Whether an incoming payment in this currency waits for the owner. It can have paid an invoice at the original.
    async fn has_open_incoming(&mut self, mode: Mode, currency: &CurrencyId) -> Result<bool, StorageError>;
    /// Payments that nobody has dealt with yet, newest first, at most [`FOUND_PAYMENTS_MAX`].
    async fn open(&mut self, mode: Mode) -> Result<Vec<FoundPayment>, StorageError>;
    /// Records that an owner has dealt with it. False: it is not open.
    async fn set_handled(&mut self, mode: Mode, method: &MethodId, reference: &str, by: &str, now: Timestamp)
    -> Result<bool, StorageError>;
}
