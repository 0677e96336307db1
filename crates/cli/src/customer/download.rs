//! Downloads a bundle into a file, and goes on where an earlier download was interrupted.

use super::error::{CustomerError, VerifyError};
use super::verify::Digests;
use crate::error::FileError;
use crate::report;
use crate::store::{Http, StoreError};
use indicatif::ProgressBar;
use reqwest::header::{CONTENT_RANGE, IF_RANGE, RANGE};
use reqwest::{RequestBuilder, Response, StatusCode};
use souk_domain::publishing::bundle::Manifest;
use souk_domain::publishing::installing::Release;
use std::fs::{self, File, OpenOptions};
use std::io::{ErrorKind, Seek, SeekFrom, Write};
use std::path::Path;
use std::time::Duration;
use tokio::time::{sleep, timeout};

/// How long a download may take, as long as the store sends one.
const WITHIN: Duration = Duration::from_secs(30 * 60);
/// How long the store may send nothing.
const STALL: Duration = Duration::from_secs(30);
/// How often a download is begun or continued.
const TRIES: u32 = 5;
/// The pause before the next try, times its number.
const PAUSE: Duration = Duration::from_secs(1);

/// What is downloaded, and how it is asked for.
pub struct Wanted<'w> {
    pub http: &'w Http,
    pub release: &'w Release,
    pub manifest: &'w Manifest,
    /// Makes a request of the bundle. Its signature is for one time.
    pub request: &'w (dyn Fn() -> Result<RequestBuilder, StoreError> + Send + Sync),
    /// See [`PAUSE`].
    pub pause: Duration,
}

impl<'w> Wanted<'w> {
    pub fn new(
        http: &'w Http,
        release: &'w Release,
        manifest: &'w Manifest,
        request: &'w (dyn Fn() -> Result<RequestBuilder, StoreError> + Send + Sync),
    ) -> Self {
        Self { http, release, manifest, request, pause: PAUSE }
    }

    fn untrusted(&self, error: VerifyError) -> CustomerError {
        CustomerError::NotVerified { store: self.http.address.to_string(), error }
    }
}

/// Downloads a bundle into `part`, which may hold its beginning. Once this returns, the file is the bundle that store and developer have
/// named; after a failure it holds what was received, at most the size of the bundle, unless that is wrong.
///
/// # Errors
/// The store refuses or fails [`TRIES`] times, or what it sends is another bundle.
pub async fn download(wanted: &Wanted<'_>, part: &Path) -> Result<(), CustomerError> {
    let size = wanted.manifest.dist.size;
    let progress = report::progress(size, &wanted.manifest.dist.tarball);
    let mut is_resumed = false;
    for number in 1..=TRIES {
        let received = length(part)?.filter(|received| *received <= size).unwrap_or_default();
        is_resumed |= received > 0;
        let result = if received == size { Ok(()) } else { receive(wanted, part, received, &progress).await };
        match result {
            Ok(()) if is_named(wanted, part)? => {
                progress.finish_and_clear();
                return Ok(());
            }
            Ok(()) => {
                remove(part)?;
                // The beginning can be that of a file which was damaged; a whole download cannot.
                if !is_resumed {
                    return Err(wanted.untrusted(VerifyError::BundleDigest));
                }
                is_resumed = false;
            }
            Err(CustomerError::Store(error)) if !error.may_pass() => return Err(error.into()),
            Err(error @ (CustomerError::Store(_) | CustomerError::Stalled(_))) if number == TRIES && length(part)?.is_none() => {
                return Err(error);
            }
            Err(CustomerError::Store(_) | CustomerError::Stalled(_)) => {}
            Err(error) => {
                remove(part)?;
                return Err(error);
            }
        }
        if number < TRIES {
            sleep(wanted.pause * number).await;
        }
    }
    let received = report::bytes(length(part)?.unwrap_or_default());
    Err(CustomerError::Interrupted { times: TRIES, received, size: report::bytes(size) })
}

