//! Manages the currencies of payment methods.

use super::method_admin::{check_logo, currencies_of};
use super::method_settings::validate_settings;
use super::{Currency, DEFAULT_MAXIMUM_PRECISION, DEFAULT_TOKEN_DECIMALS, Method, ValidationError};
use crate::context::Context;
use crate::shared::{CurrencyId, FindError, InputError, MAX_DECIMALS, MethodId, Mode, StorageError, check_count, check_name};
use crate::storage::{MANAGEMENT, UnitOfWork};

/// The number of decimals of most card currencies.
const CARD_DECIMALS: u32 = 2;

#[derive(Debug, thiserror::Error)]
pub enum CreateCurrencyError {
    #[error("payment_method_id does not name a payment method of this mode")]
    NoSuchMethod,
    #[error(transparent)]
    Input(#[from] InputError),
    #[error("The method has a currency with this contract already")]
    CurrencyTwice,
    #[error(transparent)]
    Validation(#[from] ValidationError),
    #[error(transparent)]
    Storage(#[from] StorageError),
}

#[derive(Debug, thiserror::Error)]
pub enum ChangeCurrencyError {
    #[error(transparent)]
    Find(#[from] FindError),
    /// Daily caps and amounts that customers have seen name it.
    #[error("The symbol is fixed, because something was ordered in this currency")]
    SymbolFixed,
    #[error(transparent)]
    Input(#[from] InputError),
    #[error(transparent)]
    Storage(#[from] StorageError),
}

/// Fields of a currency; absent ones keep their value.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct CurrencyFields {
    pub active: Option<bool>,
    pub name: Option<String>,
    pub symbol: Option<String>,
    pub logo: Option<String>,
    pub maximum_precision: Option<u32>,
    /// True: it becomes the mode's base currency.
    pub is_base: Option<bool>,
}

/// The fixed properties of a currency: prices are stored in its base units.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewCurrency {
    pub method_id: MethodId,
    /// Absent: 18 for tokens, 2 for cards.
    pub decimals: Option<u32>,
    /// The token's address on its chain; for cards the ISO 4217 code.
    pub contract: String,
}

/// Creates a currency. The first currency of a method becomes its default.
#[tracing::instrument(skip_all)]
pub async fn create_currency(
    ctx: &Context,
    mode: Mode,
    new: NewCurrency,
    fields: CurrencyFields,
) -> Result<CurrencyId, CreateCurrencyError> {
    let now = ctx.now();
    let mut unit = ctx.store.read().await?;
    let method =
        unit.methods().find(&new.method_id).await?.filter(|method| method.mode == mode).ok_or(CreateCurrencyError::NoSuchMethod)?;
    let mut currencies = currencies_of(unit.as_mut(), &method).await?;
    drop(unit);
    let default = if method.kind.is_card() { CARD_DECIMALS } else { DEFAULT_TOKEN_DECIMALS };
    let decimals = check_decimals("decimal", new.decimals.unwrap_or(default))?;
    let contract = check_name("contract", &new.contract)?;
    let contract = if method.kind.is_card() { contract.to_ascii_lowercase() } else { contract };
    if currencies.iter().any(|currency| currency.contract == contract) {
        return Err(CreateCurrencyError::CurrencyTwice);
    }
    let symbol = fields.symbol.as_deref().ok_or(InputError::Required("symbol"))?;
    let currency = Currency {
        id: CurrencyId::new(now, ctx.random.as_ref()),
        method_id: method.id.clone(),
        mode,
        active: true,
        name: symbol.to_owned(),
        symbol: String::new(),
        logo: String::new(),
        decimals,
        maximum_precision: DEFAULT_MAXIMUM_PRECISION.min(decimals),
        contract,
        is_base: false,
        created_at: now,
        updated_at: now,
    };
    let currency = with_currency_fields(currency, fields)?;
    currencies.push(currency.clone());
    validate_settings(ctx, &method, &currencies).await?;
    let mut unit = ctx.store.begin().await?;
    unit.lock(MANAGEMENT).await?;
    unset_base(unit.as_mut(), &currency).await?;
    unit.methods().insert_currency(&currency).await?;
    let method = unit.methods().find(&method.id).await?.ok_or(CreateCurrencyError::NoSuchMethod)?;
    if method.default_currency_id.is_none() {
        unit.methods().update(&Method { default_currency_id: Some(currency.id.clone()), updated_at: now, ..method }).await?;
    }
    unit.commit().await?;
    Ok(currency.id)
}

/// Changes a currency.
///
/// # Errors
/// [`ChangeCurrencyError::SymbolFixed`] for another symbol, once a price in the currency is locked: something refers to it. The daily caps
/// of refunds are configured by symbol, so that a new one would lift them.
#[tracing::instrument(skip_all, fields(currency = %id))]
pub async fn change_currency(ctx: &Context, mode: Mode, id: &CurrencyId, fields: CurrencyFields) -> Result<(), ChangeCurrencyError> {
    let mut unit = ctx.store.begin().await?;
    unit.lock(MANAGEMENT).await?;
    let before = find_currency(unit.as_mut(), mode, id).await?;
    let currency = with_currency_fields(Currency { updated_at: ctx.now(), ..before.clone() }, fields)?;
    if currency.symbol != before.symbol && unit.prices().has_locked_in(id).await? {
        return Err(ChangeCurrencyError::SymbolFixed);
    }
    unset_base(unit.as_mut(), &currency).await?;
    unit.methods().update_currency(&currency).await?;
    unit.commit().await?;
    Ok(())
}

pub async fn find_currency(unit: &mut dyn UnitOfWork, mode: Mode, id: &CurrencyId) -> Result<Currency, FindError> {
    unit.methods().find_currency(id).await?.filter(|currency| currency.mode == mode).ok_or(FindError::NotFound)
}

/// Clears the base flag of all other currencies in the mode: there is one base currency per mode.
async fn unset_base(unit: &mut dyn UnitOfWork, to: &Currency) -> Result<(), StorageError> {
    if !to.is_base {
        return Ok(());
    }
    let others = unit.methods().currencies(to.mode).await?.into_iter().filter(|currency| currency.is_base && currency.id != to.id);
    for other in others {
        unit.methods().update_currency(&Currency { is_base: false, updated_at: to.updated_at, ..other }).await?;
    }
    Ok(())
}

fn with_currency_fields(mut currency: Currency, fields: CurrencyFields) -> Result<Currency, InputError> {
    currency.active = fields.active.unwrap_or(currency.active);
    if let Some(symbol) = fields.symbol {
        currency.symbol = check_name("symbol", &symbol)?;
    }
    currency.name = check_name("name", fields.name.as_deref().unwrap_or(&currency.name))?;
    if let Some(logo) = fields.logo {
        currency.logo = check_logo(&logo)?;
    }
    if let Some(precision) = fields.maximum_precision {
        currency.maximum_precision = check_decimals("maximum_precision", precision)?.min(currency.decimals);
    }
    currency.is_base = fields.is_base.unwrap_or(currency.is_base);
    Ok(currency)
}

fn check_decimals(field: &'static str, decimals: u32) -> Result<u32, InputError> {
    check_count(field, u64::from(decimals), u64::from(MAX_DECIMALS)).map(|_| decimals)
}
