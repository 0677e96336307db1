//! What is typed into a payment method. Secrets go in and never come out: the answer is a type without them.

use crate::problem::Problem;
use poem_openapi::Object;
use souk_domain::payment::{MethodFields, MethodKind, Secret, SettingFields};
use souk_domain::shared::CurrencyId;
use std::collections::BTreeMap;

/// How a network is reached. Which fields count depends on the type; an absent one keeps its value.
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
            // A form that shows no secret sends none back.
            secret_key: self.secret_key.filter(|secret| !secret.is_empty()).map(Secret::new),
            webhook_signing_secret: self.webhook_signing_secret.filter(|secret| !secret.is_empty()).map(Secret::new),
        }
    }
}

/// Fields of a payment method. In an update an absent field keeps its value, and the type stays.
#[derive(Clone, Object)]
#[oai(rename = "PaymentMethodInput")]
pub struct MethodInputModel {
    /// `arcblock`, `stripe`, ...: needed for a new method.
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
        known.ok_or_else(|| Problem::bad("type must be one of arcblock, bitcoin, ethereum, base, stripe"))
    }

    pub fn read(self, kind: MethodKind) -> Result<MethodFields, Problem> {
        let currency_id = self.default_currency_id.map(|id| CurrencyId::parse(&id)).transpose();
        let settings = match self.settings {
            Some(mut settings) => {
                let own = settings.remove(kind.name());
                Some(own.ok_or_else(|| Problem::bad(format!("settings.{} is required", kind.name())))?.read())
            }
            None => None,
        };
        Ok(MethodFields {
            active: self.active,
            name: self.name,
            description: self.description,
            logo: self.logo,
            settings,
            default_currency_id: currency_id.map_err(|_| Problem::bad("default_currency_id is not the id of a currency"))?,
        })
    }
}
