//! What uploads cost the store: memory, threads, and places.

use super::hostile::{bomb, entry_header, with_headers};
use super::{BOUNDARY, Publishing, enroll_developer, form};
use crate::admin::app::TestApp;
use futures_util::{StreamExt, stream};
use poem::Body;
use poem::http::StatusCode;
use souk_adapters::testing::upload::{PackedFile, TestUpload};
use std::io;
use std::path::PathBuf;
use std::time::Duration;
use tokio_util::sync::CancellationToken;

/// The memory of this process, in bytes: `VmRSS` now, and `VmHWM` at most since [`forget_peak`].
fn memory(field: &str) -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find(|line| line.starts_with(field))?;
    line.split_whitespace().nth(1)?.parse::<u64>().ok().map(|kib| kib << 10)
}

/// Begins a new measurement of the peak. `None`: it cannot be measured here, or other tests run in this process as well.
fn forget_peak() -> Option<()> {
    std::env::var_os("NEXTEST")?;
    std::fs::write("/proc/self/clear_refs", "5").ok()
}

/// A body that is read from a file while it is sent, between the given ends.
fn streamed(file: PathBuf, before: Vec<u8>, after: Vec<u8>) -> Body {
    let content = stream::once(async move { tokio::fs::File::open(file).await });
    let content = content.flat_map(|file| match file {
        Ok(file) => tokio_util::io::ReaderStream::with_capacity(file, 64 << 10).boxed(),
        Err(error) => stream::once(async { Err(error) }).boxed(),
    });
    let ends = |bytes: Vec<u8>| stream::once(async move { Ok::<_, io::Error>(bytes::Bytes::from(bytes)) });
    Body::from_bytes_stream(ends(before).chain(content).chain(ends(after)))
}

/// The form around the content of the bundle.
fn ends(document: &[u8]) -> (Vec<u8>, Vec<u8>) {
    let whole = form(&[("blocklet-meta", document), ("blocklet-tarball", b"@@"), ("source", b"CLI")]);
    let at = whole.windows(2).position(|window| window == b"@@").expect("the place of the bundle");
    (whole[..at].to_vec(), whole[at + 2..].to_vec())
}

#[tokio::test]
async fn the_memory_of_an_upload_does_not_grow_with_its_bundle() {
    let (store, folder) = (Publishing::open().await, tempfile::tempdir().expect("a folder"));
    let mut peaks = Vec::new();
    for (name, megabytes) in [("small", 5), ("large", 160)] {
        let (upload, file) = (store.version(name, "1.0.0"), folder.path().join(name));
        let PackedFile { path, sha512, size } = upload.pack_large(megabytes, &file).expect("packs");
        let (head, tail) = ends(&upload.sign_digest(&sha512, size));
        let before = forget_peak().and_then(|()| memory("VmRSS:"));
        let (status, answer) = store.send_body(streamed(path, head, tail)).await;
        assert_eq!(status, StatusCode::OK, "{answer}");
        peaks.push(before.zip(memory("VmHWM:")).map(|(before, peak)| peak.saturating_sub(before)));
    }
    if let [Some(small), Some(large)] = peaks[..] {
        println!("an upload of 5 MiB takes {} KiB, one of 160 MiB {} KiB", small >> 10, large >> 10);
        assert!(large <= small + (24 << 20), "an upload of 160 MiB takes {large} bytes, one of 5 MiB {small}");
    }
}

/// One entry more than a bundle may have. The rest of a million would not be read.
fn many_entries() -> Vec<u8> {
    // Names that compress badly, so that the ratio is not what refuses them.
    let name = |n: u64| format!("package/{:016x}{:016x}", n.wrapping_mul(0x9e37_79b9_7f4a_7c15), n.wrapping_mul(0xbf58_476d_1ce4_e5b9));
    with_headers((0..100_001).map(|n| entry_header(&name(n), tar::EntryType::Regular)))
}

#[tokio::test]
async fn the_memory_of_a_hostile_upload_is_bounded() {
    let store = Publishing::open().await;
    let upload = store.version("hostile", "1.0.0");
    for (bundle, error) in [
        (bomb(), "invalid tarball: the archive unpacks to more than 200 times its size"),
        (many_entries(), "invalid tarball: the archive has more than 100000 entries"),
    ] {
        let document = upload.sign_with(&bundle);
        let body = form(&[("blocklet-meta", &document), ("blocklet-tarball", &bundle), ("source", b"CLI")]);
        let before = forget_peak().and_then(|()| memory("VmRSS:"));
        let (status, answer) = store.send_body(body).await;
        assert_eq!((status, answer["error"].as_str()), (StatusCode::BAD_REQUEST, Some(error)), "{answer}");
        assert_eq!(store.files(), 0, "{error}: something is left on disk");
        if let Some((before, peak)) = before.zip(memory("VmHWM:")) {
            let taken = peak.saturating_sub(before);
            println!("{error}: {} KiB", taken >> 10);
            assert!(taken <= 64 << 20, "{error}: {taken} bytes");
        }
    }
}

