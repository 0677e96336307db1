//! The folder with the installed apps. Each app has a folder that is named after its DID: `current` is a link to the installed version in
//! `versions`, and is replaced at once; `license.json` is the license of an app that was bought. Nothing is written outside of the folder.

use super::record::{FORMAT, NewVersion, Record};
use super::verify::Statement;
use crate::error::FileError;
use crate::project::read_bounded;
use etcetera::{BaseStrategy, choose_base_strategy};
use semver::Version;
use serde::Serialize;
use souk_adapters::identity::parse_did;
use souk_domain::access::Did;
use souk_domain::publishing::bundle::parse_version;
use souk_domain::shared::Timestamp;
use std::ffi::OsStr;
use std::fs::{self, File, OpenOptions, TryLockError};
use std::io::{self, ErrorKind, Write};
use std::os::unix::fs::symlink;
use std::path::{Component, Path, PathBuf};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

const FOLDER: &str = "souk/apps";
const LOCK: &str = ".lock";
/// What is being downloaded.
const DOWNLOADS: &str = ".downloads";
const VERSIONS: &str = "versions";
const CURRENT: &str = "current";
/// The files of the app, inside a version.
const APP: &str = "app";
const RECORD: &str = "install.json";
const DOCUMENT: &str = "blocklet.json";
const RELEASE: &str = "release.json";
const LICENSE: &str = "license.json";
/// The largest record or license, in bytes. The texts of a manifest are shorter.
const FILE_MAX: usize = 2 << 20;
/// The interrupted downloads that are kept, each at most as large as a bundle, and for how long.
const PARTS_MAX: usize = 3;
const PART_AGE_MAX: Duration = Duration::from_secs(7 * 86_400);

#[derive(Debug, thiserror::Error)]
pub enum FolderError {
    #[error("the folder for apps is unknown: name one with --dir, or set SOUK_APPS")]
    NoFolder,
    #[error("another souk command uses {}: wait for it", .0.display())]
    InUse(PathBuf),
    #[error("{} is a link: remove it, so that apps stay in their folder", .0.display())]
    Link(PathBuf),
    #[error("{} is not an app as souk installs it: remove the folder, and install the app again", .0.display())]
    Corrupt(PathBuf),
    #[error("{} was written by a later version of souk", .0.display())]
    Later(PathBuf),
    #[error(transparent)]
    File(#[from] FileError),
}

/// The folder, which no other command uses meanwhile.
pub struct AppsFolder {
    root: PathBuf,
    _lock: File,
}

/// An installed app.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Installed {
    pub app: Did,
    pub version: Version,
    pub record: Record,
    /// See [`AppsFolder::files`].
    pub path: PathBuf,
}

impl AppsFolder {
    /// Opens the named folder, or the one of this user, and creates it if there is none.
    pub fn open(named: Option<&Path>) -> Result<Self, FolderError> {
        let root = match named {
            Some(named) => named.to_owned(),
            None => choose_base_strategy().map_err(|_| FolderError::NoFolder)?.data_dir().join(FOLDER),
        };
        fs::create_dir_all(&root).map_err(FileError::at(&root))?;
        let root = root.canonicalize().map_err(FileError::at(&root))?;
        let path = root.join(LOCK);
        let lock = OpenOptions::new().read(true).write(true).create(true).truncate(false).open(&path).map_err(FileError::at(&path))?;
        match lock.try_lock() {
            Ok(()) => Ok(Self { root, _lock: lock }),
            Err(TryLockError::WouldBlock) => Err(FolderError::InUse(root)),
            Err(TryLockError::Error(error)) => Err(FileError { path, error }.into()),
        }
    }

    /// The apps that have a folder, in the order of their DIDs.
    pub fn apps(&self) -> Result<Vec<Did>, FolderError> {
        let named = |name: &String| parse_did(name).ok().filter(|app| app.as_str() == name);
        let mut apps: Vec<_> = names(&self.root)?.iter().filter_map(named).collect();
        apps.sort();
        Ok(apps)
    }

