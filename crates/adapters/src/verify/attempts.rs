//! Invariants 1 and 4: nothing is charged twice, each object has at most one open attempt, and every settled amount is accounted for.

use super::check::{Check, Checks};
use super::rule::{Rule, finding};
use super::sum::{Relation, SumRule};
use crate::persistence::Row;
use souk_domain::shared::{Amount, StorageError};
use std::collections::BTreeMap;

const RULES: &[Rule] = &[
    Rule {
        title: "every subject has at most one open attempt",
        of: "SELECT count(*) AS n FROM attempts WHERE status IN ('open', 'unknown')",
        broken: &[
            finding(
                "SELECT MIN(subject) AS id FROM attempts WHERE status IN ('open', 'unknown') GROUP BY subject, purpose HAVING count(*) > 1",
                "has two open attempts",
            ),
            finding(
                "SELECT c.invoice_id AS id FROM attempt_invoices c JOIN attempts a ON a.id = c.attempt_id
                 WHERE a.status IN ('open', 'unknown') GROUP BY c.invoice_id HAVING count(*) > 1",
                "is being paid by two open attempts",
            ),
            finding(
                "SELECT c.attempt_id AS id FROM attempt_invoices c JOIN attempts a ON a.id = c.attempt_id
                 WHERE (c.open AND a.status NOT IN ('open', 'unknown')) OR (NOT c.open AND a.status IN ('open', 'unknown'))",
                "lists invoices whose open flag differs from its own status",
            ),
        ],
        noted: &[finding("SELECT id FROM attempts WHERE status = 'unknown'", "has an outcome that was not observed")],
    },
    Rule {
        title: "nothing was paid twice",
        of: "SELECT count(*) AS n FROM attempts WHERE status = 'settled' AND purpose <> 'mandate'",
        broken: &[
            finding(
                "SELECT MIN(subject) AS id FROM attempts WHERE status = 'settled' AND purpose = 'payment' GROUP BY subject HAVING count(*) > 1",
                "has two settled attempts",
            ),
            finding(
                "SELECT MIN(id) AS id FROM invoice_payments WHERE attempt_id IS NOT NULL GROUP BY attempt_id, invoice_id HAVING count(*) > 1",
                "is the second payment of its attempt for one invoice",
            ),
        ],
        noted: &[],
    },
    Rule {
        title: "every top-up has one invoice",
        of: "SELECT count(*) AS n FROM attempts WHERE status = 'settled' AND purpose = 'recharge'",
        broken: &[
            finding(
                "SELECT a.subject AS id FROM attempts a WHERE a.status = 'settled' AND a.purpose = 'recharge'
                 GROUP BY a.subject, a.currency_id, a.amount
                 HAVING count(*) <> (SELECT count(*) FROM invoices i WHERE i.subscription_id = a.subject AND i.reason = 'recharge'
                     AND i.currency_id = a.currency_id AND i.total = a.amount)",
                "has a different number of top-ups and top-up invoices",
            ),
            finding(
                "SELECT i.id FROM invoices i LEFT JOIN attempts a ON a.subject = i.subscription_id AND a.purpose = 'recharge'
                     AND a.status = 'settled' AND a.amount = i.total AND a.currency_id = i.currency_id
                 WHERE i.reason = 'recharge' AND a.id IS NULL",
                "documents a top-up that did not happen",
            ),
        ],
        noted: &[],
    },
    Rule {
        title: "intents match their attempts",
        of: "SELECT count(*) AS n FROM payment_intents",
        broken: &[
            finding(
                "SELECT i.id FROM payment_intents i JOIN attempts a ON a.subject = i.id AND a.purpose = 'payment' AND a.status = 'settled'
                 WHERE i.status <> 'succeeded' OR i.amount_received <> a.amount",
                "received a different amount than its attempt settled",
            ),
            finding(
                "SELECT i.id FROM payment_intents i LEFT JOIN attempts a ON a.subject = i.id AND a.purpose = 'payment' AND a.status = 'settled'
                 WHERE i.status = 'succeeded' AND i.held_attempt_id IS NULL AND LTRIM(CAST(i.amount_received AS TEXT), '0') <> ''
                     AND a.id IS NULL",
                "received money without a settled attempt",
            ),
            finding(
                "SELECT i.id FROM payment_intents i LEFT JOIN journal_entries e ON e.subject = i.held_attempt_id AND e.type = 'suspense_received'
                 WHERE i.held_attempt_id IS NOT NULL AND NOT EXISTS
                     (SELECT 1 FROM journal_postings p WHERE p.entry_id = e.id AND p.amount = i.amount_received AND p.currency_id = i.currency_id)",
                "received the money of a payment on hold that is not in suspense",
            ),
        ],
        noted: &[],
    },
];

