//! Users, identities, roles, API keys, browser sessions and wallet connect sessions.

mod connect;
mod did;
mod envelope;
mod page_token;
mod sign_in;
mod user;

pub use connect::*;
pub use did::Did;
pub use envelope::*;
pub use page_token::*;
pub use sign_in::*;
pub use user::*;
