//! Who is there: users, identities, roles, sessions, keys.

mod connect;
mod did;
mod envelope;
mod sign_in;
mod user;

pub use connect::*;
pub use did::Did;
pub use envelope::*;
pub use sign_in::*;
pub use user::*;
