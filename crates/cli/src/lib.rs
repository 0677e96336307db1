//! The commands of the binary that are clients of a store's HTTP API, and know nothing of the store of this machine. Those of publishers
//! pack an app, check it as the store does, upload it, and follow its review. Those of customers install apps and keep them up to date.

mod args;
mod check;
mod ci;
mod connect;
mod customer;
mod error;
mod init;
mod pack;
mod private_file;
mod profile;
mod project;
mod publish;
#[cfg(test)]
mod raw_site;
mod report;
mod status;
mod store;
mod tool_session;
mod yank;

pub use args::{CustomerCommand, PublisherCommand};
pub use customer::CustomerError;
pub use error::Failed;

use souk_adapters::system::{SystemClock, SystemRandom};
use souk_domain::shared::Clock;
use std::error::Error;

/// Why a command fails: the message says what to do next.
pub type Failure = Box<dyn Error + Send + Sync>;

/// Runs a publisher's command.
///
/// # Errors
/// The command could not be carried out, or a check has failed.
pub async fn run(command: PublisherCommand) -> Result<(), Failure> {
    let now = SystemClock.now();
    match command {
        PublisherCommand::Connect(args) => connect::run(&args, &SystemRandom).await,
        PublisherCommand::Init(args) => init::run(&args),
        PublisherCommand::Pack(args) => pack::run(&args, now).await,
        PublisherCommand::Publish(args) => publish::run(&args).await,
        PublisherCommand::Status(args) => status::run(&args).await,
        PublisherCommand::Yank(args) => yank::run(&args).await,
    }
}

/// Runs a customer's command.
///
/// # Errors
/// The command could not be carried out: a [`CustomerError`], which has an exit code of its own.
pub async fn run_customer(command: CustomerCommand) -> Result<(), Failure> {
    Ok(customer::run(command).await?)
}

/// The exit code of a process whose command has failed.
#[must_use]
pub fn exit_code(error: &(dyn Error + Send + Sync + 'static)) -> u8 {
    error.downcast_ref::<CustomerError>().map_or(1, |error| error.reason().exit_code())
}
