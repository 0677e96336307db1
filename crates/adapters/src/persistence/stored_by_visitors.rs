//! Rows that visitors made the store keep, by visitor.

use super::{Connection, Row};
use async_trait::async_trait;
use souk_domain::operation::{StoredByVisitors, VisitorNetwork, VisitorRows, VisitorTable};
use souk_domain::shared::StorageError;

pub struct SqlStoredByVisitors<'s>(pub &'s mut Connection);

struct Statements {
    count: &'static str,
    heaviest: &'static str,
    delete_oldest: &'static str,
}

/// The conditions of deletable rows are repeated outside the subquery, because PostgreSQL evaluates only those again after it waited for a
/// row lock.
macro_rules! statements {
    ($table:literal, $id:literal, $deletable:literal) => {
        Statements {
            count: concat!("SELECT count(*) AS n FROM (SELECT 1 AS found FROM ", $table, " WHERE ", $deletable, " LIMIT $1) AS counted"),
            heaviest: concat!(
                "SELECT visitor, count(*) AS n FROM ",
                $table,
                " WHERE ",
                $deletable,
                " GROUP BY visitor ORDER BY n DESC, visitor LIMIT $1"
            ),
            delete_oldest: concat!(
                "DELETE FROM ",
                $table,
                " WHERE ",
                $deletable,
                " AND ",
                $id,
                " IN (SELECT ",
                $id,
                " FROM ",
                $table,
                " WHERE ",
                $deletable,
                " AND visitor = $1 ORDER BY created_at, ",
                $id,
                " LIMIT $2)"
            ),
        }
    };
}

const UNSUBMITTED_SESSIONS: Statements =
    statements!("checkout_sessions", "id", "link_id IS NOT NULL AND payer IS NULL AND intent_id IS NULL");
const CONNECT_SESSIONS: Statements = statements!(
    "connect_sessions",
    "token",
    "(status NOT IN ('scanned', 'working', 'confirming') OR (status = 'scanned' AND step = 'principal'))"
);

const fn of(table: VisitorTable) -> Statements {
    match table {
        VisitorTable::UnsubmittedSessions => UNSUBMITTED_SESSIONS,
        VisitorTable::ConnectSessions => CONNECT_SESSIONS,
    }
}

fn read(row: &Row) -> Result<VisitorRows, StorageError> {
    Ok(VisitorRows { visitor: VisitorNetwork(row.get("visitor")?), rows: row.get("n")? })
}

#[async_trait]
impl StoredByVisitors for SqlStoredByVisitors<'_> {
    async fn count(&mut self, table: VisitorTable, limit: u32) -> Result<u32, StorageError> {
        self.0.query(of(table).count).bind(limit).one().await?.get("n")
    }

    async fn heaviest(&mut self, table: VisitorTable, limit: u32) -> Result<Vec<VisitorRows>, StorageError> {
        self.0.query(of(table).heaviest).bind(limit).all().await?.iter().map(read).collect()
    }

    async fn delete_oldest(&mut self, table: VisitorTable, visitor: &VisitorNetwork, limit: u32) -> Result<u64, StorageError> {
        self.0.query(of(table).delete_oldest).bind(visitor.0.as_str()).bind(limit).execute().await
    }
}
