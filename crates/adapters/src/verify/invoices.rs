//! Invoices: their lines, what was paid for them, and what went back.

use super::check::{Check, Checks};
use super::rule::Rule;
use crate::persistence::Row;
use souk_domain::billing::Calculation;
use souk_domain::shared::{Amount, StorageError};

const RULES: &[Rule] = &[
    Rule {
        title: "invoices are paid in full or not at all, by a payment that succeeded",
        of: "SELECT count(*) AS n FROM invoices",
        broken: &[
            ("SELECT id FROM invoices WHERE status = 'paid' AND (amount_paid <> total OR paid_at IS NULL)", "is paid, but not its total"),
            (
                "SELECT id FROM invoices WHERE status <> 'paid' AND (LTRIM(CAST(amount_paid AS TEXT), '0') <> '' OR paid_at IS NOT NULL)",
                "is not paid, but something was paid for it",
            ),
            (
                "SELECT i.id FROM invoices i LEFT JOIN payment_intents p ON p.id = i.intent_id
                 WHERE i.status = 'paid' AND LTRIM(CAST(i.total AS TEXT), '0') <> '' AND i.reason NOT IN
                         ('stake', 'slash_stake', 'return_stake', 'subscription_recover', 'recharge')
                     AND (p.id IS NULL OR p.status <> 'succeeded')",
                "is paid by no payment that succeeded",
            ),
        ],
        noted: &[],
    },
    Rule {
        title: "checkouts and their invoices agree",
        of: "SELECT count(*) AS n FROM checkout_sessions",
        broken: &[
            (
                "SELECT s.id FROM checkout_sessions s LEFT JOIN invoices i ON i.id = s.invoice_id
                 WHERE s.status = 'complete' AND s.invoice_id IS NOT NULL AND (i.id IS NULL OR i.status <> 'paid')",
                "is complete, but its invoice is not paid",
            ),
            (
                "SELECT s.id FROM checkout_sessions s JOIN invoices i ON i.id = s.invoice_id WHERE s.status <> 'complete' AND i.status = 'paid'",
                "is not complete, but its invoice is paid",
            ),
        ],
        noted: &[],
    },
    Rule {
        title: "one invoice for each subscription, start and reason",
        of: "SELECT count(*) AS n FROM invoices WHERE subscription_id IS NOT NULL",
        broken: &[(
            "SELECT MIN(id) AS id FROM invoices WHERE status <> 'void' AND subscription_id IS NOT NULL AND period_start IS NOT NULL
             GROUP BY subscription_id, period_start, reason HAVING count(*) > 1",
            "has a double",
        )],
        noted: &[],
    },
];

const LINES: &str = "SELECT i.id, i.total, i.status, l.amount, l.calculation
    FROM (SELECT id, total, status FROM invoices WHERE id > $1 ORDER BY id LIMIT $2) i LEFT JOIN invoice_items l ON l.invoice_id = i.id
    ORDER BY i.id, l.position";
const REFUNDS: &str = "SELECT p.id, p.amount_received, p.amount_refunded, r.amount, r.status
    FROM (SELECT * FROM payment_intents WHERE id > $1 ORDER BY id LIMIT $2) p
    LEFT JOIN refunds r ON r.intent_id = p.id AND r.kind <> 'credit' AND r.status <> 'failed' ORDER BY p.id, r.id";

pub(super) async fn check(checks: &mut Checks<'_>) -> Result<(), StorageError> {
    checks.follow(RULES).await?;
    lines(checks).await?;
    refunds(checks).await
}

/// What a page's rows tell of one parent.
#[derive(Default)]
struct Open {
    id: String,
    /// What the parent says.
    said: Amount,
    /// What its rows sum to.
    sum: Amount,
    /// What lessens the sum: credits of an invoice.
    less: Amount,
    /// What it may be at most.
    limit: Amount,
}

fn overflow(error: souk_domain::shared::AmountError) -> StorageError {
    StorageError::Driver(Box::new(error))
}

/// Each line is what its calculation gives, and the lines sum to the total.
async fn lines(checks: &mut Checks<'_>) -> Result<(), StorageError> {
    let mut check = Check::of("lines equal their calculations and sum to the total");
    let mut open = Open::default();
    let close = |open: &Open, check: &mut Check| {
        if open.sum.minus(open.less) != Ok(open.said) {
            check.breaches.push(format!("{} says {}, its lines {} less {}", open.id, open.said, open.sum, open.less));
        }
    };
    let read = |row: &Row| -> Result<(), StorageError> {
        let id: String = row.get("id")?;
        if id != open.id {
            close(&open, &mut check);
            check.of += 1;
            open = Open { id, said: row.get("total")?, ..Open::default() };
        }
        let (Some(amount), Some(calculation)) = (row.get::<Option<Amount>>("amount")?, row.get::<Option<Calculation>>("calculation")?)
        else {
            return Ok(());
        };
        let sum = if calculation.is_credit() { &mut open.less } else { &mut open.sum };
        *sum = sum.plus(amount).map_err(overflow)?;
        match calculation.amount() {
            Ok(reckoned) if reckoned == amount => {}
            reckoned => check.breaches.push(format!("{} has a line of {amount} that reckons to {reckoned:?}", open.id)),
        }
        Ok(())
    };
    checks.walk(LINES, "id", read).await?;
    close(&open, &mut check);
    checks.told(check);
    Ok(())
}

/// No more goes back than was paid, and the payment knows how much that is.
async fn refunds(checks: &mut Checks<'_>) -> Result<(), StorageError> {
    let mut check = Check::of("refunds do not exceed their payments");
    let mut open = Open::default();
    let close = |open: &Open, check: &mut Check| {
        if open.sum != open.said || open.said > open.limit {
            check.breaches.push(format!("{} got {}, gave back {}, its refunds are {}", open.id, open.limit, open.said, open.sum));
        }
    };
    let read = |row: &Row| -> Result<(), StorageError> {
        let id: String = row.get("id")?;
        if id != open.id {
            close(&open, &mut check);
            open = Open { id, said: row.get("amount_refunded")?, limit: row.get("amount_received")?, ..Open::default() };
        }
        if let Some(amount) = row.get::<Option<Amount>>("amount")? {
            check.of += 1;
            open.sum = open.sum.plus(amount).map_err(overflow)?;
        }
        Ok(())
    };
    checks.walk(REFUNDS, "id", read).await?;
    close(&open, &mut check);
    checks.told(check);
    Ok(())
}
