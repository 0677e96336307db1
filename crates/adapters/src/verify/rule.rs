//! Rules that a single statement can check.

use super::check::{Check, Checks};
use souk_domain::shared::StorageError;

/// A statement that returns the `id` of each row that it finds, and the sentence to report for each.
pub(super) struct Finding {
    pub sql: &'static str,
    pub sentence: &'static str,
}

pub(super) const fn finding(sql: &'static str, sentence: &'static str) -> Finding {
    Finding { sql, sentence }
}

/// A rule about the rows of a table.
pub(super) struct Rule {
    pub title: &'static str,
    /// A statement that returns the number of checked rows as `n`.
    pub of: &'static str,
    pub broken: &'static [Finding],
    /// Rows that do not violate the rule but need attention.
    pub noted: &'static [Finding],
}

impl Checks<'_> {
    pub async fn check_rules(&mut self, rules: &'static [Rule]) -> Result<(), StorageError> {
        for Rule { title, of, broken, noted } in rules {
            let of = self.connection.query(of).one().await?.get("n")?;
            let breaches = self.find(broken).await?;
            let notes = self.find(noted).await?;
            self.report(Check { title, of, breaches, notes });
        }
        Ok(())
    }

    async fn find(&mut self, findings: &'static [Finding]) -> Result<Vec<String>, StorageError> {
        let mut found = Vec::new();
        for Finding { sql, sentence } in findings {
            for row in self.connection.query(sql).all().await? {
                found.push(format!("{} {sentence}", row.get::<String>("id")?));
            }
        }
        Ok(found)
    }
}
