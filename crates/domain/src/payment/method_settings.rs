//! The settings of a payment method: reads them as an operator enters them, and validates them against the network.

use super::{Currency, Method, MethodKind, MethodSettings, RailError, Secret};
use crate::context::Context;
use crate::shared::{InputError, Mode, NAME_MAX, check_address, check_name, check_text};

/// Why entered settings are rejected before the network is asked.
#[derive(Debug, thiserror::Error)]
pub enum SettingsError {
    #[error(transparent)]
    Input(#[from] InputError),
    /// The sandbox replaces networks in test mode only (invariant 9).
    #[error("{0} of this store's sandbox can be used in test mode only")]
    Sandbox(&'static str),
}

/// The setting that would lead to another network. Payments are looked up at the network where they began, and a saved secret is sent to no
/// other.
#[derive(Debug, thiserror::Error)]
#[error("The network of a method can't be changed. Create another method for another {0}.")]
pub struct NetworkFixed(pub &'static str);

/// No network supports methods of this type.
#[derive(Debug, thiserror::Error)]
#[error("Payments by {0} are not supported")]
pub struct NoRail(pub &'static str);

/// Why a method is not valid at its network.
#[derive(Debug, thiserror::Error)]
pub enum ValidationError {
    #[error(transparent)]
    NoRail(#[from] NoRail),
    #[error(transparent)]
    Rail(#[from] RailError),
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

pub(super) async fn validate_settings(ctx: &Context, method: &Method, currencies: &[Currency]) -> Result<(), ValidationError> {
    ctx.networks.check_open(method).map_err(RailError::from)?;
    match (ctx.networks.wallet(method.kind), ctx.networks.card(method.kind)) {
        (Some(rail), _) => rail.validate_settings(method, currencies).await?,
        (None, Some(rail)) => rail.validate_settings(method, currencies).await?,
        (None, None) => return Err(NoRail(method.kind.name()).into()),
    }
    Ok(())
}

/// The host that is asked about the method's payments.
pub(super) fn host(settings: &MethodSettings) -> &str {
    match settings {
        MethodSettings::Arcblock { api_host, .. } | MethodSettings::Evm { api_host, .. } | MethodSettings::Stripe { api_host, .. } => {
            api_host
        }
        MethodSettings::Bitcoin { explorer_host } => explorer_host,
    }
}

/// The chain of a wallet method and the host of a card method are fixed. A wallet method's host can change, since it reaches the same
/// chain.
pub(super) fn check_network_stays(saved: &MethodSettings, changed: &MethodSettings) -> Result<(), NetworkFixed> {
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
        return Err(NetworkFixed("chain_id"));
    }
    if card_host(saved) != card_host(changed) {
        return Err(NetworkFixed("api_host"));
    }
    Ok(())
}

/// Merges entered settings into the saved ones. Secrets that are not entered again are kept.
pub(super) fn read_settings(
    mode: Mode,
    kind: MethodKind,
    fields: SettingFields,
    saved: Option<&MethodSettings>,
) -> Result<MethodSettings, SettingsError> {
    let text = |field: &'static str, entered: Option<String>, saved: Option<&String>| match (entered, saved) {
        (Some(entered), _) => Ok(check_name(field, &entered)?),
        (None, Some(saved)) => Ok(saved.clone()),
        (None, None) => Err(SettingsError::from(InputError::Required(field))),
    };
    let host = |field: &'static str, entered: Option<String>, saved: Option<&String>, default: Option<&str>| match (entered, saved, default)
    {
        (Some(entered), ..) if entered.starts_with('/') && !entered.starts_with("//") => match mode {
            Mode::Test => Ok(check_text(field, &entered, NAME_MAX)?),
            Mode::Live => Err(SettingsError::Sandbox(field)),
        },
        (Some(entered), ..) => Ok(check_address(field, &entered)?),
        (None, Some(saved), _) => Ok(saved.clone()),
        (None, None, Some(default)) => Ok(default.to_owned()),
        (None, None, None) => Err(InputError::Required(field).into()),
    };
    let secret = |field: &'static str, entered: Option<Secret>, saved: Option<&Secret>| match (entered, saved) {
        (Some(entered), _) => Ok(Secret::new(check_name(field, entered.reveal())?)),
        (None, Some(saved)) => Ok(saved.clone()),
        (None, None) => Err(SettingsError::from(InputError::Required(field))),
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
