//! Sessions between a browser and a wallet (DID Connect v1) and their state machine.
//!
//! They follow reference/did-connect.md 2.7: 128-bit tokens, single-use challenges, a compare-and-set before any effect, and results only
//! for the browser that began the session.

use super::{Did, TokenHash};
use crate::context::Context;
use crate::events::{ConnectUpdate, Message, Topic};
use crate::operation::VisitorNetwork;
use crate::shared::{EventId, StorageError, Timestamp};
use crate::storage::UnitOfWork;
use async_trait::async_trait;
use std::collections::BTreeMap;
use std::time::Duration;

/// The lifetime of a connect session (DESIGN.md 12).
pub const CONNECT_LIFETIME: Duration = Duration::from_secs(300);
/// The lifetime of a session in which everything is signed, while the network decides. The decline of a transaction that may have been sent
/// before is final after a day.
pub const CONFIRMATION_LIFETIME: Duration = Duration::from_secs(48 * 3_600);
/// How long a final state can be read at least.
pub const FINAL_CONNECT_LIFETIME: Duration = Duration::from_secs(60);

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ConnectAction {
    Login,
    Payment,
    Subscription,
    Setup,
    /// Pays one overdue invoice.
    Collect,
    /// Pays all overdue invoices in a currency.
    CollectBatch,
    /// Grants another mandate for future invoices.
    ChangePayment,
    /// Places a new stake, so that a subscription continues.
    Restake,
    /// Adds funds to the account that a subscription is charged by.
    Recharge,
    /// Switches on the overdraft protection of a subscription, or tops it up.
    OverdraftProtection,
    /// Places the deposit that makes its payer a developer.
    Join,
    /// Places the deposit for publishing an app.
    AppDeposit,
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
            Self::Join => "stake-and-join",
            Self::AppDeposit => "stake-and-publish",
        }
    }

    /// Accepts `checkout` too, SPEC.md 7's name for `payment` with a mode.
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
            "stake-and-join" => Some(Self::Join),
            "stake-and-publish" => Some(Self::AppDeposit),
            _ => None,
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ConnectStatus {
    Created,
    Scanned,
    /// A step's response is being processed; its challenge is used.
    Working,
    /// Everything is signed, and the network has not decided about every transaction.
    Confirming,
    Succeed,
    Error,
    Busy,
    /// A wallet other than the one that began has responded.
    Forbidden,
}

impl ConnectStatus {
    pub const ALL: [Self; 8] =
        [Self::Created, Self::Scanned, Self::Working, Self::Confirming, Self::Succeed, Self::Error, Self::Busy, Self::Forbidden];

    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Created => "created",
            Self::Scanned => "scanned",
            Self::Working => "working",
            Self::Confirming => "confirming",
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

    /// The name that pages see: a step in progress and a payment that is being confirmed still count as scanned.
    #[must_use]
    pub const fn public_name(self) -> &'static str {
        match self {
            Self::Working | Self::Confirming => Self::Scanned.name(),
            status => status.name(),
        }
    }

    #[must_use]
    pub const fn is_final(self) -> bool {
        matches!(self, Self::Succeed | Self::Error | Self::Busy | Self::Forbidden)
    }
}

/// The claim that the wallet is asked for next.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ConnectStep {
    /// The wallet's address.
    Principal,
    /// The holder's profile.
    Profile,
    /// A signed payment.
    Transfer,
    /// A signed mandate for later charges.
    Mandate,
    /// A signed stake payment.
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
    /// 16 random bytes in upper-case hex, renewed for each step.
    pub challenge: String,
    /// The browser that began the session; only it receives the result.
    pub browser: TokenHash,
    /// Parameters of the browser: `checkoutSessionId`, `sessionUserDid`, `locale`.
    pub params: BTreeMap<String, String>,
    /// The wallet that responded to the first step, or the one that the signed-in browser named.
    pub wallet: Option<Wallet>,
    /// The nonce of the requested transaction.
    pub nonce: u64,
    /// Why it failed: message, code and parameters; empty unless it failed.
    pub error: String,
    pub error_code: String,
    pub error_params: BTreeMap<String, String>,
    /// The login that was issued for it: a session yields one login, however often it is polled.
    pub browser_session: Option<TokenHash>,
    pub created_at: Timestamp,
    /// When its state last changed; see [`ConnectSessions::advance`].
    pub updated_at: Timestamp,
    pub expires_at: Timestamp,
}

/// Why a session failed: an English message, and the code and parameters from which pages make a text in their visitor's language.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ConnectFailure {
    pub message: String,
    pub code: String,
    pub params: BTreeMap<String, String>,
}

/// A session does not exist or has expired.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("Session not found or expired")]
pub struct ConnectExpired;

