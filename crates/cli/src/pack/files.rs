//! Which files of a folder are packed.

use crate::error::FileError;
use crate::report;
use souk_domain::publishing::bundle::archive::ArchiveLimits;
use souk_domain::publishing::bundle::checks::secret_file;
use souk_domain::publishing::bundle::{BundlePath, Manifest, PathError, WantedFiles};
use std::ffi::OsStr;
use std::fs::Metadata;
use std::io;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use walkdir::{DirEntry, WalkDir};

/// What is never packed, wherever it is: histories, installed packages, packed versions, and what file managers leave behind.
const EXCLUDED: [&str; 8] = [".git", ".hg", ".svn", "node_modules", ".blocklet", ".DS_Store", "Thumbs.db", "desktop.ini"];
/// The folder of an archive in which every file is.
const ROOT: &str = "package/";
/// The permissions of the file's owner to execute it.
const EXECUTABLE: u32 = 0o100;

#[derive(Debug, thiserror::Error)]
pub enum CollectError {
    #[error("{path} is a link: bundles contain no links. Replace it by the file, or leave it out")]
    Link { path: String },
    #[error("{path} is neither a file nor a folder: leave it out")]
    Special { path: String },
    #[error("{path}: the name of the file is not UTF-8. Rename it")]
    NotUtf8 { path: String },
    #[error("{path}: {error}. Rename it")]
    Path { path: String, error: PathError },
    #[error("the manifest lists {path} in `files`, and the folder has no such file")]
    Missing { path: String },
    #[error("the folder has more than {max} files: list those that belong to the app in `files` of its manifest")]
    TooMany { max: u64 },
    #[error("the files have more than {max} together: list those that belong to the app in `files` of its manifest")]
    TooLarge { max: String },
    #[error(transparent)]
    File(#[from] FileError),
}

/// A file that is packed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SourceFile {
    /// In the archive, below `package/`.
    pub path: BundlePath,
    pub source: PathBuf,
    /// Bytes.
    pub size: u64,
    pub is_executable: bool,
}

impl SourceFile {
    /// The path below the folder of the app.
    pub fn name(&self) -> &str {
        self.path.as_str().strip_prefix(ROOT).unwrap_or_default()
    }
}

/// What a manifest says about its files.
pub struct Selection<'m> {
    /// The paths of `files`; empty: the whole folder.
    pub listed: &'m [BundlePath],
    /// What is packed whatever is listed: manifest, pictures and texts.
    pub wanted: WantedFiles,
}

impl<'m> Selection<'m> {
    pub fn new(listed: &'m [BundlePath], manifest: &Manifest) -> Self {
        Self { listed, wanted: WantedFiles::of(manifest, &Default::default()) }
    }

    fn contains(&self, path: &str) -> bool {
        let is_listed = |listed: &BundlePath| path == listed.as_str() || is_below(path, listed.as_str());
        self.listed.is_empty() || self.listed.iter().any(is_listed) || self.wanted.role_of(path).is_some()
    }

    /// Whether something that is packed may be below this path.
    fn leads_further(&self, path: &str) -> bool {
        let pictures = std::iter::once(self.wanted.logo()).chain(self.wanted.screenshots().iter().map(String::as_str));
        self.listed.iter().map(BundlePath::as_str).chain(pictures).any(|named| is_below(named, path))
    }
}

fn is_below(path: &str, folder: &str) -> bool {
    path.strip_prefix(folder).is_some_and(|rest| rest.starts_with('/'))
}

/// Finds the files of a folder, in the order in which they are packed. Nothing outside the folder is found, because links are refused.
///
/// # Errors
/// A file that cannot be packed is in the way, or a listed one is missing.
pub fn collect(folder: &Path, selection: &Selection<'_>) -> Result<Vec<SourceFile>, CollectError> {
    let ArchiveLimits { entries_max: max, unpacked_max, .. } = ArchiveLimits::default();
    let enters = |entry: &DirEntry| {
        let is_of_bundle = || match relative(folder, entry.path()) {
            Ok(path) => selection.contains(&path) || selection.leads_further(&path),
            // Named below, unless it is a folder that does not belong to the bundle.
            Err(_) => true,
        };
        entry.depth() == 0 || (!is_excluded(entry.file_name()) && is_of_bundle())
    };
    let (mut files, mut size) = (Vec::new(), 0_u64);
    for entry in WalkDir::new(folder).sort_by_file_name().into_iter().filter_entry(enters) {
        let entry = entry.map_err(|error| {
            let path = error.path().unwrap_or(folder).to_owned();
            FileError { path, error: error.into() }
        })?;
        if entry.file_type().is_dir() {
            continue;
        }
        let path = relative(folder, entry.path())?;
        if entry.file_type().is_symlink() {
            return Err(CollectError::Link { path });
        }
        if !selection.contains(&path) {
            continue;
        }
        if !entry.file_type().is_file() {
            return Err(CollectError::Special { path });
        }
        if files.len() as u64 == max {
            return Err(CollectError::TooMany { max });
        }
        let metadata = entry.metadata().map_err(|error| FileError { path: entry.path().to_owned(), error: error.into() })?;
        size = size.saturating_add(metadata.len());
        if size > unpacked_max {
            return Err(CollectError::TooLarge { max: report::bytes(unpacked_max) });
        }
        files.push(source_file(path, entry.path(), &metadata)?);
    }
    files.sort_by(|one, other| one.path.cmp(&other.path));
    for listed in selection.listed {
        if !files.iter().any(|file| file.name() == listed.as_str() || is_below(file.name(), listed.as_str())) {
            return Err(CollectError::Missing { path: listed.to_string() });
        }
    }
    Ok(files)
}

