//! `souk update`: brings installed apps to the version that new installs get, and renews their licenses.

use super::consent::{Asking, describe, key_change, needs_consent, one_line};
use super::contact::{Contact, Expected};
use super::error::{CustomerError, Reason};
use super::folder::{AppsFolder, FolderError, Installed};
use super::install::{check_store, fetch_license, keep_license, license_of, put, result};
use super::record::Record;
use super::stores::Stores;
use crate::args::{UpdateArgs, parse_store};
use anstream::println;
use semver::Version;
use serde_json::{Value, json};
use souk_adapters::system::SystemClock;
use souk_domain::access::Did;
use souk_domain::shared::Clock;
use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::sync::Arc;

/// Codes of apps that the store offers no longer and that are used on.
const USED_ON: [&str; 2] = ["APP_WITHDRAWN", "ONLY_PRE_RELEASES"];

pub async fn update(args: &UpdateArgs, stores: &Stores) -> Result<Value, CustomerError> {
    let apps = AppsFolder::open(args.folder.dir.as_deref())?;
    let is_json = args.consent.output.json;
    let session = Session { apps: &apps, stores, asking: Asking::new(&args.consent) };
    let (mut contacts, mut results, mut failures) = (BTreeMap::new(), Vec::new(), Vec::new());
    for (app, found) in wanted(&apps, &args.apps)? {
        let (name, version, updated) = match found {
            Ok(installed) => {
                let updated = match contact_of(&mut contacts, stores, &installed).await {
                    Ok(contact) => session.update(contact, &installed).await,
                    Err(error) => Err(error),
                };
                (format!("{} {}", one_line(&installed.record.title), installed.version), Some(installed.record.version), updated)
            }
            Err(error) => (app.to_string(), None, Err(error.into())),
        };
        let (line, shown) = match updated {
            Ok(updated) => (describe_result(&name, &updated), updated),
            Err(error) => {
                let mut failed = error.json();
                failed["app"] = json!(app.as_str());
                failed["version"] = json!(version);
                let line = format!("{name}: {error}");
                failures.push((name, error.reason()));
                (line, failed)
            }
        };
        if !is_json {
            println!("{line}");
        }
        results.push(shown);
    }
    if results.is_empty() && !is_json {
        println!("No apps are installed here.");
    }
    let Some(error) = summary(&failures) else { return Ok(json!({ "apps": results })) };
    if is_json {
        // Scripts read what happened to each app, whatever the exit code says.
        println!("{}", json!({ "apps": results, "error": error.to_string(), "code": error.reason().name() }));
    }
    Err(error)
}

/// The named apps, or all. One whose record cannot be read does not stop the others.
fn wanted(apps: &AppsFolder, named: &[Did]) -> Result<BTreeMap<Did, Result<Installed, FolderError>>, CustomerError> {
    let (all, mut wanted) = (if named.is_empty() { apps.apps()? } else { named.to_vec() }, BTreeMap::new());
    for app in all {
        match apps.find(&app).transpose() {
            Some(found) => drop(wanted.insert(app, found)),
            None if named.is_empty() => {}
            None => return Err(CustomerError::NotInstalled(app)),
        }
    }
    Ok(wanted)
}

/// The failure of a command of which some apps failed. Its reason is theirs, if they share one.
fn summary(failures: &[(String, Reason)]) -> Option<CustomerError> {
    let (_, first) = failures.first()?;
    let is_shared = failures.iter().all(|(_, reason)| reason == first);
    let names: Vec<_> = failures.iter().map(|(name, _)| name.as_str()).collect();
    Some(CustomerError::Partly(names.join(", "), if is_shared { *first } else { Reason::Failed }))
}

/// The stores of the apps by their addresses, those included that could not be contacted.
type Contacts = BTreeMap<String, Result<Contact, Arc<CustomerError>>>;

/// The store of an app. Each is contacted once, whether it answers or not.
async fn contact_of<'c>(contacts: &'c mut Contacts, stores: &Stores, installed: &Installed) -> Result<&'c Contact, CustomerError> {
    let opened = match contacts.entry(installed.record.store.clone()) {
        Entry::Occupied(known) => known.into_mut(),
        Entry::Vacant(unknown) => {
            let store = parse_store(unknown.key()).map_err(|_| FolderError::Corrupt(installed.path.clone()))?;
            let expected = Expected::Installed(&installed.record.store_did);
            unknown.insert(Contact::open(stores, store, expected).await.map_err(Arc::new))
        }
    };
    opened.as_ref().map_err(|error| CustomerError::Contact(Arc::clone(error)))
}

