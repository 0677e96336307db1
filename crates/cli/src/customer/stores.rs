//! The stores that this computer knows: their keys, which are pinned at the first contact, and the keys with which it is signed in there.

use super::error::{Reason, VerifyError};
use super::verify::StoreKey;
use crate::args::parse_store;
use crate::error::FileError;
use crate::private_file::{PrivateFileError, lock_private, read_private, write_private};
use crate::profile::settings_folder;
use serde::{Deserialize, Serialize};
use souk_adapters::identity::AppKey;
use souk_domain::access::Did;
use souk_domain::shared::Timestamp;
use std::collections::BTreeMap;
use std::path::PathBuf;
use url::Url;

const FILE: &str = "stores.json";
const LOCK: &str = "stores.lock";
const FORMAT: u32 = 1;

#[derive(Debug, thiserror::Error)]
pub enum StoresError {
    #[error("name the store with --store URL, or set SOUK_STORE: this computer knows none")]
    NoStore,
    #[error("name the store with --store URL, or set SOUK_STORE: this computer knows {}", .0.join(", "))]
    SeveralStores(Vec<String>),
    /// Whoever answers is not the store that this computer knows.
    #[error(
        "{store} answers with another key than before. This computer knows it as {known} since {since}, and now it says that it is \
         {found}. Somebody may stand between you and the store. If its owner confirms that the store is a new one, run \
         `souk login {store} --new-key`; what was installed from the former one is then not updated"
    )]
    OtherKey { store: String, known: String, since: String, found: String },
    #[error("{store} is {found}, and not {expected}: check the address and the DID of the store")]
    NotExpected { store: String, found: Did, expected: Did },
    /// Nobody would read which store answers at the first contact.
    #[error(
        "{store} says that it is {found}, which this computer does not know. Without a terminal, name the store that you expect with \
         --store-did DID"
    )]
    Unknown { store: String, found: Did },
    #[error("{store} does not answer as a store does: {error}")]
    Invalid { store: String, error: VerifyError },
    #[error("{} cannot be understood: remove it, and run `souk login STORE`", .0.display())]
    Corrupt(PathBuf),
    #[error("{} was written by a later version of souk", .0.display())]
    Later(PathBuf),
    #[error("the folder for settings is unknown: set HOME")]
    NoFolder,
    #[error(transparent)]
    Private(#[from] PrivateFileError),
}

impl From<FileError> for StoresError {
    fn from(error: FileError) -> Self {
        Self::Private(error.into())
    }
}

impl StoresError {
    pub const fn reason(&self) -> Reason {
        match self {
            Self::OtherKey { .. } | Self::NotExpected { .. } | Self::Invalid { .. } => Reason::NotVerified,
            Self::Unknown { .. } => Reason::NotConfirmed,
            _ => Reason::Failed,
        }
    }
}

/// What is stored. Without `Debug`, so that no message contains a key.
#[derive(Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
struct File {
    format: u32,
    /// The store at which the user has signed in last.
    #[serde(default)]
    default: Option<String>,
    #[serde(default)]
    stores: BTreeMap<String, KnownStore>,
}

#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
struct KnownStore {
    did: String,
    public_key: String,
    /// When this computer had the first contact with it.
    pinned_at: String,
    #[serde(default)]
    login: Option<StoredLogin>,
}

/// With which this computer is signed in.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct StoredLogin {
    pub customer_did: String,
    pub secret_key: String,
    #[serde(default)]
    pub name: String,
}

/// The customer who is signed in, and the key of this computer.
pub struct Login {
    pub customer: String,
    pub key: AppKey,
}

/// The key of a store that answers, compared with the pinned one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Pin {
    Known,
    /// This computer has no key of the store yet.
    First,
}

/// The file with the stores that this computer knows.
pub struct Stores {
    folder: PathBuf,
}

impl Stores {
    pub fn of_user() -> Result<Self, StoresError> {
        Ok(Self { folder: settings_folder().ok_or(StoresError::NoFolder)? })
    }

    pub fn file(&self) -> PathBuf {
        self.folder.join(FILE)
    }

