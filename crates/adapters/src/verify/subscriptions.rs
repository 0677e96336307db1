//! Subscriptions: their status matches their invoices, and each running one has a time when it is due.

use super::check::Checks;
use super::rule::{Rule, finding};
use souk_domain::shared::StorageError;

const RULES: &[Rule] = &[
    Rule {
        title: "subscription statuses match their invoices",
        of: "SELECT count(*) AS n FROM subscriptions",
        broken: &[
            finding(
                "SELECT s.id FROM subscriptions s WHERE s.status = 'past_due' AND NOT EXISTS
                     (SELECT 1 FROM invoices i WHERE i.subscription_id = s.id AND i.status = 'uncollectible')",
                "is past due without an overdue invoice",
            ),
            finding(
                "SELECT s.id FROM subscriptions s WHERE s.status IN ('active', 'trialing') AND EXISTS
                     (SELECT 1 FROM invoices i WHERE i.subscription_id = s.id AND i.status = 'uncollectible')",
                "has an overdue invoice but is not past due",
            ),
            finding(
                "SELECT id FROM subscriptions WHERE (status = 'past_due' AND past_due_since IS NULL)
                     OR (status IN ('active', 'trialing') AND past_due_since IS NOT NULL)",
                "has a past-due date that doesn't match its status",
            ),
            finding(
                "SELECT id FROM subscriptions WHERE (status = 'canceled' AND ended_at IS NULL)
                     OR (status <> 'canceled' AND ended_at IS NOT NULL)",
                "has another end than its status",
            ),
            finding(
                "SELECT i.id FROM invoices i JOIN subscriptions s ON s.id = i.subscription_id WHERE i.status = 'open' AND NOT EXISTS
                     (SELECT 1 FROM attempt_invoices c WHERE c.invoice_id = i.id AND c.open) AND i.reason IN ('subscription_cycle', 'subscription_cancel')",
                "is open, and no attempt collects it",
            ),
        ],
        noted: &[],
    },
    Rule {
        title: "reserved stakes have an open attempt, and released stakes are processed",
        of: "SELECT count(*) AS n FROM stakes",
        broken: &[
            finding(
                "SELECT s.id FROM stakes s WHERE s.reserved_by IS NOT NULL AND NOT EXISTS
                     (SELECT 1 FROM attempts a WHERE a.id = s.reserved_by AND a.subject = s.id AND a.amount = s.amount_reserved
                          AND a.status IN ('open', 'unknown')
                          AND a.purpose = CASE s.reserved_for WHEN 'forfeit' THEN 'slash' ELSE 'return_stake' END)",
                "is reserved by no open attempt",
            ),
            finding(
                "SELECT a.id FROM attempts a JOIN stakes s ON s.id = a.subject WHERE a.status IN ('open', 'unknown')
                     AND a.purpose IN ('slash', 'return_stake') AND (s.reserved_by IS NULL OR s.reserved_by <> a.id)",
                "moves a stake that it has not reserved",
            ),
            finding(
                // A stake that was revoked while its subscriptions run is monitored, and returned after they have ended.
                "SELECT id FROM stakes WHERE status = 'releasing' AND reserved_by IS NULL AND return_at IS NULL
                     AND (release_reason <> 'revoked' OR purpose = 'overdraft')",
                "is released but not scheduled",
            ),
            finding(
                "SELECT s.id FROM stakes s WHERE s.status = 'held' AND s.purpose = 'security' AND NOT EXISTS
                     (SELECT 1 FROM subscriptions n WHERE n.stake_id = s.id AND n.status <> 'canceled') AND NOT EXISTS
                     (SELECT 1 FROM checkout_sessions c WHERE c.stake_id = s.id AND c.status = 'open')",
                "is held but secures no subscription",
            ),
        ],
        noted: &[finding(
            "SELECT id FROM stakes WHERE failure_count > 5 AND status <> 'final'",
            "is repeatedly declined by its network",
        )],
    },
    Rule {
        title: "every active subscription has a due time",
        of: "SELECT count(*) AS n FROM subscriptions WHERE status <> 'canceled'",
        broken: &[
            finding(
                "SELECT id FROM subscriptions WHERE due_at IS NULL AND on_hold IS NULL AND status IN ('trialing', 'active', 'past_due')",
                "has no due time",
            ),
            finding(
                // A subscription that is about to end waits for payments in flight.
                "SELECT s.id FROM subscriptions s WHERE s.on_hold IS NULL AND s.due_at > s.period_end AND (s.status IN ('trialing', 'active')
                     OR (s.status = 'past_due' AND NOT EXISTS
                         (SELECT 1 FROM invoices i WHERE i.subscription_id = s.id AND i.status = 'uncollectible')))",
                "is due after the end of its period",
            ),
        ],
        noted: &[finding("SELECT id || ' (' || on_hold || ': ' || COALESCE(on_hold_detail, '') || ')' AS id FROM subscriptions WHERE on_hold IS NOT NULL", "is on hold")],
    },
    Rule {
        title: "messages are delivered",
        of: "SELECT count(*) AS n FROM outbox",
        broken: &[],
        noted: &[finding(
            "SELECT id || ' (' || topic || ': ' || COALESCE(last_error, '') || ')' AS id FROM outbox WHERE dead_at IS NOT NULL",
            "is a dead letter",
        )],
    },
];

pub(super) async fn check(checks: &mut Checks<'_>) -> Result<(), StorageError> {
    checks.check_rules(RULES).await
}
