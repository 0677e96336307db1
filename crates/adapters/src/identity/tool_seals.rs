//! Implements the domain's [`ToolSeals`] port: sealed boxes of libsodium, in the wire forms of reference/store.md 5.1.

use super::did::{Role, did_from_public_key};
use super::keys::{PublicKey, decode_base58};
use base64::Engine;
use base64::engine::DecodePaddingMode;
use base64::engine::general_purpose::{GeneralPurpose, GeneralPurposeConfig, STANDARD};
use crypto_box::aead::OsRng;
use serde_json::{Value, json};
use souk_domain::access::Did;
use souk_domain::publishing::tools::{CustomerCredentials, OfferedKey, SealError, ToolConfig, ToolCredentials, ToolSeals};
use x25519_dalek::StaticSecret;

/// Published tools send base64url with padding; others leave it out.
const BASE64URL: GeneralPurpose =
    GeneralPurpose::new(&base64::alphabet::URL_SAFE, GeneralPurposeConfig::new().with_decode_padding_mode(DecodePaddingMode::Indifferent));
/// The longest key in base64url, in bytes: 32 bytes have 44 with padding.
const ENCODED_KEY_MAX: usize = 44;
/// The longest public key in base58, in bytes.
const ENCODED_PUBLIC_KEY_MAX: usize = 50;

pub struct SodiumToolSeals;

impl ToolSeals for SodiumToolSeals {
    fn read_key(&self, text: &str) -> Option<[u8; 32]> {
        if text.len() > ENCODED_KEY_MAX {
            return None;
        }
        let key: [u8; 32] = BASE64URL.decode(text).ok()?.try_into().ok()?;
        // With a point of low order, every secret gives the same result.
        let shared = StaticSecret::from([7; 32]).diffie_hellman(&x25519_dalek::PublicKey::from(key));
        shared.was_contributory().then_some(key)
    }

    fn seal(&self, key: &[u8; 32], config: &ToolConfig<'_>) -> Result<String, SealError> {
        let text = json_of(config).to_string();
        let sealed = crypto_box::PublicKey::from(*key).seal(&mut OsRng, text.as_bytes()).map_err(|_| SealError)?;
        Ok(STANDARD.encode(sealed))
    }

    fn keys(&self, keys: &[OfferedKey]) -> String {
        keys.iter().map(json_of_key).collect::<Value>().to_string()
    }

    fn app_did(&self, public_key: &str) -> Option<Did> {
        if public_key.len() > ENCODED_PUBLIC_KEY_MAX {
            return None;
        }
        let key: [u8; 32] = decode_base58(public_key)?.try_into().ok()?;
        // Not every 32 bytes are a point of the curve, and for some points anybody can sign.
        let is_usable = ed25519_dalek::VerifyingKey::from_bytes(&key).is_ok_and(|key| !key.is_weak());
        is_usable.then(|| did_from_public_key(&PublicKey::ed25519(&key), Role::Blocklet))
    }
}

fn json_of(config: &ToolConfig<'_>) -> Value {
    match config {
        ToolConfig::CommandLine(credentials) => json_of_credentials(credentials),
        ToolConfig::Customer(CustomerCredentials { customer, secret, name }) => {
            json!({ "customerDid": customer.as_str(), "secretKey": secret, "name": name })
        }
        ToolConfig::Studio { credentials, store, key } => json!({
            "store": { "appId": store.as_str() },
            "blocklet": json_of_key(key),
            "developer": json_of_credentials(credentials),
        }),
    }
}

fn json_of_credentials(credentials: &ToolCredentials<'_>) -> Value {
    let ToolCredentials { developer, secret, email, name } = credentials;
    json!({ "developerDid": developer.as_str(), "secretKey": secret, "email": email, "name": name })
}

fn json_of_key(key: &OfferedKey) -> Value {
    json!({ "address": key.did.as_str(), "publicKey": key.public_key })
}

#[cfg(test)]
mod tests {
    use super::super::keys::encode_base58;
    use super::*;
    use base64::engine::general_purpose::URL_SAFE_NO_PAD;
    use crypto_box::SecretKey;

    // The golden vector of reference/store.md 5.1.
    const SECRET: [u8; 32] = [7; 32];
    const KEY: &str = "E75P6uryBMf9M1j8nAByGIHRdCeBKCJ-xnTzf3_pe20=";
    const SEALED: &str = "Fx1nOOmPFxNvnIwD+J1quDZo/v7yhFpVWACOLy61MEyVV+FVORU3tKCj0WeoB6pNLjzzDLjIfw==";
    /// The bytes that a sealed box adds.
    const OVERHEAD: usize = 48;

    fn open(sealed: &str, secret: [u8; 32]) -> Option<Value> {
        let opened = SecretKey::from(secret).unseal(&STANDARD.decode(sealed).expect("base64")).ok()?;
        serde_json::from_slice(&opened).ok()
    }

