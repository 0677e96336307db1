//! `souk verify`, and `souk ledger export`.

use crate::compose::{Failure, existing_database};
use crate::config::Common;
use souk_adapters::beancount;
use souk_adapters::persistence::Database;
use souk_adapters::verify::{Check, verify};
use std::io::{BufWriter, Write};

/// What a check prints of its breaches and notes; the figures count all of them.
const SHOWN: usize = 1_000;

/// Prints what holds and what does not.
pub async fn check(common: &Common) -> Result<(), Failure> {
    let database = existing_database(common).await?;
    match checked(&database, &mut |check| println!("{}", text(&check))).await? {
        0 => Ok(()),
        1 => Err("there is 1 breach".into()),
        breaches => Err(format!("there are {breaches} breaches").into()),
    }
}

/// Counts the breaches of a whole database, and tells each check.
pub async fn checked(database: &Database, tell: &mut (dyn FnMut(Check) + Send)) -> Result<usize, Failure> {
    let mut breaches = 0;
    let mut count = |check: Check| {
        breaches += check.breaches.len();
        tell(check);
    };
    verify(database, &mut count).await?;
    Ok(breaches)
}

/// One line of a check, and one for each breach and each note of it.
pub fn text(check: &Check) -> String {
    let Check { title, of, breaches, notes } = check;
    let verdict = if breaches.is_empty() { "holds   ".to_owned() } else { format!("BROKEN {}", breaches.len()) };
    let mut lines = vec![format!("{verdict}  {title} ({of})")];
    lines.extend(breaches.iter().take(SHOWN).map(|breach| format!("    {breach}")));
    lines.extend(notes.iter().take(SHOWN).map(|note| format!("    note: {note}")));
    let left = breaches.len().saturating_sub(SHOWN) + notes.len().saturating_sub(SHOWN);
    if left > 0 {
        lines.push(format!("    and {left} more"));
    }
    lines.join("\n")
}

/// Prints the journal for beancount.
pub async fn export(common: &Common) -> Result<(), Failure> {
    let database = existing_database(common).await?;
    let mut out = BufWriter::new(std::io::stdout());
    beancount::export(&database, &mut out).await?;
    out.flush()?;
    Ok(())
}
