//! The double-entry journal: entries that sum to zero (invariant 5). Accounts and entries are those of the billing model, section 4.

use crate::shared::{Amount, AmountError, CurrencyId, EntryId, MethodId, Mode, StorageError, Timestamp};
use async_trait::async_trait;
use std::collections::BTreeMap;

/// An account of the journal.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Account {
    /// The store's funds at a network, by method id.
    Cash(String),
    /// Unpaid amounts of finalized invoices.
    Receivable,
    /// Stakes that a network holds, by method id.
    StakesHeld(String),
    /// Funds that a card network has withdrawn for undecided disputes.
    Disputes,
    /// The liability for stakes, owed to their payers.
    StakesPayable,
    /// The customers' balances, which pay their next invoices.
    CustomerBalance,
    /// Refunds and payouts that are not sent yet.
    RefundsPayable,
    /// The shares of sales that are owed to a beneficiary, by DID. A debit balance is what they owe: sales were refunded after a payout.
    Payable(String),
    /// Settled amounts that differ from the requested ones, until they are resolved.
    Suspense,
    Revenue,
    /// Fees of networks.
    Fees,
}

impl Account {
    #[must_use]
    pub fn cash(method: &MethodId) -> Self {
        Self::Cash(method.to_string())
    }

    #[must_use]
    pub fn stakes_held(method: &MethodId) -> Self {
        Self::StakesHeld(method.to_string())
    }

    /// `beneficiary`: a DID.
    #[must_use]
    pub fn payable(beneficiary: &str) -> Self {
        Self::Payable(beneficiary.to_owned())
    }

    /// The name in the notation of accounting tools: `assets:cash:{method}`, `income:revenue`.
    #[must_use]
    pub fn name(&self) -> String {
        match self {
            Self::Cash(method) => format!("assets:cash:{method}"),
            Self::Receivable => "assets:receivable".to_owned(),
            Self::StakesHeld(method) => format!("assets:stakes_held:{method}"),
            Self::Disputes => "assets:disputes".to_owned(),
            Self::StakesPayable => "liabilities:stakes_payable".to_owned(),
            Self::CustomerBalance => "liabilities:customer_balance".to_owned(),
            Self::RefundsPayable => "liabilities:refunds_payable".to_owned(),
            Self::Payable(beneficiary) => format!("liabilities:payable:{beneficiary}"),
            Self::Suspense => "liabilities:suspense".to_owned(),
            Self::Revenue => "income:revenue".to_owned(),
            Self::Fees => "expenses:fees".to_owned(),
        }
    }

    #[must_use]
    pub fn from_name(name: &str) -> Option<Self> {
        if let Some(method) = name.strip_prefix("assets:cash:") {
            return Some(Self::Cash(method.to_owned()));
        }
        if let Some(method) = name.strip_prefix("assets:stakes_held:") {
            return Some(Self::StakesHeld(method.to_owned()));
        }
        if let Some(beneficiary) = name.strip_prefix("liabilities:payable:") {
            return Some(Self::Payable(beneficiary.to_owned()));
        }
        let fixed = [
            Self::Receivable,
            Self::Disputes,
            Self::StakesPayable,
            Self::CustomerBalance,
            Self::RefundsPayable,
            Self::Suspense,
            Self::Revenue,
            Self::Fees,
        ];
        fixed.into_iter().find(|account| account.name() == name)
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
    /// Debit or credit; amounts have no sign.
    pub side: Side,
    pub amount: Amount,
    pub currency_id: CurrencyId,
}

impl Posting {
    #[must_use]
    pub fn debit(account: Account, amount: Amount, currency: &CurrencyId) -> Self {
        Self { account, side: Side::Debit, amount, currency_id: currency.clone() }
    }

    #[must_use]
    pub fn credit(account: Account, amount: Amount, currency: &CurrencyId) -> Self {
        Self { account, side: Side::Credit, amount, currency_id: currency.clone() }
    }
}

/// A journal entry. Only [`Entry::new`] creates one, so that every entry balances.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Entry {
    pub id: EntryId,
    pub mode: Mode,
    /// The id of the object concerned: an invoice, an attempt, a credit note, a refund, a dispute. There is one entry for each subject and
    /// type.
    pub subject: String,
    pub kind: EntryType,
    pub posted_at: Timestamp,
    postings: Vec<Posting>,
}

