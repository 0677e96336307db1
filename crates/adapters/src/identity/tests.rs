//! Test vectors generated with the published packages, version 1.30.24. The secret of all keys is 32 bytes of 0x01.

use super::*;
use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use serde_json::{Map, json};
use souk_domain::access::Did;
use souk_domain::shared::Timestamp;

const SEED: [u8; 32] = [1; 32];
const ACCOUNT: &str = "z1e1gtMvLzDaoE31X2rYsMFZHDvc6mqZWYM";
const APPLICATION: &str = "zNKkJffwbQ8R6PZZKeDfmw2Ri4ha5tmrTcBB";
const ED25519_KEY: &str = "zAKnL4NNf3DGWZJS6cPknBuEGnVsV4A4m5tgebLHaRSZ9";
const SECP256K1: &str = "z1EWtTJf4zw4mZfhmW94vJqjdfgf85Ev1FV4";
const SECP256K1_KEY: &str = "zN2M8aLpoDNrmiwcekyWz3YMKxcVDXTAyVhQmmQjLhXxLDc6iKjHserPFTQa2uupXRvwDdqpu17YMyGEhWGXqS7vG";
const ETHEREUM: &str = "0x1a642f0E3c3aF545E7AcBD38b07251B3990914F1";
const ETHEREUM_KEY: &str = "zYupq21BV61j6SMaWtDW5wtnq48cnFVcJQk4h3Nh4qNH2GBzqasSkjTTTMuRsjMKVKpYd6ECNHYx7DLoGtK8tgic";

