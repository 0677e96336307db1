//! Verifies what a store has sent: its signed statements, the document of the developer, and the bundle.

use super::error::VerifyError;
use crate::report::printable;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256, Sha512};
use souk_adapters::bundles::parse_json;
use souk_adapters::identity::{CheckedAppDids, Ed25519TokenKeys, PublicKey, parse_did};
use souk_domain::access::Did;
use souk_domain::publishing::access_tokens::{SIGNED_REQUEST_SKEW, TokenKeys};
use souk_domain::publishing::bundle::{AppDids, Manifest, read_manifest};
use souk_domain::publishing::installing::{License, Release};
use souk_domain::shared::Timestamp;
use std::io::{self, Read};

/// The bytes of a bundle that are read at a time.
const CHUNK: usize = 64 << 10;

/// A text that a store has signed, as it is sent and kept.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Statement {
    pub statement: String,
    pub public_key: String,
    pub signature: String,
}

/// A store by its key. The DID is derived from the key.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StoreKey {
    pub did: Did,
    /// Multibase base58btc.
    pub public_key: String,
}

impl StoreKey {
    /// # Errors
    /// The DID is none, or another key's.
    pub fn new(did: &str, public_key: &str) -> Result<Self, VerifyError> {
        let did = parse_did(did).map_err(|_| VerifyError::StoreKey)?;
        PublicKey::of_did_base58(&did, public_key).map_err(|_| VerifyError::StoreKey)?;
        Ok(Self { did, public_key: public_key.to_owned() })
    }

    /// The text of a statement that this store has signed.
    fn open<'s>(&self, signed: &'s Statement) -> Result<&'s str, VerifyError> {
        let digest = Ed25519TokenKeys.digest(signed.statement.as_bytes());
        let is_genuine = signed.public_key == self.public_key && Ed25519TokenKeys.is_valid(&self.public_key, &digest, &signed.signature);
        if is_genuine { Ok(&signed.statement) } else { Err(VerifyError::StoreSignature) }
    }

    /// The release that a statement is about, which must be of this app and valid now.
    pub fn release(&self, signed: &Statement, app: &Did, now: Timestamp) -> Result<Release, VerifyError> {
        let release = Release::parse(self.open(signed)?, &parse).ok_or(VerifyError::Statement)?;
        if release.store != self.did || release.app != *app {
            return Err(VerifyError::OtherStatement);
        }
        check_time(release.issued_at, release.expires_at, now)?;
        Ok(release)
    }

    /// The license that a statement is, which must be for this app and this computer, and valid now.
    pub fn license(&self, signed: &Statement, app: &Did, device: &Did, now: Timestamp) -> Result<License, VerifyError> {
        let license = License::parse(self.open(signed)?, &parse).ok_or(VerifyError::Statement)?;
        if license.store != self.did || license.app != *app || license.device != *device {
            return Err(VerifyError::OtherStatement);
        }
        check_time(license.issued_at, license.expires_at, now)?;
        Ok(license)
    }
}

fn parse(text: &str) -> Option<Did> {
    parse_did(text).ok()
}

/// Clocks may differ as much as those of signed requests.
fn check_time(issued_at: Timestamp, expires_at: Timestamp, now: Timestamp) -> Result<(), VerifyError> {
    let is_valid = issued_at <= now.plus(SIGNED_REQUEST_SKEW) && now <= expires_at.plus(SIGNED_REQUEST_SKEW);
    if is_valid { Ok(()) } else { Err(VerifyError::Time) }
}

/// Reads the document that a developer has signed, and checks it against what the store says of it.
///
/// # Errors
/// It is another document, its signature is not valid, or one of the two says otherwise.
pub fn read_document(bytes: &[u8], release: &Release) -> Result<Manifest, VerifyError> {
    if hex::encode(Sha256::digest(bytes)) != release.document {
        return Err(VerifyError::DocumentDigest);
    }
    // What it quotes of the document is not verified.
    let json = parse_json(bytes).map_err(|error| VerifyError::Document(printable(&error.to_string())))?;
    let file = read_manifest(&json, &CheckedAppDids).map_err(|errors| VerifyError::Document(printable(&errors.to_string())))?;
    if !CheckedAppDids.verifies(&file.signature) {
        return Err(VerifyError::DeveloperSignature);
    }
    let manifest = file.manifest;
    for (is_same, what) in [
        (file.signature.signer == release.signer, "who has signed it"),
        (manifest.did == release.app, "the DID of the app"),
        (manifest.name == release.name, "the name of the app"),
        (manifest.version == release.version, "the version"),
        (manifest.dist.size == release.size, "the size of the bundle"),
    ] {
        if !is_same {
            return Err(VerifyError::Differs(what));
        }
    }
    Ok(manifest)
}

