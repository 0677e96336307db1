//! The billing engine over real SQL, with the wallet rail against the sandbox's ledger.

mod balance_refunds;
mod balances;
mod bench;
mod clocks;
mod credit_notes;
mod debts;
mod delays;
mod endings;
mod pauses;
mod payouts;
mod plans;
mod races;
mod recharges;
mod refused_refunds;
mod renewals;
mod revocations;
mod slots;
mod stake_growth;
mod stakes;
mod subscriptions;
mod thresholds;
mod unused_time;
mod usage;
mod usage_corrections;
mod voids;