/// Receives what is missing of a bundle.
async fn receive(wanted: &Wanted<'_>, part: &Path, received: u64, progress: &ProgressBar) -> Result<(), CustomerError> {
    let size = wanted.manifest.dist.size;
    let call = (wanted.request)()?.timeout(WITHIN);
    let call = match received {
        0 => call,
        _ => call.header(RANGE, format!("bytes={received}-")).header(IF_RANGE, format!("\"{}\"", wanted.release.bundle)),
    };
    let mut response = wanted.http.open(call).await?;
    let start = if continues_at(&response, received) { received } else { 0 };
    let mut file = OpenOptions::new().write(true).create(true).truncate(false).open(part).map_err(FileError::at(part))?;
    file.set_len(start).map_err(FileError::at(part))?;
    file.seek(SeekFrom::Start(start)).map_err(FileError::at(part))?;
    progress.set_position(start);
    let mut left = size.saturating_sub(start);
    loop {
        let chunk = timeout(STALL, response.chunk()).await.map_err(|_| CustomerError::Stalled(STALL))?;
        let Some(chunk) = chunk.map_err(|error| wanted.http.unreachable(error))? else { break };
        let count = chunk.len() as u64;
        left = left.checked_sub(count).ok_or_else(|| wanted.untrusted(VerifyError::BundleSize))?;
        file.write_all(&chunk).map_err(FileError::at(part))?;
        progress.inc(count);
    }
    match left {
        0 => Ok(()),
        _ => Err(StoreError::Unreachable { store: wanted.http.address.to_string(), cause: "the bundle ends early".to_owned() }.into()),
    }
}

/// Whether a response continues a download at this byte.
fn continues_at(response: &Response, received: u64) -> bool {
    let range = response.headers().get(CONTENT_RANGE).and_then(|range| range.to_str().ok());
    let is_next = range.is_some_and(|range| range.starts_with(&format!("bytes {received}-")));
    received > 0 && response.status() == StatusCode::PARTIAL_CONTENT && is_next
}

fn is_named(wanted: &Wanted<'_>, part: &Path) -> Result<bool, FileError> {
    let digests = File::open(part).and_then(Digests::of).map_err(FileError::at(part))?;
    Ok(digests.are_of(wanted.release, wanted.manifest))
}

/// The bytes of a file; `None`: there is none.
fn length(path: &Path) -> Result<Option<u64>, FileError> {
    match fs::metadata(path) {
        Ok(found) => Ok(Some(found.len())),
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
        Err(error) => Err(FileError { path: path.to_owned(), error }),
    }
}

