//! Hostile bundles, each of which is refused with its reason.

use super::test_archive::{Block, Tar, gzip, record};
use super::{InspectError, Inspected, inspect};
use flate2::Compression;
use flate2::write::GzEncoder;
use souk_domain::publishing::bundle::PathError;
use souk_domain::publishing::bundle::archive::{ArchiveError, ArchiveLimits, HeaderField};
use std::io::{Cursor, Read, Write};

fn inspected(bundle: &[u8]) -> Result<Inspected, ArchiveError> {
    match inspect(bundle, bundle.len() as u64, &ArchiveLimits::default(), &mut |_, _| Ok(())) {
        Ok(inspected) => Ok(inspected),
        Err(InspectError::Refused(error)) => Err(error),
        Err(error) => panic!("{error}"),
    }
}

fn refusal(tar: &Tar) -> ArchiveError {
    inspected(&tar.gzip()).expect_err("refused")
}

#[test]
fn an_ordinary_bundle_is_accepted_in_every_accepted_format() {
    let long = format!("package/{}/{}", "d".repeat(90), "f".repeat(90));
    let (folder, name) = long.rsplit_once('/').expect("a folder");
    let tar = Tar::default()
        .entry(Block::posix("package/", b'5', 0), b"")
        .file("package/blocklet.yml", b"name: hello")
        .entry(Block::gnu("package/gnu.md", b'0', 3), b"abc")
        .entry(Block::posix(name, b'0', 1).with(345, folder.as_bytes()), b"x")
        .entry(Block::posix("PaxHeader/x", b'x', record("path", "package/说明.md").len()), &record("path", "package/说明.md"))
        .entry(Block::posix("package/cut", b'0', 2), b"yy")
        .entry(Block::gnu("././@LongLink", b'L', 1 + "package/long".len()), b"package/long\0")
        .entry(Block::gnu("package/lo", b'0', 0), b"")
        // Some packers end octal numbers with a space.
        .entry(Block::posix("package/node", b'0', 0).with(124, b"0000000003 \0").with(108, &[0; 16]), b"abc")
        .end();
    let mut paths = Vec::new();
    let gz = tar.gzip();
    let result = inspect(gz.as_slice(), gz.len() as u64, &ArchiveLimits::default(), &mut |entry, content| {
        let mut text = String::new();
        content.read_to_string(&mut text).expect("reads");
        paths.push((entry.path.to_string(), text));
        Ok(())
    });
    assert_eq!(result.expect("accepted"), Inspected { entries: 7, unpacked: tar.0.len() as u64 });
    let expected = [
        ("package/blocklet.yml", "name: hello"),
        ("package/gnu.md", "abc"),
        (long.as_str(), "x"),
        ("package/说明.md", "yy"),
        ("package/long", ""),
        ("package/node", "abc"),
    ];
    assert_eq!(paths, expected.map(|(path, text)| (path.to_owned(), text.to_owned())));
}

#[test]
fn a_path_that_leaves_its_folder_is_refused_however_it_is_written() {
    let traversal = |name: &str| ArchiveError::Path { entry: 1, path: name.to_owned(), error: PathError::Traversal };
    let path = |entry, path: &str, error| ArchiveError::Path { entry, path: path.to_owned(), error };
    let pax = record("path", "package/../../x");
    let cases = [
        (Tar::default().file("../x", b""), traversal("../x")),
        (Tar::default().file("package/../../x", b""), traversal("package/../../x")),
        (Tar::default().file("/etc/passwd", b""), path(1, "/etc/passwd", PathError::Absolute)),
        (Tar::default().file("package\\..\\x", b""), path(1, "package\\..\\x", PathError::Backslash)),
        (Tar::default().file("C:/x", b""), path(1, "C:/x", PathError::Colon)),
        // Prefix and name are harmless alone, but not joined.
        (Tar::default().entry(Block::posix("../../x", b'0', 0).with(345, b"package"), b""), traversal("package/../../x")),
        (Tar::default().entry(Block::posix("x", b'0', 0).with(345, b"package/.."), b""), traversal("package/../x")),
        (
            Tar::default().entry(Block::posix("p", b'x', pax.len()), &pax).file("package/x", b""),
            path(2, "package/../../x", PathError::Traversal),
        ),
        (Tar::default().entry(Block::posix("../x", b'x', pax.len()), &pax), traversal("../x")),
        (
            Tar::default().entry(Block::gnu("././@LongLink", b'L', 14), b"package/../x/\0").entry(Block::gnu("package/x", b'0', 0), b""),
            path(2, "package/../x/", PathError::Traversal),
        ),
        // A reader that does not know extended headers uses the name of the header.
        (
            Tar::default().entry(Block::posix("p", b'x', 18), &record("path", "package/a")).file("../../x", b""),
            path(2, "../../x", PathError::Traversal),
        ),
        (Tar::default().file("other/x", b""), ArchiveError::NotBelowPackage { entry: 1, path: "other/x".to_owned() }),
        (Tar::default().file("packages/x", b""), ArchiveError::NotBelowPackage { entry: 1, path: "packages/x".to_owned() }),
    ];
    for (tar, expected) in cases {
        assert_eq!(refusal(&tar.end()), expected);
    }
}

