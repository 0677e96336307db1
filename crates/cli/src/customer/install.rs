//! `souk install`: verifies a version, asks, and puts it in the place of the installed one.

use super::consent::{Asking, describe, json_of, one_line};
use super::contact::{Contact, Expected, Licensed, Offer};
use super::download::{Wanted, download};
use super::error::CustomerError;
use super::folder::{AppsFolder, Installed};
use super::record::{NewVersion, Record};
use super::stores::{Login, Stores};
use crate::args::InstallArgs;
use crate::error::FileError;
use anstream::println;
use serde_json::{Value, json};
use souk_adapters::bundles::unpack;
use souk_adapters::system::{SystemClock, SystemRandom};
use souk_domain::access::Did;
use souk_domain::publishing::BUNDLE_MAX_MB;
use souk_domain::publishing::bundle::archive::{ArchiveError, ArchiveLimits};
use souk_domain::publishing::review::VersionStatus;
use souk_domain::shared::{Clock, Random};
use std::fs::{self, File};
use std::path::{Path, PathBuf};

pub async fn install(args: &InstallArgs, stores: &Stores) -> Result<Value, CustomerError> {
    let (wanted, is_json) = (&args.app, args.consent.output.json);
    let address = stores.choose(args.store.as_ref())?;
    let contact = Contact::open(stores, address, Expected::new(args.expected.store_did.as_ref(), is_json)).await?;
    let apps = AppsFolder::open(args.folder.dir.as_deref())?;
    let installed = apps.find(&wanted.did)?;
    check_store(&apps, &contact, installed.as_ref())?;
    let login = stores.login(&contact.http.address)?;
    let offer = contact.offer(&wanted.did, wanted.version.as_ref(), login.as_ref()).await?;
    // Before anything is asked, so that nobody agrees to what they do not get.
    let license = license_of(&apps, &contact, &offer, login.as_ref()).await?;
    // Without a named version, a newer one that the user has chosen stays.
    let stays =
        |installed: &&Installed| is_same(installed, &offer) || (wanted.version.is_none() && installed.version > offer.release.version);
    // A version that is not published needs no license, and leaves that of the published one.
    let keeps = || match offer.release.unpublished() {
        None => keep_license(&apps, &wanted.did, license.as_ref()),
        Some(_) => Ok(()),
    };
    if let Some(installed) = installed.as_ref().filter(stays) {
        keeps()?;
        if !is_json {
            let title = one_line(&installed.record.title);
            let state = installed.record.review_state().map(|state| format!(" (not published: {})", one_line(state))).unwrap_or_default();
            println!("{title} {}{state} is installed already, in {}.", installed.version, installed.path.display());
        }
        return Ok(result("unchanged", &installed.record, &installed.path, license.as_ref()));
    }
    let record = Record::new(&contact.http.address, &offer.release, &offer.manifest, SystemClock.now());
    let former = installed.as_ref().map(|installed| &installed.record);
    eprint!("{}", describe(&record, former));
    let question = if former.is_some() { "Replace the installed version?" } else { "Install it?" };
    Asking::new(&args.consent).ask(&record, former, question)?;
    let path = put(&apps, &contact, &offer, &record, login.as_ref()).await?;
    keeps()?;
    if !is_json {
        println!("Installed {} {} in {}.", one_line(&record.title), record.version, path.display());
    }
    Ok(result("installed", &record, &path, license.as_ref()))
}

/// An app that comes from another store is not replaced: its developer is known to that store only.
pub fn check_store(apps: &AppsFolder, contact: &Contact, installed: Option<&Installed>) -> Result<(), CustomerError> {
    match installed.filter(|installed| installed.record.store_did != contact.key.did.as_str()) {
        None => Ok(()),
        Some(other) => Err(CustomerError::OtherStore {
            title: one_line(&other.record.title),
            other: other.record.store.clone(),
            folder: apps.app(&other.app).display().to_string(),
        }),
    }
}

