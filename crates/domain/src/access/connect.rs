//! Sessions between a browser and a wallet (DID Connect v1): what they are and how they move.
//!
//! The rules of reference/did-connect.md 2.7 hold here: tokens of 128 bits, challenges that are used once,
//! a compare-and-set before any effect, results for the browser that began the session only.

use super::{Did, TokenHash};
use crate::shared::{StorageError, Timestamp};
use async_trait::async_trait;
use std::collections::BTreeMap;
use std::time::Duration;

/// DESIGN.md 12: a connect session lives 300 s.
pub const CONNECT_LIFETIME: Duration = Duration::from_secs(300);

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ConnectAction {
    Login,
    Payment,
    Subscription,
    Setup,
    /// Pays one overdue invoice.
    Collect,
    /// Pays all that is overdue in a currency.
    CollectBatch,
    /// Gives another permission for future invoices.
    ChangePayment,
    /// Leaves a stake anew, so that a subscription goes on.
    Restake,
    /// Adds funds to the account that a subscription is charged by.
    Recharge,
    /// Switches the overdraft protection of a subscription on, or tops it up.
    OverdraftProtection,
}

impl ConnectAction {
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Login => "login",
            Self::Payment => "payment",
            Self::Subscription => "subscription",
            Self::Setup => "setup",
            Self::Collect => "collect",
            Self::CollectBatch => "collect-batch",
            Self::ChangePayment => "change-payment",
            Self::Restake => "re-stake",
            Self::Recharge => "recharge",
            Self::OverdraftProtection => "overdraft-protection",
        }
    }

    /// `checkout` is the name of SPEC.md 7 for `payment` with a mode.
    #[must_use]
    pub fn from_name(name: &str) -> Option<Self> {
        match name {
            "login" => Some(Self::Login),
            "payment" | "checkout" => Some(Self::Payment),
            "subscription" => Some(Self::Subscription),
            "setup" => Some(Self::Setup),
            "collect" => Some(Self::Collect),
            "collect-batch" => Some(Self::CollectBatch),
            "change-payment" => Some(Self::ChangePayment),
            "re-stake" => Some(Self::Restake),
            "recharge" => Some(Self::Recharge),
            "overdraft-protection" => Some(Self::OverdraftProtection),
            _ => None,
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ConnectStatus {
    Created,
    Scanned,
    /// A step's answer is being carried out; its challenge is used up.
    Working,
    Succeed,
    Error,
    Busy,
    /// Another wallet than the one that began has answered.
    Forbidden,
}

impl ConnectStatus {
    pub const ALL: [Self; 7] = [Self::Created, Self::Scanned, Self::Working, Self::Succeed, Self::Error, Self::Busy, Self::Forbidden];

    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Created => "created",
            Self::Scanned => "scanned",
            Self::Working => "working",
            Self::Succeed => "succeed",
            Self::Error => "error",
            Self::Busy => "busy",
            Self::Forbidden => "forbidden",
        }
    }

    #[must_use]
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|status| status.name() == name)
    }

    #[must_use]
    pub const fn is_final(self) -> bool {
        matches!(self, Self::Succeed | Self::Error | Self::Busy | Self::Forbidden)
    }
}

/// Which claim the wallet is asked for next.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ConnectStep {
    /// Who are you?
    Principal,
    /// What are you called?
    Profile,
    /// Sign this payment.
    Transfer,
    /// Permit this store to charge later.
    Mandate,
    /// Stake for a subscription.
    Stake,
}

impl ConnectStep {
    pub const ALL: [Self; 5] = [Self::Principal, Self::Profile, Self::Transfer, Self::Mandate, Self::Stake];

    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Principal => "principal",
            Self::Profile => "profile",
            Self::Transfer => "transfer",
            Self::Mandate => "mandate",
            Self::Stake => "stake",
        }
    }

    #[must_use]
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|step| step.name() == name)
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ConnectSession {
    /// 128 random bits in hex. Wallets treat it as opaque.
    pub token: String,
    pub action: ConnectAction,
    pub status: ConnectStatus,
    pub step: ConnectStep,
    /// 16 random bytes in upper hex, a new one for each step.
    pub challenge: String,
    /// The browser that began it: only this one receives what the session yields.
    pub browser: TokenHash,
    /// What the browser sent along: `checkoutSessionId`, `sessionUserDid`, `locale`.
    pub params: BTreeMap<String, String>,
    /// The wallet that answered the first step, or whom the signed-in browser named.
    pub wallet: Option<Wallet>,
    /// For a transfer: the nonce of the transaction that was asked for.
    pub nonce: u64,
    /// Why it failed, its code and what differs from case to case; empty while it has not.
    pub error: String,
    pub error_code: String,
    pub error_params: BTreeMap<String, String>,
    /// The login that was handed out for it: a session yields one, not one for each question.
    pub login: Option<TokenHash>,
    pub created_at: Timestamp,
    pub expires_at: Timestamp,
}

/// A wallet account: its address and public key (base58).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Wallet {
    pub did: Did,
    pub public_key: String,
}

/// From where to where a session moves; applied only if it still stands at `from` with `challenge`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ConnectTransition<'a> {
    pub token: &'a str,
    pub from: ConnectStatus,
    pub challenge: &'a str,
    pub next: &'a ConnectSession,
}

#[async_trait]
pub trait ConnectSessions: Send {
    async fn insert(&mut self, session: &ConnectSession) -> Result<(), StorageError>;
    /// The session, unless it has expired.
    async fn find(&mut self, token: &str, now: Timestamp) -> Result<Option<ConnectSession>, StorageError>;
    /// Compare-and-set on status and challenge. False: somebody else moved it first.
    async fn advance(&mut self, step: &ConnectTransition<'_>) -> Result<bool, StorageError>;
    /// Notes the login that a succeeded session was used for. False: it no longer stands at `before`.
    async fn redeem_connect_session(&mut self, token: &str, before: Option<&TokenHash>, login: &TokenHash) -> Result<bool, StorageError>;
    /// Removes it unless a wallet has it in hand (`scanned` or `working`).
    async fn abandon(&mut self, token: &str) -> Result<(), StorageError>;
    async fn prune(&mut self, now: Timestamp, limit: u32) -> Result<u64, StorageError>;
}