fn source_file(name: String, source: &Path, metadata: &Metadata) -> Result<SourceFile, CollectError> {
    let path = BundlePath::parse(&format!("{ROOT}{name}")).map_err(|error| CollectError::Path { path: name, error })?;
    let is_executable = metadata.permissions().mode() & EXECUTABLE != 0;
    Ok(SourceFile { path, source: source.to_owned(), size: metadata.len(), is_executable })
}

/// The path below the folder, with `/` between its segments.
fn relative(folder: &Path, path: &Path) -> Result<String, CollectError> {
    let inside = path.strip_prefix(folder).map_err(|_| FileError { path: path.to_owned(), error: io::ErrorKind::NotFound.into() })?;
    let not_utf8 = || CollectError::NotUtf8 { path: inside.to_string_lossy().into_owned() };
    let segments: Option<Vec<_>> = inside.iter().map(OsStr::to_str).collect();
    Ok(segments.ok_or_else(not_utf8)?.join("/"))
}

/// Whether files of this name are never packed. Other secrets are packed if they are there, and found by the checks: a name such as `id_rsa`
/// can be part of an app.
fn is_excluded(name: &OsStr) -> bool {
    let Some(name) = name.to_str() else { return false };
    EXCLUDED.contains(&name) || (name.starts_with(".env") && secret_file(name))
}

#[cfg(test)]
mod tests {
    use super::*;
    use souk_domain::publishing::bundle::read_unsigned_manifest;
    use std::fs;

    fn manifest() -> Manifest {
        let json = format!(
            r#"{{"did":"z8ia4e5vAeDsQEE2P26bQqz9oWR1Lxg9qUMaV","name":"static-demo-blocklet","version":"1.0.0","description":"Says hello",
                "logo":"images/logo.png","dist":{{"tarball":"a.tgz","integrity":"sha512-{}==","size":1}}}}"#,
            "A".repeat(86)
        );
        let json = souk_adapters::bundles::parse_json(json.as_bytes()).expect("JSON");
        read_unsigned_manifest(&json, &souk_adapters::identity::CheckedAppDids).expect("reads")
    }

    /// A folder with these files.
    fn folder(files: &[&str]) -> tempfile::TempDir {
        let folder = tempfile::tempdir().expect("a folder");
        for file in files {
            let path = folder.path().join(file);
            fs::create_dir_all(path.parent().expect("a folder")).expect("creates");
            fs::write(path, file).expect("writes");
        }
        folder
    }

    fn names(folder: &Path, listed: &[&str]) -> Result<Vec<String>, String> {
        let listed: Vec<_> = listed.iter().map(|path| BundlePath::parse(path).expect("a path")).collect();
        let files = collect(folder, &Selection::new(&listed, &manifest())).map_err(|error| error.to_string())?;
        Ok(files.iter().map(|file| file.name().to_owned()).collect())
    }

    #[test]
    fn histories_packages_secrets_and_packed_versions_are_left_out() {
        let folder = folder(&[
            "blocklet.yml",
            "index.js",
            "lib/a.js",
            "lib/.env.local",
            ".env",
            ".env.example",
            ".git/config",
            "node_modules/x/index.js",
            "lib/node_modules/y.js",
            ".blocklet/release/blocklet.json",
            ".DS_Store",
        ]);
        assert_eq!(names(folder.path(), &[]).expect("collects"), [".env.example", "blocklet.yml", "index.js", "lib/a.js"]);
    }

    #[test]
    fn with_a_list_only_its_files_and_those_of_the_page_are_packed() {
        let folder = folder(&["blocklet.yml", "images/logo.png", "images/other.png", "README.md", "dist/index.js", "src/index.ts"]);
        assert_eq!(names(folder.path(), &["dist"]).expect("collects"), ["README.md", "blocklet.yml", "dist/index.js", "images/logo.png"]);
        assert!(names(folder.path(), &["build"]).expect_err("refused").contains("lists build in `files`"));
    }

    #[test]
    fn links_are_refused_by_name_wherever_they_point() {
        let outside = folder(&["secret"]);
        for (link, target) in [("key", outside.path().join("secret")), ("lib", outside.path().to_owned()), ("loop", PathBuf::from("."))] {
            let folder = folder(&["blocklet.yml", "node_modules/a"]);
            std::os::unix::fs::symlink(target, folder.path().join(link)).expect("links");
            assert!(names(folder.path(), &[]).expect_err("refused").starts_with(&format!("{link} is a link")), "{link}");
            // A link that is not packed is nobody's business.
            std::os::unix::fs::symlink("/", folder.path().join("node_modules/root")).expect("links");
            fs::write(folder.path().join("index.js"), "").expect("writes");
            assert_eq!(names(folder.path(), &["index.js"]).expect("collects"), ["blocklet.yml", "index.js"]);
        }
        let folder = folder(&["blocklet.yml"]);
        std::os::unix::fs::symlink(outside.path(), folder.path().join("images")).expect("links");
        assert!(names(folder.path(), &["blocklet.yml"]).expect_err("the logo is below it").starts_with("images is a link"));
    }

    #[test]
    fn more_than_a_bundle_may_unpack_to_is_refused_before_it_is_packed() {
        let folder = folder(&["blocklet.yml", "video"]);
        // A sparse file, which occupies no space.
        fs::File::create(folder.path().join("video")).and_then(|file| file.set_len((2 << 30) + 1)).expect("creates");
        let message = names(folder.path(), &[]).expect_err("refused");
        assert!(message.contains("2.00 GiB"), "{message}");
    }

    #[test]
    fn names_that_some_file_system_changes_are_refused() {
        let folder = folder(&["blocklet.yml", "aux.js"]);
        let message = names(folder.path(), &[]).expect_err("refused");
        assert!(message.contains("aux.js") && message.contains("device"), "{message}");
    }
}
