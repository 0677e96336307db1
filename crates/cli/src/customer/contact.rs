//! A store as the commands of customers call it: its key is pinned, and what it sends is verified.

use super::consent::has_terminal;
use super::error::{CustomerError, VerifyError};
use super::stores::{Login, Pin, Stores, StoresError};
use super::verify::{Statement, StoreKey, read_document};
use crate::store::{Http, Signer, StoreError};
use reqwest::{Method, RequestBuilder};
use semver::Version;
use serde::Deserialize;
use souk_adapters::system::SystemClock;
use souk_domain::access::Did;
use souk_domain::publishing::bundle::Manifest;
use souk_domain::publishing::installing::Release;
use souk_domain::shared::{Clock, Timestamp};
use url::Url;

/// The header that names the key of a computer.
const DEVICE: &str = "x-souk-device";

/// `GET /api/store.json`, as far as it is used.
#[derive(Debug, Deserialize)]
struct StoreInfo {
    id: String,
    #[serde(default)]
    pk: String,
}

/// Which store may answer at an address.
#[derive(Debug, Clone, Copy)]
pub enum Expected<'d> {
    /// The one with this DID.
    Named(&'d Did),
    /// The one that this computer knows; at the first contact whichever answers, because somebody at the terminal reads its DID.
    Shown,
    /// The one that this computer knows; at the first contact the one with this DID, from which an app was installed.
    Installed(&'d str),
    /// The one that this computer knows.
    Known,
}

impl<'d> Expected<'d> {
    /// As the options of a command say, or else whether somebody sits at the terminal.
    pub fn new(named: Option<&'d Did>, is_json: bool) -> Self {
        match named {
            Some(did) => Self::Named(did),
            None if has_terminal(is_json) => Self::Shown,
            None => Self::Known,
        }
    }

    const fn did(self) -> Option<&'d Did> {
        match self {
            Self::Named(did) => Some(did),
            Self::Shown | Self::Installed(_) | Self::Known => None,
        }
    }
}

/// A store that answers with the key that this computer knows.
pub struct Contact {
    pub http: Http,
    pub key: StoreKey,
}

/// A version that can be installed, as developer and store have signed it.
pub struct Offer {
    pub release: Release,
    /// What the store has signed.
    pub statement: Statement,
    /// What the developer has signed.
    pub document: Vec<u8>,
    pub manifest: Manifest,
}

/// A license that is valid.
pub struct Licensed {
    pub statement: Statement,
    pub until: Timestamp,
}

impl Contact {
    /// Reads the key of a store, and compares it with the pinned one, which the first contact pins.
    ///
    /// # Errors
    /// The store does not answer, or with another key, or nobody knows whether it is the right one.
    pub async fn open(stores: &Stores, address: Url, expected: Expected<'_>) -> Result<Self, CustomerError> {
        let contact = Self::read(address).await?;
        if stores.check(&contact.http.address, &contact.key, expected.did())? == Pin::First {
            contact.pin(stores, expected)?;
        }
        Ok(contact)
    }

    /// As [`Self::open`], for a store whose key has changed, as its owner has confirmed.
    pub async fn open_with_new_key(stores: &Stores, address: Url, expected: Expected<'_>) -> Result<Self, CustomerError> {
        let contact = Self::read(address).await?;
        match stores.check(&contact.http.address, &contact.key, expected.did()) {
            Ok(Pin::Known) => {}
            Ok(Pin::First) | Err(StoresError::OtherKey { .. }) => contact.pin(stores, expected)?,
            Err(error) => return Err(error.into()),
        }
        Ok(contact)
    }

    async fn read(address: Url) -> Result<Self, CustomerError> {
        let http = Http::new(address)?;
        let info: StoreInfo = http.get("api/store.json").await?;
        let key = StoreKey::new(&info.id, &info.pk);
        let key = key.map_err(|error| StoresError::Invalid { store: http.address.to_string(), error })?;
        Ok(Self { http, key })
    }

