//! Manages payment methods. Settings are validated against the network before they are saved.

use super::method_settings::{check_network_stays, host, read_settings, validate_settings};
use super::{Currency, Method, MethodKind, NetworkFixed, SettingFields, SettingsError, ValidationError};
use crate::context::Context;
use crate::shared::{
    ADDRESS_MAX, CurrencyId, DESCRIPTION_MAX, FindError, InputError, MethodId, Mode, StorageError, check_address, check_name, check_text,
};
use crate::storage::{MANAGEMENT, UnitOfWork};

#[derive(Debug, thiserror::Error)]
pub enum CreateMethodError {
    #[error(transparent)]
    Input(#[from] InputError),
    #[error(transparent)]
    Settings(#[from] SettingsError),
    #[error(transparent)]
    Validation(#[from] ValidationError),
    #[error(transparent)]
    Storage(#[from] StorageError),
}

#[derive(Debug, thiserror::Error)]
pub enum ChangeMethodError {
    #[error(transparent)]
    Find(#[from] FindError),
    #[error(transparent)]
    Input(#[from] InputError),
    #[error(transparent)]
    Settings(#[from] SettingsError),
    #[error(transparent)]
    NetworkFixed(#[from] NetworkFixed),
    #[error("default_currency_id does not name a currency of this method")]
    NoSuchCurrency,
    #[error(transparent)]
    Validation(#[from] ValidationError),
    #[error("The method was changed in the meantime. Please reload it.")]
    Changed,
    #[error("Payments by this method are in progress. Change its host once they are complete.")]
    PaymentsInFlight,
    #[error(transparent)]
    Storage(#[from] StorageError),
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

#[tracing::instrument(skip_all)]
pub async fn create_method(ctx: &Context, mode: Mode, kind: MethodKind, fields: MethodFields) -> Result<MethodId, CreateMethodError> {
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
    let method = with_texts(blank, &fields)?;
    validate_settings(ctx, &method, &[]).await?;
    let mut unit = ctx.store.begin().await?;
    unit.methods().insert(&method).await?;
    unit.commit().await?;
    Ok(method.id)
}

/// Changes a method. New settings are validated against the network, with all currencies, before they are saved.
#[tracing::instrument(skip_all, fields(method = %id))]
pub async fn change_method(ctx: &Context, mode: Mode, id: &MethodId, fields: MethodFields) -> Result<(), ChangeMethodError> {
    let mut unit = ctx.store.read().await?;
    let method = find_method(unit.as_mut(), mode, id).await?;
    let currencies = currencies_of(unit.as_mut(), &method).await?;
    drop(unit);
    let mut changed = with_texts(Method { updated_at: ctx.now(), ..method.clone() }, &fields)?;
    let is_new_to_network = fields.settings.is_some();
    if let Some(settings) = fields.settings {
        changed.settings = read_settings(mode, method.kind, settings, Some(&method.settings))?;
        check_network_stays(&method.settings, &changed.settings)?;
    }
    if let Some(id) = fields.default_currency_id {
        let found = currencies.iter().find(|currency| currency.id == id).ok_or(ChangeMethodError::NoSuchCurrency)?;
        changed.default_currency_id = Some(found.id.clone());
    }
    if is_new_to_network {
        validate_settings(ctx, &changed, &currencies).await?;
    }
    let mut unit = ctx.store.begin().await?;
    unit.lock(MANAGEMENT).await?;
    if find_method(unit.as_mut(), mode, id).await? != method {
        return Err(ChangeMethodError::Changed);
    }
    // Another host may not know a payment in flight, but would be queried about it.
    if host(&method.settings) != host(&changed.settings) && unit.attempts().has_open_for_method(id).await? {
        return Err(ChangeMethodError::PaymentsInFlight);
    }
    unit.methods().update(&changed).await?;
    unit.commit().await?;
    Ok(())
}

pub async fn find_method(unit: &mut dyn UnitOfWork, mode: Mode, id: &MethodId) -> Result<Method, FindError> {
    unit.methods().find(id).await?.filter(|method| method.mode == mode).ok_or(FindError::NotFound)
}

pub(super) async fn currencies_of(unit: &mut dyn UnitOfWork, method: &Method) -> Result<Vec<Currency>, StorageError> {
    let all = unit.methods().currencies(method.mode).await?;
    Ok(all.into_iter().filter(|currency| currency.method_id == method.id).collect())
}

/// Applies the fields of a method, except its settings and its default currency.
fn with_texts(mut method: Method, fields: &MethodFields) -> Result<Method, InputError> {
    method.active = fields.active.unwrap_or(method.active);
    if let Some(name) = &fields.name {
        method.name = check_name("name", name)?;
    }
    if let Some(description) = &fields.description {
        method.description = check_text("description", description, DESCRIPTION_MAX)?;
    }
    if let Some(logo) = &fields.logo {
        method.logo = check_logo(logo)?;
    }
    Ok(method)
}

/// Checks a logo: an external image, an image of this store (`/...`), or none.
pub(super) fn check_logo(text: &str) -> Result<String, InputError> {
    let is_local = text.starts_with('/') && !text.starts_with("//");
    if text.is_empty() || is_local { check_text("logo", text, ADDRESS_MAX) } else { check_address("logo", text) }
}
