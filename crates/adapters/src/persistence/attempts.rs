//! Payment attempts. This module encrypts and decrypts the client secrets of card payments.

use super::attempt_lists;
use super::attempts_on_hold::{self, not_on_hold, on_hold};
use super::columns::keys;
use super::listing::sql_per_dialect;
use super::secret_box::{SecretBox, place};
use super::{Connection, Row, Sql, Values, json};
use async_trait::async_trait;
use serde_json::Value;
use souk_domain::access::Did;
use souk_domain::billing::InvoiceStatus;
use souk_domain::operation::CLOCK_TOLERANCE;
use souk_domain::payment::{
    Attempt, AttemptKind, AttemptStatus, Attempts, Decline, HoldClass, Moved, NewAttempt, PlannedPayment, Purpose, RECHECK_AFTER, Recheck,
    TransactionKey,
};
use souk_domain::shared::{Amount, AttemptId, ClockId, InvoiceId, Listed, MethodId, Mode, Page, PaymentIntentId, StorageError, Timestamp};
use std::collections::{BTreeMap, HashMap};

const TABLE: &str = "attempts";
const CLIENT_SECRET: &str = "client_secret";

const INSERT: &str =
    "INSERT INTO attempts (id, purpose, subject, session_id, connect_token, kind, method_id, currency_id, amount, status, payer, bytes,
                          hash, provider_id, client_secret, card, period, last_error, moved_amount, moved_reference, checks, check_at, sent_at,
                          created_at, updated_at)";
const ALREADY_IN_FLIGHT: &str = "an open one of an invoice that it pays";
const INSERT_PLANNED: &str = "INSERT INTO attempt_invoices (attempt_id, invoice_id, amount, open)";
/// Amounts are stored as text on SQLite, so the remaining amount is computed in Rust while the lock is held.
const LOCK_INVOICES: Sql = sql_per_dialect!(
    "SELECT id, status, total, amount_paid, amount_credited FROM invoices WHERE id " (among "$1") " ORDER BY id" (either "" " FOR UPDATE")
);
const LOCK_INVOICE: Sql = sql_per_dialect!("SELECT id FROM invoices WHERE id = $1" (either "" " FOR UPDATE"));
/// An open attempt that an owner does not have to decide about.
macro_rules! undecided {
    () => {
        concat!("status IN ('open', 'unknown') AND ", not_on_hold!())
    };
}

