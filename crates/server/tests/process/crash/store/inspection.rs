//! Reads everything that the store shows of the sent versions, as their developers and as visitors, while nobody else uses it. A version is
//! there with its file, its manifest, its listing and its entry in the log, or it is not there.
//!
//! Jobs of the store go on meanwhile, and may publish a version between two reads. So the log is read before and after everything else:
//! what it says first must be shown, and what is shown must be in it last.

use super::public_log::PublicLog;
use super::publishers::{Sent, SentApp};
use super::sha256;
use crate::developer::CHECKS;
use crate::store_client::{CallError, StoreClient};
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};

const PAGE: usize = 100;

/// A version as its developer sees it.
struct Uploaded {
    status: String,
    is_yanked: bool,
}

impl Uploaded {
    fn is_offered(&self) -> bool {
        self.status == "PUBLISHED" && !self.is_yanked
    }
}

#[derive(Default)]
pub struct Inspector {
    log: PublicLog,
    /// Versions whose files were read, with their status at that time.
    read: BTreeSet<(String, String, String)>,
}

impl Inspector {
    /// Lets the next inspection read the files of all versions again. Otherwise each is read when it is new, and when it is published.
    pub fn forget(&mut self) {
        self.read.clear();
    }

    /// Returns what is wrong.
    pub async fn inspect(&mut self, client: &StoreClient, apps: &[SentApp]) -> Vec<String> {
        let mut wrong = self.log.read_on(client).await;
        for app in apps {
            let mut found = Found { client, app, wrong: Vec::new() };
            self.inspect_app(&mut found).await;
            wrong.extend(found.wrong);
        }
        wrong
    }

    async fn inspect_app(&mut self, found: &mut Found<'_>) {
        let (client, app) = (found.client, found.app);
        let was_published = |version: &String| !self.log.publications(&app.did, version).is_empty();
        let published: BTreeSet<_> = app.versions.keys().filter(|version| was_published(version)).cloned().collect();
        let listing = found.get(&format!("api/apps/{}", app.did), None).await;
        let visible = self.visible(found).await;
        let uploads = found.uploads().await;
        let more = self.log.read_on(client).await;
        found.wrong.extend(more);

        found.check_answers(&uploads);
        for (version, uploaded) in &uploads {
            self.check_log(found, version, uploaded, published.contains(version));
        }
        let is_offered = |version: &String| uploads.get(version).is_some_and(Uploaded::is_offered);
        for version in visible.iter().filter(|version| !is_offered(version)) {
            found.fail(version, "is visible to visitors and not published");
        }
        let expected: BTreeSet<_> = published.into_iter().filter(is_offered).collect();
        found.check_listing(listing.as_ref(), &uploads, &expected).await;
        for (version, uploaded) in &uploads {
            let key = (app.did.clone(), version.clone(), uploaded.status.clone());
            let Some(sent) = app.versions.get(version).filter(|_| !self.read.contains(&key)) else { continue };
            found.check_files(version, sent, uploaded).await;
            self.read.insert(key);
        }
    }

    /// The versions whose manifest visitors can read, of those that were not read as published ones.
    async fn visible(&self, found: &mut Found<'_>) -> Vec<String> {
        let (app, mut visible) = (found.app, Vec::new());
        for version in app.versions.keys() {
            let is_read = self.read.contains(&(app.did.clone(), version.clone(), "PUBLISHED".to_owned()));
            if !is_read && found.fetch(&manifest_path(app, version), None).await.is_some() {
                visible.push(version.clone());
            }
        }
        visible
    }

    /// A version is published if and only if the log says so once, with its document.
    fn check_log(&self, found: &mut Found<'_>, version: &str, uploaded: &Uploaded, was_published: bool) {
        let app = found.app;
        let publications = self.log.publications(&app.did, version);
        let document = app.versions.get(version).map(|sent| sha256(&sent.document));
        if uploaded.status == "PUBLISHED" {
            if publications != Vec::from_iter(document) {
                found.fail(version, &format!("is published, and the log says {publications:?}"));
            }
        } else if was_published {
            found.fail(version, &format!("is {}, and published in the log", uploaded.status));
        }
        if uploaded.is_yanked != self.log.is_yanked(&app.did, version) {
            found.fail(version, "is yanked and not in the log, or the other way round");
        }
    }
}

fn manifest_path(app: &SentApp, version: &str) -> String {
    format!("api/blocklets/{}/{version}/blocklet.json", app.did)
}

/// What an inspection finds of an app.
struct Found<'f> {
    client: &'f StoreClient,
    app: &'f SentApp,
    wrong: Vec<String>,
}