fn remove(path: &Path) -> Result<(), FileError> {
    match fs::remove_file(path) {
        Err(error) if error.kind() != ErrorKind::NotFound => Err(FileError { path: path.to_owned(), error }),
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::super::verify::read_document;
    use super::super::verify::tests::{release_of, upload};
    use super::*;
    use crate::raw_site::raw_site;
    use reqwest::Method;
    use souk_adapters::testing::upload::SignedUpload;

    /// The status line and headers before a body of this length.
    fn head(status: &str, length: usize, more: &str) -> Vec<u8> {
        format!("HTTP/1.1 {status}\r\nconnection: close\r\ncontent-length: {length}\r\n{more}\r\n").into_bytes()
    }

    /// Where a request asks to go on, if it names the tag of the bundle.
    fn range(request: &str, release: &Release) -> Option<usize> {
        let value = |name: &str| request.lines().find_map(|line| line.strip_prefix(name).map(str::trim).map(ToOwned::to_owned));
        assert_eq!(value("if-range:").is_some(), value("range:").is_some());
        if let Some(tag) = value("if-range:") {
            assert_eq!(tag, format!("\"{}\"", release.bundle));
        }
        value("range:")?.strip_prefix("bytes=")?.strip_suffix('-')?.parse().ok()
    }

    struct Case {
        signed: SignedUpload,
        release: Release,
        manifest: Manifest,
        folder: tempfile::TempDir,
    }

    impl Case {
        fn new() -> Self {
            let upload = upload("1.0.0");
            let signed = upload.sign();
            let release = release_of(&upload, &signed);
            let manifest = read_document(&signed.document, &release).expect("is valid");
            Self { signed, release, manifest, folder: tempfile::tempdir().expect("a folder") }
        }

        /// Downloads from a store that answers each request by its head and its number.
        async fn download(&self, answer: impl Fn(&str, usize) -> Vec<u8> + Send + Sync + 'static) -> Result<(), CustomerError> {
            let http = Http::new(raw_site(answer).await).expect("a client");
            let request = || http.request(Method::GET, "bundle");
            let wanted = Wanted { pause: Duration::ZERO, ..Wanted::new(&http, &self.release, &self.manifest, &request) };
            download(&wanted, &self.part()).await
        }

        fn part(&self) -> std::path::PathBuf {
            self.folder.path().join("part")
        }

        fn kept(&self) -> Option<Vec<u8>> {
            fs::read(self.part()).ok()
        }
    }

    #[tokio::test]
    async fn a_download_that_is_cut_off_goes_on_where_it_was() {
        let case = Case::new();
        let (bundle, release) = (case.signed.bundle.clone(), case.release.clone());
        let downloaded = case.download(move |request, number| {
            let (start, half) = (range(request, &release).unwrap_or_default(), bundle.len() / 2);
            match number {
                0 => [head("200 OK", bundle.len(), ""), bundle[..half].to_vec()].concat(),
                _ => {
                    assert_eq!(start, half);
                    let range = format!("content-range: bytes {start}-{}/{}\r\n", bundle.len() - 1, bundle.len());
                    [head("206 Partial Content", bundle.len() - start, &range), bundle[start..].to_vec()].concat()
                }
            }
        });
        downloaded.await.expect("downloads");
        assert_eq!(case.kept(), Some(case.signed.bundle.clone()));
    }

    #[tokio::test]
    async fn a_store_that_begins_again_or_a_damaged_beginning_costs_a_whole_download() {
        for continues in [true, false] {
            let case = Case::new();
            let kept = if continues { b"damaged".to_vec() } else { case.signed.bundle[..9].to_vec() };
            fs::write(case.part(), kept).expect("writes");
            let (bundle, release) = (case.signed.bundle.clone(), case.release.clone());
            let downloaded = case.download(move |request, number| match range(request, &release) {
                Some(start) if continues && number == 0 => {
                    let range = format!("content-range: bytes {start}-{}/{}\r\n", bundle.len() - 1, bundle.len());
                    [head("206 Partial Content", bundle.len() - start, &range), bundle[start..].to_vec()].concat()
                }
                _ => [head("200 OK", bundle.len(), ""), bundle.clone()].concat(),
            });
            downloaded.await.expect("downloads");
            assert_eq!(case.kept(), Some(case.signed.bundle.clone()));
        }
    }

    #[tokio::test]
    async fn another_bundle_and_a_longer_one_are_refused_and_not_kept() {
        let case = Case::new();
        let mut other = case.signed.bundle.clone();
        if let Some(last) = other.last_mut() {
            *last ^= 1;
        }
        let longer = [case.signed.bundle.as_slice(), b"more"].concat();
        for (body, expected) in [(other, VerifyError::BundleDigest), (longer, VerifyError::BundleSize)] {
            let refused = case.download(move |_, _| [head("200 OK", body.len(), ""), body.clone()].concat()).await;
            let refused = refused.expect_err("refused");
            assert!(matches!(&refused, CustomerError::NotVerified { error, .. } if *error == expected), "{refused}");
            assert_eq!(case.kept(), None);
        }
    }

    #[tokio::test]
    async fn what_the_store_refuses_is_not_tried_again_and_tries_are_few() {
        let case = Case::new();
        let body = r#"{"error":"This version has been withdrawn","code":"VERSION_YANKED"}"#;
        let refused = case.download(move |_, number| {
            assert_eq!(number, 0, "one try");
            [head("410 Gone", body.len(), ""), body.as_bytes().to_vec()].concat()
        });
        assert!(matches!(refused.await, Err(CustomerError::Store(error)) if error.code() == "VERSION_YANKED"));
        let busy = r#"{"error":"busy"}"#;
        let failed = case.download(move |_, number| {
            assert!(number < TRIES as usize);
            [head("503 Service Unavailable", busy.len(), ""), busy.as_bytes().to_vec()].concat()
        });
        assert!(matches!(failed.await, Err(CustomerError::Store(error)) if error.may_pass()));
        let bundle = case.signed.bundle.clone();
        let cut = case.download(move |_, _| [head("200 OK", bundle.len(), ""), bundle[..9].to_vec()].concat()).await;
        let message = cut.expect_err("is interrupted").to_string();
        assert!(message.contains("interrupted 5 times") && message.contains("run the command again"), "{message}");
        assert_eq!(case.kept(), Some(case.signed.bundle[..9].to_vec()), "the next command goes on there");
    }
}
