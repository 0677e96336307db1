//! What is wrong or risky with the installation, for owners.

mod api;

pub use api::DoctorApi;
