//! An outside card processor that speaks the part of Stripe's API that the stripe rail uses, and what the card form in a browser calls.
//!
//! It is strict where the original is: unknown parameters, wrong keys, reused idempotency keys, refunds above the charge and
//! confirmations in the wrong state are refused. Its cards are a table; nothing of a typed number but the last four digits is stored.

mod call;
mod card;
mod charge;
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
pub use processor::{CardProcessor, CardProcessorConfig, OpenError};
pub use secret::Secret;
