//! Mandates: permissions to charge a customer later.

use super::columns::keys;
use super::listing::sql_per_dialect;
use super::{Connection, Row, Sql};
use async_trait::async_trait;
use souk_domain::payment::{Mandate, MandateDetails, Mandates};
use souk_domain::shared::{CustomerId, InvoiceId, MandateId, MethodId, StorageError, SubscriptionId, Timestamp};

const FIND_ALL: Sql = sql_per_dialect!("SELECT * FROM mandates WHERE id " (among "$1") " ORDER BY id");

/// Deletes mandates that are not active and that nothing names.
pub(super) const DELETE_UNUSED: Sql = sql_per_dialect!(
    "DELETE FROM mandates WHERE id " (among "$1") " AND status <> 'active'
         AND NOT EXISTS (SELECT 1 FROM checkout_sessions o WHERE o.mandate_id = mandates.id)
         AND NOT EXISTS (SELECT 1 FROM subscriptions o WHERE o.mandate_id = mandates.id)
         AND NOT EXISTS (SELECT 1 FROM mandate_subscriptions o WHERE o.mandate_id = mandates.id)
         AND NOT EXISTS (SELECT 1 FROM mandate_invoices o WHERE o.mandate_id = mandates.id)
         AND NOT EXISTS (SELECT 1 FROM pending_plan_changes o WHERE o.mandate_id = mandates.id)
         AND NOT EXISTS (SELECT 1 FROM attempts o WHERE o.subject = mandates.id)"
);

pub struct SqlMandates<'s>(pub &'s mut Connection);

#[async_trait]
impl Mandates for SqlMandates<'_> {
    async fn upsert(&mut self, mandate: &Mandate) -> Result<(), StorageError> {
        let upsert = "INSERT INTO mandates (id, livemode, customer_id, method_id, status, details, created_at, updated_at)
                      VALUES ($1, $2, $3, $4, $5, $6, $7, $8)
                      ON CONFLICT (id) DO UPDATE SET status = excluded.status, details = excluded.details, updated_at = excluded.updated_at";
        let query = self.0.query(upsert).bind(&mandate.id).bind(mandate.mode).bind(&mandate.customer_id).bind(&mandate.method_id);
        query.bind(mandate.status).bind(&mandate.details).bind(mandate.created_at).bind(mandate.updated_at).execute().await.map(drop)
    }

    async fn update_details(&mut self, id: &MandateId, details: &MandateDetails, now: Timestamp) -> Result<(), StorageError> {
        let update = "UPDATE mandates SET details = $2, updated_at = $3 WHERE id = $1";
        self.0.query(update).bind(id).bind(details).bind(now).execute().await.map(drop)
    }

    async fn link_subscription(&mut self, id: &MandateId, subscription: &SubscriptionId) -> Result<(), StorageError> {
        let insert = "INSERT INTO mandate_subscriptions (mandate_id, subscription_id) VALUES ($1, $2) ON CONFLICT DO NOTHING";
        self.0.query(insert).bind(id).bind(subscription).execute().await.map(drop)
    }

    async fn linked_subscriptions(&mut self, id: &MandateId) -> Result<Vec<SubscriptionId>, StorageError> {
        let select = "SELECT subscription_id FROM mandate_subscriptions WHERE mandate_id = $1 ORDER BY subscription_id";
        let rows = self.0.query(select).bind(id).all().await?;
        rows.iter().map(|row| row.get("subscription_id")).collect()
    }

    async fn pending_for_subscription(&mut self, subscription: &SubscriptionId) -> Result<Vec<MandateId>, StorageError> {
        let select = "SELECT mandates.id FROM mandates JOIN mandate_subscriptions ON mandate_id = mandates.id
                      WHERE subscription_id = $1 AND status = 'pending' ORDER BY mandates.id";
        let rows = self.0.query(select).bind(subscription).all().await?;
        rows.iter().map(|row| row.get("id")).collect()
    }

    async fn link_invoices(&mut self, id: &MandateId, invoices: &[InvoiceId]) -> Result<(), StorageError> {
        for invoice in invoices {
            let insert = "INSERT INTO mandate_invoices (mandate_id, invoice_id) VALUES ($1, $2) ON CONFLICT DO NOTHING";
            self.0.query(insert).bind(id).bind(invoice).execute().await?;
        }
        Ok(())
    }

    async fn linked_invoices(&mut self, id: &MandateId) -> Result<Vec<InvoiceId>, StorageError> {
        let select = "SELECT invoice_id FROM mandate_invoices WHERE mandate_id = $1 ORDER BY invoice_id";
        let rows = self.0.query(select).bind(id).all().await?;
        rows.iter().map(|row| row.get("invoice_id")).collect()
    }

    async fn pending_for_invoice(&mut self, invoice: &InvoiceId) -> Result<Vec<MandateId>, StorageError> {
        let select = "SELECT mandates.id FROM mandates JOIN mandate_invoices ON mandate_id = mandates.id
                      WHERE invoice_id = $1 AND status = 'pending' ORDER BY mandates.id";
        let rows = self.0.query(select).bind(invoice).all().await?;
        rows.iter().map(|row| row.get("id")).collect()
    }

    async fn find(&mut self, id: &MandateId) -> Result<Option<Mandate>, StorageError> {
        let row = self.0.query("SELECT * FROM mandates WHERE id = $1").bind(id).optional().await?;
        row.as_ref().map(mandate).transpose()
    }

    async fn find_all(&mut self, ids: &[MandateId]) -> Result<Vec<Mandate>, StorageError> {
        let rows = self.0.query_per_dialect(FIND_ALL).bind(keys(ids)).all().await?;
        rows.iter().map(mandate).collect()
    }

    async fn delete_unused(&mut self, id: &MandateId) -> Result<bool, StorageError> {
        Ok(self.0.query_per_dialect(DELETE_UNUSED).bind(keys(std::slice::from_ref(id))).execute().await? == 1)
    }

    async fn active_of(&mut self, customer: &CustomerId, method: &MethodId) -> Result<Vec<Mandate>, StorageError> {
        let select = "SELECT * FROM mandates WHERE customer_id = $1 AND method_id = $2 AND status = 'active' ORDER BY id DESC";
        let rows = self.0.query(select).bind(customer).bind(method).all().await?;
        rows.iter().map(mandate).collect()
    }
}

fn mandate(row: &Row) -> Result<Mandate, StorageError> {
    Ok(Mandate {
        id: row.get("id")?,
        mode: row.get("livemode")?,
        customer_id: row.get("customer_id")?,
        method_id: row.get("method_id")?,
        status: row.get("status")?,
        details: row.get("details")?,
        created_at: row.get("created_at")?,
        updated_at: row.get("updated_at")?,
    })
}
