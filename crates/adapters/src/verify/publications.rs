//! The public log of publications: its chain of hashes is whole, and it says what the store offers.

use super::check::{Check, Checks};
use super::rule::{Rule, finding};
use crate::persistence::{hash_of, read_entries};
use souk_domain::publishing::publication_log::FIRST_PREVIOUS_HASH;
use souk_domain::shared::StorageError;

/// The number of entries held in memory at once.
const PAGE: u32 = 1_000;

/// Selects the newest entry with one of two actions about a row; `$otherwise` if there is none.
macro_rules! newest {
    ($condition:literal, $done:literal, $undone:literal) => {
        concat!(
            "COALESCE((SELECT l.action FROM publication_log l WHERE ",
            $condition,
            " AND l.action IN ('",
            $done,
            "', '",
            $undone,
            "') ORDER BY l.sequence DESC LIMIT 1), '",
            $undone,
            "') = '",
            $done,
            "'"
        )
    };
}

const STATES: Rule = Rule {
    title: "the log of publications says what the store offers",
    of: "SELECT count(*) AS n FROM uploaded_versions",
    broken: &[
        finding(
            "SELECT v.app || ' ' || v.version AS id FROM uploaded_versions v WHERE (v.status = 'PUBLISHED') <>
                 (1 = (SELECT count(*) FROM publication_log l WHERE l.app = v.app AND l.version = v.version AND l.action = 'publish'))",
            "is published but not once in the log, or the other way round",
        ),
        finding(
            concat!(
                "SELECT v.app || ' ' || v.version AS id FROM uploaded_versions v WHERE (v.yanked_by IS NOT NULL) <> (",
                newest!("l.app = v.app AND l.version = v.version", "yank", "undo_yank"), ")"
            ),
            "is yanked but not in the log, or the other way round",
        ),
        finding(
            concat!(
                "SELECT a.did AS id FROM uploaded_apps a WHERE EXISTS (SELECT 1 FROM publication_log p WHERE p.app = a.did)
                 AND (a.block_reason IS NOT NULL) <> (",
                newest!("l.app = a.did", "block", "unblock"), ")"
            ),
            "is blocked but not in the log, or the other way round",
        ),
        finding(
            "SELECT a.did AS id FROM uploaded_apps a WHERE a.rolled_back_to IS NOT NULL AND a.rolled_back_to <>
                 COALESCE((SELECT l.version FROM publication_log l WHERE l.app = a.did AND l.action = 'rollback'
                           ORDER BY l.sequence DESC LIMIT 1), '')",
            "is rolled back to another version than the log says",
        ),
        finding(
            "SELECT l.app || ' ' || l.version AS id FROM publication_log l JOIN uploaded_versions v ON v.app = l.app AND v.version = l.version
             WHERE l.document <> v.document",
            "has another document than the log says",
        ),
        finding(
            "SELECT l.app || ' ' || l.version AS id FROM publication_log l LEFT JOIN uploaded_versions v ON v.app = l.app AND v.version = l.version
             WHERE l.version IS NOT NULL AND v.id IS NULL",
            "is in the log but does not exist",
        ),
        finding(
            "SELECT v.app || ' ' || v.version AS id FROM uploaded_versions v JOIN app_versions c ON c.id = v.id
             WHERE c.is_yanked <> (v.yanked_by IS NOT NULL)",
            "is yanked but offered by the catalogue, or the other way round",
        ),
        finding(
            "SELECT a.did AS id FROM uploaded_apps a JOIN apps c ON c.did = a.did
             WHERE (a.block_reason IS NOT NULL) <> (c.availability = 'blocked')",
            "is blocked but offered by the catalogue, or the other way round",
        ),
        finding(
            "SELECT a.did AS id FROM uploaded_apps a JOIN apps c ON c.did = a.did WHERE a.is_private = c.is_listed",
            "is private but listed, or the other way round",
        ),
    ],
    noted: &[],
};

pub(super) async fn check(checks: &mut Checks<'_>) -> Result<(), StorageError> {
    check_chain(checks).await?;
    checks.check_rules(&[STATES]).await
}

async fn check_chain(checks: &mut Checks<'_>) -> Result<(), StorageError> {
    let mut check = Check::of("the hashes of the log of publications form a chain");
    let mut previous = FIRST_PREVIOUS_HASH.to_owned();
    loop {
        let page = read_entries(&mut checks.connection, check.of, PAGE).await?;
        if page.is_empty() {
            break;
        }
        for entry in page {
            let sequence = check.of + 1;
            if entry.sequence != sequence {
                check.breaches.push(format!("entry {} comes after a gap", entry.sequence));
            }
            if entry.previous != previous {
                check.breaches.push(format!("entry {} does not contain the hash of the one before it", entry.sequence));
            }
            if entry.hash != hash_of(&entry.fact, entry.sequence, &entry.previous) {
                check.breaches.push(format!("entry {} was changed", entry.sequence));
            }
            check.of = entry.sequence;
            previous = entry.hash;
        }
    }
    let head = checks.connection.query("SELECT sequence, hash FROM publication_log_head WHERE id = 1").optional().await?;
    let (sequence, hash) = match &head {
        Some(head) => (head.get("sequence")?, head.get("hash")?),
        None => (0_u64, FIRST_PREVIOUS_HASH.to_owned()),
    };
    if sequence != check.of || hash != previous {
        check.breaches.push("the newest entry is missing".to_owned());
    }
    checks.report(check);
    Ok(())
}