struct Session<'s> {
    apps: &'s AppsFolder,
    stores: &'s Stores,
    asking: Asking<'s>,
}

impl Session<'_> {
    async fn update(&self, contact: &Contact, installed: &Installed) -> Result<Value, CustomerError> {
        let (apps, app) = (self.apps, &installed.app);
        check_store(apps, contact, Some(installed))?;
        let login = self.stores.login(&contact.http.address)?;
        let offer = match contact.offer(app, None, None).await {
            Err(CustomerError::NotOffered { message, code }) => {
                // The license of a withdrawn app is renewed, because who has it uses it on. That of a blocked one is refused, and removed.
                let license = match installed.record.is_paid {
                    true => match fetch_license(apps, contact, app, login.as_ref()).await {
                        // It has become free since.
                        Err(CustomerError::Store(error)) if error.code() == "LICENSE_NOT_NEEDED" => None,
                        fetched => Some(fetched?),
                    },
                    false => None,
                };
                let note = match installed.record.review_state() {
                    Some(state) if code.is_empty() => format!("no version is published, and this one was {state} when it was installed"),
                    _ if USED_ON.contains(&code.as_str()) => message,
                    _ => return Err(CustomerError::NotOffered { message, code }),
                };
                keep_license(apps, app, license.as_ref())?;
                return Ok(noted(result("unchanged", &installed.record, &installed.path, license.as_ref()), Some(note)));
            }
            offer => offer?,
        };
        // What was installed before it was published is installed again, as a published one.
        let is_published_since = offer.release.version == installed.version && installed.record.unpublished.is_some();
        let stays = offer.release.version <= installed.version && !is_published_since;
        let license = match license_of(apps, contact, &offer, login.as_ref()).await {
            // It was free when it was installed: only its updates must be bought.
            Err(error) if stays && !installed.record.is_paid && lacks_purchase(&error) => None,
            license => license?,
        };
        if stays {
            if license.is_some() || !offer.release.is_paid {
                keep_license(apps, app, license.as_ref())?;
            }
            let state = || installed.record.review_state().map(|state| format!("it was not published when it was installed: {state}"));
            let note = lower_offer(app, &installed.version, &offer.release.version).or_else(state);
            return Ok(noted(result("unchanged", &installed.record, &installed.path, license.as_ref()), note));
        }
        let record = Record::new(&contact.http.address, &offer.release, &offer.manifest, SystemClock.now());
        if needs_consent(&record, &installed.record) {
            // The installed version is used on, whatever the answer is.
            if installed.record.is_paid {
                keep_license(apps, app, license.as_ref())?;
            }
            eprint!("{}", describe(&record, Some(&installed.record)));
            self.asking.ask(&record, Some(&installed.record), "Update it?")?;
        }
        let path = put(apps, contact, &offer, &record, login.as_ref()).await?;
        keep_license(apps, app, license.as_ref())?;
        Ok(noted(result("updated", &record, &path, license.as_ref()), key_change(&record, &installed.record)))
    }
}

fn noted(mut result: Value, note: Option<String>) -> Value {
    if let Some(note) = note {
        result["note"] = json!(note);
    }
    result
}

/// That new installs get a lower version than the installed release, if they do: the developer has withdrawn that one or gone back.
fn lower_offer(app: &Did, installed: &Version, offered: &Version) -> Option<String> {
    let is_lower = installed.pre.is_empty() && offered < installed;
    is_lower.then(|| format!("new installs get {offered}: run `souk install {app}@{offered}` to go back to it"))
}

/// Whether somebody lacks a license because they have not bought the app, or are not signed in.
fn lacks_purchase(error: &CustomerError) -> bool {
    matches!(error.reason(), Reason::PurchaseRequired | Reason::SignInRequired)
}

/// What happened to an app in one line, which begins with its title and the version that was installed.
fn describe_result(name: &str, result: &Value) -> String {
    let license = match result["licensed_until"].as_str() {
        Some(until) => format!(", licensed until {until}"),
        None => String::new(),
    };
    let note = result["note"].as_str().map(|note| format!(" ({})", one_line(note))).unwrap_or_default();
    match (result["result"].as_str(), result["version"].as_str()) {
        (Some("updated"), Some(to)) => format!("{name}: updated to {}{license}{note}", one_line(to)),
        _ => format!("{name}: up to date{license}{note}"),
    }
}