#[test]
fn a_header_that_other_readers_read_differently_is_refused() {
    let field = |field| ArchiveError::Header { entry: 1, field };
    let file = || Block::posix("package/a", b'0', 0);
    let gnu = || Block::gnu("package/a", b'0', 0);
    let cases = [
        (file().with(157, b"target"), field(HeaderField::Linkname)),
        (file().with(256, b"x"), field(HeaderField::Linkname)),
        (file().with(124, &[0x80, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0]), field(HeaderField::Size)),
        (file().with(124, b"          0\0"), field(HeaderField::Size)),
        (file().with(124, b"000000000000"), field(HeaderField::Size)),
        (file().with(124, b"0\x0000000007\0\0"), field(HeaderField::Size)),
        (file().with(108, &[0xff; 8]), field(HeaderField::Uid)),
        (file().with(136, b"-0000000001\0"), field(HeaderField::Mtime)),
        (file().with(50, b"x"), field(HeaderField::Name)),
        (file().with(257, &[0; 8]), field(HeaderField::Magic)),
        (file().with(257, b"ustar\x0001"), field(HeaderField::Magic)),
        (file().with(257, b"ustar   "), field(HeaderField::Magic)),
        (file().with(257, b"USTAR\x0000"), field(HeaderField::Magic)),
        (gnu().with(345, b"package/.."), field(HeaderField::Prefix)),
        (gnu().with(386, b"x"), field(HeaderField::Prefix)),
        (gnu().with(482, b"\x01"), field(HeaderField::Prefix)),
        (file().with(345, b"a\0b"), field(HeaderField::Prefix)),
        (file().with(500, b"tar\0"), field(HeaderField::Padding)),
        (file().with(508, b"tar\0"), field(HeaderField::Padding)),
        (file().with(329, b"0000001\0"), field(HeaderField::Device)),
        (file().with(265, b"a\0b"), field(HeaderField::Uname)),
        (file().with(0, b"package/\xff"), ArchiveError::NotUtf8 { entry: 1 }),
        (Block::posix("package/a/", b'0', 0), ArchiveError::Path { entry: 1, path: "package/a/".to_owned(), error: PathError::Traversal }),
        (Block::posix("package/a", b'5', 512), ArchiveError::FolderWithContent { path: "package/a".to_owned() }),
    ];
    for (block, expected) in cases {
        let bytes = block.0;
        assert_eq!(refusal(&Tar::default().entry(block, &[0; 512]).end()), expected, "{}", String::from_utf8_lossy(&bytes));
    }
    let prefixed = || Block::posix("a", b'0', 0).with(345, b"package");
    let long_name = Tar::default().entry(Block::gnu("././@LongLink", b'L', 10), b"package/b\0").entry(prefixed(), b"").end();
    assert_eq!(refusal(&long_name), ArchiveError::Header { entry: 2, field: HeaderField::Prefix });
    // Published tools write both a prefix and the path of a pax record.
    let path = record("path", "package/b");
    let pax = Tar::default().entry(Block::posix("PaxHeader/b", b'x', path.len()), &path).entry(prefixed(), b"").end();
    assert!(inspected(&pax.gzip()).is_ok());
}

