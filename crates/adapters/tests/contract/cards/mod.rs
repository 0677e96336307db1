//! Tests the Stripe rail against the sandbox's card processor over a real socket.

pub mod bench;
mod disputes;
mod faults;
mod late_refunds;
mod movements;
mod payments;
mod processor;
mod saved;
mod webhooks;
