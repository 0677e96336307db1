//! The commands `souk verify` and `souk ledger export`.

use crate::compose::{Failure, existing_database};
use crate::config::Common;
use souk_adapters::beancount;
use souk_adapters::verify::{Check, verify};
use std::io::{BufWriter, Write};

/// Runs all checks and prints their results.
///
/// # Errors
/// Fails if a check found a breach.
pub async fn check(common: &Common) -> Result<(), Failure> {
    let database = existing_database(common).await?;
    let mut breaches = 0;
    let mut print = |check: Check| {
        breaches += check.breaches.len();
        println!("{check}");
    };
    verify(&database, &mut print).await?;
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
