//! Payment methods and their currencies. This module encrypts and decrypts the secrets of methods.

use super::columns::read_json;
use super::secret_box::{SecretBox, place};
use super::{Connection, Query, Row};
use async_trait::async_trait;
use serde::{Deserialize, Serialize};
use souk_domain::payment::{Currency, Method, MethodKind, MethodSettings, Methods, Secret, UnreadEvents};
use souk_domain::shared::{CurrencyId, MethodId, Mode, StorageError, Timestamp};

const TABLE: &str = "payment_methods";
const SECRET_KEY: &str = "secret_key";
const WEBHOOK_SECRET: &str = "webhook_signing_secret";

pub struct SqlMethods<'s> {
    pub connection: &'s mut Connection,
    pub secrets: &'s SecretBox,
}

#[async_trait]
impl Methods for SqlMethods<'_> {
    async fn insert(&mut self, method: &Method) -> Result<(), StorageError> {
        self.connection.note(&method.id);
        let insert = "INSERT INTO payment_methods (id, kind, active, name, description, logo, settings, secret_key,
                          webhook_signing_secret, default_currency_id, updated_at, livemode, created_at, events_claimed_at,
                          events_read_until)
                      VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $13, $13)";
        let query = bind(self.connection.query(insert), method, self.secrets)?;
        query.bind(method.mode).bind(method.created_at).execute().await?;
        Ok(())
    }

    async fn update(&mut self, method: &Method) -> Result<(), StorageError> {
        let update = "UPDATE payment_methods SET kind = $2, active = $3, name = $4, description = $5, logo = $6, settings = $7,
                          secret_key = $8, webhook_signing_secret = $9, default_currency_id = $10, updated_at = $11
                      WHERE id = $1";
        bind(self.connection.query(update), method, self.secrets)?.execute().await?;
        Ok(())
    }

    async fn find(&mut self, id: &MethodId) -> Result<Option<Method>, StorageError> {
        let row = self.connection.query("SELECT * FROM payment_methods WHERE id = $1").bind(id).optional().await?;
        row.map(|row| method(&row, self.secrets)).transpose()
    }

    async fn list(&mut self, mode: Mode) -> Result<Vec<Method>, StorageError> {
        let rows = self.connection.query("SELECT * FROM payment_methods WHERE livemode = $1 ORDER BY id").bind(mode).all().await?;
        rows.iter().map(|row| method(row, self.secrets)).collect()
    }

    async fn claim_unread(&mut self, before: Timestamp, now: Timestamp) -> Result<Vec<UnreadEvents>, StorageError> {
        let claim = "UPDATE payment_methods SET events_claimed_at = $2 WHERE kind = $3 AND events_claimed_at <= $1 RETURNING *";
        let rows = self.connection.query(claim).bind(before).bind(now).bind(MethodKind::Stripe).all().await?;
        rows.iter().map(|row| Ok(UnreadEvents { method: method(row, self.secrets)?, since: row.get("events_read_until")? })).collect()
    }

    async fn set_events_read(&mut self, id: &MethodId, until: Timestamp) -> Result<(), StorageError> {
        let update = "UPDATE payment_methods SET events_read_until = $2 WHERE id = $1";
        self.connection.query(update).bind(id).bind(until).execute().await?;
        Ok(())
    }

    async fn insert_currency(&mut self, currency: &Currency) -> Result<(), StorageError> {
        self.connection.note(&currency.id);
        let insert = "INSERT INTO currencies (id, active, name, symbol, logo, decimals, maximum_precision, contract, is_base,
                          updated_at, method_id, livemode, created_at)
                      VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13)";
        let query = bind_currency(self.connection.query(insert), currency);
        query.bind(&currency.method_id).bind(currency.mode).bind(currency.created_at).execute().await?;
        Ok(())
    }

    async fn update_currency(&mut self, currency: &Currency) -> Result<(), StorageError> {
        let update = "UPDATE currencies SET active = $2, name = $3, symbol = $4, logo = $5, decimals = $6, maximum_precision = $7,
                          contract = $8, is_base = $9, updated_at = $10
                      WHERE id = $1";
        bind_currency(self.connection.query(update), currency).execute().await?;
        Ok(())
    }

    async fn find_currency(&mut self, id: &CurrencyId) -> Result<Option<Currency>, StorageError> {
        let row = self.connection.query("SELECT * FROM currencies WHERE id = $1").bind(id).optional().await?;
        row.as_ref().map(currency).transpose()
    }

    async fn currencies(&mut self, mode: Mode) -> Result<Vec<Currency>, StorageError> {
        let rows = self.connection.query("SELECT * FROM currencies WHERE livemode = $1 ORDER BY id").bind(mode).all().await?;
        rows.iter().map(currency).collect()
    }
}

/// The content of the `settings` column: all settings except secrets.
#[derive(Serialize, Deserialize)]
#[serde(tag = "network", rename_all = "lowercase")]
enum PlainSettings {
    Arcblock { chain_id: String, api_host: String, explorer_host: String },
    Bitcoin { explorer_host: String },
    Evm { chain_id: u64, api_host: String, explorer_host: String, native_symbol: String, confirmation: u32 },
    Stripe { api_host: String, dashboard: String, publishable_key: String },
}

