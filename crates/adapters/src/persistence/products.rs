//! Products.

use super::columns::{containing, keys, read_json, searchable, to_json};
use super::listing::COUNT_MAX;
use super::{Connection, Row, Sql};
use async_trait::async_trait;
use souk_domain::pricing::{CatalogueFilter, Product, Products};
use souk_domain::shared::{Listed, Mode, Page, ProductId, StorageError};

pub struct SqlProducts<'a>(pub &'a mut Connection);

const INSERT: &str = "INSERT INTO products (id, livemode, active, name, description, images, features, unit_label, statement_descriptor,
    default_price_id, app, cross_sells_to, metadata, search_text, created_at, updated_at, name_zh, description_zh, unit_label_zh)
    VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, $18, $19)";

const UPDATE: &str = "UPDATE products SET active = $2, name = $3, description = $4, images = $5, features = $6, unit_label = $7,
    statement_descriptor = $8, default_price_id = $9, app = $10, cross_sells_to = $11, metadata = $12,
    search_text = $13, updated_at = $14, name_zh = $15, description_zh = $16, unit_label_zh = $17 WHERE id = $1";

const FIND_ALL: Sql = Sql {
    sqlite: "SELECT * FROM products WHERE id IN (SELECT value FROM json_each($1)) ORDER BY id",
    postgres: "SELECT * FROM products WHERE id = ANY (ARRAY(SELECT jsonb_array_elements_text($1))) ORDER BY id",
};

macro_rules! matching {
    ($what:literal, $tail:literal) => {
        Sql {
            sqlite: concat!(
                "SELECT ",
                $what,
                " FROM products WHERE livemode = $1 AND ($2 IS NULL OR active = $2) AND search_text LIKE $3 ESCAPE '\\'
                  AND NOT EXISTS (SELECT 1 FROM json_each($4) AS wanted WHERE NOT EXISTS
                    (SELECT 1 FROM json_each(metadata) AS entry WHERE entry.key = wanted.key AND entry.value = wanted.value))",
                $tail
            ),
            postgres: concat!(
                "SELECT ",
                $what,
                " FROM products WHERE livemode = $1 AND ($2 IS NULL OR active = $2) AND search_text LIKE $3 ESCAPE '\\' AND metadata @> $4",
                $tail
            ),
        }
    };
}

const LIST: Sql = matching!("*", " AND ($5 IS NULL OR id < $5) ORDER BY id DESC LIMIT $6 OFFSET $7");
const COUNT: Sql = matching!("count(*) AS n FROM (SELECT 1 AS found", " LIMIT $5) AS counted");

const DELETE: &str = "DELETE FROM products WHERE id = $1 AND NOT EXISTS (SELECT 1 FROM prices WHERE product_id = $1)
    AND NOT EXISTS (SELECT 1 FROM products AS other WHERE other.cross_sells_to = $1 AND other.id <> $1)";

fn search_text(product: &Product) -> String {
    let texts = [Some(&product.name), product.name_zh.as_ref(), Some(&product.description), product.description_zh.as_ref()];
    searchable(&texts.into_iter().flatten().map(String::as_str).collect::<Vec<_>>())
}

pub(super) fn read(row: &Row) -> Result<Product, StorageError> {
    Ok(Product {
        id: row.get("id")?,
        mode: Mode::from_livemode(row.get("livemode")?),
        active: row.get("active")?,
        name: row.get("name")?,
        name_zh: row.get("name_zh")?,
        description: row.get("description")?,
        description_zh: row.get("description_zh")?,
        images: read_json(row, "products", "images")?,
        features: read_json(row, "products", "features")?,
        unit_label: row.get("unit_label")?,
        unit_label_zh: row.get("unit_label_zh")?,
        statement_descriptor: row.get("statement_descriptor")?,
        default_price_id: row.get("default_price_id")?,
        app: row.get("app")?,
        cross_sells_to: row.get("cross_sells_to")?,
        metadata: read_json(row, "products", "metadata")?,
        created_at: row.get("created_at")?,
        updated_at: row.get("updated_at")?,
    })
}

#[async_trait]
impl Products for SqlProducts<'_> {
    async fn insert(&mut self, product: &Product) -> Result<(), StorageError> {
        self.0.note(&product.id);
        let query = self.0.query(INSERT).bind(&product.id).bind(product.mode.is_live()).bind(product.active);
        let query = query.bind(&product.name).bind(&product.description).bind(to_json(&product.images)?).bind(to_json(&product.features)?);
        let query = query.bind(product.unit_label.as_ref()).bind(product.statement_descriptor.as_ref());
        let query = query.bind(product.default_price_id.as_ref()).bind(product.app.as_ref());
        let query = query.bind(product.cross_sells_to.as_ref()).bind(to_json(&product.metadata)?);
        let query = query.bind(search_text(product)).bind(product.created_at).bind(product.updated_at);
        query
            .bind(product.name_zh.as_ref())
            .bind(product.description_zh.as_ref())
            .bind(product.unit_label_zh.as_ref())
            .execute()
            .await
            .map(drop)
    }

    async fn update(&mut self, product: &Product) -> Result<(), StorageError> {
        let query = self.0.query(UPDATE).bind(&product.id).bind(product.active).bind(&product.name).bind(&product.description);
        let query = query.bind(to_json(&product.images)?).bind(to_json(&product.features)?);
        let query = query.bind(product.unit_label.as_ref()).bind(product.statement_descriptor.as_ref());
        let query = query.bind(product.default_price_id.as_ref()).bind(product.app.as_ref());
        let query = query.bind(product.cross_sells_to.as_ref()).bind(to_json(&product.metadata)?);
        let query = query.bind(search_text(product)).bind(product.updated_at);
        query
            .bind(product.name_zh.as_ref())
            .bind(product.description_zh.as_ref())
            .bind(product.unit_label_zh.as_ref())
            .execute()
            .await
            .map(drop)
    }

    async fn find(&mut self, id: &ProductId) -> Result<Option<Product>, StorageError> {
        let row = self.0.query("SELECT * FROM products WHERE id = $1").bind(id).optional().await?;
        row.as_ref().map(read).transpose()
    }

    async fn find_all(&mut self, ids: &[ProductId]) -> Result<Vec<Product>, StorageError> {
        self.0.query_per_dialect(FIND_ALL).bind(keys(ids)).all().await?.iter().map(read).collect()
    }

    async fn list(&mut self, mode: Mode, filter: &CatalogueFilter, page: &Page) -> Result<Listed<Product>, StorageError> {
        let (pattern, metadata) = (containing(&searchable(&[&filter.query])), to_json(&filter.metadata)?);
        let query = self.0.query_per_dialect(COUNT).bind(mode.is_live()).bind(filter.active).bind(&pattern).bind(&metadata);
        let count = query.bind(COUNT_MAX).one().await?.get("n")?;
        let query = self.0.query_per_dialect(LIST).bind(mode.is_live()).bind(filter.active).bind(&pattern).bind(&metadata);
        let offset = if page.starting_after.is_some() { 0 } else { page.offset() };
        let rows = query.bind(page.starting_after.as_ref()).bind(page.size).bind(offset).all().await?;
        Ok(Listed { count, list: rows.iter().map(read).collect::<Result<_, _>>()? })
    }

    async fn delete(&mut self, id: &ProductId) -> Result<bool, StorageError> {
        Ok(self.0.query(DELETE).bind(id).execute().await? > 0)
    }
}
