//! Payment intents.

use super::columns::{bind_description, containing, keys, read_description};
use super::listing::{Listing, list, listing, or_by_id, sql_per_dialect};
use super::{Connection, Row, Sql, Values};
use async_trait::async_trait;
use souk_domain::payment::{Decline, Intent, IntentStatus, Intents, PaidIntent, RefundPart};
use souk_domain::pricing::Metadata;
use souk_domain::shared::{
    Amount, AmountError, AttemptId, CurrencyId, CustomerId, Listed, MethodId, Mode, Page, PaymentIntentId, SessionId, StorageError,
    Timestamp,
};
use std::collections::{BTreeMap, BTreeSet};

/// On PostgreSQL, groups that share intents lock them in the order of their ids, so that no two groups wait for each other.
const LOCK_ALL: Sql = sql_per_dialect!("SELECT id FROM payment_intents WHERE id " (among "$1") (either "" " ORDER BY id FOR UPDATE"));
const FIND_ALL: Sql = sql_per_dialect!("SELECT * FROM payment_intents WHERE id " (among "$1") " ORDER BY id");
/// Repeats the condition of the partial index.
pub(super) const FIND_ALL_HELD: Sql = sql_per_dialect!(
    "SELECT * FROM payment_intents WHERE held_attempt_id IS NOT NULL AND held_attempt_id " (among "$1") " ORDER BY id"
);
const LIST: Listing = listing!("payment_intents", "livemode = $4");
const OF_CUSTOMER: Listing = listing!("payment_intents", "customer_id = $4 AND amount >= $5").exact();
/// One list per index, as for invoices.
macro_rules! search {
    ($($conditions:tt)+) => {
        listing!(
            "payment_intents",
            $($conditions)+
            " AND amount >= $6 AND (id = $7 OR reference = $7 OR LOWER(name || ' ' || name_zh) LIKE $8 ESCAPE '\\')"
        )
    };
}
pub(super) const SEARCH: Listing = search!("livemode = $4 AND $5 IS NULL AND " (newest "payment_intents"));
pub(super) const SEARCH_OF_CUSTOMER: Listing = search!("customer_id = $5 AND " (either "+livemode" "livemode") " = $4").exact();
/// The newest payments of all currencies are read, by the index of the list: one of each currency would cost every payment a write.
pub(super) const RECEIVED_SINCE: &str = "SELECT amount_received FROM
        (SELECT currency_id, amount_received FROM payment_intents
         WHERE livemode = $1 AND id >= $3 AND status = 'succeeded' ORDER BY id DESC LIMIT $4) AS newest
    WHERE currency_id = $2";
/// Amounts are stored as text on SQLite. The new amount is therefore computed in Rust, and the update requires the old one.
const LOCK_RECEIVED: Sql = sql_per_dialect!(
    "SELECT id, amount_received, amount_refunded FROM payment_intents WHERE id " (among "$1") " AND status = 'succeeded' ORDER BY id"
    (either "" " FOR UPDATE")
);
// SQLite uses a partial index only if the statement repeats the index's condition verbatim.
pub(super) const FIND_BY_REFERENCE: &str =
    "SELECT * FROM payment_intents WHERE method_id = $1 AND reference = $2 AND reference <> '' ORDER BY id LIMIT 1";

pub struct SqlIntents<'s>(pub &'s mut Connection);

