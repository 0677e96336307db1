//! Unit tests of the file store.

use super::*;
use crate::testing::SeededRandom;
use crate::testing::TestDisk;
use souk_domain::publishing::bundle::Spool;
use souk_domain::shared::StorageError;
use souk_domain::store::Files;

async fn content(store: &FileStore, sha256: &[u8; 32]) -> Option<Vec<u8>> {
    let opened = store.get(sha256).await.expect("is answered")?;
    let parts: Vec<_> = opened.content.try_collect().await.expect("is read");
    let bytes = parts.concat();
    assert_eq!(bytes.len() as u64, opened.size);
    Some(bytes)
}

fn files_below(folder: &Path) -> usize {
    let entries = std::fs::read_dir(folder).expect("is a folder").map(|entry| entry.expect("is an entry").path());
    entries.map(|path| if path.is_dir() { files_below(&path) } else { 1 }).sum()
}

#[tokio::test]
async fn stored_content_is_found_by_its_hash() {
    let folder = tempfile::tempdir().expect("has a folder");
    let store = FileStore::open(folder.path().join("files")).await.expect("opens");
    let stored = store.put(b"abc").await.expect("is kept");
    assert_eq!(hex::encode(stored.sha256), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
    assert_eq!(stored.size, 3);
    assert_eq!(content(&store, &stored.sha256).await.as_deref(), Some(b"abc".as_slice()));
    assert_eq!(content(&store, &[0; 32]).await, None);
}

#[tokio::test]
async fn a_file_is_read_from_any_byte_within_it() {
    let folder = tempfile::tempdir().expect("has a folder");
    let store = FileStore::open(folder.path()).await.expect("opens");
    let name = Files::put(&store, b"abcdef").await.expect("is kept");
    for (start, rest) in [(0, "abcdef"), (1, "bcdef"), (5, "f")] {
        let opened = store.open_from(&name, start).await.expect("is answered").expect("exists");
        let parts: Vec<_> = opened.content.try_collect().await.expect("is read");
        assert_eq!((parts.concat().as_slice(), opened.size), (rest.as_bytes(), 6));
    }
    assert!(store.open_from(&name, 6).await.is_err(), "nothing is left");
    assert!(store.open_from(&"0".repeat(64), 1).await.expect("is answered").is_none());
}

#[tokio::test]
async fn concurrent_writers_of_equal_content_create_one_file_and_no_leftovers() {
    let folder = tempfile::tempdir().expect("has a folder");
    let store = FileStore::open(folder.path()).await.expect("opens");
    let bytes = vec![7; 300_000];
    let writers = (0..8).map(|_| store.put(&bytes));
    let stored: Vec<_> = futures_util::future::try_join_all(writers).await.expect("are kept");
    assert!(stored.iter().all(|one| one == &stored[0]));
    assert_eq!(files_below(folder.path()), 1);
    assert_eq!(content(&store, &stored[0].sha256).await, Some(bytes));
}

#[tokio::test]
async fn a_truncated_file_is_written_again() {
    let folder = tempfile::tempdir().expect("has a folder");
    let store = FileStore::open(folder.path()).await.expect("opens");
    let stored = store.put(b"whole").await.expect("is kept");
    std::fs::write(folder.path().join(store.path_of(&stored.sha256).to_string()), b"wh").expect("is cut");
    store.put(b"whole").await.expect("is kept");
    assert_eq!(content(&store, &stored.sha256).await.as_deref(), Some(b"whole".as_slice()));
}

#[tokio::test]
async fn uploads_are_refused_below_the_reserve_and_stored_files_can_be_read() {
    let (folder, disk) = (tempfile::tempdir().expect("has a folder"), Arc::new(TestDisk::default()));
    let store = FileStore::open(folder.path()).await.expect("opens").with_reserve(disk.clone());
    let name = Files::put(&store, b"kept").await.expect("is kept");
    disk.set_short(true);
    let refused = Files::put(&store, b"new").await;
    assert!(matches!(refused, Err(StorageError::NoSpace(_))), "{refused:?}");
    assert_eq!(Files::open(&store, &name).await.expect("is answered").expect("exists").size, 4);
    disk.set_short(false);
    Files::put(&store, b"new").await.expect("is kept");
}

#[tokio::test]
async fn a_local_file_is_stored_part_by_part() {
    let folder = tempfile::tempdir().expect("has a folder");
    let store = FileStore::open(folder.path().join("files")).await.expect("opens");
    for size in [0, 1, PART - 1, PART, 2 * PART + 7] {
        let bytes: Vec<u8> = (0..size).map(|n| (n % 251) as u8).collect();
        let (path, hash) = (folder.path().join("upload"), <[u8; 32]>::from(Sha256::digest(&bytes)));
        std::fs::write(&path, &bytes).expect("is written");
        store.put_file(&hash, &path).await.expect("is kept");
        store.put_file(&hash, &path).await.expect("is kept once more");
        assert!(content(&store, &hash).await == Some(bytes), "{size}");
    }
    assert_eq!(files_below(&folder.path().join("files")), 5, "nothing else remains");
}

#[tokio::test]
async fn a_deleted_file_is_gone_and_the_others_are_listed() {
    let folder = tempfile::tempdir().expect("has a folder");
    let store = FileStore::open(folder.path()).await.expect("opens");
    let (one, other) = (store.put(b"one").await.expect("is kept"), store.put(b"other").await.expect("is kept"));
    for _ in 0..2 {
        store.delete(&one.sha256).await.expect("is deleted, or was");
    }
    assert_eq!(content(&store, &one.sha256).await, None);
    let listed: Vec<_> = store.list().try_collect().await.expect("are listed");
    assert_eq!(listed, [other.sha256]);
}

#[tokio::test]
async fn what_a_dead_writer_has_left_is_removed_once_it_is_old() {
    let folder = tempfile::tempdir().expect("has a folder");
    let store = FileStore::open(folder.path()).await.expect("opens");
    let stored = store.put(b"whole").await.expect("is kept");
    let left = folder.path().join(format!("{}#1", store.path_of(&stored.sha256)));
    std::fs::write(&left, b"wh").expect("is left");
    let listed: Vec<_> = store.list().try_collect().await.expect("are listed");
    assert_eq!(listed, [stored.sha256], "an unfinished file is not listed");
    let (past, future) = (Timestamp::from_seconds(0), Timestamp::from_seconds(1 << 40));
    assert_eq!(store.remove_unfinished(past).await.expect("is swept"), 0);
    assert_eq!(store.remove_unfinished(future).await.expect("is swept"), 1);
    assert!(!left.exists());
    assert!(content(&store, &stored.sha256).await.is_some());
}

#[tokio::test]
async fn an_upload_is_removed_however_it_ends() {
    let folder = tempfile::tempdir().expect("has a folder");
    let spool = SpoolFolder::new(folder.path().join("uploads"), Arc::new(SeededRandom::new(1)));
    let mut writer = spool.create().await.expect("begins");
    for chunk in [b"ab".as_slice(), b"c"] {
        writer.write(chunk).await.expect("is written");
    }
    let spooled = writer.finish().await.expect("is complete");
    assert_eq!(spooled.sha256(), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
    let digest = "3a81oZNherrMQXNJriBBMRLm+k6JqX6iCp7u5ktV05ohkpkqJ0/BqDa6PCOj/uu9RU1EI2Q86A4qmslPpUyknw==";
    assert_eq!((spooled.integrity(), spooled.size()), (format!("sha512-{digest}").as_str(), 3));
    assert_eq!(std::fs::read(spooled.path()).expect("is read"), b"abc");
    drop(spooled);
    let mut interrupted = spool.create().await.expect("begins");
    interrupted.write(b"x").await.expect("is written");
    drop(interrupted);
    assert_eq!(files_below(folder.path()), 0);
    std::fs::write(folder.path().join("uploads/left"), b"of a process that died").expect("is left");
    assert_eq!(Spool::remove_old(&spool, Timestamp::from_seconds(0)).await.expect("is swept"), 0);
    assert_eq!(Spool::remove_old(&spool, Timestamp::from_seconds(1 << 40)).await.expect("is swept"), 1);
}
