//! `souk pack`: makes a bundle of a folder, and the manifest that describes it (reference/store.md 5.3).

mod archive;
mod files;

pub use archive::Bundle;

use crate::args::PackArgs;
use crate::error::{Failed, FileError};
use crate::project::{Project, ProjectError, RELEASE_MANIFEST, Release};
use crate::{Failure, check, report};
use anstream::println;
use archive::ArchiveWriteError;
use files::{CollectError, Selection, SourceFile, collect};
use souk_adapters::bundles::LocalBundleReader;
use souk_domain::publishing::bundle::archive::ArchiveError;
use souk_domain::publishing::bundle::{
    BundlePath, BundleReader, Dist, InspectionError, Manifest, PathError, Spooled, UploadLimits, WantedFiles,
};
use souk_domain::shared::{Json, StorageError, Timestamp};
use std::fs::{self, File};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

/// The most paths of `files`.
const LISTED_MAX: usize = 1_000;

#[derive(Debug, thiserror::Error)]
pub enum PackError {
    #[error(transparent)]
    Project(#[from] ProjectError),
    #[error("Invalid blocklet meta: files must be a list of at most {LISTED_MAX} paths")]
    Files,
    #[error("Invalid blocklet meta: files[{index}] is not a path inside the bundle: {error}")]
    ListedPath { index: usize, error: PathError },
    #[error(transparent)]
    Collect(#[from] CollectError),
    #[error("{} is a link: remove it, so that packed versions stay in the folder of the app", .0.display())]
    ReleaseLink(PathBuf),
    #[error(transparent)]
    Write(#[from] ArchiveWriteError),
    /// The store would refuse it with this message.
    #[error("invalid tarball: {0}")]
    Archive(#[from] ArchiveError),
    #[error(transparent)]
    Storage(#[from] StorageError),
    #[error(transparent)]
    File(#[from] FileError),
}

/// A packed version in its release folder.
pub struct Packed {
    pub manifest: Manifest,
    pub bundle: Bundle,
    pub files: Vec<SourceFile>,
    /// The bytes of the tar stream.
    pub unpacked: u64,
}

pub async fn run(args: &PackArgs, now: Timestamp) -> Result<(), Failure> {
    let packed = pack(&args.folder.dir).await?;
    print(&packed);
    if !args.check {
        return Ok(());
    }
    let checks = check::check(&packed, now).await;
    report::print_checks(&checks);
    match checks.iter().filter(|check| check.has_failed()).count() {
        0 => Ok(()),
        1 => Err(Failed("1 check failed. Correct what it names, and pack again.".to_owned()).into()),
        count => Err(Failed(format!("{count} checks failed. Correct what they name, and pack again.")).into()),
    }
}

fn print(packed: &Packed) {
    let Packed { manifest, bundle, files, unpacked } = packed;
    report::print_files(files.iter().map(|file| (file.name(), file.size)));
    let (count, size) = (files.len(), report::bytes(bundle.size()));
    println!("Packed {} {}: {count} files, {size} ({} unpacked).", manifest.name, manifest.version, report::bytes(*unpacked));
    println!("{}", bundle.path().display());
}

/// Packs the app of a folder. What the store would refuse is refused here, except for what only the store knows.
///
/// # Errors
/// The first rule that the manifest, the files or the archive break. Then the release folder has no new bundle.
pub async fn pack(folder: &Path) -> Result<Packed, PackError> {
    let project = Project::open(folder)?;
    let tarball = tarball(&project);
    // Before the files are read: what the manifest says is valid but for the bundle, which nothing describes yet.
    let unpacked = Dist { tarball: tarball.clone(), integrity: format!("sha512-{}==", "A".repeat(86)), size: 1 };
    let expected = project.describe(&unpacked)?.manifest;
    let listed = listed(&project.manifest)?;
    let release = release_folder(&project)?;
    let files = collect(&project.folder, &Selection::new(&listed, &expected))?;
    let mut bundle = archive::write(&files, &release.join(format!(".{tarball}.part")))?;
    let dist = Dist { tarball: tarball.clone(), integrity: bundle.integrity().to_owned(), size: bundle.size() };
    let Release { document, manifest } = project.describe(&dist)?;
    let limits = UploadLimits::default();
    let wanted = WantedFiles::of(&manifest, &limits.pictures);
    let inspected = LocalBundleReader::default().inspect(&bundle, &limits.archive, &wanted).await.map_err(|error| match error {
        InspectionError::Refused(error) => PackError::Archive(error),
        InspectionError::Storage(error) => PackError::Storage(error),
    })?;
    bundle.keep(&release.join(&tarball))?;
    write_document(&release, &document)?;
    Ok(Packed { manifest, bundle, files, unpacked: inspected.unpacked })
}

/// Creates the folder of packed versions.
fn release_folder(project: &Project) -> Result<PathBuf, PackError> {
    let release = project.release_folder();
    for folder in release.ancestors().take_while(|folder| *folder != project.folder) {
        if folder.is_symlink() {
            return Err(PackError::ReleaseLink(folder.to_owned()));
        }
    }
    fs::create_dir_all(&release).map_err(FileError::at(&release))?;
    Ok(release)
}

/// Writes the manifest of the packed version once it is complete.
fn write_document(release: &Path, document: &Json) -> Result<(), FileError> {
    let (part, path) = (release.join(format!(".{RELEASE_MANIFEST}.part")), release.join(RELEASE_MANIFEST));
    // What an interrupted command has left; a link is not followed.
    match fs::remove_file(&part) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(FileError { path: part, error }),
        _ => {}
    }
    let mut file = File::create_new(&part).map_err(FileError::at(&part))?;
    file.write_all(document.canonical().as_bytes()).map_err(FileError::at(&part))?;
    fs::rename(&part, &path).map_err(FileError::at(&path))
}

/// The file name of the bundle.
fn tarball(project: &Project) -> String {
    let is_plain = |letter: char| letter.is_ascii_alphanumeric() || matches!(letter, '-' | '_' | '.');
    let plain = |text: &str| text.chars().map(|letter| if is_plain(letter) { letter } else { '-' }).collect::<String>();
    format!("{}-{}.tgz", plain(project.text("name")).trim_matches('-'), plain(project.text("version")))
}

/// The paths of the member `files`, which is a list of files and folders, as npm's is.
fn listed(manifest: &Json) -> Result<Vec<BundlePath>, PackError> {
    let items = match manifest.get("files") {
        None | Some(Json::Null) => return Ok(Vec::new()),
        Some(Json::List(items)) if items.len() <= LISTED_MAX => items,
        Some(_) => return Err(PackError::Files),
    };
    let parse = |(index, item): (usize, &Json)| {
        let text = item.as_text().ok_or(PackError::Files)?.trim_start_matches("./").trim_end_matches('/');
        BundlePath::parse(text).map_err(|error| PackError::ListedPath { index, error })
    };
    items.iter().enumerate().map(parse).collect()
}

#[cfg(test)]
mod tests;