/// Looks up each method in the index, because a long backlog of one must not make the search slow.
pub(super) const NETWORKS_DUE: &str = concat!(
    "SELECT id FROM payment_methods m WHERE EXISTS (SELECT 1 FROM attempts WHERE method_id = m.id AND ",
    undecided!(),
    " AND check_at <= $1) ORDER BY id"
);
pub(super) const CLAIM_DUE: Sql = Sql {
    sqlite: concat!(
        "UPDATE attempts SET check_at = $2, sent_at = COALESCE(sent_at, $1) WHERE id IN
             (SELECT id FROM attempts WHERE method_id = $4 AND ",
        undecided!(),
        " AND check_at <= $1 ORDER BY check_at, id LIMIT $3)
         RETURNING id"
    ),
    postgres: concat!(
        "WITH due AS MATERIALIZED
             (SELECT id FROM attempts WHERE method_id = $4 AND ",
        undecided!(),
        " AND check_at <= $1 ORDER BY check_at, id LIMIT $3 FOR UPDATE SKIP LOCKED)
         UPDATE attempts SET check_at = $2, sent_at = COALESCE(attempts.sent_at, $1) FROM due WHERE attempts.id = due.id RETURNING attempts.id"
    ),
};
const RELEASE: Sql = sql_per_dialect!(
    "UPDATE attempts SET check_at = $4, sent_at = CASE WHEN sent_at = $2 THEN NULL ELSE sent_at END
     WHERE id " (among "$1") " AND check_at = $3 AND status IN ('open', 'unknown')"
);
const CLAIM_RECHECKS: Sql = Sql {
    sqlite: "UPDATE attempts SET recheck_at = $2 WHERE id IN
                 (SELECT id FROM attempts WHERE recheck_at IS NOT NULL AND recheck_at <= $1 ORDER BY recheck_at, id LIMIT $3)
             RETURNING id, method_id, updated_at, doubted",
    postgres: "WITH due AS MATERIALIZED
                   (SELECT id FROM attempts WHERE recheck_at IS NOT NULL AND recheck_at <= $1 ORDER BY recheck_at, id LIMIT $3
                    FOR UPDATE SKIP LOCKED)
               UPDATE attempts SET recheck_at = $2 FROM due WHERE attempts.id = due.id
               RETURNING attempts.id, attempts.method_id, attempts.updated_at, attempts.doubted",
};

/// On PostgreSQL, groups that share attempts lock them in the order of their ids, so that no two groups wait for each other. The update does
/// not repeat the condition that the lock has checked: with it, the planner reads the index of open attempts, which holds every attempt that
/// has ended since the last vacuum.
const SETTLE: Sql = Sql {
    sqlite: concat!(
        "UPDATE attempts SET status = 'settled', last_error = NULL, updated_at = $2,
             recheck_at = CASE WHEN purpose = 'payment' AND hash IS NOT NULL THEN $3 END
         WHERE id IN (SELECT value FROM json_each($1)) AND ",
        undecided!(),
        " RETURNING id"
    ),
    postgres: concat!(
        "WITH locked AS MATERIALIZED
             (SELECT id FROM attempts WHERE id = ANY (ARRAY(SELECT jsonb_array_elements_text($1))) AND ",
        undecided!(),
        " ORDER BY id FOR UPDATE)
         UPDATE attempts SET status = 'settled', last_error = NULL, updated_at = $2,
             recheck_at = CASE WHEN purpose = 'payment' AND hash IS NOT NULL THEN $3 END
         FROM locked WHERE attempts.id = locked.id RETURNING attempts.id"
    ),
};
const CLOSE: Sql = sql_per_dialect!("UPDATE attempt_invoices SET open = $2 WHERE attempt_id " (among "$1"));
/// Excludes drafts: they belong to checkouts, which may stay open for any time.
const HAS_OPEN_FOR_CLOCK: Sql = sql_per_dialect!(
    "SELECT c.invoice_id FROM attempt_invoices c JOIN invoices i ON i.id = c.invoice_id
     WHERE " (either "c.open = 1" "c.open") " AND i.clock_id = $1 AND i.status IN ('open', 'uncollectible') LIMIT 1"
);
const CLAIM_UNSENT: Sql = Sql {
    sqlite: "UPDATE attempts SET sent_at = $2, check_at = $3
             WHERE id IN (SELECT value FROM json_each($1)) AND sent_at IS NULL AND status = 'open' RETURNING id",
    postgres: "WITH locked AS MATERIALIZED
                   (SELECT id FROM attempts WHERE id = ANY (ARRAY(SELECT jsonb_array_elements_text($1))) AND sent_at IS NULL AND status = 'open'
                    ORDER BY id FOR UPDATE)
               UPDATE attempts SET sent_at = $2, check_at = $3
               FROM locked WHERE attempts.id = locked.id RETURNING attempts.id",
};

pub struct SqlAttempts<'s> {
    pub connection: &'s mut Connection,
    pub secrets: &'s SecretBox,
}

#[async_trait]
impl Attempts for SqlAttempts<'_> {
    async fn count_on_hold(&mut self, class: HoldClass, limit: u32) -> Result<u32, StorageError> {
        attempts_on_hold::count(self.connection, class, limit).await
    }

    async fn on_hold(&mut self, class: HoldClass, mode: Mode, page: &Page) -> Result<Listed<Attempt>, StorageError> {
        let Listed { count, list: ids } = attempts_on_hold::list(self.connection, class, mode, page).await?;
        let mut list = if ids.is_empty() { Vec::new() } else { self.find_all(&ids).await? };
        list.sort_by_key(|attempt| ids.iter().position(|id| *id == attempt.id));
        Ok(Listed { count, list })
    }

    async fn hold(&mut self, id: &AttemptId, moved: &Moved, error: &Decline, now: Timestamp) -> Result<bool, StorageError> {
        let update = concat!(
            "UPDATE attempts SET status = 'unknown', last_error = $2, moved_amount = $3, moved_reference = $4, updated_at = $5
             WHERE id = $1 AND ",
            undecided!()
        );
        let query = self.connection.query(update).bind(id).bind(Some(error)).bind(moved.amount).bind(&moved.reference).bind(now);
        Ok(query.execute().await? == 1)
    }

    async fn decline_held(&mut self, id: &AttemptId, error: &Decline, now: Timestamp) -> Result<bool, StorageError> {
        let update = concat!("UPDATE attempts SET status = 'declined', last_error = $2, updated_at = $3 WHERE id = $1 AND ", on_hold!());
        let query = self.connection.query(update).bind(id).bind(Some(error)).bind(now);
        let declined = query.execute().await? == 1;
        self.close_if(declined, id).await
    }

    async fn settle_held(&mut self, id: &AttemptId, amount: Amount, now: Timestamp) -> Result<bool, StorageError> {
        let update = concat!("UPDATE attempts SET status = 'settled', amount = $2, updated_at = $3 WHERE id = $1 AND ", on_hold!());
        let settled = self.connection.query(update).bind(id).bind(amount).bind(now).execute().await? == 1;
        self.close_if(settled, id).await
    }

    async fn insert_all(&mut self, attempts: &[NewAttempt]) -> Result<(), StorageError> {
        let invoices: Vec<_> = attempts.iter().flat_map(|new| &new.planned).map(|one| one.invoice_id.clone()).collect();
        let remaining = if invoices.is_empty() { HashMap::new() } else { self.lock_remaining(&invoices).await? };
        expect_remaining(attempts, &remaining)?;
        // Check before the insert: the insert would wait for a transaction that is closing an attempt, and that transaction may be
        // waiting for the invoice locked here (a deadlock).
        if !invoices.is_empty() && !self.in_flight(&invoices).await?.is_empty() {
            return Err(duplicate(ALREADY_IN_FLIGHT));
        }
        self.write_all(attempts).await
    }

    async fn insert_all_for_new_invoices(
        &mut self,
        attempts: &[NewAttempt],
        remaining: &HashMap<InvoiceId, Amount>,
    ) -> Result<(), StorageError> {
        expect_remaining(attempts, remaining)?;
        self.write_all(attempts).await
    }

    async fn find(&mut self, id: &AttemptId) -> Result<Option<Attempt>, StorageError> {
        let row = self.connection.query("SELECT * FROM attempts WHERE id = $1").bind(id).optional().await?;
        row.map(|row| attempt(&row, self.secrets)).transpose()
    }

    async fn methods_of(&mut self, ids: &[AttemptId]) -> Result<Vec<(AttemptId, MethodId)>, StorageError> {
        attempt_lists::methods_of(self.connection, ids).await
    }

    async fn find_by_hash(&mut self, hash: &str) -> Result<Option<Attempt>, StorageError> {
        // Hashes are unique for each method, and there are few methods.
        let select = "SELECT attempts.* FROM payment_methods
                      JOIN attempts ON attempts.method_id = payment_methods.id AND attempts.hash = $1";
        let row = self.connection.query(select).bind(hash).optional().await?;
        row.map(|row| attempt(&row, self.secrets)).transpose()
    }

    async fn of_connect_session(&mut self, token: &str) -> Result<Vec<Attempt>, StorageError> {
        attempt_lists::of_connect_session(self, token).await
    }

    async fn set_connect_token(&mut self, id: &AttemptId, token: &str) -> Result<bool, StorageError> {
        let update = "UPDATE attempts SET connect_token = $2 WHERE id = $1 AND status IN ('open', 'unknown')";
        Ok(self.connection.query(update).bind(id).bind(token).execute().await? == 1)
    }

    async fn find_by_provider(&mut self, method: &MethodId, provider_id: &str) -> Result<Option<Attempt>, StorageError> {
        let select = "SELECT * FROM attempts WHERE method_id = $1 AND provider_id = $2";
        let row = self.connection.query(select).bind(method).bind(provider_id).optional().await?;
        row.map(|row| attempt(&row, self.secrets)).transpose()
    }

    async fn has_open_for_method(&mut self, method: &MethodId) -> Result<bool, StorageError> {
        let select = "SELECT id FROM attempts WHERE method_id = $1 AND status IN ('open', 'unknown') LIMIT 1";
        Ok(self.connection.query(select).bind(method).optional().await?.is_some())
    }

    async fn has_open_for_clock(&mut self, clock: &ClockId) -> Result<bool, StorageError> {
        Ok(self.connection.query_per_dialect(HAS_OPEN_FOR_CLOCK).bind(clock).optional().await?.is_some())
    }

    async fn open_of_intent(&mut self, intent: &PaymentIntentId) -> Result<Option<Attempt>, StorageError> {
        self.open_of(&Purpose::Payment(intent.clone())).await
    }

    async fn open_of(&mut self, purpose: &Purpose) -> Result<Option<Attempt>, StorageError> {
        let select = "SELECT * FROM attempts WHERE subject = $1 AND purpose = $2 AND status IN ('open', 'unknown')";
        let row = self.connection.query(select).bind(purpose.subject()).bind(purpose.name()).optional().await?;
        row.map(|row| attempt(&row, self.secrets)).transpose()
    }

    async fn find_all(&mut self, ids: &[AttemptId]) -> Result<Vec<Attempt>, StorageError> {
        attempt_lists::among(self, attempt_lists::FIND_ALL, ids).await
    }

    async fn find_open(&mut self, ids: &[AttemptId]) -> Result<Vec<Attempt>, StorageError> {
        attempt_lists::among(self, attempt_lists::FIND_OPEN, ids).await
    }

    async fn lock_open(&mut self, ids: &[AttemptId]) -> Result<Vec<Attempt>, StorageError> {
        if ids.is_empty() { Ok(Vec::new()) } else { attempt_lists::among(self, attempt_lists::LOCK_OPEN, ids).await }
    }

    async fn wallets_of(&mut self, transactions: &[TransactionKey]) -> Result<BTreeMap<TransactionKey, Did>, StorageError> {
        attempt_lists::wallets_of(self.connection, transactions).await
    }

    async fn planned_by_all(&mut self, ids: &[AttemptId]) -> Result<HashMap<AttemptId, Vec<PlannedPayment>>, StorageError> {
        attempt_lists::planned_by(self.connection, ids).await
    }

    async fn in_flight(&mut self, invoices: &[InvoiceId]) -> Result<Vec<InvoiceId>, StorageError> {
        attempt_lists::in_flight(self.connection, invoices).await
    }

    async fn lock_not_in_flight(&mut self, invoice: &InvoiceId) -> Result<bool, StorageError> {
        // Attempts are inserted for an invoice only under its lock, so none can be added after this check.
        self.connection.query_per_dialect(LOCK_INVOICE).bind(invoice).optional().await?;
        Ok(self.in_flight(std::slice::from_ref(invoice)).await?.is_empty())
    }

    async fn claim_rechecks(&mut self, now: Timestamp, next: Timestamp, limit: u32) -> Result<Vec<Recheck>, StorageError> {
        let rows = self.connection.query_per_dialect(CLAIM_RECHECKS).bind(now).bind(next).bind(limit).all().await?;
        let read = |row: &Row| {
            let (id, method_id) = (row.get("id")?, row.get("method_id")?);
            Ok(Recheck { id, method_id, settled_at: row.get("updated_at")?, is_doubted: row.get("doubted")? })
        };
        rows.iter().map(read).collect()
    }

    async fn doubt(&mut self, id: &AttemptId, next: Timestamp) -> Result<(), StorageError> {
        let update = "UPDATE attempts SET doubted = $2, recheck_at = $3 WHERE id = $1 AND recheck_at IS NOT NULL";
        self.connection.query(update).bind(id).bind(true).bind(next).execute().await.map(drop)
    }

    async fn end_rechecks(&mut self, id: &AttemptId) -> Result<(), StorageError> {
        let update = "UPDATE attempts SET doubted = $2, recheck_at = NULL WHERE id = $1";
        self.connection.query(update).bind(id).bind(false).execute().await.map(drop)
    }

    async fn claim_reversal(&mut self, id: &AttemptId, now: Timestamp) -> Result<bool, StorageError> {
        let update = "UPDATE attempts SET reversed_at = $2, recheck_at = NULL WHERE id = $1 AND status = 'settled' AND reversed_at IS NULL";
        Ok(self.connection.query(update).bind(id).bind(now).execute().await? == 1)
    }

    async fn claim_unsent(&mut self, ids: &[AttemptId], now: Timestamp, check_at: Timestamp) -> Result<Vec<AttemptId>, StorageError> {
        let rows = self.connection.query_per_dialect(CLAIM_UNSENT).bind(keys(ids)).bind(now).bind(check_at).all().await?;
        rows.iter().map(|row| row.get("id")).collect()
    }

    async fn set_provider_ids(
        &mut self,
        id: &AttemptId,
        provider_id: &str,
        client_secret: &str,
        now: Timestamp,
    ) -> Result<(), StorageError> {
        let secret = encrypt(self.secrets, id, client_secret)?;
        let update = "UPDATE attempts SET provider_id = $2, client_secret = $3, updated_at = $4
                      WHERE id = $1 AND provider_id IS NULL AND hash IS NULL";
        self.connection.query(update).bind(id).bind(provider_id).bind(secret).bind(now).execute().await?;
        Ok(())
    }

    async fn adopt(&mut self, id: &AttemptId, reference: &str, now: Timestamp) -> Result<bool, StorageError> {
        // The bytes of a transaction that was never sent must not be sent later.
        let update = "UPDATE attempts SET sent_at = $3, updated_at = $3, bytes = CASE WHEN hash IS NULL THEN bytes ELSE $4 END,
                          provider_id = CASE WHEN hash IS NULL THEN $2 ELSE provider_id END,
                          hash = CASE WHEN hash IS NULL THEN NULL ELSE $2 END
                      WHERE id = $1 AND status = 'open' AND sent_at IS NULL AND provider_id IS NULL AND kind IN ('wallet', 'off_session')";
        let query = self.connection.query(update).bind(id).bind(reference).bind(now).bind(Vec::<u8>::new());
        Ok(query.execute().await? == 1)
    }

    async fn decline(&mut self, attempt: &Attempt, error: &Decline, now: Timestamp) -> Result<bool, StorageError> {
        let update = concat!(
            "UPDATE attempts SET status = 'declined', last_error = $2, updated_at = $3 WHERE id = $1 AND check_at = $4 AND ",
            undecided!()
        );
        let query = self.connection.query(update).bind(&attempt.id).bind(Some(error)).bind(now).bind(attempt.check_at);
        let declined = query.execute().await? == 1;
        self.close_if(declined, &attempt.id).await
    }

    async fn decline_claimed(&mut self, id: &AttemptId, error: Option<&Decline>, now: Timestamp) -> Result<bool, StorageError> {
        let update = concat!("UPDATE attempts SET status = 'declined', last_error = $2, updated_at = $3 WHERE id = $1 AND ", undecided!());
        let declined = self.connection.query(update).bind(id).bind(error).bind(now).execute().await? == 1;
        self.close_if(declined, id).await
    }

    async fn settle_all(&mut self, ids: &[AttemptId], now: Timestamp) -> Result<Vec<AttemptId>, StorageError> {
        let query = self.connection.query_per_dialect(SETTLE).bind(keys(ids)).bind(now).bind(now.plus(RECHECK_AFTER));
        let settled: Vec<AttemptId> = query.all().await?.iter().map(|row| row.get("id")).collect::<Result<_, _>>()?;
        if !settled.is_empty() {
            self.close(&settled).await?;
        }
        Ok(settled)
    }

    async fn reschedule(
        &mut self,
        id: &AttemptId,
        status: AttemptStatus,
        error: Option<&Decline>,
        check_at: Option<Timestamp>,
        now: Timestamp,
    ) -> Result<bool, StorageError> {
        let update = concat!(
            "UPDATE attempts SET status = $2, last_error = $3, checks = checks + CASE WHEN $4 IS NULL THEN 0 ELSE 1 END,
             check_at = COALESCE($4, check_at), updated_at = $5 WHERE id = $1 AND ",
            undecided!()
        );
        Ok(self.connection.query(update).bind(id).bind(status).bind(error).bind(check_at).bind(now).execute().await? == 1)
    }

    async fn claim_poll(&mut self, id: &AttemptId, since: Timestamp, now: Timestamp) -> Result<bool, StorageError> {
        let update =
            concat!("UPDATE attempts SET updated_at = $3 WHERE id = $1 AND (updated_at <= $2 OR updated_at > $4) AND ", undecided!());
        let query = self.connection.query(update).bind(id).bind(since).bind(now).bind(now.plus(CLOCK_TOLERANCE));
        Ok(query.execute().await? == 1)
    }

    async fn networks_due(&mut self, now: Timestamp) -> Result<Vec<MethodId>, StorageError> {
        self.connection.query(NETWORKS_DUE).bind(now).all().await?.iter().map(|row| row.get("id")).collect()
    }

    async fn claim_due(
        &mut self,
        method: &MethodId,
        now: Timestamp,
        again_at: Timestamp,
        limit: u32,
    ) -> Result<Vec<AttemptId>, StorageError> {
        let query = self.connection.query_per_dialect(CLAIM_DUE).bind(now).bind(again_at).bind(limit).bind(method);
        query.all().await?.iter().map(|row| row.get("id")).collect()
    }

    async fn release(
        &mut self,
        ids: &[AttemptId],
        claimed_at: Timestamp,
        lease_end: Timestamp,
        check_at: Timestamp,
    ) -> Result<(), StorageError> {
        let query = self.connection.query_per_dialect(RELEASE).bind(keys(ids)).bind(claimed_at).bind(lease_end).bind(check_at);
        query.execute().await.map(drop)
    }
}

impl SqlAttempts<'_> {
    fn values_of(&self, attempt: &Attempt) -> Result<Values, StorageError> {
        let columns = Columns::of(&attempt.kind);
        let secret = encrypt(self.secrets, &attempt.id, columns.client_secret)?;
        let values = Values::default().bind(&attempt.id).bind(attempt.purpose.name()).bind(attempt.purpose.subject());
        let values = values
            .bind(&attempt.session_id)
            .bind(&attempt.connect_token)
            .bind(columns.kind)
            .bind(&attempt.method_id)
            .bind(&attempt.currency_id);
        let values = values.bind(attempt.amount).bind(attempt.status).bind(columns.payer).bind(columns.bytes).bind(columns.hash);
        let values =
            values.bind(Some(columns.provider_id).filter(|id| !id.is_empty())).bind(secret).bind(columns.card).bind(&attempt.period);
        let moved = attempt.moved.as_ref();
        let values =
            values.bind(&attempt.last_error).bind(moved.map(|moved| moved.amount)).bind(moved.map(|moved| moved.reference.clone()));
        let values = values.bind(attempt.checks).bind(attempt.check_at).bind(attempt.sent_at);
        Ok(values.bind(attempt.created_at).bind(attempt.updated_at))
    }

    /// Locks invoices and returns what remains of each; those that are paid or void are missing. Drafts count too, because the checkout of
    /// a draft is being paid.
    async fn lock_remaining(&mut self, invoices: &[InvoiceId]) -> Result<HashMap<InvoiceId, Amount>, StorageError> {
        let rows = self.connection.query_per_dialect(LOCK_INVOICES).bind(keys(invoices)).all().await?;
        let mut remaining_by_invoice = HashMap::with_capacity(rows.len());
        for row in &rows {
            if let Some(amount) = remaining(row)? {
                remaining_by_invoice.insert(row.get("id")?, amount);
            }
        }
        Ok(remaining_by_invoice)
    }

    async fn write_all(&mut self, attempts: &[NewAttempt]) -> Result<(), StorageError> {
        let row = |NewAttempt { attempt, planned }: &NewAttempt| {
            let row = |one: &PlannedPayment| {
                Values::default().bind(&attempt.id).bind(&one.invoice_id).bind(one.amount).bind(attempt.status.is_open())
            };
            planned.iter().map(row).collect::<Vec<_>>()
        };
        let planned: Vec<_> = attempts.iter().flat_map(row).collect();
        let count = planned.len() as u64;
        // DO NOTHING handles a conflict with any unique index and keeps the transaction usable on PostgreSQL.
        if self.connection.insert(INSERT_PLANNED, planned, "ON CONFLICT DO NOTHING").await? < count {
            return Err(duplicate(ALREADY_IN_FLIGHT));
        }
        let rows = attempts.iter().map(|new| self.values_of(&new.attempt)).collect::<Result<_, _>>()?;
        match self.connection.insert(INSERT, rows, "ON CONFLICT DO NOTHING").await? < attempts.len() as u64 {
            true => Err(duplicate("an open one of the purpose, or the transaction")),
            false => Ok(()),
        }
    }

    /// Lets other attempts pay the invoices of an attempt if it has ended. Returns `has_ended`.
    async fn close_if(&mut self, has_ended: bool, id: &AttemptId) -> Result<bool, StorageError> {
        if has_ended {
            self.close(std::slice::from_ref(id)).await?;
        }
        Ok(has_ended)
    }

    /// Lets other attempts pay the invoices of ended attempts. It does not lock these invoices, because their locks come later in the
    /// lock order: a transaction that holds one of them sees its attempt as open until this unit of work commits.
    async fn close(&mut self, ids: &[AttemptId]) -> Result<(), StorageError> {
        self.connection.query_per_dialect(CLOSE).bind(keys(ids)).bind(false).defer(None).await
    }
}