#[test]
fn an_entry_without_a_size_is_refused() {
    let tar = Tar::default().entry(Block::posix("package/a", b'0', 0).with(124, &[0; 12]), b"").end();
    assert!(matches!(refusal(&tar), ArchiveError::Malformed(_) | ArchiveError::Header { field: HeaderField::Size, .. }));
}

#[test]
fn links_devices_and_unknown_types_are_refused_by_name() {
    for (flag, kind) in [
        (b'1', "hard links"),
        (b'2', "symbolic links"),
        (b'3', "devices"),
        (b'4', "devices"),
        (b'6', "fifos"),
        (b'7', "entries of an unknown type"),
        (b'g', "global pax headers"),
        (b'K', "long link names"),
        (b'S', "sparse files"),
        (0, "entries of the format from before POSIX"),
        (b'D', "entries of an unknown type"),
        (b'X', "entries of an unknown type"),
    ] {
        let tar = Tar::default().entry(Block::posix("package/a", flag, 0), b"").end();
        assert_eq!(refusal(&tar), ArchiveError::Kind { entry: 1, kind });
    }
}

#[test]
fn extended_headers_that_hide_files_are_refused() {
    let pax = |records: &[u8]| Block::posix("PaxHeader/a", b'x', records.len());
    let long = |name: &[u8]| Block::gnu("././@LongLink", b'L', name.len());
    // The content is itself an entry. A reader that believes the size of zero finds it.
    let hidden = Tar::default().file("package/hidden", b"").0;
    let size = record("size", "0");
    let path = record("path", "package/b");
    let linkpath = record("linkpath", "/etc/passwd");
    let cases = [
        (Tar::default().entry(pax(&size), &size).file("package/a", &hidden), ArchiveError::PaxSize { entry: 2 }),
        (
            Tar::default().entry(pax(&linkpath), &linkpath).file("package/a", b""),
            ArchiveError::PaxKey { entry: 1, key: "linkpath".to_owned() },
        ),
        (Tar::default().entry(pax(&path), &path).entry(pax(&path), &path), ArchiveError::Extension { entry: 2 }),
        (Tar::default().entry(pax(&path), &path).entry(long(b"package/c\0"), b"package/c\0"), ArchiveError::Extension { entry: 2 }),
        (Tar::default().entry(pax(&path), &path), ArchiveError::Extension { entry: 1 }),
        (Tar::default().entry(long(b"package/c"), b"package/c").file("package/a", b""), ArchiveError::LongName { entry: 1 }),
        (Tar::default().entry(pax(&[]), &[]).file("package/a", b""), ArchiveError::PaxMalformed { entry: 1 }),
        (Tar::default().entry(pax(&[b'1'; 5_000]), &[b'1'; 5_000]), ArchiveError::ExtensionTooLong { entry: 1, max: 4_096 }),
    ];
    for (tar, expected) in cases {
        assert_eq!(refusal(&tar.end()), expected);
    }
}

#[test]
fn what_stands_beside_the_archive_is_refused() {
    let whole = Tar::default().file("package/a", b"abc").end();
    let after_zeros = Tar([whole.0.as_slice(), &Tar::default().file("package/hidden", b"").end().0].concat());
    assert_eq!(refusal(&after_zeros), ArchiveError::DataAfterEnd);
    let one_block = Tar([&whole.0[..whole.0.len() - 1_024], &[0; 512], &Tar::default().file("package/hidden", b"").end().0].concat());
    assert_eq!(refusal(&one_block), ArchiveError::DataAfterEnd);
    let two_members = [whole.gzip(), whole.gzip()].concat();
    assert_eq!(inspected(&two_members), Err(ArchiveError::DataAfterGzip));
    assert_eq!(inspected(&[whole.gzip(), vec![0; 8]].concat()), Err(ArchiveError::DataAfterGzip));
    for cut in [whole.0.len() - 1_024, whole.0.len() - 512] {
        assert_eq!(refusal(&Tar(whole.0[..cut].to_vec())), ArchiveError::Truncated);
    }
    for cut in [512 + 1, 600, 100] {
        let refusal = refusal(&Tar(whole.0[..cut].to_vec()));
        assert!(matches!(refusal, ArchiveError::Truncated | ArchiveError::Malformed(_)), "{cut}: {refusal}");
    }
    assert_eq!(refusal(&Tar::default().end()), ArchiveError::Empty);
    let gz = whole.gzip();
    for bundle in [&gz[..gz.len() / 2], &gz[..gz.len() - 4], b"", b"PK\x03\x04", &whole.0] {
        assert!(
            matches!(inspected(bundle), Err(ArchiveError::Truncated | ArchiveError::Malformed(_) | ArchiveError::Empty)),
            "{:?}",
            inspected(bundle)
        );
    }
    let mut altered = gz;
    let last = altered.len() - 6;
    altered[last] ^= 1;
    assert!(inspected(&altered).is_err(), "the checksum of gzip is checked");
}

