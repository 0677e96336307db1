//! Gaps in the series of document numbers. The original of a restored store may have used the numbers that follow those of the backup, so
//! the restored store skips them. `souk verify` accepts recorded gaps only.

use super::{Connection, Row};
use souk_domain::shared::{StorageError, Timestamp};
use std::time::Duration;

/// The least numbers that a restore skips in each series.
pub const NUMBERS_SKIPPED_MIN: u64 = 1_000;
/// The skipped numbers are at least this multiple of those that the store used in the same time before the backup.
const SAFETY: u64 = 3;

/// A series of numbers.
struct Series {
    livemode: bool,
    document: String,
    last: u64,
    /// The numbers that were used in as much time before the backup as has passed since.
    recent: u64,
}

/// Moves every series ahead of what the original can have used since the backup, and records the skipped numbers. `since_backup`: the time
/// from the backup to the restore.
pub async fn skip_numbers(connection: &mut Connection, backup_at: Timestamp, restored_at: Timestamp) -> Result<(), StorageError> {
    let since_backup: Duration = restored_at.since(backup_at);
    let select = "SELECT s.livemode, s.document, s.last_number,
          (SELECT COUNT(*) FROM invoices i WHERE i.livemode = s.livemode AND i.document = s.document AND i.number IS NOT NULL
               AND i.finalized_at > $1)
          + CASE WHEN s.document = 'credit_note'
                 THEN (SELECT COUNT(*) FROM credit_notes n WHERE n.livemode = s.livemode AND n.created_at > $1) ELSE 0 END AS recent
        FROM number_series s ORDER BY s.livemode, s.document";
    let rows = connection.query(select).bind(backup_at.minus(since_backup)).all().await?;
    let series = |row: &Row| -> Result<Series, StorageError> {
        Ok(Series {
            livemode: row.get("livemode")?,
            document: row.get("document")?,
            last: row.get("last_number")?,
            recent: row.get("recent")?,
        })
    };
    for Series { livemode, document, last, recent } in rows.iter().map(series).collect::<Result<Vec<_>, _>>()? {
        let skipped_to = last.saturating_add(NUMBERS_SKIPPED_MIN.max(recent.saturating_mul(SAFETY)));
        let insert = "INSERT INTO number_gaps (livemode, document, first_number, last_number, restored_at) VALUES ($1, $2, $3, $4, $5)";
        let query = connection.query(insert).bind(livemode).bind(&document).bind(last.saturating_add(1)).bind(skipped_to);
        query.bind(restored_at).execute().await?;
        let update = "UPDATE number_series SET last_number = $1 WHERE livemode = $2 AND document = $3";
        connection.query(update).bind(skipped_to).bind(livemode).bind(&document).execute().await?;
    }
    Ok(())
}
