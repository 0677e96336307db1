//! The errors of products, prices, payment links and payment methods, which are managed with an API key.

use super::{CURRENCY_NOT_CONFIGURED, Problem, conflict, rejected};
use souk_domain::checkout::{
    BadQuantityRange, ChangeLinkError, CreateLinkError, CreateSessionError, ItemsError, LinkFieldsError, OpenSessionError, ReplaceError,
    TermsError,
};
use souk_domain::payment::{
    ChangeCurrencyError, ChangeMethodError, CheckMethodError, CreateCurrencyError, CreateMethodError, NetworkFixed, NoRail, SettingsError,
    StakeForGasError, ValidationError,
};
use souk_domain::pricing::{
    ChangePriceError, ChangeProductError, CreatePriceError, CreateProductError, DeleteError, EditPriceError, PriceAmountsError,
    PriceFieldsError, ReferenceError, RestockError, StockTooSmall, TiersError,
};
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

impl From<ReferenceError> for Problem {
    fn from(error: ReferenceError) -> Self {
        match error {
            ReferenceError::NoSuchApp => rejected(&error, "APP_UNKNOWN"),
            ReferenceError::NoSuchCrossSell => rejected(&error, "CROSS_SELL_UNKNOWN"),
            ReferenceError::Storage(error) => error.into(),
        }
    }
}

impl From<CreateProductError> for Problem {
    fn from(error: CreateProductError) -> Self {
        match error {
            CreateProductError::Input(error) => error.into(),
            CreateProductError::Reference(error) => error.into(),
            CreateProductError::Price(error) => error.into(),
            CreateProductError::Storage(error) => error.into(),
        }
    }
}

impl From<ChangeProductError> for Problem {
    fn from(error: ChangeProductError) -> Self {
        match error {
            ChangeProductError::NoSuchPrice => rejected(&error, "PRICE_UNKNOWN"),
            ChangeProductError::Find(error) => error.into(),
            ChangeProductError::Input(error) => error.into(),
            ChangeProductError::Reference(error) => error.into(),
            ChangeProductError::Storage(error) => error.into(),
        }
    }
}

impl From<DeleteError> for Problem {
    fn from(error: DeleteError) -> Self {
        match error {
            DeleteError::InUse => conflict(&error, "IN_USE"),
            DeleteError::Find(error) => error.into(),
            DeleteError::Storage(error) => error.into(),
        }
    }
}

impl From<PriceAmountsError> for Problem {
    fn from(error: PriceAmountsError) -> Self {
        match error {
            PriceAmountsError::NoSuchCurrency => rejected(&error, CURRENCY_UNKNOWN),
            PriceAmountsError::CurrencyTwice => rejected(&error, CURRENCY_TWICE),
            PriceAmountsError::Amount(ref amount) => invalid_amount("unit_amount", &error, amount.clone()),
            PriceAmountsError::Tiers(TiersError::None) => rejected(&error, "TIERS_REQUIRED"),
            PriceAmountsError::Tiers(TiersError::Order) => rejected(&error, "TIERS_UNORDERED"),
            PriceAmountsError::TiersMisplaced => rejected(&error, "TIERS_MISPLACED"),
            PriceAmountsError::CustomRecurring => rejected(&error, "CUSTOM_AMOUNT_RECURRING"),
            PriceAmountsError::CustomRange => rejected(&error, "CUSTOM_AMOUNT_RANGE"),
            PriceAmountsError::Input(error) => error.into(),
        }
    }
}

impl From<PriceFieldsError> for Problem {
    fn from(error: PriceFieldsError) -> Self {
        match error {
            PriceFieldsError::LookupKeyIsId => rejected(&error, "LOOKUP_KEY_IS_ID"),
            PriceFieldsError::LookupKeyTaken => conflict(&error, "LOOKUP_KEY_TAKEN"),
            PriceFieldsError::NoSuchUpsell => rejected(&error, "UPSELL_UNKNOWN"),
            PriceFieldsError::Amounts(error) => error.into(),
            PriceFieldsError::Input(error) => error.into(),
            PriceFieldsError::Storage(error) => error.into(),
        }
    }
}

