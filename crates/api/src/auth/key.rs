//! Creates API keys. The secret is shown once; only its hash is stored.

use super::token_hash;
use souk_domain::access::{ApiKey, Scope};
use souk_domain::context::Context;
use souk_domain::shared::{ApiKeyId, Mode, StorageError};

/// The parameters of a new API key.
#[derive(Debug, Clone)]
pub struct NewKey {
    pub name: String,
    pub mode: Mode,
    pub scopes: Vec<Scope>,
}

/// A new API key with its secret, which is not stored.
#[derive(Debug, Clone)]
pub struct CreatedKey {
    pub key: ApiKey,
    pub secret: String,
}

/// Creates an API key.
pub async fn create_key(ctx: &Context, new: NewKey) -> Result<CreatedKey, StorageError> {
    let now = ctx.now();
    let mode = if new.mode.is_live() { "live" } else { "test" };
    let secret = format!("souk_{mode}_{}", hex::encode(ctx.random.bytes::<24>()));
    let key = ApiKey {
        id: ApiKeyId::new(now, ctx.random.as_ref()),
        name: new.name,
        mode: new.mode,
        scopes: new.scopes,
        created_at: now,
        last_used_at: None,
        revoked_at: None,
    };
    let mut unit = ctx.store.begin().await?;
    unit.api_keys().insert(&key, &token_hash(&secret)).await?;
    unit.commit().await?;
    Ok(CreatedKey { key, secret })
}
