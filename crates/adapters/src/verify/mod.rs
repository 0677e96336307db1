//! Whether a whole database is right: the invariants of docs/ARCHITECTURE.md, counted. Nothing is written.

mod attempts;
mod catalogue;
mod check;
mod credit;
mod invoices;
mod journal;
mod numbers;
mod periods;
mod references;
mod rule;
mod subscriptions;
mod worth;

pub use check::Check;

use crate::persistence::Database;
use check::Checks;
use souk_domain::shared::StorageError;

/// Reads one state of the database, page by page, and tells each check as soon as it is made.
pub async fn verify(database: &Database, tell: &mut (dyn FnMut(Check) + Send)) -> Result<(), StorageError> {
    let mut checks = Checks { session: database.snapshot().await?, tell };
    journal::check(&mut checks).await?;
    attempts::check(&mut checks).await?;
    invoices::check(&mut checks).await?;
    credit::check(&mut checks).await?;
    worth::check(&mut checks).await?;
    periods::check(&mut checks).await?;
    numbers::check(&mut checks).await?;
    subscriptions::check(&mut checks).await?;
    catalogue::check(&mut checks).await?;
    references::check(&mut checks).await
}