    /// The store that a command means: the named one, the only one, or the one at which the user has signed in last.
    pub fn choose(&self, named: Option<&Url>) -> Result<Url, StoresError> {
        if let Some(named) = named {
            return Ok(named.clone());
        }
        let file = self.read()?;
        let mut known: Vec<_> = file.stores.keys().cloned().collect();
        let address = match (file.default, known.len()) {
            (Some(default), _) => default,
            (None, 0) => return Err(StoresError::NoStore),
            (None, 1) => known.remove(0),
            (None, _) => return Err(StoresError::SeveralStores(known)),
        };
        parse_store(&address).map_err(|_| StoresError::Corrupt(self.file()))
    }

    /// Compares the key of a store with the pinned one, and with the DID that the user expects.
    ///
    /// # Errors
    /// It is another one.
    pub fn check(&self, store: &Url, key: &StoreKey, expected: Option<&Did>) -> Result<Pin, StoresError> {
        if let Some(expected) = expected.filter(|expected| **expected != key.did) {
            return Err(StoresError::NotExpected { store: store.to_string(), found: key.did.clone(), expected: expected.clone() });
        }
        match self.read()?.stores.get(store.as_str()) {
            None => Ok(Pin::First),
            Some(known) if known.did == key.did.as_str() && known.public_key == key.public_key => Ok(Pin::Known),
            Some(known) => Err(StoresError::OtherKey {
                store: store.to_string(),
                known: known.did.clone(),
                since: known.pinned_at.clone(),
                found: key.did.to_string(),
            }),
        }
    }

    /// Remembers the key of a store. What was stored for another key is dropped.
    pub fn pin(&self, store: &Url, key: &StoreKey, now: Timestamp) -> Result<(), StoresError> {
        self.change(|file| {
            let known = KnownStore { did: key.did.to_string(), public_key: key.public_key.clone(), pinned_at: now.to_iso(), login: None };
            let is_same = |known: &KnownStore| known.did == key.did.as_str();
            if !file.stores.get(store.as_str()).is_some_and(is_same) {
                file.stores.insert(store.to_string(), known);
            }
        })
    }

    /// The key with which this computer is signed in at a store.
    pub fn login(&self, store: &Url) -> Result<Option<Login>, StoresError> {
        let mut file = self.read()?;
        let Some(login) = file.stores.remove(store.as_str()).and_then(|known| known.login) else { return Ok(None) };
        let key = AppKey::from_token_secret(&login.secret_key).ok_or_else(|| StoresError::Corrupt(self.file()))?;
        Ok(Some(Login { customer: login.customer_did, key }))
    }

    /// Stores that this computer is signed in at a store whose key is pinned, or is not any more.
    pub fn set_login(&self, store: &Url, login: Option<StoredLogin>) -> Result<(), StoresError> {
        self.change(|file| {
            let is_signed_in = login.is_some();
            if let Some(known) = file.stores.get_mut(store.as_str()) {
                known.login = login;
            }
            if is_signed_in {
                file.default = Some(store.to_string());
            } else if file.default.as_deref() == Some(store.as_str()) {
                file.default = None;
            }
        })
    }

    fn read(&self) -> Result<File, StoresError> {
        let path = self.file();
        let Some(bytes) = read_private(&path)? else { return Ok(File { format: FORMAT, ..File::default() }) };
        let file: File = serde_json::from_slice(&bytes).map_err(|_| StoresError::Corrupt(path.clone()))?;
        if file.format > FORMAT { Err(StoresError::Later(path)) } else { Ok(file) }
    }

    /// Reads, changes and writes the file, while no other command does.
    fn change(&self, change: impl FnOnce(&mut File)) -> Result<(), StoresError> {
        let _lock = lock_private(&self.folder.join(LOCK))?;
        let mut file = self.read()?;
        change(&mut file);
        let path = self.file();
        let text = serde_json::to_vec_pretty(&file).map_err(|_| StoresError::Corrupt(path.clone()))?;
        Ok(write_private(&path, &text)?)
    }

    #[cfg(test)]
    pub fn at(folder: impl Into<PathBuf>) -> Self {
        Self { folder: folder.into() }
    }
}

#[cfg(test)]
mod tests {
    use super::super::verify::tests::{NOW, store_key};
    use super::*;

