//! Sums that may be negative, and rules about them.

use super::check::{Check, Checks};
use souk_domain::shared::{Amount, StorageError};
use std::fmt;

/// A signed sum, kept as two parts because amounts are unsigned.
#[derive(Debug, Default, Clone, Copy)]
pub(super) struct Sum {
    pub added: Amount,
    pub subtracted: Amount,
}

impl Sum {
    pub fn add(&mut self, amount: Amount) -> Result<(), StorageError> {
        self.added = plus(self.added, amount)?;
        Ok(())
    }

    pub fn subtract(&mut self, amount: Amount) -> Result<(), StorageError> {
        self.subtracted = plus(self.subtracted, amount)?;
        Ok(())
    }

    pub fn equals(&self, other: &Self) -> Result<bool, StorageError> {
        Ok(plus(self.added, other.subtracted)? == plus(other.added, self.subtracted)?)
    }

    pub fn is(&self, amount: Amount) -> Result<bool, StorageError> {
        self.equals(&Self { added: amount, subtracted: Amount::ZERO })
    }

    pub fn is_at_most(&self, amount: Amount) -> Result<bool, StorageError> {
        Ok(self.added <= plus(amount, self.subtracted)?)
    }

    pub fn is_at_least(&self, amount: Amount) -> Result<bool, StorageError> {
        Ok(self.added >= plus(amount, self.subtracted)?)
    }
}

impl fmt::Display for Sum {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (self.added.minus(self.subtracted), self.subtracted.minus(self.added)) {
            (Ok(sum), _) => write!(f, "{sum}"),
            (_, Ok(sum)) => write!(f, "-{sum}"),
            _ => write!(f, "{} - {}", self.added, self.subtracted),
        }
    }
}

fn plus(sum: Amount, amount: Amount) -> Result<Amount, StorageError> {
    sum.plus(amount).map_err(|error| StorageError::Driver(Box::new(error)))
}

/// How a parent's amount relates to the sum of its rows.
#[derive(Clone, Copy)]
pub(super) enum Relation {
    Equal,
    /// The rows sum to at most the parent's amount.
    AtMost,
}

/// A rule about an amount of a parent and the sum of its rows. The sum is computed in Rust because SQLite stores amounts as text.
pub(super) struct SumRule {
    pub title: &'static str,
    /// A statement that returns `id` and `amount` of each parent of a page, and for each of its rows `added` and `subtracted`, either of
    /// which may be NULL.
    pub rows: &'static str,
    pub relation: Relation,
    /// The names of the parent's amount and of its rows in the sentence of a breach.
    pub amount: &'static str,
    pub parts: &'static str,
}

impl Checks<'_> {
    pub async fn check_sums(&mut self, rules: &'static [SumRule]) -> Result<(), StorageError> {
        for rule in rules {
            let mut check = Check::of(rule.title);
            self.walk_parents(rule.rows, "id", |id, rows| {
                check.of += 1;
                let (amount, mut sum) = (rows[0].get::<Amount>("amount")?, Sum::default());
                for row in rows {
                    sum.add(row.get::<Option<Amount>>("added")?.unwrap_or_default())?;
                    sum.subtract(row.get::<Option<Amount>>("subtracted")?.unwrap_or_default())?;
                }
                let holds = match rule.relation {
                    Relation::Equal => sum.is(amount)?,
                    Relation::AtMost => sum.is_at_most(amount)?,
                };
                if !holds {
                    check.breaches.push(format!("{id}: {} is {amount}, {} sum to {sum}", rule.amount, rule.parts));
                }
                Ok(())
            })
            .await?;
            self.report(check);
        }
        Ok(())
    }
}
