//! Addresses (DIDs), the keys that they derive from, and signature verification (did-connect.md 1.1).

use k256::ecdsa::signature::hazmat::PrehashVerifier;
use sha2::Sha256;
use sha3::{Digest, Keccak256, Sha3_256};

const HASH_LENGTH: usize = 20;
/// Length of a decoded address in bytes: type (2), key hash (20), checksum (4).
const LENGTH: usize = 26;
/// Maximum length of a base58 text that is decoded.
const MAX_TEXT: usize = 64;
/// Address types: role (6 bits), ed25519 (0), SHA3-256 (1).
const STAKE: u16 = (7 << 10) | 1;
const DELEGATION: u16 = (13 << 10) | 1;
const TOKEN: u16 = (17 << 10) | 1;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Key {
    Ed25519,
    Secp256k1,
    Ethereum,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Hash {
    Keccak,
    Sha3,
    Sha2,
}

impl Hash {
    fn digest(self, data: &[u8]) -> [u8; 32] {
        match self {
            Self::Keccak => Keccak256::digest(data).into(),
            Self::Sha3 => Sha3_256::digest(data).into(),
            Self::Sha2 => Sha256::digest(data).into(),
        }
    }
}

/// A valid address.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Address {
    /// The canonical text, without `did:abt:`.
    text: String,
    key: Key,
    hash: Hash,
    key_hash: [u8; HASH_LENGTH],
}

impl Address {
    /// Reads an address with or without `did:<method>:`.
    pub fn parse(text: &str) -> Option<Self> {
        let text = match text.strip_prefix("did:") {
            Some(rest) => rest.split_once(':').filter(|(method, _)| is_method(method))?.1,
            None => text,
        };
        match text.strip_prefix("0x") {
            Some(digits) => Self::parse_ethereum(digits),
            None => Self::parse_base58(text.strip_prefix('z')?),
        }
    }

    fn parse_base58(encoded: &str) -> Option<Self> {
        if encoded.len() > MAX_TEXT {
            return None;
        }
        let decoded = bs58::decode(encoded).into_vec().ok().filter(|decoded| !decoded.is_empty() && decoded.len() <= LENGTH)?;
        // Some encoders treat the bytes as a number and lose leading zeros.
        let mut bytes = [0; LENGTH];
        bytes[LENGTH - decoded.len()..].copy_from_slice(&decoded);
        let kind = u16::from_be_bytes([bytes[0], bytes[1]]);
        let key = match (kind >> 5) & 0b1_1111 {
            0 => Key::Ed25519,
            1 => Key::Secp256k1,
            _ => return None,
        };
        let hash = match kind & 0b1_1111 {
            0 => Hash::Keccak,
            1 => Hash::Sha3,
            6 => Hash::Sha2,
            _ => return None,
        };
        let (content, checksum) = bytes.split_at(2 + HASH_LENGTH);
        if hash.digest(content)[..4] != *checksum {
            return None;
        }
        let key_hash = content[2..].try_into().ok()?;
        Some(Self { text: base58(&bytes), key, hash, key_hash })
    }

    /// Accepts an address in one case, or in mixed case with a valid EIP-55 checksum.
    fn parse_ethereum(digits: &str) -> Option<Self> {
        let key_hash: [u8; HASH_LENGTH] = hex::decode(digits).ok()?.try_into().ok()?;
        let text = checksummed(&key_hash);
        let one_case = [digits.to_ascii_lowercase(), digits.to_ascii_uppercase()].iter().any(|cased| cased == digits);
        (one_case || text[2..] == *digits).then_some(Self { text, key: Key::Ethereum, hash: Hash::Keccak, key_hash })
    }

    fn derived(kind: u16, data: &str) -> Self {
        let hash = Hash::Sha3.digest(data.as_bytes());
        let mut key_hash = [0; HASH_LENGTH];
        key_hash.copy_from_slice(&hash[..HASH_LENGTH]);
        let mut bytes = kind.to_be_bytes().to_vec();
        bytes.extend(key_hash);
        let checksum = Hash::Sha3.digest(&bytes);
        bytes.extend(&checksum[..4]);
        Self { text: base58(&bytes), key: Key::Ed25519, hash: Hash::Sha3, key_hash }
    }

    /// The address of a stake of `sender` for `receiver`; `nonce` may be empty.
    pub fn of_stake(sender: &Self, receiver: &Self, nonce: &str) -> Self {
        Self::derived(STAKE, &[&sender.text, &receiver.text, nonce].concat())
    }

    /// The address of a delegation from `granter` to `grantee`.
    pub fn of_delegation(granter: &Self, grantee: &Self) -> Self {
        Self::derived(DELEGATION, &[granter.text.as_str(), &grantee.text].concat())
    }

    pub fn of_token(seed: &str) -> Self {
        Self::derived(TOKEN, seed)
    }

    pub fn as_str(&self) -> &str {
        &self.text
    }

    pub const fn key(&self) -> Key {
        self.key
    }

    /// Returns whether the address derives from this public key.
    pub fn belongs_to(&self, public_key: &[u8]) -> bool {
        let digest = self.hash.digest(public_key);
        let (length, key_hash) = match self.key {
            Key::Ed25519 => (32, &digest[..HASH_LENGTH]),
            Key::Secp256k1 => (65, &digest[..HASH_LENGTH]),
            Key::Ethereum => (64, &digest[12..]),
        };
        public_key.len() == length && key_hash == self.key_hash
    }

    /// Returns whether `signature` is a valid signature of the hash of `data` by the owner of the address.
    pub fn has_signed(&self, public_key: &[u8], data: &[u8], signature: &[u8]) -> bool {
        self.has_signed_digest(public_key, &self.hash.digest(data), signature)
    }

