//! SQL storage on SQLite and on PostgreSQL. Nothing outside this folder knows which of the two runs.

mod apps;
mod columns;
mod database;
mod entitlements;
mod migrate;
mod outbox;
mod prices;
mod products;
mod session;
mod value;

pub use apps::SqlApps;
pub use database::Database;
pub use entitlements::SqlEntitlements;
pub use migrate::migrate;
#[cfg(feature = "testing")]
pub(crate) use migrate::schema_mark;
pub use outbox::SqlOutbox;
pub(crate) use outbox::payload;
pub use prices::SqlPrices;
pub use products::SqlProducts;
pub use session::{Query, Row, Session, Sql};
pub use value::{Bound, Kind, Stored, Value};
