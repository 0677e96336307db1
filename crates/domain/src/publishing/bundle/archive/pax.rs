//! Extended headers: the records of pax, and the long names of GNU.

use super::ArchiveError;

/// Keys whose values change no path, size or type. `SCHILY.*` is what common packers write of the file that they packed.
const HARMLESS: [&str; 11] =
    ["atime", "ctime", "mtime", "uid", "gid", "uname", "gname", "comment", "SCHILY.dev", "SCHILY.ino", "SCHILY.nlink"];

/// What the records say about the next entry.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) struct Extension {
    pub path: Option<String>,
    pub size: Option<u64>,
}

/// Reads records of the form `LENGTH KEY=VALUE\n`.
pub(super) fn read_records(data: &[u8], entry: u64) -> Result<Extension, ArchiveError> {
    let malformed = || ArchiveError::PaxMalformed { entry };
    let text = std::str::from_utf8(data).map_err(|_| ArchiveError::NotUtf8 { entry })?;
    // Some readers end a value at a NUL.
    if text.is_empty() || text.contains('\0') {
        return Err(malformed());
    }
    let (mut rest, mut extension, mut seen) = (text, Extension::default(), Vec::new());
    while !rest.is_empty() {
        let (length, _) = rest.split_once(' ').ok_or_else(malformed)?;
        let bytes = decimal(length).and_then(|bytes| usize::try_from(bytes).ok()).ok_or_else(malformed)?;
        let record = rest.get(..bytes).ok_or_else(malformed)?;
        rest = &rest[bytes..];
        let record = record.get(length.len() + 1..).and_then(|record| record.strip_suffix('\n')).ok_or_else(malformed)?;
        let (key, value) = record.split_once('=').ok_or_else(malformed)?;
        // A line break in a value reads as the next record in some readers.
        if key.is_empty() || value.is_empty() || value.contains('\n') {
            return Err(malformed());
        }
        if seen.contains(&key) {
            return Err(ArchiveError::PaxRepeated { entry, key: shortened(key) });
        }
        seen.push(key);
        match key {
            "path" => extension.path = Some(value.to_owned()),
            "size" => extension.size = Some(decimal(value).ok_or_else(malformed)?),
            _ if HARMLESS.contains(&key) => {}
            _ => return Err(ArchiveError::PaxKey { entry, key: shortened(key) }),
        }
    }
    Ok(extension)
}

/// Reads a long name, which ends with one NUL.
pub(super) fn read_long_name(data: &[u8], entry: u64) -> Result<Extension, ArchiveError> {
    let text = std::str::from_utf8(data).map_err(|_| ArchiveError::NotUtf8 { entry })?;
    let name = text.strip_suffix('\0').filter(|name| !name.is_empty() && !name.contains('\0'));
    let path = name.ok_or(ArchiveError::LongName { entry })?.to_owned();
    Ok(Extension { path: Some(path), size: None })
}

/// A decimal number without sign and leading zeros.
fn decimal(text: &str) -> Option<u64> {
    let is_plain = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit()) && (text == "0" || !text.starts_with('0'));
    is_plain.then(|| text.parse().ok()).flatten()
}

fn shortened(key: &str) -> String {
    key.chars().take(64).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn record(key: &str, value: &str) -> String {
        let rest = format!(" {key}={value}\n");
        let mut length = rest.len();
        while length != rest.len() + length.to_string().len() {
            length = rest.len() + length.to_string().len();
        }
        format!("{length}{rest}")
    }

    #[test]
    fn records_of_known_keys_are_read() {
        let text = [record("mtime", "1.5"), record("path", "package/é"), record("size", "12"), record("SCHILY.ino", "7")].concat();
        let read = read_records(text.as_bytes(), 1).expect("reads");
        assert_eq!(read, Extension { path: Some("package/é".to_owned()), size: Some(12) });
    }

    #[test]
    fn records_that_readers_may_read_differently_are_refused() {
        let repeated = [record("path", "a"), record("path", "b")].concat();
        for (text, error) in [
            (record("linkpath", "x"), ArchiveError::PaxKey { entry: 1, key: "linkpath".to_owned() }),
            (record("GNU.sparse.name", "x"), ArchiveError::PaxKey { entry: 1, key: "GNU.sparse.name".to_owned() }),
            (record("hdrcharset", "BINARY"), ArchiveError::PaxKey { entry: 1, key: "hdrcharset".to_owned() }),
            (repeated, ArchiveError::PaxRepeated { entry: 1, key: "path".to_owned() }),
            (record("path", "a\0b"), ArchiveError::PaxMalformed { entry: 1 }),
            (record("path", "a\n9 path=b"), ArchiveError::PaxMalformed { entry: 1 }),
            (record("path", ""), ArchiveError::PaxMalformed { entry: 1 }),
            (record("size", "012"), ArchiveError::PaxMalformed { entry: 1 }),
            (format!("0{}", record("path", "a")), ArchiveError::PaxMalformed { entry: 1 }),
            ("99 path=a\n".to_owned(), ArchiveError::PaxMalformed { entry: 1 }),
            ("3 a\n".to_owned(), ArchiveError::PaxMalformed { entry: 1 }),
            (String::new(), ArchiveError::PaxMalformed { entry: 1 }),
        ] {
            assert_eq!(read_records(text.as_bytes(), 1), Err(error), "{text:?}");
        }
    }

    #[test]
    fn a_long_name_ends_with_its_only_nul() {
        assert_eq!(read_long_name(b"package/a\0", 1).map(|read| read.path), Ok(Some("package/a".to_owned())));
        for data in [b"package/a".as_slice(), b"package/a\0\0", b"package/a\0b\0", b"\0", b""] {
            assert_eq!(read_long_name(data, 1), Err(ArchiveError::LongName { entry: 1 }), "{data:?}");
        }
    }
}
