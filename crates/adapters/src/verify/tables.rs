//! Computes positions and account balances from the tables, to compare them with the journal and with each other.

use super::check::Checks;
use super::sum::Sum;
use crate::persistence::Row;
use souk_domain::ledger::{Account, Side};
use souk_domain::payment::{RefundStatus, RefundType};
use souk_domain::shared::{Amount, CurrencyId, CustomerId, StorageError};
use std::collections::BTreeMap;

const ATTEMPTS: &str = "SELECT a.id, a.purpose, a.method_id, a.currency_id, a.amount, p.customer_id
    FROM (SELECT * FROM attempts WHERE id > $1 AND status = 'settled' ORDER BY id LIMIT $2) a
    LEFT JOIN payment_intents p ON a.purpose = 'payment' AND p.id = a.subject ORDER BY a.id";
const INVOICES: &str = "SELECT i.id, i.customer_id, i.currency_id, i.status, i.total, i.amount_paid, i.amount_credited, l.credited
    FROM (SELECT * FROM invoices WHERE id > $1 AND number IS NOT NULL AND document = 'invoice' ORDER BY id LIMIT $2) i
    LEFT JOIN invoice_items l ON l.invoice_id = i.id ORDER BY i.id";
// A forfeited stake counts as received to the extent that it pays invoices. A disputed amount is withdrawn but not decided.
const PAYMENTS: &str = "SELECT p.id, p.source, p.amount, p.disputed, i.customer_id, i.currency_id
    FROM (SELECT * FROM invoice_payments WHERE id > $1 AND (source = 'stake' OR LTRIM(CAST(disputed AS TEXT), '0') <> '')
          ORDER BY id LIMIT $2) p
    JOIN invoices i ON i.id = p.invoice_id ORDER BY p.id";
const STAKE_OVERPAYMENTS: &str = "SELECT t.id, t.amount, t.customer_id, t.currency_id
    FROM balance_transactions t JOIN attempts a ON a.id = t.source AND a.purpose = 'slash'
    WHERE t.id > $1 AND t.type = 'overpayment' ORDER BY t.id LIMIT $2";
const STAKES: &str = "SELECT id, method_id, currency_id, amount, amount_forfeited, amount_returned FROM stakes
    WHERE id > $1 ORDER BY id LIMIT $2";
const BALANCES: &str = "SELECT customer_id || ' ' || currency_id AS id, customer_id, currency_id, amount FROM customer_balances
    WHERE customer_id || ' ' || currency_id > $1 ORDER BY customer_id || ' ' || currency_id LIMIT $2";
const REFUNDS: &str = "SELECT id, kind, status, method_id, currency_id, customer_id, amount FROM refunds
    WHERE id > $1 AND kind NOT IN ('stake_return', 'dashboard_refund') ORDER BY id LIMIT $2";
const DISPUTES: &str = "SELECT id, method_id, currency_id, customer_id, amount, fee, fee_currency_id, funds_withdrawn
    FROM disputes WHERE id > $1 ORDER BY id LIMIT $2";
const SALE_SHARES: &str = "SELECT page.id, s.beneficiary, s.currency_id, s.amount
    FROM (SELECT DISTINCT invoice_item_id AS id FROM sale_shares WHERE invoice_item_id > $1 ORDER BY invoice_item_id LIMIT $2) page
    JOIN sale_shares s ON s.invoice_item_id = page.id ORDER BY page.id";
const SHARE_PAYOUTS: &str = "SELECT id, beneficiary, currency_id, method_id, amount, reverses FROM share_payouts WHERE id > $1
    ORDER BY id LIMIT $2";
// Amounts that no table holds: amounts in suspense, and cash that moved without a settled attempt.
const UNUSUAL: &str = "SELECT e.id, e.type, p.account, p.side, p.amount, p.currency_id,
        COALESCE(i.customer_id, r.customer_id, d.customer_id) AS customer_id
    FROM (SELECT * FROM journal_entries j WHERE id > $1 AND (type IN ('payment_reversed', 'suspense_received', 'dashboard_refund')
              OR EXISTS (SELECT 1 FROM journal_postings s WHERE s.entry_id = j.id AND s.account = 'liabilities:suspense'))
          ORDER BY id LIMIT $2) e
    JOIN journal_postings p ON p.entry_id = e.id
    LEFT JOIN attempts a ON a.id = e.subject
    LEFT JOIN payment_intents i ON a.purpose = 'payment' AND i.id = a.subject
    LEFT JOIN refunds r ON r.id = e.subject
    LEFT JOIN disputes d ON e.type IN ('dispute_withdrawn', 'dispute_reinstated', 'dispute_lost')
        AND d.id = RTRIM(RTRIM(e.subject, '0123456789'), '/')
    ORDER BY e.id, p.position";

/// Debits less credits, by account and currency.
pub(super) type Accounts = BTreeMap<(Account, CurrencyId), Sum>;

