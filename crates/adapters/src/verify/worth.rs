//! Periods: what one of them was paid goes back once, as money or as credit.

use super::check::{Check, Checks};
use crate::persistence::Row;
use souk_domain::billing::{BillingReason, Calculation};
use souk_domain::shared::{Amount, AmountError, CurrencyId, StorageError, Timestamp};
use std::collections::{BTreeMap, BTreeSet};

// Of the bills for time and usage of subscriptions that something was given for: their lines, what went back of them, and what they and their refunds moved as credit. What a stake
// has paid is void; where it has paid a part, another bill has taken the place of it, with all of its lines.
const BILLS: &str = "WITH bills AS (
        SELECT i.id, i.subscription_id, i.period_start, i.reason, i.currency_id, i.intent_id,
            CASE WHEN i.status = 'void' AND EXISTS (SELECT 1 FROM invoices o WHERE o.subscription_id = i.subscription_id
                          AND o.number > i.number AND o.reason = i.reason AND o.period_start = i.period_start AND o.period_end = i.period_end)
                     THEN 'replaced'
                 WHEN i.status = 'paid' OR (i.status = 'void' AND EXISTS (SELECT 1 FROM attempts a JOIN attempt_invoices c ON c.attempt_id = a.id
                          WHERE a.subject IN (SELECT o.id FROM subscriptions o WHERE o.customer_id = i.customer_id)
                              AND a.purpose = 'slash' AND a.status = 'settled' AND c.invoice_id = i.id))
                     THEN 'paid'
                 ELSE 'unpaid' END AS state
        FROM (SELECT DISTINCT subscription_id AS id FROM invoices WHERE subscription_id > $1 AND id IN
                  (SELECT subject FROM journal_entries WHERE reason IN ('credit_given', 'credit_released')
                   UNION ALL SELECT invoice_id FROM refunds WHERE status <> 'failed' AND invoice_id IS NOT NULL)
              ORDER BY subscription_id LIMIT $2) s
            JOIN invoices i ON i.subscription_id = s.id
        WHERE i.number IS NOT NULL AND i.period_start IS NOT NULL AND i.reason IN ('subscription_create', 'subscription_cycle',
            'subscription_update', 'subscription_recover', 'subscription_threshold', 'subscription_cancel')),
    returned AS (SELECT b.*, r.id AS refund_id, r.amount, r.status FROM bills b JOIN refunds r ON r.intent_id = b.intent_id
                 WHERE r.invoice_id = b.id AND r.kind = 'refund')
    SELECT b.subscription_id AS id, b.period_start, b.reason, b.currency_id, b.state AS what, l.amount, l.calculation
        FROM bills b LEFT JOIN invoice_items l ON l.invoice_id = b.id
    UNION ALL SELECT b.subscription_id, b.period_start, b.reason, b.currency_id, 'back', r.amount, NULL
        FROM bills b JOIN refunds r ON r.invoice_id = b.id AND r.kind = 'credit'
    UNION ALL SELECT subscription_id, period_start, reason, currency_id, 'back', amount, NULL FROM returned WHERE status <> 'failed'
    UNION ALL SELECT b.subscription_id, b.period_start, b.reason, b.currency_id, e.reason, p.amount, NULL
        FROM bills b JOIN journal_entries e ON e.subject = b.id AND e.reason IN ('credit_given', 'credit_released')
            JOIN journal_postings p ON p.entry_id = e.id AND p.side = 'debit'
    UNION ALL SELECT r.subscription_id, r.period_start, r.reason, r.currency_id, e.reason, p.amount, NULL
        FROM returned r JOIN journal_entries e ON e.subject = r.refund_id AND e.reason IN ('credit_used', 'credit_returned')
            JOIN journal_postings p ON p.entry_id = e.id AND p.side = 'debit'
    ORDER BY id";

/// Something that a row tells of a bill.
struct Told {
    /// Where the bill begins, and whether a period begins with it.
    at: Timestamp,
    begins: bool,
    currency: CurrencyId,
    what: What,
    amount: Amount,
}

