//! The commands `souk verify` and `souk ledger export`.

use crate::compose::{Failure, existing_database, open_with_networks};
use crate::config::Common;
use crate::keys;
use souk_adapters::beancount;
use souk_adapters::identity::AppKey;
use souk_adapters::verify::{Check, verify};
use souk_simulator::{Records, compare_with_networks};
use std::io::{BufWriter, Write};
use url::Url;

/// Runs all checks and prints their results. `networks`: where the sandbox's networks are, if their movements are compared as well.
///
/// # Errors
/// Fails if a check found a breach.
pub async fn check(common: &Common, networks: Option<&Url>) -> Result<(), Failure> {
    let database = existing_database(common).await?;
    let mut breaches = 0;
    let mut print = |check: Check| {
        breaches += check.breaches.len();
        println!("{check}");
    };
    verify(&database, &mut print).await?;
    if let Some(networks) = networks {
        let ctx = open_with_networks(common, networks).await?;
        let app = AppKey::from_seed(&keys::derive(&keys::seed(common, false)?, "app"));
        let records = Records { ctx: &ctx, database: &database, app: app.did() };
        compare_with_networks(records, networks).await?.into_iter().for_each(&mut print);
    }
    match breaches {
        0 => Ok(()),
        1 => Err("there is 1 breach".into()),
        breaches => Err(format!("there are {breaches} breaches").into()),
    }
}

/// Prints the journal in beancount's format.
pub async fn export(common: &Common) -> Result<(), Failure> {
    let database = existing_database(common).await?;
    let mut out = BufWriter::new(std::io::stdout());
    beancount::export(&database, &mut out).await?;
    out.flush()?;
    Ok(())
}
