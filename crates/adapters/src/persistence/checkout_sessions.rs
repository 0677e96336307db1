//! Checkout sessions, and the records that make starting one idempotent.

use super::columns::keys;
use super::customers::customer;
use super::listing::{Listing, list, listing, sql_per_dialect};
use super::{Connection, Query, Row, SecretBox, Sql, methods, unpaid_orders};
use async_trait::async_trait;
use souk_domain::access::Did;
use souk_domain::checkout::{self, BrowserMark, CheckoutSessions, ChosenMethod, DueSession, SessionFilter, SubmitContext};
use souk_domain::customer::CustomerStatus;
use souk_domain::operation::VisitorNetwork;
use souk_domain::shared::{CurrencyId, Listed, MethodId, Mode, Page, SessionId, StorageError, Timestamp};

const LIST: Listing = listing!(
    "checkout_sessions",
    "livemode = $4 AND ($5 IS NULL OR status " (among "$5") ") AND ($6 IS NULL OR link_id = $6) AND " (has_all "metadata" "$7")
);

const LOCK: Sql = sql_per_dialect!("SELECT * FROM checkout_sessions WHERE id = $1" (either "" " FOR UPDATE"));
pub(super) const RESERVING: &str = "SELECT count(*) AS n FROM
    (SELECT 1 AS found FROM checkout_sessions o
     WHERE o.payer = $1 AND o.livemode = $2 AND o.status = 'open' AND o.intent_id IS NOT NULL AND o.id <> $3 AND EXISTS
         (SELECT 1 FROM stock_reservations r JOIN prices sold ON sold.id = r.price_id
              JOIN prices stock ON stock.id = COALESCE(sold.stock_of, sold.id)
          WHERE r.session_id = o.id AND r.state = 'reserved' AND stock.quantity_available > 0) LIMIT $4) AS counted";
/// `visitor <> ''` is a condition of the partial index.
pub(super) const WAITING_OF_VISITOR: &str = "SELECT count(*) AS n FROM
    (SELECT 1 AS found FROM checkout_sessions s JOIN checkout_sessions o ON o.visitor = s.visitor AND o.livemode = s.livemode
     WHERE s.id = $1 AND o.status = 'open' AND o.intent_id IS NOT NULL AND o.visitor <> '' LIMIT $2) AS counted";
/// Every change of an order is later than its reservations, so these are as old at least.
pub(super) const WITH_IDLE_STOCK: &str = "SELECT id FROM checkout_sessions WHERE status = 'open' AND updated_at <= $1
    AND id IN (SELECT session_id FROM stock_reservations WHERE state = 'reserved' AND reserved_at <= $1)
    AND NOT EXISTS (SELECT 1 FROM attempts a WHERE a.subject = checkout_sessions.intent_id AND a.purpose = 'payment'
                        AND a.status IN ('open', 'unknown'))
    AND NOT EXISTS (SELECT 1 FROM attempts a WHERE a.subject = checkout_sessions.mandate_id AND a.purpose = 'mandate'
                        AND a.status IN ('open', 'unknown'))
    AND NOT EXISTS (SELECT 1 FROM attempts a WHERE a.subject = checkout_sessions.stake_id AND a.purpose = 'stake'
                        AND a.status IN ('open', 'unknown'))
    ORDER BY updated_at, id LIMIT $2";
const UPDATE: &str = "UPDATE checkout_sessions SET version = version + 1, status = $3, payment_status = $4, items = $5, currency_id = $6,
        form = $7, success_url = $8, cancel_url = $9, payer = $10, customer_id = $11, contact = $12, method_id = $13,
        intent_id = $14, invoice_id = $15, amount_total = $16, metadata = $17, expires_at = $18, updated_at = $19,
        terms = $20, requires_cross_sell = $21, subscription_ids = $22, mandate_id = $23, stake_id = $24, trial_end = $25, browser = $26
    WHERE id = $1 AND version = $2";