fn duplicate(what: &str) -> StorageError {
    StorageError::Duplicate(format!("attempts: {what}"))
}

/// Fails if more is planned of an invoice than remains of it, or if it cannot be paid.
fn expect_remaining(attempts: &[NewAttempt], remaining: &HashMap<InvoiceId, Amount>) -> Result<(), StorageError> {
    let can_be_paid = |one: &PlannedPayment| remaining.get(&one.invoice_id).is_some_and(|remaining| one.amount <= *remaining);
    if attempts.iter().flat_map(|new| &new.planned).all(can_be_paid) {
        return Ok(());
    }
    Err(duplicate("an invoice asks for less than is planned"))
}

/// Returns the amount that remains to be paid of an invoice; `None` if the invoice is paid or void.
fn remaining(row: &Row) -> Result<Option<Amount>, StorageError> {
    if matches!(row.get("status")?, InvoiceStatus::Paid | InvoiceStatus::Void) {
        return Ok(None);
    }
    let (total, paid, credited): (Amount, Amount, Amount) = (row.get("total")?, row.get("amount_paid")?, row.get("amount_credited")?);
    Ok(paid.plus(credited).ok().and_then(|settled| total.minus(settled).ok()))
}

/// Encrypts a client secret. An empty one is stored as NULL: the provider has not supplied it yet.
fn encrypt(secrets: &SecretBox, id: &AttemptId, secret: &str) -> Result<Option<Vec<u8>>, StorageError> {
    (!secret.is_empty()).then(|| secrets.encrypt(&place(TABLE, CLIENT_SECRET, id.as_str()), secret)).transpose()
}

