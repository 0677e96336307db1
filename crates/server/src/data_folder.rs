//! The data folder: who may use it at the same time, the mark of the store in it, and the modes of its files.

use crate::config::{Command, Common, VerifyArgs};
use std::fs::{DirBuilder, File, OpenOptions, Permissions, TryLockError};
use std::io::{ErrorKind, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};

/// Locked by every command that opens the store: shared, or exclusively by one that needs the store for itself.
const STORE_LOCK: &str = "store.lock";
/// Locked by the one process that serves or works on SQLite.
const PROCESS_LOCK: &str = "process.lock";
/// Exists when a store was set up completely in this folder.
const MARK: &str = "store.mark";
const MARK_TEXT: &str =
    "A store was set up in this folder. Without its database and its key, Souk does not start here (see souk serve --new).\n";
/// The files that Souk writes directly into the folder begin with these names.
const OWN_FILES: [&str; 6] = ["souk.db", "queue.db", "sandbox.db", "secret.key", "store.", "process.lock"];
const OWN_FOLDERS: [&str; 4] = ["files", "uploads", "mail", "backups"];

/// The locks of a command, released when its process ends, however it ends.
#[derive(Debug)]
pub struct Locks {
    _files: Vec<File>,
}

/// What a command locks: the data folder, and a database on SQLite, which other commands may reach with another data folder.
struct Locked {
    /// What messages call it.
    name: String,
    store: PathBuf,
    process: PathBuf,
}

impl Locked {
    fn folder(folder: &Path) -> Self {
        Self { name: format!("the data folder {}", folder.display()), store: folder.join(STORE_LOCK), process: folder.join(PROCESS_LOCK) }
    }

    /// The lock files are beside the database, and named after it. `None`: its folder does not exist, so there is no database.
    fn database(file: &Path) -> Option<Self> {
        // Two addresses of one file, such as a link to it, have one lock.
        let resolved = |file: &Path| {
            let folder = file.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
            Some(folder.canonicalize().ok()?.join(file.file_name()?))
        };
        let file = file.canonicalize().ok().or_else(|| resolved(file))?;
        let beside = |lock: &str| {
            let mut name = file.as_os_str().to_owned();
            name.push(format!(".{lock}"));
            PathBuf::from(name)
        };
        Some(Self { name: format!("the database {}", file.display()), store: beside(STORE_LOCK), process: beside(PROCESS_LOCK) })
    }
}

/// Creates the folder and takes the locks that the command needs.
///
/// # Errors
/// Another process uses the folder or the database in a way that excludes this command; the message names it.
pub fn lock(command: &Command) -> Result<Locks, String> {
    let (common, runs) = match command {
        Command::Serve(args) => (&args.common, true),
        Command::Work(args) => (&args.common, true),
        Command::Doctor(args) => (&args.common, false),
        Command::Backup(args) => (&args.common, false),
        Command::Restore(args) => (&args.common, false),
        Command::RotateKey(args) => (&args.common, false),
        Command::Migrate(common)
        | Command::Key { common, .. }
        | Command::Passport { common, .. }
        | Command::Clock { common, .. }
        | Command::DeadLetters { common, .. } => (common, false),
        // They read only, so they do not create a folder.
        Command::Verify(VerifyArgs { common, history: None, .. }) | Command::Ledger { common, .. } if common.data.exists() => {
            (common, false)
        }
        // They use a temporary folder, or none.
        Command::Verify(_)
        | Command::HistoryProcess(_)
        | Command::Ledger { .. }
        | Command::Openapi
        | Command::Publisher(_)
        | Command::Customer(_) => return Ok(Locks { _files: Vec::new() }),
    };
    create(&common.data)?;
    let replaces_store = match command {
        Command::Restore(args) => args.command.is_none(),
        Command::RotateKey(_) => true,
        _ => false,
    };
    let mut files = Vec::new();
    // In this order for every command.
    for locked in std::iter::once(Locked::folder(&common.data)).chain(common.database_file().and_then(|file| Locked::database(&file))) {
        let store = open_lock(&locked.store)?;
        if common.new || replaces_store {
            try_exclusive(&store, &locked, "another souk command uses")?;
        }
        if !replaces_store {
            if common.new {
                store.unlock().map_err(|error| describe(&locked.store, error))?;
            }
            store.lock_shared().map_err(|error| describe(&locked.store, error))?;
        }
        files.push(store);
        if runs && common.uses_sqlite() {
            let process = open_lock(&locked.process)?;
            try_exclusive(&process, &locked, "another souk serve or souk work uses")?;
            files.push(process);
        }
    }
    Ok(Locks { _files: files })
}

