//! Movements of money that a restored store has found at its networks and that belong to nothing it knows.

use super::{Connection, Row};
use async_trait::async_trait;
use souk_domain::operation::{FOUND_PAYMENTS_MAX, FoundPayment, FoundPayments};
use souk_domain::shared::{CurrencyId, MethodId, Mode, StorageError, Timestamp};

pub struct SqlFoundPayments<'s>(pub &'s mut Connection);

#[async_trait]
impl FoundPayments for SqlFoundPayments<'_> {
    async fn add(&mut self, payment: &FoundPayment) -> Result<(), StorageError> {
        let insert =
            "INSERT INTO found_payments (method_id, reference, livemode, incoming, account, amount, currency_id, moved_at, found_at)
                      VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9) ON CONFLICT (method_id, reference) DO NOTHING";
        let query = self.0.query(insert).bind(&payment.method_id).bind(&payment.reference).bind(payment.mode).bind(payment.is_incoming);
        let query = query.bind(&payment.account).bind(payment.amount).bind(&payment.currency_id);
        query.bind(payment.moved_at).bind(payment.found_at).execute().await.map(drop)
    }

    async fn withdraw(&mut self, method: &MethodId, reference: &str) -> Result<(), StorageError> {
        let delete = "DELETE FROM found_payments WHERE method_id = $1 AND reference = $2 AND handled_at IS NULL";
        self.0.query(delete).bind(method).bind(reference).execute().await.map(drop)
    }

    async fn has_open_incoming(&mut self, mode: Mode, currency: &CurrencyId) -> Result<bool, StorageError> {
        let select = "SELECT 1 AS found FROM found_payments
                      WHERE livemode = $1 AND currency_id = $2 AND handled_at IS NULL AND incoming = TRUE LIMIT 1";
        Ok(self.0.query(select).bind(mode).bind(currency).optional().await?.is_some())
    }

    async fn open(&mut self, mode: Mode) -> Result<Vec<FoundPayment>, StorageError> {
        let select = "SELECT * FROM found_payments WHERE livemode = $1 AND handled_at IS NULL ORDER BY moved_at DESC, reference LIMIT $2";
        let rows = self.0.query(select).bind(mode).bind(FOUND_PAYMENTS_MAX).all().await?;
        rows.iter().map(found_payment).collect()
    }

    async fn set_handled(
        &mut self,
        mode: Mode,
        method: &MethodId,
        reference: &str,
        by: &str,
        now: Timestamp,
    ) -> Result<bool, StorageError> {
        let update = "UPDATE found_payments SET handled_at = $1, handled_by = $2
                      WHERE method_id = $3 AND reference = $4 AND livemode = $5 AND handled_at IS NULL";
        let query = self.0.query(update).bind(now).bind(by).bind(method).bind(reference).bind(mode);
        Ok(query.execute().await? == 1)
    }
}

fn found_payment(row: &Row) -> Result<FoundPayment, StorageError> {
    Ok(FoundPayment {
        mode: row.get("livemode")?,
        method_id: row.get("method_id")?,
        reference: row.get("reference")?,
        is_incoming: row.get("incoming")?,
        account: row.get("account")?,
        amount: row.get("amount")?,
        currency_id: row.get("currency_id")?,
        moved_at: row.get("moved_at")?,
        found_at: row.get("found_at")?,
        handled_at: row.get("handled_at")?,
    })
}