#[derive(PartialEq, Eq)]
enum What {
    /// Nothing that counts.
    Nothing,
    /// A line asks for it, or lessens what is asked, and was paid.
    Asked,
    Lessened,
    /// A stake paid it, of a bill that was not paid otherwise.
    Taken,
    Back,
    /// Given as credit, which at the beginning of a period is for the usage of the one before.
    Given,
    Released,
    /// Credit that went along with a refund, and what came again of it.
    Along,
    Again,
}

impl What {
    fn of(what: &str, line: Option<&Calculation>) -> Self {
        match (what, line) {
            ("paid" | "unpaid", Some(Calculation::Applied { .. })) => Self::Nothing,
            ("paid", Some(Calculation::Taken { .. })) => Self::Nothing,
            ("unpaid", Some(Calculation::Taken { .. })) => Self::Taken,
            ("paid", Some(line)) if line.is_credit() => Self::Lessened,
            ("paid", Some(_)) => Self::Asked,
            ("back", _) => Self::Back,
            ("credit_given", _) => Self::Given,
            ("credit_released", _) => Self::Released,
            ("credit_used", _) => Self::Along,
            ("credit_returned", _) => Self::Again,
            _ => Self::Nothing,
        }
    }
}

/// What came in for a period in a currency, and what went out.
#[derive(Default)]
struct Worth {
    paid: Amount,
    gone: Amount,
}

/// No period gives back more than it was paid, by its networks and as credit together.
pub(super) async fn check(checks: &mut Checks<'_>) -> Result<(), StorageError> {
    let mut check = Check::of("no period gives back more than it was paid");
    let (mut open, mut told): (String, Vec<Told>) = (String::new(), Vec::new());
    let read = |row: &Row| -> Result<(), StorageError> {
        let id: String = row.get("id")?;
        if id != open {
            close(&open, &told, &mut check).map_err(|error: AmountError| StorageError::Driver(Box::new(error)))?;
            (open, told) = (id, Vec::new());
        }
        let reason: BillingReason = row.get("reason")?;
        told.push(Told {
            at: row.get("period_start")?,
            begins: matches!(reason, BillingReason::SubscriptionCreate | BillingReason::SubscriptionCycle),
            currency: row.get("currency_id")?,
            what: What::of(&row.get::<String>("what")?, row.get::<Option<Calculation>>("calculation")?.as_ref()),
            amount: row.get::<Option<Amount>>("amount")?.unwrap_or_default(),
        });
        Ok(())
    };
    checks.walk(BILLS, "id", read).await?;
    close(&open, &told, &mut check).map_err(|error| StorageError::Driver(Box::new(error)))?;
    checks.told(check);
    Ok(())
}

fn close(id: &str, told: &[Told], check: &mut Check) -> Result<(), AmountError> {
    let begins: BTreeSet<Timestamp> = told.iter().filter(|told| told.begins).map(|told| told.at).collect();
    let mut periods: BTreeMap<(Option<Timestamp>, &CurrencyId), Worth> = BTreeMap::new();
    for one in told {
        let is_before = one.what == What::Given && one.begins;
        let begin = if is_before { begins.range(..one.at).next_back() } else { begins.range(..=one.at).next_back() };
        let worth = periods.entry((begin.copied(), &one.currency)).or_default();
        let side = match one.what {
            What::Asked | What::Taken | What::Along => &mut worth.paid,
            What::Lessened | What::Back | What::Given | What::Released | What::Again => &mut worth.gone,
            What::Nothing => continue,
        };
        *side = side.plus(one.amount)?;
    }
    for ((begin, currency), Worth { paid, gone }) in periods {
        check.of += 1;
        if gone > paid {
            let begin = begin.map(Timestamp::to_iso).unwrap_or_default();
            check.breaches.push(format!("{id} was paid {paid} of {currency} for the period from {begin}, and gave back {gone}"));
        }
    }
    Ok(())
}
