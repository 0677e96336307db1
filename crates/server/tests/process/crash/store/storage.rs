//! The files of a store on its disk, compared with the rows that refer to them.

use crate::audit::rows;
use serde_json::Value;
use souk_adapters::persistence::{Database, Row};
use souk_adapters::testing::RunningClock;
use souk_domain::publishing::bundle::ORPHAN_AGE;
use souk_domain::shared::Clock;
use std::collections::BTreeSet;
use std::fs::File;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant, SystemTime};

/// A process sweeps when it starts, and then every ten minutes.
const SWEPT: Duration = Duration::from_secs(60);
const POLL: Duration = Duration::from_millis(50);
/// Longer than the sweeper leaves a file to an upload in progress.
const AGE: Duration = ORPHAN_AGE.saturating_mul(2);

/// Without UNION, which would compare columns of different collations.
const REFERENCES: [&str; 5] = [
    "SELECT document AS sha256 FROM uploaded_versions",
    "SELECT bundle AS sha256 FROM uploaded_versions",
    "SELECT sha256 FROM version_files",
    "SELECT sha256 FROM app_versions",
    "SELECT logo AS sha256 FROM apps",
];

/// The data folder and the database of a store.
pub struct Storage<'s> {
    data: &'s Path,
    database: Database,
}

impl<'s> Storage<'s> {
    pub async fn open(data: &'s Path, address: &str) -> Self {
        Self { data, database: Database::open(address).await.expect("opens") }
    }

    pub async fn close(self) {
        self.database.close().await;
    }

    /// The hashes that rows refer to.
    async fn references(&self) -> BTreeSet<String> {
        let text = |row: &Row| row.get::<String>("sha256").expect("a text");
        let mut found = BTreeSet::new();
        for sql in REFERENCES {
            found.extend(rows(&self.database, sql).await.iter().map(text));
        }
        for row in rows(&self.database, "SELECT screenshots FROM apps").await {
            let screenshots: Value = row.get("screenshots").expect("a list");
            found.extend(screenshots.as_array().into_iter().flatten().filter_map(|one| one["file"].as_str().map(ToOwned::to_owned)));
        }
        found
    }

    /// The files that no row refers to: stored ones, those that were being written, and uploads in progress.
    pub async fn orphans(&self) -> Vec<PathBuf> {
        let references = self.references().await;
        let mut orphans = files_below(&self.data.join("files"));
        orphans.retain(|file| !is_referred_to(file, &references));
        orphans.extend(files_below(&self.data.join("uploads")));
        orphans
    }

    /// Lets the time pass after which the sweeper deletes files without a row, and returns those files. No process runs meanwhile.
    pub async fn age(&self) -> Vec<PathBuf> {
        let before = RunningClock.now().minus(AGE);
        let mut connection = self.database.begin().await.expect("begins");
        let update = "UPDATE stored_files SET claimed_at = $1 WHERE claimed_at > $1";
        connection.query(update).bind(before).execute().await.expect("writes");
        connection.commit().await.expect("commits");
        let changed = SystemTime::UNIX_EPOCH + Duration::from_micros(u64::try_from(before.micros()).expect("a time after 1970"));
        let orphans = self.orphans().await;
        for orphan in &orphans {
            let dated = File::options().write(true).open(orphan).and_then(|file| file.set_modified(changed));
            dated.unwrap_or_else(|error| panic!("{}: {error}", orphan.display()));
        }
        orphans
    }

    /// Waits until the sweeper has deleted files, and returns those that it leaves.
    pub async fn unswept(&self, orphans: &[PathBuf]) -> Vec<String> {
        let begun = Instant::now();
        loop {
            // A transaction that was being committed when its process died can give an orphan its row.
            let references = self.references().await;
            let there = |file: &&PathBuf| file.exists() && !is_referred_to(file, &references);
            let mut left: Vec<_> = orphans.iter().filter(there).map(|file| format!("{} was not swept", file.display())).collect();
            let marked = rows(&self.database, "SELECT sha256 FROM stored_files WHERE is_deleting").await;
            left.extend(marked.iter().map(|row| format!("the deletion of {} has not ended", row.get::<String>("sha256").expect("a text"))));
            if left.is_empty() || begun.elapsed() > SWEPT {
                return left;
            }
            tokio::time::sleep(POLL).await;
        }
    }

    /// What is wrong with the stored files: one that a row refers to is absent, or one does not have its size.
    pub async fn wrong(&self) -> Vec<String> {
        let files = self.data.join("files");
        let is_absent = |hash: &String| !path_of(&files, hash).exists();
        let mut wrong: Vec<_> =
            self.references().await.into_iter().filter(is_absent).map(|hash| format!("the file {hash} is missing")).collect();
        for row in rows(&self.database, "SELECT sha256, size FROM stored_files").await {
            let (hash, size): (String, u64) = (row.get("sha256").expect("a text"), row.get("size").expect("a number"));
            let found = path_of(&files, &hash).metadata().map(|metadata| metadata.len());
            if found.is_ok_and(|found| found != size) {
                wrong.push(format!("the file {hash} does not have its {size} bytes"));
            }
        }
        wrong
    }
}

/// Where a file is stored.
fn path_of(files: &Path, hash: &str) -> PathBuf {
    files.join(&hash[..2]).join(hash)
}

fn is_referred_to(file: &Path, references: &BTreeSet<String>) -> bool {
    file.file_name().is_some_and(|name| references.contains(&*name.to_string_lossy()))
}

fn files_below(folder: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.path());
    entries.flat_map(|path| if path.is_dir() { files_below(&path) } else { vec![path] }).collect()
}
