//! Disputes of payments, keyed by their providers' ids.

use super::columns::keys;
use super::listing::{Listing, list, listing, sql_per_dialect};
use super::{Connection, Row, Sql, Values};
use async_trait::async_trait;
use souk_domain::payment::{Dispute, DisputeFilter, Disputes};
use souk_domain::shared::{DisputeId, Listed, MethodId, Mode, Page, PaymentIntentId, StorageError};

/// One list per index, as for invoices.
macro_rules! disputes {
    ($($conditions:tt)+) => { listing!("disputes", $($conditions)+ " AND ($7 OR status NOT IN ('inquiry_closed', 'won', 'lost'))") };
}
pub(super) const ALL: Listing = disputes!("livemode = $4 AND $5 IS NULL AND $6 IS NULL");
pub(super) const OF_CUSTOMER: Listing = disputes!("customer_id = $5 AND " (either "+livemode" "livemode") " = $4 AND $6 IS NULL").exact();
pub(super) const OF_INTENT: Listing =
    disputes!("intent_id = $6 AND " (either "+livemode" "livemode") " = $4 AND ($5 IS NULL OR customer_id = $5)").exact();
const LOCK: Sql = sql_per_dialect!("SELECT * FROM disputes WHERE method_id = $1 AND provider_id = $2" (either "" " FOR UPDATE"));
const OF_INTENTS: Sql = sql_per_dialect!("SELECT * FROM disputes WHERE intent_id " (among "$1") " ORDER BY id");

pub struct SqlDisputes<'s>(pub &'s mut Connection);

#[async_trait]
impl Disputes for SqlDisputes<'_> {
    async fn insert(&mut self, dispute: &Dispute) -> Result<(), StorageError> {
        let into = "INSERT INTO disputes (id, livemode, method_id, provider_id, intent_id, customer_id, amount, currency_id, fee,
                        fee_currency_id, status, funds_withdrawn, movements, reason, respond_by, credit_note_ids, created_at, updated_at)";
        let values = Values::default().bind(&dispute.id).bind(dispute.mode).bind(&dispute.method_id).bind(&dispute.provider_id);
        let values = values.bind(&dispute.intent_id).bind(&dispute.customer_id).bind(dispute.amount).bind(&dispute.currency_id);
        let values = values.bind(dispute.fee).bind(&dispute.fee_currency_id).bind(dispute.status).bind(dispute.funds_withdrawn);
        let values = values.bind(dispute.movements).bind(&dispute.reason).bind(dispute.respond_by).bind(&dispute.credit_note_ids);
        let values = values.bind(dispute.created_at).bind(dispute.updated_at);
        match self.0.insert(into, vec![values], "ON CONFLICT (method_id, provider_id) DO NOTHING").await? {
            0 => Err(StorageError::Duplicate("disputes: one of the provider's name".to_owned())),
            _ => Ok(()),
        }
    }

    async fn lock(&mut self, method: &MethodId, provider_id: &str) -> Result<Option<Dispute>, StorageError> {
        let row = self.0.query_per_dialect(LOCK).bind(method).bind(provider_id).optional().await?;
        row.as_ref().map(dispute).transpose()
    }

    async fn update(&mut self, before: &Dispute, after: &Dispute) -> Result<bool, StorageError> {
        let update = "UPDATE disputes SET amount = $2, fee = $3, fee_currency_id = $4, status = $5, funds_withdrawn = $6, movements = $7,
                          reason = $8, respond_by = $9, credit_note_ids = $10, updated_at = $11
                      WHERE id = $1 AND movements = $12 AND status = $13";
        let query = self.0.query(update).bind(&before.id).bind(after.amount).bind(after.fee).bind(&after.fee_currency_id);
        let query = query.bind(after.status).bind(after.funds_withdrawn).bind(after.movements).bind(&after.reason).bind(after.respond_by);
        let query = query.bind(&after.credit_note_ids).bind(after.updated_at).bind(before.movements).bind(before.status);
        Ok(query.execute().await? == 1)
    }

    async fn find(&mut self, id: &DisputeId) -> Result<Option<Dispute>, StorageError> {
        let row = self.0.query("SELECT * FROM disputes WHERE id = $1").bind(id).optional().await?;
        row.as_ref().map(dispute).transpose()
    }

    async fn of_intents(&mut self, intents: &[PaymentIntentId]) -> Result<Vec<Dispute>, StorageError> {
        let rows = self.0.query_per_dialect(OF_INTENTS).bind(keys(intents)).all().await?;
        rows.iter().map(dispute).collect()
    }

    async fn list(&mut self, mode: Mode, filter: &DisputeFilter, page: &Page) -> Result<Listed<Dispute>, StorageError> {
        let listing = match (&filter.intent_id, &filter.customer_id) {
            (Some(_), _) => &OF_INTENT,
            (None, Some(_)) => &OF_CUSTOMER,
            (None, None) => &ALL,
        };
        list(self.0, listing, page, |query| query.bind(mode).bind(&filter.customer_id).bind(&filter.intent_id).bind(!filter.open), dispute)
            .await
    }
}

fn dispute(row: &Row) -> Result<Dispute, StorageError> {
    Ok(Dispute {
        id: row.get("id")?,
        mode: row.get("livemode")?,
        method_id: row.get("method_id")?,
        provider_id: row.get("provider_id")?,
        intent_id: row.get("intent_id")?,
        customer_id: row.get("customer_id")?,
        amount: row.get("amount")?,
        currency_id: row.get("currency_id")?,
        fee: row.get("fee")?,
        fee_currency_id: row.get("fee_currency_id")?,
        status: row.get("status")?,
        funds_withdrawn: row.get("funds_withdrawn")?,
        movements: row.get("movements")?,
        reason: row.get("reason")?,
        respond_by: row.get("respond_by")?,
        credit_note_ids: row.get("credit_note_ids")?,
        created_at: row.get("created_at")?,
        updated_at: row.get("updated_at")?,
    })
}
