//! The browser session: the signed-in user with their picture, logout, the claim of ownership, and the user's other logins.

mod api;
mod logins;
mod picture;

pub use api::{SessionApi, SessionModel, session_of};
pub use logins::LoginsApi;
pub use picture::PictureApi;
