//! Manages payment methods and their currencies. Settings are validated against the network before they are saved.

use super::{Currency, DEFAULT_MAXIMUM_PRECISION, DEFAULT_TOKEN_DECIMALS, Method, MethodKind, MethodSettings, RailError, Secret};
use crate::context::Context;
use crate::shared::{
    CurrencyId, DESCRIPTION_MAX, InputError, MAX_DECIMALS, MethodId, Mode, NAME_MAX, StorageError, check_address, check_count, check_name,
    check_text,
};
use crate::storage::{MANAGEMENT, UnitOfWork};

/// The number of decimals of most card currencies.
const CARD_DECIMALS: u32 = 2;

#[derive(Debug, thiserror::Error)]
pub enum MethodError {
    #[error("Sorry, the page you visited does not exist.")]
    NotFound,
    #[error(transparent)]
    Input(#[from] InputError),
    #[error("Payments by {0} are not supported")]
    NoRail(&'static str),
    /// The sandbox replaces networks in test mode only (invariant 9).
    #[error("{0} of this store's sandbox can be used in test mode only")]
    Sandbox(&'static str),
    #[error("payment_method_id does not name a payment method of this mode")]
    NoSuchMethod,
    #[error("default_currency_id does not name a currency of this method")]
    NoSuchCurrency,
    #[error("The method has a currency with this contract already")]
    CurrencyTwice,
    /// Payments are looked up at the network where they began, and a saved secret is sent to no other.
    #[error("The network of a method can't be changed. Create another method for another {0}.")]
    NetworkFixed(&'static str),
    #[error("The method was changed in the meantime. Please reload it.")]
    Changed,
    #[error("Payments by this method are in progress. Change its host once they are complete.")]
    PaymentsInFlight,
    #[error(transparent)]
    Rail(#[from] RailError),
    #[error(transparent)]
    Storage(#[from] StorageError),
}

/// Settings as entered by an operator. Absent ones keep their value. Which ones apply depends on the method type.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct SettingFields {
    pub chain_id: Option<String>,
    pub api_host: Option<String>,
    pub explorer_host: Option<String>,
    pub native_symbol: Option<String>,
    pub confirmation: Option<u32>,
    pub dashboard: Option<String>,
    pub publishable_key: Option<String>,
    pub secret_key: Option<Secret>,
    pub webhook_signing_secret: Option<Secret>,
}

/// Fields of a method; absent ones keep their value.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct MethodFields {
    pub active: Option<bool>,
    pub name: Option<String>,
    pub description: Option<String>,
    pub logo: Option<String>,
    pub settings: Option<SettingFields>,
    pub default_currency_id: Option<CurrencyId>,
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

#[tracing::instrument(skip_all)]
pub async fn create_method(ctx: &Context, mode: Mode, kind: MethodKind, fields: MethodFields) -> Result<MethodId, MethodError> {
    let now = ctx.now();
    if fields.name.is_none() {
        return Err(InputError::Required("name").into());
    }
    let blank = Method {
        id: MethodId::new(now, ctx.random.as_ref()),
        mode,
        kind,
        active: true,
        name: String::new(),
        description: String::new(),
        logo: String::new(),
        settings: read_settings(mode, kind, fields.settings.clone().unwrap_or_default(), None)?,
        default_currency_id: None,
        created_at: now,
        updated_at: now,
    };
    let method = with_method_fields(blank, MethodFields { settings: None, default_currency_id: None, ..fields }, &[])?;
    validate_settings(ctx, &method, &[]).await?;
    let mut unit = ctx.store.begin().await?;
    unit.methods().insert(&method).await?;
    unit.commit().await?;
    Ok(method.id)
}

/// Changes a method. New settings are validated against the network, with all currencies, before they are saved.
#[tracing::instrument(skip_all, fields(method = %id))]
pub async fn change_method(ctx: &Context, mode: Mode, id: &MethodId, fields: MethodFields) -> Result<(), MethodError> {
    let mut unit = ctx.store.read().await?;
    let method = find_method(unit.as_mut(), mode, id).await?;
    let currencies = currencies_of(unit.as_mut(), &method).await?;
    drop(unit);
    let is_new_to_network = fields.settings.is_some();
    let changed = with_method_fields(Method { updated_at: ctx.now(), ..method.clone() }, fields, &currencies)?;
    if is_new_to_network {
        validate_settings(ctx, &changed, &currencies).await?;
    }
    let mut unit = ctx.store.begin().await?;
    unit.lock(MANAGEMENT).await?;
    if find_method(unit.as_mut(), mode, id).await? != method {
        return Err(MethodError::Changed);
    }
    // Another host may not know a payment in flight, but would be queried about it.
    if host(&method.settings) != host(&changed.settings) && unit.attempts().has_open_for_method(id).await? {
        return Err(MethodError::PaymentsInFlight);
    }
    unit.methods().update(&changed).await?;
    unit.commit().await?;
    Ok(())
}

fn host(settings: &MethodSettings) -> &str {
    match settings {
        MethodSettings::Arcblock { api_host, .. } | MethodSettings::Evm { api_host, .. } | MethodSettings::Stripe { api_host, .. } => {
            api_host
        }
        MethodSettings::Bitcoin { explorer_host } => explorer_host,
    }
}

/// Creates a currency. The first currency of a method becomes its default.
#[tracing::instrument(skip_all)]
pub async fn create_currency(ctx: &Context, mode: Mode, new: NewCurrency, fields: CurrencyFields) -> Result<CurrencyId, MethodError> {
    let now = ctx.now();
    let mut unit = ctx.store.read().await?;
    let method = unit.methods().find(&new.method_id).await?.filter(|method| method.mode == mode).ok_or(MethodError::NoSuchMethod)?;
    let mut currencies = currencies_of(unit.as_mut(), &method).await?;
    drop(unit);
    let default = if method.kind.is_card() { CARD_DECIMALS } else { DEFAULT_TOKEN_DECIMALS };
    let decimals = check_decimals("decimal", new.decimals.unwrap_or(default))?;
    let contract = check_name("contract", &new.contract)?;
    let contract = if method.kind.is_card() { contract.to_ascii_lowercase() } else { contract };
    if currencies.iter().any(|currency| currency.contract == contract) {
        return Err(MethodError::CurrencyTwice);
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
    let method = unit.methods().find(&method.id).await?.ok_or(MethodError::NoSuchMethod)?;
    if method.default_currency_id.is_none() {
        unit.methods().update(&Method { default_currency_id: Some(currency.id.clone()), updated_at: now, ..method }).await?;
    }
    unit.commit().await?;
    Ok(currency.id)
}

#[tracing::instrument(skip_all, fields(currency = %id))]
pub async fn change_currency(ctx: &Context, mode: Mode, id: &CurrencyId, fields: CurrencyFields) -> Result<(), MethodError> {
    let mut unit = ctx.store.begin().await?;
    unit.lock(MANAGEMENT).await?;
    let currency = find_currency(unit.as_mut(), mode, id).await?;
    let currency = with_currency_fields(Currency { updated_at: ctx.now(), ..currency }, fields)?;
    unset_base(unit.as_mut(), &currency).await?;
    unit.methods().update_currency(&currency).await?;
    unit.commit().await?;
    Ok(())
}

pub async fn find_method(unit: &mut dyn UnitOfWork, mode: Mode, id: &MethodId) -> Result<Method, MethodError> {
    unit.methods().find(id).await?.filter(|method| method.mode == mode).ok_or(MethodError::NotFound)
}

pub async fn find_currency(unit: &mut dyn UnitOfWork, mode: Mode, id: &CurrencyId) -> Result<Currency, MethodError> {
    unit.methods().find_currency(id).await?.filter(|currency| currency.mode == mode).ok_or(MethodError::NotFound)
}

pub(super) async fn currencies_of(unit: &mut dyn UnitOfWork, method: &Method) -> Result<Vec<Currency>, StorageError> {
    let all = unit.methods().currencies(method.mode).await?;
    Ok(all.into_iter().filter(|currency| currency.method_id == method.id).collect())
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

pub(super) async fn validate_settings(ctx: &Context, method: &Method, currencies: &[Currency]) -> Result<(), MethodError> {
    ctx.networks.check_open(method).map_err(RailError::from)?;
    match (ctx.networks.wallet(method.kind), ctx.networks.card(method.kind)) {
        (Some(rail), _) => rail.validate_settings(method, currencies).await?,
        (None, Some(rail)) => rail.validate_settings(method, currencies).await?,
        (None, None) => return Err(MethodError::NoRail(method.kind.name())),
    }
    Ok(())
}

fn with_method_fields(mut method: Method, fields: MethodFields, currencies: &[Currency]) -> Result<Method, MethodError> {
    method.active = fields.active.unwrap_or(method.active);
    if let Some(name) = fields.name {
        method.name = check_name("name", &name)?;
    }
    if let Some(description) = fields.description {
        method.description = check_text("description", &description, DESCRIPTION_MAX)?;
    }
    if let Some(logo) = fields.logo {
        method.logo = check_logo(&logo)?;
    }
    if let Some(settings) = fields.settings {
        let changed = read_settings(method.mode, method.kind, settings, Some(&method.settings))?;
        check_network_stays(&method.settings, &changed)?;
        method.settings = changed;
    }
    if let Some(id) = fields.default_currency_id {
        let found = currencies.iter().find(|currency| currency.id == id).ok_or(MethodError::NoSuchCurrency)?;
        method.default_currency_id = Some(found.id.clone());
    }
    Ok(method)
}

/// The chain of a wallet method and the host of a card method are fixed. A wallet method's host can change, since it reaches the same
/// chain.
fn check_network_stays(saved: &MethodSettings, changed: &MethodSettings) -> Result<(), MethodError> {
    let chain = |settings: &MethodSettings| match settings {
        MethodSettings::Arcblock { chain_id, .. } => chain_id.clone(),
        MethodSettings::Evm { chain_id, .. } => chain_id.to_string(),
        MethodSettings::Bitcoin { .. } | MethodSettings::Stripe { .. } => String::new(),
    };
    let card_host = |settings: &MethodSettings| match settings {
        MethodSettings::Stripe { api_host, .. } => api_host.clone(),
        _ => String::new(),
    };
    if chain(saved) != chain(changed) {
        return Err(MethodError::NetworkFixed("chain_id"));
    }
    if card_host(saved) != card_host(changed) {
        return Err(MethodError::NetworkFixed("api_host"));
    }
    Ok(())
}

fn with_currency_fields(mut currency: Currency, fields: CurrencyFields) -> Result<Currency, MethodError> {
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

/// Checks a logo: an external image, an image of this store (`/...`), or none.
fn check_logo(text: &str) -> Result<String, InputError> {
    let is_local = text.starts_with('/') && !text.starts_with("//");
    if text.is_empty() || is_local { check_text("logo", text, crate::shared::ADDRESS_MAX) } else { check_address("logo", text) }
}

/// Merges entered settings into the saved ones. Secrets that are not entered again are kept.
fn read_settings(
    mode: Mode,
    kind: MethodKind,
    fields: SettingFields,
    saved: Option<&MethodSettings>,
) -> Result<MethodSettings, MethodError> {
    let text = |field: &'static str, entered: Option<String>, saved: Option<&String>| match (entered, saved) {
        (Some(entered), _) => Ok(check_name(field, &entered)?),
        (None, Some(saved)) => Ok(saved.clone()),
        (None, None) => Err(MethodError::from(InputError::Required(field))),
    };
    let host = |field: &'static str, entered: Option<String>, saved: Option<&String>, default: Option<&str>| match (entered, saved, default)
    {
        (Some(entered), ..) if entered.starts_with('/') && !entered.starts_with("//") => match mode {
            Mode::Test => Ok(check_text(field, &entered, NAME_MAX)?),
            Mode::Live => Err(MethodError::Sandbox(field)),
        },
        (Some(entered), ..) => Ok(check_address(field, &entered)?),
        (None, Some(saved), _) => Ok(saved.clone()),
        (None, None, Some(default)) => Ok(default.to_owned()),
        (None, None, None) => Err(InputError::Required(field).into()),
    };
    let secret = |field: &'static str, entered: Option<Secret>, saved: Option<&Secret>| match (entered, saved) {
        (Some(entered), _) => Ok(Secret::new(check_name(field, entered.reveal())?)),
        (None, Some(saved)) => Ok(saved.clone()),
        (None, None) => Err(MethodError::from(InputError::Required(field))),
    };
    Ok(match kind {
        MethodKind::Arcblock => {
            let (chain, api, explorer) = match saved {
                Some(MethodSettings::Arcblock { chain_id, api_host, explorer_host }) => {
                    (Some(chain_id), Some(api_host), Some(explorer_host))
                }
                _ => (None, None, None),
            };
            MethodSettings::Arcblock {
                chain_id: text("chain_id", fields.chain_id, chain)?,
                api_host: host("api_host", fields.api_host, api, None)?,
                explorer_host: host("explorer_host", fields.explorer_host, explorer, None)?,
            }
        }
        MethodKind::Bitcoin => {
            let explorer = match saved {
                Some(MethodSettings::Bitcoin { explorer_host }) => Some(explorer_host),
                _ => None,
            };
            MethodSettings::Bitcoin { explorer_host: host("explorer_host", fields.explorer_host, explorer, None)? }
        }
        MethodKind::Ethereum | MethodKind::Base => {
            let (chain, api, explorer, symbol, blocks) = match saved {
                Some(MethodSettings::Evm { chain_id, api_host, explorer_host, native_symbol, confirmation }) => {
                    (Some(chain_id.to_string()), Some(api_host), Some(explorer_host), Some(native_symbol), Some(*confirmation))
                }
                _ => (None, None, None, None, None),
            };
            let chain_id = text("chain_id", fields.chain_id, chain.as_ref())?;
            MethodSettings::Evm {
                chain_id: chain_id.parse().map_err(|_| InputError::Required("chain_id"))?,
                api_host: host("api_host", fields.api_host, api, None)?,
                explorer_host: host("explorer_host", fields.explorer_host, explorer, None)?,
                native_symbol: text("native_symbol", fields.native_symbol, symbol)?,
                confirmation: fields.confirmation.or(blocks).unwrap_or(1),
            }
        }
        MethodKind::Stripe => {
            let no_secret = Secret::new("");
            let (api, board, public, secret_key, webhook) = match saved {
                Some(MethodSettings::Stripe { api_host, dashboard, publishable_key, secret_key, webhook_signing_secret }) => {
                    (Some(api_host), Some(dashboard), Some(publishable_key), Some(secret_key), Some(webhook_signing_secret))
                }
                _ => (None, None, None, None, None),
            };
            MethodSettings::Stripe {
                api_host: host("api_host", fields.api_host, api, Some("https://api.stripe.com"))?,
                dashboard: host("dashboard", fields.dashboard, board, Some("https://dashboard.stripe.com"))?,
                publishable_key: text("publishable_key", fields.publishable_key, public)?,
                secret_key: secret("secret_key", fields.secret_key, secret_key)?,
                // Without it every event is rejected, and payments are settled by polling.
                webhook_signing_secret: secret("webhook_signing_secret", fields.webhook_signing_secret, webhook.or(Some(&no_secret)))?,
            }
        }
    })
}
