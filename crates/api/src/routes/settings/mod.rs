//! The settings that every page of the payment kit loads first: methods and the base currency.

mod api;

pub use api::SettingsApi;
