//! Message authentication codes by HMAC-SHA-256.

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use hmac::{Hmac, KeyInit, Mac};
use sha2::Sha256;
use souk_domain::access::MacSigner;

/// [`MacSigner`] that uses HMAC-SHA-256.
pub struct HmacSigner(Hmac<Sha256>);

impl HmacSigner {
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

impl MacSigner for HmacSigner {
    fn sign(&self, text: &str) -> String {
        URL_SAFE_NO_PAD.encode(self.mac_of(text).finalize().into_bytes())
    }

    fn is_valid(&self, text: &str, mac: &str) -> bool {
        URL_SAFE_NO_PAD.decode(mac).is_ok_and(|mac| self.mac_of(text).verify_slice(&mac).is_ok())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mac_is_valid_only_for_its_text_and_key() {
        let signer = HmacSigner::new(&[1; 32]);
        let mac = signer.sign("text");
        assert!(signer.is_valid("text", &mac));
        assert!(!signer.is_valid("texts", &mac));
        assert!(!HmacSigner::new(&[2; 32]).is_valid("text", &mac));
        assert!(!signer.is_valid("text", "no base64 !"));
        assert!(!signer.is_valid("text", ""));
    }
}