/// Signed at 1700000000 with the challenge `ABCDEF0123456789`: (version, envelope).
const ED25519_ENVELOPES: [(&str, &str); 2] = [
    (
        "1.0.0",
        "eyJhbGciOiJFZDI1NTE5IiwidHlwZSI6IkpXVCJ9.eyJjaGFsbGVuZ2UiOiJBQkNERUYwMTIzNDU2Nzg5IiwiZXhwIjoiMTcwMDAwMDMwMCIsImlhdCI6IjE3MDAwMDAwMDAiLCJpc3MiOiJkaWQ6YWJ0OnoxZTFndE12THpEYW9FMzFYMnJZc01GWkhEdmM2bXFaV1lNIiwibmJmIjoiMTcwMDAwMDAwMCIsInZlcnNpb24iOiIxLjAuMCJ9.TKmEVbkcQedKScVb9Y0J5QN8Hgujwd7TEtvdlQ97I8Z2kO8P67IxpeyHl0AzfYB38pqe92Juzawraop0zaGFAw",
    ),
    (
        "1.1.0",
        "eyJhbGciOiJFZDI1NTE5IiwidHlwZSI6IkpXVCJ9.eyJjaGFsbGVuZ2UiOiJBQkNERUYwMTIzNDU2Nzg5IiwiZXhwIjoiMTcwMDAwMDMwMCIsImlhdCI6IjE3MDAwMDAwMDAiLCJpc3MiOiJkaWQ6YWJ0OnoxZTFndE12THpEYW9FMzFYMnJZc01GWkhEdmM2bXFaV1lNIiwibmJmIjoiMTcwMDAwMDAwMCIsInZlcnNpb24iOiIxLjEuMCJ9.mKKFgyARMx0gIM2wTw7fdQSSyofruDyzWRastoOao3-540L5iaU4DFEtYaSzAAjUMGriZpYrbMzekqhk7GGlBA",
    ),
];
const SECP256K1_ENVELOPES: [(&str, &str); 2] = [
    (
        "1.0.0",
        "eyJhbGciOiJFUzI1NksiLCJ0eXBlIjoiSldUIn0.eyJjaGFsbGVuZ2UiOiJBQkNERUYwMTIzNDU2Nzg5IiwiZXhwIjoiMTcwMDAwMDMwMCIsImlhdCI6IjE3MDAwMDAwMDAiLCJpc3MiOiJkaWQ6YWJ0OnoxRVd0VEpmNHp3NG1aZmhtVzk0dkpxamRmZ2Y4NUV2MUZWNCIsIm5iZiI6IjE3MDAwMDAwMDAiLCJ2ZXJzaW9uIjoiMS4wLjAifQ.MEQCIBuejZVRgEIqOBii34LR1VHQCZPYveluth7UvltZUw4gAiAkAO6oaIn7cOyS-oBoz3GOynVflbSnocGLz6dOWogwxA",
    ),
    (
        "1.1.0",
        "eyJhbGciOiJFUzI1NksiLCJ0eXBlIjoiSldUIn0.eyJjaGFsbGVuZ2UiOiJBQkNERUYwMTIzNDU2Nzg5IiwiZXhwIjoiMTcwMDAwMDMwMCIsImlhdCI6IjE3MDAwMDAwMDAiLCJpc3MiOiJkaWQ6YWJ0OnoxRVd0VEpmNHp3NG1aZmhtVzk0dkpxamRmZ2Y4NUV2MUZWNCIsIm5iZiI6IjE3MDAwMDAwMDAiLCJ2ZXJzaW9uIjoiMS4xLjAifQ.MEQCID3_Z0NtmwD4jrDpUw0SsTj49nr9wndo6JR0U92Cubd7AiAl8XlKR7W9NdSaLYsA8o4VNjJA9I0i6ojPr9rOTcPiDw",
    ),
];
const ETHEREUM_ENVELOPES: [(&str, &str); 2] = [
    (
        "1.0.0",
        "eyJhbGciOiJFdGhlcmV1bSIsInR5cGUiOiJKV1QifQ.eyJjaGFsbGVuZ2UiOiJBQkNERUYwMTIzNDU2Nzg5IiwiZXhwIjoiMTcwMDAwMDMwMCIsImlhdCI6IjE3MDAwMDAwMDAiLCJpc3MiOiJkaWQ6YWJ0OjB4MWE2NDJmMEUzYzNhRjU0NUU3QWNCRDM4YjA3MjUxQjM5OTA5MTRGMSIsIm5iZiI6IjE3MDAwMDAwMDAiLCJ2ZXJzaW9uIjoiMS4wLjAifQ.MEQCIFAXzKFRglIT0UVNRcahsw3PlgmbSEAneqrDav9Z2XRTAiAYmLbAn1FHKoIf9zC2i0pA7EXEu25gY732fmSsDfGUgg",
    ),
    (
        "1.1.0",
        "eyJhbGciOiJFdGhlcmV1bSIsInR5cGUiOiJKV1QifQ.eyJjaGFsbGVuZ2UiOiJBQkNERUYwMTIzNDU2Nzg5IiwiZXhwIjoiMTcwMDAwMDMwMCIsImlhdCI6IjE3MDAwMDAwMDAiLCJpc3MiOiJkaWQ6YWJ0OjB4MWE2NDJmMEUzYzNhRjU0NUU3QWNCRDM4YjA3MjUxQjM5OTA5MTRGMSIsIm5iZiI6IjE3MDAwMDAwMDAiLCJ2ZXJzaW9uIjoiMS4xLjAifQ.MEUCIQDdLSwdZS0T90v5UZhfYYdvBkTMqOdjUhXICG0knwcYAQIgLpkQpcurBEO0yz2YVEZIBtCkDFXw99CuLwxRWMsSXLA",
    ),
];

fn did(text: &str) -> Did {
    parse_did(text).expect("a DID")
}

fn at(seconds: i64) -> Timestamp {
    Timestamp::from_seconds(seconds)
}

#[test]
fn addresses_derived_from_keys_match_the_published_packages() {
    for (key, kind, address) in [
        (ED25519_KEY, KeyKind::Ed25519, ACCOUNT),
        (SECP256K1_KEY, KeyKind::Secp256k1, SECP256K1),
        (ETHEREUM_KEY, KeyKind::Ethereum, ETHEREUM),
    ] {
        let key = PublicKey::new(kind, &decode_base58(key).expect("base58")).expect("key");
        assert_eq!(did_from_public_key(&key, Role::Account).as_str(), address);
    }
    assert_eq!(AppKey::from_seed(&SEED).did().as_str(), APPLICATION);
    assert_eq!(AppKey::from_seed(&SEED).public_key_base58(), ED25519_KEY);
    let external = hex::decode("E4852B7091317E3622068E62A5127D1FB0D4AE2FC50213295E10652D2F0ABFC7").expect("hex");
    let external = PublicKey::new(KeyKind::Ed25519, &external).expect("key");
    assert_eq!(did_from_public_key(&external, Role::Application).as_str(), "zNKtCNqYWLYWYW3gWRA1vnRykfCBZYHZvzKr");
}

