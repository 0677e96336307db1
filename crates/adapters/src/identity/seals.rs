//! Message authentication codes by HMAC-SHA-256.

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use hmac::{Hmac, KeyInit, Mac};
use sha2::Sha256;
use souk_domain::access::MacSigner;

/// [`MacSigner`] that uses HMAC-SHA-256.
pub struct HmacSeals(Hmac<Sha256>);

impl HmacSeals {
    #[must_use]
    pub fn new(key: &[u8; 32]) -> Self {
        Self(Hmac::new_from_slice(key).unwrap_or_else(|_| unreachable!("HMAC takes keys of any length")))
    }

    fn mac_of(&self, text: &str) -> Hmac<Sha256> {
        let mut mac = self.0.clone();
        mac.update(text.as_bytes());
        mac
    }
}

impl MacSigner for HmacSeals {
    fn seal(&self, text: &str) -> String {
        URL_SAFE_NO_PAD.encode(self.mac_of(text).finalize().into_bytes())
    }

    fn is_sealed(&self, text: &str, seal: &str) -> bool {
        URL_SAFE_NO_PAD.decode(seal).is_ok_and(|seal| self.mac_of(text).verify_slice(&seal).is_ok())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mac_is_valid_only_for_its_text_and_key() {
        let seals = HmacSeals::new(&[1; 32]);
        let seal = seals.seal("text");
        assert!(seals.is_sealed("text", &seal));
        assert!(!seals.is_sealed("texts", &seal));
        assert!(!HmacSeals::new(&[2; 32]).is_sealed("text", &seal));
        assert!(!seals.is_sealed("text", "no base64 !"));
        assert!(!seals.is_sealed("text", ""));
    }
}
