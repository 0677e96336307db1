//! Invariant 11: numbers are assigned on finalization, without gaps, in one series per mode and type of document.

use super::check::Checks;
use super::rule::{Rule, finding};
use souk_domain::shared::StorageError;

/// Selects all documents that have a number, of every type.
macro_rules! numbered {
    ($rest:literal) => {
        concat!(
            "WITH numbered AS (SELECT id, livemode, document, number FROM invoices WHERE number IS NOT NULL
                 UNION ALL SELECT id, livemode, 'credit_note', number FROM credit_notes) ",
            $rest
        )
    };
}

const RULES: &[Rule] = &[Rule {
    title: "numbers of invoices, credit notes and statements have neither gaps nor duplicates",
    of: numbered!("SELECT count(*) AS n FROM numbered"),
    broken: &[
        finding(
            numbered!(
                "SELECT id FROM (SELECT id, number, LAG(number) OVER (PARTITION BY livemode, document ORDER BY number) AS before FROM numbered) n
                 WHERE number > COALESCE(before, 0) + 1"
            ),
            "comes after a gap in the numbers",
        ),
        finding(
            numbered!("SELECT MIN(id) AS id FROM numbered GROUP BY livemode, document, number HAVING count(*) > 1"),
            "shares its number",
        ),
        finding(numbered!("SELECT id FROM numbered WHERE number < 1"), "has a number below 1"),
        finding(
            numbered!(
                "SELECT s.document || ' of ' || CASE WHEN s.livemode THEN 'live' ELSE 'test' END AS id FROM number_series s
                 WHERE s.last_number <> COALESCE((SELECT MAX(n.number) FROM numbered n WHERE n.livemode = s.livemode AND n.document = s.document), 0)"
            ),
            "mode: the series is not at its last number",
        ),
        finding("SELECT id FROM invoices WHERE status IN ('open', 'paid', 'uncollectible') AND number IS NULL", "has no number"),
        finding("SELECT id FROM invoices WHERE status = 'draft' AND number IS NOT NULL", "is a draft with a number"),
    ],
    noted: &[],
}];

pub(super) async fn check(checks: &mut Checks<'_>) -> Result<(), StorageError> {
    checks.check_rules(RULES).await
}