#[test]
fn a_key_matches_the_dids_of_its_owner_in_every_role_only() {
    for address in [ACCOUNT, APPLICATION, "z2qaBUapGHchD8kuea8xvgBj8KCcA14fv6HfA"] {
        assert!(PublicKey::of_did_base58(&did(address), ED25519_KEY).is_ok(), "{address}");
    }
    assert_eq!(PublicKey::of_did_base58(&did(SECP256K1), ED25519_KEY), Err(KeyError::Malformed));
    let other = AppKey::from_seed(&[2; 32]).public_key_base58();
    assert_eq!(PublicKey::of_did_base58(&did(ACCOUNT), &other), Err(KeyError::Foreign));
    // It would take minutes to decode.
    let long = format!("z{}", "2".repeat(1 << 20));
    assert_eq!(PublicKey::of_did_base58(&did(ACCOUNT), &long), Err(KeyError::Malformed));
}

#[test]
fn derived_addresses_match_the_published_packages() {
    let (account, application) = (did(ACCOUNT), did(APPLICATION));
    assert_eq!(delegation_address(&account, &application).as_str(), "z2bN6P5k9yow38JVhu23PwTdAH3H1JwcZ6x5P");
    assert_eq!(stake_address(&account, &application, "sub_1").as_str(), "zrjnjtj95nzp4oAhpDyx7XKwdrhRafUZYDZf");
    assert_eq!(stake_address(&account, &application, "").as_str(), "zrjso8Azdhee77pfGmfmVLGoyUKiMMc62YVh");
    assert_eq!(stake_address(&application, &application, "").as_str(), "zrjtBbAPfzJ36qecstcidmTQZgEQndQ1qwip");
}

#[test]
fn a_did_has_one_canonical_form() {
    assert_eq!(did(&format!("did:abt:{ACCOUNT}")).as_str(), ACCOUNT);
    assert_eq!(did("z1e1gtMvLzDaoE31X2rYsMFZHDvc6mqZWYM"), did(&ACCOUNT.replacen("z1", "z", 1)));
    assert_eq!(did(&ETHEREUM.to_lowercase()).as_str(), ETHEREUM);
    assert_eq!(did(&format!("0x{}", ETHEREUM[2..].to_uppercase())).as_str(), ETHEREUM);
    assert_eq!(kind_of(&did(APPLICATION)), Ok(DidKind::new(Role::Application, KeyKind::Ed25519)));
}

#[test]
fn invalid_dids_are_rejected() {
    for text in ["", "z", "did:abt:", "did:abt", "alice", "z0OIl", "0x1a642f", "did:ABT:z1e1gtMvLzDaoE31X2rYsMFZHDvc6mqZWYM"] {
        assert_eq!(parse_did(text), Err(DidError::Malformed), "{text}");
    }
    assert_eq!(parse_did(&"z2".repeat(300)), Err(DidError::Malformed));
    assert_eq!(parse_did(&ACCOUNT.replace("ZWYM", "ZWYN")), Err(DidError::BadChecksum));
    assert_eq!(parse_did(&ETHEREUM.replace("0E3c", "0e3c")), Err(DidError::BadChecksum));
}

#[test]
fn our_envelope_equals_the_published_one_byte_for_byte() {
    let mut body = Map::new();
    body.insert("challenge".to_owned(), json!("ABCDEF0123456789"));
    body.insert("empty".to_owned(), json!(""));
    body.insert("absent".to_owned(), json!(null));
    let unsigned = envelope::unsigned(KeyKind::Ed25519, &did(ACCOUNT), body, at(1_700_000_000));
    let signature = AppKey::from_seed(&SEED).sign(unsigned.as_bytes());
    assert_eq!(envelope::assemble(&unsigned, &signature), ED25519_ENVELOPES[1].1);
}

