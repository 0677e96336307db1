//! Usage records of metered subscription items.

use super::{Connection, Row, Sql};
use async_trait::async_trait;
use serde_json::{Value, json};
use souk_domain::billing::{UsageAction, UsageQuery, UsageRecord, UsageRecords};
use souk_domain::pricing::Aggregate;
use souk_domain::shared::{Listed, Page, StorageError, SubscriptionItemId, UsageRecordId};

/// The factor between the two parts that quantities are summed in (the lowest 20 bits and the rest). The plain sum of many quantities
/// can exceed a 64-bit integer.
const HALF: u64 = 1 << 20;
/// The queries in the JSON array `$1`.
macro_rules! wanted {
    (sqlite) => {
        "(SELECT value ->> 'place' AS place, value ->> 'item' AS item_id, value ->> 'from' AS since, value ->> 'to' AS until
          FROM json_each($1))"
    };
    (postgres) => {
        "(SELECT CAST(value ->> 'place' AS BIGINT) AS place, value ->> 'item' AS item_id,
              TIMESTAMPTZ 'epoch' + CAST(value ->> 'from' AS BIGINT) * INTERVAL '1 microsecond' AS since,
              TIMESTAMPTZ 'epoch' + CAST(value ->> 'to' AS BIGINT) * INTERVAL '1 microsecond' AS until
          FROM jsonb_array_elements($1) AS elements(value))"
    };
}
macro_rules! sum {
    ($engine:ident) => {
        concat!(
            "WITH wanted AS (SELECT place, item_id, since, until,
                 (SELECT used_at FROM usage_records r WHERE r.item_id = asked.item_id AND action = 'set' AND used_at >= since AND used_at < until
                  ORDER BY used_at DESC, id DESC LIMIT 1) AS set_at,
                 (SELECT id FROM usage_records r WHERE r.item_id = asked.item_id AND action = 'set' AND used_at >= since AND used_at < until
                  ORDER BY used_at DESC, id DESC LIMIT 1) AS set_id
                 FROM ",
            wanted!($engine),
            " AS asked)
            SELECT place, CAST(SUM(quantity >> 20) AS BIGINT) AS high, CAST(SUM(quantity & 1048575) AS BIGINT) AS low
            FROM wanted JOIN usage_records r ON r.item_id = wanted.item_id AND used_at >= COALESCE(set_at, since) AND used_at < until
                AND (used_at, id) >= (COALESCE(set_at, since), COALESCE(set_id, ''))
            GROUP BY place"
        )
    };
}
macro_rules! one {
    ($engine:ident, $quantity:literal, $order:literal) => {
        concat!(
            "SELECT place, (SELECT ",
            $quantity,
            " FROM usage_records r WHERE r.item_id = asked.item_id AND used_at >= since AND used_at < until",
            $order,
            ") AS quantity FROM ",
            wanted!($engine),
            " AS asked"
        )
    };
}
/// Sums from the last record with action `set`, if there is one. All three statements need to read only an index.
pub(super) const SUM: Sql = Sql { sqlite: sum!(sqlite), postgres: sum!(postgres) };
pub(super) const MAX: Sql = Sql { sqlite: one!(sqlite, "MAX(quantity)", ""), postgres: one!(postgres, "MAX(quantity)", "") };
pub(super) const LAST: Sql = Sql {
    sqlite: one!(sqlite, "quantity", " ORDER BY used_at DESC, id DESC LIMIT 1"),
    postgres: one!(postgres, "quantity", " ORDER BY used_at DESC, id DESC LIMIT 1"),
};

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

    async fn used_all(&mut self, queries: &[UsageQuery]) -> Result<Vec<u64>, StorageError> {
        let mut used = vec![0; queries.len()];
        for (aggregate, select) in [(Aggregate::Sum, SUM), (Aggregate::Max, MAX), (Aggregate::Last, LAST)] {
            let asked = (0_u64..).zip(queries).filter(|(_, query)| query.aggregate == aggregate);
            let asked: Vec<_> = asked.map(|(place, query)| asked_for(place, query)).collect();
            if asked.is_empty() {
                continue;
            }
            for row in self.0.query_per_dialect(select).bind(Value::Array(asked)).all().await? {
                let quantity = match aggregate {
                    Aggregate::Sum => row.get::<u64>("high")?.saturating_mul(HALF).saturating_add(row.get("low")?),
                    Aggregate::Max | Aggregate::Last => row.get::<Option<u64>>("quantity")?.unwrap_or_default(),
                };
                let place: u64 = row.get("place")?;
                if let Some(used) = usize::try_from(place).ok().and_then(|place| used.get_mut(place)) {
                    *used = quantity;
                }
            }
        }
        Ok(used)
    }

    async fn of_item(&mut self, item: &SubscriptionItemId, page: &Page) -> Result<Listed<UsageRecord>, StorageError> {
        let count = "SELECT count(*) AS n FROM usage_records WHERE item_id = $1";
        let count = self.0.query(count).bind(item).one().await?.get("n")?;
        let select = "SELECT * FROM usage_records WHERE item_id = $1 ORDER BY used_at DESC, id DESC LIMIT $2 OFFSET $3";
        let rows = self.0.query(select).bind(item).bind(page.size).bind(page.offset()).all().await?;
        Ok(Listed { count, list: rows.iter().map(record).collect::<Result<_, _>>()? })
    }
}

/// A query as the statements read it. `place`: its place among the queries.
pub(super) fn asked_for(place: u64, query: &UsageQuery) -> Value {
    json!({ "place": place, "item": query.item.as_str(), "from": query.from.micros(), "to": query.to.micros() })
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
