//! The billing engine over real SQL, with the wallet rail against the sandbox's ledger.

mod bench;
mod clocks;
mod credit_refunds;
mod credits;
mod debts;
mod delays;
mod endings;
mod pauses;
mod plan_worth;
mod plans;
mod races;
mod recharges;
mod refunds_by_hand;
mod renewals;
mod slots;
mod stake_growth;
mod stakes;
mod thresholds;
mod usage;
mod went_back;