/// The digests of a bundle, as the store and the developer write them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Digests {
    sha256: String,
    integrity: String,
    size: u64,
}

impl Digests {
    /// Reads a whole bundle.
    pub fn of(mut bundle: impl Read) -> io::Result<Self> {
        let (mut sha256, mut sha512, mut size, mut buffer) = (Sha256::new(), Sha512::new(), 0, vec![0; CHUNK]);
        loop {
            let count = bundle.read(&mut buffer)?;
            if count == 0 {
                let integrity = format!("sha512-{}", STANDARD.encode(sha512.finalize()));
                return Ok(Self { sha256: hex::encode(sha256.finalize()), integrity, size });
            }
            let read = buffer.get(..count).unwrap_or_default();
            sha256.update(read);
            sha512.update(read);
            size += count as u64;
        }
    }

    /// Whether both the developer and the store have named this bundle.
    pub fn are_of(&self, release: &Release, manifest: &Manifest) -> bool {
        self.sha256 == release.bundle && self.integrity == manifest.dist.integrity && self.size == manifest.dist.size
    }
}

#[cfg(test)]
pub mod tests {
    use super::*;
    use souk_adapters::identity::AppKey;
    use souk_adapters::testing::upload::{SignedUpload, TestUpload};
    use souk_domain::publishing::installing::{LICENSE_LIFETIME, RELEASE_LIFETIME, ReleaseStage};
    use souk_domain::shared::Mode;

    pub const NOW: Timestamp = Timestamp::from_seconds(1_800_000_000);

    pub fn store() -> AppKey {
        AppKey::from_seed(&[9; 32])
    }

    pub fn store_key() -> StoreKey {
        StoreKey::new(store().did().as_str(), &store().public_key_base58()).expect("a store")
    }

    pub fn signed(text: String) -> Statement {
        let signature = store().sign_base58(text.as_bytes());
        Statement { statement: text, public_key: store().public_key_base58(), signature }
    }

    pub fn upload(version: &str) -> TestUpload {
        TestUpload::new(1, "night-sky", version, NOW)
    }

    pub fn release_of(upload: &TestUpload, signed: &SignedUpload) -> Release {
        Release {
            store: store().did().clone(),
            app: upload.did(),
            name: upload.name.clone(),
            version: semver::Version::parse(&upload.version).expect("a version"),
            developer: Did::from_verified("z1muQ3xqHQK2uiACHyChikobsiY5kLqtShA"),
            signer: upload.key.did().clone(),
            document: hex::encode(Sha256::digest(&signed.document)),
            bundle: hex::encode(Sha256::digest(&signed.bundle)),
            size: signed.bundle.len() as u64,
            is_paid: false,
            stage: ReleaseStage::Published(NOW),
            issued_at: NOW,
            expires_at: NOW.plus(RELEASE_LIFETIME),
        }
    }

    fn altered(text: &str) -> String {
        text.replace("1.0.0", "1.0.1")
    }

