use souk_domain::access::Did;
use souk_domain::shared::StorageError;
use souk_domain::storage::UnitOfWork;
use std::collections::BTreeMap;

/// The names that users have now. Those whom the store does not know are not in the map.
pub async fn names_of(unit: &mut dyn UnitOfWork, mut dids: Vec<Did>) -> Result<BTreeMap<Did, String>, StorageError> {
    dids.sort();
    dids.dedup();
    let users = unit.users().find_all(&dids).await?;
    Ok(users.into_iter().map(|user| (user.did, user.full_name)).collect())
}
