//! Secrets among the options: from files, and never in a message.

use super::parse::{parse_database, parse_redis, parse_secret, parse_smtp, parse_token};
use super::{BackupArgs, Command, Common, RestoreArgs, SecretSeed};
use clap::Args;
use clap::error::{ContextKind, ContextValue, Error};
use souk_adapters::backup::Passphrase;
use std::path::{Path, PathBuf};
use url::Url;

/// Options whose values are secrets or contain one.
const SECRET_OPTIONS: [&str; 7] =
    ["--database-url", "--redis-url", "--secret-key", "--smtp-url", "--metrics-token", "--passphrase", "--files-secret"];

/// Files that contain a secret, as container platforms provide them. A file is an alternative to its variable.
#[derive(Debug, Clone, Default, Args)]
pub struct SecretFiles {
    /// A file with the address of the database.
    #[arg(long, env = "DATABASE_URL_FILE", value_name = "FILE", conflicts_with = "database_url")]
    database_url_file: Option<PathBuf>,
    /// A file with the address of Redis.
    #[arg(long, env = "REDIS_URL_FILE", value_name = "FILE", conflicts_with = "redis_url")]
    redis_url_file: Option<PathBuf>,
    /// A file with the store's secret key.
    #[arg(long, env = "SOUK_SECRET_KEY_FILE", value_name = "FILE", conflicts_with = "secret_key")]
    secret_key_file: Option<PathBuf>,
    /// A file with the address of the mail server.
    #[arg(long, env = "SMTP_URL_FILE", value_name = "FILE", conflicts_with = "smtp_url")]
    smtp_url_file: Option<PathBuf>,
}

impl Command {
    /// Reads the secrets whose files are named by options.
    ///
    /// # Errors
    /// A file cannot be read or has another format; the message names the file and not its content.
    pub fn read_secret_files(&mut self) -> Result<(), String> {
        if let Self::Serve(args) = self
            && let Some(file) = &args.metrics_token_file
        {
            args.metrics_token = Some(read(file, parse_token)?);
        }
        if let Self::Backup(BackupArgs { protection, .. }) | Self::Restore(RestoreArgs { protection, .. }) = self
            && let Some(file) = &protection.passphrase_file
        {
            protection.passphrase = Some(read(file, Passphrase::parse)?);
        }
        self.common_mut().map_or(Ok(()), Common::read_secret_files)
    }
}

impl Common {
    fn read_secret_files(&mut self) -> Result<(), String> {
        let files = std::mem::take(&mut self.secret_files);
        if let Some(file) = &files.database_url_file {
            self.database_url = Some(read(file, parse_database)?);
        }
        if let Some(file) = &files.redis_url_file {
            self.redis_url = Some(read(file, parse_redis)?);
        }
        if let Some(file) = &files.secret_key_file {
            self.secret_key = Some(read(file, parse_secret)?);
        }
        if let Some(file) = &self.files.files_secret_file {
            self.files.files_secret = Some(read(file, |text| Ok(text.to_owned()))?);
        }
        if let Some(file) = &files.smtp_url_file {
            self.smtp_url = Some(read(file, parse_smtp)?);
        }
        Ok(())
    }
}

/// Reads a key from a file.
///
/// # Errors
/// The file cannot be read or has another format; the message names the file and not its content.
pub fn read_key_file(file: &Path) -> Result<SecretSeed, String> {
    read(file, parse_secret)
}

fn read<T>(file: &Path, parse: fn(&str) -> Result<T, String>) -> Result<T, String> {
    let text = std::fs::read_to_string(file).map_err(|error| format!("{}: {error}", file.display()))?;
    parse(text.trim()).map_err(|expected| format!("{}: {expected}", file.display()))
}

