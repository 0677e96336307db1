//! Subscriptions, their periods, their invoices, and the engine that renews, charges, retries and ends them.

mod advance;
mod book;
mod calculation;
mod charge;
mod clock;
mod debt;
mod end;
mod errors;
mod invoice;
mod outcome;
mod paper;
mod period;
mod policy;
mod proration;
mod renew;
mod subscription;
mod trial;
mod usage;

pub use advance::*;
pub use calculation::*;
pub use charge::{SLOTS, charge, note};
pub use clock::*;
pub use debt::{retry_due, time_of};
pub use errors::BillingError;
pub use invoice::*;
pub use paper::*;
pub use period::*;
pub use policy::BillingPolicy;
pub use proration::*;
pub use renew::{Round, renew_due};
pub use subscription::*;
pub use trial::*;
pub use usage::*;
