//! The result of a check, and how rows are read without holding all of them.

use crate::persistence::{Connection, Row};
use souk_domain::shared::StorageError;
use std::fmt;

/// Rows, or parents with all their rows, that are held at once.
const PAGE: u32 = 1_000;
/// Breaches, and notes, that are printed of a check; the figures count all of them.
const SHOWN: usize = 1_000;

/// One rule that must hold.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Check {
    pub title: &'static str,
    /// How many rows were checked.
    pub of: u64,
    /// What breaks the rule, one sentence each.
    pub breaches: Vec<String>,
    /// What does not break it, and somebody should look at nevertheless.
    pub notes: Vec<String>,
}

impl Check {
    /// Nothing was checked yet.
    #[must_use]
    pub const fn of(title: &'static str) -> Self {
        Self { title, of: 0, breaches: Vec::new(), notes: Vec::new() }
    }
}

impl fmt::Display for Check {
    /// One line, and one for each breach and each note of it.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { title, of, breaches, notes } = self;
        match breaches.len() {
            0 => write!(f, "holds     {title} ({of})")?,
            broken => write!(f, "BROKEN {broken}  {title} ({of})")?,
        }
        breaches.iter().take(SHOWN).try_for_each(|breach| write!(f, "\n    {breach}"))?;
        notes.iter().take(SHOWN).try_for_each(|note| write!(f, "\n    note: {note}"))?;
        match breaches.len().saturating_sub(SHOWN) + notes.len().saturating_sub(SHOWN) {
            0 => Ok(()),
            more => write!(f, "\n    and {more} more"),
        }
    }
}

/// A database in one state, and who receives the results.
pub(super) struct Checks<'a> {
    pub connection: Connection,
    pub receiver: &'a mut (dyn FnMut(Check) + Send),
}

impl Checks<'_> {
    pub fn report(&mut self, check: Check) {
        (self.receiver)(check);
    }

    /// Reads all rows of a statement in the order of a text column: `$1` is the last one seen, `$2` the most of one page. A statement
    /// that joins rows to a page of parents gives them in the order of the parents.
    pub async fn walk(
        &mut self,
        sql: &'static str,
        key: &'static str,
        mut each: impl FnMut(&Row) -> Result<(), StorageError> + Send,
    ) -> Result<(), StorageError> {
        self.walk_pages(sql, key, |rows| rows.iter().try_for_each(&mut each)).await
    }

    /// As [`Checks::walk`], for a statement that joins rows to a page of parents: all rows of one parent at once, with its key.
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