/// Removes the value from an error about an option that is a secret.
#[must_use]
pub fn hide_secrets(mut error: Error) -> Error {
    let is_secret = match error.get(ContextKind::InvalidArg) {
        Some(ContextValue::String(option)) => SECRET_OPTIONS.iter().any(|secret| option.starts_with(secret)),
        _ => false,
    };
    if is_secret && error.get(ContextKind::InvalidValue).is_some() {
        error.insert(ContextKind::InvalidValue, ContextValue::String("(hidden)".to_owned()));
    }
    error
}

/// An address without user, password and parameters, for messages.
#[must_use]
pub fn without_secrets(address: &str) -> String {
    let Ok(url) = Url::parse(address) else { return "(an address that cannot be parsed)".to_owned() };
    let port = url.port().map_or_else(String::new, |port| format!(":{port}"));
    format!("{}://{}{port}{}", url.scheme(), url.host_str().unwrap_or_default(), url.path())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::Cli;
    use clap::Parser;

    #[test]
    fn the_message_about_an_invalid_secret_does_not_contain_it() {
        for (option, value) in [
            ("--database-url", "mysql://user:hunter2@db.example/shop"),
            ("--redis-url", "hunter2"),
            ("--secret-key", "hunter2"),
            ("--smtp-url", "mailto:hunter2"),
            ("--metrics-token", "hunter2"),
        ] {
            for arguments in [vec![option.to_owned(), value.to_owned()], vec![format!("{option}={value}")]] {
                let words = ["souk", "serve"].map(ToOwned::to_owned).into_iter().chain(arguments);
                let message = hide_secrets(Cli::try_parse_from(words).expect_err(option)).to_string();
                assert!(!message.contains("hunter2"), "{message}");
                assert!(message.contains(option) && message.contains("expected"), "{message}");
            }
        }
    }

    #[test]
    fn an_address_is_named_by_host_and_path() {
        let name = without_secrets("postgres://shop:hunter2@db.example:5433/shop?password=hunter2");
        assert_eq!(name, "postgres://db.example:5433/shop");
        assert!(!without_secrets("hunter2").contains("hunter2"));
    }

    #[test]
    fn secrets_are_read_from_files() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let file = |name: &str, content: &str| {
            let path = folder.path().join(name);
            std::fs::write(&path, content).expect("writes");
            path.display().to_string()
        };
        let key = file("key", &format!("{}\n", "0a".repeat(32)));
        let (database, token) = (file("database", "postgres://shop:pw@db.example/shop\n"), file("token", "0123456789abcdef\n"));
        let words = ["souk", "serve", "--secret-key-file", &key, "--database-url-file", &database, "--metrics-token-file", &token];
        let mut command = Cli::try_parse_from(words).expect("parses").command;
        command.read_secret_files().expect("reads");
        let Command::Serve(args) = command else { panic!("another command") };
        assert_eq!(args.common.secret_key.expect("a key").0, [10; 32]);
        assert_eq!(args.common.database_url.as_deref(), Some("postgres://shop:pw@db.example/shop"));
        assert_eq!(args.metrics_token.as_deref(), Some("0123456789abcdef"));

        let wrong = file("wrong", "hunter2");
        for (option, expected) in [("--secret-key-file", "64 hex digits"), ("--redis-url-file", "redis://host:6379")] {
            let mut command = Cli::try_parse_from(["souk", "work", option, &wrong]).expect("parses").command;
            let message = command.read_secret_files().expect_err(option);
            assert!(message.contains(expected) && message.contains("wrong") && !message.contains("hunter2"), "{message}");
        }
        let mut command = Cli::try_parse_from(["souk", "backup", "--output", "x", "--passphrase-file", &wrong]).expect("parses").command;
        let message = command.read_secret_files().expect_err("a passphrase");
        assert!(message.contains("at least 12 characters") && !message.contains("hunter2"), "{message}");
        let both = ["souk", "work", "--secret-key-file", &key, "--secret-key", &"0a".repeat(32)];
        let message = Cli::try_parse_from(both).expect_err("both").to_string();
        assert!(message.contains("cannot be used with") && !message.contains("0a0a"), "{message}");
    }
}
