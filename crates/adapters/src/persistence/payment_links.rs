//! Payment links.

use super::columns::{containing, keys};
use super::listing::{Listing, list, listing, sql_per_dialect};
use super::{Connection, Query, Row, Sql};
use async_trait::async_trait;
use souk_domain::checkout::{PaymentLink, PaymentLinks};
use souk_domain::pricing::CatalogueFilter;
use souk_domain::shared::{Listed, Mode, Page, PaymentLinkId, PriceId, StorageError};

const FIND_ALL: Sql = sql_per_dialect!("SELECT * FROM payment_links WHERE id " (among "$1") " ORDER BY id");

const OF_PRICE: Sql = sql_per_dialect!(
    "SELECT * FROM payment_links WHERE $1 IN "
    (either
        "(SELECT item.value ->> 'price_id' FROM json_each(payment_links.items) item)"
        "(SELECT item ->> 'price_id' FROM jsonb_array_elements(payment_links.items) item)")
    " ORDER BY id"
);

const LIST: Listing = listing!(
    "payment_links",
    "livemode = $4 AND ($5 IS NULL OR active = $5) AND LOWER(name) LIKE LOWER($6) ESCAPE '\\' AND " (has_all "metadata" "$7")
    " AND ($8 IS NULL OR EXISTS (SELECT 1 FROM prices WHERE prices.product_id = $8 AND prices.id IN "
    (either
        "(SELECT item.value ->> 'price_id' FROM json_each(payment_links.items) item)"
        "(SELECT item ->> 'price_id' FROM jsonb_array_elements(payment_links.items) item)")
    "))"
);

pub struct SqlPaymentLinks<'s>(pub &'s mut Connection);

#[async_trait]
impl PaymentLinks for SqlPaymentLinks<'_> {
    async fn insert(&mut self, link: &PaymentLink) -> Result<(), StorageError> {
        self.0.note(&link.id);
        let insert = "INSERT INTO payment_links (id, active, name, items, currency_id, form, custom_message, redirect_url, metadata,
                          updated_at, terms, requires_cross_sell, livemode, created_at)
                      VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14)";
        bind(self.0.query(insert), link).bind(link.mode).bind(link.created_at).execute().await?;
        Ok(())
    }

    async fn update(&mut self, link: &PaymentLink) -> Result<(), StorageError> {
        let update = "UPDATE payment_links SET active = $2, name = $3, items = $4, currency_id = $5, form = $6, custom_message = $7,
                          redirect_url = $8, metadata = $9, updated_at = $10, terms = $11, requires_cross_sell = $12
                      WHERE id = $1";
        bind(self.0.query(update), link).execute().await?;
        Ok(())
    }

    async fn find(&mut self, id: &PaymentLinkId) -> Result<Option<PaymentLink>, StorageError> {
        let row = self.0.query("SELECT * FROM payment_links WHERE id = $1").bind(id).optional().await?;
        row.as_ref().map(payment_link).transpose()
    }

    async fn find_all(&mut self, ids: &[PaymentLinkId]) -> Result<Vec<PaymentLink>, StorageError> {
        let rows = self.0.query_per_dialect(FIND_ALL).bind(keys(ids)).all().await?;
        rows.iter().map(payment_link).collect()
    }

    async fn of_price(&mut self, price: &PriceId) -> Result<Vec<PaymentLink>, StorageError> {
        let rows = self.0.query_per_dialect(OF_PRICE).bind(price).all().await?;
        rows.iter().map(payment_link).collect()
    }

    async fn list(&mut self, mode: Mode, filter: &CatalogueFilter, page: &Page) -> Result<Listed<PaymentLink>, StorageError> {
        let name = containing(&filter.query);
        list(
            self.0,
            &LIST,
            page,
            |query| query.bind(mode).bind(filter.active).bind(name.as_str()).bind(&filter.metadata).bind(&filter.product),
            payment_link,
        )
        .await
    }
}

/// Binds `$1` to `$12`: the id and the updatable columns.
fn bind<'q>(query: Query<'q>, link: &PaymentLink) -> Query<'q> {
    let query = query.bind(&link.id).bind(link.active).bind(&link.name).bind(&link.items).bind(&link.currency_id).bind(&link.form);
    query
        .bind(&link.custom_message)
        .bind(&link.redirect_url)
        .bind(&link.metadata)
        .bind(link.updated_at)
        .bind(&link.terms)
        .bind(link.requires_cross_sell)
}

fn payment_link(row: &Row) -> Result<PaymentLink, StorageError> {
    Ok(PaymentLink {
        id: row.get("id")?,
        mode: row.get("livemode")?,
        active: row.get("active")?,
        name: row.get("name")?,
        items: row.get("items")?,
        currency_id: row.get("currency_id")?,
        form: row.get("form")?,
        terms: row.get("terms")?,
        requires_cross_sell: row.get("requires_cross_sell")?,
        custom_message: row.get("custom_message")?,
        redirect_url: row.get("redirect_url")?,
        metadata: row.get("metadata")?,
        created_at: row.get("created_at")?,
        updated_at: row.get("updated_at")?,
    })
}
