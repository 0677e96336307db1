//! Prices of apps, what their sales have brought to beneficiaries, and payouts to them.

mod api;
mod model;

pub use api::{AppPriceApi, EarningsApi, PayablesApi};
pub use model::{ListedTerms, ShareModel, TermsModel, VersionTermsModel};
