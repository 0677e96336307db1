//! Developers who sign with the key of their own account.

use super::ports::{Signer, Signers, UploadSubject};
use crate::access::Role;
use crate::shared::{StorageError, Timestamp};
use crate::storage::UnitOfWork;
use async_trait::async_trait;

/// Knows the accounts of developers: those with a valid passport of a developer. Other passports do not allow publishing.
#[derive(Debug, Clone, Copy, Default)]
pub struct PassportSigners;

#[async_trait]
impl Signers for PassportSigners {
    async fn find(&self, unit: &mut dyn UnitOfWork, subject: &UploadSubject<'_>, _: Timestamp) -> Result<Signer, StorageError> {
        let passports = unit.users().passports(subject.signer).await?;
        let is_developer = passports.iter().any(|passport| passport.role == Role::Developer);
        Ok(if is_developer { Signer::Developer(subject.signer.clone()) } else { Signer::Unknown })
    }
}
