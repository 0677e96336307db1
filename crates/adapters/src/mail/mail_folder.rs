//! The folder of emails that are not sent. Strangers can fill it in test mode, so it keeps a limited number of emails for a limited time.

use crate::files::write_atomic;
use souk_domain::shared::Timestamp;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, SystemTime};

/// How many days an email is kept, as long as an order that nobody submits.
const KEPT_FOR: Duration = Duration::from_secs(30 * 24 * 3_600);
/// How much is kept; beyond it the oldest emails go first.
const FILES_MAX: usize = 5_000;
const BYTES_MAX: u64 = 256 << 20;
/// The folder is pruned after this many emails, besides at regular times: it never has many more than [`FILES_MAX`].
const PRUNED_AFTER: u32 = 200;

#[derive(Clone)]
pub(super) struct MailFolder {
    path: PathBuf,
    written: Arc<AtomicU32>,
}

/// What a folder keeps.
#[derive(Clone, Copy)]
struct Kept {
    /// `None`: emails of any age.
    since: Option<SystemTime>,
    files: usize,
    bytes: u64,
}

/// An email in the folder.
struct Stored {
    modified: SystemTime,
    path: PathBuf,
    bytes: u64,
}

impl MailFolder {
    pub fn new(path: PathBuf) -> Self {
        Self { path, written: Arc::default() }
    }

    pub async fn write(&self, name: &str, bytes: &[u8]) -> io::Result<()> {
        write_atomic(&self.path, name, bytes).await?;
        if self.written.fetch_add(1, Ordering::Relaxed) % PRUNED_AFTER == PRUNED_AFTER - 1 {
            self.prune_to(Kept { since: None, files: FILES_MAX, bytes: BYTES_MAX }).await?;
        }
        Ok(())
    }

    /// Deletes old emails, and the oldest ones beyond the limits. Returns their number.
    pub async fn prune(&self, now: Timestamp) -> io::Result<u64> {
        let now = SystemTime::UNIX_EPOCH + Duration::from_micros(now.micros().unsigned_abs());
        self.prune_to(Kept { since: now.checked_sub(KEPT_FOR), files: FILES_MAX, bytes: BYTES_MAX }).await
    }

    async fn prune_to(&self, kept: Kept) -> io::Result<u64> {
        let path = self.path.clone();
        tokio::task::spawn_blocking(move || prune(&path, kept)).await.map_err(io::Error::other)?
    }
}

fn prune(folder: &Path, kept: Kept) -> io::Result<u64> {
    let entries = match std::fs::read_dir(folder) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(0),
        entries => entries?,
    };
    let mut stored = Vec::new();
    for entry in entries {
        let path = entry?.path();
        // Another process may delete it at the same time.
        let Ok(facts) = std::fs::metadata(&path) else { continue };
        if path.extension().is_some_and(|extension| extension == "eml") && facts.is_file() {
            stored.push(Stored { modified: facts.modified()?, bytes: facts.len(), path });
        }
    }
    stored.sort_by(|a, b| (b.modified, &b.path).cmp(&(a.modified, &a.path)));
    let (mut files, mut bytes, mut deleted) = (0, 0, 0);
    for mail in stored {
        files += 1;
        bytes += mail.bytes;
        let is_old = kept.since.is_some_and(|since| mail.modified < since);
        if !is_old && files <= kept.files && bytes <= kept.bytes {
            continue;
        }
        match std::fs::remove_file(&mail.path) {
            Ok(()) => deleted += 1,
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(error) => return Err(error),
        }
    }
    Ok(deleted)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs::File;

    /// A folder with an email of 10 bytes for each age in days, and the time by which they have these ages.
    fn folder(ages: &[u64]) -> (tempfile::TempDir, Timestamp) {
        let (folder, now) = (tempfile::tempdir().expect("a folder"), Timestamp::from_seconds(2_000_000_000));
        for age in ages {
            let path = folder.path().join(format!("{age}.eml"));
            std::fs::write(&path, [0; 10]).expect("writes");
            let written = SystemTime::UNIX_EPOCH + Duration::from_secs(2_000_000_000 - age * 24 * 3_600);
            File::options().write(true).open(&path).and_then(|file| file.set_modified(written)).expect("sets");
        }
        (folder, now)
    }

    fn names(folder: &Path) -> Vec<String> {
        let entries = std::fs::read_dir(folder).expect("reads").map(|entry| entry.expect("an entry").file_name());
        let mut names: Vec<_> = entries.map(|name| name.into_string().expect("text")).collect();
        names.sort();
        names
    }

    #[tokio::test]
    async fn emails_older_than_thirty_days_are_deleted_and_other_files_are_not() {
        let (folder, now) = folder(&[1, 29, 31, 400]);
        std::fs::write(folder.path().join("notes.txt"), "kept").expect("writes");
        let mails = MailFolder::new(folder.path().to_owned());
        assert_eq!(mails.prune(now).await.expect("prunes"), 2);
        assert_eq!(names(folder.path()), ["1.eml", "29.eml", "notes.txt"]);
        assert_eq!(MailFolder::new(folder.path().join("none")).prune(now).await.expect("prunes"), 0, "there is no folder yet");
    }

    #[test]
    fn beyond_the_number_or_the_bytes_the_oldest_emails_go_first() {
        let (folder, _) = folder(&[1, 2, 3, 4, 5]);
        assert_eq!(prune(folder.path(), Kept { since: None, files: 4, bytes: u64::MAX }).expect("prunes"), 1);
        assert_eq!(names(folder.path()), ["1.eml", "2.eml", "3.eml", "4.eml"]);
        assert_eq!(prune(folder.path(), Kept { since: None, files: 9, bytes: 25 }).expect("prunes"), 2);
        assert_eq!(names(folder.path()), ["1.eml", "2.eml"]);
    }

    #[tokio::test]
    async fn a_flood_of_emails_does_not_wait_for_the_next_regular_time() {
        let (folder, _) = folder(&[]);
        let mails = MailFolder::new(folder.path().to_owned());
        for number in 0..FILES_MAX + 50 {
            std::fs::write(folder.path().join(format!("{number:05}.eml")), "").expect("writes");
        }
        for number in 0..PRUNED_AFTER {
            mails.write(&format!("new{number}.eml"), b"mail").await.expect("writes");
        }
        assert_eq!(names(folder.path()).len(), FILES_MAX);
    }
}