#[async_trait]
impl Intents for SqlIntents<'_> {
    async fn put_all(&mut self, intents: &[Intent]) -> Result<(), StorageError> {
        intents.iter().for_each(|intent| self.0.note(&intent.id));
        let insert =
            "INSERT INTO payment_intents (id, livemode, status, description, name, name_zh, name_others, amount, amount_received, amount_refunded,
                          currency_id, method_id, customer_id, subscription_id, session_id, invoices, last_error, reference, payer,
                          held_attempt_id, metadata, created_at, updated_at)";
        let update = "ON CONFLICT (id) DO UPDATE SET
                          status = excluded.status, description = excluded.description, name = excluded.name,
                          name_zh = excluded.name_zh, name_others = excluded.name_others, amount = excluded.amount,
                          currency_id = excluded.currency_id, method_id = excluded.method_id, customer_id = excluded.customer_id,
                          invoices = excluded.invoices, last_error = excluded.last_error, updated_at = excluded.updated_at
                          WHERE payment_intents.status <> 'succeeded'";
        let row = |intent: &Intent| {
            let values = Values::default().bind(&intent.id).bind(intent.mode).bind(intent.status);
            let values = bind_description(values, &intent.description);
            let values = values.bind(intent.amount).bind(intent.amount_received).bind(intent.amount_refunded).bind(&intent.currency_id);
            let values = values.bind(&intent.method_id).bind(&intent.customer_id).bind(&intent.subscription_id).bind(&intent.session_id);
            let values = values.bind(&intent.invoices).bind(&intent.last_error).bind(&intent.reference).bind(&intent.payer);
            values.bind(&intent.held_attempt_id).bind(&intent.metadata).bind(intent.created_at).bind(intent.updated_at)
        };
        self.0.insert_deferred(insert, intents.iter().map(row).collect(), update).await
    }

    async fn find(&mut self, id: &PaymentIntentId) -> Result<Option<Intent>, StorageError> {
        let row = self.0.query("SELECT * FROM payment_intents WHERE id = $1").bind(id).optional().await?;
        row.as_ref().map(intent).transpose()
    }

    async fn received_since(
        &mut self,
        mode: Mode,
        currency: &CurrencyId,
        first: &PaymentIntentId,
        limit: u32,
    ) -> Result<Vec<Amount>, StorageError> {
        let rows = self.0.query(RECEIVED_SINCE).bind(mode).bind(currency).bind(first).bind(limit).all().await?;
        rows.iter().map(|row| row.get("amount_received")).collect()
    }

    async fn find_all(&mut self, ids: &[PaymentIntentId]) -> Result<Vec<Intent>, StorageError> {
        let rows = self.0.query_per_dialect(FIND_ALL).bind(keys(ids)).all().await?;
        rows.iter().map(intent).collect()
    }

    async fn find_by_session(&mut self, session: &SessionId) -> Result<Option<Intent>, StorageError> {
        let select = "SELECT * FROM payment_intents WHERE id = (SELECT intent_id FROM checkout_sessions WHERE id = $1)";
        let row = self.0.query(select).bind(session).optional().await?;
        row.as_ref().map(intent).transpose()
    }

    async fn succeed_all(&mut self, paid: &[PaidIntent], now: Timestamp) -> Result<u64, StorageError> {
        let set = "UPDATE payment_intents SET status = 'succeeded', amount_received = new.column2, reference = new.column3,
                       payer = new.column4, last_error = NULL, updated_at = new.column5";
        let row = |paid: &PaidIntent| {
            let values = Values::default().bind(&paid.id).bind(paid.amount).bind(&paid.reference);
            values.bind(&paid.payer).bind(now)
        };
        if paid.len() > 1 {
            let ids: Vec<_> = paid.iter().map(|paid| paid.id.clone()).collect();
            self.0.query_per_dialect(LOCK_ALL).bind(keys(&ids)).all().await?;
        }
        let is_unpaid = "payment_intents.id = new.column1 AND payment_intents.status <> 'succeeded'";
        self.0.update(set, paid.iter().map(row).collect(), is_unpaid).await
    }

    async fn set_status(
        &mut self,
        id: &PaymentIntentId,
        status: IntentStatus,
        error: Option<&Decline>,
        now: Timestamp,
    ) -> Result<bool, StorageError> {
        let update = "UPDATE payment_intents SET status = $2, last_error = $3, updated_at = $4
                      WHERE id = $1 AND status NOT IN ('succeeded', 'canceled')";
        Ok(self.0.query(update).bind(id).bind(status).bind(error).bind(now).execute().await? == 1)
    }

    async fn reserve_refunds(&mut self, parts: &[RefundPart<'_>], now: Timestamp) -> Result<bool, StorageError> {
        self.change_refunded(parts, now, Amount::plus).await
    }

    async fn release_refund(&mut self, id: &PaymentIntentId, amount: Amount, now: Timestamp) -> Result<(), StorageError> {
        let is_released = self.change_refunded(&[RefundPart { intent: id, amount }], now, Amount::minus).await?;
        if is_released { Ok(()) } else { Err(StorageError::Conflict) }
    }

    async fn with_room(&mut self, customer: &CustomerId, currency: &CurrencyId, limit: u32) -> Result<Vec<Intent>, StorageError> {
        let select = "SELECT * FROM payment_intents WHERE customer_id = $1 AND currency_id = $2 AND status = 'succeeded'
                          AND amount_refunded < amount_received AND NOT EXISTS
                              (SELECT 1 FROM attempts a WHERE a.id = held_attempt_id AND a.status IN ('open', 'unknown'))
                      ORDER BY id DESC LIMIT $3";
        let rows = self.0.query(select).bind(customer).bind(currency).bind(limit).all().await?;
        rows.iter().map(intent).collect()
    }

    async fn last_paid(&mut self, customer: &CustomerId, currency: &CurrencyId) -> Result<Option<Intent>, StorageError> {
        let select = "SELECT * FROM payment_intents WHERE customer_id = $1 AND currency_id = $2 AND status = 'succeeded'
                          AND amount_received > $3
                      ORDER BY id DESC LIMIT 1";
        let row = self.0.query(select).bind(customer).bind(currency).bind(Amount::ZERO).optional().await?;
        row.as_ref().map(intent).transpose()
    }

    async fn find_held(&mut self, attempt: &AttemptId) -> Result<Option<Intent>, StorageError> {
        let row = self.0.query("SELECT * FROM payment_intents WHERE held_attempt_id = $1").bind(attempt).optional().await?;
        row.as_ref().map(intent).transpose()
    }

    async fn find_all_held(&mut self, attempts: &[AttemptId]) -> Result<Vec<Intent>, StorageError> {
        let rows = self.0.query_per_dialect(FIND_ALL_HELD).bind(keys(attempts)).all().await?;
        rows.iter().map(intent).collect()
    }

    async fn find_by_reference(&mut self, method: &MethodId, reference: &str) -> Result<Option<Intent>, StorageError> {
        let row = self.0.query(FIND_BY_REFERENCE).bind(method).bind(reference).optional().await?;
        row.as_ref().map(intent).transpose()
    }

    async fn of_customer(&mut self, customer: &CustomerId, page: &Page) -> Result<Listed<Intent>, StorageError> {
        list(self.0, &OF_CUSTOMER, page, |query| query.bind(customer).bind(Amount::new(1)), intent).await
    }

    async fn list(&mut self, mode: Mode, page: &Page) -> Result<Listed<Intent>, StorageError> {
        list(self.0, &LIST, page, |query| query.bind(mode), intent).await
    }

    async fn search(
        &mut self,
        mode: Mode,
        customer: Option<&CustomerId>,
        words: &str,
        page: &Page,
    ) -> Result<Listed<Intent>, StorageError> {
        let (listing, least) = if customer.is_some() { (&SEARCH_OF_CUSTOMER, Amount::new(1)) } else { (&SEARCH, Amount::ZERO) };
        let (customer, wanted) = (customer.cloned(), containing(words));
        let listed =
            list(self.0, listing, page, |query| query.bind(mode).bind(&customer).bind(least).bind(words).bind(wanted.as_str()), intent)
                .await?;
        match customer {
            Some(_) => Ok(listed),
            None => or_by_id(self.0, listed, "SELECT * FROM payment_intents WHERE id = $1 AND livemode = $2", words, mode, intent).await,
        }
    }

    async fn update_metadata(
        &mut self,
        mode: Mode,
        id: &PaymentIntentId,
        metadata: &Metadata,
        now: Timestamp,
    ) -> Result<bool, StorageError> {
        let update = "UPDATE payment_intents SET metadata = $3, updated_at = $4 WHERE id = $1 AND livemode = $2";
        Ok(self.0.query(update).bind(id).bind(mode).bind(metadata).bind(now).execute().await? == 1)
    }
}

