//! Invitations to become a developer, a reviewer or an administrator, and the people who hold passports.

mod api;
mod console;
mod model;

pub use api::InvitationsApi;
pub use console::{ConsoleInvitationsApi, DevelopersApi};
