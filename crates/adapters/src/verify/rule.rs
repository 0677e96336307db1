//! Rules that a statement can count by itself.

use super::check::{Check, Checks};
use souk_domain::shared::StorageError;

/// A rule about the rows of a table.
pub(super) struct Rule {
    pub title: &'static str,
    /// How many are looked at, as `n`.
    pub of: &'static str,
    /// Statements that give what breaks it, as `id`, and what is wrong with those.
    pub broken: &'static [(&'static str, &'static str)],
    /// Statements that give what is to be looked at, as `id`, and why.
    pub noted: &'static [(&'static str, &'static str)],
}

impl Checks<'_> {
    pub async fn follow(&mut self, rules: &'static [Rule]) -> Result<(), StorageError> {
        for Rule { title, of, broken, noted } in rules {
            let of = self.session.query(of).one().await?.get("n")?;
            let breaches = self.found(broken).await?;
            let notes = self.found(noted).await?;
            self.told(Check { title, of, breaches, notes });
        }
        Ok(())
    }

    async fn found(&mut self, statements: &'static [(&'static str, &'static str)]) -> Result<Vec<String>, StorageError> {
        let mut found = Vec::new();
        for (sql, wrong) in statements {
            for row in self.session.query(sql).all().await? {
                found.push(format!("{} {wrong}", row.get::<String>("id")?));
            }
        }
        Ok(found)
    }
}
