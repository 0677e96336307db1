//! Signed manifests and bundles, as the tools of developers make them.

use crate::bundles::parse_json;
use crate::identity::{AppKey, Role, app_did_of_name, decode_base58, encode_base58};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use flate2::Compression;
use flate2::write::GzEncoder;
use serde_json::{Value, json};
use sha2::{Digest, Sha512};
use souk_domain::access::Did;
use souk_domain::shared::Timestamp;
use std::fs::File;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use tar::{Builder, EntryType, Header};

/// A version that a test uploads.
pub struct TestUpload {
    pub key: AppKey,
    pub name: String,
    pub version: String,
    /// When it is signed.
    pub signed_at: Timestamp,
    /// The files of the bundle, below `package/`.
    pub files: Vec<(String, Vec<u8>)>,
    /// Members that the manifest has besides the usual ones, or in their place.
    pub members: Value,
}

/// The parts of an upload.
#[derive(Debug, Clone)]
pub struct SignedUpload {
    pub document: Vec<u8>,
    pub bundle: Vec<u8>,
}

/// A bundle in a file, because a test should not hold it in memory.
#[derive(Debug, Clone)]
pub struct PackedFile {
    pub path: PathBuf,
    pub sha512: Vec<u8>,
    /// Bytes.
    pub size: u64,
}

impl TestUpload {
    /// A valid version of an app whose DID is derived from its name, signed by a developer's account.
    #[must_use]
    pub fn new(seed: u8, name: &str, version: &str, signed_at: Timestamp) -> Self {
        let text = |name: &str, text: &str| (name.to_owned(), text.as_bytes().to_vec());
        let mut files = vec![
            text("blocklet.yml", &format!("name: {name}\nversion: {version}\nlicense: MIT\n")),
            text("blocklet.md", "# Hello\n"),
            text("README.zh.md", "# 你好\n"),
            text("CHANGELOG.md", &format!("## {version}\n\n- First\n")),
            text("LICENSE", "Permission is hereby granted\n"),
            text("index.js", "console.log('hello');\n"),
            ("logo.png".to_owned(), png(256, 256, 0)),
        ];
        files.extend((1..4).map(|n| (format!("screenshots/{n}.png"), png(1_280, 720, n))));
        let key = AppKey::with_role(&[seed; 32], Role::Account);
        Self { key, name: name.to_owned(), version: version.to_owned(), signed_at, files, members: json!({}) }
    }

    /// Lets an access token sign it. `secret`: the token's key as its developer was shown it.
    #[must_use]
    pub fn signed_by(self, secret: &str) -> Self {
        let bytes = decode_base58(secret).expect("a key in multibase base58btc");
        let seed: [u8; 32] = bytes[..32].try_into().expect("a seed before its public key");
        Self { key: AppKey::with_role(&seed, Role::Account), ..self }
    }

    #[must_use]
    pub fn did(&self) -> Did {
        app_did_of_name(&self.name)
    }

    /// Packs and signs it.
    #[must_use]
    pub fn sign(&self) -> SignedUpload {
        let bundle = pack(&self.files);
        let document = self.sign_with(&bundle);
        SignedUpload { document, bundle }
    }

    /// Packs its files and this many MiB that do not compress into a file.
    pub fn pack_large(&self, mebibytes: u64, path: &Path) -> io::Result<PackedFile> {
        let noise = (0..mebibytes).map(|number| (format!("data/{number}"), noise(number + 1, 1 << 20)));
        let mut file = Measured { file: File::create(path)?, sha512: Sha512::new(), size: 0 };
        pack_into(self.files.iter().cloned().chain(noise), &mut file)?;
        Ok(PackedFile { path: path.to_owned(), sha512: file.sha512.finalize().to_vec(), size: file.size })
    }

    /// Signs the manifest of any bundle.
    #[must_use]
    pub fn sign_with(&self, bundle: &[u8]) -> Vec<u8> {
        self.sign_digest(Sha512::digest(bundle).as_slice(), bundle.len() as u64)
    }

    /// Signs the manifest of a bundle with this SHA-512 and this number of bytes.
    #[must_use]
    pub fn sign_digest(&self, sha512: &[u8], size: u64) -> Vec<u8> {
        let integrity = format!("sha512-{}", STANDARD.encode(sha512));
        let mut manifest = json!({
            "did": self.did().as_str(),
            "name": self.name,
            "version": self.version,
            "title": "Hello",
            "description": "Says hello",
            "group": "static",
            "logo": "logo.png",
            "license": "MIT",
            "screenshots": ["1.png", "2.png", "3.png"],
            "dist": { "tarball": format!("{}-{}.tgz", self.name, self.version), "integrity": integrity, "size": size },
            "signatures": [{
                "type": "ED25519",
                "name": self.name,
                "signer": self.key.did().as_str(),
                "pk": self.key.public_key_base58(),
                "created": self.signed_at.to_iso(),
            }],
        });
        for (name, value) in self.members.as_object().into_iter().flatten() {
            manifest[name] = value.clone();
        }
        let unsigned = parse_json(manifest.to_string().as_bytes()).map(|json| json.canonical()).unwrap_or_default();
        if let Some(entry) = manifest["signatures"].get_mut(0) {
            entry["sig"] = Value::from(encode_base58(&self.key.sign(unsigned.as_bytes())));
        }
        // With spaces, so that a test sees whether the document is served as it was sent.
        serde_json::to_vec_pretty(&manifest).unwrap_or_default()
    }
}

/// A file whose digest and size are known as soon as it is written.
struct Measured {
    file: File,
    sha512: Sha512,
    size: u64,
}

impl Write for Measured {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let count = self.file.write(bytes)?;
        self.sha512.update(&bytes[..count]);
        self.size += count as u64;
        Ok(count)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file.flush()
    }
}

/// Bytes that do not compress, the same for the same seed.
#[must_use]
pub fn noise(seed: u64, length: usize) -> Vec<u8> {
    let mut state = seed | 1;
    let mut next = || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state
    };
    std::iter::repeat_with(|| next().to_le_bytes()).take(length.div_ceil(8)).flatten().take(length).collect()
}

/// The beginning of a PNG, which is all that is measured. `seed` makes its content differ.
#[must_use]
pub fn png(width: u32, height: u32, seed: u32) -> Vec<u8> {
    let head = [b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR".as_slice(), &width.to_be_bytes(), &height.to_be_bytes(), b"\x08\x02\0\0\0"];
    [head.concat().as_slice(), &seed.to_be_bytes()].concat()
}

/// Packs files below `package/`.
#[must_use]
pub fn pack(files: &[(String, Vec<u8>)]) -> Vec<u8> {
    let mut bundle = Vec::new();
    // Writing to memory does not fail.
    let packed = pack_into(files.iter().cloned(), &mut bundle);
    debug_assert!(packed.is_ok());
    bundle
}

/// Packs files one after the other, so that a large bundle takes little memory.
pub fn pack_into(files: impl Iterator<Item = (String, Vec<u8>)>, to: impl Write) -> io::Result<()> {
    let mut tar = Builder::new(GzEncoder::new(to, Compression::fast()));
    for (path, content) in files {
        let mut header = Header::new_ustar();
        header.set_entry_type(EntryType::Regular);
        header.set_mode(0o644);
        header.set_size(content.len() as u64);
        tar.append_data(&mut header, format!("package/{path}"), content.as_slice())?;
    }
    tar.into_inner()?.finish().map(drop)
}
