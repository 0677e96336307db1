//! Restores a backup into an empty store, on either database.

use super::archive::{self, EntrySink, Verified, rows_of, write_file};
use super::manifest::{EntryName, Manifest};
use super::protection::Passphrase;
use super::{BackupError, Part};
use crate::files::FileStore;
use crate::persistence::dump::{self, Cell};
use crate::persistence::{Connection, Database, Table, TableColumn, migrate_to, tables};
use souk_domain::shared::StorageError;
use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::Read;
use std::path::{Path, PathBuf};
use tokio::sync::mpsc;

/// Chunks of rows that wait for the database.
const WAITING: usize = 1;
/// Rows per statement.
const BATCH: usize = 256;

/// An archive that was read completely and is what its manifest says.
pub struct Inspected {
    path: PathBuf,
    passphrase: Option<Passphrase>,
    pub manifest: Manifest,
    /// The key of its store, as hex digits.
    pub key: String,
}

/// Reads and verifies a whole archive. Writes nothing.
pub async fn inspect(path: &Path, passphrase: Option<Passphrase>) -> Result<Inspected, BackupError> {
    let path = path.to_owned();
    let verified = tokio::task::spawn_blocking(move || {
        let Verified { manifest, key } = archive::verify(&path, passphrase.as_ref())?;
        Ok(Inspected { path, passphrase, manifest, key })
    });
    verified.await.map_err(|error| BackupError::Encryption(error.to_string()))?
}

/// Where a backup is restored to.
pub struct RestoreTarget<'t> {
    /// Empty, or with the tables of a new store.
    pub database: &'t Database,
    /// The database of the sandbox, with its tables. What it contains is replaced.
    pub sandbox: Option<&'t Database>,
    /// The folder of bundles and pictures.
    pub files: PathBuf,
    /// The bucket of bundles and pictures, into which they are moved from the folder.
    pub bucket: Option<&'t FileStore>,
}

impl Inspected {
    /// Copies the archive into an empty store, each database in one transaction, that of the store last: until then the target counts as
    /// empty, so that a restore that was interrupted can be repeated. `finish` adds to that transaction.
    ///
    /// # Errors
    /// The target is not empty, the archive has changed since its inspection, or has tables or columns that this version does not have.
    pub async fn restore(
        &self,
        target: &RestoreTarget<'_>,
        finish: impl AsyncFnOnce(&mut Connection) -> Result<(), StorageError>,
    ) -> Result<(), BackupError> {
        migrate_to(target.database, self.manifest.schema).await?;
        let mut store = Loading::begin(Part::Store, target.database, &self.manifest).await?;
        store.check_empty().await?;
        let mut sandbox = match (target.sandbox, &self.manifest.sandbox) {
            (Some(database), Some(_)) => Some(Loading::begin(Part::Sandbox, database, &self.manifest).await?),
            _ => None,
        };
        store.clear().await?;
        if let Some(sandbox) = &mut sandbox {
            sandbox.clear().await?;
        }
        let (to_database, mut chunks) = mpsc::channel::<Chunk>(WAITING);
        let (path, passphrase, manifest) = (self.path.clone(), self.passphrase.clone(), self.manifest.clone());
        let mut unpacking =
            Unpacking { path: path.clone(), files: target.files.clone(), to_database, manifest: manifest.clone(), draft: None };
        let reader = tokio::task::spawn_blocking(move || archive::read(&path, passphrase.as_ref(), &manifest, &mut unpacking));
        let mut loaded = Ok(());
        while let Some(chunk) = chunks.recv().await {
            let loading = match chunk.part {
                Part::Store => Some(&mut store),
                Part::Sandbox => sandbox.as_mut(),
            };
            if let Some(loading) = loading {
                loaded = loading.insert(chunk).await;
            }
            if loaded.is_err() {
                break;
            }
        }
        drop(chunks);
        let read = reader.await.map_err(|error| BackupError::Encryption(error.to_string()))?;
        loaded?;
        read?;
        if let Some(bucket) = target.bucket {
            move_files(&self.manifest, &target.files, bucket).await?;
        }
        finish(&mut store.connection).await?;
        if let Some(sandbox) = sandbox {
            sandbox.connection.commit().await?;
        }
        Ok(store.connection.commit().await?)
    }
}

/// Moves the files of an archive into a bucket.
async fn move_files(manifest: &Manifest, folder: &Path, bucket: &FileStore) -> Result<(), BackupError> {
    for name in manifest.entries.keys().filter_map(|entry| entry.strip_prefix("files/")) {
        let path = folder.join(&name[..2]).join(name);
        let hash = hex::decode(name).ok().and_then(|hash| hash.try_into().ok());
        let hash = hash.ok_or_else(|| BackupError::damaged(&path, "its name is no hash"))?;
        bucket.put_file(&hash, &path).await.map_err(|error| BackupError::Bucket(error.to_string()))?;
        fs::remove_file(&path).map_err(BackupError::file(&path))?;
    }
    Ok(())
}

