//! The format of DIDs: either 26 bytes in base58, of which the first two encode the kind, or an Ethereum address.

use super::keys::PublicKey;
use sha2::Sha256;
use sha3::{Digest, Keccak256, Sha3_256};
use souk_domain::access::Did;

/// Bytes of an address: type (2), key hash (20), checksum (4).
const ADDRESS_LENGTH: usize = 26;

/// Reasons why a text is rejected as a DID.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum DidError {
    #[error("not a DID")]
    Malformed,
    #[error("the DID's checksum is wrong")]
    BadChecksum,
    /// A well-formed DID whose key type or hash this store cannot verify, for example a passkey.
    #[error("DIDs of this kind are not supported")]
    Unsupported,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum KeyKind {
    Ed25519,
    Secp256k1,
    Ethereum,
}

/// The hash function that derives the address from the key, and the signed digest from the data.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum DidHash {
    Keccak,
    Sha3,
    Sha2,
}

impl DidHash {
    #[must_use]
    pub fn digest(self, data: &[u8]) -> [u8; 32] {
        match self {
            Self::Keccak => Keccak256::digest(data).into(),
            Self::Sha3 => Sha3_256::digest(data).into(),
            Self::Sha2 => Sha256::digest(data).into(),
        }
    }
}

/// The roles that this store uses (`@arcblock/did` 1.30.24). [`DidKind`] keeps other roles as numbers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Role {
    Account,
    Application,
    Stake,
    Delegation,
    /// An app of the store.
    Blocklet,
    Token,
    /// An app whose DID is derived from its name.
    Any,
}

impl Role {
    const fn bits(self) -> u8 {
        match self {
            Self::Account => 0,
            Self::Application => 3,
            Self::Stake => 7,
            Self::Delegation => 13,
            Self::Blocklet => 15,
            Self::Token => 17,
            Self::Any => 63,
        }
    }
}

/// The kind of a DID, from its first two bytes. Ethereum addresses have no such bytes and count as accounts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct DidKind {
    /// Six bits.
    pub role: u8,
    pub key: KeyKind,
    pub hash: DidHash,
}

impl DidKind {
    const ETHEREUM: Self = Self { role: 0, key: KeyKind::Ethereum, hash: DidHash::Keccak };

    /// Returns the kind of an ArcBlock address with the default hash.
    #[must_use]
    pub const fn new(role: Role, key: KeyKind) -> Self {
        match key {
            KeyKind::Ethereum => Self::ETHEREUM,
            _ => Self { role: role.bits(), key, hash: DidHash::Sha3 },
        }
    }

    fn to_bytes(self) -> [u8; 2] {
        let key = match self.key {
            KeyKind::Ed25519 => 0,
            KeyKind::Secp256k1 => 1,
            KeyKind::Ethereum => 2,
        };
        let hash = match self.hash {
            DidHash::Keccak => 0,
            DidHash::Sha3 => 1,
            DidHash::Sha2 => 6,
        };
        ((u16::from(self.role) << 10) | (key << 5) | hash).to_be_bytes()
    }

    fn from_bytes(bytes: [u8; 2]) -> Result<Self, DidError> {
        let bits = u16::from_be_bytes(bytes);
        let key = match (bits >> 5) & 0x1f {
            0 => KeyKind::Ed25519,
            1 => KeyKind::Secp256k1,
            2 => KeyKind::Ethereum,
            _ => return Err(DidError::Unsupported),
        };
        let hash = match bits & 0x1f {
            0 => DidHash::Keccak,
            1 => DidHash::Sha3,
            6 => DidHash::Sha2,
            _ => return Err(DidError::Unsupported),
        };
        let role = u8::try_from(bits >> 10).map_err(|_| DidError::Malformed)?;
        Ok(Self { role, key, hash })
    }
}

/// Parses and checks an address, with or without the prefix `did:<method>:`, and returns its canonical form.
pub fn parse_did(text: &str) -> Result<Did, DidError> {
    read(text).map(|address| address.did)
}

/// Returns the kind of an address.
pub fn kind_of(did: &Did) -> Result<DidKind, DidError> {
    read(did.as_str()).map(|address| address.kind)
}

/// Returns the DID of `key` in a role.
#[must_use]
pub fn did_from_public_key(key: &PublicKey, role: Role) -> Did {
    did_of_kind(key, DidKind::new(role, key.kind()))
}

pub(super) fn did_of_kind(key: &PublicKey, kind: DidKind) -> Did {
    match kind.key {
        KeyKind::Ethereum => {
            let hash = DidHash::Keccak.digest(key.as_bytes());
            Did::from_verified(with_checksum(&hex::encode(&hash[12..])))
        }
        _ => address(kind, kind.hash.digest(key.as_bytes())),
    }
}