    #[test]
    fn a_release_is_accepted_as_its_store_has_signed_it_and_while_it_is_valid() {
        let (upload, key) = (upload("1.0.0"), store_key());
        let release = release_of(&upload, &upload.sign());
        let statement = signed(release.text());
        assert_eq!(key.release(&statement, &upload.did(), NOW), Ok(release.clone()));
        let changed = Statement { statement: altered(&statement.statement), ..statement.clone() };
        assert_eq!(key.release(&changed, &upload.did(), NOW), Err(VerifyError::StoreSignature));
        // Another key signs for the store, and says so or not.
        let other = AppKey::from_seed(&[8; 32]);
        let forged = Statement { signature: other.sign_base58(statement.statement.as_bytes()), ..statement.clone() };
        let named = Statement { public_key: other.public_key_base58(), ..forged.clone() };
        for forged in [forged, named] {
            assert_eq!(key.release(&forged, &upload.did(), NOW), Err(VerifyError::StoreSignature));
        }
        assert_eq!(key.release(&statement, store().did(), NOW), Err(VerifyError::OtherStatement));
        let of_other_store = signed(Release { store: other.did().clone(), ..release.clone() }.text());
        assert_eq!(key.release(&of_other_store, &upload.did(), NOW), Err(VerifyError::OtherStatement));
        assert_eq!(key.release(&signed("souk-release-1\n".to_owned()), &upload.did(), NOW), Err(VerifyError::Statement));
        let late = release.expires_at.plus(SIGNED_REQUEST_SKEW);
        assert!(key.release(&statement, &upload.did(), late).is_ok());
        for time in [Timestamp::from_micros(late.micros() + 1), Timestamp::from_micros(NOW.minus(SIGNED_REQUEST_SKEW).micros() - 1)] {
            assert_eq!(key.release(&statement, &upload.did(), time), Err(VerifyError::Time));
        }
    }

    #[test]
    fn a_license_is_accepted_for_its_app_and_computer_only() {
        let (key, app, device) = (store_key(), upload("1.0.0").did(), upload("1.0.0").key.did().clone());
        let license = License {
            store: store().did().clone(),
            app: app.clone(),
            holder: device.clone(),
            device: device.clone(),
            mode: Mode::Test,
            issued_at: NOW,
            expires_at: NOW.plus(LICENSE_LIFETIME),
        };
        let statement = signed(license.text());
        assert_eq!(key.license(&statement, &app, &device, NOW), Ok(license));
        assert_eq!(key.license(&statement, &app, &app, NOW), Err(VerifyError::OtherStatement));
        assert_eq!(key.license(&statement, &device, &device, NOW), Err(VerifyError::OtherStatement));
        assert_eq!(key.release(&statement, &app, NOW), Err(VerifyError::Statement), "a license is no release");
    }

    #[test]
    fn a_document_is_accepted_as_its_developer_has_signed_it_and_as_the_store_names_it() {
        let upload = upload("1.0.0");
        let signed = upload.sign();
        let release = release_of(&upload, &signed);
        assert_eq!(read_document(&signed.document, &release).expect("is valid").name, "night-sky");
        let other = altered(&String::from_utf8(signed.document.clone()).expect("text"));
        assert_eq!(read_document(other.as_bytes(), &release), Err(VerifyError::DocumentDigest));
        // The store names the altered document: the signature of the developer does not fit.
        let named = Release { document: hex::encode(Sha256::digest(other.as_bytes())), ..release.clone() };
        assert_eq!(read_document(other.as_bytes(), &named), Err(VerifyError::DeveloperSignature));
        let stranger = Did::from_verified("z1muQ3xqHQK2uiACHyChikobsiY5kLqtShA");
        for (release, what) in [
            (Release { signer: stranger, ..release.clone() }, "who has signed it"),
            (Release { name: "other".to_owned(), ..release.clone() }, "the name of the app"),
            (Release { version: semver::Version::new(2, 0, 0), ..release.clone() }, "the version"),
            (Release { size: release.size + 1, ..release.clone() }, "the size of the bundle"),
        ] {
            assert_eq!(read_document(&signed.document, &release), Err(VerifyError::Differs(what)));
        }
    }

    #[test]
    fn a_bundle_is_the_one_that_both_have_named() {
        let upload = upload("1.0.0");
        let signed = upload.sign();
        let release = release_of(&upload, &signed);
        let manifest = read_document(&signed.document, &release).expect("is valid");
        let is_of = |bundle: &[u8], release: &Release| Digests::of(bundle).expect("reads").are_of(release, &manifest);
        assert!(is_of(&signed.bundle, &release));
        assert!(!is_of(&signed.bundle[1..], &release));
        assert!(!is_of(&signed.bundle, &Release { bundle: "00".repeat(32), ..release.clone() }));
    }