/// Settings prepared for storage: the plain part as JSON, and the encrypted secrets.
struct Sealed {
    plain: serde_json::Value,
    secret_key: Option<Vec<u8>>,
    webhook_secret: Option<Vec<u8>>,
}

fn encrypt(id: &MethodId, settings: &MethodSettings, secrets: &SecretBox) -> Result<Sealed, StorageError> {
    let (mut secret_key, mut webhook_secret) = (None, None);
    let plain = match settings.clone() {
        MethodSettings::Arcblock { chain_id, api_host, explorer_host } => PlainSettings::Arcblock { chain_id, api_host, explorer_host },
        MethodSettings::Bitcoin { explorer_host } => PlainSettings::Bitcoin { explorer_host },
        MethodSettings::Evm { chain_id, api_host, explorer_host, native_symbol, confirmation } => {
            PlainSettings::Evm { chain_id, api_host, explorer_host, native_symbol, confirmation }
        }
        MethodSettings::Stripe { api_host, dashboard, publishable_key, secret_key: key, webhook_signing_secret } => {
            secret_key = Some(secrets.encrypt(&place(TABLE, SECRET_KEY, id.as_str()), key.reveal())?);
            webhook_secret = Some(secrets.encrypt(&place(TABLE, WEBHOOK_SECRET, id.as_str()), webhook_signing_secret.reveal())?);
            PlainSettings::Stripe { api_host, dashboard, publishable_key }
        }
    };
    let plain = serde_json::to_value(plain).map_err(|error| StorageError::Driver(Box::new(error)))?;
    Ok(Sealed { plain, secret_key, webhook_secret })
}

fn open(id: &MethodId, row: &Row, secrets: &SecretBox) -> Result<MethodSettings, StorageError> {
    let secret = |column| {
        let sealed: Option<Vec<u8>> = row.get(column)?;
        secrets.open_column(TABLE, column, id.as_str(), &sealed.unwrap_or_default()).map(Secret::new)
    };
    Ok(match read_json(row, TABLE, "settings")? {
        PlainSettings::Arcblock { chain_id, api_host, explorer_host } => MethodSettings::Arcblock { chain_id, api_host, explorer_host },
        PlainSettings::Bitcoin { explorer_host } => MethodSettings::Bitcoin { explorer_host },
        PlainSettings::Evm { chain_id, api_host, explorer_host, native_symbol, confirmation } => {
            MethodSettings::Evm { chain_id, api_host, explorer_host, native_symbol, confirmation }
        }
        PlainSettings::Stripe { api_host, dashboard, publishable_key } => MethodSettings::Stripe {
            api_host,
            dashboard,
            publishable_key,
            secret_key: secret(SECRET_KEY)?,
            webhook_signing_secret: secret(WEBHOOK_SECRET)?,
        },
    })
}

/// Binds `$1` to `$11`: the id and the updatable columns.
fn bind<'q>(query: Query<'q>, method: &Method, secrets: &SecretBox) -> Result<Query<'q>, StorageError> {
    let sealed = encrypt(&method.id, &method.settings, secrets)?;
    let query = query.bind(&method.id).bind(method.kind).bind(method.active).bind(&method.name).bind(&method.description);
    let query = query.bind(&method.logo).bind(sealed.plain).bind(sealed.secret_key).bind(sealed.webhook_secret);
    Ok(query.bind(&method.default_currency_id).bind(method.updated_at))
}

pub(super) fn method(row: &Row, secrets: &SecretBox) -> Result<Method, StorageError> {
    let id: MethodId = row.get("id")?;
    Ok(Method {
        mode: row.get("livemode")?,
        kind: row.get("kind")?,
        active: row.get("active")?,
        name: row.get("name")?,
        description: row.get("description")?,
        logo: row.get("logo")?,
        settings: open(&id, row, secrets)?,
        default_currency_id: row.get("default_currency_id")?,
        created_at: row.get("created_at")?,
        updated_at: row.get("updated_at")?,
        id,
    })
}

/// Binds `$1` to `$10`: the id and the updatable columns.
fn bind_currency<'q>(query: Query<'q>, currency: &Currency) -> Query<'q> {
    let query = query.bind(&currency.id).bind(currency.active).bind(&currency.name).bind(&currency.symbol).bind(&currency.logo);
    let query = query.bind(currency.decimals).bind(currency.maximum_precision).bind(&currency.contract);
    query.bind(currency.is_base).bind(currency.updated_at)
}

pub(super) fn currency(row: &Row) -> Result<Currency, StorageError> {
    Ok(Currency {
        id: row.get("id")?,
        method_id: row.get("method_id")?,
        mode: row.get("livemode")?,
        active: row.get("active")?,
        name: row.get("name")?,
        symbol: row.get("symbol")?,
        logo: row.get("logo")?,
        decimals: row.get("decimals")?,
        maximum_precision: row.get("maximum_precision")?,
        contract: row.get("contract")?,
        is_base: row.get("is_base")?,
        created_at: row.get("created_at")?,
        updated_at: row.get("updated_at")?,
    })
}
