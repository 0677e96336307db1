//! Card payments over Stripe's HTTP API, or over a server that implements a subset of it, such as the store's own sandbox.

mod card;
mod charge;
mod client;
mod currency;
mod dispute;
mod event;
mod intent;
mod list;
mod movements;
mod rail;
mod refund;
mod setup;
#[cfg(test)]
mod tests;

pub use rail::StripeRail;
