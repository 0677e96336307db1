//! The port to networks whose payers sign in a wallet.

use super::{ChargedPeriod, Movement, Outcome, RailError};
use crate::access::Did;
use crate::payment::{Currency, GasState, Method};
use crate::shared::{Amount, Timestamp};
use async_trait::async_trait;
use std::time::Duration;

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
    /// How long the payer waits for the money after revoking the stake, in whole seconds. Fixed by the first payment, as all terms are.
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
    /// Carried in the transaction's data as well.
    pub period: Option<ChargedPeriod>,
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

    /// The state of a stake; zero if there is none. Also zero if the network keeps it under other terms than this store's, since its payer
    /// can open it without this store: another receiver, other slashers, or less time than `waiting` before a revoked stake is paid out.
    async fn stake_balance(
        &self,
        method: &Method,
        currency: &Currency,
        payer: &Did,
        subject: &str,
        waiting: Duration,
    ) -> Result<StakeState, RailError>;

    /// Whether the settings of a method allow to sign its transactions. Makes no network call.
    fn check_signing(&self, _method: &Method) -> Result<(), RailError> {
        Ok(())
    }

    /// Signs a transaction with this store's key. The same request must yield the same bytes. The result is stored, then sent with
    /// [`Self::send`] and looked up with [`Self::find`] like any other transaction. Makes no network call.
    fn sign(&self, method: &Method, currency: &Currency, request: &StoreTransactionRequest) -> Result<SignedTransaction, RailError>;

    /// Sends exactly these bytes. Sending them twice must not move money twice. A payment into a stake is not sent if the network keeps the
    /// stake under other terms than the signed ones: it is declined with [`STAKE_TERMS_DIFFER`](super::STAKE_TERMS_DIFFER).
    async fn send(&self, method: &Method, currency: &Currency, signed: &SignedTransaction) -> Outcome;

    /// Queries the network about a transaction. A payment into a stake that the network keeps under other terms than the signed ones is
    /// declined, as by [`Self::send`], although the network has executed it.
    async fn find(&self, method: &Method, currency: &Currency, hash: &str) -> Outcome;

    /// The payer's funds, to check whether a payment can succeed.
    async fn balance(&self, method: &Method, currency: &Currency, payer: &Did) -> Result<Amount, RailError>;

    /// What the network charges for transactions, and whether this store has staked for gas.
    async fn gas(&self, method: &Method) -> Result<GasState, RailError>;

    /// Stakes the least amount that exempts this store from gas, and returns the state after it. Does nothing if it is exempt already. A
    /// repeated call must not stake twice, whatever became of the first one.
    async fn stake_for_gas(&self, method: &Method) -> Result<GasState, RailError>;

    /// What the network has moved to and from this store since a time, in these currencies, in any order. Contains what it may still be
    /// moving. For a store that was restored from a backup.
    async fn movements(&self, _method: &Method, _currencies: &[Currency], _since: Timestamp) -> Result<Vec<Movement>, RailError> {
        Err(RailError::Rejected("the network does not list its payments".to_owned()))
    }
}
