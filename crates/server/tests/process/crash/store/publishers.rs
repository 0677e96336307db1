//! Developers who upload and publish versions until the store closes, and repeat what was not answered.

use super::sha256;
use crate::buyer::{any_number, below};
use crate::developer::Developer;
use crate::store_client::{CallError, CallResult};
use serde_json::{Value, json};
use souk_adapters::testing::upload::{TestUpload, noise};
use souk_adapters::testing::{RunningClock, SeededRandom};
use souk_domain::access::Did;
use souk_domain::shared::Clock;
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

/// Pause before a request is repeated.
const RETRY_PAUSE: Duration = Duration::from_millis(40);
/// How long a developer looks on while the store works on a version.
const WATCH: Duration = Duration::from_secs(2);
const POLL: Duration = Duration::from_millis(50);
/// How far ahead a publication is scheduled.
const AHEAD: Duration = Duration::from_millis(300);
/// The most versions that a developer uploads after the store has closed.
const LAST_MAX: u32 = 20;
/// The size of a bundle, in KiB.
const KIB_MIN: u32 = 64;
const KIB_MAX: u32 = 1_024;

/// A version that was sent, and what the store has answered.
#[derive(Debug, Clone, Default)]
pub struct Sent {
    pub document: Vec<u8>,
    /// SHA-256.
    pub bundle: String,
    /// Bytes.
    pub size: u64,
    pub is_uploaded: bool,
    pub is_published: bool,
    pub is_yanked: bool,
}

/// The versions of an app that were sent.
#[derive(Debug, Clone)]
pub struct SentApp {
    pub did: String,
    pub name: String,
    /// Of the developer's browser.
    pub cookies: String,
    pub versions: BTreeMap<String, Sent>,
    /// The uploads that got no answer.
    pub unanswered: usize,
}

pub struct Publisher {
    developer: Developer,
    /// The name and the DID of its one app.
    name: String,
    did: Did,
    random: SeededRandom,
    sent: Mutex<SentApp>,
}

impl Publisher {
    pub fn new(developer: Developer, name: &str, seed: u64) -> Self {
        let did = developer.version(name, "1.0.0").did();
        let (name, cookies) = (name.to_owned(), developer.cookies.clone());
        let sent = SentApp { did: did.to_string(), name: name.clone(), cookies, versions: BTreeMap::new(), unanswered: 0 };
        Self { developer, name, did, random: SeededRandom::new(seed), sent: Mutex::new(sent) }
    }

    pub fn sent(&self) -> SentApp {
        self.sent.lock().expect("no panic").clone()
    }

    fn note(&self, version: &str, note: impl FnOnce(&mut Sent)) {
        note(self.sent.lock().expect("no panic").versions.entry(version.to_owned()).or_default());
    }

    /// Uploads one version after the other, until the store closes. Most are published, some by the store, and some are yanked. Who has
    /// published none yet goes on for a few versions.
    pub async fn work(self: Arc<Self>, closing: Arc<AtomicBool>) {
        let mut left = LAST_MAX;
        for number in 0.. {
            let version = format!("1.{number}.0");
            self.upload(&version).await;
            match below(&self.random, 8) {
                // It stays a draft.
                0 => {}
                1 | 2 => self.schedule(&version).await,
                3 => {
                    self.publish(&version).await;
                    self.yank(&version).await;
                }
                _ => self.publish(&version).await,
            }
            if closing.load(Ordering::Relaxed) {
                if left == 0 || self.sent().versions.values().any(|sent| sent.is_published) {
                    return;
                }
                left -= 1;
            }
        }
    }

    /// Repeats an upload until the store has it.
    async fn upload(&self, version: &str) {
        let Self { name, .. } = self;
        // The checks refuse the title of another developer's app.
        let members = json!({ "title": format!("The {name}") });
        let mut upload = TestUpload { members, ..self.developer.version(name, version) };
        let kib = KIB_MIN + below(&self.random, KIB_MAX - KIB_MIN);
        let content = noise(any_number(&self.random), usize::try_from(kib << 10).expect("small"));
        upload.files.push(("data/noise".to_owned(), content));
        let signed = upload.sign();
        self.note(version, |sent| {
            sent.document.clone_from(&signed.document);
            sent.bundle = sha256(&signed.bundle);
            sent.size = signed.bundle.len() as u64;
        });
        loop {
            match self.developer.upload(&signed).await {
                Ok(_) => return self.note(version, |sent| sent.is_uploaded = true),
                Err(CallError::Lost(_)) => self.sent.lock().expect("no panic").unanswered += 1,
                Err(error) if is_passing(&error) => {}
                Err(error) => panic!("the upload of {name} {version} is refused: {error:?}"),
            }
            tokio::time::sleep(RETRY_PAUSE).await;
        }
    }

    /// Publishes a version, once its checks have ended: before, it is refused.
    async fn publish(&self, version: &str) {
        if !watch(|| self.developer.is_checked(&self.did, version)).await {
            return;
        }
        if take(|| self.developer.publish(&self.did, version), "REVIEW_ALREADY_PUBLISHED").await {
            self.note(version, |sent| sent.is_published = true);
        }
    }

    async fn yank(&self, version: &str) {
        if take(|| self.developer.yank(&self.did, version), "REVIEW_ALREADY_YANKED").await {
            self.note(version, |sent| sent.is_yanked = true);
        }
    }

    /// Lets the store publish a version, once its checks have ended. The first version of an app has no category yet, so it is refused.
    async fn schedule(&self, version: &str) {
        if !watch(|| self.developer.is_checked(&self.did, version)).await {
            return;
        }
        let at = RunningClock.now().plus(AHEAD).to_iso();
        if take(|| self.developer.schedule(&self.did, version, &at), "REVIEW_ALREADY_PUBLISHED").await {
            // The next version would make the publication of this one impossible.
            watch(|| self.developer.is_published(&self.did, version)).await;
        }
    }
}

/// Whether the same request may succeed later: it was cut, the store has too many, or another one was faster.
fn is_passing(error: &CallError) -> bool {
    match error {
        CallError::Lost(_) => true,
        CallError::Rejected { status, code, .. } => matches!(status, 429 | 503) || code.ends_with("_CONTENDED"),
    }
}

/// Repeats a step until it is answered. Returns whether it was taken. `taken`: the refusal which says that it was.
async fn take<F: Future<Output = CallResult<Value>>>(step: impl Fn() -> F, taken: &str) -> bool {
    loop {
        match step().await {
            Ok(_) => return true,
            Err(error) if is_passing(&error) => {}
            Err(CallError::Rejected { status: 400..500, code, .. }) => return code == taken,
            Err(error) => panic!("a step is refused: {error:?}"),
        }
        tokio::time::sleep(RETRY_PAUSE).await;
    }
}

/// Looks on until something is true, for a while. Returns whether it became true.
async fn watch<F: Future<Output = CallResult<bool>>>(is_true: impl Fn() -> F) -> bool {
    let begun = Instant::now();
    while begun.elapsed() < WATCH {
        if is_true().await == Ok(true) {
            return true;
        }
        tokio::time::sleep(POLL).await;
    }
    false
}
