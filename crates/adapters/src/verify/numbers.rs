//! Invariant 11: numbers without gaps, one series for each mode, given with the end of being a draft.

use super::check::Checks;
use super::rule::Rule;
use souk_domain::shared::StorageError;

const RULES: &[Rule] = &[Rule {
    title: "invoice numbers have neither gaps nor doubles",
    of: "SELECT count(*) AS n FROM invoices WHERE number IS NOT NULL",
    broken: &[
        (
            "SELECT i.id FROM invoices i WHERE i.number > 1 AND NOT EXISTS
                 (SELECT 1 FROM invoices b WHERE b.livemode = i.livemode AND b.number = i.number - 1)",
            "comes after a gap in the numbers",
        ),
        ("SELECT MIN(id) AS id FROM invoices WHERE number IS NOT NULL GROUP BY livemode, number HAVING count(*) > 1", "shares its number"),
        ("SELECT id FROM invoices WHERE number < 1", "has a number below 1"),
        (
            "SELECT CASE WHEN s.livemode THEN 'live' ELSE 'test' END AS id FROM invoice_series s WHERE s.last_number <>
                 COALESCE((SELECT MAX(i.number) FROM invoices i WHERE i.livemode = s.livemode), 0)",
            "mode's series is not at its last invoice",
        ),
        ("SELECT id FROM invoices WHERE status IN ('open', 'paid', 'uncollectible') AND number IS NULL", "has no number"),
        ("SELECT id FROM invoices WHERE status = 'draft' AND number IS NOT NULL", "is a draft with a number"),
    ],
    noted: &[],
}];

pub(super) async fn check(checks: &mut Checks<'_>) -> Result<(), StorageError> {
    checks.follow(RULES).await
}