/// The columns that only some kinds of attempts use.
#[derive(Default)]
struct Columns<'a> {
    kind: &'static str,
    payer: Option<&'a Did>,
    bytes: Option<&'a Vec<u8>>,
    hash: Option<&'a str>,
    provider_id: &'a str,
    client_secret: &'a str,
    card: Option<Value>,
}

impl<'a> Columns<'a> {
    fn of(kind: &'a AttemptKind) -> Self {
        match kind {
            AttemptKind::Wallet { payer, bytes, hash } => {
                Self { kind: "wallet", payer: Some(payer), bytes: Some(bytes), hash: Some(hash), ..Self::default() }
            }
            AttemptKind::Card { provider_id, client_secret, setup_future_usage } => Self {
                kind: "card",
                provider_id,
                client_secret,
                card: setup_future_usage.clone().and_then(json::to_json),
                ..Self::default()
            },
            AttemptKind::CardSetup { provider_id, client_secret, holder } => {
                Self { kind: "card_setup", provider_id, client_secret, card: json::to_json(holder.clone()), ..Self::default() }
            }
            AttemptKind::OffSession { card, provider_id } => {
                Self { kind: "off_session", provider_id, card: json::to_json(card.clone()), ..Self::default() }
            }
            // The provider's id of the payment already identifies the payment's own attempt, and provider ids are unique.
            AttemptKind::CardRefund { payment } => {
                Self { kind: "card_refund", hash: None, card: Some(Value::String(payment.clone())), ..Self::default() }
            }
        }
    }
}