/// The two sides of the oracle for one customer and currency (the billing model, section 4).
#[derive(Default, Clone, Copy)]
pub(super) struct Position {
    /// Money received over networks and from forfeited stakes, less refunds over networks and withdrawals by disputes.
    pub received: Sum,
    /// Amounts kept by invoices, the balance, refunds on their way and amounts in suspense, less undecided disputes.
    pub accounted: Sum,
}

#[derive(Default)]
pub(super) struct Tables {
    pub accounts: Accounts,
    pub positions: BTreeMap<PositionOwner, Position>,
}

/// The customer and currency of a position.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct PositionOwner {
    pub customer_id: CustomerId,
    pub currency_id: CurrencyId,
}

/// Returns the owner of a row's position.
fn owner(row: &Row) -> Result<PositionOwner, StorageError> {
    Ok(PositionOwner { customer_id: row.get("customer_id")?, currency_id: row.get("currency_id")? })
}

impl Tables {
    pub async fn read(checks: &mut Checks<'_>) -> Result<Self, StorageError> {
        let mut tables = Self::default();
        checks.walk(ATTEMPTS, "id", |row| tables.attempt(row)).await?;
        checks.walk_parents(INVOICES, "id", |_, rows| tables.invoice(rows)).await?;
        checks.walk(PAYMENTS, "id", |row| tables.payment(row)).await?;
        checks.walk(STAKE_OVERPAYMENTS, "id", |row| tables.used_stake(row)).await?;
        checks.walk(STAKES, "id", |row| tables.stake(row)).await?;
        checks.walk(BALANCES, "id", |row| tables.balance(row)).await?;
        checks.walk(REFUNDS, "id", |row| tables.refund(row)).await?;
        checks.walk(DISPUTES, "id", |row| tables.dispute(row)).await?;
        checks.walk_parents(SALE_SHARES, "id", |_, rows| rows.iter().try_for_each(|row| tables.sale_share(row))).await?;
        checks.walk(SHARE_PAYOUTS, "id", |row| tables.share_payout(row)).await?;
        checks.walk(UNUSUAL, "id", |row| tables.unusual(row)).await?;
        Ok(tables)
    }

    fn account(&mut self, account: Account, currency: &CurrencyId) -> &mut Sum {
        self.accounts.entry((account, currency.clone())).or_default()
    }

    fn position(&mut self, owner: PositionOwner) -> &mut Position {
        self.positions.entry(owner).or_default()
    }

    fn attempt(&mut self, row: &Row) -> Result<(), StorageError> {
        let (method, currency, amount): (String, CurrencyId, Amount) = (row.get("method_id")?, row.get("currency_id")?, row.get("amount")?);
        let cash = Account::Cash(method);
        match row.get::<String>("purpose")?.as_str() {
            "payment" => {
                self.account(cash, &currency).add(amount)?;
                self.position(owner(row)?).received.add(amount)
            }
            "slash" => {
                self.account(cash, &currency).add(amount)?;
                // The part that paid an invoice or was credited to the balance is not revenue of its own: see `used_stake`.
                self.account(Account::Revenue, &currency).subtract(amount)
            }
            // Refunds are counted by their status instead, because a refund that failed later has a settled attempt.
            _ => Ok(()),
        }
    }

    /// Adds the amount of a stake that its network still holds.
    fn stake(&mut self, row: &Row) -> Result<(), StorageError> {
        let (method, currency): (String, CurrencyId) = (row.get("method_id")?, row.get("currency_id")?);
        let (amount, forfeited, returned): (Amount, Amount, Amount) =
            (row.get("amount")?, row.get("amount_forfeited")?, row.get("amount_returned")?);
        let held = self.account(Account::StakesHeld(method), &currency);
        held.add(amount)?;
        held.subtract(forfeited)?;
        held.subtract(returned)?;
        let payable = self.account(Account::StakesPayable, &currency);
        payable.subtract(amount)?;
        payable.add(forfeited)?;
        payable.add(returned)
    }

    fn payment(&mut self, row: &Row) -> Result<(), StorageError> {
        let (owner, disputed) = (owner(row)?, row.get("disputed")?);
        self.account(Account::Disputes, &owner.currency_id).add(disputed)?;
        self.position(owner).accounted.subtract(disputed)?;
        if row.get::<String>("source")? == "stake" { self.used_stake(row) } else { Ok(()) }
    }

    /// Adds the part of a forfeited stake that paid an invoice or was credited to the balance.
    fn used_stake(&mut self, row: &Row) -> Result<(), StorageError> {
        let (owner, amount) = (owner(row)?, row.get("amount")?);
        self.account(Account::Revenue, &owner.currency_id).add(amount)?;
        self.position(owner).received.add(amount)
    }

