//! Visitors who download bundles until the store closes. They go on with a download that was cut where the store can do that, and begin it
//! anew where it cannot.

use super::sha256;
use crate::buyer::below;
use crate::store_client::StoreClient;
use reqwest::StatusCode;
use serde_json::Value;
use souk_adapters::testing::SeededRandom;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

/// Pause before a request is repeated.
const RETRY_PAUSE: Duration = Duration::from_millis(40);

/// What a visitor got.
#[derive(Debug, Default)]
pub struct Downloads {
    pub whole: usize,
    /// How often one was cut.
    pub cut: usize,
    pub wrong: Vec<String>,
}

impl Downloads {
    pub fn add(&mut self, other: Self) {
        self.whole += other.whole;
        self.cut += other.cut;
        self.wrong.extend(other.wrong);
    }
}

/// A bundle, as the page of its app announces it.
struct Offer {
    path: String,
    sha256: String,
    size: u64,
}

/// How an attempt to download ended.
enum Ended {
    Whole,
    Cut,
    /// There was no answer at all.
    Lost,
    Refused(StatusCode),
}

pub struct Visitor {
    client: Arc<StoreClient>,
    random: SeededRandom,
    downloads: Downloads,
}

impl Visitor {
    pub fn new(client: Arc<StoreClient>, seed: u64) -> Self {
        Self { client, random: SeededRandom::new(seed), downloads: Downloads::default() }
    }

    /// Downloads one bundle after the other, until the store closes.
    pub async fn download(mut self, closing: Arc<AtomicBool>) -> Downloads {
        loop {
            let ended = match self.choose().await {
                Some(offer) => self.fetch(&offer).await,
                None => false,
            };
            if ended && closing.load(Ordering::Relaxed) {
                return self.downloads;
            }
            if !ended {
                tokio::time::sleep(RETRY_PAUSE).await;
            }
        }
    }

    fn any<'v>(&self, list: &'v Value) -> Option<&'v Value> {
        let list = list.as_array().filter(|list| !list.is_empty())?;
        list.get(below(&self.random, u32::try_from(list.len()).ok()?) as usize)
    }

    /// Any version of any of the apps that were changed last.
    async fn choose(&self) -> Option<Offer> {
        let apps = self.client.get("api/apps?price=free&sort=updated&pageSize=8", None).await.ok()?;
        let did = self.any(&apps["list"])?["did"].as_str()?;
        let app = self.client.get(&format!("api/apps/{did}"), None).await.ok()?;
        let version = self.any(&app["versions"])?;
        let path = format!("api/apps/{did}/{}/bundle", version["version"].as_str()?);
        Some(Offer { path, sha256: version["sha256"].as_str()?.to_owned(), size: version["size"].as_u64()? })
    }

    /// Downloads a bundle, in as many attempts as it takes. Returns false if the store refuses it.
    async fn fetch(&mut self, offer: &Offer) -> bool {
        let Offer { path, sha256: digest, size } = offer;
        let mut bytes = Vec::new();
        loop {
            match self.receive(offer, &mut bytes).await {
                Ended::Whole => break,
                Ended::Cut => self.downloads.cut += 1,
                Ended::Lost => {}
                // It was yanked meanwhile, or with all others of its app.
                Ended::Refused(StatusCode::GONE | StatusCode::NOT_FOUND) => return false,
                Ended::Refused(status) => {
                    self.downloads.wrong.push(format!("{path} was refused with {status}"));
                    return false;
                }
            }
            tokio::time::sleep(RETRY_PAUSE).await;
        }
        let (found, length) = (sha256(&bytes), bytes.len() as u64);
        if (length, &found) != (*size, digest) {
            self.downloads.wrong.push(format!("{path} has {length} bytes with the digest {found}, not {size} with {digest}"));
        } else {
            self.downloads.whole += 1;
        }
        true
    }

    /// Continues after the bytes that are there already.
    async fn receive(&self, offer: &Offer, bytes: &mut Vec<u8>) -> Ended {
        let url = self.client.address().await.join(&offer.path).expect("a path");
        let mut request = self.client.http.get(url);
        if !bytes.is_empty() {
            request = request.header("range", format!("bytes={}-", bytes.len())).header("if-range", format!("\"{}\"", offer.sha256));
        }
        let Ok(mut response) = request.send().await else { return Ended::Lost };
        match response.status() {
            StatusCode::PARTIAL_CONTENT => {}
            StatusCode::OK => bytes.clear(),
            status => return Ended::Refused(status),
        }
        loop {
            match response.chunk().await {
                Ok(Some(chunk)) => bytes.extend_from_slice(&chunk),
                Ok(None) => return Ended::Whole,
                Err(_) => return Ended::Cut,
            }
        }
    }
}
