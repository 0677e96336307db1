//! The commands `souk backup`, `souk restore` and `souk rotate-key`, and the backup before a migration.

use crate::commands::{audit_entry, audited};
use crate::compose::{
    Failure, OpenFolder, check_schema, database_name, existing_database, open_database, open_files, open_folder, open_store,
};
use crate::config::{BackupArgs, Common, RestoreArgs, RestoreCommand, RotateKeyArgs, parse_secret, read_key_file};
use crate::data_folder::StoreMark;
use crate::keys::StoreKeys;
use crate::{keys, sandbox};
use souk_adapters::backup::{BackupError, Inspected, MissingFiles, RestoreTarget, Source, inspect, take};
use souk_adapters::files::FileStore;
use souk_adapters::identity::AppKey;
use souk_adapters::persistence::{Connection, Database, SqlRestores, known_schema, migrate, record_in_audit_log};
use souk_adapters::system::SystemClock;
use souk_adapters::verify::verify;
use souk_domain::access::Operation;
use souk_domain::context::Context;
use souk_domain::operation::{ConfirmStoppedError, PARALLEL_RUN_ALLOWANCE, Restore, Restores, confirm_stopped, find_restore, skip_import};
use souk_domain::shared::{Clock, StorageError, Timestamp};
use std::os::unix::fs::DirBuilderExt;
use url::Url;

/// Writes a backup of a store, which may be running.
pub async fn back_up(args: &BackupArgs) -> Result<(), Failure> {
    let passphrase = args.protection.passphrase.clone();
    if passphrase.is_none() && !args.plain {
        return Err("a backup contains the store's key, so it is encrypted: name the file of a passphrase with --passphrase-file, \
                    set SOUK_BACKUP_PASSPHRASE, or use --plain"
            .into());
    }
    let name = database_name(&args.common);
    let database = existing_database(&args.common).await?;
    let Some(schema) = check_schema(&database, &name).await? else { return Err(format!("{name} has no store").into()) };
    let keys = keys::open(&args.common, &database, keys::seed(&args.common, false)?).await?;
    let sandbox = sandbox_database(&args.common).await?;
    let bucket = open_bucket(&args.common).await?;
    let missing_files = if args.omit_missing_files { MissingFiles::Omit } else { MissingFiles::Refuse };
    let source = Source { missing_files, ..source(&args.common, &database, sandbox.as_ref(), bucket.as_ref(), &keys) };
    // Before the snapshot, which contains the entry. An older schema is not written, and a database whose disk is full must be copied.
    if schema == known_schema()
        && let Err(error) = record_backup(&database).await
    {
        tracing::warn!(%error, "the backup is not in the audit log");
    }
    let summary = take(&source, &args.output, passphrase).await?;
    let output = args.output.display();
    println!("{output} is complete: {} rows, {} files, {} bytes.", summary.rows, summary.files, summary.bytes);
    if summary.missing > 0 {
        println!("{} files that versions name are missing, in the store and in the backup.", summary.missing);
    }
    if args.plain {
        println!("The backup is not encrypted and contains the store's key. Anyone who can read it can act as the store.");
    }
    Ok(())
}

async fn record_backup(database: &Database) -> Result<(), StorageError> {
    let mut connection = database.begin().await?;
    record_in_audit_log(&mut connection, &audit_entry(Operation::TakeBackup, Vec::new())).await?;
    connection.commit().await
}

/// The bucket of files; `None`: they are in the data folder.
async fn open_bucket(common: &Common) -> Result<Option<FileStore>, Failure> {
    match common.bucket()? {
        Some(_) => open_files(common).await.map(Some),
        None => Ok(None),
    }
}