    fn pin(&self, stores: &Stores, expected: Expected<'_>) -> Result<(), CustomerError> {
        let (address, found) = (&self.http.address, &self.key.did);
        match expected {
            Expected::Known => return Err(StoresError::Unknown { store: address.to_string(), found: found.clone() }.into()),
            // It updates nothing that another store has installed.
            Expected::Installed(store) if store != found.as_str() => return Ok(()),
            Expected::Named(_) | Expected::Shown | Expected::Installed(_) => {}
        }
        eprintln!("This is the first contact with {address}. From now on, this computer knows it as {found}.");
        Ok(stores.pin(address, &self.key, SystemClock.now())?)
    }

    /// Reads what the store offers of an app, and verifies the signatures of store and developer. A named version that is not published is
    /// offered to its developer and to reviewers, who are signed in.
    ///
    /// # Errors
    /// The store does not offer it, or a signature or a digest is not valid.
    pub async fn offer(&self, app: &Did, version: Option<&Version>, login: Option<&Login>) -> Result<Offer, CustomerError> {
        let path = match version {
            Some(version) => format!("/api/apps/{app}/versions/{version}/release"),
            None => format!("/api/apps/{app}/release"),
        };
        let asked: Result<Statement, StoreError> = self.http.send(self.reading(None, &path)?).await;
        let answer = match (asked, login) {
            (Err(error), Some(login)) if version.is_some() && error.is_not_found() => {
                self.http.send(self.reading(Some(login), &path)?).await
            }
            (asked, _) => asked,
        };
        let statement = answer.map_err(|error| not_offered(error, app))?;
        let release = self.key.release(&statement, app, now()).map_err(|error| self.untrusted(error))?;
        if version.is_some_and(|version| *version != release.version) {
            return Err(self.untrusted(VerifyError::OtherStatement));
        }
        let is_unpublished = release.unpublished().is_some();
        if version.is_none() && is_unpublished {
            return Err(self.untrusted(VerifyError::NotPublished));
        }
        let path = format!("/api/blocklets/{app}/{}/blocklet.json", release.version);
        let document = self.http.read(self.reading(login.filter(|_| is_unpublished), &path)?).await?;
        let manifest = read_document(&document, &release).map_err(|error| self.untrusted(error))?;
        Ok(Offer { release, statement, document, manifest })
    }

    /// Fetches a license for an app that the signed-in customer has bought.
    ///
    /// # Errors
    /// They do not have it, or are not signed in any more, or the license is not valid.
    pub async fn license(&self, app: &Did, login: &Login) -> Result<Licensed, CustomerError> {
        let call = self.signed(login, Method::GET, &format!("/api/apps/{app}/license"))?;
        let refused = |error: StoreError| match error {
            StoreError::Refused { code, message, .. } if code == "PURCHASE_REQUIRED" => {
                CustomerError::NotBought { message, page: self.page(app) }
            }
            error => not_offered(error, app),
        };
        let statement: Statement = self.http.send(call).await.map_err(refused)?;
        let license = self.key.license(&statement, app, login.key.did(), now()).map_err(|error| self.untrusted(error))?;
        if license.holder.as_str() != login.customer {
            return Err(self.untrusted(VerifyError::OtherStatement));
        }
        Ok(Licensed { statement, until: license.expires_at })
    }

    /// A request of a bundle. One that is sold is for those who have bought it, and one that is not published for those who may see it.
    pub fn bundle(&self, offer: &Offer, login: Option<&Login>) -> Result<RequestBuilder, StoreError> {
        let Release { app, version, .. } = &offer.release;
        match login.filter(|_| offer.release.needs_license()) {
            Some(login) => self.signed(login, Method::GET, &format!("/api/apps/{app}/{version}/bundle")),
            None => {
                let folder = self.http.address.join(&format!("api/blocklets/{app}/{version}/"));
                let mut url = folder.map_err(|error| self.http.not_a_store(error.to_string()))?;
                if let Ok(mut segments) = url.path_segments_mut() {
                    segments.pop_if_empty().push(&offer.manifest.dist.tarball);
                }
                let path = url.path().strip_prefix(self.http.address.path()).unwrap_or_default();
                self.reading(login.filter(|_| offer.release.unpublished().is_some()), &format!("/{path}"))
            }
        }
    }

