//! A store with a developer, and uploads of bundles that are larger than this process should hold in memory.

use crate::developer::{Developer, FORM_TYPE, Form};
use crate::souk::{Settings, Souk};
use crate::store_client::StoreClient;
use futures_util::stream::{self, StreamExt, TryStreamExt};
use http_body::Frame;
use http_body_util::StreamBody;
use hyper::body::Bytes;
use reqwest::{Body, Client};
use souk_adapters::testing::upload::{PackedFile, TestUpload};
use std::io;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;
use tempfile::TempDir;
use tokio::fs::File;
use tokio_util::io::ReaderStream;

pub const VERSION: &str = "1.0.0";
/// How long a transfer may take, as long as the store allows it to an upload.
const TRANSFER: Duration = Duration::from_secs(30 * 60);
/// The bytes that are read of a bundle at a time.
const CHUNK: usize = 64 << 10;
/// How often a developer looks whether the checks have ended.
const POLL: Duration = Duration::from_millis(100);

pub struct Stage {
    settings: Settings,
    client: Arc<StoreClient>,
    pub developer: Developer,
    /// Contains the bundles and the store. Dropped, it is removed.
    folder: TempDir,
}

impl Stage {
    /// Loads the demo store in a first process, so that the others do not measure that.
    pub async fn set() -> Self {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let settings = Settings::sqlite(folder.path().join("data"));
        let client = Arc::new(StoreClient::new());
        let souk = settings.start().await;
        client.move_to(vec![souk.address.clone()]);
        let developer = Developer::enroll(Arc::clone(&client), &settings, 1).await;
        souk.kill().await;
        Self { settings, client, developer, folder }
    }

    pub async fn start(&self) -> Souk {
        let souk = self.settings.start().await;
        self.client.move_to(vec![souk.address.clone()]);
        souk
    }

    pub fn path(&self) -> &Path {
        self.folder.path()
    }

    /// Packs a bundle of about this many MiB.
    pub fn pack(&self, upload: &TestUpload, mebibytes: u64) -> PackedFile {
        upload.pack_large(mebibytes, &self.path().join(&upload.name)).expect("packs")
    }

    /// Uploads a bundle from its file, and waits until its checks have ended, which read it as well.
    pub async fn upload(&self, souk: &Souk, upload: &TestUpload, bundle: &PackedFile) {
        let Form { before, after } = Form::of(&upload.sign_digest(&bundle.sha512, bundle.size));
        let end = |bytes: Vec<u8>| stream::iter([Ok::<_, io::Error>(Bytes::from(bytes))]);
        let file = File::open(&bundle.path).await.expect("opens");
        let content = end(before).chain(ReaderStream::with_capacity(file, CHUNK)).chain(end(after));
        let body = Body::wrap(StreamBody::new(content.map_ok(Frame::data)));
        let url = souk.address.join("api/blocklets/upload").expect("a path");
        let answer = http().post(url).header("content-type", FORM_TYPE).body(body).send().await.expect("answers");
        let (status, text) = (answer.status(), answer.text().await.expect("a text"));
        assert!(status.is_success(), "{status}: {text}; the log ends:\n{}", souk.log());
        while !self.developer.is_checked(&upload.did(), VERSION).await.expect("answers") {
            tokio::time::sleep(POLL).await;
        }
    }
}

pub fn http() -> Client {
    Client::builder().timeout(TRANSFER).no_proxy().build().expect("a client")
}
