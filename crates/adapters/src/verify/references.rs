//! References point to existing rows and, by invariant 9, to rows of the same mode.

use super::check::Checks;
use super::rule::{Rule, finding};
use souk_domain::shared::StorageError;

/// Finds rows whose column references no row, or a row of the other mode.
macro_rules! refers {
    ($table:literal, $column:literal, $target:literal) => {
        finding(
            concat!(
                "SELECT c.id FROM ",
                $table,
                " c LEFT JOIN ",
                $target,
                " t ON t.id = c.",
                $column,
                " WHERE c.",
                $column,
                " IS NOT NULL AND (t.id IS NULL OR t.livemode <> c.livemode)"
            ),
            concat!("of ", $table, " refers to no ", $column, " of its mode"),
        )
    };
}

/// Finds attempts of a purpose whose subject does not exist, or whose subject and method have different modes.
macro_rules! attempts {
    ($purposes:literal, $target:literal) => {
        finding(
            concat!(
                "SELECT a.id FROM attempts a LEFT JOIN ",
                $target,
                " t ON t.id = a.subject LEFT JOIN payment_methods m ON m.id = a.method_id",
                " WHERE a.purpose IN (",
                $purposes,
                ") AND (t.id IS NULL OR m.id IS NULL OR t.livemode <> m.livemode)"
            ),
            concat!("of attempts is for no row of ", $target, " of its mode"),
        )
    };
}

const RULES: &[Rule] = &[
    Rule {
        title: "invoices refer to rows of their mode",
        of: "SELECT count(*) AS n FROM invoices",
        broken: &[
            refers!("invoices", "customer_id", "customers"),
            refers!("invoices", "currency_id", "currencies"),
            refers!("invoices", "method_id", "payment_methods"),
            refers!("invoices", "session_id", "checkout_sessions"),
            refers!("invoices", "subscription_id", "subscriptions"),
            refers!("invoices", "intent_id", "payment_intents"),
            finding(
                "SELECT l.id FROM invoice_items l LEFT JOIN invoices i ON i.id = l.invoice_id WHERE i.id IS NULL",
                "of invoice_items has no invoice",
            ),
            finding(
                "SELECT p.id FROM invoice_payments p LEFT JOIN invoices i ON i.id = p.invoice_id WHERE i.id IS NULL",
                "of invoice_payments has no invoice",
            ),
            finding(
                "SELECT l.id FROM invoice_items l LEFT JOIN subscription_items s ON s.id = l.subscription_item_id
                     JOIN invoices i ON i.id = l.invoice_id
                 WHERE l.subscription_item_id IS NOT NULL AND s.subscription_id <> i.subscription_id",
                "of invoice_items bills an item of another subscription",
            ),
            finding(
                "SELECT i.id FROM invoices i JOIN currencies c ON c.id = i.currency_id WHERE c.method_id <> i.method_id",
                "of invoices is in a currency of another method",
            ),
        ],
        noted: &[],
    },
    Rule {
        title: "payments and attempts refer to rows of their mode",
        of: "SELECT count(*) AS n FROM attempts",
        broken: &[
            refers!("payment_intents", "customer_id", "customers"),
            refers!("payment_intents", "currency_id", "currencies"),
            refers!("payment_intents", "method_id", "payment_methods"),
            refers!("payment_intents", "session_id", "checkout_sessions"),
            refers!("payment_intents", "subscription_id", "subscriptions"),
            attempts!("'payment'", "payment_intents"),
            attempts!("'mandate'", "mandates"),
            finding(
                "SELECT a.id FROM attempts a LEFT JOIN stakes t ON t.id = a.subject LEFT JOIN payment_methods m ON m.id = a.method_id
                 WHERE a.purpose IN ('stake', 'return_stake', 'slash') AND (m.id IS NULL OR t.id IS NULL OR t.livemode <> m.livemode)",
                "of attempts is for no stake of its mode",
            ),
            attempts!("'refund'", "refunds"),
            attempts!("'recharge'", "subscriptions"),
            finding(
                "SELECT c.attempt_id AS id FROM attempt_invoices c LEFT JOIN attempts a ON a.id = c.attempt_id
                     LEFT JOIN invoices i ON i.id = c.invoice_id WHERE a.id IS NULL OR i.id IS NULL",
                "of attempt_invoices covers no invoice",
            ),
        ],
        noted: &[],
    },
    Rule {
        title: "subscriptions, mandates, refunds, credit notes and disputes refer to rows of their mode",
        of: "SELECT count(*) AS n FROM subscriptions",
        broken: &[
            refers!("subscriptions", "customer_id", "customers"),
            refers!("subscriptions", "currency_id", "currencies"),
            refers!("subscriptions", "method_id", "payment_methods"),
            refers!("subscriptions", "mandate_id", "mandates"),
            refers!("subscriptions", "session_id", "checkout_sessions"),
            refers!("subscriptions", "latest_invoice_id", "invoices"),
            refers!("mandates", "customer_id", "customers"),
            refers!("mandates", "method_id", "payment_methods"),
            refers!("refunds", "customer_id", "customers"),
            refers!("refunds", "currency_id", "currencies"),
            refers!("refunds", "method_id", "payment_methods"),
            refers!("refunds", "intent_id", "payment_intents"),
            refers!("refunds", "invoice_id", "invoices"),
            refers!("refunds", "subscription_id", "subscriptions"),
            refers!("refunds", "credit_note_id", "credit_notes"),
            refers!("credit_notes", "customer_id", "customers"),
            refers!("credit_notes", "currency_id", "currencies"),
            refers!("credit_notes", "method_id", "payment_methods"),
            refers!("credit_notes", "invoice_id", "invoices"),
            refers!("credit_notes", "subscription_id", "subscriptions"),
            refers!("balance_transactions", "customer_id", "customers"),
            refers!("balance_transactions", "currency_id", "currencies"),
            refers!("disputes", "customer_id", "customers"),
            refers!("disputes", "currency_id", "currencies"),
            refers!("disputes", "fee_currency_id", "currencies"),
            refers!("disputes", "method_id", "payment_methods"),
            refers!("disputes", "intent_id", "payment_intents"),
            finding(
                "SELECT l.id FROM subscription_items l JOIN subscriptions s ON s.id = l.subscription_id
                     LEFT JOIN prices p ON p.id = l.price_id WHERE p.id IS NULL OR p.livemode <> s.livemode",
                "of subscription_items has no price of its mode",
            ),
            finding(
                "SELECT s.id FROM subscriptions s WHERE NOT EXISTS (SELECT 1 FROM subscription_items l WHERE l.subscription_id = s.id)",
                "of subscriptions has no items",
            ),
        ],
        noted: &[],
    },
    Rule {
        title: "checkouts, prices and currencies refer to rows of their mode",
        of: "SELECT count(*) AS n FROM checkout_sessions",
        broken: &[
            refers!("checkout_sessions", "customer_id", "customers"),
            refers!("checkout_sessions", "currency_id", "currencies"),
            refers!("checkout_sessions", "method_id", "payment_methods"),
            refers!("checkout_sessions", "intent_id", "payment_intents"),
            refers!("checkout_sessions", "invoice_id", "invoices"),
            refers!("prices", "product_id", "products"),
            refers!("currencies", "method_id", "payment_methods"),
        ],
        noted: &[],
    },
];

pub(super) async fn check(checks: &mut Checks<'_>) -> Result<(), StorageError> {
    checks.check_rules(RULES).await
}