const SUMS: &[SumRule] = &[
    SumRule {
        title: "an attempt's planned payments sum to its amount",
        rows: "SELECT a.id, a.amount, c.amount AS added, NULL AS subtracted
               FROM (SELECT id, amount FROM attempts WHERE id > $1 AND purpose = 'payment' ORDER BY id LIMIT $2) a
               LEFT JOIN attempt_invoices c ON c.attempt_id = a.id ORDER BY a.id",
        relation: Relation::Equal,
        amount: "its amount",
        parts: "its planned payments",
    },
    SumRule {
        title: "settled payments are applied to invoices or to the balance",
        rows: "WITH a AS (SELECT id, amount, subject FROM attempts WHERE id > $1 AND purpose = 'payment' AND status = 'settled'
                          ORDER BY id LIMIT $2)
               SELECT a.id AS id, a.amount AS amount, p.amount AS added, NULL AS subtracted
                   FROM a LEFT JOIN invoice_payments p ON p.intent_id = a.subject AND p.attempt_id = a.id
               UNION ALL SELECT a.id, a.amount, t.amount, NULL FROM balance_transactions t JOIN a ON a.id = t.source WHERE t.type = 'overpayment'
               ORDER BY id",
        relation: Relation::Equal,
        amount: "what was settled",
        parts: "its payments and its overpayment",
    },
    SumRule {
        title: "invoices receive no more from a stake than was forfeited",
        rows: "SELECT a.id, a.amount, p.amount AS added, NULL AS subtracted
               FROM (SELECT id, amount FROM attempts WHERE id > $1 AND purpose = 'slash' AND status = 'settled' ORDER BY id LIMIT $2) a
               LEFT JOIN (SELECT attempt_id, amount FROM invoice_payments
                          UNION ALL SELECT source, amount FROM balance_transactions WHERE type = 'overpayment') p ON p.attempt_id = a.id
               ORDER BY a.id",
        relation: Relation::AtMost,
        amount: "what was forfeited",
        parts: "its payments and its overpayment",
    },
];

const STAKES: &str = "SELECT id, subject, purpose, method_id, currency_id, amount FROM attempts
    WHERE id > $1 AND status = 'settled' AND purpose IN ('stake', 'slash', 'return_stake') ORDER BY id LIMIT $2";

const STAKE_ROWS: &str = "SELECT id, amount, amount_forfeited, amount_returned FROM stakes WHERE id > $1 ORDER BY id LIMIT $2";

/// The amounts that settled attempts moved into and out of a stake.
#[derive(Default)]
struct Moved {
    placed: Amount,
    forfeited: Amount,
    returned: Amount,
}

pub(super) async fn check(checks: &mut Checks<'_>) -> Result<(), StorageError> {
    checks.check_rules(RULES).await?;
    checks.check_sums(SUMS).await?;
    stakes(checks).await
}

/// A stake may be forfeited in parts and the rest returned. Its row must match its attempts, plus what its payer claimed on the network.
async fn stakes(checks: &mut Checks<'_>) -> Result<(), StorageError> {
    let mut check = Check::of("a stake's amounts match its attempts");
    let mut moved: BTreeMap<String, Moved> = BTreeMap::new();
    let read = |row: &Row| {
        let stake = moved.entry(row.get("subject")?).or_default();
        let amount: Amount = row.get("amount")?;
        let sum = match row.get::<String>("purpose")?.as_str() {
            "stake" => &mut stake.placed,
            "slash" => &mut stake.forfeited,
            _ => &mut stake.returned,
        };
        *sum = sum.plus(amount).map_err(|error| StorageError::Driver(Box::new(error)))?;
        Ok(())
    };
    checks.walk(STAKES, "id", read).await?;
    check.of = moved.len() as u64;
    let compare = |row: &Row| {
        let id: String = row.get("id")?;
        let Moved { placed, forfeited, returned } = moved.remove(&id).unwrap_or_default();
        // A payer can claim a part on the network without an attempt of the store, so the row may show more returned.
        let is_right = row.get::<Amount>("amount")? == placed
            && row.get::<Amount>("amount_forfeited")? == forfeited
            && row.get::<Amount>("amount_returned")? >= returned;
        if !is_right {
            check
                .breaches
                .push(format!("{id} has other amounts than its attempts: {placed} placed, {forfeited} forfeited, {returned} returned"));
        }
        Ok(())
    };
    checks.walk(STAKE_ROWS, "id", compare).await?;
    check.breaches.extend(moved.keys().map(|id| format!("{id} was moved and is no stake")));
    checks.report(check);
    Ok(())
}
