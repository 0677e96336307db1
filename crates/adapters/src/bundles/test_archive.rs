//! Writes tar archives of any form, valid or not.

use flate2::Compression;
use flate2::write::GzEncoder;
use std::io::Write;

/// A header block that tests can change.
#[derive(Clone)]
pub struct Block(pub [u8; 512]);

impl Block {
    /// A POSIX header of a file.
    pub fn posix(name: &str, kind: u8, size: usize) -> Self {
        let mut block = Self([0; 512]).with(0, name.as_bytes()).with(100, b"0000644\0").with(108, b"0000000\0").with(116, b"0000000\0");
        block.0[156] = kind;
        block.with(124, format!("{size:011o}\0").as_bytes()).with(136, b"00000000000\0").with(257, b"ustar\x0000")
    }

    pub fn gnu(name: &str, kind: u8, size: usize) -> Self {
        Self::posix(name, kind, size).with(257, b"ustar  \0")
    }

    #[must_use]
    pub fn with(mut self, at: usize, bytes: &[u8]) -> Self {
        let end = (at + bytes.len()).min(512);
        self.0[at..end].copy_from_slice(&bytes[..end - at]);
        self
    }

    /// The block with its checksum.
    #[must_use]
    pub fn summed(self) -> Self {
        let mut block = self.with(148, &[b' '; 8]);
        let sum: u32 = block.0.iter().map(|byte| u32::from(*byte)).sum();
        block = block.with(148, format!("{sum:06o}\0 ").as_bytes());
        block
    }
}

/// A tar stream.
#[derive(Default, Clone)]
pub struct Tar(pub Vec<u8>);

impl Tar {
    #[must_use]
    pub fn entry(self, block: Block, content: &[u8]) -> Self {
        self.raw_entry(block.summed(), content)
    }

    #[must_use]
    pub fn raw_entry(mut self, block: Block, content: &[u8]) -> Self {
        self.0.extend(block.0);
        self.0.extend(content);
        self.0.resize(self.0.len().next_multiple_of(512), 0);
        self
    }

    #[must_use]
    pub fn file(self, name: &str, content: &[u8]) -> Self {
        self.entry(Block::posix(name, b'0', content.len()), content)
    }

    #[must_use]
    pub fn end(mut self) -> Self {
        self.0.resize(self.0.len() + 1_024, 0);
        self
    }

    pub fn gzip(&self) -> Vec<u8> {
        gzip(&self.0)
    }
}

pub fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::default());
    encoder.write_all(bytes).expect("writes to memory");
    encoder.finish().expect("writes to memory")
}

/// A pax record.
pub fn record(key: &str, value: &str) -> Vec<u8> {
    let rest = format!(" {key}={value}\n");
    let mut length = rest.len();
    while length != rest.len() + length.to_string().len() {
        length = rest.len() + length.to_string().len();
    }
    format!("{length}{rest}").into_bytes()
}