    /// A request that reads, in the name of whoever is signed in. `path` begins with a slash, as the store sees it.
    fn reading(&self, login: Option<&Login>, path: &str) -> Result<RequestBuilder, StoreError> {
        match login {
            Some(login) => self.signed(login, Method::GET, path),
            None => self.http.request(Method::GET, path.trim_start_matches('/')),
        }
    }

    /// Signs this computer out.
    pub async fn sign_out(&self, login: &Login) -> Result<(), StoreError> {
        let call = self.signed(login, Method::DELETE, "/api/devices/current")?;
        self.http.read(call).await.map(drop)
    }

    fn signed(&self, login: &Login, method: Method, path: &str) -> Result<RequestBuilder, StoreError> {
        let signer = Signer { store: &self.key.did, key: &login.key, header: DEVICE };
        self.http.signed(&signer, method, path, String::new())
    }

    pub fn untrusted(&self, error: VerifyError) -> CustomerError {
        CustomerError::NotVerified { store: self.http.address.to_string(), error }
    }

    /// The page of an app.
    pub fn page(&self, app: &Did) -> String {
        self.http.address.join(&format!("apps/{app}")).map(String::from).unwrap_or_default()
    }
}

fn now() -> Timestamp {
    SystemClock.now()
}

/// What the store answers about something that it does not offer.
const NOT_OFFERED: [&str; 5] = ["APP_BLOCKED", "VERSION_YANKED", "APP_WITHDRAWN", "RELEASE_UNSIGNED", "ONLY_PRE_RELEASES"];

/// Says which refusals mean that there is nothing to install.
fn not_offered(error: StoreError, app: &Did) -> CustomerError {
    match error {
        StoreError::Refused { code, message, .. } if NOT_OFFERED.contains(&code.as_str()) => {
            CustomerError::NotOffered { message: format!("{app}: {message}"), code }
        }
        StoreError::Refused { status: 404, .. } => {
            CustomerError::NotOffered { message: format!("{app}: there is no such app or version in this store"), code: String::new() }
        }
        error => error.into(),
    }
}

#[cfg(test)]
mod tests {
    use super::super::error::Reason;
    use super::super::verify::tests::{release_of, signed, store, store_key, upload};
    use super::*;
    use crate::raw_site::raw_site;
    use serde_json::json;
    use souk_adapters::identity::AppKey;

    fn answer(status: &str, body: &[u8]) -> Vec<u8> {
        let head = format!("HTTP/1.1 {status}\r\nconnection: close\r\ncontent-length: {}\r\n\r\n", body.len());
        [head.as_bytes(), body].concat()
    }

    fn info(key: &AppKey) -> Vec<u8> {
        json!({ "id": key.did().as_str(), "pk": key.public_key_base58(), "name": "Souk" }).to_string().into_bytes()
    }

