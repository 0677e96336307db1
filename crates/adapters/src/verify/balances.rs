//! Customer balances: each equals the sum of its transactions, in the order in which they were written.

use super::check::{Check, Checks};
use super::rule::{Rule, finding};
use super::sum::Sum;
use crate::persistence::Row;
use souk_domain::billing::BalanceTransactionType;
use souk_domain::shared::{Amount, StorageError};

const RULES: &[Rule] = &[Rule {
    title: "every balance transaction has a source",
    of: "SELECT count(*) AS n FROM balance_transactions",
    broken: &[
        finding(
            "SELECT t.id FROM balance_transactions t LEFT JOIN customer_balances b
                 ON b.customer_id = t.customer_id AND b.currency_id = t.currency_id WHERE b.customer_id IS NULL",
            "changes no balance",
        ),
        finding(
            "SELECT t.id FROM balance_transactions t LEFT JOIN attempts a ON a.id = t.source AND
                 ((t.type = 'overpayment' AND a.status = 'settled') OR (t.type = 'suspense_resolved' AND a.status = 'declined'))
             WHERE t.type IN ('overpayment', 'suspense_resolved') AND a.id IS NULL",
            "has no matching attempt",
        ),
        finding(
            "SELECT t.id FROM balance_transactions t LEFT JOIN refunds r ON r.id = t.source AND r.amount = t.amount
                 AND r.customer_id = t.customer_id AND r.currency_id = t.currency_id AND
                 ((t.type = 'payout' AND r.kind = 'balance_payout') OR (t.type = 'payout_restored' AND r.kind = 'balance_payout' AND r.status = 'failed')
                  OR (t.type = 'refund_moved' AND r.kind = 'refund' AND r.status = 'canceled'))
             WHERE t.type IN ('payout', 'payout_restored', 'refund_moved') AND r.id IS NULL",
            "has no matching refund or payout",
        ),
        finding(
            "SELECT t.id FROM balance_transactions t LEFT JOIN invoices i ON i.id = t.source AND i.customer_id = t.customer_id
                 AND i.currency_id = t.currency_id WHERE t.type IN ('applied_to_invoice', 'unapplied_from_invoice') AND i.id IS NULL",
            "has no matching invoice",
        ),
        finding(
            "SELECT MIN(id) AS id FROM balance_transactions WHERE type NOT IN ('applied_to_invoice', 'unapplied_from_invoice')
             GROUP BY source, type HAVING count(*) > 1",
            "has the source of another transaction",
        ),
    ],
    noted: &[],
}];

const TRANSACTIONS: &str =
    "SELECT b.id, b.amount AS balance, b.sequence AS latest, t.id AS transaction_id, t.sequence, t.type, t.amount, t.balance_after
    FROM (SELECT customer_id || ' ' || currency_id AS id, customer_id, currency_id, amount, sequence FROM customer_balances
          WHERE customer_id || ' ' || currency_id > $1 ORDER BY customer_id || ' ' || currency_id LIMIT $2) b
    LEFT JOIN balance_transactions t ON t.customer_id = b.customer_id AND t.currency_id = b.currency_id ORDER BY b.id, t.sequence";

pub(super) async fn check(checks: &mut Checks<'_>) -> Result<(), StorageError> {
    let mut check = Check::of("every balance equals the running sum of its transactions");
    let read = |id: &str, rows: &[Row]| {
        check.of += 1;
        let (mut sum, mut sequence) = (Sum::default(), 0);
        for row in rows {
            let Some(transaction) = row.get::<Option<String>>("transaction_id")? else { continue };
            let (kind, amount): (BalanceTransactionType, Amount) = (row.get("type")?, row.get("amount")?);
            if kind.is_increase() {
                sum.add(amount)?
            } else {
                sum.subtract(amount)?
            };
            sequence += 1;
            let after: Amount = row.get("balance_after")?;
            if row.get::<u64>("sequence")? != sequence || !sum.is(after)? {
                check.breaches.push(format!("{transaction} is number {sequence} of {id} and leaves {sum}, not {after}"));
            }
        }
        let balance: Amount = rows[0].get("balance")?;
        if !sum.is(balance)? || rows[0].get::<u64>("latest")? != sequence {
            check.breaches.push(format!("{id} is {balance}, its {sequence} transactions come to {sum}"));
        }
        Ok(())
    };
    checks.walk_parents(TRANSACTIONS, "id", read).await?;
    checks.report(check);
    checks.check_rules(RULES).await
}
