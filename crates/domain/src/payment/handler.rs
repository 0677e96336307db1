//! Handlers that apply an attempt's outcome to the object that the attempt is for. This module records outcomes without knowing those
//! objects: the modules above implement [`PurposeHandler`], and the composition root puts the table of handlers into the context.

use super::{Attempt, Decline, Purpose, PurposeKind, Settlement, SettlementError};
use crate::context::Context;
use crate::shared::{Amount, AttemptId};
use crate::storage::UnitOfWork;
use async_trait::async_trait;
use std::collections::HashMap;
use std::sync::Arc;

/// A settlement that its network reversed later: a late failure, a chain reorganization.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Reversal {
    /// The network's reference of the reversal.
    pub reference: String,
    /// The reversed part of the settled amount.
    pub amount: Amount,
}

/// An attempt whose network has moved exactly its amount.
#[derive(Debug, Clone, Copy)]
pub struct SettledAttempt<'a> {
    pub attempt: &'a Attempt,
    pub settlement: &'a Settlement,
}

/// Each method runs in the unit of work that changes the attempt's status, exactly once for each attempt. After an error the unit of work
/// is dropped; after [`SettlementError::Contended`] the outcome is recorded again in a new one.
#[async_trait]
pub trait PurposeHandler: Send + Sync {
    /// The network moved exactly the attempt's amount. Returns the attempts written in this unit of work that must be sent after its
    /// commit.
    async fn settled(
        &self,
        ctx: &Context,
        unit: &mut dyn UnitOfWork,
        attempt: &Attempt,
        settlement: &Settlement,
    ) -> Result<Vec<AttemptId>, SettlementError>;

    /// As [`PurposeHandler::settled`], for several attempts of this handler. A handler of many attempts overrides it, to write them with
    /// few statements.
    async fn settled_all(
        &self,
        ctx: &Context,
        unit: &mut dyn UnitOfWork,
        all: &[SettledAttempt<'_>],
    ) -> Result<Vec<AttemptId>, SettlementError> {
        let mut to_send = Vec::new();
        for SettledAttempt { attempt, settlement } in all {
            to_send.extend(self.settled(ctx, unit, attempt, settlement).await?);
        }
        Ok(to_send)
    }

    /// The network declined the attempt, finally.
    async fn declined(&self, ctx: &Context, unit: &mut dyn UnitOfWork, attempt: &Attempt, decline: &Decline)
    -> Result<(), SettlementError>;

    /// The network reversed a settled attempt. The default implementation fails with [`SettlementError::Unsupported`], so that no reversal
    /// is dropped silently.
    async fn reversed(
        &self,
        _ctx: &Context,
        _unit: &mut dyn UnitOfWork,
        attempt: &Attempt,
        _reversal: &Reversal,
    ) -> Result<(), SettlementError> {
        Err(SettlementError::unsupported(attempt))
    }
}

/// Whether an attempt belongs to a checkout session.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Origin {
    Session,
    /// A renewal, a retry, a refund, an action on the customer's or the admin's pages.
    Direct,
}

impl Origin {
    #[must_use]
    pub const fn of(attempt: &Attempt) -> Self {
        if attempt.session_id.is_some() { Self::Session } else { Self::Direct }
    }
}

/// The handlers, by the kind of an attempt's purpose and by its origin.
#[derive(Clone, Default)]
pub struct PurposeHandlers {
    table: HashMap<(PurposeKind, Origin), Arc<dyn PurposeHandler>>,
}

impl PurposeHandlers {
    #[must_use]
    pub fn with(mut self, kind: PurposeKind, origin: Origin, handler: Arc<dyn PurposeHandler>) -> Self {
        self.table.insert((kind, origin), handler);
        self
    }

    #[must_use]
    pub fn find(&self, purpose: &Purpose, origin: Origin) -> Option<&dyn PurposeHandler> {
        self.table.get(&(purpose.kind(), origin)).map(AsRef::as_ref)
    }
}
