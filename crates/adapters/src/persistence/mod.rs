//! SQL storage on SQLite and on PostgreSQL. Nothing outside this folder knows which of the two runs.

mod database;
mod migrate;
mod outbox;
mod session;
mod value;

pub use database::Database;
pub use migrate::migrate;
#[cfg(feature = "testing")]
pub(crate) use migrate::schema_mark;
pub use outbox::SqlOutbox;
pub(crate) use outbox::payload;
pub use session::{Query, Row, Session, Sql};
pub use value::{Bound, Kind, Stored, Value};
