//! Files in an S3-compatible store, which moto's server plays.

use futures_util::TryStreamExt;
use sha2::{Digest, Sha256};
use souk_adapters::files::{Bucket, FileStore};
use souk_adapters::testing::Moto;
use souk_domain::store::Files;
use url::Url;

#[tokio::test]
async fn a_bucket_stores_files_as_a_folder_does() {
    let moto = Moto::start().await;
    let store = FileStore::open_bucket(&moto.bucket("shop")).await.expect("opens");
    let name = Files::put(&store, b"abc").await.expect("is kept");
    assert_eq!(name, "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
    // More than one part.
    let bytes: Vec<u8> = (0..20 << 20).map(|n: u32| (n % 251) as u8).collect();
    let large = hex::encode(Sha256::digest(&bytes));
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("upload");
    std::fs::write(&path, &bytes).expect("is written");
    for _ in 0..2 {
        Files::put_file(&store, &large, &path).await.expect("is kept");
    }
    let opened = Files::open(&store, &large).await.expect("is answered").expect("exists");
    assert_eq!(opened.size, bytes.len() as u64);
    let parts: Vec<_> = opened.content.try_collect().await.expect("is read");
    assert!(parts.concat() == bytes);
    let start = bytes.len() / 2;
    let rest = Files::open_from(&store, &large, start as u64).await.expect("is answered").expect("exists");
    assert_eq!(rest.size, bytes.len() as u64, "the size of the whole file");
    let parts: Vec<_> = rest.content.try_collect().await.expect("is read");
    assert!(parts.concat() == bytes[start..]);
    let mut listed: Vec<_> = store.list().map_ok(hex::encode).try_collect().await.expect("are listed");
    listed.sort();
    let mut expected = vec![name.clone(), large];
    expected.sort();
    assert_eq!(listed, expected);
    for _ in 0..2 {
        Files::delete(&store, &name).await.expect("is deleted, or was");
    }
    assert!(Files::open(&store, &name).await.expect("is answered").is_none());
}

#[tokio::test]
async fn a_bucket_that_does_not_exist_or_answer_is_reported_at_the_start() {
    let moto = Moto::start().await;
    assert!(FileStore::open_bucket(&moto.bucket("absent")).await.is_err());
    let nowhere = Bucket { endpoint: Some(Url::parse("http://127.0.0.1:1/").expect("an address")), ..moto.bucket("shop") };
    let failure = FileStore::open_bucket(&nowhere).await.expect_err("no server");
    assert!(!failure.to_string().contains("secret"), "{failure}");
}
