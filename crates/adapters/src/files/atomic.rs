//! Files that are whole or absent.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use tokio::fs::{self, File};
use tokio::io::AsyncWriteExt;

/// Tells apart the writers of one process; the process id tells apart processes that share a folder.
static WRITERS: AtomicU64 = AtomicU64::new(0);

/// Writes `bytes` to `folder/name` so that a reader, or a crash at any moment, finds either nothing or the whole file, and
/// that it is still there after a power cut. Takes the place of a file of that name. Creates the folder.
pub(crate) async fn write_whole(folder: &Path, name: &str, bytes: &[u8]) -> io::Result<()> {
    fs::create_dir_all(folder).await?;
    let temp_file = folder.join(format!(".{name}.{}.{}", std::process::id(), WRITERS.fetch_add(1, Ordering::Relaxed)));
    let written = write_and_rename(&temp_file, &folder.join(name), bytes).await;
    if written.is_err() {
        // What matters is the first failure; a temp_file file left behind is hidden and harmless.
        let _ = fs::remove_file(&temp_file).await;
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
