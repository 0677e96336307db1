//! The store's secret seed, the keys derived from it for each purpose, and its replacement.
//!
//! | purpose | after a rotation |
//! |---|---|
//! | `methods`: encrypts secrets in the database | all secrets are encrypted again |
//! | `pages`: signs links in emails | links in earlier emails end |
//! | `app`: the account and DID of the store, and the sandbox's keys | stays, encrypted in the database |

use crate::commands::audit_entry;
use crate::config::{Common, SecretSeed, parse_secret};
use hmac::{Hmac, KeyInit, Mac};
use sha2::Sha256;
use souk_adapters::persistence::{Database, KeyFit, SecretBox, claim_key, key_fit, rotate_key, stored_identity};
use souk_adapters::system::SystemRandom;
use souk_domain::access::Operation;
use souk_domain::shared::{Random, StorageError};
use std::fs::{self, File};
use std::io::{self, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

/// The name of the file with the seed.
const KEY_FILE: &str = "secret.key";
/// The seed that a rotation has written before the database is encrypted with it. It replaces the other file afterwards, or at the next
/// start.
const NEXT_KEY_FILE: &str = "secret.key.next";

/// The keys of an open store.
#[derive(Debug, Clone)]
pub struct StoreKeys {
    pub seed: SecretSeed,
    /// The key of the store's account and DID. It does not change when the seed does.
    pub identity: SecretSeed,
}

/// Derives the key of one purpose. Purposes do not share keys, and a key does not reveal the seed.
#[must_use]
pub fn derive(seed: &SecretSeed, purpose: &str) -> [u8; 32] {
    let mut mac = Hmac::<Sha256>::new_from_slice(&seed.0).unwrap_or_else(|_| unreachable!("HMAC takes keys of any length"));
    mac.update(b"souk:");
    mac.update(purpose.as_bytes());
    mac.finalize().into_bytes().into()
}

/// What encrypts secrets in the database.
#[must_use]
pub fn secret_box(seed: &SecretSeed) -> SecretBox {
    SecretBox::new(&derive(seed, "methods"))
}

/// The configured seed, or the one in the data folder, which is created with mode 600 on the first start (`may_create`).
///
/// # Errors
/// The seed is missing and must not be created, because the store that it belongs to exists.
pub fn seed(common: &Common, may_create: bool) -> Result<SecretSeed, String> {
    if let Some(seed) = &common.secret_key {
        return Ok(seed.clone());
    }
    let path = common.data.join(KEY_FILE);
    if !path.exists() {
        if !may_create {
            let path = path.display();
            return Err(format!("the store's key {path} is missing: restore it, or set SOUK_SECRET_KEY. Stored secrets need this key"));
        }
        write_new(&path, &new_seed()).map_err(described(&path))?;
    }
    read(&path)
}

fn new_seed() -> SecretSeed {
    let mut seed = [0; 32];
    SystemRandom.fill(&mut seed);
    SecretSeed(seed)
}

fn read(path: &Path) -> Result<SecretSeed, String> {
    let text = fs::read_to_string(path).map_err(described(path))?;
    parse_secret(&text).map_err(|expected| format!("{}: {expected}", path.display()))
}

fn described(path: &Path) -> impl FnOnce(io::Error) -> String {
    let path = path.display().to_string();
    move |error| format!("{path}: {error}")
}

/// Where the seed comes from, for messages.
fn place(common: &Common) -> String {
    match &common.secret_key {
        Some(_) => "SOUK_SECRET_KEY".to_owned(),
        None => common.data.join(KEY_FILE).display().to_string(),
    }
}

/// Checks that the database was encrypted with this seed, and completes a rotation that was interrupted.
///
/// # Errors
/// The database belongs to another key.
pub async fn open(common: &Common, database: &Database, seed: SecretSeed) -> Result<StoreKeys, String> {
    let failed = |error: StorageError| error.to_string();
    let next = common.data.join(NEXT_KEY_FILE);
    let seed = match key_fit(database, &secret_box(&seed)).await.map_err(failed)? {
        KeyFit::Fits | KeyFit::Unused => seed,
        KeyFit::Differs => {
            let rotated = if common.secret_key.is_none() && next.exists() { Some(read(&next)?) } else { None };
            match rotated {
                Some(rotated) if key_fit(database, &secret_box(&rotated)).await.map_err(failed)? == KeyFit::Fits => {
                    replace(&next, &common.data.join(KEY_FILE))?;
                    rotated
                }
                _ => {
                    let place = place(common);
                    return Err(format!("{place} is not the key of this store's database: stored secrets were encrypted with another key"));
                }
            }
        }
    };
    let identity = match stored_identity(database, &secret_box(&seed)).await.map_err(failed)? {
        Some(text) => parse_secret(&text).map_err(|_| "the stored identity of the store cannot be read")?,
        None => SecretSeed(derive(&seed, "app")),
    };
    Ok(StoreKeys { seed, identity })
}

/// As [`open`], for a migrated database: the first seed becomes the one of the database.
pub async fn claim(common: &Common, database: &Database, seed: SecretSeed) -> Result<StoreKeys, String> {
    let failed = |error: StorageError| error.to_string();
    if key_fit(database, &secret_box(&seed)).await.map_err(failed)? == KeyFit::Unused {
        claim_key(database, &secret_box(&seed)).await.map_err(failed)?;
    }
    open(common, database, seed).await
}

/// Encrypts the database with another seed, which becomes that of the store. Safe to interrupt: the new seed is on the disk before the
/// database is encrypted with it, and the next start finds out which of the two fits. Returns the number of secrets.
///
/// # Errors
/// The seed is configured, so that the new one has to be as well, and `new` does not name it.
pub async fn rotate(common: &Common, database: &Database, keys: &StoreKeys, new: Option<SecretSeed>) -> Result<u64, String> {
    let is_configured = common.secret_key.is_some();
    let new = match new {
        Some(new) => new,
        None if is_configured => {
            return Err("the key is configured with SOUK_SECRET_KEY: name a file with the new key with --new-key-file".to_owned());
        }
        None => new_seed(),
    };
    let (path, next) = (common.data.join(KEY_FILE), common.data.join(NEXT_KEY_FILE));
    if !is_configured {
        // Left behind by a rotation that did not reach the database.
        if next.exists() {
            fs::remove_file(&next).map_err(described(&next))?;
        }
        write_new(&next, &new).map_err(described(&next))?;
    }
    let (from, to) = (secret_box(&keys.seed), secret_box(&new));
    let count = rotate_key(database, &from, &to, &keys.identity.to_hex(), &audit_entry(Operation::RotateKey, Vec::new()))
        .await
        .map_err(|error| error.to_string())?;
    if !is_configured {
        replace(&next, &path)?;
    }
    Ok(count)
}

fn replace(next: &Path, path: &Path) -> Result<(), String> {
    fs::rename(next, path).map_err(described(path))?;
    sync_folder(path).map_err(described(path))
}

fn sync_folder(path: &Path) -> io::Result<()> {
    path.parent().map_or(Ok(()), |folder| File::open(folder)?.sync_all())
}

/// Whether the key of a backup can become the key of this store.
///
/// # Errors
/// The store has another key already, in its folder or by its configuration.
pub fn check_restored(common: &Common, restored: &SecretSeed) -> Result<(), String> {
    let path = common.data.join(KEY_FILE);
    let known = match &common.secret_key {
        Some(seed) => seed.clone(),
        None if path.exists() => read(&path)?,
        None => return Ok(()),
    };
    match known == *restored {
        true => Ok(()),
        false => Err(format!("{} is another key than that of the backup: move it away, or restore into another folder", place(common))),
    }
}

/// Writes the key of a backup into the folder, unless it is there or configured already.
pub fn restore(common: &Common, restored: &SecretSeed) -> Result<(), String> {
    check_restored(common, restored)?;
    let path = common.data.join(KEY_FILE);
    if common.secret_key.is_some() || path.exists() {
        return Ok(());
    }
    write_new(&path, restored).map_err(described(&path))?;
    check_restored(common, restored)
}

/// Writes a seed to a temporary file and links it to `path` unless that exists by now, so that readers see a complete file or none, even
/// after a crash.
fn write_new(path: &Path, seed: &SecretSeed) -> io::Result<()> {
    let mut name = [0; 8];
    SystemRandom.fill(&mut name);
    let name: String = name.iter().map(|byte| format!("{byte:02x}")).collect();
    let mut draft = path.as_os_str().to_owned();
    draft.push(format!(".{name}"));
    let draft = PathBuf::from(draft);
    let mut file = fs::OpenOptions::new().write(true).create_new(true).mode(0o600).open(&draft)?;
    file.write_all(seed.to_hex().as_bytes()).and_then(|()| file.sync_all())?;
    let linked = fs::hard_link(&draft, path);
    fs::remove_file(&draft)?;
    match linked {
        Err(error) if error.kind() != io::ErrorKind::AlreadyExists => Err(error),
        _ => sync_folder(path),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_purpose_has_its_own_key() {
        let seed = SecretSeed([1; 32]);
        assert_eq!(derive(&seed, "a"), derive(&seed, "a"));
        assert_ne!(derive(&seed, "a"), derive(&seed, "b"));
        assert_ne!(derive(&seed, "a"), derive(&SecretSeed([2; 32]), "a"));
    }
}
