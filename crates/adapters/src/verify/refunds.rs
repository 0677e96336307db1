//! Refunds, payouts and disputes: the amounts they reserve of payments.

use super::check::Checks;
use super::rule::{Rule, finding};
use super::sum::{Relation, SumRule};
use souk_domain::shared::StorageError;

const RULES: &[Rule] = &[
    Rule {
        title: "every refund has a credit note, a payment and a matching attempt status",
        of: "SELECT count(*) AS n FROM refunds",
        broken: &[
            finding(
                "SELECT r.id FROM refunds r LEFT JOIN credit_notes n ON n.id = r.credit_note_id AND n.invoice_id = r.invoice_id
                     LEFT JOIN invoice_payments p ON p.id = r.payment_id AND p.invoice_id = r.invoice_id
                     LEFT JOIN payment_intents h ON h.id = r.intent_id AND h.held_attempt_id IS NOT NULL
                 WHERE r.kind = 'refund' AND (h.id IS NULL OR r.credit_note_id IS NOT NULL) AND (n.id IS NULL OR p.id IS NULL OR (r.intent_id IS NOT NULL AND r.intent_id <> p.intent_id))",
                "is of no credit note and payment of its invoice",
            ),
            finding(
                "SELECT id FROM refunds WHERE kind = 'balance_payout' AND (credit_note_id IS NOT NULL OR payment_id IS NOT NULL)",
                "is a payout of a balance and names a credit note or a payment",
            ),
            finding(
                "SELECT r.id FROM refunds r LEFT JOIN journal_entries e ON e.subject = r.reference AND e.type = 'dashboard_refund'
                 WHERE r.kind = 'dashboard_refund' AND (e.id IS NULL OR r.intent_id IS NULL OR r.credit_note_id IS NOT NULL)",
                "is of no dashboard refund with money in suspense",
            ),
            finding(
                "SELECT r.id FROM refunds r WHERE r.status = 'pending' AND NOT EXISTS
                     (SELECT 1 FROM attempts a WHERE a.subject = r.id AND a.purpose = 'refund' AND a.status IN ('open', 'unknown'))",
                "is pending without an open attempt",
            ),
            finding(
                "SELECT r.id FROM refunds r JOIN attempts a ON a.subject = r.id AND a.purpose = 'refund' AND a.status IN ('open', 'unknown')
                 WHERE r.status <> 'pending'",
                "is not pending but has an open attempt",
            ),
            finding(
                "SELECT r.id FROM refunds r JOIN invoice_payments p ON p.id = r.payment_id
                 WHERE p.source <> 'balance' AND LTRIM(CAST(p.refunded AS TEXT), '0') = ''",
                "is of a payment that is not refunded",
            ),
            finding(
                "SELECT r.id FROM refunds r JOIN payment_intents i ON i.id = r.intent_id
                 WHERE (r.status IN ('pending', 'succeeded') OR (r.status = 'failed' AND r.kind = 'refund'))
                     AND LTRIM(CAST(i.amount_refunded AS TEXT), '0') = ''",
                "is of an intent that is not refunded",
            ),
            finding("SELECT id FROM refunds WHERE status = 'failed' AND failure_count = 0", "failed, and has no failure"),
            finding(
                "SELECT a.subject AS id FROM attempts a JOIN refunds r ON r.id = a.subject WHERE a.purpose = 'refund' AND a.status = 'settled'
                 GROUP BY a.subject, r.failure_count HAVING count(*) > 1 + r.failure_count",
                "has more attempts than failures allow",
            ),
        ],
        noted: &[
            finding("SELECT id FROM refunds WHERE kind = 'refund' AND status = 'failed'", "failed, and waits for its owner's decision"),
        ],
    },
    Rule {
        title: "undecided disputes reserve payments, and decided ones do not",
        of: "SELECT count(*) AS n FROM disputes",
        broken: &[finding(
            "SELECT p.id FROM invoice_payments p WHERE LTRIM(CAST(p.disputed AS TEXT), '0') <> '' AND NOT EXISTS
                 (SELECT 1 FROM disputes d WHERE d.intent_id = p.intent_id AND d.funds_withdrawn AND d.status <> 'lost')",
            "is reserved by no dispute",
        )],
        noted: &[],
    },
];

const SUMS: &[SumRule] = &[
    SumRule {
        title: "a payment's refunded amount is the sum of its refunds",
        rows: "SELECT p.id, p.refunded AS amount, r.amount AS added, NULL AS subtracted
               FROM (SELECT id, refunded FROM invoice_payments WHERE id > $1 AND source <> 'balance'
                         AND LTRIM(CAST(refunded AS TEXT), '0') <> '' ORDER BY id LIMIT $2) p
               LEFT JOIN refunds r ON r.payment_id = p.id ORDER BY p.id",
        relation: Relation::Equal,
        amount: "what is refunded",
        parts: "its refunds",
    },
    // A failed refund stays reserved until the owner decides. A failed payout is returned to the balance.
    SumRule {
        title: "an intent's refunded amount is what its refunds and payouts reserve",
        rows: "SELECT i.id, i.amount_refunded AS amount, r.amount AS added, NULL AS subtracted
               FROM (SELECT id, amount_refunded FROM payment_intents WHERE id > $1 AND LTRIM(CAST(amount_refunded AS TEXT), '0') <> ''
                     ORDER BY id LIMIT $2) i
               LEFT JOIN refunds r ON r.intent_id = i.id AND
                   (r.status IN ('pending', 'succeeded') OR (r.status = 'failed' AND r.kind = 'refund')) ORDER BY i.id",
        relation: Relation::Equal,
        amount: "what is refunded",
        parts: "its refunds and payouts",
    },
    SumRule {
        title: "no intent refunds more than it received",
        rows: "SELECT id, amount_received AS amount, amount_refunded AS added, NULL AS subtracted FROM payment_intents
               WHERE id > $1 ORDER BY id LIMIT $2",
        relation: Relation::AtMost,
        amount: "what was received",
        parts: "what is refunded",
    },
];

pub(super) async fn check(checks: &mut Checks<'_>) -> Result<(), StorageError> {
    checks.check_sums(SUMS).await?;
    checks.check_rules(RULES).await
}
