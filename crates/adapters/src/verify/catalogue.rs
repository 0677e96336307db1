//! Invariant 8: the used stock equals what was reserved or sold, and never exceeds the available stock.

use super::check::Checks;
use super::rule::{Rule, finding};
use souk_domain::shared::StorageError;

const RULES: &[Rule] = &[Rule {
    title: "sold quantities match reservations and sales",
    of: "SELECT count(*) AS n FROM prices",
    broken: &[
        finding(
            "SELECT p.id FROM prices p WHERE p.quantity_sold <>
                 COALESCE((SELECT SUM(h.quantity) FROM stock_reservations h WHERE h.price_id = p.id AND h.state <> 'released'), 0)",
            "has a sold quantity that differs from its reservations and sales",
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
}];

pub(super) async fn check(checks: &mut Checks<'_>) -> Result<(), StorageError> {
    checks.check_rules(RULES).await
}
