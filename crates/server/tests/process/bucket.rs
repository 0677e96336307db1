//! A store whose bundles and pictures are in an S3-compatible bucket.

use crate::developer::Developer;
use crate::drain::drain;
use crate::souk::{Settings, Souk};
use crate::store_client::StoreClient;
use futures_util::TryStreamExt;
use sha2::{Digest, Sha256};
use souk_adapters::files::{BucketKeys, FileStore};
use souk_adapters::persistence::Database;
use souk_adapters::testing::upload::noise;
use souk_adapters::testing::{Moto, RunningClock};
use souk_domain::publishing::bundle::ORPHAN_AGE;
use souk_domain::shared::Clock;
use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// Maximum time of the sweep with which a process starts.
const SWEEP_TIMEOUT: Duration = Duration::from_secs(30);
const POLL: Duration = Duration::from_millis(50);
/// More than one part of an upload to a bucket.
const LARGE: usize = 12 << 20;

type Sha256Sum = [u8; 32];

async fn listed(bucket: &FileStore) -> BTreeSet<Sha256Sum> {
    bucket.list().try_collect().await.expect("are listed")
}

async fn start(settings: &Settings, client: &StoreClient) -> Souk {
    let souk = settings.start().await;
    client.move_to(vec![souk.address.clone()]);
    souk
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_store_on_a_bucket_checks_publishes_and_serves_versions_and_sweeps_orphans() {
    let moto = Moto::start().await;
    let shop = moto.bucket("shop");
    let BucketKeys { id, secret } = shop.keys.clone().expect("keys");
    let folder = tempfile::tempdir().expect("a temporary folder");
    let options = [
        ("--files-url", format!("s3://{}/{}", shop.name, shop.prefix)),
        ("--files-endpoint", moto.endpoint.to_string()),
        ("--files-key-id", id),
        ("--files-secret", secret),
    ];
    let options = options.into_iter().flat_map(|(option, value)| [option.to_owned(), value]).collect();
    let settings = Settings { options, ..Settings::sqlite(folder.path()) };
    let client = Arc::new(StoreClient::new());
    let souk = start(&settings, &client).await;
    let bucket = FileStore::open_bucket(&shop).await.expect("opens");
    let before = listed(&bucket).await;

    let developer = Developer::enroll(Arc::clone(&client), &settings, 1).await;
    let mut upload = developer.version("granary", "1.0.0");
    upload.files.push(("data/noise".to_owned(), noise(1, LARGE)));
    let (did, signed) = (upload.did(), upload.sign());
    developer.upload(&signed).await.expect("is uploaded");
    let database = Database::open(&format!("sqlite://{}", folder.path().join("souk.db").display())).await.expect("opens");
    assert!(drain(&database).await.is_empty(), "{}", souk.log());
    assert!(developer.is_checked(&did, "1.0.0").await.expect("is answered"), "{}", souk.log());
    developer.publish(&did, "1.0.0").await.expect("is published");
    let download = format!("api/apps/{did}/1.0.0/bundle");
    assert!(client.fetch(&download, None).await.expect("is served") == signed.bundle, "another bundle is served");
    let files = std::fs::read_dir(folder.path().join("files")).into_iter().flatten().count();
    assert_eq!(files, 0, "bundles are in the data folder");
    let stored: BTreeSet<_> = listed(&bucket).await.difference(&before).copied().collect();
    let bundle: Sha256Sum = Sha256::digest(&signed.bundle).into();
    assert!(stored.contains(&bundle), "the bundle is not in the bucket");

    // A process that was killed after it had stored the files of an upload leaves them with nothing but
    // their rows in stored_files.
    souk.kill().await;
    let orphan = bucket.put(b"left by a killed process").await.expect("is stored").sha256;
    let mut connection = database.begin().await.expect("begins");
    let mark = "INSERT INTO stored_files (sha256, size, claimed_at, is_deleting) VALUES ($1, 24, $2, 0)";
    let old = RunningClock.now().minus(ORPHAN_AGE.saturating_mul(2));
    let hex: String = orphan.iter().map(|byte| format!("{byte:02x}")).collect();
    connection.query(mark).bind(hex).bind(old).execute().await.expect("writes");
    connection.commit().await.expect("commits");
    database.close().await;
    let souk = start(&settings, &client).await;
    let begun = Instant::now();
    while listed(&bucket).await.contains(&orphan) {
        assert!(begun.elapsed() < SWEEP_TIMEOUT, "the orphan was not swept:\n{}", souk.log());
        tokio::time::sleep(POLL).await;
    }
    assert!(listed(&bucket).await.is_superset(&stored), "a file of a version was swept");
    assert!(client.fetch(&download, None).await.expect("is served") == signed.bundle, "another bundle is served");
    souk.kill().await;
}
