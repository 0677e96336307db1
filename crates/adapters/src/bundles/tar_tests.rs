//! Whatever an inspection accepts, other readers list the same paths: the tar crate, and the tar of the system.

use super::inspect;
use super::test_archive::{Block, Tar, record};
use proptest::prelude::*;
use souk_domain::publishing::bundle::archive::{ArchiveLimits, EntryKind};
use std::io::Write;
use std::process::{Command, Stdio};

/// The paths that an inspection sees; `None`: it refuses the archive.
fn seen(tar: &Tar) -> Option<Vec<String>> {
    let (gz, mut files) = (tar.gzip(), Vec::new());
    let limits = ArchiveLimits { ratio_max: u64::MAX, ..ArchiveLimits::default() };
    inspect(gz.as_slice(), gz.len() as u64, &limits, &mut |entry, _| {
        assert_eq!(entry.kind, EntryKind::File);
        files.push(entry.path.to_string());
        Ok(())
    })
    .ok()?;
    Some(files)
}

/// An entry as another reader lists it.
struct Listed {
    path: String,
    is_folder: bool,
}

/// What the tar crate sees.
fn listed_by_crate(tar: &Tar) -> Vec<Listed> {
    let mut archive = tar::Archive::new(tar.0.as_slice());
    let entries = archive.entries().expect("opens").map(|entry| entry.expect("an entry"));
    let listed = |entry: tar::Entry<'_, &[u8]>| {
        let path = entry.path().expect("a path").to_str().expect("text").trim_end_matches('/').to_owned();
        Listed { path, is_folder: entry.header().entry_type().is_dir() }
    };
    entries.map(listed).collect()
}

/// The paths that the tar of the system lists; `None`: there is none.
fn listed_by_system(tar: &Tar) -> Option<Vec<String>> {
    let mut command = Command::new("tar");
    command.args(["--quoting-style=literal", "-tf", "-"]).env("LC_ALL", "C.UTF-8");
    let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().ok()?;
    let mut input = child.stdin.take().expect("a pipe");
    // GNU tar may stop reading at the end of the archive.
    let written = input.write_all(&tar.0);
    drop(input);
    let output = child.wait_with_output().expect("ends");
    assert!(output.status.success() && written.is_ok(), "{}", String::from_utf8_lossy(&output.stderr));
    let text = String::from_utf8(output.stdout).expect("UTF-8");
    Some(text.lines().map(|line| line.trim_end_matches('/').to_owned()).collect())
}

fn assert_read_alike(tar: &Tar) {
    let Some(files) = seen(tar) else { return };
    let listed = listed_by_crate(tar);
    let of_crate: Vec<_> = listed.iter().filter(|entry| !entry.is_folder).map(|entry| entry.path.clone()).collect();
    assert_eq!(files, of_crate);
    if let Some(of_system) = listed_by_system(tar) {
        let all: Vec<_> = listed.into_iter().map(|entry| entry.path).collect();
        assert_eq!(all, of_system);
    }
}

/// One change of a header that is valid otherwise.
#[derive(Debug, Clone)]
enum Change {
    Bytes { at: usize, bytes: Vec<u8> },
    None,
}

fn change() -> impl Strategy<Value = Change> {
    // Where fields begin, and the bytes that mean something in them.
    let field = prop::sample::select(vec![
        0, 8, 99, 100, 108, 116, 124, 135, 136, 147, 156, 157, 256, 257, 262, 263, 265, 297, 329, 337, 345, 386, 475, 476, 482, 483, 499,
        500, 508,
    ]);
    let byte = prop::sample::select(vec![0, b'0', b'1', b'5', b'7', b' ', b'/', b'.', b'x', b'L', b'u', 0x80, 0xff]);
    prop_oneof![2 => (field, prop::collection::vec(byte, 1..4)).prop_map(|(at, bytes)| Change::Bytes { at, bytes }), 3 => Just(Change::None)]
}