/// The change that an entry records.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum EntryType {
    /// An invoice became payable. Subject: the invoice.
    InvoiceFinalized,
    /// A network settled a payment. Subject: the attempt.
    Payment,
    /// The customer's balance paid a part of an invoice. Subject: the balance transaction.
    BalanceApplied,
    /// An invoice was voided and its balance payment returned. Subject: the balance transaction.
    BalanceUnapplied,
    /// A payment into a stake. Subject of this type, `StakeReturned` and `StakeForfeited`: the attempt.
    StakePlaced,
    StakeReturned,
    /// A payer claimed a revoked stake back at the network. Subject: the stake and the total returned so far.
    StakeClaimed,
    StakeForfeited,
    /// Subject: the credit note.
    CreditNote,
    /// A refund or a payout was sent. Subject: the attempt, or the refund if it was made in the provider's dashboard.
    RefundSent,
    /// A sent refund failed later. Subject: the refund and its number of failures; for a refund made in the provider's dashboard, the
    /// provider's refund.
    RefundFailed,
    /// A failed refund was moved to the balance. Subject: the refund.
    RefundMovedToBalance,
    /// A payout of the balance was ordered. Subject: the refund.
    BalancePayout,
    /// A declined payout returned to the balance. Subject: the refund.
    BalancePayoutRestored,
    /// Subject of this and the next two: the dispute and the number of its movement.
    DisputeWithdrawn,
    DisputeReinstated,
    DisputeLost,
    /// A fee of the network. Subject: the dispute and the number of its movement.
    NetworkFee,
    /// A payment was reversed after it had settled. Subject: the attempt.
    PaymentReversed,
    /// A network moved an amount that differs from the requested one: the money of a payment on hold, or what a forfeit brought beyond the
    /// recorded deposit. Subject: the attempt.
    SuspenseReceived,
    /// Subject: the attempt.
    SuspenseResolved,
    /// The part of a dashboard refund that exceeds the invoice lines, or what a network sent beyond a refund or payout. Subject: the
    /// network's reference.
    DashboardRefund,
    /// What an invoice has brought was distributed to beneficiaries, or taken back from them. Subject: the invoice and the number of its
    /// booking.
    SaleShares,
    /// A payout to a beneficiary was recorded. Subject: the payout.
    SharePayout,
    /// A recorded payout to a beneficiary was taken back. Subject: the reversal.
    SharePayoutReversed,
}

impl EntryType {
    pub const ALL: [Self; 25] = [
        Self::InvoiceFinalized,
        Self::Payment,
        Self::BalanceApplied,
        Self::BalanceUnapplied,
        Self::StakePlaced,
        Self::StakeReturned,
        Self::StakeClaimed,
        Self::StakeForfeited,
        Self::CreditNote,
        Self::RefundSent,
        Self::RefundFailed,
        Self::RefundMovedToBalance,
        Self::BalancePayout,
        Self::BalancePayoutRestored,
        Self::DisputeWithdrawn,
        Self::DisputeReinstated,
        Self::DisputeLost,
        Self::NetworkFee,
        Self::PaymentReversed,
        Self::SuspenseReceived,
        Self::SuspenseResolved,
        Self::DashboardRefund,
        Self::SaleShares,
        Self::SharePayout,
        Self::SharePayoutReversed,
    ];

    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::InvoiceFinalized => "invoice_finalized",
            Self::Payment => "payment",
            Self::BalanceApplied => "balance_applied",
            Self::BalanceUnapplied => "balance_unapplied",
            Self::StakePlaced => "stake_placed",
            Self::StakeReturned => "stake_returned",
            Self::StakeClaimed => "stake_claimed",
            Self::StakeForfeited => "stake_forfeited",
            Self::CreditNote => "credit_note",
            Self::RefundSent => "refund_sent",
            Self::RefundFailed => "refund_failed",
            Self::RefundMovedToBalance => "refund_moved_to_balance",
            Self::BalancePayout => "balance_payout",
            Self::BalancePayoutRestored => "balance_payout_restored",
            Self::DisputeWithdrawn => "dispute_withdrawn",
            Self::DisputeReinstated => "dispute_reinstated",
            Self::DisputeLost => "dispute_lost",
            Self::NetworkFee => "network_fee",
            Self::PaymentReversed => "payment_reversed",
            Self::SuspenseReceived => "suspense_received",
            Self::SuspenseResolved => "suspense_resolved",
            Self::DashboardRefund => "dashboard_refund",
            Self::SaleShares => "sale_shares",
            Self::SharePayout => "share_payout",
            Self::SharePayoutReversed => "share_payout_reversed",
        }
    }

    #[must_use]
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| kind.name() == name)
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
    /// Creates an entry. Omits postings of zero.
    ///
    /// # Errors
    /// [`LedgerError::Unbalanced`] when debits and credits of a currency differ, [`LedgerError::TooShort`] when fewer than two postings
    /// remain.
    pub fn new(
        id: EntryId,
        mode: Mode,
        kind: EntryType,
        subject: impl Into<String>,
        posted_at: Timestamp,
        mut postings: Vec<Posting>,
    ) -> Result<Self, LedgerError> {
        postings.retain(|posting| !posting.amount.is_zero());
        check_balance(&postings)?;
        Ok(Self { id, mode, subject: subject.into(), kind, posted_at, postings })
    }

    #[must_use]
    pub fn postings(&self) -> &[Posting] {
        &self.postings
    }
}

