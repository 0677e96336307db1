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
    title: "numbers of invoices, credit notes and statements have no duplicates, and no gaps except those of restores",
    of: numbered!("SELECT count(*) AS n FROM numbered"),
    broken: &[
        finding(
            numbered!(
                "SELECT id FROM (SELECT id, livemode, document, number,
                     COALESCE(LAG(number) OVER (PARTITION BY livemode, document ORDER BY number), 0) AS before FROM numbered) n
                 WHERE number > before AND number - before - 1 <> COALESCE((SELECT SUM(g.last_number - g.first_number + 1) FROM number_gaps g
                     WHERE g.livemode = n.livemode AND g.document = n.document
                       AND g.first_number > n.before AND g.last_number < n.number), 0)"
            ),
            "comes after a gap in the numbers",
        ),
        finding(
            numbered!(
                "SELECT n.id FROM numbered n JOIN number_gaps g ON g.livemode = n.livemode AND g.document = n.document
                 AND n.number BETWEEN g.first_number AND g.last_number"
            ),
            "has a number that a restore has skipped",
        ),
        finding(
            numbered!("SELECT MIN(id) AS id FROM numbered GROUP BY livemode, document, number HAVING count(*) > 1"),
            "shares its number",
        ),
        finding(numbered!("SELECT id FROM numbered WHERE number < 1"), "has a number below 1"),
        finding(
            numbered!(
                "SELECT s.document || ' of ' || CASE WHEN s.livemode THEN 'live' ELSE 'test' END AS id FROM number_series s
                 WHERE s.last_number <> COALESCE((SELECT MAX(n.number) FROM (
                     SELECT number, livemode, document FROM numbered UNION ALL SELECT last_number, livemode, document FROM number_gaps) n
                     WHERE n.livemode = s.livemode AND n.document = s.document), 0)"
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