impl Found<'_> {
    fn fail(&mut self, version: &str, what: &str) {
        self.wrong.push(format!("{} {version} {what}", self.app.name));
    }

    /// A JSON answer; `None`: there is no such thing.
    async fn get(&mut self, path: &str, cookies: Option<&str>) -> Option<Value> {
        let bytes = self.fetch(path, cookies).await?;
        let json = serde_json::from_slice(&bytes);
        json.inspect_err(|error| self.wrong.push(format!("{path} is no JSON: {error}"))).ok()
    }

    /// A file; `None`: there is none.
    async fn fetch(&mut self, path: &str, cookies: Option<&str>) -> Option<Vec<u8>> {
        match self.client.fetch(path, cookies).await {
            Ok(bytes) => Some(bytes),
            Err(CallError::Rejected { status: 404, .. }) => None,
            Err(error) => {
                self.wrong.push(format!("{path}: {error:?}"));
                None
            }
        }
    }

    /// The versions of the app, as its developer sees them.
    async fn uploads(&mut self) -> BTreeMap<String, Uploaded> {
        let (app, mut uploads) = (self.app, BTreeMap::new());
        for page in 1.. {
            let path = format!("api/apps/{}/uploads?page={page}&pageSize={PAGE}", app.did);
            let Some(answer) = self.get(&path, Some(&app.cookies)).await else { break };
            let list = answer["list"].as_array().expect("a list");
            for version in list {
                let text = |name: &str| version[name].as_str().unwrap_or_default().to_owned();
                uploads.insert(text("version"), Uploaded { status: text("status"), is_yanked: version["yanked_by"].is_string() });
            }
            if list.len() < PAGE {
                break;
            }
        }
        uploads
    }

    /// What the store has answered is so, and nothing is there that nobody has sent.
    fn check_answers(&mut self, uploads: &BTreeMap<String, Uploaded>) {
        let app = self.app;
        for version in uploads.keys().filter(|version| !app.versions.contains_key(*version)) {
            self.fail(version, "was never sent");
        }
        for (version, sent) in &app.versions {
            let found = uploads.get(version);
            let is_published = found.is_some_and(|uploaded| uploaded.status == "PUBLISHED");
            let is_yanked = found.is_some_and(|uploaded| uploaded.is_yanked);
            for (was_answered, is_so, what) in [
                (sent.is_uploaded, found.is_some(), "was uploaded and is gone"),
                (sent.is_published, is_published, "was published and is not any more"),
                (sent.is_yanked, is_yanked, "was yanked and is not any more"),
            ] {
                if was_answered && !is_so {
                    self.fail(version, what);
                }
            }
        }
    }

    /// The page of the app lists the offered versions with their bundles, and shows its pictures. `expected`: those that it must list.
    async fn check_listing(&mut self, page: Option<&Value>, uploads: &BTreeMap<String, Uploaded>, expected: &BTreeSet<String>) {
        let app = self.app;
        let listed = page.and_then(|page| page["versions"].as_array()).cloned().unwrap_or_default();
        let mut names = BTreeSet::new();
        for one in &listed {
            let name = one["version"].as_str().unwrap_or_default();
            let sent = app.versions.get(name).filter(|sent| one["sha256"] == sent.bundle && one["size"] == sent.size);
            if sent.is_none() || !uploads.get(name).is_some_and(Uploaded::is_offered) {
                self.fail(name, &format!("is listed as {one}"));
            }
            names.insert(name.to_owned());
        }
        for version in expected.difference(&names) {
            self.fail(version, "is published and not listed");
        }
        let Some(page) = page else { return };
        if page["name"] != app.name || !names.contains(page["version"].as_str().unwrap_or_default()) {
            self.wrong.push(format!("the page of {} shows {page}", app.name));
        }
        let screenshots = page["screenshots"].as_array().into_iter().flatten().map(|one| &one["url"]);
        let pictures: Vec<_> = screenshots.chain([&page["logo"]]).map(|url| url.as_str().unwrap_or_default().to_owned()).collect();
        if pictures.len() != 4 {
            self.wrong.push(format!("the page of {} shows the pictures {pictures:?}", app.name));
        }
        for path in pictures {
            let digest = self.fetch(&path, None).await.map(|bytes| sha256(&bytes));
            // The address ends with the first digits of the digest.
            let begin = path.split_once("?v=").map_or("", |(_, begin)| begin);
            if begin.is_empty() || !digest.as_ref().is_some_and(|digest| digest.starts_with(begin)) {
                self.wrong.push(format!("{path} has the digest {digest:?}"));
            }
        }
    }

    /// Manifest and bundle are those that were sent, and the checks have all of their results or none.
    async fn check_files(&mut self, version: &str, sent: &Sent, uploaded: &Uploaded) {
        let app = self.app;
        let manifest = self.fetch(&manifest_path(app, version), Some(&app.cookies)).await;
        if manifest.as_ref() != Some(&sent.document) {
            self.fail(version, "has another manifest than was sent, or none");
        }
        let own = format!("api/blocklets/{}/{version}/{}-{version}.tgz", app.did, app.name);
        let public = format!("api/apps/{}/{version}/bundle", app.did);
        for path in [own].into_iter().chain(uploaded.is_offered().then_some(public)) {
            let bundle = self.fetch(&path, Some(&app.cookies)).await.map(|bytes| sha256(&bytes));
            if bundle.as_ref() != Some(&sent.bundle) {
                self.fail(version, &format!("has another bundle than was sent, or none: {path}"));
            }
        }
        let checks = self.get(&format!("api/apps/{}/versions/{version}/checks", app.did), Some(&app.cookies)).await;
        let results = checks.as_ref().and_then(|checks| checks["list"].as_array()).map(Vec::len);
        if !matches!(results, Some(0 | CHECKS)) {
            self.fail(version, &format!("has {results:?} results of checks"));
        }
    }
}