/// Checks that debits equal credits in each currency.
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
    /// Posts an entry. [`StorageError::Duplicate`], at the latest on commit, when the subject has an entry of this type already.
    async fn post(&mut self, entry: &Entry) -> Result<(), StorageError> {
        self.post_all(std::slice::from_ref(entry)).await
    }
    /// As [`Journal::post`], for several entries.
    async fn post_all(&mut self, entries: &[Entry]) -> Result<(), StorageError>;
    /// The entries of a subject.
    async fn of_subject(&mut self, subject: &str) -> Result<Vec<Entry>, StorageError>;
}

#[cfg(test)]
mod tests {
    use super::*;

    fn currency(id: &str) -> CurrencyId {
        CurrencyId::parse(id).expect("an id")
    }

    fn debit(amount: u128, of: &str) -> Posting {
        Posting::debit(Account::Receivable, Amount::new(amount), &currency(of))
    }

    fn credit(amount: u128, of: &str) -> Posting {
        Posting::credit(Account::Revenue, Amount::new(amount), &currency(of))
    }

    #[test]
    fn an_entry_balances_in_each_currency() {
        assert_eq!(check_balance(&[debit(5, "pc_a"), credit(5, "pc_a")]), Ok(()));
        assert!(matches!(check_balance(&[debit(5, "pc_a"), credit(5, "pc_b")]), Err(LedgerError::Unbalanced(_))));
        assert_eq!(check_balance(&[debit(0, "pc_a")]), Err(LedgerError::TooShort));
        let huge = [debit(u128::MAX, "pc_a"), debit(1, "pc_a")];
        assert_eq!(check_balance(&huge), Err(LedgerError::Amount(AmountError::Overflow)));
    }

    #[test]
    fn postings_of_zero_are_omitted() {
        let id = EntryId::parse("je_1").expect("an id");
        let postings = vec![debit(5, "pc_a"), credit(5, "pc_a"), credit(0, "pc_b")];
        let entry = Entry::new(id, Mode::Test, EntryType::Payment, "att_1", Timestamp::from_seconds(0), postings).expect("balances");
        assert_eq!(entry.postings().len(), 2);
    }

    #[test]
    fn account_names_and_entry_types_round_trip() {
        let accounts = [
            Account::Cash("pm_1".into()),
            Account::StakesHeld("pm_1".into()),
            Account::Receivable,
            Account::Disputes,
            Account::StakesPayable,
            Account::CustomerBalance,
            Account::RefundsPayable,
            Account::Payable("z1abc".into()),
            Account::Suspense,
            Account::Revenue,
            Account::Fees,
        ];
        for account in accounts {
            assert_eq!(Account::from_name(&account.name()), Some(account));
        }
        for kind in EntryType::ALL {
            assert_eq!(EntryType::from_name(kind.name()), Some(kind));
        }
    }
}