#[cfg(test)]
mod tests {
    use super::super::verify::read_document;
    use super::super::verify::tests::{NOW, release_of, upload};
    use super::*;
    use crate::raw_site::raw_site;
    use std::os::unix::fs::symlink;
    use std::sync::atomic::{AtomicUsize, Ordering};

    #[test]
    fn a_shared_reason_is_that_of_the_command() {
        let failed = |title: &str, reason| (title.to_owned(), reason);
        assert!(summary(&[]).is_none());
        let shared = summary(&[failed("Atlas", Reason::PurchaseRequired), failed("Orbit", Reason::PurchaseRequired)]).expect("fails");
        assert_eq!((shared.reason(), shared.to_string().as_str()), (Reason::PurchaseRequired, "not all apps were updated: Atlas, Orbit"));
        let mixed = summary(&[failed("Atlas", Reason::PurchaseRequired), failed("Orbit", Reason::NotVerified)]).expect("fails");
        assert_eq!(mixed.reason(), Reason::Failed);
    }

    #[test]
    fn an_update_says_that_new_installs_get_a_lower_version_than_the_installed_release() {
        let app = upload("1.0.0").did();
        let version = |text: &str| Version::parse(text).expect("a version");
        let note = lower_offer(&app, &version("1.2.0"), &version("1.1.0")).expect("is lower");
        assert!(note.contains(&format!("souk install {app}@1.1.0")), "{note}");
        let shown = noted(json!({ "result": "unchanged", "version": "1.2.0" }), Some(note.clone()));
        assert_eq!(describe_result("Atlas 1.2.0", &shown), format!("Atlas 1.2.0: up to date ({note})"));
        // A chosen pre-release is higher than the release before it.
        for (installed, offered) in [("1.2.0", "1.2.0"), ("1.2.0", "1.3.0"), ("1.2.0-beta.1", "1.1.0")] {
            assert_eq!(lower_offer(&app, &version(installed), &version(offered)), None, "{installed}");
        }
    }

    #[tokio::test]
    async fn a_store_that_does_not_answer_is_contacted_once() {
        let home = tempfile::tempdir().expect("a folder");
        let (apps, stores) = (AppsFolder::open(Some(home.path())).expect("opens"), Stores::at(home.path()));
        let mut contacts = Contacts::new();
        let upload = upload("1.0.0");
        let packed = upload.sign();
        let release = release_of(&upload, &packed);
        let manifest = read_document(&packed.document, &release).expect("is valid");
        let contacted = Arc::new(AtomicUsize::new(0));
        let counter = Arc::clone(&contacted);
        let store = raw_site(move |_, _| {
            counter.fetch_add(1, Ordering::Relaxed);
            let body = r#"{"error":"Try again later"}"#;
            let head = format!("HTTP/1.1 503 Service Unavailable\r\nconnection: close\r\ncontent-length: {}\r\n\r\n", body.len());
            [head.as_bytes(), body.as_bytes()].concat()
        });
        let record = Record::new(&store.await, &release, &manifest, NOW);
        let installed = Installed { app: release.app.clone(), version: release.version, path: apps.files(&release.app), record };
        for _ in 0..2 {
            let refused = contact_of(&mut contacts, &stores, &installed).await.err().expect("fails");
            assert_eq!(refused.reason(), Reason::Unreachable, "{refused}");
        }
        assert_eq!(contacted.load(Ordering::Relaxed), 1);
    }

    #[test]
    fn an_app_whose_record_cannot_be_read_is_one_of_the_wanted_and_one_that_is_not_installed_is_none() {
        let home = tempfile::tempdir().expect("a folder");
        let apps = AppsFolder::open(Some(home.path())).expect("opens");
        let app = upload("1.0.0").did();
        let named = std::slice::from_ref(&app);
        std::fs::create_dir(apps.app(&app)).expect("creates");
        assert!(wanted(&apps, &[]).expect("lists").is_empty());
        assert!(matches!(wanted(&apps, named), Err(CustomerError::NotInstalled(_))));
        symlink("/etc", apps.app(&app).join("current")).expect("links");
        for found in [wanted(&apps, &[]), wanted(&apps, named)] {
            assert!(matches!(found.expect("lists").get(&app), Some(Err(FolderError::Corrupt(_)))));
        }
    }
}