    /// A store that answers its key, and each other path by its body.
    async fn site(key: AppKey, bodies: Vec<(String, &'static str, Vec<u8>)>) -> Url {
        raw_site(move |request, _| {
            let path = request.split(' ').nth(1).unwrap_or_default().to_owned();
            if path == "/api/store.json" {
                return answer("200 OK", &info(&key));
            }
            let found = bodies.iter().find(|(known, ..)| known.to_lowercase() == path);
            found.map_or_else(|| answer("404 Not Found", br#"{"error":"?","code":"NOT_FOUND"}"#), |(_, status, body)| answer(status, body))
        })
        .await
    }

    #[tokio::test]
    async fn a_key_is_pinned_and_another_store_at_the_address_is_refused_before_anything_else() {
        let home = tempfile::tempdir().expect("a folder");
        let (stores, other) = (Stores::at(home.path()), AppKey::from_seed(&[8; 32]));
        let address = site(store(), Vec::new()).await;
        let contact = Contact::open(&stores, address.clone(), Expected::Shown).await;
        assert_eq!(contact.expect("answers").key.did, *store().did());
        stores.pin(&address, &StoreKey::new(other.did().as_str(), &other.public_key_base58()).expect("a store"), now()).expect("pins");
        let refused = Contact::open(&stores, address.clone(), Expected::Shown).await.err().expect("refused");
        assert_eq!(refused.reason(), Reason::NotVerified, "{refused}");
        for unexpected in [Expected::Named(other.did()), Expected::Known] {
            assert!(Contact::open_with_new_key(&stores, address.clone(), unexpected).await.is_err(), "{unexpected:?}");
        }
        assert!(Contact::open_with_new_key(&stores, address.clone(), Expected::Shown).await.is_ok());
        assert!(Contact::open(&stores, address.clone(), Expected::Named(store().did())).await.is_ok());
        assert!(Contact::open(&stores, address, Expected::Known).await.is_ok());
        // A DID without its key could be anybody's.
        let liar = raw_site(move |_, _| {
            answer("200 OK", json!({ "id": store().did().as_str(), "pk": other.public_key_base58() }).to_string().as_bytes())
        });
        let refused = Contact::open(&stores, liar.await, Expected::Shown).await.err().expect("refused");
        assert!(refused.to_string().contains("does not belong to its DID"), "{refused}");
    }

    #[tokio::test]
    async fn an_unknown_store_is_named_where_nobody_reads_its_did() {
        let home = tempfile::tempdir().expect("a folder");
        let (stores, other) = (Stores::at(home.path()), AppKey::from_seed(&[8; 32]));
        let address = site(store(), Vec::new()).await;
        let refused = Contact::open(&stores, address.clone(), Expected::Known).await.err().expect("refused");
        assert_eq!(refused.reason(), Reason::NotConfirmed, "{refused}");
        assert!(refused.to_string().contains(store().did().as_str()) && refused.to_string().contains("--store-did"), "{refused}");
        // An update knows from which store its app is.
        for (installed, pin) in [(other.did().as_str(), Pin::First), (store().did().as_str(), Pin::Known)] {
            assert!(Contact::open(&stores, address.clone(), Expected::Installed(installed)).await.is_ok());
            assert_eq!(stores.check(&address, &store_key(), None).expect("is no other key"), pin);
        }
        assert!(matches!(Expected::new(None, true), Expected::Known));
        assert!(matches!(Expected::new(Some(other.did()), true), Expected::Named(_)));
    }

    #[tokio::test]
    async fn an_offer_is_verified_and_what_the_store_does_not_offer_is_said_so() {
        let home = tempfile::tempdir().expect("a folder");
        let stores = Stores::at(home.path());
        let upload = upload("1.0.0");
        let packed = upload.sign();
        let at = now();
        let release = Release { issued_at: at, expires_at: at, ..release_of(&upload, &packed) };
        let app = release.app.clone();
        let statement = serde_json::to_vec(&signed(release.text())).expect("JSON");
        let document = packed.document.clone();
        let path = |rest: &str| format!("/api/apps/{}/{rest}", release.app);
        let blocked = br#"{"error":"This app has been blocked","code":"APP_BLOCKED"}"#;
        let address = site(
            store(),
            vec![
                (path("release"), "200 OK", statement.clone()),
                (path("versions/2.0.0/release"), "200 OK", statement),
                (path("versions/3.0.0/release"), "403 Forbidden", blocked.to_vec()),
                (format!("/api/blocklets/{app}/1.0.0/blocklet.json"), "200 OK", document),
            ],
        );
        let contact = Contact::open(&stores, address.await, Expected::Shown).await.expect("answers");
        let offer = contact.offer(&app, None, None).await.expect("is offered");
        assert_eq!((offer.manifest.name.as_str(), offer.release.version), ("night-sky", Version::new(1, 0, 0)));
        for (version, reason) in [(2, Reason::NotVerified), (3, Reason::NotOffered), (4, Reason::NotOffered)] {
            let refused = contact.offer(&app, Some(&Version::new(version, 0, 0)), None).await.err().expect("refused");
            assert_eq!(refused.reason(), reason, "{refused}");
        }
    }
}
