//! What processes have seen: one row for each kind and subject.

use super::{Connection, Row};
use async_trait::async_trait;
use souk_domain::operation::{ProcessReport, ProcessReports, ReportKind};
use souk_domain::shared::{StorageError, Timestamp};

pub struct SqlProcessReports<'s>(pub &'s mut Connection);

#[async_trait]
impl ProcessReports for SqlProcessReports<'_> {
    async fn put(&mut self, reports: &[ProcessReport], now: Timestamp, since: Timestamp) -> Result<(), StorageError> {
        self.0.query("DELETE FROM process_reports WHERE seen_at < $1").bind(since).execute().await?;
        let insert = "INSERT INTO process_reports (kind, subject, detail, seen_at) VALUES ($1, $2, $3, $4)
                      ON CONFLICT (kind, subject) DO UPDATE SET detail = excluded.detail, seen_at = excluded.seen_at";
        // In one order, so that two processes do not wait for each other.
        let mut reports: Vec<_> = reports.iter().collect();
        reports.sort_by_key(|report| (report.kind.name(), &report.subject));
        for ProcessReport { kind, subject, detail } in reports {
            self.0.query(insert).bind(kind.name()).bind(subject).bind(detail).bind(now).execute().await?;
        }
        Ok(())
    }

    async fn since(&mut self, since: Timestamp) -> Result<Vec<ProcessReport>, StorageError> {
        let select = "SELECT * FROM process_reports WHERE seen_at >= $1 ORDER BY kind, subject";
        self.0.query(select).bind(since).all().await?.iter().map(report).collect()
    }
}

fn report(row: &Row) -> Result<ProcessReport, StorageError> {
    let kind: String = row.get("kind")?;
    let kind = ReportKind::from_name(&kind).ok_or(StorageError::Corrupt { table: "process_reports", column: "kind", value: kind })?;
    Ok(ProcessReport { kind, subject: row.get("subject")?, detail: row.get("detail")? })
}
