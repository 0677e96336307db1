//! The double-entry journal: entries that sum to zero (invariant 5).

use crate::shared::{Amount, AmountError, CurrencyId, EntryId, MethodId, Mode, StorageError, Timestamp};
use async_trait::async_trait;
use std::collections::BTreeMap;

/// What money is booked on.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Account {
    /// What the store holds at a network, by method id.
    Network(String),
    /// What was earned by sales.
    Sales,
    /// Deposits that stand at a network, by method id.
    Staked(String),
    /// The same deposits, owed to those who made them.
    Stakes,
    /// What the store owes customers, and takes off what they buy next.
    Credits,
}

impl Account {
    /// What an accounting tool would call it: `assets:network:{method}`, `income:sales`, ...
    #[must_use]
    pub fn name(&self) -> String {
        match self {
            Self::Network(method) => format!("assets:network:{method}"),
            Self::Sales => "income:sales".to_owned(),
            Self::Staked(method) => format!("assets:staked:{method}"),
            Self::Stakes => "liabilities:stakes".to_owned(),
            Self::Credits => "liabilities:credits".to_owned(),
        }
    }

    #[must_use]
    pub fn from_name(name: &str) -> Option<Self> {
        if let Some(method) = name.strip_prefix("assets:network:") {
            return Some(Self::Network(method.to_owned()));
        }
        if let Some(method) = name.strip_prefix("assets:staked:") {
            return Some(Self::Staked(method.to_owned()));
        }
        [Self::Sales, Self::Stakes, Self::Credits].into_iter().find(|account| account.name() == name)
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
    /// What the entry is about: an attempt's id; for credit, that of an invoice or a payment intent. One entry for each subject and reason.
    pub subject: String,
    pub reason: Reason,
    pub booked_at: Timestamp,
    postings: Vec<Posting>,
}

/// Why an entry was written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Reason {
    Payment,
    Refund,
    Stake,
    ReturnStake,
    Slash,
    CreditGiven,
    /// The same, once the invoice is paid that had asked for too much.
    CreditReleased,
    CreditUsed,
    /// What had used it is taken back.
    CreditReturned,
}

impl Reason {
    pub const ALL: [Self; 9] = [
        Self::Payment,
        Self::Refund,
        Self::Stake,
        Self::ReturnStake,
        Self::Slash,
        Self::CreditGiven,
        Self::CreditReleased,
        Self::CreditUsed,
        Self::CreditReturned,
    ];

    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Payment => "payment",
            Self::Refund => "refund",
            Self::Stake => "stake",
            Self::ReturnStake => "return_stake",
            Self::Slash => "slash",
            Self::CreditGiven => "credit_given",
            Self::CreditReleased => "credit_released",
            Self::CreditUsed => "credit_used",
            Self::CreditReturned => "credit_returned",
        }
    }

    #[must_use]
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|reason| reason.name() == name)
    }

    /// The two accounts of an entry for this reason, debit first.
    #[must_use]
    pub fn accounts(self, method: &MethodId) -> (Account, Account) {
        let (network, staked) = (Account::Network(method.to_string()), Account::Staked(method.to_string()));
        match self {
            Self::Payment => (network, Account::Sales),
            Self::Refund => (Account::Sales, network),
            Self::Stake => (staked, Account::Stakes),
            Self::ReturnStake => (Account::Stakes, staked),
            // What was a deposit is the store's now, and pays what was owed.
            Self::Slash => (network, Account::Sales),
            Self::CreditGiven | Self::CreditReleased | Self::CreditReturned => (Account::Sales, Account::Credits),
            Self::CreditUsed => (Account::Credits, Account::Sales),
        }
    }
}

/// Money that moved at a method.
#[derive(Debug, Clone, Copy)]
pub struct Movement<'a> {
    pub method_id: &'a MethodId,
    pub currency_id: &'a CurrencyId,
    pub amount: Amount,
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

    /// An entry of two postings: what moved `amount`, for this reason, at this method.
    pub fn of_movement(
        id: EntryId,
        mode: Mode,
        reason: Reason,
        subject: impl Into<String>,
        booked_at: Timestamp,
        movement: &Movement<'_>,
    ) -> Result<Self, LedgerError> {
        let (debit, credit) = reason.accounts(movement.method_id);
        let posting = |account, side| Posting { account, side, amount: movement.amount, currency_id: movement.currency_id.clone() };
        let mut postings = vec![posting(debit, Side::Debit), posting(credit, Side::Credit)];
        if reason == Reason::Slash {
            postings.push(posting(Account::Stakes, Side::Debit));
            postings.push(posting(Account::Staked(movement.method_id.to_string()), Side::Credit));
        }
        Self::new(id, mode, reason, subject, booked_at, postings)
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
    /// A second entry for the same subject and reason is [`StorageError::Duplicate`], at the latest when the unit of work commits.
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
        for account in [Account::Sales, Account::Stakes, Account::Network("pm_1".into()), Account::Staked("pm_1".into())] {
            assert_eq!(Account::from_name(&account.name()), Some(account));
        }
    }
}
