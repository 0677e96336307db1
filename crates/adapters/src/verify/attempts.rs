//! Invariants 1 and 4: nothing is charged twice, what was settled is booked, what is open is open once.

use super::check::{Check, Checks};
use super::rule::Rule;
use crate::persistence::Row;
use souk_domain::shared::{Amount, StorageError};
use std::collections::BTreeMap;

const RULES: &[Rule] = &[
    Rule {
        title: "settled attempts are booked, and nothing else is",
        of: "SELECT count(*) AS n FROM attempts WHERE status = 'settled'",
        broken: &[
            (
                "SELECT a.id FROM attempts a WHERE a.status = 'settled' AND a.purpose NOT IN ('mandate', 'recharge') AND NOT EXISTS
                     (SELECT 1 FROM journal_entries e WHERE e.subject = a.id AND e.reason = a.purpose)",
                "is settled and not in the journal",
            ),
            (
                "SELECT e.id FROM journal_entries e LEFT JOIN attempts a ON a.id = e.subject AND a.purpose = e.reason
                 WHERE e.reason NOT IN ('credit_given', 'credit_released', 'credit_used', 'credit_returned') AND (a.id IS NULL OR a.status <> 'settled')",
                "is in the journal without a settled attempt",
            ),
            (
                "SELECT e.id FROM journal_entries e JOIN attempts a ON a.id = e.subject
                     JOIN journal_postings p ON p.entry_id = e.id WHERE p.amount <> a.amount OR p.currency_id <> a.currency_id",
                "books another amount than its attempt",
            ),
        ],
        noted: &[],
    },
    Rule {
        title: "nothing has two open attempts",
        of: "SELECT count(*) AS n FROM attempts WHERE status IN ('open', 'unknown')",
        broken: &[
            (
                "SELECT MIN(subject) AS id FROM attempts WHERE status IN ('open', 'unknown') GROUP BY subject, purpose HAVING count(*) > 1",
                "has two open attempts",
            ),
            (
                "SELECT c.invoice_id AS id FROM attempt_invoices c JOIN attempts a ON a.id = c.attempt_id
                 WHERE a.status IN ('open', 'unknown') GROUP BY c.invoice_id HAVING count(*) > 1",
                "is covered by two open attempts",
            ),
            (
                "SELECT c.attempt_id AS id FROM attempt_invoices c JOIN attempts a ON a.id = c.attempt_id
                 WHERE (c.open AND a.status NOT IN ('open', 'unknown')) OR (NOT c.open AND a.status IN ('open', 'unknown'))",
                "covers invoices in another state than its own",
            ),
        ],
        noted: &[("SELECT id FROM attempts WHERE status = 'unknown'", "has an outcome that nobody saw")],
    },
    Rule {
        title: "nothing was paid twice",
        of: "SELECT count(*) AS n FROM attempts WHERE status = 'settled' AND purpose <> 'mandate'",
        broken: &[
            (
                "SELECT MIN(subject) AS id FROM attempts WHERE status = 'settled' AND purpose IN ('payment', 'refund')
                 GROUP BY subject, purpose HAVING count(*) > 1",
                "has two settled attempts",
            ),
            (
                "SELECT c.invoice_id AS id FROM attempt_invoices c JOIN attempts a ON a.id = c.attempt_id
                 WHERE a.status = 'settled' GROUP BY c.invoice_id HAVING count(*) > 1",
                "was paid by two attempts",
            ),
            (
                "SELECT c.invoice_id AS id FROM attempt_invoices c JOIN attempts a ON a.id = c.attempt_id
                     JOIN invoices i ON i.id = c.invoice_id WHERE a.status = 'settled' AND a.purpose = 'payment' AND i.status <> 'paid'",
                "was charged and is not paid",
            ),
            (
                "SELECT c.invoice_id AS id FROM attempt_invoices c JOIN attempts a ON a.id = c.attempt_id
                     JOIN invoices i ON i.id = c.invoice_id WHERE a.status = 'settled' AND a.purpose = 'slash' AND i.status <> 'void'",
                "was taken from a stake and is still asked for",
            ),
        ],
        noted: &[],
    },
    Rule {
        title: "funds that were added are told by an invoice each",
        of: "SELECT count(*) AS n FROM attempts WHERE status = 'settled' AND purpose = 'recharge'",
        broken: &[
            (
                "SELECT a.subject AS id FROM attempts a WHERE a.status = 'settled' AND a.purpose = 'recharge'
                 GROUP BY a.subject, a.currency_id, a.amount
                 HAVING count(*) <> (SELECT count(*) FROM invoices i WHERE i.subscription_id = a.subject AND i.reason = 'recharge'
                     AND i.currency_id = a.currency_id AND i.total = a.amount)",
                "was given funds more or less often than its invoices say",
            ),
            (
                "SELECT i.id FROM invoices i WHERE i.reason = 'recharge' AND NOT EXISTS
                     (SELECT 1 FROM attempts a WHERE a.subject = i.subscription_id AND a.purpose = 'recharge' AND a.status = 'settled'
                          AND a.amount = i.total AND a.currency_id = i.currency_id)",
                "tells of funds that nobody added",
            ),
        ],
        noted: &[],
    },
    Rule {
        title: "intents say what their attempts say",
        of: "SELECT count(*) AS n FROM payment_intents",
        broken: &[
            (
                "SELECT i.id FROM payment_intents i JOIN attempts a ON a.subject = i.id AND a.purpose = 'payment' AND a.status = 'settled'
                 WHERE i.status <> 'succeeded' OR i.amount_received <> a.amount",
                "does not have what its attempt settled",
            ),
            (
                "SELECT i.id FROM payment_intents i WHERE i.status = 'succeeded' AND LTRIM(CAST(i.amount AS TEXT), '0') <> '' AND NOT EXISTS
                     (SELECT 1 FROM attempts a WHERE a.subject = i.id AND a.purpose = 'payment' AND a.status = 'settled')
                     AND NOT EXISTS (SELECT 1 FROM journal_entries e WHERE e.subject = i.id AND e.reason = 'credit_used')",
                "succeeded without a settled attempt, and not by credit",
            ),
        ],
        noted: &[],
    },
];

const STAKES: &str = "SELECT id, subject, purpose, method_id, currency_id, amount FROM attempts
    WHERE id > $1 AND status = 'settled' AND purpose IN ('stake', 'slash', 'return_stake') ORDER BY id LIMIT $2";

pub(super) async fn check(checks: &mut Checks<'_>) -> Result<(), StorageError> {
    checks.follow(RULES).await?;
    stakes(checks).await
}

/// A stake may be taken in parts, and the rest returned; all of it together is what was staked.
async fn stakes(checks: &mut Checks<'_>) -> Result<(), StorageError> {
    let mut check = Check::of("no more is taken of a stake or returned than was staked");
    let mut stakes: BTreeMap<[String; 3], (Amount, Amount)> = BTreeMap::new();
    let read = |row: &Row| -> Result<(), StorageError> {
        let (staked, moved) = stakes.entry([row.get("subject")?, row.get("method_id")?, row.get("currency_id")?]).or_default();
        let sum = if row.get::<String>("purpose")? == "stake" { staked } else { moved };
        *sum = sum.plus(row.get("amount")?).map_err(|error| StorageError::Driver(Box::new(error)))?;
        Ok(())
    };
    checks.walk(STAKES, "id", read).await?;
    check.of = stakes.len() as u64;
    for ([subject, ..], (staked, moved)) in &stakes {
        if moved > staked {
            check.breaches.push(format!("{subject} staked {staked}, and {moved} left it"));
        }
    }
    checks.told(check);
    Ok(())
}