    fn credentials(did: &Did) -> ToolCredentials<'_> {
        ToolCredentials { developer: did, secret: "zSecret", email: "anna@shop.example", name: "安娜" }
    }

    #[test]
    fn the_key_and_the_box_of_a_published_tool_are_read() {
        let key = SodiumToolSeals.read_key(KEY).expect("a key");
        assert_eq!(key, *SecretKey::from(SECRET).public_key().as_bytes());
        assert_eq!(SodiumToolSeals.read_key(KEY.trim_end_matches('=')), Some(key), "padding is optional");
        assert_eq!(open(SEALED, SECRET), Some(json!({ "a": 1 })));
    }

    #[test]
    fn a_configuration_is_opened_by_its_key_only() {
        let did = Did::from_verified("z1muQ3xqHQK2uiACHyChikobsiY5kLqtShA");
        let key = SodiumToolSeals.read_key(KEY).expect("a key");
        let config = ToolConfig::CommandLine(credentials(&did));
        let sealed = SodiumToolSeals.seal(&key, &config).expect("is sealed");
        let expected = json!({ "developerDid": did.as_str(), "secretKey": "zSecret", "email": "anna@shop.example", "name": "安娜" });
        assert_eq!(open(&sealed, SECRET), Some(expected.clone()));
        assert_eq!(STANDARD.decode(&sealed).expect("base64").len(), expected.to_string().len() + OVERHEAD);
        assert_eq!(open(&sealed, [8; 32]), None);
        assert_ne!(SodiumToolSeals.seal(&key, &config).expect("is sealed"), sealed, "each box has a key of its own");
    }

    #[test]
    fn a_customer_is_answered_the_key_of_the_computer_and_no_email() {
        let customer = Did::from_verified("z1buyer");
        let config = ToolConfig::Customer(CustomerCredentials { customer: &customer, secret: "zSecret", name: "安娜" });
        let key = SodiumToolSeals.read_key(KEY).expect("a key");
        let opened = open(&SodiumToolSeals.seal(&key, &config).expect("is sealed"), SECRET).expect("opens");
        assert_eq!(opened, json!({ "customerDid": "z1buyer", "secretKey": "zSecret", "name": "安娜" }));
    }

    #[test]
    fn the_studio_reads_its_store_its_app_and_its_developer() {
        let (did, store) = (Did::from_verified("z1dev"), Did::from_verified("zNstore"));
        let offered = OfferedKey { did: Did::from_verified("z2app"), public_key: "zPublic".to_owned() };
        let config = ToolConfig::Studio { credentials: credentials(&did), store: &store, key: &offered };
        let key = SodiumToolSeals.read_key(KEY).expect("a key");
        let opened = open(&SodiumToolSeals.seal(&key, &config).expect("is sealed"), SECRET).expect("opens");
        assert_eq!((&opened["store"], &opened["developer"]["secretKey"]), (&json!({ "appId": "zNstore" }), &json!("zSecret")));
        assert_eq!(opened["blocklet"], json!({ "address": "z2app", "publicKey": "zPublic" }));
        assert_eq!(SodiumToolSeals.keys(&[offered]), r#"[{"address":"z2app","publicKey":"zPublic"}]"#);
    }

    #[test]
    fn texts_that_are_no_keys_and_points_of_low_order_are_refused() {
        let encode = |bytes: &[u8]| URL_SAFE_NO_PAD.encode(bytes);
        let mut one = [0; 32];
        one[0] = 1;
        // A point of order 8, from libsodium's list.
        let order_8 = hex::decode("e0eb7a7c3b41b8ae1656e3faf19fc46ada098deb9c32b1fd866205165f49b800").expect("hex");
        for text in ["", "E75P", "no key", &KEY.repeat(2), &encode(&[0; 31]), &encode(&[0; 32]), &encode(&one), &encode(&order_8)] {
            assert_eq!(SodiumToolSeals.read_key(text), None, "{text}");
        }
    }

    #[test]
    fn the_did_of_an_app_key_has_the_role_of_apps() {
        // The vector of reference/did-connect.md 1.2, whose seed is 32 bytes of 1.
        let did = SodiumToolSeals.app_did("zAKnL4NNf3DGWZJS6cPknBuEGnVsV4A4m5tgebLHaRSZ9");
        assert_eq!(did.expect("a DID").as_str(), "z2qaBUapGHchD8kuea8xvgBj8KCcA14fv6HfA");
        let weak = encode_base58(&[0; 32]);
        for text in ["", "AKnL4NNf3DGWZJS6cPknBuEGnVsV4A4m5tgebLHaRSZ9", "z", "zAKnL4NNf3DG", &weak, &"z".repeat(60)] {
            assert_eq!(SodiumToolSeals.app_did(text), None, "{text}");
        }
    }
}
