//! No orphans, and invariant 9: nothing of one mode refers to anything of the other.

use super::check::Checks;
use super::rule::Rule;
use souk_domain::shared::StorageError;

/// Rows of a table whose column names nothing, or something of the other mode.
macro_rules! names {
    ($table:literal, $column:literal, $target:literal) => {
        (
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
            concat!("of ", $table, " names no ", $column, " of its mode"),
        )
    };
}

/// Attempts of a purpose whose subject is not there, or belongs to the other mode than the method.
macro_rules! attempts {
    ($purposes:literal, $target:literal) => {
        (
            concat!(
                "SELECT a.id FROM attempts a LEFT JOIN ",
                $target,
                " t ON t.id = a.subject LEFT JOIN payment_methods m ON m.id = a.method_id",
                " WHERE a.purpose IN (",
                $purposes,
                ") AND (t.id IS NULL OR m.id IS NULL OR t.livemode <> m.livemode)"
            ),
            concat!("of attempts is for nothing in ", $target, " of its mode"),
        )
    };
}

const RULES: &[Rule] = &[
    Rule {
        title: "invoices refer to what is there, in their mode",
        of: "SELECT count(*) AS n FROM invoices",
        broken: &[
            names!("invoices", "customer_id", "customers"),
            names!("invoices", "currency_id", "currencies"),
            names!("invoices", "method_id", "payment_methods"),
            names!("invoices", "session_id", "checkout_sessions"),
            names!("invoices", "subscription_id", "subscriptions"),
            names!("invoices", "intent_id", "payment_intents"),
            (
                "SELECT l.id FROM invoice_items l LEFT JOIN invoices i ON i.id = l.invoice_id WHERE i.id IS NULL",
                "of invoice_items has no invoice",
            ),
            (
                "SELECT i.id FROM invoices i JOIN currencies c ON c.id = i.currency_id WHERE c.method_id <> i.method_id",
                "of invoices is in a currency of another method",
            ),
        ],
        noted: &[],
    },
    Rule {
        title: "payments and attempts refer to what is there, in their mode",
        of: "SELECT count(*) AS n FROM attempts",
        broken: &[
            names!("payment_intents", "customer_id", "customers"),
            names!("payment_intents", "currency_id", "currencies"),
            names!("payment_intents", "method_id", "payment_methods"),
            names!("payment_intents", "session_id", "checkout_sessions"),
            names!("payment_intents", "subscription_id", "subscriptions"),
            attempts!("'payment'", "payment_intents"),
            attempts!("'mandate'", "mandates"),
            (
                "SELECT a.id FROM attempts a LEFT JOIN subscriptions t ON t.id = a.subject
                     LEFT JOIN checkout_sessions c ON c.id = a.session_id AND c.status <> 'complete'
                     LEFT JOIN payment_methods m ON m.id = a.method_id
                 WHERE a.purpose IN ('stake', 'return_stake', 'slash')
                     AND (m.id IS NULL OR (t.id IS NULL AND c.id IS NULL) OR t.livemode <> m.livemode)",
                "of attempts is for no subscription of its mode, begun or asked for",
            ),
            attempts!("'refund'", "refunds"),
            attempts!("'recharge'", "subscriptions"),
            (
                "SELECT c.attempt_id AS id FROM attempt_invoices c LEFT JOIN attempts a ON a.id = c.attempt_id
                     LEFT JOIN invoices i ON i.id = c.invoice_id WHERE a.id IS NULL OR i.id IS NULL",
                "of attempt_invoices covers nothing",
            ),
        ],
        noted: &[],
    },
    Rule {
        title: "subscriptions, mandates and refunds refer to what is there, in their mode",
        of: "SELECT count(*) AS n FROM subscriptions",
        broken: &[
            names!("subscriptions", "customer_id", "customers"),
            names!("subscriptions", "currency_id", "currencies"),
            names!("subscriptions", "method_id", "payment_methods"),
            names!("subscriptions", "mandate_id", "mandates"),
            names!("subscriptions", "session_id", "checkout_sessions"),
            names!("subscriptions", "latest_invoice_id", "invoices"),
            names!("mandates", "customer_id", "customers"),
            names!("mandates", "method_id", "payment_methods"),
            names!("refunds", "customer_id", "customers"),
            names!("refunds", "currency_id", "currencies"),
            names!("refunds", "method_id", "payment_methods"),
            names!("refunds", "intent_id", "payment_intents"),
            names!("refunds", "invoice_id", "invoices"),
            names!("refunds", "subscription_id", "subscriptions"),
            (
                "SELECT l.id FROM subscription_items l JOIN subscriptions s ON s.id = l.subscription_id
                     LEFT JOIN prices p ON p.id = l.price_id WHERE p.id IS NULL OR p.livemode <> s.livemode",
                "of subscription_items has no price of its mode",
            ),
            (
                "SELECT s.id FROM subscriptions s WHERE NOT EXISTS (SELECT 1 FROM subscription_items l WHERE l.subscription_id = s.id)",
                "of subscriptions has no items",
            ),
        ],
        noted: &[],
    },
    Rule {
        title: "checkouts, prices and currencies refer to what is there, in their mode",
        of: "SELECT count(*) AS n FROM checkout_sessions",
        broken: &[
            names!("checkout_sessions", "customer_id", "customers"),
            names!("checkout_sessions", "currency_id", "currencies"),
            names!("checkout_sessions", "method_id", "payment_methods"),
            names!("checkout_sessions", "intent_id", "payment_intents"),
            names!("checkout_sessions", "invoice_id", "invoices"),
            names!("prices", "product_id", "products"),
            names!("currencies", "method_id", "payment_methods"),
        ],
        noted: &[],
    },
];

pub(super) async fn check(checks: &mut Checks<'_>) -> Result<(), StorageError> {
    checks.follow(RULES).await
}