    // The test vectors of docs/INSTALLING.md, from another implementation. The store has the published example key of `@ocap/wallet`.
    const SEED: &str = "D67C071B6F51D2B61180B9B1AA9BE0DD0704619F0E30453AB4A592B036EDE644";
    const STORE: &str = "zNKtCNqYWLYWYW3gWRA1vnRykfCBZYHZvzKr";
    const PUBLIC_KEY: &str = "zGP3jQCkz7WcgRo4nbrVGeUmCCbR5BgsDMgN6SFitwj8A";
    const LICENSE: &str = "souk-license-1\n\
                           store: zNKtCNqYWLYWYW3gWRA1vnRykfCBZYHZvzKr\n\
                           app: z8iZuQWKW1JsdoQdR98kuBmnoqeddAK8oP4Nd\n\
                           holder: z1UwTcj7ZXBKC8GUwSKW25hsnNvRZE8UYHb\n\
                           device: z1SHsyFU181mnwC46J3fciVXhA3omZgv9Wx\n\
                           mode: live\n\
                           issued: 2027-01-15T08:00:00.000Z\n\
                           expires: 2027-02-14T08:00:00.000Z\n";
    const LICENSE_SIGNATURE: &str = "z3dBtNqeV8DnUMZ5Z6aDiYxcUY4E3aKx2FKR5FJeXEgr5XpxABaxFLHAsew2xAoLzDNsHYT6KAQsszVXrrQFhVCxg";
    const RELEASE: &str = "souk-release-1\n\
                           store: zNKtCNqYWLYWYW3gWRA1vnRykfCBZYHZvzKr\n\
                           app: z8iZuQWKW1JsdoQdR98kuBmnoqeddAK8oP4Nd\n\
                           name: night-sky\n\
                           version: 1.0.1\n\
                           developer: z1e1gtMvLzDaoE31X2rYsMFZHDvc6mqZWYM\n\
                           signer: z1VaNrBpf5Ti7LNpc9u9Ebmoz3mCJpousn8\n\
                           document-sha256: aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa\n\
                           bundle-sha256: bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb\n\
                           size: 12345\n\
                           price: paid\n\
                           published: 2027-01-15T08:00:00.000Z\n\
                           issued: 2027-01-15T08:01:40.000Z\n\
                           expires: 2027-01-15T09:01:40.000Z\n";
    const RELEASE_SIGNATURE: &str = "z3b365MHhCeEnMSJhdPDozr7tA6yoonA4tv3V584DGYmk2FuxztPFaB2L8RqSVewioDgL8MwJNk5cRLoeum4NmqUM";

    #[test]
    fn the_documented_statements_are_accepted_and_signed_alike() {
        let seed: [u8; 32] = hex::decode(SEED).expect("hex").try_into().expect("32 bytes");
        let (signer, key) = (AppKey::from_seed(&seed), StoreKey::new(STORE, PUBLIC_KEY).expect("a store"));
        assert_eq!((signer.did().as_str(), signer.public_key_base58().as_str()), (STORE, PUBLIC_KEY));
        let did = |text: &str| parse_did(text).expect("a DID");
        let (app, device) = (did("z8iZuQWKW1JsdoQdR98kuBmnoqeddAK8oP4Nd"), did("z1SHsyFU181mnwC46J3fciVXhA3omZgv9Wx"));
        let statement = |text: &str, signature: &str| Statement {
            statement: text.to_owned(),
            public_key: PUBLIC_KEY.to_owned(),
            signature: signature.to_owned(),
        };
        let license = key.license(&statement(LICENSE, LICENSE_SIGNATURE), &app, &device, NOW).expect("a license");
        let release = key.release(&statement(RELEASE, RELEASE_SIGNATURE), &app, NOW).expect("a release");
        let documented = std::fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/INSTALLING.md")).expect("the document");
        for (written, text, signature) in [(license.text(), LICENSE, LICENSE_SIGNATURE), (release.text(), RELEASE, RELEASE_SIGNATURE)] {
            assert_eq!((written.as_str(), signer.sign_base58(text.as_bytes()).as_str()), (text, signature));
            assert!(documented.contains(text) && documented.contains(signature), "{text}");
        }
    }
}