fn source<'s>(
    common: &Common,
    database: &'s Database,
    sandbox: Option<&'s Database>,
    bucket: Option<&'s FileStore>,
    keys: &StoreKeys,
) -> Source<'s> {
    Source {
        database,
        sandbox,
        files: common.data.join("files"),
        bucket,
        key: keys.seed.to_hex(),
        store: AppKey::from_seed(&keys.identity.0).did().to_string(),
        now: SystemClock.now(),
        missing_files: MissingFiles::Refuse,
    }
}

/// The tables of the sandbox, if it has any.
async fn sandbox_database(common: &Common) -> Result<Option<Database>, Failure> {
    let file = common.data.join("sandbox.db");
    Ok(match &common.database_url {
        Some(address) if address.starts_with("postgres") => {
            let mut address = Url::parse(address)?;
            address.query_pairs_mut().append_pair("options[search_path]", "sandbox");
            Some(Database::open(address.as_str()).await?)
        }
        _ if file.exists() => Some(Database::open_file(&file).await?),
        _ => None,
    })
}

/// Writes a plain backup into the data folder, which has the key as well, before a migration changes real data.
pub async fn before_migration(common: &Common, database: &Database, keys: &StoreKeys, version: i64) -> Result<(), Failure> {
    let folder = common.data.join("backups");
    std::fs::DirBuilder::new().recursive(true).mode(0o700).create(&folder).map_err(|error| format!("{}: {error}", folder.display()))?;
    let sandbox = sandbox_database(common).await?;
    let bucket = open_bucket(common).await?;
    // A lost bundle does not keep the store from being updated.
    let source = Source { missing_files: MissingFiles::Omit, ..source(common, database, sandbox.as_ref(), bucket.as_ref(), keys) };
    let path = folder.join(format!("schema-{version}-{}.tar.gz", source.now.micros()));
    match take(&source, &path, None).await {
        Ok(summary) => {
            tracing::info!(backup = %path.display(), "the store was backed up before its schema is updated");
            if summary.missing > 0 {
                tracing::warn!(missing = summary.missing, "files that versions name are missing in the store and in its backup");
            }
        }
        // Another process that starts at this moment writes the same backup.
        Err(BackupError::Exists(_)) => {}
        Err(error) => return Err(format!("the schema is not updated, because no backup could be written first: {error}").into()),
    }
    Ok(())
}

/// Restores a backup, or confirms a restored store.
pub async fn restore(args: &RestoreArgs) -> Result<(), Failure> {
    match args.command {
        Some(RestoreCommand::Status) => return print_status(&open_store(&args.common).await?).await,
        Some(RestoreCommand::Confirm { skip_import }) => return confirm(&open_store(&args.common).await?, skip_import).await,
        None => {}
    }
    let archive = args.archive.clone().ok_or("name a backup to restore")?;
    let inspected = inspect(&archive, args.protection.passphrase.clone()).await?;
    let manifest = &inspected.manifest;
    println!(
        "{} is complete: the store {} at {}, {} rows, {} files.",
        archive.display(),
        manifest.store,
        manifest.taken_at,
        manifest.rows(),
        manifest.files()
    );
    let database = restore_into(&args.common, &inspected).await?;
    let mut breaches = 0;
    verify(&database, &mut |check| {
        breaches += check.breaches.len();
        for breach in &check.breaches {
            println!("breach: {breach}");
        }
    })
    .await?;
    if breaches > 0 {
        return Err(
            format!("the backup was restored, but its data has breaches: {breaches}. Run souk verify on the original as well").into()
        );
    }
    println!("The store is restored into {}, and souk verify finds no breach.", database_name(&args.common));
    println!(
        "It charges nothing and sends no emails until you confirm that the original is stopped: souk restore confirm, or in the console."
    );
    Ok(())
}