    /// The installed version of an app; `None`: there is none.
    pub fn find(&self, app: &Did) -> Result<Option<Installed>, FolderError> {
        let folder = self.app(app);
        let Some(version) = current(&folder)? else { return Ok(None) };
        let path = folder.join(VERSIONS).join(version).join(RECORD);
        let corrupt = || FolderError::Corrupt(folder.clone());
        let bytes = read_bounded(&path, FILE_MAX).map_err(|_| corrupt())?.ok_or_else(corrupt)?;
        let record: Record = serde_json::from_slice(&bytes).map_err(|_| corrupt())?;
        if record.format > FORMAT {
            return Err(FolderError::Later(path));
        }
        let version = parse_version(&record.version).filter(|_| record.app == app.as_str()).ok_or_else(corrupt)?;
        Ok(Some(Installed { app: app.clone(), version, record, path: self.files(app) }))
    }

    /// Where a bundle is downloaded to. What remains of other downloads of the app is removed, and so are old and too many ones.
    pub fn part(&self, app: &Did, sha256: &str, now: Timestamp) -> Result<PathBuf, FolderError> {
        let folder = real_folder(self.root.join(DOWNLOADS))?;
        let wanted = format!("{app}-{sha256}.part");
        let (oldest, mut others) = (system_time(now.minus(PART_AGE_MAX)), Vec::new());
        for name in names(&folder)?.into_iter().filter(|name| *name != wanted) {
            let path = folder.join(&name);
            let changed = fs::symlink_metadata(&path).and_then(|found| found.modified()).map_err(FileError::at(&path))?;
            if changed < oldest || name.starts_with(&format!("{app}-")) {
                fs::remove_file(&path).map_err(FileError::at(&path))?;
            } else {
                others.push((changed, path));
            }
        }
        others.sort();
        let surplus = (others.len() + 1).saturating_sub(PARTS_MAX);
        for (_, path) in others.into_iter().take(surplus) {
            fs::remove_file(&path).map_err(FileError::at(&path))?;
        }
        let path = folder.join(wanted);
        match path.is_symlink() {
            true => Err(FolderError::Link(path)),
            false => Ok(path),
        }
    }

    /// A new folder for a version, which is removed again unless the version is activated.
    pub fn stage(&self, app: &Did, version: &Version, random: &[u8; 4]) -> Result<Staged, FolderError> {
        let folder = real_folder(self.app(app))?;
        let versions = real_folder(folder.join(VERSIONS))?;
        // What commands that were interrupted have left.
        let installed = current(&folder)?;
        for name in names(&versions)?.into_iter().filter(|name| Some(name) != installed.as_ref()) {
            remove(&versions.join(name))?;
        }
        // Versions have no build metadata, so the same version can be installed again.
        let name = format!("{version}+{}", hex::encode(random));
        let path = versions.join(&name);
        fs::create_dir(&path).map_err(FileError::at(&path))?;
        let staged = Staged { folder, name, path, is_active: false };
        let files = staged.files();
        fs::create_dir(&files).map_err(FileError::at(&files))?;
        Ok(staged)
    }

    pub fn write_license(&self, app: &Did, license: &Statement) -> Result<(), FolderError> {
        let folder = real_folder(self.app(app))?;
        let (part, path) = (folder.join(format!(".{LICENSE}.part")), folder.join(LICENSE));
        remove(&part)?;
        write_json(&part, license)?;
        fs::rename(&part, &path).map_err(FileError::at(&path))?;
        Ok(())
    }

    /// Removes the license of an app, if there is one. True: there was.
    pub fn remove_license(&self, app: &Did) -> Result<bool, FolderError> {
        let path = self.app(app).join(LICENSE);
        match fs::remove_file(&path) {
            Ok(()) => Ok(true),
            Err(error) if error.kind() == ErrorKind::NotFound => Ok(false),
            Err(error) => Err(FileError { path, error }.into()),
        }
    }

