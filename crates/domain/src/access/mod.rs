//! Who is there: users, identities, roles, sessions, keys.

mod did;

pub use did::Did;
