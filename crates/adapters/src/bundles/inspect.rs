//! Reads an archive as a stream and checks every header. Nothing is unpacked, and memory does not grow with the bundle. Blocking: callers
//! run it on a thread of its own once the whole bundle has arrived.

use flate2::bufread::GzDecoder;
use souk_domain::publishing::bundle::archive::{ArchiveError, ArchiveLimits, ArchiveRules, BLOCK, BlockRole, Entry, EntryKind};
use std::io::{self, BufRead, BufReader, ErrorKind, Read};
use tar::Archive;

/// The bytes that are read at a time.
const CHUNK: usize = 64 << 10;

/// Why an inspection has no result.
#[derive(Debug, thiserror::Error)]
pub enum InspectError {
    /// The bundle breaks a rule.
    #[error(transparent)]
    Refused(#[from] ArchiveError),
    /// Reading the stored bundle failed, which is no fault of the bundle.
    #[error("the bundle cannot be read: {0}")]
    Read(#[source] io::Error),
}

/// The measures of an accepted archive.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Inspected {
    pub entries: u64,
    /// The bytes of the tar stream.
    pub unpacked: u64,
}

/// Checks a bundle of `compressed` bytes, and passes each file to `visit` with its content, of which it reads as much as it needs.
///
/// # Errors
/// The first rule that the bundle breaks, the refusal of `visit`, or a failure to read.
pub fn inspect(
    bundle: impl Read,
    compressed: u64,
    limits: &ArchiveLimits,
    visit: &mut dyn FnMut(&Entry, &mut dyn Read) -> Result<(), InspectError>,
) -> Result<Inspected, InspectError> {
    if compressed > limits.compressed_max {
        return Err(ArchiveError::CompressedTooLarge { max: limits.compressed_max }.into());
    }
    let source = BufReader::with_capacity(CHUNK, Source(bundle));
    let measured = Measured { inner: GzDecoder::new(source), unpacked: 0, compressed, limits: *limits };
    let mut archive = Archive::new(measured);
    let walked = walk(&mut archive, limits, visit)?;
    finish(archive.into_inner(), walked)
}

/// What the headers of an archive say.
struct Walked {
    entries: u64,
    /// Where the last entry ends in the tar stream.
    end: u64,
}

fn walk<R: Read>(
    archive: &mut Archive<Measured<R>>,
    limits: &ArchiveLimits,
    visit: &mut dyn FnMut(&Entry, &mut dyn Read) -> Result<(), InspectError>,
) -> Result<Walked, InspectError> {
    let (mut rules, mut end) = (ArchiveRules::new(*limits), 0);
    for entry in archive.entries().map_err(classify)?.raw(true) {
        let mut entry = entry.map_err(classify)?;
        let block: [u8; BLOCK] = *entry.header().as_bytes();
        let role = rules.header(&block)?;
        let (position, size) = (entry.raw_file_position(), entry.size());
        end = position.saturating_add(size.next_multiple_of(BLOCK as u64));
        let mut content = Counted { inner: &mut entry, count: 0 };
        match role {
            BlockRole::Extension { size } => {
                let mut data = Vec::new();
                (&mut content).take(size).read_to_end(&mut data).map_err(classify)?;
                if content.count != size {
                    return Err(ArchiveError::Truncated.into());
                }
                rules.extend(&data)?;
            }
            BlockRole::Entry(found) => {
                if found.kind == EntryKind::File {
                    visit(&found, &mut content)?;
                }
                io::copy(&mut content, &mut io::sink()).map_err(classify)?;
                if content.count != found.size {
                    return Err(ArchiveError::Truncated.into());
                }
            }
        }
    }
    Ok(Walked { entries: rules.finish()?, end })
}

/// Reads what follows the last entry: at least two blocks of zeros, nothing but zeros, and then the end of the file.
fn finish<R: BufRead>(mut stream: Measured<GzDecoder<R>>, walked: Walked) -> Result<Inspected, InspectError> {
    let mut buffer = vec![0; CHUNK];
    loop {
        let count = stream.read(&mut buffer).map_err(classify)?;
        if count == 0 {
            break;
        }
        if buffer[..count].iter().any(|byte| *byte != 0) {
            return Err(ArchiveError::DataAfterEnd.into());
        }
    }
    if stream.unpacked < walked.end.saturating_add(2 * BLOCK as u64) {
        return Err(ArchiveError::Truncated.into());
    }
    // Some readers continue with a second member, and others do not.
    let mut rest = stream.inner.into_inner();
    if !rest.fill_buf().map_err(classify)?.is_empty() {
        return Err(ArchiveError::DataAfterGzip.into());
    }
    Ok(Inspected { entries: walked.entries, unpacked: stream.unpacked })
}

/// The stored bundle. Its failures are kept apart from those of the decoder.
struct Source<R>(R);

#[derive(Debug, thiserror::Error)]
#[error(transparent)]
struct SourceError(io::Error);

impl<R: Read> Read for Source<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        self.0.read(buffer).map_err(|error| match error.kind() {
            ErrorKind::Interrupted => error,
            _ => io::Error::other(SourceError(error)),
        })
    }
}

/// The tar stream, which ends with an error where it exceeds a limit.
struct Measured<R> {
    inner: R,
    unpacked: u64,
    compressed: u64,
    limits: ArchiveLimits,
}

impl<R: Read> Read for Measured<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let count = self.inner.read(buffer)?;
        self.unpacked += count as u64;
        self.limits.check_unpacked(self.compressed, self.unpacked).map_err(io::Error::other)?;
        Ok(count)
    }
}

struct Counted<R> {
    inner: R,
    count: u64,
}

impl<R: Read> Read for Counted<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let count = self.inner.read(buffer)?;
        self.count += count as u64;
        Ok(count)
    }
}

/// An error of the stream: a limit, a failure of the storage, or a bundle that is not what it should be.
pub(super) fn classify(error: io::Error) -> InspectError {
    let error = match error.downcast::<ArchiveError>() {
        Ok(refused) => return refused.into(),
        Err(error) => error,
    };
    match error.downcast::<SourceError>() {
        Ok(SourceError(error)) => InspectError::Read(error),
        Err(error) if error.kind() == ErrorKind::UnexpectedEof => ArchiveError::Truncated.into(),
        Err(error) => ArchiveError::Malformed(error.to_string()).into(),
    }
}
