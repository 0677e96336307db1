//! Checks a whole database against the invariants of docs/ARCHITECTURE.md and the guards of the billing model. Read-only.

mod attempts;
mod balances;
mod catalogue;
mod check;
mod credit_notes;
mod deposits;
mod invoices;
mod journal;
mod numbers;
mod periods;
mod publications;
mod references;
mod refunds;
mod rule;
mod sale_shares;
mod subscriptions;
mod sum;
mod tables;

pub use check::Check;

use crate::persistence::Database;
use check::Checks;
use souk_domain::shared::StorageError;

/// Reads one snapshot of the database page by page, and reports each check as soon as it is done.
pub async fn verify(database: &Database, report: &mut (dyn FnMut(Check) + Send)) -> Result<(), StorageError> {
    let mut checks = Checks { connection: database.snapshot().await?, receiver: report };
    journal::check(&mut checks).await?;
    attempts::check(&mut checks).await?;
    invoices::check(&mut checks).await?;
    credit_notes::check(&mut checks).await?;
    sale_shares::check(&mut checks).await?;
    balances::check(&mut checks).await?;
    refunds::check(&mut checks).await?;
    periods::check(&mut checks).await?;
    numbers::check(&mut checks).await?;
    subscriptions::check(&mut checks).await?;
    deposits::check(&mut checks).await?;
    catalogue::check(&mut checks).await?;
    publications::check(&mut checks).await?;
    references::check(&mut checks).await
}