/// Some rows of a table.
struct Chunk {
    part: Part,
    table: String,
    rows: Vec<Vec<Cell>>,
}

/// A database whose tables are being filled.
struct Loading {
    part: Part,
    connection: Connection,
    tables: BTreeMap<String, Table>,
    /// The names of the tables, each after those that it references.
    order: Vec<String>,
    columns: BTreeMap<String, Vec<String>>,
}

impl Loading {
    async fn begin(part: Part, database: &Database, manifest: &Manifest) -> Result<Self, BackupError> {
        let mut connection = database.begin_unlimited().await?;
        let all = tables(&mut connection).await?;
        let order = all.iter().map(|table| table.name.clone()).collect();
        let tables: BTreeMap<_, _> = all.into_iter().map(|table| (table.name.clone(), table)).collect();
        let mut columns = BTreeMap::new();
        for (name, content) in manifest.tables(part).into_iter().flatten() {
            let table = tables.get(name).ok_or_else(|| BackupError::UnknownTable(name.clone()))?;
            for column in &content.columns {
                find(table, column).ok_or_else(|| BackupError::UnknownTable(format!("{name}.{column}")))?;
            }
            columns.insert(name.clone(), content.columns.clone());
        }
        Ok(Self { part, connection, tables, order, columns })
    }

    /// Checks that the database has no rows, other than those that migrations write.
    async fn check_empty(&mut self) -> Result<(), BackupError> {
        for (name, table) in &self.tables {
            if name == "number_series" {
                let used = "SELECT COUNT(*) AS n FROM number_series WHERE last_number > 0";
                if self.connection.query(used).one().await?.get::<i64>("n")? == 0 {
                    continue;
                }
            } else if dump::is_empty(&mut self.connection, table).await? {
                continue;
            }
            return Err(BackupError::NotEmpty(name.clone()));
        }
        Ok(())
    }

    async fn clear(&mut self) -> Result<(), BackupError> {
        for name in self.order.iter().rev().filter(|name| self.part.is_copied(name)) {
            dump::clear(&mut self.connection, &self.tables[name]).await?;
        }
        Ok(())
    }

    async fn insert(&mut self, Chunk { table, rows, .. }: Chunk) -> Result<(), BackupError> {
        let (Some(table), Some(columns)) = (self.tables.get(&table), self.columns.get(&table)) else {
            return Err(BackupError::UnknownTable(table));
        };
        let columns: Vec<_> = columns.iter().filter_map(|column| find(table, column)).collect();
        let mut rows = rows.into_iter();
        loop {
            let batch: Vec<_> = rows.by_ref().take(BATCH).collect();
            if batch.is_empty() {
                return Ok(());
            }
            dump::insert(&mut self.connection, table, &columns, batch).await?;
        }
    }
}

fn find<'t>(table: &'t Table, column: &str) -> Option<&'t TableColumn> {
    table.columns.iter().find(|known| known.name == column)
}

/// Writes the files of an archive, and sends its rows to the databases.
struct Unpacking {
    path: PathBuf,
    files: PathBuf,
    to_database: mpsc::Sender<Chunk>,
    manifest: Manifest,
    /// The file whose content is not verified yet.
    draft: Option<PathBuf>,
}

impl Unpacking {
    fn folder_of(&self, hash: &str) -> PathBuf {
        self.files.join(&hash[..2])
    }
}

impl EntrySink for Unpacking {
    fn content(&mut self, name: &EntryName, content: Vec<u8>) -> Result<(), BackupError> {
        let EntryName::Rows { part, table } = name else { return Ok(()) };
        let columns = self.manifest.tables(*part).and_then(|tables| tables.get(table)).map_or(0, |table| table.columns.len());
        let rows = rows_of(&self.path, &content, columns)?;
        let chunk = Chunk { part: *part, table: table.clone(), rows };
        let stopped = |_| BackupError::damaged(&self.path, "the database did not take all rows");
        self.to_database.blocking_send(chunk).map_err(stopped)
    }

    fn file(&mut self, hash: &str, content: &mut dyn Read) -> Result<(), BackupError> {
        let folder = self.folder_of(hash);
        fs::create_dir_all(&folder).map_err(BackupError::file(&folder))?;
        let (path, draft) = (folder.join(hash), folder.join(format!(".{hash}.restored")));
        write_file(&path, &draft, content).map_err(BackupError::file(&draft))?;
        self.draft = Some(draft);
        Ok(())
    }

    fn file_end(&mut self, hash: &str) -> Result<(), BackupError> {
        let Some(draft) = self.draft.take() else { return Ok(()) };
        let folder = self.folder_of(hash);
        let path = folder.join(hash);
        fs::rename(&draft, &path).map_err(BackupError::file(&path))?;
        File::open(&folder).and_then(|folder| folder.sync_all()).map_err(BackupError::file(&folder))
    }
}

impl Drop for Unpacking {
    fn drop(&mut self) {
        if let Some(draft) = &self.draft
            && let Err(error) = fs::remove_file(draft)
        {
            tracing::warn!(%error, "a file of an interrupted restore was not removed");
        }
    }
}
