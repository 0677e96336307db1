//! Reads every file of a bundle for its checks. Blocking, as an inspection is.

use super::classify;
use super::inspect::{InspectError, inspect};
use sha2::{Digest, Sha256};
use souk_domain::publishing::bundle::archive::ArchiveLimits;
use souk_domain::publishing::bundle::checks::{FINDINGS_MAX, Finding, Rule, SecretScanner, secret_file};
use souk_domain::publishing::bundle::{BundleScan, FileDigest};
use std::io::Read;

/// Bytes per read, and the longest line that is kept.
const CHUNK: usize = 64 << 10;

/// Hashes each file, and looks for secrets in its lines.
///
/// # Errors
/// As [`inspect`].
pub(super) fn scan(bundle: impl Read, compressed: u64, limits: &ArchiveLimits) -> Result<BundleScan, InspectError> {
    let scanner = SecretScanner::new();
    let mut found = BundleScan::default();
    inspect(bundle, compressed, limits, &mut |entry, content| {
        let path = entry.path.as_str().split_once('/').map_or("", |(_, path)| path);
        if secret_file(path) && found.secrets.len() < FINDINGS_MAX {
            found.secrets.push(Finding::in_file(Rule::SecretFile, path, ""));
        }
        let mut lines = Lines { path, scanner: scanner.as_ref(), findings: &mut found.secrets, line: Vec::new(), number: 1, is_text: None };
        let (mut buffer, mut hash, mut size) = (vec![0; CHUNK], Sha256::new(), 0_u64);
        loop {
            let count = content.read(&mut buffer).map_err(classify)?;
            if count == 0 {
                break;
            }
            hash.update(&buffer[..count]);
            size += count as u64;
            lines.take(&buffer[..count]);
        }
        lines.end_line();
        found.digests.push(FileDigest { path: path.to_owned(), sha256: hex::encode(hash.finalize()), size });
        Ok(())
    })?;
    Ok(found)
}

/// The lines of one file.
struct Lines<'f> {
    path: &'f str,
    scanner: Option<&'f SecretScanner>,
    findings: &'f mut Vec<Finding>,
    /// The current line, up to [`CHUNK`] bytes.
    line: Vec<u8>,
    number: u32,
    /// `None` until the file has content. A file with a NUL byte at its beginning is binary.
    is_text: Option<bool>,
}

impl Lines<'_> {
    fn take(&mut self, bytes: &[u8]) {
        if !*self.is_text.get_or_insert_with(|| !bytes.contains(&0)) {
            return;
        }
        for piece in bytes.split_inclusive(|byte| *byte == b'\n') {
            let room = CHUNK.saturating_sub(self.line.len());
            self.line.extend_from_slice(&piece[..piece.len().min(room)]);
            if piece.ends_with(b"\n") {
                self.end_line();
                self.number = self.number.saturating_add(1);
            }
        }
    }

    fn end_line(&mut self) {
        let line = String::from_utf8_lossy(&self.line);
        let rule = self.scanner.filter(|_| self.findings.len() < FINDINGS_MAX && !line.is_empty()).and_then(|scanner| scanner.find(&line));
        if let Some(rule) = rule {
            self.findings.push(Finding { line: Some(self.number), ..Finding::in_file(rule, self.path, "") });
        }
        self.line.clear();
    }
}

#[cfg(test)]
mod tests {
    use super::super::test_archive::Tar;
    use super::*;

    #[test]
    fn secrets_are_found_with_file_and_line() {
        let key = concat!("-----BEGIN ", "PRIVATE KEY-----");
        let binary = [b"\0\n".as_slice(), key.as_bytes()].concat();
        let tar = Tar::default()
            .file("package/a.js", format!("one\ntwo\r\n  '{key}'\nfour").as_bytes())
            .file("package/last.txt", format!("\n{key}").as_bytes())
            .file("package/.env", b"A=1\n")
            .file("package/image.bin", &binary)
            .file("package/long.js", &vec![b'x'; 3 * CHUNK])
            .end();
        let bundle = tar.gzip();
        let limits = ArchiveLimits { ratio_max: u64::MAX, ..ArchiveLimits::default() };
        let found = scan(bundle.as_slice(), bundle.len() as u64, &limits).expect("accepted");
        let secrets: Vec<_> = found.secrets.iter().map(|finding| (finding.rule, finding.file.as_str(), finding.line)).collect();
        let expected = [(Rule::PrivateKey, "a.js", Some(3)), (Rule::PrivateKey, "last.txt", Some(2)), (Rule::SecretFile, ".env", None)];
        assert_eq!(secrets, expected);
        assert_eq!(found.digests.len(), 5);
        assert_eq!((found.digests[2].sha256.as_str(), found.digests[2].size), (hex::encode(Sha256::digest(b"A=1\n")).as_str(), 4));
    }
}
