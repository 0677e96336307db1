//! Invariant 8: the used stock equals what was reserved or sold, and never exceeds the available stock. The amounts of a price that
//! something refers to are fixed.

use super::check::Checks;
use super::rule::{Rule, finding};
use souk_domain::shared::StorageError;

const RULES: &[Rule] = &[LOCKS, STOCK];

const LOCKS: Rule = Rule {
    title: "prices that something refers to are locked",
    of: "SELECT count(*) AS n FROM prices",
    broken: &[
        finding(
            "SELECT p.id FROM prices p WHERE p.locked = FALSE AND EXISTS
                 (SELECT 1 FROM payment_links l WHERE CAST(l.items AS TEXT) LIKE '%\"' || p.id || '\"%')",
            "is sold by a payment link but not locked",
        ),
        finding(
            "SELECT p.id FROM prices p WHERE p.locked = FALSE AND EXISTS
                 (SELECT 1 FROM checkout_sessions s WHERE s.status = 'open' AND CAST(s.items AS TEXT) LIKE '%\"' || p.id || '\"%')",
            "is sold by an open session but not locked",
        ),
        finding(
            "SELECT p.id FROM prices p WHERE p.locked = FALSE AND EXISTS
                 (SELECT 1 FROM prices s WHERE s.upsells_to = p.id AND s.locked = TRUE)",
            "is the upsell of a locked price but not locked",
        ),
        finding(
            "SELECT DISTINCT p.id FROM subscription_items i JOIN prices p ON p.id = i.price_id WHERE p.locked = FALSE",
            "is billed to a subscription but not locked",
        ),
        finding(
            "SELECT DISTINCT p.id FROM invoice_items i JOIN prices p ON p.id = i.price_id WHERE p.locked = FALSE",
            "is billed by an invoice but not locked",
        ),
    ],
    noted: &[],
};

const STOCK: Rule = Rule {
    title: "sold quantities match reservations and sales",
    of: "SELECT count(*) AS n FROM prices",
    broken: &[
        finding(
            "SELECT p.id FROM prices p LEFT JOIN
                 (SELECT COALESCE(s.stock_of, s.id) AS stock, SUM(h.quantity) AS quantity
                  FROM stock_reservations h JOIN prices s ON s.id = h.price_id WHERE h.state <> 'released'
                  GROUP BY COALESCE(s.stock_of, s.id)) taken ON taken.stock = p.id
             WHERE p.quantity_sold <> COALESCE(taken.quantity, 0)",
            "has a sold quantity that differs from the reservations and sales of its stock",
        ),
        finding("SELECT id FROM prices WHERE quantity_available > 0 AND quantity_sold > quantity_available", "is oversold"),
        finding(
            "SELECT h.session_id AS id FROM stock_reservations h LEFT JOIN checkout_sessions s ON s.id = h.session_id
             WHERE h.state = 'committed' AND (s.id IS NULL OR s.status <> 'complete')",
            "has sales but is not complete",
        ),
        finding(
            "SELECT h.session_id AS id FROM stock_reservations h JOIN checkout_sessions s ON s.id = h.session_id
             WHERE h.state = 'reserved' AND s.status <> 'open'",
            "has ended but still reserves stock",
        ),
    ],
    noted: &[],
};

pub(super) async fn check(checks: &mut Checks<'_>) -> Result<(), StorageError> {
    checks.check_rules(RULES).await
}
