//! What strangers may make the sandbox write. Its host decides, because only the host knows where a request comes from.

use poem::Request;
use std::sync::Arc;

/// A request to write something that does not come from the store.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Write {
    /// Tokens from the faucet.
    TestTokens,
    /// A transaction of this size, begun kibibytes included.
    Transaction { kibibytes: u32 },
    /// A card that belongs to no payment.
    Card,
    /// A step of a card payment or set-up that the store has begun.
    CardStep,
}

type Rule = dyn Fn(&Request, Write) -> poem::Result<()> + Send + Sync;

/// Decides about the writes of strangers. The store's own requests are never limited.
#[derive(Clone)]
pub struct Admission(Arc<Rule>);

impl Admission {
    pub fn new(rule: impl Fn(&Request, Write) -> poem::Result<()> + Send + Sync + 'static) -> Self {
        Self(Arc::new(rule))
    }

    /// Admits everything, for tests.
    #[must_use]
    pub fn unlimited() -> Self {
        Self::new(|_, _| Ok(()))
    }

    pub(crate) fn check(&self, request: &Request, write: Write) -> poem::Result<()> {
        (self.0)(request, write)
    }
}
