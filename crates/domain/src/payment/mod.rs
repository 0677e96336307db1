//! Payment methods, currencies, intents, attempts, mandates and refunds; the rails that reach the networks; and the recording and
//! reconciling of outcomes.

mod cancel;
mod charge;
mod decline;
mod description;
mod dispute;
mod gas;
mod handler;
mod hold;
mod intent;
mod mandate;
mod method;
mod method_admin;
mod method_check;
mod prepared;
mod query;
mod rail;
mod reconcile;
mod refund;
mod reversal;
mod settlement;
mod update_metadata;

pub use crate::shared::Currency;
pub use cancel::*;
pub use charge::*;
pub use description::*;
pub use dispute::*;
pub use gas::*;
pub use handler::*;
pub use hold::{AMOUNT_DIFFERS, end_hold, release_held};
pub use intent::*;
pub use mandate::*;
pub use method::*;
pub use method_admin::*;
pub use method_check::*;
pub use prepared::*;
pub use query::*;
pub use rail::*;
pub use reconcile::*;
pub use refund::*;
pub use reversal::*;
pub use settlement::*;
pub use update_metadata::*;
