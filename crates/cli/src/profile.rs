//! The store that this computer is connected to, and the access token for it.

use crate::args::{StoreArgs, parse_store};
use crate::private_file::{PrivateFileError, read_private, write_private};
use etcetera::{BaseStrategy, choose_base_strategy};
use serde::{Deserialize, Serialize};
use souk_adapters::identity::{AppKey, parse_did};
use souk_domain::access::Did;
use std::env::VarError;
use std::path::PathBuf;
use url::Url;

/// The variable that holds an access token, for CI.
const TOKEN_VARIABLE: &str = "SOUK_ACCESS_TOKEN";
const FOLDER: &str = "souk";
const FILE: &str = "publisher.json";

#[derive(Debug, thiserror::Error)]
pub enum ProfileError {
    #[error("this computer is connected to no store: run `souk connect STORE`, or set SOUK_STORE and {TOKEN_VARIABLE}")]
    NotConnected,
    #[error("this computer is connected to {connected}: run `souk connect {wanted} --replace`, or set {TOKEN_VARIABLE} for {wanted}")]
    OtherStore { connected: String, wanted: String },
    #[error("this computer is connected to {0}: add --replace to connect it to another store")]
    Connected(String),
    #[error("{TOKEN_VARIABLE} is no access token: copy the secret that the store shows when a token is created")]
    BadVariable,
    #[error("{} cannot be understood: remove it, and run `souk connect STORE`", .0.display())]
    Corrupt(PathBuf),
    #[error("the folder for settings is unknown: set HOME")]
    NoFolder,
    #[error(transparent)]
    File(#[from] PrivateFileError),
}

impl ProfileError {
    /// Whether there is no access token for the store that is meant, so that a CI may get one itself.
    pub const fn is_without_token(&self) -> bool {
        matches!(self, Self::NotConnected | Self::OtherStore { .. } | Self::NoFolder)
    }
}

/// A store and the key of an access token for it.
pub struct Connection {
    pub store: Url,
    /// The DID of the store. `None`: any store at the address is meant.
    pub did: Option<Did>,
    pub key: AppKey,
}

/// What is stored. Without `Debug`, so that no message contains the token.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Profile {
    pub store: String,
    /// The DID of the store to which the token belongs.
    pub store_did: String,
    pub access_token: String,
    #[serde(default)]
    pub developer_did: String,
    #[serde(default)]
    pub name: String,
}

/// The folder of this user's settings, in which the connection is stored.
pub struct Profiles {
    folder: PathBuf,
}

impl Profiles {
    pub fn of_user() -> Result<Self, ProfileError> {
        Ok(Self { folder: settings_folder().ok_or(ProfileError::NoFolder)? })
    }

    /// The store and the token of a command: options and variables win over what is stored.
    ///
    /// # Errors
    /// Neither names both, or the stored token is for another store.
    pub fn connection(&self, args: &StoreArgs) -> Result<Connection, ProfileError> {
        let variable = match std::env::var(TOKEN_VARIABLE) {
            Ok(secret) => Some(secret),
            Err(VarError::NotPresent) => None,
            Err(VarError::NotUnicode(_)) => return Err(ProfileError::BadVariable),
        };
        self.choose(args, variable.as_deref().map(str::trim).filter(|secret| !secret.is_empty()))
    }

    fn choose(&self, args: &StoreArgs, variable: Option<&str>) -> Result<Connection, ProfileError> {
        let from_variable = variable.map(|secret| AppKey::from_token_secret(secret).ok_or(ProfileError::BadVariable)).transpose()?;
        let StoreArgs { store: wanted, store_did: did } = args.clone();
        if let (Some(store), Some(key)) = (wanted.clone(), from_variable.clone()) {
            return Ok(Connection { store, did, key });
        }
        let stored = self.read()?.ok_or(ProfileError::NotConnected)?;
        let corrupt = || ProfileError::Corrupt(self.file());
        let connected = parse_store(&stored.store).map_err(|_| corrupt())?;
        let did = match did {
            Some(did) => did,
            None => parse_did(&stored.store_did).map_err(|_| corrupt())?,
        };
        let key = match (from_variable, wanted) {
            (Some(key), _) => key,
            (None, Some(wanted)) if wanted != connected => {
                return Err(ProfileError::OtherStore { connected: connected.into(), wanted: wanted.into() });
            }
            (None, _) => AppKey::from_token_secret(&stored.access_token).ok_or_else(corrupt)?,
        };
        Ok(Connection { store: connected, did: Some(did), key })
    }

    /// Checks that a connection to this store may be stored.
    ///
    /// # Errors
    /// Another one is, and is not to be replaced.
    pub fn check_replaces(&self, store: &Url, is_replaced: bool) -> Result<(), ProfileError> {
        let Some(stored) = (if is_replaced { None } else { self.read()? }) else { return Ok(()) };
        match parse_store(&stored.store) {
            Ok(connected) if connected != *store => Err(ProfileError::Connected(connected.into())),
            _ => Ok(()),
        }
    }

    pub fn file(&self) -> PathBuf {
        self.folder.join(FILE)
    }

    fn read(&self) -> Result<Option<Profile>, ProfileError> {
        let path = self.file();
        let Some(bytes) = read_private(&path)? else { return Ok(None) };
        serde_json::from_slice(&bytes).map(Some).map_err(|_| ProfileError::Corrupt(path))
    }

    /// Stores a connection for this user only. A reader sees the former one or this one.
    pub fn write(&self, profile: &Profile) -> Result<(), ProfileError> {
        let path = self.file();
        let text = serde_json::to_vec_pretty(profile).map_err(|_| ProfileError::Corrupt(path.clone()))?;
        Ok(write_private(&path, &text).map_err(PrivateFileError::from)?)
    }
}