fn open_lock(path: &Path) -> Result<File, String> {
    OpenOptions::new().create(true).append(true).mode(0o600).open(path).map_err(|error| describe(path, error))
}

fn try_exclusive(file: &File, locked: &Locked, who: &str) -> Result<(), String> {
    file.try_lock().map_err(|error| match error {
        TryLockError::WouldBlock => format!("{who} {}", locked.name),
        TryLockError::Error(error) => describe(&locked.store, error),
    })
}

/// Creates the folder for this user only, and makes what Souk has written there private. An existing folder keeps its mode.
pub fn create(folder: &Path) -> Result<(), String> {
    let mut builder = DirBuilder::new();
    builder.recursive(true).mode(0o700).create(folder).map_err(|error| describe(folder, error))?;
    let entries = std::fs::read_dir(folder).map_err(|error| describe(folder, error))?;
    for entry in entries.flatten() {
        let (name, path) = (entry.file_name(), entry.path());
        let name = name.to_string_lossy();
        let mode = if OWN_FOLDERS.contains(&name.as_ref()) {
            0o700
        } else if OWN_FILES.iter().any(|own| name.starts_with(own)) {
            0o600
        } else {
            continue;
        };
        let is_private = entry.metadata().is_ok_and(|metadata| metadata.permissions().mode() & 0o077 == 0);
        if !is_private {
            match std::fs::set_permissions(&path, Permissions::from_mode(mode)) {
                // Another process has removed it: SQLite removes its files beside the database when the last connection closes.
                Err(error) if error.kind() == ErrorKind::NotFound => {}
                changed => changed.map_err(|error| describe(&path, error))?,
            }
        }
    }
    Ok(())
}

fn describe(path: &Path, error: impl std::fmt::Display) -> String {
    format!("{}: {error}", path.display())
}

/// What a start must know about the folder before it creates anything in it.
#[derive(Debug)]
pub struct StoreMark {
    folder: PathBuf,
    is_set: bool,
    /// `--new`: the database may be empty.
    new: bool,
}

impl StoreMark {
    pub fn of(common: &Common) -> Self {
        Self { folder: common.data.clone(), is_set: common.data.join(MARK).exists(), new: common.new }
    }

    /// # Errors
    /// The folder belongs to a store whose database is missing or empty, and nobody asked for a new store.
    pub fn check_database(&self, is_empty: bool, database: &str) -> Result<(), String> {
        if !self.is_set || self.new || !is_empty {
            return Ok(());
        }
        let folder = self.folder.display();
        Err(format!(
            "the data folder {folder} belongs to a store, but {database} is missing or empty. \
             Restore the database, or start a new store with --new"
        ))
    }

    /// # Errors
    /// The folder belongs to a store already, and nobody said that it is gone.
    pub fn check_restore(&self) -> Result<(), String> {
        if !self.is_set || self.new {
            return Ok(());
        }
        let folder = self.folder.display();
        Err(format!(
            "the data folder {folder} belongs to a store: restore into another folder, or with --new if the database of that store is lost"
        ))
    }

    /// Returns whether a missing key may be created: a store that exists would lose its identity and its stored secrets.
    pub const fn may_create_key(&self, is_empty: bool) -> bool {
        !self.is_set || (self.new && is_empty)
    }

    /// Marks the folder after a completed migration.
    pub fn set(&self) -> Result<(), String> {
        if self.is_set {
            return Ok(());
        }
        let path = self.folder.join(MARK);
        let written = OpenOptions::new().create(true).truncate(true).write(true).mode(0o600).open(&path).and_then(|mut file| {
            file.write_all(MARK_TEXT.as_bytes())?;
            file.sync_all()
        });
        written.map_err(|error| describe(&path, error))
    }
}
