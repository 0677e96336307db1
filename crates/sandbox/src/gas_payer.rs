//! The token of a gas payer, who offers to pay the gas of a transaction (chains.md 3.4): three base64url parts, signed.

use crate::did::{Address, Key};
use crate::time::Timestamp;
use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use serde_json::Value;

/// Tolerated clock difference in seconds.
const TOLERANCE: i64 = 5;

/// Checks that `token` is a valid offer of the owner of `public_key` to pay for the transaction `hash` at `now`, and returns that account.
/// The error is a message.
pub fn check(token: &str, public_key: &[u8], hash: &str, now: Timestamp) -> Result<Address, &'static str> {
    let Token { issuer, body } = read(token, public_key).ok_or("the token is not valid")?;
    let time = |name: &str| seconds(&body[name]);
    let (Some(issued), Some(expires)) = (time("iat"), time("exp")) else { return Err("the token has no times") };
    let begins = issued.max(time("nbf").unwrap_or(issued));
    if !(begins.saturating_sub(TOLERANCE)..=expires.saturating_add(TOLERANCE)).contains(&now.seconds()) {
        return Err("the token has expired");
    }
    let hashes = body["txHash"].as_str().unwrap_or_default();
    if hashes.split(',').any(|named| named.eq_ignore_ascii_case(hash)) { Ok(issuer) } else { Err("it is for another transaction") }
}

struct Token {
    issuer: Address,
    body: Value,
}

/// Reads a token. Returns `None` if its signature is not valid.
fn read(token: &str, public_key: &[u8]) -> Option<Token> {
    let mut parts = token.split('.');
    let (header, body, signature) = (parts.next()?, parts.next()?, parts.next()?);
    let signed = &token[..header.len() + 1 + body.len()];
    let json = |part: &str| serde_json::from_slice::<Value>(&URL_SAFE_NO_PAD.decode(part).ok()?).ok();
    let (header, body) = (json(header)?, json(body)?);
    let issuer = Address::parse(body["iss"].as_str()?)?;
    let algorithms: &[&str] = match issuer.key() {
        Key::Ed25519 => &["ed25519"],
        Key::Secp256k1 => &["es256k", "secp256k1"],
        Key::Ethereum => &["ethereum"],
    };
    let valid = parts.next().is_none()
        && algorithms.contains(&header["alg"].as_str()?.to_ascii_lowercase().as_str())
        && body["version"] == "1.1.0"
        && issuer.has_signed_token(public_key, signed.as_bytes(), &URL_SAFE_NO_PAD.decode(signature).ok()?);
    valid.then_some(Token { issuer, body })
}

/// Parses a time, which is decimal text or, from some signers, a number.
fn seconds(value: &Value) -> Option<i64> {
    value.as_i64().or_else(|| value.as_str()?.parse().ok())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::did::public_key;
    use ed25519_dalek::{Signer, SigningKey};
    use serde_json::json;
    use sha3::{Digest, Sha3_256};

    const ACCOUNT: &str = "z1e1gtMvLzDaoE31X2rYsMFZHDvc6mqZWYM";

    fn token(body: &Value) -> String {
        let encode = |value: &Value| URL_SAFE_NO_PAD.encode(value.to_string());
        let signed = format!("{}.{}", encode(&json!({"alg": "Ed25519", "type": "JWT"})), encode(body));
        let signature = SigningKey::from_bytes(&[1; 32]).sign(&Sha3_256::digest(&signed));
        format!("{signed}.{}", URL_SAFE_NO_PAD.encode(signature.to_bytes()))
    }

    #[test]
    fn a_token_is_valid_for_its_transactions_until_it_expires() {
        let key = public_key("zAKnL4NNf3DGWZJS6cPknBuEGnVsV4A4m5tgebLHaRSZ9").expect("a key");
        let body = json!({"iss": format!("did:abt:{ACCOUNT}"), "iat": "1000", "nbf": "1000", "exp": "1300", "version": "1.1.0", "txHash": "AA,bb"});
        let token = token(&body);
        let check = |token: &str, hash, seconds| check(token, &key, hash, Timestamp::from_seconds(seconds)).map(drop);
        assert_eq!(check(&token, "BB", 1_100), Ok(()));
        assert_eq!(check(&token, "CC", 1_100), Err("it is for another transaction"));
        assert_eq!(check(&token, "AA", 1_306), Err("the token has expired"));
        assert_eq!(check(&token, "AA", 994), Err("the token has expired"));
        assert_eq!(check(&token.replacen('e', "f", 1), "AA", 1_100), Err("the token is not valid"));
    }
}
