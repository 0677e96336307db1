//! Subscriptions: permissions, changes and their effects.

mod clocks;
mod collect;
mod downloads;
mod manage;
mod overdue;
mod payment;
mod plan;
mod read;
mod recharge;
mod refund;
mod shared_stake;
mod stake;
mod threshold;
mod usage;
