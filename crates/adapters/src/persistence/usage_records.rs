//! Usage records of metered subscription items.

use super::{Connection, Row};
use async_trait::async_trait;
use souk_domain::billing::{UsageAction, UsageRecord, UsageRecords};
use souk_domain::pricing::Aggregate;
use souk_domain::shared::{Listed, Page, StorageError, SubscriptionItemId, Timestamp, UsageRecordId};

/// The factor between the two parts that quantities are summed in (the lowest 20 bits and the rest). The plain sum of many quantities
/// can exceed a 64-bit integer.
const HALF: u64 = 1 << 20;
/// Sums from the last record with action `set`, if there is one. All three statements need to read only an index.
pub(super) const SUM: &str =
    "WITH anew AS (SELECT used_at, id FROM usage_records WHERE item_id = $1 AND action = 'set' AND used_at >= $2 AND used_at < $3
                                 ORDER BY used_at DESC, id DESC LIMIT 1)
    SELECT CAST(COALESCE(SUM(quantity >> 20), 0) AS BIGINT) AS high, CAST(COALESCE(SUM(quantity & 1048575), 0) AS BIGINT) AS low
    FROM usage_records
    WHERE item_id = $1 AND used_at >= COALESCE((SELECT used_at FROM anew), $2) AND used_at < $3
      AND (used_at, id) >= (COALESCE((SELECT used_at FROM anew), $2), COALESCE((SELECT id FROM anew), ''))";
pub(super) const MAX: &str = "SELECT MAX(quantity) >> 20 AS high, MAX(quantity) & 1048575 AS low
    FROM usage_records WHERE item_id = $1 AND used_at >= $2 AND used_at < $3 HAVING count(*) > 0";
pub(super) const LAST: &str = "SELECT quantity >> 20 AS high, quantity & 1048575 AS low
    FROM usage_records WHERE item_id = $1 AND used_at >= $2 AND used_at < $3 ORDER BY used_at DESC, id DESC LIMIT 1";

pub struct SqlUsageRecords<'s>(pub &'s mut Connection);

#[async_trait]
impl UsageRecords for SqlUsageRecords<'_> {
    async fn insert(&mut self, record: &UsageRecord) -> Result<bool, StorageError> {
        let insert = "INSERT INTO usage_records (id, item_id, identifier, quantity, action, used_at, created_at)
                      VALUES ($1, $2, $3, $4, $5, $6, $7) ON CONFLICT DO NOTHING";
        let query = self.0.query(insert).bind(&record.id).bind(&record.item_id).bind(&record.identifier).bind(record.quantity);
        let is_new = query.bind(record.action).bind(record.at).bind(record.created_at).execute().await? == 1;
        if is_new {
            self.0.note(&record.id);
        }
        Ok(is_new)
    }

    async fn find(&mut self, item: &SubscriptionItemId, identifier: &str) -> Result<Option<UsageRecord>, StorageError> {
        let select = "SELECT * FROM usage_records WHERE item_id = $1 AND identifier = $2";
        let row = self.0.query(select).bind(item).bind(identifier).optional().await?;
        row.as_ref().map(record).transpose()
    }

    async fn find_by_id(&mut self, id: &UsageRecordId) -> Result<Option<UsageRecord>, StorageError> {
        let row = self.0.query("SELECT * FROM usage_records WHERE id = $1").bind(id).optional().await?;
        row.as_ref().map(record).transpose()
    }

    async fn used(&mut self, item: &SubscriptionItemId, aggregate: Aggregate, from: Timestamp, to: Timestamp) -> Result<u64, StorageError> {
        let select = match aggregate {
            Aggregate::Sum => SUM,
            Aggregate::Max => MAX,
            Aggregate::Last => LAST,
        };
        let Some(row) = self.0.query(select).bind(item).bind(from).bind(to).optional().await? else { return Ok(0) };
        let (high, low): (u64, u64) = (row.get("high")?, row.get("low")?);
        Ok(high.saturating_mul(HALF).saturating_add(low))
    }

    async fn of_item(&mut self, item: &SubscriptionItemId, page: &Page) -> Result<Listed<UsageRecord>, StorageError> {
        let count = "SELECT count(*) AS n FROM usage_records WHERE item_id = $1";
        let count = self.0.query(count).bind(item).one().await?.get("n")?;
        let select = "SELECT * FROM usage_records WHERE item_id = $1 ORDER BY used_at DESC, id DESC LIMIT $2 OFFSET $3";
        let rows = self.0.query(select).bind(item).bind(page.size).bind(page.offset()).all().await?;
        Ok(Listed { count, list: rows.iter().map(record).collect::<Result<_, _>>()? })
    }
}

fn record(row: &Row) -> Result<UsageRecord, StorageError> {
    Ok(UsageRecord {
        id: row.get("id")?,
        item_id: row.get("item_id")?,
        identifier: row.get("identifier")?,
        quantity: row.get("quantity")?,
        action: row.get::<UsageAction>("action")?,
        at: row.get("used_at")?,
        created_at: row.get("created_at")?,
    })
}
