//! Uploads a packed version (reference/store.md 5.3): the signed manifest, the bundle and the source, in this order.

use super::client::{Store, StoreError};
use crate::error::FileError;
use crate::report;
use futures_util::TryStreamExt;
use reqwest::multipart::{Form, Part};
use reqwest::{Body, Method};
use serde::de::IgnoredAny;
use souk_adapters::system::SystemClock;
use souk_domain::publishing::bundle::Manifest;
use souk_domain::shared::{Clock, Json, Timestamp};
use std::collections::BTreeMap;
use std::path::Path;
use std::time::Duration;
use tokio::fs::File;
use tokio_util::io::ReaderStream;

/// How long an upload may take, as long as the store accepts one.
const UPLOAD_TIMEOUT: Duration = Duration::from_secs(30 * 60);
/// The bytes that are read at a time.
const CHUNK: usize = 64 << 10;

#[derive(Debug, thiserror::Error)]
pub enum UploadError {
    #[error("the bundle has {size}, and the store accepts {max}: pack less, for example with `files` in the manifest")]
    TooLarge { size: String, max: String },
    #[error(transparent)]
    File(#[from] FileError),
    #[error(transparent)]
    Store(#[from] StoreError),
}

impl Store {
    /// Uploads a packed version. `document` is its manifest without a signature, and `bundle` the file that it describes.
    ///
    /// # Errors
    /// The store refuses it, or the upload was interrupted. An interrupted upload has no effect, and can be repeated.
    pub async fn upload(&self, document: &Json, manifest: &Manifest, bundle: &Path) -> Result<(), UploadError> {
        let size = manifest.dist.size;
        if let Some(max) = self.info.bundle_max().filter(|max| size > *max) {
            return Err(UploadError::TooLarge { size: report::bytes(size), max: report::bytes(max) });
        }
        let file = File::open(bundle).await.map_err(FileError::at(bundle))?;
        let progress = report::progress(size, &manifest.dist.tarball);
        let counted = progress.clone();
        let stream = ReaderStream::with_capacity(file, CHUNK).inspect_ok(move |chunk| counted.inc(chunk.len() as u64));
        let signed = self.sign(document, &manifest.name, SystemClock.now());
        let form = Form::new()
            .part("blocklet-meta", Part::bytes(signed.canonical().into_bytes()).file_name("blocklet.json"))
            .part("blocklet-tarball", Part::stream_with_length(Body::wrap_stream(stream), size).file_name(manifest.dist.tarball.clone()))
            .text("source", "CLI");
        let call = self.http.request(Method::POST, "api/blocklets/upload")?.timeout(UPLOAD_TIMEOUT).multipart(form);
        let answered: Result<IgnoredAny, _> = self.http.send(call).await;
        progress.finish_and_clear();
        answered?;
        Ok(())
    }

    /// Adds the signature of the access token over the manifest (reference/store.md 5.1).
    fn sign(&self, document: &Json, name: &str, now: Timestamp) -> Json {
        let text = |text: &str| Json::Text(text.to_owned());
        let mut entry = BTreeMap::from([
            ("type".to_owned(), text("ED25519")),
            ("name".to_owned(), text(name)),
            ("signer".to_owned(), text(self.key.did().as_str())),
            ("pk".to_owned(), text(&self.key.public_key_base58())),
            ("created".to_owned(), text(&now.to_iso())),
        ]);
        let unsigned = with_signature(document, entry.clone());
        entry.insert("sig".to_owned(), Json::Text(self.key.sign_base58(unsigned.canonical().as_bytes())));
        with_signature(document, entry)
    }
}

fn with_signature(document: &Json, entry: BTreeMap<String, Json>) -> Json {
    let mut document = document.clone();
    if let Json::Object(members) = &mut document {
        members.insert("signatures".to_owned(), Json::List(vec![Json::Object(entry)]));
    }
    document
}
