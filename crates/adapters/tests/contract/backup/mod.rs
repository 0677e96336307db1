//! Backups of a store and their restore: on all four pairs of databases, and of archives that are not what they should be.

mod archives;
mod pairs;
mod rows;

use sha2::{Digest, Sha256};
use souk_adapters::backup::{BackupError, Inspected, MissingFiles, Passphrase, RestoreTarget, Source, Summary, inspect, take};
use souk_adapters::persistence::Database;
use souk_domain::shared::Timestamp;
use std::path::Path;

const KEY: &str = "5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a";

fn passphrase(text: &str) -> Option<Passphrase> {
    Some(Passphrase::parse(text).expect("a passphrase"))
}

/// Backs up a database and the files in the folder `files` beside the archive.
async fn back_up(database: &Database, archive: &Path, passphrase: Option<Passphrase>) -> Result<Summary, BackupError> {
    back_up_with(database, archive, passphrase, MissingFiles::Refuse).await
}

async fn back_up_with(
    database: &Database,
    archive: &Path,
    passphrase: Option<Passphrase>,
    missing_files: MissingFiles,
) -> Result<Summary, BackupError> {
    let source = Source {
        database,
        sandbox: None,
        files: archive.with_file_name("files"),
        bucket: None,
        key: KEY.to_owned(),
        store: "zNKstore".to_owned(),
        now: Timestamp::from_seconds(1_800_000_000),
        missing_files,
    };
    take(&source, archive, passphrase).await
}

/// Stores the file that the versions of [`rows::Schema`] name, in the folder `files` beside the archive. Returns its hash.
fn store_bundle(archive: &Path) -> String {
    let hash = hex::encode(Sha256::digest(rows::BUNDLE));
    let folder = archive.with_file_name("files").join(&hash[..2]);
    std::fs::create_dir_all(&folder).expect("a folder");
    std::fs::write(folder.join(&hash), rows::BUNDLE).expect("writes");
    hash
}

async fn restore(inspected: &Inspected, database: &Database, files: &Path) -> Result<(), BackupError> {
    let target = RestoreTarget { database, sandbox: None, files: files.to_owned(), bucket: None };
    inspected.restore(&target, async |_: &mut _| Ok(())).await
}

/// The error of an inspection that must fail.
async fn refused(archive: &Path, passphrase: Option<Passphrase>) -> BackupError {
    match inspect(archive, passphrase).await {
        Ok(_) => panic!("{} was accepted", archive.display()),
        Err(error) => error,
    }
}
