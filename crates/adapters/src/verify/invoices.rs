//! Invoices: their lines, their payments, and the status derived from both.

use super::check::{Check, Checks};
use super::rule::{Rule, finding};
use super::sum::{Relation, Sum, SumRule};
use crate::persistence::Row;
use souk_domain::billing::{InvoiceStatus, PricingFormula};
use souk_domain::shared::{Amount, StorageError, Timestamp};

const RULES: &[Rule] = &[
    Rule {
        title: "checkouts match their invoices",
        of: "SELECT count(*) AS n FROM checkout_sessions",
        broken: &[
            finding(
                "SELECT s.id FROM checkout_sessions s LEFT JOIN invoices i ON i.id = s.invoice_id
                 WHERE s.status = 'complete' AND s.invoice_id IS NOT NULL AND (i.id IS NULL OR i.number IS NULL)",
                "is complete, and its invoice is not finalized",
            ),
            finding(
                "SELECT s.id FROM checkout_sessions s JOIN invoices i ON i.id = s.invoice_id WHERE s.status <> 'complete' AND i.number IS NOT NULL",
                "is not complete, and its invoice is finalized",
            ),
        ],
        noted: &[],
    },
    Rule {
        title: "one invoice for each subscription, start and reason",
        of: "SELECT count(*) AS n FROM invoices WHERE subscription_id IS NOT NULL",
        broken: &[finding(
            "SELECT MIN(id) AS id FROM invoices WHERE status <> 'void' AND subscription_id IS NOT NULL AND period_start IS NOT NULL
             GROUP BY subscription_id, period_start, reason HAVING count(*) > 1",
            "has a duplicate",
        )],
        noted: &[],
    },
    Rule {
        title: "every invoice payment has a settled attempt or balance transaction",
        of: "SELECT count(*) AS n FROM invoice_payments",
        broken: &[
            finding(
                // The intent of a payment on hold names the attempt, which is declined once its money pays invoices.
                "SELECT p.id FROM invoice_payments p LEFT JOIN attempts a ON a.id = p.attempt_id AND a.status = 'settled' AND a.purpose = 'payment'
                     LEFT JOIN payment_intents h ON h.id = p.intent_id AND h.held_attempt_id = p.attempt_id
                 WHERE p.source = 'network' AND h.id IS NULL
                     AND (a.id IS NULL OR p.intent_id IS NULL OR a.subject <> p.intent_id OR p.balance_transaction_id IS NOT NULL)",
                "is paid by no settled payment of its intent",
            ),
            finding(
                "SELECT p.id FROM invoice_payments p LEFT JOIN attempts a ON a.id = p.attempt_id AND a.status = 'settled' AND a.purpose = 'slash'
                 WHERE p.source = 'stake' AND (a.id IS NULL OR p.intent_id IS NOT NULL OR p.balance_transaction_id IS NOT NULL)",
                "is paid by no forfeited stake",
            ),
            finding(
                "SELECT p.id FROM invoice_payments p LEFT JOIN balance_transactions t ON t.id = p.balance_transaction_id
                     AND t.type = 'applied_to_invoice' AND t.source = p.invoice_id AND t.amount = p.amount
                 WHERE p.source = 'balance' AND (t.id IS NULL OR p.attempt_id IS NOT NULL OR p.intent_id IS NOT NULL)",
                "is paid by no transaction of the balance for that invoice",
            ),
            finding(
                "SELECT t.id FROM balance_transactions t LEFT JOIN invoice_payments p ON p.balance_transaction_id = t.id
                 WHERE t.type = 'applied_to_invoice' AND p.id IS NULL",
                "debited the balance but paid no invoice",
            ),
        ],
        noted: &[],
    },
    Rule {
        title: "statements document a transaction and are never paid or credited by another one",
        of: "SELECT count(*) AS n FROM invoices WHERE document = 'statement'",
        broken: &[
            finding(
                "SELECT id FROM invoices WHERE (document = 'statement') <>
                     (reason IN ('stake', 'slash_stake', 'return_stake', 'subscription_recover', 'recharge', 'stake_overdraft_protection'))",
                "is the wrong document for its reason",
            ),
            finding(
                "SELECT p.id FROM invoice_payments p JOIN invoices i ON i.id = p.invoice_id WHERE i.document = 'statement'",
                "pays a statement",
            ),
            finding(
                "SELECT n.id FROM credit_notes n JOIN invoices i ON i.id = n.invoice_id WHERE i.document = 'statement'",
                "credits a statement",
            ),
        ],
        noted: &[],
    },
];

const SUMS: &[SumRule] = &[
    SumRule {
        title: "an invoice's paid amount is the sum of its effective payments",
        rows: "SELECT i.id, i.amount_paid AS amount, p.amount AS added, p.reversed AS subtracted
               FROM (SELECT id, amount_paid FROM invoices WHERE id > $1 AND document = 'invoice' ORDER BY id LIMIT $2) i
               LEFT JOIN invoice_payments p ON p.invoice_id = i.id ORDER BY i.id",
        relation: Relation::Equal,
        amount: "what is paid",
        parts: "its payments less what was reversed",
    },
    SumRule {
        title: "an invoice's credited amount is what its credit notes took off",
        rows: "SELECT i.id, i.amount_credited AS amount, n.due_reduced AS added, NULL AS subtracted
               FROM (SELECT id, amount_credited FROM invoices WHERE id > $1 ORDER BY id LIMIT $2) i
               LEFT JOIN credit_notes n ON n.invoice_id = i.id ORDER BY i.id",
        relation: Relation::Equal,
        amount: "what is credited",
        parts: "the unpaid parts of its credit notes",
    },
];

