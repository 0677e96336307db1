//! The binary: `souk serve | work | migrate | key | passport | clock | dead-letters | verify | ledger | openapi`.

mod checkout_prerender;
mod commands;
mod compose;
mod config;
mod demo;
mod histories;
mod html_shell;
mod keys;
mod pages;
mod sandbox;
mod serve;
mod verify;

use clap::Parser;
use config::{Cli, Command, LedgerCommand, VerifyArgs};
use std::process::ExitCode;
use tracing_subscriber::EnvFilter;

#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    let cli = Cli::parse();
    let filter = EnvFilter::try_from_env("SOUK_LOG").unwrap_or_else(|_| EnvFilter::new("warn,souk=info"));
    tracing_subscriber::fmt().with_env_filter(filter).with_writer(std::io::stderr).init();
    let runtime = match tokio::runtime::Builder::new_multi_thread().enable_all().build() {
        Ok(runtime) => runtime,
        Err(error) => {
            eprintln!("souk: {error}");
            return ExitCode::FAILURE;
        }
    };
    let result = runtime.block_on(async {
        match cli.command {
            Command::Serve(args) => serve::serve(args).await,
            Command::Work(common) => serve::work(common).await,
            Command::Migrate(common) => commands::migrate(&common).await,
            Command::Key { common, command } => commands::key(&common, command).await,
            Command::Passport { common, command } => commands::passport(&common, command).await,
            Command::Clock { common, command } => commands::clock(&common, command).await,
            Command::DeadLetters { common, retry } => commands::dead_letters(&common, retry.as_deref()).await,
            Command::Verify(VerifyArgs { common, history: None, .. }) => verify::check(&common).await,
            Command::Verify(VerifyArgs { common, history: Some(count), histories }) => histories::run(common, count, &histories).await,
            Command::HistoryProcess(args) => histories::process(args).await,
            Command::Ledger { common, command: LedgerCommand::Export } => verify::export(&common).await,
            Command::Openapi => {
                println!("{}", souk_api::document());
                Ok(())
            }
        }
    });
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("souk: {error}");
            ExitCode::FAILURE
        }
    }
}
