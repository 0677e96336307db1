//! The encryption of archives, in the format of `age` with a passphrase, so that they can be read without Souk:
//! `age --decrypt backup.tar.gz.age | tar xz`.

use super::BackupError;
use age::{DecryptError, Decryptor, Encryptor, scrypt};
use std::fmt;
use std::fs::File;
use std::io::{self, BufReader, BufWriter, Chain, Cursor, Read, Write};
use std::iter::once;
use std::path::Path;

/// The cost of a guess of the passphrase, as a power of two: about a second and 256 MB, which is the default of `age`.
const WORK_FACTOR: u8 = 18;
/// The most that an archive may ask for, so that an altered one cannot use up the memory.
const WORK_FACTOR_MAX: u8 = 20;
/// The shortest passphrase, in characters.
const PASSPHRASE_MIN: usize = 12;

const MAGIC_OF_AGE: &[u8] = b"age-encryption.org/";
const MAGIC_OF_GZIP: &[u8] = &[0x1f, 0x8b];

/// The passphrase of an archive. Its `Debug` output does not contain it.
#[derive(Clone)]
pub struct Passphrase(String);

impl Passphrase {
    /// The first line of a text. The error is what is expected.
    pub fn parse(text: &str) -> Result<Self, String> {
        let line = text.lines().next().unwrap_or_default();
        let is_valid = line.chars().count() >= PASSPHRASE_MIN;
        is_valid.then(|| Self(line.to_owned())).ok_or_else(|| format!("expected a passphrase of at least {PASSPHRASE_MIN} characters"))
    }
}

impl fmt::Debug for Passphrase {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Passphrase(…)")
    }
}

/// Writes to an archive, encrypted or plain.
pub(super) enum ProtectedWriter {
    Plain(BufWriter<File>),
    Encrypted(Box<age::stream::StreamWriter<BufWriter<File>>>),
}

impl ProtectedWriter {
    pub fn new(file: File, passphrase: Option<&Passphrase>) -> Result<Self, BackupError> {
        let file = BufWriter::new(file);
        let Some(Passphrase(passphrase)) = passphrase else { return Ok(Self::Plain(file)) };
        let mut recipient = scrypt::Recipient::new(passphrase.clone().into());
        recipient.set_work_factor(WORK_FACTOR);
        let failed = |error: &dyn fmt::Display| BackupError::Encryption(error.to_string());
        let encryptor = Encryptor::with_recipients(once(&recipient as _)).map_err(|error| failed(&error))?;
        Ok(Self::Encrypted(Box::new(encryptor.wrap_output(file).map_err(|error| failed(&error))?)))
    }

    /// Completes the archive. Once this returns, it survives a power failure.
    pub fn finish(self) -> io::Result<()> {
        let file = match self {
            Self::Plain(file) => file,
            Self::Encrypted(writer) => writer.finish()?,
        };
        file.into_inner().map_err(io::IntoInnerError::into_error)?.sync_all()
    }
}

impl Write for ProtectedWriter {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match self {
            Self::Plain(file) => file.write(bytes),
            Self::Encrypted(writer) => writer.write(bytes),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        match self {
            Self::Plain(file) => file.flush(),
            Self::Encrypted(writer) => writer.flush(),
        }
    }
}

/// The beginning of a file, followed by the rest.
type Reopened = Chain<Cursor<Vec<u8>>, BufReader<File>>;

/// Opens an archive for reading: the gzipped tar, decrypted.
pub(super) fn open(path: &Path, passphrase: Option<&Passphrase>) -> Result<Box<dyn Read>, BackupError> {
    let name = || path.display().to_string();
    let mut file = BufReader::new(File::open(path).map_err(BackupError::file(path))?);
    let mut magic = Vec::new();
    file.by_ref().take(MAGIC_OF_AGE.len() as u64).read_to_end(&mut magic).map_err(BackupError::file(path))?;
    let is_encrypted = magic == MAGIC_OF_AGE;
    if !is_encrypted && !magic.starts_with(MAGIC_OF_GZIP) {
        return Err(BackupError::NotABackup(name()));
    }
    let whole: Reopened = Cursor::new(magic).chain(file);
    if !is_encrypted {
        return Ok(Box::new(whole));
    }
    let Some(Passphrase(passphrase)) = passphrase else { return Err(BackupError::NeedsPassphrase(name())) };
    let decryptor = Decryptor::new_buffered(whole).map_err(|error| refused(path, &error))?;
    let mut identity = scrypt::Identity::new(passphrase.clone().into());
    identity.set_max_work_factor(WORK_FACTOR_MAX);
    let decrypted = decryptor.decrypt(once(&identity as _)).map_err(|error| refused(path, &error))?;
    Ok(Box::new(decrypted))
}

fn refused(path: &Path, error: &DecryptError) -> BackupError {
    match error {
        DecryptError::DecryptionFailed | DecryptError::KeyDecryptionFailed | DecryptError::NoMatchingKeys => {
            BackupError::WrongPassphrase(path.display().to_string())
        }
        other => BackupError::damaged(path, other),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_passphrase_is_the_first_line_and_never_printed() {
        let passphrase = Passphrase::parse("correct horse battery\n").expect("a passphrase");
        assert_eq!(passphrase.0, "correct horse battery");
        assert_eq!(format!("{passphrase:?}"), "Passphrase(…)");
        for short in ["", "\n", "short", "elevenchars\nand more"] {
            let error = Passphrase::parse(short).expect_err("refused");
            assert!(error.contains("at least 12 characters"), "{error}");
        }
    }
}
