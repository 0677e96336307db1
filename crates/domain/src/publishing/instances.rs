//! Public instances of apps (reference/store.md 1.7): installations that their operators list here. An instance proves its key with a
//! signed envelope, and its address by answering there as itself.

use crate::access::{AppProof, AppProofError, Did, DidAuthTokens};
use crate::context::Context;
use crate::operation::VisitorNetwork;
use crate::shared::{StorageError, Timestamp, check_address};
use async_trait::async_trait;
use std::time::Duration;

/// The instances of an app that are shown.
pub const INSTANCES_SHOWN: u32 = 50;
/// How many instances are kept: of an app, of those that one site has sent (see [`VisitorNetwork::site`]), and of all together. By networks
/// of 64 bits, one visitor with IPv6 could use up the instances of all.
pub const INSTANCES_OF_APP_MAX: u64 = 1_000;
pub const INSTANCES_OF_VISITOR_MAX: u64 = 50;
pub const INSTANCES_MAX: u64 = 20_000;
/// How long an instance is kept that has not proved itself again.
pub const INSTANCE_LIFETIME: Duration = Duration::from_secs(90 * 86_400);
/// The subject of the lock under which instances are counted.
const INSTANCES: &str = "app_instances";

/// A public instance of an app.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AppInstance {
    /// The DID of the instance (role application).
    pub id: Did,
    /// The app of the store that it is an instance of.
    pub app: Did,
    /// The DID of its operator, as the instance says.
    pub owner: Did,
    pub url: String,
    pub created_at: Timestamp,
    /// The last time that it proved its key and its address.
    pub updated_at: Timestamp,
}

/// How many instances there are.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct InstanceCounts {
    pub of_app: u64,
    pub of_visitor: u64,
    pub total: u64,
}

#[async_trait]
pub trait AppInstances: Send {
    async fn find(&mut self, id: &Did) -> Result<Option<AppInstance>, StorageError>;
    /// The instances of an app that have proved themselves since a time, the last one first, at most `limit`.
    async fn list(&mut self, app: &Did, since: Timestamp, limit: u32) -> Result<Vec<AppInstance>, StorageError>;
    /// The instances other than this one. Those of the visitor are counted by their site.
    async fn count_others(&mut self, id: &Did, app: &Did, visitor: &VisitorNetwork) -> Result<InstanceCounts, StorageError>;
    /// Inserts the instance, or replaces all but the time of its creation.
    async fn upsert(&mut self, instance: &AppInstance, visitor: &VisitorNetwork) -> Result<(), StorageError>;
    /// False: there is no such instance.
    async fn delete(&mut self, id: &Did) -> Result<bool, StorageError>;
    /// Uses a proof. True for exactly one caller.
    async fn use_proof(&mut self, proof: &AppProof) -> Result<bool, StorageError>;
    /// Forgets used proofs that have expired, at most `limit`.
    async fn prune_proofs(&mut self, now: Timestamp, limit: u32) -> Result<u64, StorageError>;
    /// Deletes those that have not proved themselves since a time, at most `limit`.
    async fn prune(&mut self, before: Timestamp, limit: u32) -> Result<u64, StorageError>;
}

/// Why an address says nothing about an instance. What it answered is not told to anybody.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum InstanceProbeError {
    /// It is no public address, or does not answer as an instance does.
    #[error("the address does not answer as an instance")]
    NoInstance,
    /// Too many addresses are being asked.
    #[error("too many instances are being checked")]
    Busy,
}

/// Asks instances who they are.
#[async_trait]
pub trait InstanceProbe: Send + Sync {
    /// The DID that the instance at this address gives as its own, as it wrote it.
    async fn app_id(&self, url: &str) -> Result<String, InstanceProbeError>;
}

/// What an instance sends about itself, as it was sent. Empty: it is missing.
#[derive(Debug, Clone, Copy, Default)]
pub struct InstanceClaim<'a> {
    /// The id in the path of the call.
    pub named: &'a str,
    pub id: &'a str,
    pub public_key: &'a str,
    /// An envelope that the instance has signed.
    pub proof: &'a str,
    pub url: &'a str,
    pub app: &'a str,
    pub owner: &'a str,
}

