//! Users, identities, roles, API keys, browser sessions, the computers of command lines, and wallet connect sessions.

mod audit;
mod connect;
mod device;
mod did;
mod envelope;
mod login;
mod page_token;
mod sign_in;
mod user;

pub use audit::*;
pub use connect::*;
pub use device::{DEVICE_LIFETIME_DAYS, DEVICE_USE_INTERVAL, DEVICES_MAX, Device, Devices, end_device, list_devices};
pub use did::Did;
pub use envelope::*;
pub use login::{LOGINS_MAX, Login, LoginList, device_text, end_login, end_other_logins, list_logins};
pub use page_token::*;
pub use sign_in::*;
pub use user::*;
