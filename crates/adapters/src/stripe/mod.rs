//! Cards through Stripe's HTTP API, and through anything that speaks its subset: the store's own sandbox does.

mod card;
mod charge;
mod client;
mod currency;
mod dispute;
mod event;
mod intent;
mod list;
mod rail;
mod refund;
mod setup;
#[cfg(test)]
mod tests;

pub use rail::StripeRail;