/// The folder of this user's settings. `None`: the system does not say where it is.
pub fn settings_folder() -> Option<PathBuf> {
    choose_base_strategy().ok().map(|strategy| strategy.config_dir().join(FOLDER))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;
    use std::os::unix::fs::PermissionsExt;
    use std::path::Path;

    // The published example key of `@ocap/wallet`.
    const SECRET: &str = "z5HicV7RRRbTqoHUe1XfcngQsyNZhM7Vuiexg7hkDkBXFEk7s8zevb4jYQjHpUzm6VUfe1sh38437cCjiTKBftz8N";

    /// The DID of a store, and that of another one.
    const STORE: &str = "zNKtCNqYWLYWYW3gWRA1vnRykfCBZYHZvzKr";
    const OTHER: &str = "z8ia29UsENBg6tLZUKi2HABj38Cw1LmHZocbQ";

    fn url(text: &str) -> Url {
        parse_store(text).expect(text)
    }

    fn profiles() -> (tempfile::TempDir, Profiles) {
        let home = tempfile::tempdir().expect("a folder");
        let folder = home.path().join("config/souk");
        (home, Profiles { folder })
    }

    fn connected(store: &str) -> Profile {
        Profile {
            store: store.to_owned(),
            store_did: STORE.to_owned(),
            access_token: SECRET.to_owned(),
            developer_did: "z1".to_owned(),
            name: "Ada".to_owned(),
        }
    }

    fn args(store: Option<&str>) -> StoreArgs {
        StoreArgs { store: store.map(url), store_did: None }
    }

    fn refused(chosen: Result<Connection, ProfileError>) -> String {
        let message = chosen.err().expect("refused").to_string();
        assert!(!message.contains(&SECRET[1..]), "{message}");
        message
    }

    #[test]
    fn options_and_variables_win_over_what_is_stored() {
        let (_home, profiles) = profiles();
        assert!(refused(profiles.choose(&args(None), None)).contains("souk connect STORE"));
        assert!(refused(profiles.choose(&args(Some("https://a.example")), None)).contains("souk connect STORE"));
        let chosen = profiles.choose(&args(Some("https://a.example")), Some(SECRET)).expect("chosen");
        assert_eq!((chosen.key.did().as_str(), chosen.did), ("z1muQ3xqHQK2uiACHyChikobsiY5kLqtShA", None));
        profiles.write(&connected("https://b.example/")).expect("writes");
        let store = |wanted: Option<&str>, variable| profiles.choose(&args(wanted), variable).expect("chosen").store.to_string();
        assert_eq!(store(None, None), "https://b.example/");
        assert_eq!(store(Some("https://b.example"), None), "https://b.example/");
        assert_eq!(store(Some("https://a.example"), Some(SECRET)), "https://a.example/");
        assert_eq!(store(None, Some(SECRET)), "https://b.example/");
        assert!(refused(profiles.choose(&args(Some("https://a.example")), None)).contains("souk connect https://a.example/ --replace"));
        assert!(refused(profiles.choose(&args(None), Some("secret"))).contains("SOUK_ACCESS_TOKEN is no access token"));
    }

    #[test]
    fn the_did_of_the_store_is_the_stored_one_unless_it_is_named() {
        let (_home, profiles) = profiles();
        profiles.write(&connected("https://b.example/")).expect("writes");
        let named = StoreArgs { store_did: Some(parse_did(OTHER).expect("a DID")), ..args(None) };
        let elsewhere = StoreArgs { store: Some(url("https://a.example")), ..named.clone() };
        for (args, variable, did) in
            [(&args(None), None, STORE), (&args(None), Some(SECRET), STORE), (&named, None, OTHER), (&elsewhere, Some(SECRET), OTHER)]
        {
            assert_eq!(profiles.choose(args, variable).expect("chosen").did.as_ref().map(Did::as_str), Some(did));
        }
    }

    #[test]
    fn the_stored_connection_is_for_this_user_only() {
        let (_home, profiles) = profiles();
        profiles.write(&connected("https://a.example/")).expect("writes");
        profiles.write(&connected("https://b.example/")).expect("writes again");
        assert!(profiles.read().expect("reads") == Some(connected("https://b.example/")));
        let mode = |path: &Path| fs::metadata(path).expect("exists").permissions().mode() & 0o777;
        assert_eq!((mode(&profiles.folder), mode(&profiles.file())), (0o700, 0o600));
        assert!(matches!(profiles.check_replaces(&url("https://a.example"), false), Err(ProfileError::Connected(_))));
        assert!(profiles.check_replaces(&url("https://a.example"), true).is_ok());
        assert!(profiles.check_replaces(&url("https://b.example"), false).is_ok());
        fs::set_permissions(profiles.file(), fs::Permissions::from_mode(0o644)).expect("sets the mode");
        assert!(refused(profiles.choose(&args(None), None)).contains("chmod 600"));
    }

    #[test]
    fn a_corrupt_file_is_refused_without_its_content() {
        let (_home, profiles) = profiles();
        profiles.write(&connected("ftp://b.example/")).expect("writes");
        assert!(refused(profiles.choose(&args(None), None)).contains("cannot be understood"));
        profiles.write(&Profile { access_token: format!("{SECRET}x"), ..connected("https://b.example/") }).expect("writes");
        assert!(refused(profiles.choose(&args(None), None)).contains("cannot be understood"));
        fs::write(profiles.file(), "{").expect("writes");
        assert!(refused(profiles.choose(&args(None), None)).contains("cannot be understood"));
    }
}
