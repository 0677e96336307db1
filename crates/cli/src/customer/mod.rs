//! The customer's commands: they sign in to a store, install its apps, and keep them up to date. Nothing is installed that a developer and
//! the store have not signed, and nothing is done that the user has not agreed to.

mod consent;
mod contact;
mod download;
mod error;
mod folder;
mod install;
mod login;
mod record;
mod stores;
mod update;
mod verify;

pub use error::CustomerError;

use crate::args::CustomerCommand;
use anstream::println;
use souk_adapters::system::SystemRandom;
use stores::Stores;

/// Runs a customer's command. With `--json`, one object is printed to the standard output, also after a failure.
///
/// # Errors
/// The command could not be carried out.
pub async fn run(command: CustomerCommand) -> Result<(), CustomerError> {
    let result = match Stores::of_user() {
        Ok(stores) => match &command {
            CustomerCommand::Login(args) => login::log_in(args, &stores, &SystemRandom).await,
            CustomerCommand::Logout(args) => login::log_out(args, &stores).await,
            CustomerCommand::Install(args) => install::install(args, &stores).await,
            CustomerCommand::Update(args) => update::update(args, &stores).await,
        },
        Err(error) => Err(error.into()),
    };
    if command.is_json() {
        match &result {
            Ok(value) => println!("{value}"),
            // It was printed with what happened to each app.
            Err(CustomerError::Partly(..)) => {}
            Err(error) => println!("{}", error.json()),
        }
    }
    result.map(drop)
}
