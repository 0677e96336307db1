//! The fields of a tar header block.

use super::{ArchiveError, HeaderField};
use std::ops::Range;

/// The bytes of a block.
pub const BLOCK: usize = 512;

const NAME: Range<usize> = 0..100;
const MODE: Range<usize> = 100..108;
const UID: Range<usize> = 108..116;
const GID: Range<usize> = 116..124;
const SIZE: Range<usize> = 124..136;
const MTIME: Range<usize> = 136..148;
const CHECKSUM: Range<usize> = 148..156;
const TYPE: usize = 156;
const LINKNAME: Range<usize> = 157..257;
const MAGIC: Range<usize> = 257..265;
const UNAME: Range<usize> = 265..297;
const GNAME: Range<usize> = 297..329;
const DEV_MAJOR: Range<usize> = 329..337;
const DEV_MINOR: Range<usize> = 337..345;
const PREFIX: Range<usize> = 345..500;
const PADDING: Range<usize> = 500..512;

const POSIX: &[u8] = b"ustar\x0000";
const GNU: &[u8] = b"ustar  \0";

/// What a header announces.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum HeaderKind {
    File,
    Folder,
    Pax,
    LongName,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Header {
    pub kind: HeaderKind,
    /// The prefix and the name, joined.
    pub name: String,
    pub has_prefix: bool,
    /// Whether the name fills its field and ends within a character, which is then left out.
    pub is_cut_off: bool,
    pub size: u64,
    /// Whether its owner may run it.
    pub is_executable: bool,
}

/// Reads a header. `entry` counts headers from 1, for messages.
pub(super) fn read(block: &[u8; BLOCK], entry: u64) -> Result<Header, ArchiveError> {
    let refused = |field| ArchiveError::Header { entry, field };
    let number = |range: Range<usize>, field| octal(&block[range]).ok_or_else(|| refused(field));
    let sum =
        block.iter().enumerate().map(|(at, byte)| if CHECKSUM.contains(&at) { u64::from(b' ') } else { u64::from(*byte) }).sum::<u64>();
    if number(CHECKSUM, HeaderField::Checksum)?.ok_or_else(|| refused(HeaderField::Checksum))? != sum {
        return Err(ArchiveError::Checksum { entry });
    }
    let is_gnu = match &block[MAGIC] {
        magic if magic == POSIX => false,
        magic if magic == GNU => true,
        _ => return Err(refused(HeaderField::Magic)),
    };
    let kind = kind(block[TYPE], entry)?;
    let size = number(SIZE, HeaderField::Size)?.ok_or_else(|| refused(HeaderField::Size))?;
    let mode = number(MODE, HeaderField::Mode)?.unwrap_or_default();
    for (range, field) in [(UID, HeaderField::Uid), (GID, HeaderField::Gid), (MTIME, HeaderField::Mtime)] {
        number(range, field)?;
    }
    for range in [DEV_MAJOR, DEV_MINOR] {
        // Devices are refused, so their numbers are zero.
        if number(range, HeaderField::Device)?.unwrap_or_default() != 0 {
            return Err(refused(HeaderField::Device));
        }
    }
    // Some readers take an entry with a link name for a link, whatever its type.
    let is_zero = |range: Range<usize>| block[range].iter().all(|byte| *byte == 0);
    if !is_zero(LINKNAME) {
        return Err(refused(HeaderField::Linkname));
    }
    if !is_zero(PADDING) {
        return Err(refused(HeaderField::Padding));
    }
    // GNU stores times and sparse maps there, and some readers join it to the name whatever the magic says.
    if is_gnu && !is_zero(PREFIX) {
        return Err(refused(HeaderField::Prefix));
    }
    for (range, field) in [(UNAME, HeaderField::Uname), (GNAME, HeaderField::Gname)] {
        text(&block[range]).ok_or_else(|| refused(field))?;
    }
    let name = text(&block[NAME]).ok_or_else(|| refused(HeaderField::Name))?;
    let prefix = text(&block[PREFIX]).ok_or_else(|| refused(HeaderField::Prefix))?;
    let prefix = std::str::from_utf8(prefix).map_err(|_| ArchiveError::NotUtf8 { entry })?;
    let whole = match std::str::from_utf8(name) {
        Err(error) if error.error_len().is_none() && name.len() == NAME.len() => &name[..error.valid_up_to()],
        _ => name,
    };
    let is_cut_off = whole.len() < name.len();
    let name = std::str::from_utf8(whole).map_err(|_| ArchiveError::NotUtf8 { entry })?;
    let name = if prefix.is_empty() { name.to_owned() } else { format!("{prefix}/{name}") };
    Ok(Header { kind, name, has_prefix: !prefix.is_empty(), is_cut_off, size, is_executable: mode & 0o100 != 0 })
}

const fn kind(flag: u8, entry: u64) -> Result<HeaderKind, ArchiveError> {
    let kind = match flag {
        b'0' => return Ok(HeaderKind::File),
        b'5' => return Ok(HeaderKind::Folder),
        b'x' => return Ok(HeaderKind::Pax),
        b'L' => return Ok(HeaderKind::LongName),
        b'1' => "hard links",
        b'2' => "symbolic links",
        b'3' | b'4' => "devices",
        b'6' => "fifos",
        b'g' => "global pax headers",
        b'K' => "long link names",
        b'S' => "sparse files",
        0 => "entries of the format from before POSIX",
        _ => "entries of an unknown type",
    };
    Err(ArchiveError::Kind { entry, kind })
}

/// Digits followed by spaces and NULs, with at least one of these. `None`: another form. `Some(None)`: an empty field.
fn octal(field: &[u8]) -> Option<Option<u64>> {
    let digits = field.iter().take_while(|byte| matches!(byte, b'0'..=b'7')).count();
    let rest = &field[digits..];
    if rest.is_empty() || !rest.iter().all(|byte| matches!(byte, 0 | b' ')) {
        return None;
    }
    if digits == 0 {
        return rest.iter().all(|byte| *byte == 0).then_some(None);
    }
    // At most 11 digits of 3 bits fit.
    Some(Some(field[..digits].iter().fold(0, |value, digit| (value << 3) | u64::from(digit - b'0'))))
}

/// The bytes before the NULs that fill the field. `None`: something follows a NUL.
fn text(field: &[u8]) -> Option<&[u8]> {
    let end = field.iter().position(|byte| *byte == 0).unwrap_or(field.len());
    let (text, rest) = field.split_at(end);
    rest.iter().all(|byte| *byte == 0).then_some(text)
}