impl SqlIntents<'_> {
    /// Applies `change` to the refunded amounts. Returns false and writes nothing if an intent has not succeeded, or if a result is not a
    /// valid amount or exceeds the amount received.
    async fn change_refunded(
        &mut self,
        parts: &[RefundPart<'_>],
        now: Timestamp,
        change: fn(Amount, Amount) -> Result<Amount, AmountError>,
    ) -> Result<bool, StorageError> {
        let ids: BTreeSet<_> = parts.iter().map(|part| part.intent).collect();
        if ids.is_empty() {
            return Ok(true);
        }
        let ids: Vec<_> = ids.into_iter().collect();
        let mut changed = BTreeMap::new();
        for row in self.0.query_per_dialect(LOCK_RECEIVED).bind(keys(&ids)).all().await? {
            let before: Amount = row.get("amount_refunded")?;
            changed.insert(row.get::<PaymentIntentId>("id")?, Refunded { received: row.get("amount_received")?, before, after: before });
        }
        for part in parts {
            let Some(refunded) = changed.get_mut(part.intent) else { return Ok(false) };
            match change(refunded.after, part.amount) {
                Ok(after) if after <= refunded.received => refunded.after = after,
                _ => return Ok(false),
            }
        }
        let row =
            |(id, refunded): (&PaymentIntentId, &Refunded)| Values::default().bind(id).bind(refunded.before).bind(refunded.after).bind(now);
        let set = "UPDATE payment_intents SET amount_refunded = new.column3, updated_at = new.column4";
        let is_as_before = "payment_intents.id = new.column1 AND payment_intents.amount_refunded = new.column2";
        Ok(self.0.update(set, changed.iter().map(row).collect(), is_as_before).await? == changed.len() as u64)
    }
}

/// The refunded amount of an intent, and the amount received, which it never exceeds.
struct Refunded {
    received: Amount,
    before: Amount,
    after: Amount,
}

fn intent(row: &Row) -> Result<Intent, StorageError> {
    Ok(Intent {
        id: row.get("id")?,
        mode: row.get("livemode")?,
        status: row.get("status")?,
        description: read_description("payment_intents", row)?,
        amount: row.get("amount")?,
        amount_received: row.get("amount_received")?,
        amount_refunded: row.get("amount_refunded")?,
        currency_id: row.get("currency_id")?,
        method_id: row.get("method_id")?,
        customer_id: row.get("customer_id")?,
        subscription_id: row.get("subscription_id")?,
        session_id: row.get("session_id")?,
        invoices: row.get("invoices")?,
        last_error: row.get("last_error")?,
        reference: row.get("reference")?,
        payer: row.get("payer")?,
        held_attempt_id: row.get("held_attempt_id")?,
        metadata: row.get("metadata")?,
        created_at: row.get("created_at")?,
        updated_at: row.get("updated_at")?,
    })
}
