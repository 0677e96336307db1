//! Who is there: users, identities, roles, sessions, keys.

mod connect;
mod did;
mod user;

pub use connect::*;
pub use did::Did;
pub use user::*;