#[tokio::test]
async fn a_stranger_is_refused_before_the_bundle_is_received() {
    let store = Publishing::open().await;
    let (head, _) = ends(&TestUpload::new(99, "strange", "1.0.0", store.app.ctx.now()).sign().document);
    let answered = tokio::time::timeout(Duration::from_secs(20), store.send_body(stalled(head, CancellationToken::new())));
    let (status, answer) = answered.await.expect("it does not wait for the bundle");
    assert_eq!((status, answer["code"].as_str()), (StatusCode::UNAUTHORIZED, Some("ACCESS_TOKEN_UNKNOWN")), "{answer}");
    assert_eq!(store.files(), 0);
}

/// A body that ends its first part, and then sends nothing until it is told to.
fn stalled(first: Vec<u8>, go_on: CancellationToken) -> Body {
    let first = stream::once(async move { Ok::<_, io::Error>(bytes::Bytes::from(first)) });
    let end = stream::once(async move {
        go_on.cancelled().await;
        Err(io::Error::from(io::ErrorKind::ConnectionReset))
    });
    Body::from_bytes_stream(first.chain(end))
}

#[test]
fn uploads_that_wait_for_their_senders_hold_no_thread() {
    // As many threads as one upload needs: any upload that held one while it waits would stop the last one.
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).max_blocking_threads(1).enable_all().build();
    runtime.expect("a runtime").block_on(async {
        let store = Publishing::open().await;
        let now = store.app.ctx.now();
        let (go_on, mut waiting) = (CancellationToken::new(), Vec::new());
        let store = &store;
        for seed in 10..16 {
            let upload = TestUpload::new(seed, &format!("waiting-{seed}"), "1.0.0", now);
            enroll_developer(&store.app, &upload.key).await;
            let signed = upload.sign();
            let (mut head, _) = ends(&signed.document);
            head.extend(&signed.bundle[..signed.bundle.len() / 2]);
            waiting.push(store.send_body(stalled(head, go_on.clone())));
        }
        let mut waiting = Box::pin(futures_util::future::join_all(waiting));
        let honest = async {
            // Once all others have begun.
            while store.files() < 6 {
                tokio::task::yield_now().await;
            }
            store.upload(&store.version("hello", "1.0.0").sign()).await
        };
        let (status, answer) = tokio::select! {
            ended = tokio::time::timeout(Duration::from_secs(20), honest) => ended.expect("it does not wait for the others"),
            ended = &mut waiting => panic!("the others do not end: {ended:?}"),
        };
        assert_eq!(status, StatusCode::OK, "{answer}");
        go_on.cancel();
        for (status, answer) in waiting.await {
            assert_eq!(status, StatusCode::BAD_REQUEST, "{answer}");
        }
        assert_eq!(store.files(), 11, "nothing is left of the others");
    });
}

#[tokio::test]
async fn a_sender_without_progress_is_refused() {
    let store = Publishing::of(TestApp::with_progress(Duration::from_millis(300)).await).await;
    let signed = store.version("hello", "1.0.0").sign();
    let (head, _) = ends(&signed.document);
    let never = CancellationToken::new();
    let first_part = format!("--{BOUNDARY}\r\ncontent-disposition: form-data; name=\"blocklet-meta\"\r\n\r\n{{").into_bytes();
    for begun in [Vec::new(), first_part, head] {
        let (status, answer) = store.send_body(stalled(begun, never.clone())).await;
        assert_eq!((status, answer["code"].as_str()), (StatusCode::REQUEST_TIMEOUT, Some("REQUEST_TOO_SLOW")), "{answer}");
        assert_eq!(store.files(), 0);
    }
}

#[tokio::test]
async fn a_developer_has_few_uploads_at_a_time() {
    let store = Publishing::open().await;
    let go_on = CancellationToken::new();
    let begun = |name: &str| {
        let signed = store.version(name, "1.0.0").sign();
        let (mut head, _) = ends(&signed.document);
        head.extend(&signed.bundle[..signed.bundle.len() / 2]);
        store.send_body(stalled(head, go_on.clone()))
    };
    let third = async {
        while store.files() < 2 {
            tokio::task::yield_now().await;
        }
        let (status, answer) = store.upload(&store.version("third", "1.0.0").sign()).await;
        assert_eq!((status, answer["code"].as_str()), (StatusCode::SERVICE_UNAVAILABLE, Some("TOO_MANY_UPLOADS")), "{answer}");
        go_on.cancel();
    };
    let (first, second, ()) = tokio::join!(begun("first"), begun("second"), third);
    assert_eq!((first.0, second.0), (StatusCode::BAD_REQUEST, StatusCode::BAD_REQUEST));
    assert_eq!(store.upload(&store.version("third", "1.0.0").sign()).await.0, StatusCode::OK, "the places are free again");
}
