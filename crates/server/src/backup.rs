//! The commands `souk backup` and `souk restore`, and the backup before a migration.

use crate::compose::{Failure, check_schema, database_name, existing_database, open_database};
use crate::config::{BackupArgs, Common, RestoreArgs, SecretSeed, parse_secret};
use crate::data_folder::StoreMark;
use crate::{keys, sandbox};
use souk_adapters::backup::{BackupError, Inspected, RestoreTarget, Source, inspect, take};
use souk_adapters::identity::AppKey;
use souk_adapters::persistence::{Database, known_schema, migrate};
use souk_adapters::system::SystemClock;
use souk_adapters::verify::verify;
use souk_domain::shared::{Clock, StorageError};
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
    if check_schema(&database, &name).await?.is_none() {
        return Err(format!("{name} has no store").into());
    }
    let seed = keys::seed(&args.common, false)?;
    let sandbox = sandbox_database(&args.common).await?;
    let source = source(&args.common, &database, sandbox.as_ref(), &seed);
    let summary = take(&source, &args.output, passphrase).await?;
    let output = args.output.display();
    println!("{output} is complete: {} rows, {} files, {} bytes.", summary.rows, summary.files, summary.bytes);
    if args.plain {
        println!("It is not encrypted, and it contains the store's key: whoever reads it can act as the store.");
    }
    Ok(())
}

fn source<'s>(common: &Common, database: &'s Database, sandbox: Option<&'s Database>, seed: &SecretSeed) -> Source<'s> {
    Source {
        database,
        sandbox,
        files: common.data.join("files"),
        key: seed.to_hex(),
        store: AppKey::from_seed(&keys::derive(seed, "app")).did().to_string(),
        now: SystemClock.now(),
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
pub async fn before_migration(common: &Common, database: &Database, seed: &SecretSeed, version: i64) -> Result<(), Failure> {
    let folder = common.data.join("backups");
    std::fs::DirBuilder::new().recursive(true).mode(0o700).create(&folder).map_err(|error| format!("{}: {error}", folder.display()))?;
    let sandbox = sandbox_database(common).await?;
    let source = source(common, database, sandbox.as_ref(), seed);
    let path = folder.join(format!("schema-{version}-{}.tar.gz", source.now.micros()));
    match take(&source, &path, None).await {
        Ok(_) => tracing::info!(backup = %path.display(), "the store was backed up before its schema is updated"),
        // Another process that starts at this moment writes the same backup.
        Err(BackupError::Exists(_)) => {}
        Err(error) => return Err(format!("the schema is not updated, because no backup could be written first: {error}").into()),
    }
    Ok(())
}

/// Restores a backup, or confirms a restored store.
pub async fn restore(args: &RestoreArgs) -> Result<(), Failure> {
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
    let target = RestoreTarget { database: &database, sandbox: sandbox.as_ref(), files: common.data.join("files") };
    // The key is written before the commit: a database without its key would be worthless.
    let write_key = async |_: &mut _| keys::restore(common, &seed).map_err(|error| StorageError::Driver(error.into()));
    inspected.restore(&target, write_key).await?;
    if inspected.manifest.schema < known_schema() {
        migrate(&database).await.map_err(|error| format!("{name}: {error}"))?;
    }
    mark.set()?;
    Ok(database)
}
