//! A simulated card processor with the part of Stripe's API that the stripe rail and the card form in the browser use.
//!
//! It is as strict as Stripe: it rejects unknown parameters, wrong keys, reused idempotency keys, refunds above the charge, and
//! confirmations in the wrong state. It knows test cards only, and stores only the last four digits of a number.

mod call;
mod card;
mod charge;
mod currency;
mod customer;
mod dispute;
mod event;
mod fault;
mod http;
mod idempotency;
mod intent;
mod page;
mod processor;
mod refund;
mod secret;
mod setup;
mod state;

pub use event::Webhook;
pub use http::routes;
pub use processor::{CardProcessor, CardProcessorConfig, OpenError, create_tables};
pub use secret::Secret;
