//! Credit: what customers hold was paid by them, and what it had paid is credit again once.

use super::check::{Check, Checks};
use super::rule::Rule;
use crate::persistence::Row;
use souk_domain::billing::Calculation;
use souk_domain::shared::{Amount, AmountError, StorageError};
use std::collections::BTreeMap;

const RULES: &[Rule] = &[
    Rule {
        title: "refunds as credit are of paid invoices, and booked",
        of: "SELECT count(*) AS n FROM refunds WHERE kind = 'credit'",
        broken: &[
            (
                "SELECT r.id FROM refunds r LEFT JOIN invoices i ON i.id = r.invoice_id
                 WHERE r.kind = 'credit' AND (r.status <> 'succeeded' OR i.id IS NULL OR i.status <> 'paid')",
                "gives back what was not paid",
            ),
            (
                "SELECT r.id FROM refunds r WHERE r.kind = 'credit' AND NOT EXISTS
                     (SELECT 1 FROM journal_entries e JOIN journal_postings p ON p.entry_id = e.id
                      WHERE e.subject = r.id AND e.reason = 'credit_returned' AND p.amount = r.amount AND p.currency_id = r.currency_id)",
                "is not in the journal as it is",
            ),
            (
                "SELECT e.id FROM journal_entries e LEFT JOIN invoices i ON i.id = e.subject AND i.status = 'void'
                     LEFT JOIN refunds r ON r.id = e.subject AND (r.kind = 'credit' OR r.status = 'failed')
                 WHERE e.reason = 'credit_returned' AND i.id IS NULL AND r.id IS NULL",
                "returns credit for no invoice that is void, and for no refund",
            ),
        ],
        noted: &[],
    },
    Rule {
        title: "credit is promised for what stands unpaid",
        of: "SELECT count(*) AS n FROM promised_credits",
        broken: &[(
            "SELECT p.invoice_id AS id FROM promised_credits p LEFT JOIN invoices i ON i.id = p.invoice_id
             WHERE i.id IS NULL OR i.status NOT IN ('open', 'uncollectible')",
            "is to give credit, and was paid or taken back already",
        )],
        noted: &[],
    },
    Rule {
        title: "promised credit was given for what was paid",
        of: "SELECT count(*) AS n FROM journal_entries WHERE reason = 'credit_released'",
        broken: &[(
            "SELECT e.id FROM journal_entries e LEFT JOIN invoices i ON i.id = e.subject
             WHERE e.reason = 'credit_released' AND (i.id IS NULL OR i.status <> 'paid') AND NOT EXISTS
                 (SELECT 1 FROM attempts a JOIN attempt_invoices c ON c.attempt_id = a.id
                  WHERE a.purpose = 'slash' AND a.status = 'settled' AND c.invoice_id = i.id AND i.status = 'void')",
            "gives credit for an invoice that neither a payment nor a stake has settled",
        )],
        noted: &[],
    },
];

// Of invoices that were given back as credit: their lines, and what was given, which has no calculation.
const CREDITED: &str = "SELECT c.id AS id, l.amount, l.calculation
    FROM (SELECT DISTINCT invoice_id AS id FROM refunds WHERE kind = 'credit' AND invoice_id > $1 ORDER BY invoice_id LIMIT $2) c
    JOIN invoice_items l ON l.invoice_id = c.id
    UNION ALL SELECT c.id AS id, r.amount, NULL
    FROM (SELECT DISTINCT invoice_id AS id FROM refunds WHERE kind = 'credit' AND invoice_id > $1 ORDER BY invoice_id LIMIT $2) c
    JOIN refunds r ON r.invoice_id = c.id AND r.kind = 'credit' AND r.status <> 'failed'
    ORDER BY id";
const PROMISED: &str = "SELECT p.invoice_id AS id, p.amount AS promised, l.amount, l.calculation
    FROM (SELECT * FROM promised_credits WHERE invoice_id > $1 ORDER BY invoice_id LIMIT $2) p
    JOIN invoice_items l ON l.invoice_id = p.invoice_id ORDER BY p.invoice_id";
const HELD: &str = "SELECT customer_id || ' ' || currency_id AS id, amount FROM credits
    WHERE customer_id || ' ' || currency_id > $1 ORDER BY customer_id || ' ' || currency_id LIMIT $2";
const PAID: &str = "SELECT id, customer_id || ' ' || currency_id AS holder, amount_received AS paid, amount_refunded AS back
    FROM payment_intents WHERE id > $1 AND status = 'succeeded' ORDER BY id LIMIT $2";
