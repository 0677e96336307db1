//! Mandates and stakes that a payer is asked to sign.

use super::{Currency, CurrencyLimit, Method, UnsignedTransaction};
use crate::pricing::ProductNames;
use crate::shared::Amount;

/// A mandate that is shown to the payer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PreparedMandate {
    pub prepared: UnsignedTransaction,
    pub method: Method,
    /// The most of one charge, for each currency.
    pub limits: Vec<CurrencyLimit>,
    /// Whether part of it depends on usage.
    pub by_usage: bool,
    /// A description of the order.
    pub description: ProductNames,
}

/// A stake that is shown to the payer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PreparedStake {
    pub prepared: UnsignedTransaction,
    pub method: Method,
    pub currency: Currency,
    pub amount: Amount,
    pub description: ProductNames,
}
