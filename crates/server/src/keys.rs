//! The store's secret: one seed, and a key of its own for each use.

use crate::config::{Common, SecretSeed, parse_secret};
use hmac::{Hmac, KeyInit, Mac};
use sha2::Sha256;
use souk_adapters::system::SystemRandom;
use souk_domain::shared::Random;
use std::io::Write;
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

/// A key derived for one use; uses do not share keys, and none tells the seed.
#[must_use]
pub fn derive(seed: &SecretSeed, purpose: &str) -> [u8; 32] {
    let mut mac = Hmac::<Sha256>::new_from_slice(&seed.0).unwrap_or_else(|_| unreachable!("HMAC takes keys of any length"));
    mac.update(b"souk:");
    mac.update(purpose.as_bytes());
    mac.finalize().into_bytes().into()
}

/// The configured seed, else the one in the data folder, created there on the first start with mode 600.
pub fn seed(common: &Common) -> Result<SecretSeed, String> {
    if let Some(seed) = &common.secret_key {
        return Ok(seed.clone());
    }
    let path = common.data.join("secret.key");
    if !path.exists() {
        create(&path).map_err(|error| format!("{}: {error}", path.display()))?;
    }
    let text = std::fs::read_to_string(&path).map_err(|error| format!("{}: {error}", path.display()))?;
    parse_secret(&text).map_err(|expected| format!("{}: {expected}", path.display()))
}

/// Writes a new seed beside `path`, then names it `path` unless there is one by now: whoever reads the file, also after a
/// crash in the middle, finds all of it or none.
fn create(path: &Path) -> std::io::Result<()> {
    let (mut seed, mut name) = ([0; 32], [0; 8]);
    SystemRandom.fill(&mut seed);
    SystemRandom.fill(&mut name);
    let draft = path.with_extension(format!("key.{}", hex(&name)));
    let mut file = std::fs::OpenOptions::new().write(true).create_new(true).mode(0o600).open(&draft)?;
    file.write_all(hex(&seed).as_bytes()).and_then(|()| file.sync_all())?;
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
    fn each_use_has_a_key_of_its_own() {
        let seed = SecretSeed([1; 32]);
        assert_eq!(derive(&seed, "a"), derive(&seed, "a"));
        assert_ne!(derive(&seed, "a"), derive(&seed, "b"));
        assert_ne!(derive(&seed, "a"), derive(&SecretSeed([2; 32]), "a"));
    }
}