/// A tar stream that is made while it is read.
struct Endless {
    block: Vec<u8>,
    left: u64,
}

impl Read for Endless {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        let count = buffer.len().min(self.block.len()).min(usize::try_from(self.left).unwrap_or(usize::MAX));
        buffer[..count].copy_from_slice(&self.block[..count]);
        self.left -= count as u64;
        Ok(count)
    }
}

fn bomb(header: Block, bytes: u64) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::best());
    encoder.write_all(&header.summed().0).expect("writes");
    std::io::copy(&mut Endless { block: vec![0; 1 << 20], left: bytes }, &mut encoder).expect("writes");
    encoder.finish().expect("ends")
}

#[test]
fn bombs_are_refused_while_they_are_read() {
    let bomb = bomb(Block::posix("package/zeros", b'0', 64 << 20), 64 << 20);
    assert_eq!(inspected(&bomb), Err(ArchiveError::RatioTooHigh { max: 200 }));
    let limits = ArchiveLimits { unpacked_max: 8 << 20, ratio_max: u64::MAX, ..ArchiveLimits::default() };
    let refused = inspect(bomb.as_slice(), bomb.len() as u64, &limits, &mut |_, _| Ok(()));
    assert!(matches!(refused, Err(InspectError::Refused(ArchiveError::UnpackedTooLarge { .. }))), "{refused:?}");
    let limits = ArchiveLimits { compressed_max: 10, ..ArchiveLimits::default() };
    let refused = inspect(bomb.as_slice(), bomb.len() as u64, &limits, &mut |_, _| Ok(()));
    assert!(matches!(refused, Err(InspectError::Refused(ArchiveError::CompressedTooLarge { max: 10 }))), "{refused:?}");
}

#[test]
fn a_million_entries_are_refused_at_the_limit() {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
    for n in 0..100_001_u32 {
        // Names that compress badly, so that the ratio is not what refuses them.
        let name = format!(
            "package/{:016x}{:016x}",
            u64::from(n).wrapping_mul(0x9e37_79b9_7f4a_7c15),
            u64::from(n).wrapping_mul(0xbf58_476d_1ce4_e5b9)
        );
        encoder.write_all(&Block::posix(&name, b'0', 0).summed().0).expect("writes");
    }
    let bundle = encoder.finish().expect("ends");
    assert_eq!(inspected(&bundle), Err(ArchiveError::TooManyEntries { max: 100_000 }));
}

#[test]
fn a_failing_disk_says_nothing_about_the_bundle() {
    struct Broken;
    impl Read for Broken {
        fn read(&mut self, _: &mut [u8]) -> std::io::Result<usize> {
            Err(std::io::Error::other("the disk fails"))
        }
    }
    let whole = Tar::default().file("package/a", b"abc").end().gzip();
    let result = inspect(Cursor::new(&whole[..20]).chain(Broken), whole.len() as u64, &ArchiveLimits::default(), &mut |_, _| Ok(()));
    assert!(matches!(result, Err(InspectError::Read(_))), "{result:?}");
}

#[test]
fn an_uncompressed_archive_is_no_bundle() {
    assert!(matches!(inspected(&gzip(b"not a tar archive at all")), Err(ArchiveError::Malformed(_))));
}
