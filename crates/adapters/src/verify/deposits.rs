//! Deposits of developers: they agree with the passports and apps that they secure, and nobody is a developer whom the store has blocked.

use super::check::Checks;
use super::rule::{Rule, finding};
use souk_domain::shared::StorageError;

// The subject of these stakes is `developer:` or `app:` and a DID.
const RULES: &[Rule] = &[Rule {
    title: "deposits of developers match their passports and apps",
    of: "SELECT count(*) AS n FROM stakes WHERE purpose IN ('membership', 'publication')",
    broken: &[
        finding(
            "SELECT p.id FROM passports p LEFT JOIN stakes s ON s.id = p.stake_id AND s.purpose = 'membership' AND s.status = 'held'
                 AND s.subject = 'developer:' || p.holder
             WHERE p.stake_id IS NOT NULL AND p.revoked_at IS NULL AND s.id IS NULL",
            "is valid without its deposit",
        ),
        finding(
            "SELECT s.id FROM stakes s WHERE s.purpose = 'membership' AND s.status = 'held' AND s.amount >= s.amount_requested
                 AND LTRIM(CAST(s.amount_forfeited AS TEXT), '0') = '' AND LTRIM(CAST(s.amount_returned AS TEXT), '0') = ''
                 AND NOT EXISTS (SELECT 1 FROM passports p WHERE p.stake_id = s.id AND p.revoked_at IS NULL)",
            "is held for a passport that does not exist",
        ),
        finding(
            "SELECT s.id FROM stakes s WHERE (s.purpose = 'membership') <> (s.subject LIKE 'developer:%')
                 OR (s.purpose = 'publication') <> (s.subject LIKE 'app:%')",
            "is for an object that does not fit its purpose",
        ),
        finding(
            "SELECT s.id FROM stakes s LEFT JOIN users u ON u.did = SUBSTR(s.subject, 11)
             WHERE s.purpose = 'membership' AND (u.did IS NULL OR s.payer <> u.did)",
            "is for no user, or was paid by another one",
        ),
        finding(
            "SELECT s.id FROM stakes s LEFT JOIN uploaded_apps a ON a.did = SUBSTR(s.subject, 5)
             WHERE s.purpose = 'publication' AND (a.did IS NULL OR s.payer <> a.owner)",
            "is for no app, or was not paid by its developer",
        ),
        finding(
            "SELECT p.id FROM passports p JOIN users u ON u.did = p.holder WHERE p.revoked_at IS NULL AND u.blocked_at IS NOT NULL",
            "is valid although its holder is blocked",
        ),
    ],
    noted: &[finding(
        "SELECT a.did AS id FROM uploaded_apps a WHERE a.block_reason IS NULL
             AND EXISTS (SELECT 1 FROM uploaded_versions v WHERE v.app = a.did AND v.status = 'PUBLISHED' AND v.yanked_by IS NULL)
             AND EXISTS (SELECT 1 FROM stakes s
                         WHERE s.subject = 'app:' || a.did AND s.status = 'releasing' AND s.release_reason = 'revoked')
             AND NOT EXISTS (SELECT 1 FROM stakes s WHERE s.subject = 'app:' || a.did AND s.status = 'held')",
        "is offered although its deposit was revoked",
    )],
}];

pub(super) async fn check(checks: &mut Checks<'_>) -> Result<(), StorageError> {
    checks.check_rules(RULES).await
}