    /// Where the files of an installed app are, whatever its version.
    pub fn files(&self, app: &Did) -> PathBuf {
        self.app(app).join(CURRENT).join(APP)
    }

    /// The folder of an app. A DID consists of letters and digits.
    pub fn app(&self, app: &Did) -> PathBuf {
        self.root.join(app.as_str())
    }
}

/// A version that is not active yet.
pub struct Staged {
    /// Of the app.
    folder: PathBuf,
    name: String,
    path: PathBuf,
    is_active: bool,
}

impl Staged {
    /// Where the files of the app belong.
    pub fn files(&self) -> PathBuf {
        self.path.join(APP)
    }

    /// Makes the version the installed one, at once: whoever follows `current` sees the former version or this one, with its record.
    /// Returns why the former version could not be removed; the next installation tries again.
    pub fn activate(mut self, version: &NewVersion<'_>) -> Result<Option<FileError>, FolderError> {
        write_json(&self.path.join(RECORD), version.record)?;
        write_json(&self.path.join(RELEASE), version.release)?;
        create(&self.path.join(DOCUMENT), version.document)?;
        sync(&self.path)?;
        let (link, current) = (self.folder.join(format!(".{CURRENT}.part")), self.folder.join(CURRENT));
        remove(&link)?;
        symlink(Path::new(VERSIONS).join(&self.name), &link).map_err(FileError::at(&link))?;
        fs::rename(&link, &current).map_err(FileError::at(&current))?;
        self.is_active = true;
        // Before the former version is removed, so that `current` leads to a version after a power failure as well.
        File::open(&self.folder).and_then(|folder| folder.sync_all()).map_err(FileError::at(&self.folder))?;
        let versions = self.folder.join(VERSIONS);
        let mut left = None;
        for name in names(&versions)?.into_iter().filter(|name| *name != self.name) {
            left = left.or(remove(&versions.join(name)).err());
        }
        Ok(left)
    }
}

impl Drop for Staged {
    fn drop(&mut self) {
        if !self.is_active {
            #[expect(clippy::let_underscore_must_use, reason = "the reason why the command fails is reported, and not this one")]
            let _ = fs::remove_dir_all(&self.path);
        }
    }
}

/// The name of the folder of the installed version. `None`: there is none.
fn current(folder: &Path) -> Result<Option<String>, FolderError> {
    let link = folder.join(CURRENT);
    let target = match fs::read_link(&link) {
        Ok(target) => target,
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
        Err(_) => return Err(FolderError::Corrupt(folder.to_owned())),
    };
    let parts: Vec<_> = target.components().collect();
    match parts.as_slice() {
        [Component::Normal(versions), Component::Normal(name)] if *versions == OsStr::new(VERSIONS) => {
            name.to_str().map(|name| Some(name.to_owned())).ok_or_else(|| FolderError::Corrupt(folder.to_owned()))
        }
        _ => Err(FolderError::Corrupt(folder.to_owned())),
    }
}

/// Creates a folder, unless there is one. It is no link that leads elsewhere.
fn real_folder(path: PathBuf) -> Result<PathBuf, FolderError> {
    if path.is_symlink() {
        return Err(FolderError::Link(path));
    }
    fs::create_dir_all(&path).map_err(FileError::at(&path))?;
    Ok(path)
}

/// A time as file systems record it.
fn system_time(at: Timestamp) -> SystemTime {
    UNIX_EPOCH + Duration::from_micros(u64::try_from(at.micros()).unwrap_or_default())
}

/// The names of what is in a folder.
fn names(folder: &Path) -> Result<Vec<String>, FileError> {
    let read = || -> io::Result<Vec<String>> {
        let names = fs::read_dir(folder)?.map(|entry| Ok(entry?.file_name().into_string().ok()));
        Ok(names.collect::<io::Result<Vec<_>>>()?.into_iter().flatten().collect())
    };
    read().map_err(FileError::at(folder))
}