/// Every start deletes two expired records, so that few remain. On PostgreSQL, two concurrent starts do not wait for each other.
const DELETE_OLD_STARTS: Sql = Sql {
    sqlite: "DELETE FROM session_starts WHERE start_key IN
                 (SELECT start_key FROM session_starts WHERE started_at < $1 ORDER BY started_at LIMIT 2)",
    postgres: "WITH old AS MATERIALIZED
                   (SELECT start_key FROM session_starts WHERE started_at < $1 ORDER BY started_at LIMIT 2 FOR UPDATE SKIP LOCKED)
               DELETE FROM session_starts USING old WHERE session_starts.start_key = old.start_key",
};

/// The number of tries to claim a start: the conflicting record may be deleted before it can be read.
const CLAIM_TRIES: u32 = 3;

pub struct SqlCheckoutSessions<'s> {
    pub connection: &'s mut Connection,
    pub secrets: &'s SecretBox,
}

#[async_trait]
impl CheckoutSessions for SqlCheckoutSessions<'_> {
    async fn insert(&mut self, session: &checkout::Session) -> Result<(), StorageError> {
        self.insert_started(session, &VisitorNetwork::default()).await
    }

    async fn insert_started(&mut self, session: &checkout::Session, visitor: &VisitorNetwork) -> Result<(), StorageError> {
        self.connection.note(&session.id);
        let insert = "INSERT INTO checkout_sessions (id, version, status, payment_status, items, currency_id, form, success_url,
                          cancel_url, payer, customer_id, contact, method_id, intent_id, invoice_id, amount_total, metadata, expires_at,
                          updated_at, terms, requires_cross_sell, subscription_ids, mandate_id, stake_id, trial_end, browser, kind,
                          livemode, link_id, created_at, visitor)
                      VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, $18, $19, $20, $21, $22, $23,
                              $24, $25, $26, $27, $28, $29, $30, $31)";
        let query = bind(self.connection.query(insert), session)
            .bind(session.kind)
            .bind(session.mode)
            .bind(&session.link_id)
            .bind(session.created_at)
            .bind(visitor.stored());
        query.execute().await?;
        Ok(())
    }

    async fn find(&mut self, id: &SessionId) -> Result<Option<checkout::Session>, StorageError> {
        let row = self.connection.query("SELECT * FROM checkout_sessions WHERE id = $1").bind(id).optional().await?;
        row.as_ref().map(checkout_session).transpose()
    }

    async fn lock(&mut self, id: &SessionId) -> Result<Option<checkout::Session>, StorageError> {
        let row = self.connection.query_per_dialect(LOCK).bind(id).optional().await?;
        row.as_ref().map(checkout_session).transpose()
    }

    async fn load_for_submit(
        &mut self,
        id: &SessionId,
        method_id: &MethodId,
        currency_id: &CurrencyId,
        payer: &Did,
    ) -> Result<Option<SubmitContext>, StorageError> {
        let select = "SELECT s.*, m.*, c.*, k.*,
                          EXISTS (SELECT 1 FROM invoices WHERE customer_id = k.id AND status = 'uncollectible') AS has_overdue,
                          (EXISTS (SELECT 1 FROM mandates WHERE customer_id = k.id AND status = 'active')
                           OR EXISTS (SELECT 1 FROM customer_balances WHERE customer_id = k.id)) AS may_pay_fast
                      FROM checkout_sessions s LEFT JOIN payment_methods m ON m.id = $2
                          LEFT JOIN currencies c ON c.id = $3 AND c.method_id = m.id
                          LEFT JOIN customers k ON k.did = $4 AND k.livemode = s.livemode
                      WHERE s.id = $1";
        let query = self.connection.query(select).bind(id).bind(method_id).bind(currency_id).bind(payer);
        let Some(mut row) = query.optional().await? else { return Ok(None) };
        let session = checkout_session(row.part(0)?)?;
        let method = row.part(1)?.read_if_found(|row| methods::method(row, self.secrets))?;
        let currency = row.part(2)?.read_if_found(methods::currency)?;
        let customer_status = row.part(3)?.read_if_found(customer_status)?;
        let chosen = method.zip(currency).map(|(method, currency)| ChosenMethod { method, currency });
        Ok(Some(SubmitContext { session, chosen, customer_status }))
    }

    async fn count_waiting_of_visitor(&mut self, id: &SessionId, limit: u32) -> Result<u32, StorageError> {
        self.connection.query(WAITING_OF_VISITOR).bind(id).bind(limit).one().await?.get("n")
    }

    async fn count_reserving(&mut self, session: &checkout::Session, payer: &Did, limit: u32) -> Result<u32, StorageError> {
        let query = self.connection.query(RESERVING).bind(payer).bind(session.mode).bind(&session.id).bind(limit);
        query.one().await?.get("n")
    }

    async fn update(&mut self, session: &checkout::Session) -> Result<bool, StorageError> {
        Ok(bind(self.connection.query(UPDATE), session).execute().await? == 1)
    }

    async fn update_or_conflict(&mut self, session: &checkout::Session) -> Result<(), StorageError> {
        bind(self.connection.query(UPDATE), session).defer(Some(1)).await
    }

    async fn list(&mut self, mode: Mode, filter: &SessionFilter, page: &Page) -> Result<Listed<checkout::Session>, StorageError> {
        let statuses = (!filter.statuses.is_empty()).then(|| keys(&filter.statuses.iter().map(|status| status.name()).collect::<Vec<_>>()));
        list(
            self.connection,
            &LIST,
            page,
            |query| query.bind(mode).bind(statuses.clone()).bind(&filter.link).bind(&filter.metadata),
            checkout_session,
        )
        .await
    }

    async fn claim_start(&mut self, key: &str, session: &SessionId, now: Timestamp, since: Timestamp) -> Result<SessionId, StorageError> {
        let claim = "INSERT INTO session_starts (start_key, session_id, started_at) VALUES ($1, $2, $3)
                     ON CONFLICT (start_key) DO UPDATE SET session_id = excluded.session_id, started_at = excluded.started_at
                         WHERE session_starts.started_at <= $4
                     RETURNING session_id";
        for _ in 0..CLAIM_TRIES {
            if let Some(row) = self.connection.query(claim).bind(key).bind(session).bind(now).bind(since).optional().await? {
                self.connection.query_per_dialect(DELETE_OLD_STARTS).bind(since).execute().await?;
                return row.get("session_id");
            }
            let earlier = self.connection.query("SELECT session_id FROM session_starts WHERE start_key = $1").bind(key).optional().await?;
            if let Some(row) = earlier {
                let found = row.get("session_id")?;
                self.connection.note(&found);
                return Ok(found);
            }
        }
        Err(StorageError::Driver("a start could neither be claimed nor found".into()))
    }

    async fn expire_idle(&mut self, now: Timestamp, limit: u32) -> Result<u64, StorageError> {
        // The conditions are repeated outside the subquery because PostgreSQL re-evaluates only those after it waited for a row lock.
        let update = "UPDATE checkout_sessions SET status = 'expired', version = version + 1, updated_at = $1
                      WHERE status = 'open' AND intent_id IS NULL AND expires_at <= $1 AND id IN
                        (SELECT id FROM checkout_sessions WHERE status = 'open' AND intent_id IS NULL AND expires_at <= $1 LIMIT $2)";
        self.connection.query(update).bind(now).bind(limit).execute().await
    }

    async fn prune_unsubmitted(&mut self, before: Timestamp, limit: u32) -> Result<u64, StorageError> {
        // An expired session cannot be submitted any more, so the conditions still hold after a wait for a row lock.
        let delete = "DELETE FROM checkout_sessions WHERE id IN
                        (SELECT id FROM checkout_sessions
                         WHERE status = 'expired' AND link_id IS NOT NULL AND payer IS NULL AND intent_id IS NULL AND created_at < $1
                         ORDER BY created_at, id LIMIT $2)";
        self.connection.query(delete).bind(before).bind(limit).execute().await
    }

    async fn prune_unpaid(&mut self, before: Timestamp, limit: u32) -> Result<u64, StorageError> {
        unpaid_orders::prune(self.connection, before, limit).await
    }

    async fn count_unpaid(&mut self, before: Timestamp, limit: u32) -> Result<u32, StorageError> {
        self.connection.query_per_dialect(unpaid_orders::COUNT).bind(before).bind(limit).one().await?.get("n")
    }

    async fn first_unpaid(&mut self, before: Timestamp, limit: u32, among: u32) -> Result<Vec<SessionId>, StorageError> {
        let rows = self.connection.query_per_dialect(unpaid_orders::FIRST).bind(before).bind(limit).bind(among).all().await?;
        rows.iter().map(|row| row.get("id")).collect()
    }

    async fn delete_unpaid(&mut self, orders: &[SessionId], before: Timestamp) -> Result<u64, StorageError> {
        let orders: Vec<_> = orders.iter().map(ToString::to_string).collect();
        unpaid_orders::delete(self.connection, &orders, before).await
    }

    async fn with_idle_stock(&mut self, before: Timestamp, limit: u32) -> Result<Vec<SessionId>, StorageError> {
        let rows = self.connection.query(WITH_IDLE_STOCK).bind(before).bind(limit).all().await?;
        rows.iter().map(|row| row.get("id")).collect()
    }

    async fn due_for_expiry(&mut self, now: Timestamp, after: Option<&DueSession>, limit: u32) -> Result<Vec<DueSession>, StorageError> {
        let select = "SELECT id, expires_at FROM checkout_sessions WHERE status = 'open' AND expires_at <= $1
                      AND ($2 IS NULL OR (expires_at, id) > ($2, $3)) ORDER BY expires_at, id LIMIT $4";
        let (since, id) = after.map(|(since, id)| (*since, id.clone())).unzip();
        let rows = self.connection.query(select).bind(now).bind(since).bind(id).bind(limit).all().await?;
        rows.iter().map(|row| Ok((row.get("expires_at")?, row.get("id")?))).collect()
    }
}

