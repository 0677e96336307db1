//! Deletes files that nothing refers to: those of uploads that were refused after their files were stored or whose process died, and the
//! pictures that users have replaced or removed.

use super::ports::Spool;
use crate::context::Context;
use crate::shared::StorageError;
use crate::store::Files;
use std::time::Duration;

/// How long a file that nothing refers to is kept. An upload takes less.
pub const ORPHAN_AGE: Duration = Duration::from_secs(3_600);
/// Files per unit of work.
const CHUNK: u32 = 100;

/// Deletes orphaned files. Returns their number.
///
/// A file is marked before it is deleted. From then on no upload relies on it, and a sweep that was interrupted is continued.
///
/// # Errors
/// The storage fails. What was deleted before stays deleted.
pub async fn sweep_files(ctx: &Context, files: &dyn Files, spool: &dyn Spool) -> Result<u64, StorageError> {
    let before = ctx.now().minus(ORPHAN_AGE);
    let mut count = spool.remove_old(before).await?;
    loop {
        let mut unit = ctx.store.begin().await?;
        let orphans = unit.uploads().take_orphans(before, CHUNK).await?;
        unit.commit().await?;
        for sha256 in &orphans {
            files.delete(sha256).await?;
        }
        if !orphans.is_empty() {
            let mut unit = ctx.store.begin().await?;
            unit.uploads().forget_files(&orphans).await?;
            unit.commit().await?;
        }
        count += orphans.len() as u64;
        if orphans.len() < CHUNK as usize {
            return Ok(count);
        }
    }
}
