//! The input of payment methods. Secrets are write-only: the response type has no fields for them.

use crate::problem::Problem;
use poem_openapi::Object;
use souk_domain::payment::{MethodFields, MethodKind, Secret, SettingFields};
use souk_domain::shared::CurrencyId;
use std::collections::BTreeMap;

/// Connection settings of a network. The type determines which fields apply; an absent field keeps its value.
#[derive(Clone, Object)]
#[oai(rename = "PaymentMethodSettingsInput")]
pub struct SettingsInputModel {
    pub chain_id: Option<String>,
    pub api_host: Option<String>,
    pub explorer_host: Option<String>,
    pub native_symbol: Option<String>,
    pub confirmation: Option<u32>,
    pub dashboard: Option<String>,
    pub publishable_key: Option<String>,
    #[oai(write_only)]
    pub secret_key: Option<String>,
    #[oai(write_only)]
    pub webhook_signing_secret: Option<String>,
}

impl SettingsInputModel {
    fn read(self) -> SettingFields {
        SettingFields {
            chain_id: self.chain_id,
            api_host: self.api_host,
            explorer_host: self.explorer_host,
            native_symbol: self.native_symbol,
            confirmation: self.confirmation,
            dashboard: self.dashboard,
            publishable_key: self.publishable_key,
            // The form does not show stored secrets, so an empty field means that the secret is unchanged.
            secret_key: self.secret_key.filter(|secret| !secret.is_empty()).map(Secret::new),
            webhook_signing_secret: self.webhook_signing_secret.filter(|secret| !secret.is_empty()).map(Secret::new),
        }
    }
}

/// Fields of a payment method. In an update an absent field keeps its value; the type cannot be changed.
#[derive(Clone, Object)]
#[oai(rename = "PaymentMethodInput")]
pub struct MethodInputModel {
    /// `arcblock`, `stripe`, ...: required for a new method.
    #[oai(rename = "type")]
    pub kind: Option<String>,
    pub active: Option<bool>,
    pub name: Option<String>,
    pub description: Option<String>,
    pub logo: Option<String>,
    /// One entry, under the name of the type.
    pub settings: Option<BTreeMap<String, SettingsInputModel>>,
    pub default_currency_id: Option<String>,
}

impl MethodInputModel {
    /// The type of a new method.
    pub fn kind(&self) -> Result<MethodKind, Problem> {
        let known = self.kind.as_deref().and_then(MethodKind::from_name);
        known.ok_or_else(|| Problem::invalid_value("type", "type must be one of arcblock, bitcoin, ethereum, base, stripe"))
    }

    pub fn read(self, kind: MethodKind) -> Result<MethodFields, Problem> {
        let currency_id = self.default_currency_id.map(|id| CurrencyId::parse(&id)).transpose();
        let settings = match self.settings {
            Some(mut settings) => {
                let fields = settings.remove(kind.name());
                Some(fields.ok_or_else(|| Problem::required(&format!("settings.{}", kind.name())))?.read())
            }
            None => None,
        };
        Ok(MethodFields {
            active: self.active,
            name: self.name,
            description: self.description,
            logo: self.logo,
            settings,
            default_currency_id: currency_id
                .map_err(|_| Problem::invalid_value("default_currency_id", "default_currency_id is not the id of a currency"))?,
        })
    }
}