    /// Like [`Self::has_signed`], for tokens, which always use SHA3-256.
    pub fn has_signed_token(&self, public_key: &[u8], data: &[u8], signature: &[u8]) -> bool {
        self.has_signed_digest(public_key, &Hash::Sha3.digest(data), signature)
    }

    fn has_signed_digest(&self, public_key: &[u8], digest: &[u8; 32], signature: &[u8]) -> bool {
        let verified = match self.key {
            Key::Ed25519 => verify_ed25519(public_key, digest, signature),
            Key::Secp256k1 => verify_ecdsa(public_key, digest, signature),
            Key::Ethereum => verify_ecdsa(&[&[4], public_key].concat(), digest, signature),
        };
        self.belongs_to(public_key) && verified.is_some()
    }
}

fn is_method(method: &str) -> bool {
    !method.is_empty() && method.bytes().all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit())
}

/// Encodes as multibase base58btc.
fn base58(bytes: &[u8]) -> String {
    format!("z{}", bs58::encode(bytes).into_string())
}

/// Parses a public key in a format of wallets: base58 with `z`, or hex.
pub fn public_key(text: &str) -> Option<Vec<u8>> {
    match text.strip_prefix('z') {
        Some(encoded) => bs58::decode(encoded).into_vec().ok(),
        None => hex::decode(text.strip_prefix("0x").unwrap_or(text)).ok(),
    }
}

fn checksummed(address: &[u8; HASH_LENGTH]) -> String {
    let lower = hex::encode(address);
    let digest = Keccak256::digest(&lower);
    let mut text = String::from("0x");
    for (place, digit) in lower.chars().enumerate() {
        let nibble = if place % 2 == 0 { digest[place / 2] >> 4 } else { digest[place / 2] & 0x0f };
        text.push(if nibble >= 8 { digit.to_ascii_uppercase() } else { digit });
    }
    text
}

fn verify_ed25519(public_key: &[u8], message: &[u8], signature: &[u8]) -> Option<()> {
    let key = ed25519_dalek::VerifyingKey::from_bytes(public_key.try_into().ok()?).ok()?;
    key.verify_strict(message, &ed25519_dalek::Signature::from_slice(signature).ok()?).ok()
}

/// Verifies a DER signature. A high `s` is rejected, because it would be a second valid signature of the same data.
fn verify_ecdsa(point: &[u8], digest: &[u8; 32], signature: &[u8]) -> Option<()> {
    if point.first() != Some(&4) {
        return None;
    }
    let signature = k256::ecdsa::Signature::from_der(signature).ok().filter(|signature| signature.normalize_s() == *signature)?;
    k256::ecdsa::VerifyingKey::from_sec1_bytes(point).ok()?.verify_prehash(digest, &signature).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The vectors of did-connect.md 1.2, made with the published packages.
    const ACCOUNT: &str = "z1e1gtMvLzDaoE31X2rYsMFZHDvc6mqZWYM";
    const APPLICATION: &str = "zNKkJffwbQ8R6PZZKeDfmw2Ri4ha5tmrTcBB";
    const KEY: &str = "zAKnL4NNf3DGWZJS6cPknBuEGnVsV4A4m5tgebLHaRSZ9";

    fn address(text: &str) -> Address {
        Address::parse(text).expect("an address")
    }

    #[test]
    fn addresses_derive_from_their_keys() {
        let secp = "041b84c5567b126440995d3ed5aaba0565d71e1834604819ff9c17f5e9d5dd078f70beaf8f588b541507fed6a642c5ab42dfdf8120a7f639de5122d47a69a8e8d1";
        let key = public_key(KEY).expect("a key");
        assert!(address(ACCOUNT).belongs_to(&key) && address(APPLICATION).belongs_to(&key));
        assert!(address("z1EWtTJf4zw4mZfhmW94vJqjdfgf85Ev1FV4").belongs_to(&public_key(secp).expect("a key")));
        assert!(address("0x1a642f0E3c3aF545E7AcBD38b07251B3990914F1").belongs_to(&hex::decode(&secp[2..]).expect("hex")));
        assert!(!address(ACCOUNT).belongs_to(&[1; 32]));
    }

    #[test]
    fn derived_addresses_match_the_published_packages() {
        let (account, application) = (address(ACCOUNT), address(APPLICATION));
        assert_eq!(Address::of_delegation(&account, &application).as_str(), "z2bN6P5k9yow38JVhu23PwTdAH3H1JwcZ6x5P");
        assert_eq!(Address::of_stake(&account, &application, "sub_1").as_str(), "zrjnjtj95nzp4oAhpDyx7XKwdrhRafUZYDZf");
        assert_eq!(Address::of_stake(&account, &application, "").as_str(), "zrjso8Azdhee77pfGmfmVLGoyUKiMMc62YVh");
    }

    #[test]
    fn an_address_has_one_canonical_text() {
        let ethereum = "0x1a642f0E3c3aF545E7AcBD38b07251B3990914F1";
        assert_eq!(address(&format!("did:abt:{ACCOUNT}")).as_str(), ACCOUNT);
        assert_eq!(address(&ethereum.to_ascii_lowercase()).as_str(), ethereum);
        for invalid in ["", "z", "z1e1gtMvLzDaoE31X2rYsMFZHDvc6mqZWYN", "did::z1", "0x1A642f0E3c3aF545E7AcBD38b07251B3990914F1", "0x12"] {
            assert_eq!(Address::parse(invalid), None, "{invalid}");
        }
    }
}
