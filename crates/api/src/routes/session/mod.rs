//! The browser session: the signed-in user, logout, the claim of ownership, and the user's other logins.

mod api;
mod logins;

pub use api::{SessionApi, SessionModel, session_of};
pub use logins::LoginsApi;
