//! Implements the domain's [`TokenKeys`] port: ed25519 keys in the wire forms of reference/store.md 5.1.

use super::did::{DidHash, Role, did_from_public_key};
use super::keys::{PublicKey, decode_base58, encode_base58};
use ed25519_dalek::SigningKey;
use souk_domain::publishing::access_tokens::{NewTokenKey, TokenKeys};

/// The longest signature or key in base58, in bytes: a 64-byte value has at most 89.
const ENCODED_MAX: usize = 100;

pub struct Ed25519TokenKeys;

impl TokenKeys for Ed25519TokenKeys {
    fn create(&self, seed: &[u8; 32]) -> NewTokenKey {
        let signing = SigningKey::from_bytes(seed);
        let public = PublicKey::ed25519(signing.verifying_key().as_bytes());
        NewTokenKey {
            id: did_from_public_key(&public, Role::Account),
            public_key: public.to_base58(),
            secret: encode_base58(&signing.to_keypair_bytes()),
        }
    }

    fn digest(&self, text: &[u8]) -> [u8; 32] {
        DidHash::Sha3.digest(text)
    }

    fn is_valid(&self, public_key: &str, digest: &[u8; 32], signature: &str) -> bool {
        if public_key.len() > ENCODED_MAX || signature.len() > ENCODED_MAX {
            return false;
        }
        let key = decode_base58(public_key).and_then(|bytes| <[u8; 32]>::try_from(bytes).ok());
        match key.zip(decode_base58(signature)) {
            Some((key, signature)) => PublicKey::ed25519(&key).verify(digest, &signature),
            None => false,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::AppKey;
    use super::*;

    /// The published example key of `@ocap/wallet` (reference/store.md 5.1).
    const SEED: &str = "D67C071B6F51D2B61180B9B1AA9BE0DD0704619F0E30453AB4A592B036EDE644";
    const SECRET: &str = "z5HicV7RRRbTqoHUe1XfcngQsyNZhM7Vuiexg7hkDkBXFEk7s8zevb4jYQjHpUzm6VUfe1sh38437cCjiTKBftz8N";
    const DID: &str = "z1muQ3xqHQK2uiACHyChikobsiY5kLqtShA";
    const PUBLIC_KEY: &str = "zGP3jQCkz7WcgRo4nbrVGeUmCCbR5BgsDMgN6SFitwj8A";
    const MANIFEST: &str = r#"{"b":{"a":[1,2],"z":1},"did":"z8ia4e5vAeDsQEE2P26bQqz9oWR1Lxg9qUMaV","name":"hello-app","signatures":[{"created":"2026-01-01T00:00:00.000Z","name":"hello-app","pk":"zGP3jQCkz7WcgRo4nbrVGeUmCCbR5BgsDMgN6SFitwj8A","signer":"z1muQ3xqHQK2uiACHyChikobsiY5kLqtShA","type":"ED25519"}],"version":"1.0.0"}"#;
    const DIGEST: &str = "7ed26958bd8e188899ca765fbd9ecbcbf457c4da76d21d102b75fe01db9a8417";
    const SIGNATURE: &str = "z2kws7uJNGrFAj3KbPFnHSiMuiPVomxen85Nw87C8go8rNCbvfwaKG3BiJm32FqTwfLfcqLeHGVFgwCSMQcdyAWBG";

    #[test]
    fn a_seed_gives_the_key_that_publisher_tools_read() {
        let seed: [u8; 32] = hex::decode(SEED).expect("hex").try_into().expect("32 bytes");
        let key = Ed25519TokenKeys.create(&seed);
        assert_eq!((key.secret.as_str(), key.id.as_str(), key.public_key.as_str()), (SECRET, DID, PUBLIC_KEY));
    }

    #[test]
    fn a_tool_signs_with_the_secret_of_a_token_and_with_no_other_text() {
        let key = AppKey::from_token_secret(SECRET).expect("a secret");
        assert_eq!((key.did().as_str(), key.public_key_base58().as_str()), (DID, PUBLIC_KEY));
        assert_eq!(key.sign_base58(MANIFEST.as_bytes()), SIGNATURE);
        let other_public = SECRET.replace("tz8N", "tz8M");
        for text in ["", "z", PUBLIC_KEY, &SECRET[1..], &SECRET.repeat(2), &other_public] {
            assert!(AppKey::from_token_secret(text).is_none(), "{text}");
        }
    }

    #[test]
    fn the_signature_of_a_publisher_tool_is_valid_and_any_other_is_not() {
        let digest = Ed25519TokenKeys.digest(MANIFEST.as_bytes());
        assert_eq!(hex::encode(digest), DIGEST);
        assert!(Ed25519TokenKeys.is_valid(PUBLIC_KEY, &digest, SIGNATURE));
        let other = Ed25519TokenKeys.digest(b"another");
        assert!(!Ed25519TokenKeys.is_valid(PUBLIC_KEY, &other, SIGNATURE));
        for (key, signature) in
            [(SECRET, SIGNATURE), (PUBLIC_KEY, ""), (PUBLIC_KEY, "z"), ("", SIGNATURE), (PUBLIC_KEY, &SIGNATURE.repeat(9))]
        {
            assert!(!Ed25519TokenKeys.is_valid(key, &digest, signature), "{key} {signature}");
        }
    }
}
