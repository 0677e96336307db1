//! The result of a check, and paged reading of rows.

use crate::persistence::{Connection, Row};
use souk_domain::shared::StorageError;
use std::fmt;

/// The number of rows, or of parents with all their rows, held in memory at once.
const PAGE: u32 = 1_000;
/// The most breaches, and the most notes, that are printed per check. The totals count all of them.
const SHOWN: usize = 1_000;

/// One rule that must hold.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Check {
    pub title: &'static str,
    /// The number of rows checked.
    pub of: u64,
    /// Violations of the rule, one sentence each.
    pub breaches: Vec<String>,
    /// Rows that do not violate the rule but need attention, one sentence each.
    pub notes: Vec<String>,
}

impl Check {
    /// Creates a check of no rows yet.
    #[must_use]
    pub const fn of(title: &'static str) -> Self {
        Self { title, of: 0, breaches: Vec::new(), notes: Vec::new() }
    }
}

impl fmt::Display for Check {
    /// Writes one summary line, then one line per breach and per note.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { title, of, breaches, notes } = self;
        match breaches.len() {
            0 => write!(f, "ok        {title} ({of})")?,
            failed => write!(f, "FAILED {failed}  {title} ({of})")?,
        }
        breaches.iter().take(SHOWN).try_for_each(|breach| write!(f, "\n    {breach}"))?;
        notes.iter().take(SHOWN).try_for_each(|note| write!(f, "\n    note: {note}"))?;
        match breaches.len().saturating_sub(SHOWN) + notes.len().saturating_sub(SHOWN) {
            0 => Ok(()),
            more => write!(f, "\n    and {more} more"),
        }
    }
}

/// A snapshot of the database, and the receiver of the results.
pub(super) struct Checks<'a> {
    pub connection: Connection,
    pub receiver: &'a mut (dyn FnMut(Check) + Send),
}

impl Checks<'_> {
    pub fn report(&mut self, check: Check) {
        (self.receiver)(check);
    }

    /// Reads all rows of a statement page by page, in the order of a text column. `$1` is the last value seen and `$2` the page size. A
    /// statement that joins rows to a page of parents must return them in the order of the parents.
    pub async fn walk(
        &mut self,
        sql: &'static str,
        key: &'static str,
        mut each: impl FnMut(&Row) -> Result<(), StorageError> + Send,
    ) -> Result<(), StorageError> {
        self.walk_pages(sql, key, |rows| rows.iter().try_for_each(&mut each)).await
    }

    /// Like [`Checks::walk`], for a statement that joins rows to a page of parents. Passes on all rows of one parent at once, with the
    /// parent's key.
    pub async fn walk_parents(
        &mut self,
        sql: &'static str,
        key: &'static str,
        mut each: impl FnMut(&str, &[Row]) -> Result<(), StorageError> + Send,
    ) -> Result<(), StorageError> {
        let page = |rows: &[Row]| {
            let keys = rows.iter().map(|row| row.get::<String>(key)).collect::<Result<Vec<_>, _>>()?;
            let mut rest = rows;
            for same in keys.chunk_by(|one, next| one == next) {
                let (own, others) = rest.split_at(same.len());
                each(&same[0], own)?;
                rest = others;
            }
            Ok(())
        };
        self.walk_pages(sql, key, page).await
    }

    async fn walk_pages(
        &mut self,
        sql: &'static str,
        key: &'static str,
        mut each: impl FnMut(&[Row]) -> Result<(), StorageError> + Send,
    ) -> Result<(), StorageError> {
        let mut after = String::new();
        loop {
            let rows = self.connection.query(sql).bind(&after).bind(PAGE).all().await?;
            let Some(last) = rows.last() else { return Ok(()) };
            each(&rows)?;
            after = last.get(key)?;
        }
    }
}
