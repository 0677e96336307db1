//! The tables of handlers for the outcomes of attempts, and of what stakes secure. They are above the modules that implement them.

use crate::billing::{
    InvoiceCollection, MandateChange, Recharge, RefundPayment, StakeForfeit, StakePlacement, StakePurpose, StakeReturn, StakeUses,
};
use crate::checkout::{SessionMandate, SessionPayment, SessionStake};
use crate::payment::{Origin, PurposeHandlers, PurposeKind};
use crate::publishing::staking::{Membership, Publication};
use std::sync::Arc;

/// The handlers for all purposes of attempts.
#[must_use]
pub fn purpose_handlers() -> Arc<PurposeHandlers> {
    let table = PurposeHandlers::default()
        .with(PurposeKind::Payment, Origin::Session, Arc::new(SessionPayment))
        .with(PurposeKind::Mandate, Origin::Session, Arc::new(SessionMandate))
        .with(PurposeKind::Stake, Origin::Session, Arc::new(SessionStake))
        .with(PurposeKind::Payment, Origin::Direct, Arc::new(InvoiceCollection))
        .with(PurposeKind::Mandate, Origin::Direct, Arc::new(MandateChange))
        .with(PurposeKind::Stake, Origin::Direct, Arc::new(StakePlacement))
        .with(PurposeKind::ReturnStake, Origin::Direct, Arc::new(StakeReturn))
        .with(PurposeKind::Slash, Origin::Direct, Arc::new(StakeForfeit))
        .with(PurposeKind::Refund, Origin::Direct, Arc::new(RefundPayment))
        .with(PurposeKind::Recharge, Origin::Direct, Arc::new(Recharge));
    Arc::new(table)
}

/// What stakes secure besides subscriptions.
#[must_use]
pub fn stake_uses() -> StakeUses {
    StakeUses::default().with(StakePurpose::Membership, Arc::new(Membership)).with(StakePurpose::Publication, Arc::new(Publication))
}
