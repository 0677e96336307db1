//! The links in emails as their holders use them: signed, not expired, and not revoked by the customer or the store.

use crate::access::{Did, SignedLinks};
use crate::context::Context;
use crate::shared::StorageError;

/// The id of the object that an email link grants access to. `None`: the link is forged, expired or revoked.
#[tracing::instrument(skip_all)]
pub async fn open_link(ctx: &Context, links: &SignedLinks, token: &str) -> Result<Option<String>, StorageError> {
    let Some(link) = links.open(token, ctx.now()) else { return Ok(None) };
    let revoked_at = ctx.store.read().await?.customers().links_revoked_at(link.subject).await?;
    // A link of the second of the revocation counts as revoked, because links contain whole seconds.
    Ok((revoked_at.is_none_or(|revoked_at| revoked_at < link.issued_at)).then(|| link.subject.to_owned()))
}

/// Revokes all links in emails that a user has received until now. Later emails contain valid links.
#[tracing::instrument(skip_all)]
pub async fn revoke_links(ctx: &Context, did: &Did) -> Result<(), StorageError> {
    let mut unit = ctx.store.begin().await?;
    unit.customers().revoke_links(did, ctx.now()).await?;
    unit.commit().await
}
