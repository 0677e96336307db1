//! Atomic file writes.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use tokio::fs::{self, File};
use tokio::io::AsyncWriteExt;

/// Numbers the temporary files of this process. The process id distinguishes processes that share a folder.
static WRITERS: AtomicU64 = AtomicU64::new(0);

/// Writes `bytes` to `folder/name` atomically and durably: after a crash at any moment the new file is complete or absent, and once this
/// returns, it survives a power failure. Replaces an existing file of that name. Creates the folder.
pub(crate) async fn write_atomic(folder: &Path, name: &str, bytes: &[u8]) -> io::Result<()> {
    fs::create_dir_all(folder).await?;
    let temp_file = folder.join(format!(".{name}.{}.{}", std::process::id(), WRITERS.fetch_add(1, Ordering::Relaxed)));
    let written = write_and_rename(&temp_file, &folder.join(name), bytes).await;
    if written.is_err()
        && let Err(error) = fs::remove_file(&temp_file).await
    {
        // The caller gets the first error. A remaining temporary file is hidden and harmless.
        tracing::debug!(%error, "a temporary file was not removed");
    }
    written?;
    File::open(folder).await?.sync_all().await
}

async fn write_and_rename(temp_file: &PathBuf, target: &PathBuf, bytes: &[u8]) -> io::Result<()> {
    let mut file = File::create(temp_file).await?;
    file.write_all(bytes).await?;
    file.sync_all().await?;
    fs::rename(temp_file, target).await
}