impl From<ConnectExpired> for ConnectFailure {
    fn from(expired: ConnectExpired) -> Self {
        Self { message: expired.to_string(), code: "CONNECT_EXPIRED".to_owned(), params: BTreeMap::new() }
    }
}

impl ConnectSession {
    /// The session after a failure. `status`: a final one.
    #[must_use]
    pub fn failed(&self, status: ConnectStatus, failure: ConnectFailure) -> Self {
        let ConnectFailure { message, code, params } = failure;
        Self { status, error: message, error_code: code, error_params: params, ..self.clone() }
    }

    /// The update for the pages that have joined the session's channel. `None` while no wallet has scanned it.
    #[must_use]
    pub fn update(&self) -> Option<ConnectUpdate> {
        (self.status != ConnectStatus::Created).then(|| ConnectUpdate {
            token: self.token.clone(),
            status: self.status.public_name().to_owned(),
            error: self.error.clone(),
            updated_at: self.updated_at,
        })
    }
}

/// A wallet account: its address and public key (base58).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Wallet {
    pub did: Did,
    pub public_key: String,
}

/// A transition of a session, applied only if its status is `from` and its challenge is `challenge`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ConnectTransition<'a> {
    pub token: &'a str,
    pub from: ConnectStatus,
    pub challenge: &'a str,
    pub next: &'a ConnectSession,
}

#[async_trait]
pub trait ConnectSessions: Send {
    async fn insert(&mut self, session: &ConnectSession, visitor: &VisitorNetwork) -> Result<(), StorageError>;
    /// Finds a session that has not expired.
    async fn find(&mut self, token: &str, now: Timestamp) -> Result<Option<ConnectSession>, StorageError>;
    /// Finds an expired session that a wallet has scanned and that has no final state yet.
    async fn find_lapsed(&mut self, token: &str, now: Timestamp) -> Result<Option<ConnectSession>, StorageError>;
    /// Reads a session, expired or not, and keeps other units of work from changing it until this one ends. Units of work that lock other
    /// objects lock the session last.
    async fn lock(&mut self, token: &str) -> Result<Option<ConnectSession>, StorageError>;
    /// Applies a transition by compare-and-set on status and challenge. False: the session has changed meanwhile. Its time is that of
    /// `next`, but at least a millisecond after that of the previous transition, because pages ignore an update that is not later.
    async fn advance(&mut self, step: &ConnectTransition<'_>) -> Result<bool, StorageError>;
    /// Records the login that a succeeded session was used for. False: its login is no longer `before`.
    async fn redeem_connect_session(
        &mut self,
        token: &str,
        before: Option<&TokenHash>,
        browser_session: &TokenHash,
    ) -> Result<bool, StorageError>;
    /// Deletes the session unless a wallet has scanned it and it has no final state yet.
    async fn delete(&mut self, token: &str) -> Result<(), StorageError>;
    /// Expired sessions that a wallet has scanned and that have no final state yet, earliest first.
    async fn lapsed(&mut self, now: Timestamp, limit: u32) -> Result<Vec<ConnectSession>, StorageError>;
    /// Deletes expired sessions, except those of [`ConnectSessions::lapsed`]. Returns their number.
    async fn prune(&mut self, now: Timestamp, limit: u32) -> Result<u64, StorageError>;
}

/// Replaces the state of a session by `next` if it has not changed since `session` was read, and notifies the pages that wait for it.
/// Returns whether it did.
pub async fn advance_connect_session(ctx: &Context, session: &ConnectSession, next: &ConnectSession) -> Result<bool, StorageError> {
    let mut unit = ctx.store.begin().await?;
    let moved = advance_in(ctx, unit.as_mut(), session, next).await?;
    unit.commit().await?;
    Ok(moved)
}

/// As [`advance_connect_session`], in this unit of work.
pub(crate) async fn advance_in(
    ctx: &Context,
    unit: &mut dyn UnitOfWork,
    session: &ConnectSession,
    next: &ConnectSession,
) -> Result<bool, StorageError> {
    let now = ctx.now();
    let readable_until = if next.status.is_final() { next.expires_at.max(now.plus(FINAL_CONNECT_LIFETIME)) } else { next.expires_at };
    let next = ConnectSession { updated_at: now, expires_at: readable_until, ..next.clone() };
    let step = ConnectTransition { token: &session.token, from: session.status, challenge: &session.challenge, next: &next };
    let moved = unit.connect_sessions().advance(&step).await?;
    if moved && next.status.public_name() != session.status.public_name() {
        let message = Message::new(Topic::ConnectUpdate, now).with("token", &session.token);
        unit.outbox().publish(&EventId::new(now, ctx.random.as_ref()), &message, now).await?;
    }
    Ok(moved)
}