impl From<CreatePriceError> for Problem {
    fn from(error: CreatePriceError) -> Self {
        match error {
            CreatePriceError::NoSuchProduct => rejected(&error, "PRODUCT_UNKNOWN"),
            CreatePriceError::Fields(error) => error.into(),
            CreatePriceError::Storage(error) => error.into(),
        }
    }
}

impl From<EditPriceError> for Problem {
    fn from(error: EditPriceError) -> Self {
        match error {
            EditPriceError::RecurringFixed => rejected(&error, "RECURRING_FIXED"),
            EditPriceError::Fields(error) => error.into(),
            EditPriceError::Stock(error) => error.into(),
        }
    }
}

impl From<ChangePriceError> for Problem {
    fn from(error: ChangePriceError) -> Self {
        match error {
            ChangePriceError::Locked(field) => conflict(&error, "PRICE_LOCKED").param("field", field),
            ChangePriceError::Find(error) => error.into(),
            ChangePriceError::Edit(error) => error.into(),
        }
    }
}

impl From<StockTooSmall> for Problem {
    fn from(error: StockTooSmall) -> Self {
        rejected(&error, "STOCK_TOO_SMALL")
    }
}

impl From<RestockError> for Problem {
    fn from(error: RestockError) -> Self {
        match error {
            RestockError::Find(error) => error.into(),
            RestockError::Input(error) => error.into(),
            RestockError::Stock(error) => error.into(),
            RestockError::Storage(error) => error.into(),
        }
    }
}

impl From<ReplaceError> for Problem {
    fn from(error: ReplaceError) -> Self {
        match error {
            ReplaceError::Archived => conflict(&error, "PRICE_ARCHIVED"),
            ReplaceError::LinkCurrency => rejected(&error, "LINK_CURRENCY_MISSING"),
            ReplaceError::Find(error) => error.into(),
            ReplaceError::Edit(error) => error.into(),
            ReplaceError::Storage(error) => error.into(),
        }
    }
}

impl From<BadQuantityRange> for Problem {
    fn from(error: BadQuantityRange) -> Self {
        rejected(&error, "QUANTITY_RANGE_INVALID")
    }
}

impl From<TermsError> for Problem {
    fn from(error: TermsError) -> Self {
        match error {
            TermsError::Amount(ref amount) => invalid_amount("subscription_data", &error, amount.clone()),
            TermsError::Input(error) => error.into(),
        }
    }
}

impl From<ItemsError> for Problem {
    fn from(error: ItemsError) -> Self {
        match error {
            ItemsError::Unsaleable => rejected(&error, "LINE_ITEMS_INVALID"),
            ItemsError::CurrencyNotConfigured => rejected(&error, CURRENCY_NOT_CONFIGURED),
            ItemsError::Total(_) => rejected(&error, "AMOUNT_OVERFLOW"),
            ItemsError::Storage(error) => error.into(),
        }
    }
}

impl From<LinkFieldsError> for Problem {
    fn from(error: LinkFieldsError) -> Self {
        match error {
            LinkFieldsError::Input(error) => error.into(),
            LinkFieldsError::Range(error) => error.into(),
            LinkFieldsError::Terms(error) => error.into(),
        }
    }
}

impl From<CreateLinkError> for Problem {
    fn from(error: CreateLinkError) -> Self {
        match error {
            CreateLinkError::Fields(error) => error.into(),
            CreateLinkError::Items(error) => error.into(),
            CreateLinkError::Storage(error) => error.into(),
        }
    }
}

impl From<ChangeLinkError> for Problem {
    fn from(error: ChangeLinkError) -> Self {
        match error {
            ChangeLinkError::Find(error) => error.into(),
            ChangeLinkError::Fields(error) => error.into(),
            ChangeLinkError::Items(error) => error.into(),
            ChangeLinkError::Storage(error) => error.into(),
        }
    }
}

impl From<CreateSessionError> for Problem {
    fn from(error: CreateSessionError) -> Self {
        match error {
            CreateSessionError::BadExpiry => rejected(&error, "BAD_EXPIRY"),
            CreateSessionError::Mode => rejected(&error, "MODE_MISMATCH"),
            CreateSessionError::Items(error) => error.into(),
            CreateSessionError::SandboxOff(off) => off.into(),
            CreateSessionError::NoSpace(error) => error.into(),
            CreateSessionError::Storage(error) => error.into(),
        }
    }
}