async fn print_status(ctx: &Context) -> Result<(), Failure> {
    let Some(restore) = find_restore(ctx).await? else {
        println!("This store was not restored from a backup.");
        return Ok(());
    };
    let (restored, backup) = (restore.restored_at.to_iso(), restore.backup_at.to_iso());
    println!("This store was restored at {restored} from a backup of {backup}.");
    match (&restore, restore.released_at) {
        (_, Some(at)) => println!("It continues since {}.", at.to_iso()),
        (Restore { stopped_at: None, .. }, _) => println!("It waits until an owner confirms that the original is stopped."),
        _ => println!("The original is stopped. What the networks did since the backup is being imported."),
    }
    if let Some(failure) = &restore.import_failure {
        println!("The last import is not complete: {}", failure.reason);
    }
    Ok(())
}

async fn confirm(ctx: &Context, skips_import: bool) -> Result<(), Failure> {
    match confirm_stopped(&audited(ctx, Operation::ConfirmRestore, Vec::new()), "souk restore confirm").await {
        Ok(_) => {}
        // It was confirmed before, and the import does not succeed.
        Err(ConfirmStoppedError::NotWaiting) if skips_import => {}
        Err(error) => return Err(error.into()),
    }
    if skips_import {
        skip_import(&audited(ctx, Operation::SkipImport, Vec::new())).await?;
        println!("The store continues without what the networks did since the backup: compare their records with the store's.");
        return Ok(());
    }
    println!(
        "The original is stopped and will not be started again: this is recorded. The running store imports what the networks did since \
         the backup. Then it charges and sends emails again."
    );
    Ok(())
}

/// Copies the archive into the store that the options name, which must be empty.
async fn restore_into(common: &Common, inspected: &Inspected) -> Result<Database, Failure> {
    let mark = StoreMark::of(common);
    mark.check_restore()?;
    let seed = parse_secret(&inspected.key).map_err(|_| "the key of the backup is not valid")?;
    keys::check_restored(common, &seed)?;
    let name = database_name(common);
    let database = open_database(common).await?;
    check_schema(&database, &name).await?;
    let sandbox = match inspected.manifest.sandbox {
        Some(_) => {
            sandbox::create_tables(common).await?;
            sandbox_database(common).await?
        }
        None => None,
    };
    let bucket = open_bucket(common).await?;
    let target =
        RestoreTarget { database: &database, sandbox: sandbox.as_ref(), files: common.data.join("files"), bucket: bucket.as_ref() };
    let backup_at = Timestamp::parse_iso(&inspected.manifest.taken_at).ok_or("the time of the backup is not valid")?;
    let now = SystemClock.now();
    inspected
        .restore(&target, async |connection: &mut Connection| {
            let mut restores = SqlRestores(connection);
            let restore = restores.insert(Restore::of(backup_at, now)).await?;
            restores.skip_numbers(&restore, now.plus(PARALLEL_RUN_ALLOWANCE)).await?;
            record_in_audit_log(connection, &audit_entry(Operation::RestoreBackup, Vec::new())).await?;
            // The key is written before the commit: a database without its key would be worthless.
            keys::restore(common, &seed).map_err(|error| StorageError::Driver(error.into()))
        })
        .await?;
    if inspected.manifest.schema < known_schema() {
        migrate(&database).await.map_err(|error| format!("{name}: {error}"))?;
    }
    mark.set()?;
    Ok(database)
}

/// Replaces the store's key. No other command may use the data folder.
pub async fn rotate_key(args: &RotateKeyArgs) -> Result<(), Failure> {
    let new = args.new_key_file.as_deref().map(read_key_file).transpose()?;
    // A missing store is refused instead of created.
    existing_database(&args.common).await?.close().await;
    let OpenFolder { keys, database } = open_folder(&args.common).await?;
    let count = keys::rotate(&args.common, &database, &keys, new).await?;
    println!("The store has a new key, and its {count} secrets are encrypted with it. Its account and DID stay the same.");
    println!("Links in earlier emails no longer work. Backups keep the key that they were taken with.");
    if args.common.secret_key.is_some() {
        println!("Set SOUK_SECRET_KEY to the new key before the store is started again.");
    }
    Ok(())
}