/// Binds `$1` to `$26`: the id, the version and the updatable columns.
fn bind<'q>(query: Query<'q>, session: &checkout::Session) -> Query<'q> {
    let query = query.bind(&session.id).bind(session.version).bind(session.status).bind(session.payment_status).bind(&session.items);
    let query = query.bind(&session.currency_id).bind(&session.form).bind(&session.success_url).bind(&session.cancel_url);
    let query = query.bind(&session.payer).bind(&session.customer_id).bind(&session.contact).bind(&session.method_id);
    let query = query.bind(&session.intent_id).bind(&session.invoice_id).bind(session.amount_total).bind(&session.metadata);
    let query = query.bind(session.expires_at).bind(session.updated_at).bind(&session.terms).bind(session.requires_cross_sell);
    query
        .bind(&session.subscription_ids)
        .bind(&session.mandate_id)
        .bind(&session.stake_id)
        .bind(session.trial_end)
        .bind(session.browser.as_ref().map(|browser| &browser.0))
}

fn customer_status(row: &Row) -> Result<CustomerStatus, StorageError> {
    Ok(CustomerStatus { customer: customer(row)?, has_overdue: row.get("has_overdue")?, may_pay_fast: row.get("may_pay_fast")? })
}

fn checkout_session(row: &Row) -> Result<checkout::Session, StorageError> {
    Ok(checkout::Session {
        id: row.get("id")?,
        mode: row.get("livemode")?,
        kind: row.get("kind")?,
        status: row.get("status")?,
        payment_status: row.get("payment_status")?,
        link_id: row.get("link_id")?,
        items: row.get("items")?,
        currency_id: row.get("currency_id")?,
        form: row.get("form")?,
        terms: row.get("terms")?,
        requires_cross_sell: row.get("requires_cross_sell")?,
        success_url: row.get("success_url")?,
        cancel_url: row.get("cancel_url")?,
        browser: row.get::<Option<String>>("browser")?.map(BrowserMark),
        payer: row.get("payer")?,
        customer_id: row.get("customer_id")?,
        contact: row.get("contact")?,
        method_id: row.get("method_id")?,
        intent_id: row.get("intent_id")?,
        invoice_id: row.get("invoice_id")?,
        subscription_ids: row.get("subscription_ids")?,
        mandate_id: row.get("mandate_id")?,
        stake_id: row.get("stake_id")?,
        trial_end: row.get("trial_end")?,
        amount_total: row.get("amount_total")?,
        metadata: row.get("metadata")?,
        expires_at: row.get("expires_at")?,
        created_at: row.get("created_at")?,
        updated_at: row.get("updated_at")?,
        version: row.get("version")?,
    })
}