#[test]
fn envelopes_of_all_key_types_verify() {
    for (envelope, key, address) in [
        (ED25519_ENVELOPES[0], ED25519_KEY, ACCOUNT),
        (ED25519_ENVELOPES[1], ED25519_KEY, ACCOUNT),
        (SECP256K1_ENVELOPES[1], SECP256K1_KEY, SECP256K1),
        (ETHEREUM_ENVELOPES[1], ETHEREUM_KEY, ETHEREUM),
    ] {
        let claims = verify(envelope.1, key, at(1_700_000_100)).expect("verifies");
        assert_eq!((claims.issuer.as_str(), claims.body["challenge"].as_str()), (address, Some("ABCDEF0123456789")));
    }
}

#[test]
fn only_ed25519_may_sign_without_hashing_first() {
    for (envelope, key) in [(SECP256K1_ENVELOPES[0], SECP256K1_KEY), (ETHEREUM_ENVELOPES[0], ETHEREUM_KEY)] {
        assert_eq!(verify(envelope.1, key, at(1_700_000_100)), Err(EnvelopeError::Invalid));
    }
}

#[test]
fn clocks_may_differ_by_five_seconds() {
    let outcome = |now| verify(ED25519_ENVELOPES[1].1, ED25519_KEY, at(now)).map(|_| ());
    assert_eq!(outcome(1_699_999_995), Ok(()));
    assert_eq!(outcome(1_699_999_994), Err(EnvelopeError::Expired));
    assert_eq!(outcome(1_700_000_305), Ok(()));
    assert_eq!(outcome(1_700_000_306), Err(EnvelopeError::Expired));
}

#[test]
fn a_changed_envelope_is_invalid_rather_than_expired() {
    let parts: Vec<&str> = ED25519_ENVELOPES[1].1.split('.').collect();
    let body = String::from_utf8(URL_SAFE_NO_PAD.decode(parts[1]).expect("base64")).expect("text");
    let forged = URL_SAFE_NO_PAD.encode(body.replace("1700000300", "1900000300"));
    let other_algorithm = URL_SAFE_NO_PAD.encode(r#"{"alg":"Ethereum","type":"JWT"}"#);
    for token in [
        format!("{}.{forged}.{}", parts[0], parts[2]),
        format!("{other_algorithm}.{}.{}", parts[1], parts[2]),
        format!("{}.{}.", parts[0], parts[1]),
        format!("{}.{}", parts[0], parts[1]),
        "..".to_owned(),
        String::new(),
    ] {
        assert_eq!(verify(&token, ED25519_KEY, at(1_800_000_000)), Err(EnvelopeError::Invalid), "{token}");
    }
    assert_eq!(verify(ED25519_ENVELOPES[1].1, SECP256K1_KEY, at(1_700_000_000)), Err(EnvelopeError::Invalid));
}

#[test]
fn a_signature_with_a_high_s_is_rejected() {
    use k256::ecdsa::signature::hazmat::PrehashSigner;
    let digest = DidHash::Sha3.digest(b"hello");
    let signing = k256::ecdsa::SigningKey::from_slice(&SEED).expect("key");
    let low: k256::ecdsa::Signature = signing.sign_prehash(&digest).expect("signs");
    let (r, s) = low.split_scalars();
    let high = k256::ecdsa::Signature::from_scalars(r.to_bytes(), (-s).to_bytes()).expect("signature");
    let key = PublicKey::of_did_base58(&did(SECP256K1), SECP256K1_KEY).expect("key");
    assert!(key.verify(&digest, low.to_der().as_bytes()));
    assert!(!key.verify(&digest, high.to_der().as_bytes()));
}

#[test]
fn a_store_can_verify_its_own_signatures() {
    let key = AppKey::from_seed(&SEED);
    let token = key.sign_envelope(Map::from_iter([("txHash".to_owned(), json!("AB"))]), at(1_700_000_000));
    let claims = verify(&token, &key.public_key_base58(), at(1_700_000_001)).expect("verifies");
    assert_eq!(claims.body["txHash"], "AB");
    assert_eq!(claims.issuer, *key.did());
}