/// Removes a file, a link or a folder with its content. A link is not followed.
fn remove(path: &Path) -> Result<(), FileError> {
    let removed = match fs::symlink_metadata(path) {
        Ok(found) if found.is_dir() => fs::remove_dir_all(path),
        Ok(_) => fs::remove_file(path),
        Err(error) => Err(error),
    };
    match removed {
        Err(error) if error.kind() != ErrorKind::NotFound => Err(FileError { path: path.to_owned(), error }),
        _ => Ok(()),
    }
}

fn write_json(path: &Path, value: &impl Serialize) -> Result<(), FileError> {
    let text = serde_json::to_vec_pretty(value).map_err(io::Error::other).map_err(FileError::at(path))?;
    create(path, &text)
}

fn create(path: &Path, content: &[u8]) -> Result<(), FileError> {
    let write = || -> io::Result<()> {
        let mut file = File::create_new(path)?;
        file.write_all(content)?;
        file.sync_all()
    };
    write().map_err(FileError::at(path))
}

/// Makes the files of a version durable before it is active. Syncing each of many files would take minutes.
fn sync(folder: &Path) -> Result<(), FileError> {
    let opened = File::open(folder).map_err(FileError::at(folder))?;
    #[cfg(target_os = "linux")]
    rustix::fs::syncfs(&opened).map_err(io::Error::from).map_err(FileError::at(folder))?;
    opened.sync_all().map_err(FileError::at(folder))
}

#[cfg(test)]
mod tests {
    use super::super::verify::tests::{NOW, release_of, signed, upload};
    use super::*;
    use crate::customer::verify::read_document;

    /// Stages and activates a version with one file.
    fn install(apps: &AppsFolder, version: &str) -> Did {
        let upload = upload(version);
        let packed = upload.sign();
        let release = release_of(&upload, &packed);
        let manifest = read_document(&packed.document, &release).expect("is valid");
        let store = crate::args::parse_store("https://store.example").expect("an address");
        let record = Record::new(&store, &release, &manifest, NOW);
        let staged = apps.stage(&release.app, &release.version, &[1, 2, 3, 4]).expect("stages");
        fs::write(staged.files().join("index.js"), version).expect("writes");
        let new = NewVersion { record: &record, document: &packed.document, release: &signed(release.text()) };
        assert!(staged.activate(&new).expect("activates").is_none());
        release.app
    }

    #[test]
    fn an_app_is_replaced_at_once_and_nothing_else_remains() {
        let home = tempfile::tempdir().expect("a folder");
        let apps = AppsFolder::open(Some(&home.path().join("apps"))).expect("opens");
        assert_eq!(apps.apps().expect("lists"), []);
        let app = install(&apps, "1.0.0");
        let installed = apps.find(&app).expect("reads").expect("is installed");
        assert_eq!(fs::read_to_string(installed.path.join("index.js")).expect("reads"), "1.0.0");
        // What an interrupted command has left.
        let versions = apps.app(&app).join(VERSIONS);
        fs::create_dir(versions.join("1.0.1+00000000")).expect("creates");
        install(&apps, "1.1.0");
        assert_eq!(apps.apps().expect("lists"), std::slice::from_ref(&app));
        assert_eq!(apps.find(&app).expect("reads").expect("is installed").version, Version::new(1, 1, 0));
        assert_eq!(fs::read_to_string(apps.app(&app).join("current/app/index.js")).expect("reads"), "1.1.0");
        assert_eq!(names(&versions).expect("lists"), ["1.1.0+01020304"]);
        let mut files = names(&apps.app(&app).join(CURRENT)).expect("lists");
        files.sort();
        assert_eq!(files, [APP, DOCUMENT, RECORD, RELEASE]);
    }

    #[test]
    fn a_version_that_is_not_activated_leaves_the_installed_one() {
        let home = tempfile::tempdir().expect("a folder");
        let apps = AppsFolder::open(Some(home.path())).expect("opens");
        let app = install(&apps, "1.0.0");
        let staged = apps.stage(&app, &Version::new(2, 0, 0), &[0; 4]).expect("stages");
        fs::write(staged.files().join("index.js"), "2").expect("writes");
        drop(staged);
        assert_eq!(names(&apps.app(&app).join(VERSIONS)).expect("lists").len(), 1);
        assert_eq!(apps.find(&app).expect("reads").expect("is installed").version, Version::new(1, 0, 0));
    }

