//! Implements the domain's [`AppDids`] port: the DIDs of apps, and the signatures of manifests.

use super::did::{DidHash, KeyKind, Role, app_did_of_name, kind_of, parse_did};
use super::keys::{PublicKey, decode_base58};
use souk_domain::access::Did;
use souk_domain::publishing::bundle::{AppDids, ManifestSignature};

#[derive(Debug, Clone, Copy, Default)]
pub struct CheckedAppDids;

impl AppDids for CheckedAppDids {
    fn parse(&self, text: &str) -> Option<Did> {
        parse_did(text).ok()
    }

    fn is_app_key(&self, did: &Did) -> bool {
        let is_app = |role: u8| role == super::DidKind::new(Role::Blocklet, KeyKind::Ed25519).role;
        kind_of(did).is_ok_and(|kind| is_app(kind.role))
    }

    fn of_name(&self, name: &str) -> Did {
        app_did_of_name(name)
    }

    fn verifies(&self, signature: &ManifestSignature) -> bool {
        let Ok(key) = PublicKey::of_did_base58(&signature.signer, &signature.public_key) else { return false };
        let Some(bytes) = decode_base58(&signature.signature) else { return false };
        key.kind() == KeyKind::Ed25519 && key.verify(&DidHash::Sha3.digest(signature.signed.as_bytes()), &bytes)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use souk_domain::publishing::bundle::read_manifest;
    use souk_domain::shared::Timestamp;

    // The golden vectors of reference/store.md 5.1.
    const SIGNED: &str = r#"{"b":{"a":[1,2],"z":1},"did":"z8ia4e5vAeDsQEE2P26bQqz9oWR1Lxg9qUMaV","name":"hello-app","signatures":[{"created":"2026-01-01T00:00:00.000Z","name":"hello-app","pk":"zGP3jQCkz7WcgRo4nbrVGeUmCCbR5BgsDMgN6SFitwj8A","signer":"z1muQ3xqHQK2uiACHyChikobsiY5kLqtShA","type":"ED25519"}],"version":"1.0.0"}"#;
    const DIGEST: &str = "7ed26958bd8e188899ca765fbd9ecbcbf457c4da76d21d102b75fe01db9a8417";
    const SIGNATURE: &str = "z2kws7uJNGrFAj3KbPFnHSiMuiPVomxen85Nw87C8go8rNCbvfwaKG3BiJm32FqTwfLfcqLeHGVFgwCSMQcdyAWBG";

    fn signature() -> ManifestSignature {
        ManifestSignature {
            signer: parse_did("z1muQ3xqHQK2uiACHyChikobsiY5kLqtShA").expect("a DID"),
            public_key: "zGP3jQCkz7WcgRo4nbrVGeUmCCbR5BgsDMgN6SFitwj8A".to_owned(),
            created: Timestamp::from_seconds(0),
            signature: SIGNATURE.to_owned(),
            signed: SIGNED.to_owned(),
        }
    }

    #[test]
    fn the_signature_of_a_published_client_is_verified() {
        assert_eq!(hex::encode(DidHash::Sha3.digest(SIGNED.as_bytes())), DIGEST);
        assert!(CheckedAppDids.verifies(&signature()));
    }

    /// `@ocap/wallet` has signed this document with its published example key, and verifies it in the tests of the web.
    const DOCUMENT: &[u8] = include_bytes!("../testing/signed_document.json");
    const SECRET: &str = "z5HicV7RRRbTqoHUe1XfcngQsyNZhM7Vuiexg7hkDkBXFEk7s8zevb4jYQjHpUzm6VUfe1sh38437cCjiTKBftz8N";

    #[test]
    fn a_document_that_the_published_wallet_has_signed_is_verified_and_signed_alike() {
        let json = crate::bundles::parse_json(DOCUMENT).expect("JSON");
        let signature = read_manifest(&json, &CheckedAppDids).expect("a manifest").signature;
        assert!(CheckedAppDids.verifies(&signature));
        let key = super::super::AppKey::from_token_secret(SECRET).expect("a secret");
        assert_eq!(key.sign_base58(signature.signed.as_bytes()), signature.signature);
    }

    #[test]
    fn openssl_verifies_the_same_signature() {
        let folder = tempfile::tempdir().expect("a folder");
        let write = |name: &str, bytes: &[u8]| {
            let path = folder.path().join(name);
            std::fs::write(&path, bytes).expect("writes");
            path
        };
        let key = decode_base58(&signature().public_key).expect("base58");
        // The key as openssl reads it: SubjectPublicKeyInfo of RFC 8410.
        let prefix = hex::decode("302a300506032b6570032100").expect("hex");
        let key = write("key", &[prefix, key].concat());
        let text = write("text", SIGNED.as_bytes());
        let digest = std::process::Command::new("openssl").args(["dgst", "-sha3-256", "-binary"]).arg(text).output();
        let digest = digest.expect("openssl runs (Debian: apt-get install openssl)");
        assert_eq!(hex::encode(&digest.stdout), DIGEST);
        let (digest, signed) = (write("digest", &digest.stdout), write("signature", &decode_base58(SIGNATURE).expect("base58")));
        let mut command = std::process::Command::new("openssl");
        command.args(["pkeyutl", "-verify", "-pubin", "-keyform", "DER", "-rawin", "-inkey"]).arg(key).arg("-in").arg(digest);
        let verified = command.arg("-sigfile").arg(signed).output().expect("runs");
        assert!(verified.status.success(), "{}", String::from_utf8_lossy(&verified.stderr));
    }

    #[test]
    fn a_signature_of_another_text_key_or_signer_is_refused() {
        let other_key = super::super::AppKey::from_seed(&[7; 32]);
        let app_role = "zNKtCNqYWLYWYW3gWRA1vnRykfCBZYHZvzKr";
        for altered in [
            ManifestSignature { signed: SIGNED.replace("1.0.0", "1.0.1"), ..signature() },
            ManifestSignature { public_key: other_key.public_key_base58(), ..signature() },
            ManifestSignature { signer: other_key.did().clone(), ..signature() },
            ManifestSignature { signature: "z".to_owned(), ..signature() },
            ManifestSignature { signature: SIGNATURE.trim_start_matches('z').to_owned(), ..signature() },
            ManifestSignature { public_key: String::new(), ..signature() },
        ] {
            assert!(!CheckedAppDids.verifies(&altered), "{altered:?}");
        }
        let other_role = ManifestSignature { signer: parse_did(app_role).expect("a DID"), ..signature() };
        assert!(CheckedAppDids.verifies(&other_role), "the key is the same in each of its roles");
    }

    #[test]
    fn the_did_of_an_app_belongs_to_an_app_key_or_to_its_name() {
        assert_eq!(CheckedAppDids.of_name("static-demo-blocklet").as_str(), "z8ia4e5vAeDsQEE2P26bQqz9oWR1Lxg9qUMaV");
        assert_eq!(CheckedAppDids.of_name("payment-demo-blocklet").as_str(), "z8iZyFxvvqwW98MiqKv1tmws2o3iTZnTajE3B");
        for (did, is_app) in [("z2qaBUapGHchD8kuea8xvgBj8KCcA14fv6HfA", true), ("z1e1gtMvLzDaoE31X2rYsMFZHDvc6mqZWYM", false)] {
            assert_eq!(CheckedAppDids.is_app_key(&parse_did(did).expect("a DID")), is_app, "{did}");
        }
    }
}
