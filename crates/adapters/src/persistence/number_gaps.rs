//! Gaps in the series of document numbers. The original of a restored store may have used the numbers that follow those of the backup, so
//! the restored store skips them. `souk verify` accepts recorded gaps only.

use super::{Connection, Row};
use souk_domain::operation::Restore;
use souk_domain::shared::{StorageError, Timestamp};

/// The least numbers that a restore skips in each series.
pub const NUMBERS_SKIPPED_MIN: u64 = 1_000;
/// The skipped numbers are at least this multiple of those that the store used in the same time before the backup.
const SAFETY: u64 = 3;

/// A series of numbers.
struct Series {
    livemode: bool,
    document: String,
    last: u64,
    /// The last number that the backup contains.
    backed_up: u64,
    /// The numbers that were used before the backup, in a span as long as the time since it.
    recent: u64,
}

/// `$1`: since when numbers are counted; `$2`: the restore. What was numbered after the restore is not counted.
const SERIES: &str = "WITH series AS (SELECT s.livemode, s.document, s.last_number,
          COALESCE((SELECT MIN(g.first_number) - 1 FROM number_gaps g
              WHERE g.livemode = s.livemode AND g.document = s.document AND g.restored_at = $2), s.last_number) AS backed_up
          FROM number_series s)
    SELECT s.livemode, s.document, s.last_number, s.backed_up,
        (SELECT COUNT(*) FROM invoices i WHERE i.livemode = s.livemode AND i.document = s.document AND i.number <= s.backed_up
             AND i.finalized_at > $1)
        + CASE WHEN s.document = 'credit_note'
               THEN (SELECT COUNT(*) FROM credit_notes n WHERE n.livemode = s.livemode AND n.number <= s.backed_up AND n.created_at > $1)
               ELSE 0 END AS recent
    FROM series s ORDER BY s.livemode, s.document";

/// Moves every series ahead of what the original can have used from the backup until `until`, and records the skipped numbers. Called again
/// for the same restore, it skips more if more time has passed; numbers that were used meanwhile stay.
pub(super) async fn skip_numbers(connection: &mut Connection, restore: &Restore, until: Timestamp) -> Result<(), StorageError> {
    let counted_since = restore.backup_at.minus(until.since(restore.backup_at));
    let rows = connection.query(SERIES).bind(counted_since).bind(restore.restored_at).all().await?;
    let series = |row: &Row| -> Result<Series, StorageError> {
        Ok(Series {
            livemode: row.get("livemode")?,
            document: row.get("document")?,
            last: row.get("last_number")?,
            backed_up: row.get("backed_up")?,
            recent: row.get("recent")?,
        })
    };
    for Series { livemode, document, last, backed_up, recent } in rows.iter().map(series).collect::<Result<Vec<_>, _>>()? {
        let skipped_to = backed_up.saturating_add(NUMBERS_SKIPPED_MIN.max(recent.saturating_mul(SAFETY)));
        if skipped_to <= last {
            continue;
        }
        // Locks the series: an import may be numbering documents at this moment.
        let lock = "UPDATE number_series SET last_number = last_number WHERE livemode = $1 AND document = $2 RETURNING last_number";
        let last: u64 = connection.query(lock).bind(livemode).bind(&document).one().await?.get("last_number")?;
        if skipped_to <= last {
            continue;
        }
        let insert = "INSERT INTO number_gaps (livemode, document, first_number, last_number, restored_at) VALUES ($1, $2, $3, $4, $5)";
        let query = connection.query(insert).bind(livemode).bind(&document).bind(last.saturating_add(1)).bind(skipped_to);
        query.bind(restore.restored_at).execute().await?;
        let update = "UPDATE number_series SET last_number = $1 WHERE livemode = $2 AND document = $3";
        connection.query(update).bind(skipped_to).bind(livemode).bind(&document).execute().await?;
    }
    Ok(())
}