/// Returns the address of the stake of `sender` for `receiver`. With an empty nonce, each pair has one stake.
#[must_use]
pub fn stake_address(sender: &Did, receiver: &Did, nonce: &str) -> Did {
    derived(Role::Stake, format!("{sender}{receiver}{nonce}").as_bytes())
}

/// Returns the address of the delegation that `delegator` grants to `delegatee`.
#[must_use]
pub fn delegation_address(delegator: &Did, delegatee: &Did) -> Did {
    derived(Role::Delegation, format!("{delegator}{delegatee}").as_bytes())
}

/// Returns the address of the token that a transaction creates. `encoded` is the inner transaction, encoded without the address.
#[must_use]
pub fn token_address(encoded: &[u8]) -> Did {
    derived(Role::Token, encoded)
}

/// Returns the DID of an app from before apps had keys: its name takes the place of the key (store.md 5.1).
#[must_use]
pub fn app_did_of_name(name: &str) -> Did {
    derived(Role::Any, name.as_bytes())
}

fn derived(role: Role, data: &[u8]) -> Did {
    let kind = DidKind::new(role, KeyKind::Ed25519);
    address(kind, kind.hash.digest(data))
}

fn address(kind: DidKind, hash: [u8; 32]) -> Did {
    let mut bytes = [0; ADDRESS_LENGTH];
    bytes[..2].copy_from_slice(&kind.to_bytes());
    bytes[2..22].copy_from_slice(&hash[..20]);
    let checksum = kind.hash.digest(&bytes[..22]);
    bytes[22..].copy_from_slice(&checksum[..4]);
    Did::from_verified(format!("z{}", bs58::encode(bytes).into_string()))
}

/// A checked address in its canonical form.
struct CheckedAddress {
    did: Did,
    kind: DidKind,
}

fn read(text: &str) -> Result<CheckedAddress, DidError> {
    let bare = without_method(text)?;
    if let Some(digits) = bare.strip_prefix("0x") {
        return Ok(CheckedAddress { did: ethereum(digits)?, kind: DidKind::ETHEREUM });
    }
    let encoded = bare.strip_prefix('z').filter(|encoded| encoded.len() <= ADDRESS_LENGTH * 2).ok_or(DidError::Malformed)?;
    let decoded = bs58::decode(encoded).into_vec().map_err(|_| DidError::Malformed)?;
    // Some base58 codecs drop leading zero bytes. Restore them, so that each DID has one form.
    let padding = ADDRESS_LENGTH.checked_sub(decoded.len()).filter(|padding| *padding < ADDRESS_LENGTH).ok_or(DidError::Malformed)?;
    let mut bytes = [0; ADDRESS_LENGTH];
    bytes[padding..].copy_from_slice(&decoded);
    let kind = DidKind::from_bytes([bytes[0], bytes[1]])?;
    if kind.hash.digest(&bytes[..22])[..4] != bytes[22..] {
        return Err(DidError::BadChecksum);
    }
    if kind.key == KeyKind::Ethereum {
        return Err(DidError::Unsupported);
    }
    Ok(CheckedAddress { did: Did::from_verified(format!("z{}", bs58::encode(bytes).into_string())), kind })
}

fn without_method(text: &str) -> Result<&str, DidError> {
    let Some(rest) = text.strip_prefix("did:") else { return Ok(text) };
    let (method, address) = rest.split_once(':').ok_or(DidError::Malformed)?;
    let named = !method.is_empty() && method.bytes().all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit());
    if named { Ok(address) } else { Err(DidError::Malformed) }
}

fn ethereum(digits: &str) -> Result<Did, DidError> {
    if digits.len() != 40 || !digits.bytes().all(|byte| byte.is_ascii_hexdigit()) {
        return Err(DidError::Malformed);
    }
    let lower = digits.to_ascii_lowercase();
    let checked = with_checksum(&lower);
    let without_case = digits == lower || digits == digits.to_ascii_uppercase();
    if without_case || checked[2..] == *digits { Ok(Did::from_verified(checked)) } else { Err(DidError::BadChecksum) }
}

/// Applies the checksum of EIP-55: a letter is upper-case if the nibble of the lower-case text's hash at its position is 8 or more.
fn with_checksum(lower: &str) -> String {
    let hash = hex::encode(Keccak256::digest(lower.as_bytes()));
    let letters = lower.chars().zip(hash.chars()).map(|(digit, nibble)| if nibble >= '8' { digit.to_ascii_uppercase() } else { digit });
    format!("0x{}", letters.collect::<String>())
}
