//! Rows that visitors made the store keep, by visitor.

use super::columns::keys;
use super::listing::sql_per_dialect;
use super::{Connection, Sql};
use async_trait::async_trait;
use souk_domain::operation::{StoredByVisitors, VisitorTable};
use souk_domain::shared::StorageError;

pub struct SqlStoredByVisitors<'s>(pub &'s mut Connection);

struct Statements {
    count: Sql,
    first_to_delete: Sql,
    delete: Sql,
}

/// The first 22 characters of `visitor` name the site (`VisitorNetwork::stored`).
///
/// The conditions of deletable rows are repeated in the deletion: a row can have become an order meanwhile.
macro_rules! statements {
    ($table:literal, $key:literal, $deletable:literal) => {
        Statements {
            count: sql_per_dialect!(
                "SELECT count(*) AS n FROM (SELECT 1 AS found FROM " $table " WHERE " $deletable " LIMIT $1) AS counted"
            ),
            first_to_delete: sql_per_dialect!(
                "SELECT " $key " AS row_key FROM (SELECT " $key ", created_at,
                     row_number() OVER (PARTITION BY substr(visitor, 1, 22) ORDER BY network_rank, created_at DESC, " $key " DESC) AS site_rank
                 FROM (SELECT " $key ", created_at, visitor,
                     row_number() OVER (PARTITION BY visitor ORDER BY created_at DESC, " $key " DESC) AS network_rank
                 FROM " $table " WHERE " $deletable ") AS by_network) AS by_site
                 ORDER BY site_rank DESC, created_at, " $key " LIMIT $1"
            ),
            delete: sql_per_dialect!("DELETE FROM " $table " WHERE " $deletable " AND " $key " " (among "$1")),
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
// A tool that loses its session asks again. An answered one, which only a signed-in user can leave, is gone after a minute.
const TOOL_SESSIONS: Statements = statements!("tool_sessions", "token", "status IN ('created', 'scanned')");

const fn of(table: VisitorTable) -> Statements {
    match table {
        VisitorTable::UnsubmittedSessions => UNSUBMITTED_SESSIONS,
        VisitorTable::ConnectSessions => CONNECT_SESSIONS,
        VisitorTable::ToolSessions => TOOL_SESSIONS,
    }
}

#[async_trait]
impl StoredByVisitors for SqlStoredByVisitors<'_> {
    async fn count(&mut self, table: VisitorTable, limit: u32) -> Result<u32, StorageError> {
        self.0.query_per_dialect(of(table).count).bind(limit).one().await?.get("n")
    }

    async fn first_to_delete(&mut self, table: VisitorTable, limit: u32) -> Result<Vec<String>, StorageError> {
        let rows = self.0.query_per_dialect(of(table).first_to_delete).bind(limit).all().await?;
        rows.iter().map(|row| row.get("row_key")).collect()
    }

    async fn delete(&mut self, table: VisitorTable, rows: &[String]) -> Result<u64, StorageError> {
        self.0.query_per_dialect(of(table).delete).bind(keys(rows)).execute().await
    }
}
