//! What every page of the payment kit begins with: methods and the base currency.

mod api;

pub use api::SettingsApi;