    // The published example key of `@ocap/wallet`.
    const SECRET: &str = "z5HicV7RRRbTqoHUe1XfcngQsyNZhM7Vuiexg7hkDkBXFEk7s8zevb4jYQjHpUzm6VUfe1sh38437cCjiTKBftz8N";

    fn url(text: &str) -> Url {
        parse_store(text).expect(text)
    }

    fn other_key() -> StoreKey {
        let key = AppKey::from_seed(&[8; 32]);
        StoreKey::new(key.did().as_str(), &key.public_key_base58()).expect("a store")
    }

    fn login() -> StoredLogin {
        StoredLogin { customer_did: "z1buyer".to_owned(), secret_key: SECRET.to_owned(), name: "Ada".to_owned() }
    }

    #[test]
    fn the_key_of_a_store_is_pinned_at_the_first_contact_and_another_one_is_refused() {
        let home = tempfile::tempdir().expect("a folder");
        let (stores, store) = (Stores::at(home.path()), url("https://store.example"));
        let (key, other) = (store_key(), other_key());
        assert!(matches!(stores.check(&store, &key, None), Ok(Pin::First)));
        stores.pin(&store, &key, NOW).expect("pins");
        assert!(matches!(stores.check(&store, &key, None), Ok(Pin::Known)));
        let refused = stores.check(&store, &other, None).expect_err("refused");
        let message = refused.to_string();
        for part in [store.as_str(), key.did.as_str(), other.did.as_str(), "2027-01-15", "--new-key"] {
            assert!(message.contains(part), "{message}");
        }
        assert_eq!(refused.reason(), Reason::NotVerified);
        let unexpected = stores.check(&store, &key, Some(&other.did)).expect_err("refused");
        assert!(matches!(unexpected, StoresError::NotExpected { .. }));
        // Another store has its own key.
        assert!(matches!(stores.check(&url("https://other.example"), &other, None), Ok(Pin::First)));
        // A new key ends the sign-in.
        stores.set_login(&store, Some(login())).expect("writes");
        stores.pin(&store, &key, NOW).expect("pins again");
        assert!(stores.login(&store).expect("reads").is_some());
        stores.pin(&store, &other, NOW).expect("pins");
        assert!(stores.login(&store).expect("reads").is_none());
        assert!(stores.check(&store, &key, None).is_err());
    }

    #[test]
    fn a_command_means_the_named_store_the_one_of_the_last_sign_in_or_the_only_one() {
        let home = tempfile::tempdir().expect("a folder");
        let stores = Stores::at(home.path());
        let (one, other) = (url("https://one.example"), url("https://other.example"));
        assert!(matches!(stores.choose(None), Err(StoresError::NoStore)));
        assert_eq!(stores.choose(Some(&one)).expect("named"), one);
        stores.pin(&one, &store_key(), NOW).expect("pins");
        assert_eq!(stores.choose(None).expect("the only one"), one);
        stores.pin(&other, &other_key(), NOW).expect("pins");
        assert!(stores.choose(None).expect_err("unclear").to_string().contains("https://one.example/, https://other.example/"));
        stores.set_login(&other, Some(login())).expect("writes");
        assert_eq!(stores.choose(None).expect("the last one"), other);
        let signed_in = stores.login(&other).expect("reads").expect("is signed in");
        assert_eq!((signed_in.customer.as_str(), signed_in.key.did().as_str()), ("z1buyer", "z1muQ3xqHQK2uiACHyChikobsiY5kLqtShA"));
        stores.set_login(&other, None).expect("writes");
        assert!(stores.login(&other).expect("reads").is_none());
        assert!(stores.choose(None).is_err());
    }

    #[test]
    fn a_file_that_is_not_understood_is_refused_without_its_content() {
        let home = tempfile::tempdir().expect("a folder");
        let stores = Stores::at(home.path());
        for (content, message) in [("{", "cannot be understood"), (r#"{"format":2}"#, "later version")] {
            write_private(&stores.file(), content.as_bytes()).expect("writes");
            let refused = stores.choose(None).expect_err("refused").to_string();
            assert!(refused.contains(message), "{refused}");
        }
    }
}
