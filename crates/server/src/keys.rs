//! The store's secret: one seed, and a key of its own for each use.

use crate::config::{Common, SecretSeed, parse_secret};
use hmac::{Hmac, KeyInit, Mac};
use sha2::Sha256;
use souk_adapters::system::SystemRandom;
use souk_domain::shared::Random;
use std::io::Write;
use std::os::unix::fs::OpenOptionsExt;

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
    let mut seed = [0; 32];
    SystemRandom.fill(&mut seed);
    // Of two processes that start together, one creates the file and both read it.
    match std::fs::OpenOptions::new().write(true).create_new(true).mode(0o600).open(&path) {
        Ok(mut file) => {
            let text: String = seed.iter().map(|byte| format!("{byte:02x}")).collect();
            file.write_all(text.as_bytes()).and_then(|()| file.sync_all()).map_err(|error| format!("{}: {error}", path.display()))?;
        }
        Err(error) if error.kind() == std::io::ErrorKind::AlreadyExists => {}
        Err(error) => return Err(format!("{}: {error}", path.display())),
    }
    let text = std::fs::read_to_string(&path).map_err(|error| format!("{}: {error}", path.display()))?;
    parse_secret(&text).map_err(|expected| format!("{}: {expected}", path.display()))
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