    #[test]
    fn links_that_lead_out_of_the_folder_are_refused() {
        let home = tempfile::tempdir().expect("a folder");
        let (root, elsewhere) = (home.path().join("apps"), home.path().join("elsewhere"));
        fs::create_dir(&elsewhere).expect("creates");
        let apps = AppsFolder::open(Some(&root)).expect("opens");
        let app = upload("1.0.0").did();
        symlink(&elsewhere, apps.app(&app)).expect("links");
        assert!(matches!(apps.stage(&app, &Version::new(1, 0, 0), &[0; 4]), Err(FolderError::Link(_))));
        assert!(matches!(apps.write_license(&app, &signed(String::new())), Err(FolderError::Link(_))));
        fs::remove_file(apps.app(&app)).expect("removes");
        fs::create_dir(apps.app(&app)).expect("creates");
        for target in ["../elsewhere", "/etc", "versions/../../elsewhere", "versions"] {
            symlink(target, apps.app(&app).join(CURRENT)).expect("links");
            assert!(matches!(apps.find(&app), Err(FolderError::Corrupt(_))), "{target}");
            fs::remove_file(apps.app(&app).join(CURRENT)).expect("removes");
        }
        symlink(&elsewhere, root.join(DOWNLOADS)).expect("links");
        assert!(matches!(apps.part(&app, "00", NOW), Err(FolderError::Link(_))));
        assert_eq!(names(&elsewhere).expect("lists"), Vec::<String>::new());
    }

    #[test]
    fn one_command_at_a_time_uses_the_folder() {
        let home = tempfile::tempdir().expect("a folder");
        let first = AppsFolder::open(Some(home.path())).expect("opens");
        assert!(matches!(AppsFolder::open(Some(home.path())), Err(FolderError::InUse(_))));
        drop(first);
        assert!(AppsFolder::open(Some(home.path())).is_ok());
    }

    #[test]
    fn interrupted_downloads_are_few_and_not_old() {
        let home = tempfile::tempdir().expect("a folder");
        let apps = AppsFolder::open(Some(home.path())).expect("opens");
        let app = upload("1.0.0").did();
        let downloads = home.path().join(DOWNLOADS);
        let part = apps.part(&app, "aa", NOW).expect("a file");
        let write = |name: &str, age: u64| {
            let file = File::create(downloads.join(name)).expect("creates");
            file.set_modified(system_time(NOW.minus(Duration::from_secs(age)))).expect("sets the time");
        };
        for (name, age) in [("z1a-1.part", 10), ("z1b-1.part", 20), ("z1c-1.part", 30), ("z1d-1.part", 8 * 86_400)] {
            write(name, age);
        }
        write(&format!("{app}-bb.part"), 0);
        fs::write(&part, "half").expect("writes");
        assert_eq!(apps.part(&app, "aa", NOW).expect("a file"), part);
        let mut left = names(&downloads).expect("lists");
        left.sort();
        assert_eq!(left, ["z1a-1.part".to_owned(), "z1b-1.part".to_owned(), format!("{app}-aa.part")]);
    }

    #[test]
    fn a_license_is_replaced_and_removed() {
        let home = tempfile::tempdir().expect("a folder");
        let apps = AppsFolder::open(Some(home.path())).expect("opens");
        let app = upload("1.0.0").did();
        assert!(!apps.remove_license(&app).expect("answers"));
        for text in ["one", "other"] {
            apps.write_license(&app, &signed(text.to_owned())).expect("writes");
            let kept: Statement = serde_json::from_slice(&fs::read(apps.app(&app).join(LICENSE)).expect("reads")).expect("JSON");
            assert_eq!(kept, signed(text.to_owned()));
        }
        assert!(apps.remove_license(&app).expect("removes"));
    }
}
