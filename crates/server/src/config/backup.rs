//! The options of `souk backup` and `souk restore`.

use super::Common;
use clap::{Args, Subcommand};
use souk_adapters::backup::Passphrase;
use std::path::PathBuf;

/// The passphrase of a backup. It is a secret, so it comes from a file or from the environment.
#[derive(Debug, Clone, Default, Args)]
pub struct Protection {
    /// The passphrase of the backup. On a command line it is visible to other users: use the variable, or a file.
    #[arg(long, env = "SOUK_BACKUP_PASSPHRASE", value_parser = Passphrase::parse, hide_env_values = true, hide = true)]
    pub passphrase: Option<Passphrase>,
    /// A file with the passphrase of the backup in its first line, of at least 12 characters.
    #[arg(long, env = "SOUK_BACKUP_PASSPHRASE_FILE", value_name = "FILE", conflicts_with = "passphrase")]
    pub passphrase_file: Option<PathBuf>,
}

#[derive(Debug, Clone, Args)]
pub struct BackupArgs {
    #[command(flatten)]
    pub common: Common,
    /// The file to write, such as souk.tar.gz.age. It must not exist, and appears when the backup is complete.
    #[arg(long, value_name = "FILE")]
    pub output: PathBuf,
    #[command(flatten)]
    pub protection: Protection,
    /// Do not encrypt the backup. Anyone who can read it has the store's key.
    #[arg(long, conflicts_with_all = ["passphrase", "passphrase_file"])]
    pub plain: bool,
    /// Write the backup although files of versions are missing in the store, without them. Otherwise that is an error, because the options
    /// may name another folder or bucket than those of the store.
    #[arg(long)]
    pub omit_missing_files: bool,
}

#[derive(Debug, Clone, Args)]
pub struct RotateKeyArgs {
    #[command(flatten)]
    pub common: Common,
    /// A file with the new key, 64 hex digits. Needed if the key is configured; otherwise a random one is written to the data folder.
    #[arg(long, value_name = "FILE")]
    pub new_key_file: Option<PathBuf>,
}

#[derive(Debug, Clone, Args)]
#[command(subcommand_negates_reqs = true)]
pub struct RestoreArgs {
    #[command(flatten)]
    pub common: Common,
    /// The backup. It is restored into the data folder and the database that the other options name, which must be empty.
    #[arg(value_name = "BACKUP", required = true)]
    pub archive: Option<PathBuf>,
    #[command(flatten)]
    pub protection: Protection,
    #[command(subcommand)]
    pub command: Option<RestoreCommand>,
}

#[derive(Debug, Clone, Copy, Subcommand)]
pub enum RestoreCommand {
    /// Show whether this store was restored, and what it waits for.
    Status,
    /// Confirm that the original of this store is stopped and will not be started again. Payments and emails continue once what the
    /// networks did since the backup is imported.
    Confirm {
        /// Continue although a network cannot be asked what it did since the backup, such as one whose account is closed.
        #[arg(long)]
        skip_import: bool,
    },
}
