//! The binary: `souk serve | work | migrate | backup | restore | rotate-key | key | passport | clock | dead-letters | doctor | verify |
//! ledger | openapi` on a machine of the store, `connect | init | pack | publish | status | yank` on a developer's, and `login | logout |
//! install | update` on a customer's.

#[cfg(test)]
mod audit_tests;
mod backup;
mod checkout_prerender;
mod commands;
mod compose;
mod config;
mod connections;
mod data_folder;
mod demo;
mod doctor;
mod histories;
mod html_shell;
mod installation;
mod keys;
mod metrics;
mod pages;
mod sandbox;
mod sandbox_admission;
mod sandbox_off;
mod serve;
mod verify;

use clap::Parser;
use compose::Failure;
use config::{Cli, Command, LedgerCommand, LogFormat, VerifyArgs, hide_secrets};
use rustix::fs::Mode;
use std::env::VarError;
use std::process::ExitCode;
use tracing_subscriber::EnvFilter;

/// The log levels without `SOUK_LOG`.
const LOG_DEFAULT: &str = "warn,souk=info";

#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    // The allocator asks for huge pages, of which a store that does little uses a small part: they would double its memory.
    let huge_pages = rustix::thread::disable_transparent_huge_pages(true);
    let mut cli = Cli::try_parse().unwrap_or_else(|error| hide_secrets(error).exit());
    // Whatever a process of the store writes is for this user only: databases, mails, uploads. The files of developers and customers are like
    // their others.
    if !matches!(cli.command, Command::Publisher(_) | Command::Customer(_)) {
        rustix::process::umask(Mode::RWXG | Mode::RWXO);
    }
    // The locks are held until the process ends.
    let locks = start_log(cli.log_format).and_then(|()| cli.command.read_secret_files()).and_then(|()| data_folder::lock(&cli.command));
    let _locks = match locks {
        Ok(locks) => locks,
        Err(error) => {
            eprintln!("souk: {error}");
            return ExitCode::FAILURE;
        }
    };
    if let Err(error) = huge_pages {
        tracing::debug!(%error, "this system cannot switch huge pages off for a process, so that more memory is used");
    }
    let runtime = match tokio::runtime::Builder::new_multi_thread().enable_all().build() {
        Ok(runtime) => runtime,
        Err(error) => {
            eprintln!("souk: {error}");
            return ExitCode::FAILURE;
        }
    };
    let result = runtime.block_on(run(cli.command));
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("souk: {error}");
            ExitCode::from(souk_cli::exit_code(error.as_ref()))
        }
    }
}

/// Runs a command. The caller holds its locks.
async fn run(command: Command) -> Result<(), Failure> {
    match command {
        Command::Serve(args) => serve::serve(*args).await,
        Command::Work(args) => serve::work(args).await,
        Command::Migrate(common) => commands::migrate(&common).await,
        Command::Key { common, command } => commands::key(&common, command).await,
        Command::Passport { common, command } => commands::passport(&common, command).await,
        Command::Clock { common, command } => commands::clock(&common, command).await,
        Command::DeadLetters { common, retry } => commands::dead_letters(&common, retry.as_deref()).await,
        Command::Doctor(args) => doctor::run(&args).await,
        Command::Backup(args) => backup::back_up(&args).await,
        Command::Restore(args) => backup::restore(&args).await,
        Command::RotateKey(args) => backup::rotate_key(&args).await,
        Command::Verify(VerifyArgs { common, history: None, networks, .. }) => verify::check(&common, networks.as_ref()).await,
        Command::Verify(VerifyArgs { common, history: Some(count), histories, .. }) => histories::run(common, count, &histories).await,
        Command::HistoryProcess(args) => histories::process(args).await,
        Command::Ledger { common, command: LedgerCommand::Export } => verify::export(&common).await,
        Command::Openapi => {
            println!("{}", souk_api::document());
            Ok(())
        }
        Command::Publisher(command) => souk_cli::run(command).await,
        Command::Customer(command) => souk_cli::run_customer(command).await,
    }
}

/// Logs to stderr, at the levels that `SOUK_LOG` names.
fn start_log(format: LogFormat) -> Result<(), String> {
    let filter = match std::env::var("SOUK_LOG") {
        Err(VarError::NotPresent) => EnvFilter::new(LOG_DEFAULT),
        Ok(levels) => EnvFilter::try_new(levels).map_err(|error| format!("SOUK_LOG: expected levels such as {LOG_DEFAULT}: {error}"))?,
        Err(error) => return Err(format!("SOUK_LOG: {error}")),
    };
    let log = tracing_subscriber::fmt().with_env_filter(filter).with_writer(std::io::stderr);
    match format {
        LogFormat::Text => log.init(),
        LogFormat::Json => log.json().flatten_event(true).init(),
    }
    Ok(())
}
