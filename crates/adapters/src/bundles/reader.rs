//! Implements the domain's [`BundleReader`] port.

use super::inspect::{InspectError, inspect};
use super::scan::scan;
use super::{classify, parse_json, parse_yaml};
use async_trait::async_trait;
use imagesize::ImageType;
use sha2::{Digest, Sha256};
use souk_domain::publishing::bundle::archive::{ArchiveError, ArchiveLimits};
use souk_domain::publishing::bundle::{
    BundleReader, BundleScan, ExtractedFile, InspectedBundle, InspectionError, Picture, PictureFormat, Spooled, WantedFiles,
};
use souk_domain::shared::{Json, StorageError};
use std::fs::File;
use std::path::Path;
use std::sync::Arc;
use tokio::sync::Semaphore;

/// Inspections that run at the same time. Each occupies a thread, most of which is decompression.
const INSPECTIONS: usize = 2;
/// The bytes at the beginning of a vector graphic in which its root element is looked for.
const SVG_HEAD: usize = 4_096;

/// Reads bundles on threads of its own.
#[derive(Debug, Clone)]
pub struct LocalBundleReader {
    slots: Arc<Semaphore>,
}

impl Default for LocalBundleReader {
    fn default() -> Self {
        Self { slots: Arc::new(Semaphore::new(INSPECTIONS)) }
    }
}

#[async_trait]
impl BundleReader for LocalBundleReader {
    fn parse_json(&self, bytes: &[u8]) -> Result<Json, String> {
        parse_json(bytes).map_err(|error| error.to_string())
    }

    fn parse_yaml(&self, bytes: &[u8]) -> Result<Json, String> {
        parse_yaml(bytes)
    }

    fn sha256(&self, bytes: &[u8]) -> String {
        hex::encode(Sha256::digest(bytes))
    }

    fn measure(&self, content: &[u8]) -> Option<Picture> {
        let format = match imagesize::image_type(content) {
            Ok(ImageType::Png) => PictureFormat::Png,
            Ok(ImageType::Jpeg) => PictureFormat::Jpeg,
            Ok(ImageType::Webp) => PictureFormat::Webp,
            _ => return is_svg(content).then_some(Picture { format: PictureFormat::Svg, width: 0, height: 0 }),
        };
        let size = imagesize::blob_size(content).ok()?;
        Some(Picture { format, width: size.width.try_into().ok()?, height: size.height.try_into().ok()? })
    }

    async fn inspect(
        &self,
        bundle: &dyn Spooled,
        limits: &ArchiveLimits,
        wanted: &WantedFiles,
    ) -> Result<InspectedBundle, InspectionError> {
        let (path, size, limits, wanted) = (bundle.path().to_owned(), bundle.size(), *limits, wanted.clone());
        self.run(move || extract(&path, size, &limits, &wanted)).await
    }

    async fn scan(&self, bundle: &dyn Spooled, limits: &ArchiveLimits) -> Result<BundleScan, InspectionError> {
        let (path, size, limits) = (bundle.path().to_owned(), bundle.size(), *limits);
        self.run(move || scan(File::open(&path).map_err(InspectError::Read)?, size, &limits)).await
    }
}

impl LocalBundleReader {
    /// Runs work on a thread of its own, once there is a place for it.
    async fn run<T: Send + 'static>(&self, work: impl FnOnce() -> Result<T, InspectError> + Send + 'static) -> Result<T, InspectionError> {
        let failed = |error: String| InspectionError::Storage(StorageError::Driver(error.into()));
        // The thread keeps the slot, so that a caller who goes away does not free it early.
        let slot = Arc::clone(&self.slots).acquire_owned().await.map_err(|error| failed(error.to_string()))?;
        let done = tokio::task::spawn_blocking(move || {
            let done = work();
            drop(slot);
            done
        });
        match done.await.map_err(|error| failed(error.to_string()))? {
            Ok(done) => Ok(done),
            Err(InspectError::Refused(error)) => Err(InspectionError::Refused(error)),
            Err(InspectError::Read(error)) => Err(InspectionError::Storage(StorageError::Driver(Box::new(error)))),
        }
    }
}

fn extract(path: &Path, size: u64, limits: &ArchiveLimits, wanted: &WantedFiles) -> Result<InspectedBundle, InspectError> {
    let bundle = File::open(path).map_err(InspectError::Read)?;
    let mut files = Vec::new();
    let inspected = inspect(bundle, size, limits, &mut |entry, content| {
        let Some(found) = wanted.find(&entry.path) else { return Ok(()) };
        if entry.size > found.max {
            return Err(ArchiveError::FileTooLarge { path: entry.path.to_string(), max: found.max }.into());
        }
        if files.len() == wanted.count_max() {
            return Err(ArchiveError::TooManyListed { max: wanted.count_max() }.into());
        }
        let mut bytes = Vec::new();
        content.read_to_end(&mut bytes).map_err(classify)?;
        let path = entry.path.as_str().split_once('/').map_or("", |(_, path)| path).to_owned();
        files.push(ExtractedFile { path, content: bytes });
        Ok(())
    })?;
    Ok(InspectedBundle { entries: inspected.entries, unpacked: inspected.unpacked, files })
}

/// Whether a text begins as an SVG document does.
fn is_svg(content: &[u8]) -> bool {
    let Ok(text) = std::str::from_utf8(content) else { return false };
    let mut rest = text.trim_start_matches('\u{feff}').trim_start();
    let end = rest.char_indices().nth(SVG_HEAD).map_or(rest.len(), |(at, _)| at);
    rest = &rest[..end];
    // The declaration, comments and the document type stand before the root element.
    loop {
        let closing = if rest.starts_with("<!--") {
            "-->"
        } else if rest.starts_with("<?") {
            "?>"
        } else if rest.starts_with("<!") {
            ">"
        } else {
            break;
        };
        let Some((_, after)) = rest.split_once(closing) else { return false };
        rest = after.trim_start();
    }
    rest.strip_prefix("<svg").is_some_and(|after| after.starts_with(|next: char| next.is_whitespace() || matches!(next, '>' | '/')))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pictures_are_measured_by_their_content() {
        let png = [b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR".as_slice(), &600_u32.to_be_bytes(), &338_u32.to_be_bytes(), b"\x08\x02\0\0\0"].concat();
        let measure = |content: &[u8]| LocalBundleReader::default().measure(content);
        assert_eq!(measure(&png), Some(Picture { format: PictureFormat::Png, width: 600, height: 338 }));
        let vector = Some(Picture { format: PictureFormat::Svg, width: 0, height: 0 });
        for text in ["<svg xmlns=\"http://www.w3.org/2000/svg\"/>", "<?xml version=\"1.0\"?>\n<!-- a -->\n<!DOCTYPE svg>\n<svg>"] {
            assert_eq!(measure(text.as_bytes()), vector, "{text}");
        }
        for content in [b"".as_slice(), b"<svgx>", b"<html><svg>", b"<!-- <svg>", b"GIF89a\x01\0\x01\0", b"\xff\xfe<svg>", &png[..12]] {
            assert_eq!(measure(content), None, "{content:?}");
        }
    }
}
