//! Cards through Stripe's HTTP API, and through anything that speaks its subset: the store's own sandbox does.

mod client;
mod currency;
mod event;
mod intent;
mod rail;
#[cfg(test)]
mod tests;

pub use rail::StripeRail;
