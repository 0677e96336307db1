//! The double-entry journal: entries that sum to zero (invariant 5).

use crate::shared::{Amount, AmountError, CurrencyId, EntryId, Mode, StorageError, Timestamp};
use async_trait::async_trait;
use std::collections::BTreeMap;

/// What money is booked on.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Account {
    /// What the store holds at a network, by method id.
    Network(String),
    /// What was earned by sales.
    Sales,
}

impl Account {
    /// `assets:network:{method}` or `income:sales`: what an accounting tool would call it.
    #[must_use]
    pub fn name(&self) -> String {
        match self {
            Self::Network(method) => format!("assets:network:{method}"),
            Self::Sales => "income:sales".to_owned(),
        }
    }

    #[must_use]
    pub fn from_name(name: &str) -> Option<Self> {
        match name.strip_prefix("assets:network:") {
            Some(method) => Some(Self::Network(method.to_owned())),
            None => (name == "income:sales").then_some(Self::Sales),
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Side {
    Debit,
    Credit,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Posting {
    pub account: Account,
    /// Amounts have no sign; the side carries it.
    pub side: Side,
    pub amount: Amount,
    pub currency_id: CurrencyId,
}

/// Made by [`Entry::new`] only, so that every entry balances.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Entry {
    pub id: EntryId,
    pub mode: Mode,
    /// What the entry is about: an attempt's id. One entry for each subject and reason.
    pub subject: String,
    pub reason: Reason,
    pub booked_at: Timestamp,
    postings: Vec<Posting>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Reason {
    Payment,
}

impl Reason {
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Payment => "payment",
        }
    }

    #[must_use]
    pub fn from_name(name: &str) -> Option<Self> {
        (name == "payment").then_some(Self::Payment)
    }
}

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum LedgerError {
    #[error("debits and credits of {0} differ")]
    Unbalanced(CurrencyId),
    #[error("an entry has at least two postings")]
    TooShort,
    #[error(transparent)]
    Amount(#[from] AmountError),
}

impl Entry {
    pub fn new(
        id: EntryId,
        mode: Mode,
        reason: Reason,
        subject: impl Into<String>,
        booked_at: Timestamp,
        postings: Vec<Posting>,
    ) -> Result<Self, LedgerError> {
        check_balance(&postings)?;
        Ok(Self { id, mode, subject: subject.into(), reason, booked_at, postings })
    }

    #[must_use]
    pub fn postings(&self) -> &[Posting] {
        &self.postings
    }
}

/// Debits equal credits in each currency.
pub fn check_balance(postings: &[Posting]) -> Result<(), LedgerError> {
    if postings.len() < 2 {
        return Err(LedgerError::TooShort);
    }
    let mut sums: BTreeMap<&CurrencyId, (Amount, Amount)> = BTreeMap::new();
    for posting in postings {
        let (debit, credit) = sums.entry(&posting.currency_id).or_default();
        match posting.side {
            Side::Debit => *debit = debit.plus(posting.amount)?,
            Side::Credit => *credit = credit.plus(posting.amount)?,
        }
    }
    match sums.into_iter().find(|(_, (debit, credit))| debit != credit) {
        Some((currency, _)) => Err(LedgerError::Unbalanced(currency.clone())),
        None => Ok(()),
    }
}

#[async_trait]
pub trait Journal: Send {
    /// A second entry for the same subject and reason is [`StorageError::Duplicate`].
    async fn book(&mut self, entry: &Entry) -> Result<(), StorageError>;
    /// Entries of a subject.
    async fn of_subject(&mut self, subject: &str) -> Result<Vec<Entry>, StorageError>;
}

#[cfg(test)]
mod tests {
    use super::*;

    fn posting(side: Side, amount: u128, currency: &str) -> Posting {
        Posting { account: Account::Sales, side, amount: Amount::new(amount), currency_id: CurrencyId::parse(currency).expect("id") }
    }

    #[test]
    fn an_entry_balances_in_each_currency() {
        assert_eq!(check_balance(&[posting(Side::Debit, 5, "pc_a"), posting(Side::Credit, 5, "pc_a")]), Ok(()));
        let mixed = [posting(Side::Debit, 5, "pc_a"), posting(Side::Credit, 5, "pc_b")];
        assert!(matches!(check_balance(&mixed), Err(LedgerError::Unbalanced(_))));
        assert_eq!(check_balance(&[posting(Side::Debit, 0, "pc_a")]), Err(LedgerError::TooShort));
        let huge = [posting(Side::Debit, u128::MAX, "pc_a"), posting(Side::Debit, 1, "pc_a")];
        assert_eq!(check_balance(&huge), Err(LedgerError::Amount(AmountError::Overflow)));
    }

    #[test]
    fn account_names_read_back() {
        for account in [Account::Sales, Account::Network("pm_1".into())] {
            assert_eq!(Account::from_name(&account.name()), Some(account));
        }
    }
}
