//! Subscriptions: their status fits their invoices, and the engine will come back to each that runs.

use super::check::Checks;
use super::rule::{Rule, finding};
use souk_domain::shared::StorageError;

const RULES: &[Rule] = &[
    Rule {
        title: "subscriptions' status fits their invoices",
        of: "SELECT count(*) AS n FROM subscriptions",
        broken: &[
            finding(
                "SELECT s.id FROM subscriptions s WHERE s.status = 'past_due' AND NOT EXISTS
                     (SELECT 1 FROM invoices i WHERE i.subscription_id = s.id AND i.status = 'uncollectible')",
                "is past due and owes nothing",
            ),
            finding(
                // What a lost dispute leaves is owed by the customer, and ends no subscription.
                "SELECT s.id FROM subscriptions s WHERE s.status IN ('active', 'trialing') AND EXISTS
                     (SELECT 1 FROM invoices i WHERE i.subscription_id = s.id AND i.status = 'uncollectible' AND NOT EXISTS
                          (SELECT 1 FROM invoice_payments p JOIN disputes d ON d.intent_id = p.intent_id WHERE p.invoice_id = i.id))",
                "owes and is not past due",
            ),
            finding(
                "SELECT id FROM subscriptions WHERE (status = 'past_due' AND past_due_since IS NULL)
                     OR (status IN ('active', 'trialing') AND past_due_since IS NOT NULL)",
                "has no time since which it owes, or one though it owes nothing",
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
        title: "a stake on its way has an open attempt",
        of: "SELECT count(*) AS n FROM subscriptions WHERE stake ->> 'status' IN ('returning', 'slashing')",
        broken: &[finding(
            "SELECT s.id FROM subscriptions s WHERE s.stake ->> 'status' IN ('returning', 'slashing') AND NOT EXISTS
                 (SELECT 1 FROM attempts a WHERE a.subject = s.id AND a.status IN ('open', 'unknown')
                      AND a.purpose = CASE s.stake ->> 'status' WHEN 'slashing' THEN 'slash' ELSE 'return_stake' END)",
            "has a stake that no attempt moves",
        )],
        noted: &[],
    },
    Rule {
        title: "every subscription that runs is due again",
        of: "SELECT count(*) AS n FROM subscriptions WHERE status <> 'canceled'",
        broken: &[
            finding(
                "SELECT id FROM subscriptions WHERE due_at IS NULL AND parked IS NULL AND status IN ('trialing', 'active', 'past_due')",
                "is never due again",
            ),
            finding(
                // A subscription that is about to be ended waits for payments in flight.
                "SELECT s.id FROM subscriptions s WHERE s.parked IS NULL AND s.due_at > s.period_end AND (s.status IN ('trialing', 'active')
                     OR (s.status = 'past_due' AND NOT EXISTS
                         (SELECT 1 FROM invoices i WHERE i.subscription_id = s.id AND i.status = 'uncollectible')))",
                "is due after the end of its period",
            ),
        ],
        noted: &[finding("SELECT id || ' (' || parked || ': ' || COALESCE(parked_detail, '') || ')' AS id FROM subscriptions WHERE parked IS NOT NULL", "is parked")],
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
