//! Mandates and stakes that a payer is asked to sign, and what the payer's wallet returns.

use super::{Currency, CurrencyLimit, Method, UnsignedTransaction};
use crate::access::Wallet;
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

/// A transaction that a wallet has signed on request.
#[derive(Debug, Clone, Copy)]
pub struct WalletSignature<'a> {
    pub payer: &'a Wallet,
    /// The nonce of the request.
    pub nonce: u64,
    /// The signed transaction, or the signature of a requested one, as the wallet returned it.
    pub signed: &'a str,
    /// The step of the connect session in which it was signed.
    pub step: Option<SigningStep<'a>>,
}

/// A step of a connect session while the wallet's response is being processed.
#[derive(Debug, Clone, Copy)]
pub struct SigningStep<'a> {
    pub token: &'a str,
    /// The session's challenge during this step; no other step has it.
    pub challenge: &'a str,
}

impl<'a> WalletSignature<'a> {
    /// A signature outside a connect session.
    #[must_use]
    pub const fn new(payer: &'a Wallet, nonce: u64, signed: &'a str) -> Self {
        Self { payer, nonce, signed, step: None }
    }

    /// The token for the attempt of the transaction.
    #[must_use]
    pub fn connect_token(&self) -> Option<String> {
        self.step.map(|step| step.token.to_owned())
    }
}
