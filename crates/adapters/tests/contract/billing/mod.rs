//! The billing engine over real SQL, with the wallet rail against the sandbox's ledger.

mod bench;
mod clocks;
mod credits;
mod debts;
mod endings;
mod plans;
mod renewals;
mod slots;
mod stakes;