/// Whether the installed version is the offered one, with the same bundle and the same status of its review.
fn is_same(installed: &Installed, offer: &Offer) -> bool {
    let status = offer.release.unpublished().map(VersionStatus::name);
    installed.version == offer.release.version
        && installed.record.bundle_sha256 == offer.release.bundle
        && installed.record.unpublished.as_deref() == status
}

/// Fetches a license for an app that is sold; `None`: it is free, or the version is not published.
///
/// # Errors
/// As [`fetch_license`].
pub async fn license_of(
    apps: &AppsFolder,
    contact: &Contact,
    offer: &Offer,
    login: Option<&Login>,
) -> Result<Option<Licensed>, CustomerError> {
    match offer.release.needs_license() {
        true => fetch_license(apps, contact, &offer.release.app, login).await.map(Some),
        false => Ok(None),
    }
}

/// Fetches a license for an app that is sold.
///
/// # Errors
/// The user is not signed in, or does not have the app any more. Then a license that was stored is removed.
pub async fn fetch_license(apps: &AppsFolder, contact: &Contact, app: &Did, login: Option<&Login>) -> Result<Licensed, CustomerError> {
    let login = login.ok_or_else(|| CustomerError::SignedOut(contact.http.address.to_string()))?;
    let fetched = contact.license(app, login).await;
    if matches!(fetched, Err(CustomerError::NotBought { .. } | CustomerError::NotOffered { .. })) {
        apps.remove_license(app)?;
    }
    fetched
}

/// Stores the license of an installed app, or removes one that it does not need any more.
pub fn keep_license(apps: &AppsFolder, app: &Did, license: Option<&Licensed>) -> Result<(), CustomerError> {
    match license {
        Some(license) => Ok(apps.write_license(app, &license.statement)?),
        None => Ok(apps.remove_license(app).map(drop)?),
    }
}

/// The limits of a bundle in any store. Its size is what both the store and the developer have signed.
fn limits() -> ArchiveLimits {
    ArchiveLimits { compressed_max: u64::from(BUNDLE_MAX_MB) << 20, ..ArchiveLimits::default() }
}

/// Downloads, verifies and unpacks a version, and makes it the installed one. Returns where its files are.
pub async fn put(
    apps: &AppsFolder,
    contact: &Contact,
    offer: &Offer,
    record: &Record,
    login: Option<&Login>,
) -> Result<PathBuf, CustomerError> {
    let (app, limits) = (&offer.release.app, limits());
    // Before it fills the disk.
    if offer.manifest.dist.size > limits.compressed_max {
        return Err(CustomerError::Archive(ArchiveError::CompressedTooLarge { max: limits.compressed_max }.into()));
    }
    let part = apps.part(app, &offer.release.bundle, SystemClock.now())?;
    let request = || contact.bundle(offer, login);
    download(&Wanted::new(&contact.http, &offer.release, &offer.manifest, &request), &part).await?;
    let staged = apps.stage(app, &offer.release.version, &(&SystemRandom as &dyn Random).bytes())?;
    let bundle = File::open(&part).map_err(FileError::at(&part))?;
    unpack(bundle, offer.manifest.dist.size, &limits, &staged.files())?;
    let left = staged.activate(&NewVersion { record, document: &offer.document, release: &offer.statement })?;
    if let Some(left) = left {
        eprintln!("The former version could not be removed: {left}");
    }
    fs::remove_file(&part).map_err(FileError::at(&part))?;
    Ok(apps.files(app))
}

/// What happened to an app, as `--json` prints it.
pub fn result(what: &str, record: &Record, path: &Path, license: Option<&Licensed>) -> Value {
    json!({
        "result": what,
        "app": record.app,
        "name": record.name,
        "version": record.version,
        "developer": record.developer,
        "signer": record.signer,
        "store": record.store,
        "unpublished": record.unpublished,
        "path": path.to_string_lossy(),
        "licensed_until": license.map(|license| license.until.to_iso()),
        "may": json_of(&record.risks()),
    })
}
