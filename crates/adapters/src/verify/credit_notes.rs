//! Credit notes: the amounts they credit per line, and the destinations of the money.

use super::check::{Check, Checks};
use super::rule::{Rule, finding};
use super::sum::{Relation, Sum, SumRule};
use crate::persistence::Row;
use souk_domain::shared::{Amount, StorageError};

const RULES: &[Rule] = &[Rule {
    title: "every credit note belongs to a finalized invoice and has an item",
    of: "SELECT count(*) AS n FROM credit_notes",
    broken: &[
        finding(
            "SELECT n.id FROM credit_notes n LEFT JOIN invoices i ON i.id = n.invoice_id AND i.number IS NOT NULL
                 AND i.customer_id = n.customer_id AND i.currency_id = n.currency_id AND i.livemode = n.livemode
             WHERE i.id IS NULL",
            "credits no finalized invoice of its customer and currency",
        ),
        finding(
            "SELECT n.id FROM credit_notes n WHERE NOT EXISTS (SELECT 1 FROM credit_note_items c WHERE c.note_id = n.id)",
            "has no items",
        ),
        finding(
            "SELECT c.note_id AS id FROM credit_note_items c LEFT JOIN credit_notes n ON n.id = c.note_id
                 LEFT JOIN invoice_items l ON l.id = c.invoice_item_id WHERE n.id IS NULL OR l.id IS NULL OR l.invoice_id <> n.invoice_id",
            "credits a line of another invoice",
        ),
        finding(
            "SELECT note_id AS id FROM credit_note_items GROUP BY note_id, invoice_item_id HAVING count(*) > 1",
            "credits a line twice",
        ),
        finding(
            "SELECT t.id FROM balance_transactions t LEFT JOIN credit_notes n ON n.id = t.source AND n.to_balance = t.amount
             WHERE t.type = 'credit_note' AND n.id IS NULL",
            "adds an amount to the balance that its credit note does not contain",
        ),
        finding(
            "SELECT n.id FROM credit_notes n LEFT JOIN balance_transactions t ON t.source = n.id AND t.type = 'credit_note'
             WHERE LTRIM(CAST(n.to_balance AS TEXT), '0') <> '' AND t.id IS NULL",
            "credits the balance without a transaction",
        ),
        finding(
            "SELECT c.note_id AS id FROM credit_note_items c JOIN invoice_items l ON l.id = c.invoice_item_id
             WHERE LTRIM(CAST(l.credited AS TEXT), '0') = '' AND LTRIM(CAST(c.amount AS TEXT), '0') <> ''",
            "credits a line whose credited amount is zero",
        ),
    ],
    noted: &[],
}];

const SUMS: &[SumRule] = &[
    SumRule {
        title: "a line's credited amount is the sum of its credit notes' items",
        rows: "SELECT l.id, l.credited AS amount, c.amount AS added, NULL AS subtracted
               FROM (SELECT id, credited FROM invoice_items WHERE id > $1 AND LTRIM(CAST(credited AS TEXT), '0') <> '' ORDER BY id LIMIT $2) l
               LEFT JOIN credit_note_items c ON c.invoice_item_id = l.id ORDER BY l.id",
        relation: Relation::Equal,
        amount: "what is credited",
        parts: "the items of its credit notes",
    },
    SumRule {
        title: "a credit note's items sum to its total",
        rows: "SELECT n.id, n.total AS amount, c.amount AS added, NULL AS subtracted
               FROM (SELECT id, total FROM credit_notes WHERE id > $1 ORDER BY id LIMIT $2) n
               LEFT JOIN credit_note_items c ON c.note_id = n.id ORDER BY n.id",
        relation: Relation::Equal,
        amount: "its total",
        parts: "its items",
    },
    SumRule {
        title: "a credit note's refunds sum to what it refunded",
        rows: "SELECT n.id, n.refunded AS amount, r.amount AS added, NULL AS subtracted
               FROM (SELECT id, refunded FROM credit_notes WHERE id > $1 ORDER BY id LIMIT $2) n
               LEFT JOIN refunds r ON r.credit_note_id = n.id ORDER BY n.id",
        relation: Relation::Equal,
        amount: "what it refunded",
        parts: "its refunds",
    },
];

const NOTES: &str = "SELECT id, total, due_reduced, to_balance, refunded FROM credit_notes WHERE id > $1 ORDER BY id LIMIT $2";

pub(super) async fn check(checks: &mut Checks<'_>) -> Result<(), StorageError> {
    destinations(checks).await?;
    checks.check_sums(SUMS).await?;
    checks.check_rules(RULES).await
}

/// Checks that a note's whole total has a destination.
async fn destinations(checks: &mut Checks<'_>) -> Result<(), StorageError> {
    let mut check = Check::of("a credit note's total equals its reductions, balance credits and refunds");
    let read = |row: &Row| {
        check.of += 1;
        let (total, mut given): (Amount, _) = (row.get("total")?, Sum::default());
        for column in ["due_reduced", "to_balance", "refunded"] {
            given.add(row.get(column)?)?;
        }
        if !given.is(total)? {
            check.breaches.push(format!("{} has the total {total}, but its destinations sum to {given}", row.get::<String>("id")?));
        }
        Ok(())
    };
    checks.walk(NOTES, "id", read).await?;
    checks.report(check);
    Ok(())
}
