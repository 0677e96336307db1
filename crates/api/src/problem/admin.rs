//! The errors of products, prices, payment links and payment methods, which are managed with an API key.

use super::{BAD_EXPIRY, CURRENCY_NOT_CONFIGURED, MODE_MISMATCH, Problem, conflict, rejected};
use souk_domain::checkout::{LinkError, ReplaceError};
use souk_domain::payment::MethodError;
use souk_domain::pricing::{CatalogueError, TiersError};
use souk_domain::shared::AmountError;
use std::fmt::Display;

const CURRENCY_UNKNOWN: &str = "CURRENCY_UNKNOWN";
const CURRENCY_TWICE: &str = "CURRENCY_TWICE";

/// The code of an amount's error, with a message that names the field.
fn invalid_amount(field: &str, error: &impl Display, amount: AmountError) -> Problem {
    let mut problem = Problem::from(amount).param("field", field);
    problem.body.error = error.to_string();
    problem
}

impl From<CatalogueError> for Problem {
    fn from(error: CatalogueError) -> Self {
        match error {
            CatalogueError::NotFound => Self::not_found(),
            CatalogueError::LookupKeyTaken => conflict(&error, "LOOKUP_KEY_TAKEN"),
            CatalogueError::InUse => conflict(&error, "IN_USE"),
            CatalogueError::Locked(field) => conflict(&error, "PRICE_LOCKED").param("field", field),
            CatalogueError::NoSuchProduct => rejected(&error, "PRODUCT_UNKNOWN"),
            CatalogueError::NoSuchCurrency => rejected(&error, CURRENCY_UNKNOWN),
            CatalogueError::CurrencyTwice => rejected(&error, CURRENCY_TWICE),
            CatalogueError::Amount(ref amount) => invalid_amount("unit_amount", &error, amount.clone()),
            CatalogueError::Tiers(TiersError::None) => rejected(&error, "TIERS_REQUIRED"),
            CatalogueError::Tiers(TiersError::Order) => rejected(&error, "TIERS_UNORDERED"),
            CatalogueError::TiersMisplaced => rejected(&error, "TIERS_MISPLACED"),
            CatalogueError::CustomRecurring => rejected(&error, "CUSTOM_AMOUNT_RECURRING"),
            CatalogueError::CustomRange => rejected(&error, "CUSTOM_AMOUNT_RANGE"),
            CatalogueError::RecurringFixed => rejected(&error, "RECURRING_FIXED"),
            CatalogueError::NoSuchUpsell => rejected(&error, "UPSELL_UNKNOWN"),
            CatalogueError::NoSuchCrossSell => rejected(&error, "CROSS_SELL_UNKNOWN"),
            CatalogueError::NoSuchApp => rejected(&error, "APP_UNKNOWN"),
            CatalogueError::NoSuchPrice => rejected(&error, "PRICE_UNKNOWN"),
            CatalogueError::LookupKeyIsId => rejected(&error, "LOOKUP_KEY_IS_ID"),
            CatalogueError::Stock => rejected(&error, "STOCK_TOO_SMALL"),
            CatalogueError::Input(error) => error.into(),
            CatalogueError::Storage(error) => error.into(),
        }
    }
}

impl From<ReplaceError> for Problem {
    fn from(error: ReplaceError) -> Self {
        match error {
            ReplaceError::Archived => conflict(&error, "PRICE_ARCHIVED"),
            ReplaceError::LinkCurrency => rejected(&error, "LINK_CURRENCY_MISSING"),
            ReplaceError::Catalogue(error) => error.into(),
            ReplaceError::Storage(error) => error.into(),
        }
    }
}

impl From<LinkError> for Problem {
    fn from(error: LinkError) -> Self {
        match error {
            LinkError::NotFound => Self::not_found(),
            LinkError::Items => rejected(&error, "LINE_ITEMS_INVALID"),
            LinkError::CurrencyNotConfigured => rejected(&error, CURRENCY_NOT_CONFIGURED),
            LinkError::Range => rejected(&error, "QUANTITY_RANGE_INVALID"),
            LinkError::BadExpiry => rejected(&error, BAD_EXPIRY),
            LinkError::Mode => rejected(&error, MODE_MISMATCH),
            LinkError::NoSpace => Self::no_space(),
            LinkError::Total(_) => rejected(&error, "AMOUNT_OVERFLOW"),
            LinkError::Amount(ref amount) => invalid_amount("subscription_data", &error, amount.clone()),
            LinkError::Input(error) => error.into(),
            LinkError::Storage(error) => error.into(),
        }
    }
}

impl From<MethodError> for Problem {
    fn from(error: MethodError) -> Self {
        match error {
            MethodError::NotFound => Self::not_found(),
            MethodError::CurrencyTwice => conflict(&error, CURRENCY_TWICE),
            MethodError::Changed => conflict(&error, "METHOD_CHANGED"),
            MethodError::PaymentsInFlight => conflict(&error, "METHOD_IN_USE"),
            MethodError::NoRail(name) => rejected(&error, "NETWORK_UNSUPPORTED").param("network", name),
            MethodError::Sandbox(name) => rejected(&error, "SANDBOX_TEST_ONLY").param("network", name),
            MethodError::NoSuchMethod => rejected(&error, "METHOD_UNKNOWN"),
            MethodError::NoSuchCurrency => rejected(&error, CURRENCY_UNKNOWN),
            MethodError::NetworkFixed(field) => rejected(&error, "NETWORK_FIXED").param("field", field),
            MethodError::Input(error) => error.into(),
            MethodError::Rail(error) => error.into(),
            MethodError::Storage(error) => error.into(),
        }
    }
}