pub(super) fn attempt(row: &Row, secrets: &SecretBox) -> Result<Attempt, StorageError> {
    let id: AttemptId = row.get("id")?;
    let corrupt = |column: &'static str, value: &str| StorageError::Corrupt { table: TABLE, column, value: value.to_owned() };
    let (purpose, subject): (String, String) = (row.get("purpose")?, row.get("subject")?);
    let purpose = Purpose::of(&purpose, &subject).ok_or_else(|| corrupt("purpose", &format!("{purpose} of {subject}")))?;
    let provider_id = row.get::<Option<String>>("provider_id")?.unwrap_or_default();
    let client_secret = || -> Result<String, StorageError> {
        let sealed: Option<Vec<u8>> = row.get(CLIENT_SECRET)?;
        let secret = sealed.map(|sealed| secrets.open_column(TABLE, CLIENT_SECRET, id.as_str(), &sealed)).transpose()?;
        Ok(secret.unwrap_or_default())
    };
    let kind: String = row.get("kind")?;
    let kind = match kind.as_str() {
        "wallet" => AttemptKind::Wallet { payer: row.get("payer")?, bytes: row.get("bytes")?, hash: row.get("hash")? },
        "card" => AttemptKind::Card { provider_id, client_secret: client_secret()?, setup_future_usage: row.get("card")? },
        "card_setup" => AttemptKind::CardSetup { provider_id, client_secret: client_secret()?, holder: row.get("card")? },
        "off_session" => AttemptKind::OffSession { card: row.get("card")?, provider_id },
        "card_refund" => match row.get("card")? {
            Value::String(payment) => AttemptKind::CardRefund { payment },
            other => return Err(corrupt("card", &other.to_string())),
        },
        other => return Err(corrupt("kind", other)),
    };
    Ok(Attempt {
        purpose,
        session_id: row.get("session_id")?,
        connect_token: row.get("connect_token")?,
        method_id: row.get("method_id")?,
        currency_id: row.get("currency_id")?,
        amount: row.get("amount")?,
        status: row.get("status")?,
        kind,
        period: row.get("period")?,
        last_error: row.get("last_error")?,
        moved: match row.get::<Option<Amount>>("moved_amount")? {
            Some(amount) => Some(Moved { amount, reference: row.get::<Option<String>>("moved_reference")?.unwrap_or_default() }),
            None => None,
        },
        checks: row.get("checks")?,
        check_at: row.get("check_at")?,
        sent_at: row.get("sent_at")?,
        created_at: row.get("created_at")?,
        updated_at: row.get("updated_at")?,
        id,
    })
}