const LINES: &str = "SELECT i.id, i.total, i.number, i.document, l.id AS line, l.amount, l.discount, l.tax, l.credited, l.pricing_formula
    FROM (SELECT id, total, number, document FROM invoices WHERE id > $1 ORDER BY id LIMIT $2) i
    LEFT JOIN invoice_items l ON l.invoice_id = i.id ORDER BY i.id, l.position";
const STATUSES: &str = "SELECT id, status, number, document, total, amount_paid, amount_credited, paid_at FROM invoices
    WHERE id > $1 ORDER BY id LIMIT $2";
const PAYMENTS: &str = "SELECT id, amount, refunded, disputed, reversed FROM invoice_payments WHERE id > $1 ORDER BY id LIMIT $2";

pub(super) async fn check(checks: &mut Checks<'_>) -> Result<(), StorageError> {
    lines(checks).await?;
    statuses(checks).await?;
    payments(checks).await?;
    checks.check_sums(SUMS).await?;
    checks.check_rules(RULES).await
}

/// Checks that each line equals its pricing formula, that the lines sum to the total, and that no line is credited beyond its amount.
async fn lines(checks: &mut Checks<'_>) -> Result<(), StorageError> {
    let mut sums = Check::of("lines equal their calculations and sum to the total");
    let mut credits = Check::of("no line is credited by more than its amount");
    let read = |id: &str, lines: &[Row]| {
        sums.of += 1;
        let (total, mut sum): (Amount, _) = (lines[0].get("total")?, Sum::default());
        for line in lines {
            let Some(name) = line.get::<Option<String>>("line")? else { continue };
            let (amount, pricing_formula): (Amount, PricingFormula) = (line.get("amount")?, line.get("pricing_formula")?);
            match pricing_formula.amount() {
                Ok(computed) if computed == amount => {}
                computed => sums.breaches.push(format!("{id} has a line of {amount} whose calculation gives {computed:?}")),
            }
            let mut asked = Sum::default();
            asked.add(amount)?;
            asked.add(line.get("tax")?)?;
            asked.subtract(line.get("discount")?)?;
            sum.add(asked.added)?;
            sum.subtract(asked.subtracted)?;
            credits.of += 1;
            let credited: Amount = line.get("credited")?;
            if !asked.is_at_least(credited)? {
                credits.breaches.push(format!("{name} has the amount {asked} but is credited by {credited}"));
            }
        }
        if !sum.is(total)? {
            sums.breaches.push(format!("{id} has the total {total}, but its lines sum to {sum}"));
        }
        Ok(())
    };
    checks.walk_parents(LINES, "id", read).await?;
    checks.report(sums);
    checks.report(credits);
    Ok(())
}

/// Checks that each invoice's status matches its amounts.
async fn statuses(checks: &mut Checks<'_>) -> Result<(), StorageError> {
    let mut check = Check::of("every invoice's status matches its remaining amount");
    let read = |row: &Row| {
        check.of += 1;
        let (id, status): (String, InvoiceStatus) = (row.get("id")?, row.get("status")?);
        let mut remaining = Sum::default();
        let (total, paid): (Amount, Amount) = (row.get("total")?, row.get("amount_paid")?);
        remaining.add(total)?;
        remaining.subtract(paid)?;
        remaining.subtract(row.get("amount_credited")?)?;
        let is_settled = remaining.is(Amount::ZERO)?;
        let is_untouched = remaining.subtracted.is_zero();
        let allowed: &[InvoiceStatus] = match row.get::<Option<u64>>("number")? {
            None if is_untouched => &[InvoiceStatus::Draft, InvoiceStatus::Void],
            None => &[],
            Some(_) if is_settled && (total.is_zero() || !paid.is_zero()) => &[InvoiceStatus::Paid],
            Some(_) if is_settled => &[InvoiceStatus::Void],
            Some(_) if remaining.is_at_least(Amount::ZERO)? => &[InvoiceStatus::Open, InvoiceStatus::Uncollectible],
            Some(_) => &[],
        };
        if !allowed.contains(&status) {
            check.breaches.push(format!("{id} is {}, of {total} {paid} is paid and {remaining} remains", status.name()));
        }
        let is_dated = row.get::<Option<Timestamp>>("paid_at")?.is_some();
        if is_dated != (status == InvoiceStatus::Paid) {
            let dated = if is_dated { "has a time of payment" } else { "has no time of payment" };
            check.breaches.push(format!("{id} is {} and {dated}", status.name()));
        }
        Ok(())
    };
    checks.walk(STATUSES, "id", read).await?;
    checks.report(check);
    Ok(())
}

/// Checks that refunds, disputes and reversals of a payment do not exceed its amount.
async fn payments(checks: &mut Checks<'_>) -> Result<(), StorageError> {
    let mut check = Check::of("refunds, disputes and reversals don't exceed their payment");
    let read = |row: &Row| {
        check.of += 1;
        let (amount, mut used): (Amount, _) = (row.get("amount")?, Sum::default());
        for column in ["refunded", "disputed", "reversed"] {
            used.add(row.get(column)?)?;
        }
        if !used.is_at_most(amount)? {
            check.breaches.push(format!("{} paid {amount}, and {used} is used", row.get::<String>("id")?));
        }
        Ok(())
    };
    checks.walk(PAYMENTS, "id", read).await?;
    checks.report(check);
    Ok(())
}
