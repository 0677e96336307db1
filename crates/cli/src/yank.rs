//! `souk yank`: withdraws a published version, or brings it back.

use crate::Failure;
use crate::args::{AppVersion, YankArgs};
use crate::error::Failed;
use crate::profile::Profiles;
use crate::status::describe;
use crate::store::{Step, Store};
use anstream::println;

pub async fn run(args: &YankArgs) -> Result<(), Failure> {
    let AppVersion { did, version } = &args.version;
    let store = Store::open(Profiles::of_user()?.connection(&args.store)?).await?;
    let comment = args.reason.as_deref().unwrap_or_default();
    let step = Step { name: if args.undo { "undo_yank" } else { "yank" }, comment, category: None };
    let review = match store.take(did, version, &step).await {
        Err(error) if error.is_not_found() => {
            return Err(Failed(format!("you have uploaded no version {version} of {did} to {}.", store.http.address)).into());
        }
        taken => taken?,
    };
    println!("{}", describe(&review.version));
    if !args.undo {
        println!("New installs no longer get it. What is installed goes on working.");
    }
    Ok(())
}
