//! The store's secret seed, and the keys derived from it for each purpose.

use crate::config::{Common, SecretSeed, parse_secret};
use hmac::{Hmac, KeyInit, Mac};
use sha2::Sha256;
use souk_adapters::system::SystemRandom;
use souk_domain::shared::Random;
use std::io::Write;
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

/// Derives the key of one purpose. Purposes do not share keys, and a key does not reveal the seed.
#[must_use]
pub fn derive(seed: &SecretSeed, purpose: &str) -> [u8; 32] {
    let mut mac = Hmac::<Sha256>::new_from_slice(&seed.0).unwrap_or_else(|_| unreachable!("HMAC takes keys of any length"));
    mac.update(b"souk:");
    mac.update(purpose.as_bytes());
    mac.finalize().into_bytes().into()
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
        create(&path).map_err(|error| format!("{}: {error}", path.display()))?;
    }
    let text = std::fs::read_to_string(&path).map_err(|error| format!("{}: {error}", path.display()))?;
    parse_secret(&text).map_err(|expected| format!("{}: {expected}", path.display()))
}

/// The name of the file with the seed.
pub const KEY_FILE: &str = "secret.key";

/// Whether the key of a backup can become the key of this store.
///
/// # Errors
/// The store has another key already, in its folder or by its configuration.
pub fn check_restored(common: &Common, restored: &SecretSeed) -> Result<(), String> {
    let path = common.data.join(KEY_FILE);
    let (place, known) = match &common.secret_key {
        Some(seed) => ("SOUK_SECRET_KEY".to_owned(), seed.clone()),
        None if path.exists() => (path.display().to_string(), seed(common, false)?),
        None => return Ok(()),
    };
    match known == *restored {
        true => Ok(()),
        false => Err(format!("{place} is another key than that of the backup: move it away, or restore into another folder")),
    }
}

/// Writes the key of a backup into the folder, unless it is there or configured already.
pub fn restore(common: &Common, restored: &SecretSeed) -> Result<(), String> {
    check_restored(common, restored)?;
    let path = common.data.join(KEY_FILE);
    if common.secret_key.is_some() || path.exists() {
        return Ok(());
    }
    write_new(&path, restored).map_err(|error| format!("{}: {error}", path.display()))?;
    check_restored(common, restored)
}

/// Writes a new seed to a temporary file and links it to `path` unless that exists by now, so that readers see a complete file or
/// none, even after a crash.
fn create(path: &Path) -> std::io::Result<()> {
    let mut seed = [0; 32];
    SystemRandom.fill(&mut seed);
    write_new(path, &SecretSeed(seed))
}

fn write_new(path: &Path, seed: &SecretSeed) -> std::io::Result<()> {
    let mut name = [0; 8];
    SystemRandom.fill(&mut name);
    let draft = path.with_extension(format!("key.{}", hex(&name)));
    let mut file = std::fs::OpenOptions::new().write(true).create_new(true).mode(0o600).open(&draft)?;
    file.write_all(seed.to_hex().as_bytes()).and_then(|()| file.sync_all())?;
    let linked = std::fs::hard_link(&draft, path);
    std::fs::remove_file(&draft)?;
    match linked {
        Err(error) if error.kind() != std::io::ErrorKind::AlreadyExists => Err(error),
        _ => Ok(()),
    }
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
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