/// Why an instance is refused. The texts are those of the published protocol, where it has one.
#[derive(Debug, thiserror::Error)]
pub enum InstanceError {
    #[error("The parameter {0} is required")]
    Required(&'static str),
    #[error("The parameter appId is not application id")]
    NotApplication,
    #[error("The parameter {0} is invalid")]
    Invalid(&'static str),
    /// Whoever has received a proof could repeat it, because it names neither the store nor what it is for.
    #[error("The parameter appToken was used before")]
    Used,
    #[error("The blocklet does not exist")]
    UnknownApp,
    #[error("The blocklet instance does not exist")]
    NoInstance,
    #[error("Too many instances of this blocklet are listed")]
    TooMany,
    #[error("Too many instances are being checked, please try again")]
    Busy,
    #[error(transparent)]
    Storage(#[from] StorageError),
}

/// Lists an instance, or renews what is listed. The address is asked only after the key was proved.
///
/// # Errors
/// A parameter is missing or not valid, the proof was used, the app or the instance does not exist, or too many are listed. Then nothing
/// has changed.
#[tracing::instrument(skip_all)]
pub async fn register_instance(
    ctx: &Context,
    dids: &dyn DidAuthTokens,
    probe: &dyn InstanceProbe,
    claim: &InstanceClaim<'_>,
    visitor: &VisitorNetwork,
) -> Result<AppInstance, InstanceError> {
    let (id, proof) = prove(ctx, dids, claim)?;
    let url = required("appUrl", claim.url)?;
    let url =
        check_address("appUrl", url).ok().filter(|url| url.is_ascii() && !url.contains('@')).ok_or(InstanceError::Invalid("appUrl"))?;
    let app = dids.parse_did(required("blockletDid", claim.app)?).ok_or(InstanceError::Invalid("blockletDid"))?;
    let owner = dids.parse_did(required("ownerDid", claim.owner)?).ok_or(InstanceError::Invalid("ownerDid"))?;
    let mut unit = ctx.store.read().await?;
    if unit.apps().find(&app).await?.is_none() {
        return Err(InstanceError::UnknownApp);
    }
    // Before a stranger makes the store call anybody.
    check_counts(unit.app_instances().count_others(&id, &app, visitor).await?)?;
    drop(unit);
    let answered = probe.app_id(&url).await.map_err(|error| match error {
        InstanceProbeError::NoInstance => InstanceError::NoInstance,
        InstanceProbeError::Busy => InstanceError::Busy,
    })?;
    if dids.parse_did(&answered).as_ref() != Some(&id) {
        return Err(InstanceError::Invalid("appId"));
    }
    let now = ctx.now();
    let mut unit = ctx.store.begin().await?;
    unit.lock(INSTANCES).await?;
    if !unit.app_instances().use_proof(&proof).await? {
        return Err(InstanceError::Used);
    }
    check_counts(unit.app_instances().count_others(&id, &app, visitor).await?)?;
    let created_at = unit.app_instances().find(&id).await?.map_or(now, |known| known.created_at);
    let instance = AppInstance { id, app, owner, url, created_at, updated_at: now };
    unit.app_instances().upsert(&instance, visitor).await?;
    unit.commit().await?;
    Ok(instance)
}

/// Removes an instance that has proved its key. Its address is not asked: one that was stopped can leave as well.
///
/// # Errors
/// A parameter is missing or not valid, or the proof was used. An instance that is not listed is no error.
#[tracing::instrument(skip_all)]
pub async fn withdraw_instance(ctx: &Context, dids: &dyn DidAuthTokens, claim: &InstanceClaim<'_>) -> Result<bool, InstanceError> {
    let (id, proof) = prove(ctx, dids, claim)?;
    let mut unit = ctx.store.begin().await?;
    if !unit.app_instances().use_proof(&proof).await? {
        return Err(InstanceError::Used);
    }
    let was_listed = unit.app_instances().delete(&id).await?;
    unit.commit().await?;
    Ok(was_listed)
}

/// The instances of an app that are shown, the one that proved itself last first.
pub async fn list_instances(ctx: &Context, app: &Did) -> Result<Vec<AppInstance>, StorageError> {
    let since = ctx.now().minus(INSTANCE_LIFETIME);
    ctx.store.read().await?.app_instances().list(app, since, INSTANCES_SHOWN).await
}

/// The instance whose key has signed the proof, and the proof.
fn prove(ctx: &Context, dids: &dyn DidAuthTokens, claim: &InstanceClaim<'_>) -> Result<(Did, AppProof), InstanceError> {
    let public_key = required("appPK", claim.public_key)?;
    let id = required("appId", claim.id)?;
    let proof = required("appToken", claim.proof)?;
    let id = dids.parse_did(id).ok_or(InstanceError::Invalid("appId"))?;
    let proof = dids.check_app_proof(&id, public_key, proof, ctx.now()).map_err(|error| match error {
        AppProofError::NotApplication => InstanceError::NotApplication,
        AppProofError::ForeignKey => InstanceError::Invalid("appPK"),
        AppProofError::OtherIssuer => InstanceError::Invalid("appId"),
        AppProofError::Invalid => InstanceError::Invalid("appToken"),
    })?;
    if dids.parse_did(claim.named).as_ref() != Some(&id) {
        return Err(InstanceError::Invalid("appId"));
    }
    Ok((id, proof))
}

fn required<'a>(name: &'static str, value: &'a str) -> Result<&'a str, InstanceError> {
    if value.trim().is_empty() { Err(InstanceError::Required(name)) } else { Ok(value.trim()) }
}

fn check_counts(others: InstanceCounts) -> Result<(), InstanceError> {
    let is_full = others.of_app >= INSTANCES_OF_APP_MAX || others.of_visitor >= INSTANCES_OF_VISITOR_MAX || others.total >= INSTANCES_MAX;
    if is_full { Err(InstanceError::TooMany) } else { Ok(()) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_more_instance_is_refused_when_a_limit_is_reached() {
        let below = InstanceCounts { of_app: INSTANCES_OF_APP_MAX - 1, of_visitor: INSTANCES_OF_VISITOR_MAX - 1, total: INSTANCES_MAX - 1 };
        check_counts(below).expect("there is room for one");
        for full in [
            InstanceCounts { of_app: INSTANCES_OF_APP_MAX, ..below },
            InstanceCounts { of_visitor: INSTANCES_OF_VISITOR_MAX, ..below },
            InstanceCounts { total: INSTANCES_MAX, ..below },
        ] {
            assert!(matches!(check_counts(full), Err(InstanceError::TooMany)), "{full:?}");
        }
    }
}
