//! Stakes: refundable deposits that a network holds for this store (reference/billing-model.md). Each stake is a row of its own,
//! independent of the checkout, subscription or wallet that it came from.

mod admin;
mod deposit;
mod due;
mod entity;
mod hold;
mod key;
mod monitor;
mod overdraft;
mod overdue;
mod place;
mod plan_deposit;
mod port;
mod posting;
mod release;
mod reservation;
mod settle_placement;
mod settlement;
mod stake_use;
mod transfer;

pub use admin::{QueryStakeError, ReturnStakeError, SlashStakeError, StakeChoice, return_released, return_stake, slash_stake};
pub(in crate::billing) use admin::{release_at_end, stake_at_end};
pub use deposit::{DepositError, DepositOrder, prepare_deposit, submit_signed_deposit};
pub(crate) use deposit::{forfeit_deposit, release_deposit};
pub(in crate::billing) use due::is_unchanged;
pub use due::move_due_stakes;
pub(crate) use entity::RequestedStake;
pub use entity::*;
pub(in crate::billing) use hold::{HeldForfeit, apply_held_forfeit, recorded_amount, return_placement, transfer_rest};
pub use key::*;
pub use monitor::{STAKE_CHECK_INTERVAL, check_stakes};
pub(in crate::billing) use overdraft::pay_by_overdraft;
pub use overdraft::{
    EndOverdraftError, OverdraftError, OverdraftProtection, end_overdraft_protection, overdraft_protection, prepare_overdraft_stake,
    submit_signed_overdraft_stake,
};
pub(in crate::billing) use overdue::OverdueInvoices;
pub(crate) use place::PENDING_LIFETIME;
pub(in crate::billing) use place::{
    Growth, Placement, ask_network, growth, held_with, lock_security, required_stake, stake_for_plan, stake_placed_ahead, stake_to_replace,
    stake_to_share, waiting_with_deposit,
};
pub(in crate::billing) use plan_deposit::{
    delegation_declined, fail_plan_change, has_undecided_deposit, return_deposit, supersede_plan_change,
};
pub use port::{StakeFilter, StakeReturns, Stakes};
pub(crate) use posting::{post_stake, record_placement};
pub(crate) use release::abandon_stake;
pub(in crate::billing) use release::{ReleaseTime, release_if_unused};
pub use reservation::*;
pub(in crate::billing) use settle_placement::adopt_stake;
pub use settlement::{StakeForfeit, StakePlacement, StakeReturn};
pub use stake_use::{StakeUse, StakeUses, Unneeded};