    /// Adds an invoice, from one row per line.
    fn invoice(&mut self, lines: &[Row]) -> Result<(), StorageError> {
        let (row, owner) = (&lines[0], owner(&lines[0])?);
        let (total, paid, reduced): (Amount, Amount, Amount) = (row.get("total")?, row.get("amount_paid")?, row.get("amount_credited")?);
        self.account(Account::Revenue, &owner.currency_id).subtract(total)?;
        let receivable = self.account(Account::Receivable, &owner.currency_id);
        receivable.add(total)?;
        receivable.subtract(paid)?;
        receivable.subtract(reduced)?;
        // The total less the remaining amount equals the amount paid plus the credit that reduced the amount due.
        let accounted = &mut self.position(owner.clone()).accounted;
        accounted.add(paid)?;
        accounted.add(reduced)?;
        for line in lines {
            let credited = line.get::<Option<Amount>>("credited")?.unwrap_or_default();
            self.account(Account::Revenue, &owner.currency_id).add(credited)?;
            self.position(owner.clone()).accounted.subtract(credited)?;
        }
        Ok(())
    }

    fn balance(&mut self, row: &Row) -> Result<(), StorageError> {
        let (owner, amount) = (owner(row)?, row.get("amount")?);
        self.account(Account::CustomerBalance, &owner.currency_id).subtract(amount)?;
        self.position(owner).accounted.add(amount)
    }

    fn refund(&mut self, row: &Row) -> Result<(), StorageError> {
        let (owner, amount, kind): (_, Amount, RefundType) = (owner(row)?, row.get("amount")?, row.get("kind")?);
        match row.get::<RefundStatus>("status")? {
            RefundStatus::Succeeded => {
                let cash = Account::Cash(row.get("method_id")?);
                self.account(cash, &owner.currency_id).subtract(amount)?;
                self.position(owner).received.subtract(amount)
            }
            // A failed payout is returned to the balance.
            RefundStatus::Failed if kind == RefundType::BalancePayout => Ok(()),
            RefundStatus::Pending | RefundStatus::Failed => {
                self.account(Account::RefundsPayable, &owner.currency_id).subtract(amount)?;
                self.position(owner).accounted.add(amount)
            }
            RefundStatus::Canceled => Ok(()),
        }
    }

    fn dispute(&mut self, row: &Row) -> Result<(), StorageError> {
        let (method, owner, amount): (String, _, _) = (row.get("method_id")?, owner(row)?, row.get("amount")?);
        if let Some(currency) = row.get::<Option<CurrencyId>>("fee_currency_id")? {
            let fee = row.get("fee")?;
            self.account(Account::Fees, &currency).add(fee)?;
            self.account(Account::Cash(method.clone()), &currency).subtract(fee)?;
        }
        if !row.get::<bool>("funds_withdrawn")? {
            return Ok(());
        }
        self.account(Account::Cash(method), &owner.currency_id).subtract(amount)?;
        self.position(owner).received.subtract(amount)
    }

    /// What a beneficiary gets of a sale is no revenue.
    fn sale_share(&mut self, row: &Row) -> Result<(), StorageError> {
        let (currency, amount): (CurrencyId, Amount) = (row.get("currency_id")?, row.get("amount")?);
        self.account(Account::Revenue, &currency).add(amount)?;
        self.account(Account::Payable(row.get("beneficiary")?), &currency).subtract(amount)
    }

    fn share_payout(&mut self, row: &Row) -> Result<(), StorageError> {
        let (currency, amount): (CurrencyId, Amount) = (row.get("currency_id")?, row.get("amount")?);
        let (payable, cash) = (Account::Payable(row.get("beneficiary")?), Account::Cash(row.get("method_id")?));
        let is_reversal = row.get::<Option<String>>("reverses")?.is_some();
        let (paid, from) = if is_reversal { (cash, payable) } else { (payable, cash) };
        self.account(paid, &currency).add(amount)?;
        self.account(from, &currency).subtract(amount)
    }

    fn unusual(&mut self, row: &Row) -> Result<(), StorageError> {
        let (account, side, amount): (Account, Side, Amount) = (row.get("account")?, row.get("side")?, row.get("amount")?);
        let (currency, customer): (CurrencyId, Option<CustomerId>) = (row.get("currency_id")?, row.get("customer_id")?);
        let signed = |sum: &mut Sum| if side == Side::Debit { sum.add(amount) } else { sum.subtract(amount) };
        let position = customer.map(|customer_id| PositionOwner { customer_id, currency_id: currency.clone() });
        // The amounts that disputes move are counted from the table of disputes.
        let is_of_dispute = row.get::<String>("type")?.starts_with("dispute_");
        match account {
            Account::Cash(_) if is_of_dispute => Ok(()),
            Account::Cash(_) => {
                signed(self.account(account, &currency))?;
                position.map_or(Ok(()), |owner| signed(&mut self.position(owner).received))
            }
            Account::Suspense => {
                signed(self.account(account, &currency))?;
                let opposite = |sum: &mut Sum| if side == Side::Credit { sum.add(amount) } else { sum.subtract(amount) };
                position.map_or(Ok(()), |owner| opposite(&mut self.position(owner).accounted))
            }
            // Tables define the other accounts.
            _ => Ok(()),
        }
    }
}