impl From<OpenSessionError> for Problem {
    fn from(error: OpenSessionError) -> Self {
        match error {
            OpenSessionError::Input(error) => error.into(),
            OpenSessionError::Range(error) => error.into(),
            OpenSessionError::Terms(error) => error.into(),
            OpenSessionError::Create(error) => error.into(),
        }
    }
}

impl From<SettingsError> for Problem {
    fn from(error: SettingsError) -> Self {
        match error {
            SettingsError::Sandbox(name) => rejected(&error, "SANDBOX_TEST_ONLY").param("network", name),
            SettingsError::Input(error) => error.into(),
        }
    }
}

impl From<NoRail> for Problem {
    fn from(error: NoRail) -> Self {
        rejected(&error, "NETWORK_UNSUPPORTED").param("network", error.0)
    }
}

impl From<NetworkFixed> for Problem {
    fn from(error: NetworkFixed) -> Self {
        rejected(&error, "NETWORK_FIXED").param("field", error.0)
    }
}

impl From<ValidationError> for Problem {
    fn from(error: ValidationError) -> Self {
        match error {
            ValidationError::NoRail(error) => error.into(),
            ValidationError::Rail(error) => error.into(),
        }
    }
}

impl From<CreateMethodError> for Problem {
    fn from(error: CreateMethodError) -> Self {
        match error {
            CreateMethodError::Input(error) => error.into(),
            CreateMethodError::Settings(error) => error.into(),
            CreateMethodError::Validation(error) => error.into(),
            CreateMethodError::Storage(error) => error.into(),
        }
    }
}

impl From<ChangeMethodError> for Problem {
    fn from(error: ChangeMethodError) -> Self {
        match error {
            ChangeMethodError::NoSuchCurrency => rejected(&error, CURRENCY_UNKNOWN),
            ChangeMethodError::Changed => conflict(&error, "METHOD_CHANGED"),
            ChangeMethodError::PaymentsInFlight => conflict(&error, "METHOD_IN_USE"),
            ChangeMethodError::Find(error) => error.into(),
            ChangeMethodError::Input(error) => error.into(),
            ChangeMethodError::Settings(error) => error.into(),
            ChangeMethodError::NetworkFixed(error) => error.into(),
            ChangeMethodError::Validation(error) => error.into(),
            ChangeMethodError::Storage(error) => error.into(),
        }
    }
}

impl From<CheckMethodError> for Problem {
    fn from(error: CheckMethodError) -> Self {
        match error {
            CheckMethodError::NoRail(error) => error.into(),
            CheckMethodError::Storage(error) => error.into(),
        }
    }
}

impl From<StakeForGasError> for Problem {
    fn from(error: StakeForGasError) -> Self {
        match error {
            StakeForGasError::Find(error) => error.into(),
            StakeForGasError::NoRail(error) => error.into(),
            StakeForGasError::Held(error) => error.into(),
            StakeForGasError::Rail(error) => error.into(),
            StakeForGasError::Storage(error) => error.into(),
        }
    }
}

impl From<CreateCurrencyError> for Problem {
    fn from(error: CreateCurrencyError) -> Self {
        match error {
            CreateCurrencyError::NoSuchMethod => rejected(&error, "METHOD_UNKNOWN"),
            CreateCurrencyError::CurrencyTwice => conflict(&error, CURRENCY_TWICE),
            CreateCurrencyError::Input(error) => error.into(),
            CreateCurrencyError::Validation(error) => error.into(),
            CreateCurrencyError::Storage(error) => error.into(),
        }
    }
}

impl From<ChangeCurrencyError> for Problem {
    fn from(error: ChangeCurrencyError) -> Self {
        match error {
            ChangeCurrencyError::Find(error) => error.into(),
            ChangeCurrencyError::SymbolFixed => conflict(&error, "CURRENCY_SYMBOL_FIXED"),
            ChangeCurrencyError::Input(error) => error.into(),
            ChangeCurrencyError::Storage(error) => error.into(),
        }
    }
}