const TAKEN: &str = "SELECT a.id, s.customer_id || ' ' || a.currency_id AS holder, a.amount AS paid
    FROM attempts a JOIN subscriptions s ON s.id = a.subject
    WHERE a.id > $1 AND a.purpose = 'slash' AND a.status = 'settled' ORDER BY a.id LIMIT $2";

pub(super) async fn check(checks: &mut Checks<'_>) -> Result<(), StorageError> {
    checks.follow(RULES).await?;
    credited(checks).await?;
    promised(checks).await?;
    held(checks).await
}

/// What a page's rows tell of one parent: how much there is of something, and how much there may be.
#[derive(Default)]
struct Open {
    id: String,
    sum: Amount,
    limit: Amount,
}

fn overflow(error: AmountError) -> StorageError {
    StorageError::Driver(Box::new(error))
}

/// No more is credit again than credit had paid.
async fn credited(checks: &mut Checks<'_>) -> Result<(), StorageError> {
    let mut check = Check::of("refunds as credit do not exceed what credit paid");
    let mut open = Open::default();
    let close = |open: &Open, check: &mut Check| {
        if open.sum > open.limit {
            check.breaches.push(format!("{} was paid {} by credit, and gave back {}", open.id, open.limit, open.sum));
        }
    };
    let read = |row: &Row| -> Result<(), StorageError> {
        let id: String = row.get("id")?;
        if id != open.id {
            close(&open, &mut check);
            open = Open { id, ..Open::default() };
        }
        let amount: Amount = row.get("amount")?;
        match row.get::<Option<Calculation>>("calculation")? {
            None => {
                check.of += 1;
                open.sum = open.sum.plus(amount).map_err(overflow)?;
            }
            Some(Calculation::Applied { .. }) => open.limit = open.limit.plus(amount).map_err(overflow)?,
            Some(_) => {}
        }
        Ok(())
    };
    checks.walk(CREDITED, "id", read).await?;
    close(&open, &mut check);
    checks.told(check);
    Ok(())
}

/// No more is promised for an invoice than it asks for, whatever of it credit or a stake has paid.
async fn promised(checks: &mut Checks<'_>) -> Result<(), StorageError> {
    let mut check = Check::of("promised credit is within what its invoice asks");
    let mut open = Open::default();
    let close = |open: &Open, check: &mut Check| {
        if open.sum > open.limit {
            check.breaches.push(format!("{} asks {}, and promises {}", open.id, open.limit, open.sum));
        }
    };
    let read = |row: &Row| -> Result<(), StorageError> {
        let id: String = row.get("id")?;
        if id != open.id {
            close(&open, &mut check);
            check.of += 1;
            open = Open { id, sum: row.get("promised")?, ..Open::default() };
        }
        if !row.get::<Calculation>("calculation")?.is_credit() {
            open.limit = open.limit.plus(row.get("amount")?).map_err(overflow)?;
        }
        Ok(())
    };
    checks.walk(PROMISED, "id", read).await?;
    close(&open, &mut check);
    checks.told(check);
    Ok(())
}

/// What a customer holds in a currency, they have paid, and did not get back: by a network or from a stake.
async fn held(checks: &mut Checks<'_>) -> Result<(), StorageError> {
    let mut check = Check::of("customers hold no more credit than they paid");
    let mut holders: BTreeMap<String, (Amount, Amount, Amount)> = BTreeMap::new();
    let read = |row: &Row| -> Result<(), StorageError> {
        holders.insert(row.get("id")?, (row.get("amount")?, Amount::ZERO, Amount::ZERO));
        Ok(())
    };
    checks.walk(HELD, "id", read).await?;
    for statement in [PAID, TAKEN] {
        let read = |row: &Row| -> Result<(), StorageError> {
            let Some((_, paid, back)) = holders.get_mut(&row.get::<String>("holder")?) else { return Ok(()) };
            *paid = paid.plus(row.get("paid")?).map_err(overflow)?;
            if statement == PAID {
                *back = back.plus(row.get("back")?).map_err(overflow)?;
            }
            Ok(())
        };
        checks.walk(statement, "id", read).await?;
    }
    for (holder, (held, paid, back)) in holders {
        check.of += 1;
        if held.plus(back).map_err(overflow)? > paid {
            check.breaches.push(format!("{holder} has credit of {held}, paid {paid} and got back {back}"));
        }
    }
    checks.told(check);
    Ok(())
}