#[derive(Debug, Clone)]
struct Piece {
    name: String,
    kind: u8,
    content: usize,
    is_gnu: bool,
    prefix: String,
    extended: Option<String>,
    change: Change,
}

fn piece() -> impl Strategy<Value = Piece> {
    let name = prop_oneof![5 => "package/[a-e]{1,3}(/[a-e]{1,2})?", 1 => "[a-c./é]{1,12}", 1 => "package/[é说a]{30,40}"];
    let kind = prop::sample::select(vec![b'0', b'0', b'0', b'5']);
    let prefix = prop_oneof![6 => Just(String::new()), 1 => "package", 1 => "package/d{100}"];
    let extended = prop::option::weighted(0.25, prop_oneof!["package/[é说a-e]{1,60}/[a-e]{1,90}", "package/x[a-e]{0,2}"]);
    let rest = (prop::sample::select(vec![0_usize, 1, 512, 600]), any::<bool>(), prefix, extended, change());
    (name, kind, rest).prop_map(|(name, kind, (content, is_gnu, prefix, extended, change))| {
        let content = if kind == b'5' { 0 } else { content };
        Piece { name, kind, content, is_gnu, prefix, extended, change }
    })
}

fn build(pieces: &[Piece]) -> Tar {
    let mut tar = Tar::default();
    for piece in pieces {
        if let Some(path) = &piece.extended {
            if piece.is_gnu {
                let data = [path.as_bytes(), b"\0"].concat();
                tar = tar.entry(Block::gnu("././@LongLink", b'L', data.len()), &data);
            } else {
                let data = [record("path", path), record("mtime", "1.5")].concat();
                tar = tar.entry(Block::posix("PaxHeader/x", b'x', data.len()), &data);
            }
        }
        let name = &piece.name.as_bytes()[..piece.name.len().min(100)];
        let block = if piece.is_gnu { Block::gnu("", piece.kind, piece.content) } else { Block::posix("", piece.kind, piece.content) };
        let block = block.with(0, name);
        let block = if piece.is_gnu { block } else { block.with(345, piece.prefix.as_bytes()) };
        let block = match &piece.change {
            Change::Bytes { at, bytes } => block.with(*at, bytes),
            Change::None => block,
        };
        tar = tar.entry(block, &vec![b'c'; piece.content]);
    }
    tar.end()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 512, ..ProptestConfig::default() })]

    #[test]
    fn an_accepted_archive_is_read_alike_by_all_readers(pieces in prop::collection::vec(piece(), 1..4)) {
        assert_read_alike(&build(&pieces));
    }

    #[test]
    fn a_damaged_archive_is_refused_or_read_alike(pieces in prop::collection::vec(piece(), 1..3), at in any::<prop::sample::Index>(), bit in 0_u8..8) {
        let mut tar = build(&pieces);
        let at = at.index(tar.0.len());
        tar.0[at] ^= 1 << bit;
        assert_read_alike(&tar);
    }

    #[test]
    fn no_bytes_make_an_inspection_panic(bytes in prop::collection::vec(any::<u8>(), 0..2_000)) {
        let limits = ArchiveLimits::default();
        drop(inspect(bytes.as_slice(), bytes.len() as u64, &limits, &mut |_, _| Ok(())));
        let gz = Tar(bytes).gzip();
        drop(inspect(gz.as_slice(), gz.len() as u64, &limits, &mut |_, _| Ok(())));
    }
}

#[test]
fn enough_generated_archives_are_accepted_for_the_comparison_to_mean_something() {
    use proptest::strategy::ValueTree;
    use proptest::test_runner::TestRunner;
    let mut runner = TestRunner::deterministic();
    let archives = (0..200).map(|_| prop::collection::vec(piece(), 1..4).new_tree(&mut runner).expect("a tree").current());
    let accepted = archives.filter(|pieces| seen(&build(pieces)).is_some()).count();
    assert!((40..180).contains(&accepted), "{accepted} of 200");
}
