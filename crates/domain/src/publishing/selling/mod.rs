//! How developers sell their apps: free, or for a price that is paid once and shared with beneficiaries.
//!
//! Where reviews are required, new terms are proposed, judged with the next stable version, and come into force when it is published. While
//! a version is under review its terms do not change, so that its reviewer judges what will be sold; they can be withdrawn.

mod propose;
mod read;
mod records;
mod release;
mod terms;

pub use propose::{PriceChange, SetPriceError, WithdrawPriceError, set_price, withdraw_price};
pub use read::{AppPricing, AppTerms, find_pricing, is_sold, terms_of, terms_of_apps};
pub use records::{AppSale, AppSales};
pub(super) use release::{follow_app, release_prices};
pub use terms::{NewShare, NewTerms, OneTimeTerms, SellableCurrency, SellingTerms, TermsError, check_terms, commission, read_terms};
