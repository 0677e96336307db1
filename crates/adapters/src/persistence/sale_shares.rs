//! The shares of sales, as they are booked.

use super::columns::keys;
use super::listing::sql_per_dialect;
use super::{Connection, Row, Sql, Values};
use async_trait::async_trait;
use souk_domain::access::Did;
use souk_domain::billing::{SaleShare, SaleShares, SharedLine};
use souk_domain::pricing::PriceShare;
use souk_domain::shared::{Amount, CurrencyId, InvoiceId, InvoiceItemId, StorageError};
use std::collections::BTreeSet;

pub(super) const SHARED_LINES: Sql = sql_per_dialect!(
    "SELECT i.id AS item_id, i.invoice_id, s.price_id, d.app, s.beneficiary, s.millionths
     FROM invoice_items i JOIN price_shares s ON s.price_id = i.price_id
     JOIN prices p ON p.id = s.price_id JOIN products d ON d.id = p.product_id
     WHERE i.invoice_id " (among "$1") " ORDER BY i.id, s.position"
);
pub(super) const OF_INVOICES: Sql =
    sql_per_dialect!("SELECT * FROM sale_shares WHERE invoice_id " (among "$1") " ORDER BY invoice_item_id, beneficiary");
const INSERT: &str =
    "INSERT INTO sale_shares (invoice_item_id, beneficiary, invoice_id, livemode, app, price_id, currency_id, amount, booking,
    created_at, updated_at)";
const BOOK_AGAIN: &str = "ON CONFLICT (invoice_item_id, beneficiary) DO UPDATE
    SET amount = excluded.amount, booking = excluded.booking, updated_at = excluded.updated_at WHERE sale_shares.booking < excluded.booking";
const INSERT_PAYEES: &str = "INSERT INTO payees (livemode, beneficiary, currency_id, recorded, reversed)";

pub struct SqlSaleShares<'s>(pub &'s mut Connection);

#[async_trait]
impl SaleShares for SqlSaleShares<'_> {
    async fn shared_lines(&mut self, invoices: &[InvoiceId]) -> Result<Vec<SharedLine>, StorageError> {
        let mut lines: Vec<SharedLine> = Vec::new();
        for row in self.0.query_per_dialect(SHARED_LINES).bind(keys(invoices)).all().await? {
            let item_id: InvoiceItemId = row.get("item_id")?;
            let share = PriceShare { beneficiary: row.get("beneficiary")?, millionths: row.get("millionths")? };
            match lines.last_mut().filter(|line| line.item_id == item_id) {
                Some(line) => line.shares.push(share),
                None => lines.push(SharedLine {
                    invoice_id: row.get("invoice_id")?,
                    item_id,
                    price_id: row.get("price_id")?,
                    app: row.get("app")?,
                    shares: vec![share],
                }),
            }
        }
        Ok(lines)
    }

    async fn of_invoices(&mut self, invoices: &[InvoiceId]) -> Result<Vec<SaleShare>, StorageError> {
        self.0.query_per_dialect(OF_INVOICES).bind(keys(invoices)).all().await?.iter().map(read).collect()
    }

    async fn write_all(&mut self, shares: &[SaleShare]) -> Result<(), StorageError> {
        // In one order, so that units of work with the same beneficiaries do not wait for each other in a circle.
        let payees: BTreeSet<(bool, &Did, &CurrencyId)> =
            shares.iter().map(|share| (share.mode.is_live(), &share.beneficiary, &share.currency_id)).collect();
        let row = |(live, beneficiary, currency): (bool, &Did, &CurrencyId)| {
            Values::default().bind(live).bind(beneficiary).bind(currency).bind(Amount::ZERO).bind(Amount::ZERO)
        };
        self.0.insert(INSERT_PAYEES, payees.into_iter().map(row).collect(), "ON CONFLICT DO NOTHING").await?;
        let row = |share: &SaleShare| {
            let values = Values::default().bind(&share.item_id).bind(&share.beneficiary).bind(&share.invoice_id).bind(share.mode);
            let values = values.bind(share.app.as_ref()).bind(&share.price_id).bind(&share.currency_id).bind(share.amount);
            values.bind(share.booking).bind(share.created_at).bind(share.updated_at)
        };
        let written = self.0.insert(INSERT, shares.iter().map(row).collect(), BOOK_AGAIN).await?;
        if written == shares.len() as u64 { Ok(()) } else { Err(StorageError::Conflict) }
    }
}

fn read(row: &Row) -> Result<SaleShare, StorageError> {
    Ok(SaleShare {
        item_id: row.get("invoice_item_id")?,
        beneficiary: row.get("beneficiary")?,
        invoice_id: row.get("invoice_id")?,
        mode: row.get("livemode")?,
        app: row.get("app")?,
        price_id: row.get("price_id")?,
        currency_id: row.get("currency_id")?,
        amount: row.get("amount")?,
        booking: row.get("booking")?,
        created_at: row.get("created_at")?,
        updated_at: row.get("updated_at")?,
    })
}
