//! Stakes: the deposits that networks hold, and the amounts that open attempts reserve of them.

use super::columns::keys;
use super::listing::{Listing, list, listing, sql_per_dialect};
use super::{Connection, Row, Sql, Values};
use async_trait::async_trait;
use souk_domain::billing::{
    STAKE_RETRY_DOUBLINGS, Scope, Stake, StakeFilter, StakeKey, StakePurpose, StakeReservation, StakeReturns, StakeSubject,
    StakeTransferKind, Stakes,
};
use souk_domain::shared::{Amount, AttemptId, ClockId, Listed, MethodId, Mode, Page, StakeId, StorageError, Timestamp};

/// One list per index, as for invoices.
macro_rules! stakes {
    ($($conditions:tt)+) => {
        listing!(
            "stakes",
            $($conditions)+
            " AND ($7 IS NULL OR purpose = $7) AND ($8 IS NULL OR status " (among "$8") ")
              AND ($9 IS NULL OR (failure_count > $9 AND status <> 'final')) 
              AND ($10 IS NULL OR ($10 <> 'succeeded' AND status = 'releasing' AND failure IS NOT NULL)
                   OR ($10 <> 'failed' AND amount_returned > $11 AND NOT (status = 'releasing' AND failure IS NOT NULL)))"
        )
    };
}
const ALL: Listing = stakes!("livemode = $4 AND $5 IS NULL AND $6 IS NULL");
const OF_CUSTOMER: Listing = stakes!("customer_id = $5 AND " (either "+livemode" "livemode") " = $4 AND $6 IS NULL").exact();
/// The stakes whose subject is the subscription, and the stakes that the subscription names.
const OF_SUBSCRIPTION: Listing = stakes!(
    "id IN (SELECT id FROM stakes WHERE subject = $6 UNION SELECT stake_id FROM subscriptions WHERE id = $6
            UNION SELECT overdraft_stake_id FROM subscriptions WHERE id = $6)
     AND " (either "+livemode" "livemode") " = $4 AND ($5 IS NULL OR customer_id = $5)"
)
.exact();
const FIND_ALL: Sql = sql_per_dialect!("SELECT * FROM stakes WHERE id " (among "$1") " ORDER BY id");
const LOCK_ALL: Sql = sql_per_dialect!("SELECT * FROM stakes WHERE id " (among "$1") " ORDER BY id" (either "" " FOR UPDATE"));
/// A customer's test clock, if any, replaces the current time. While a clock advances, its stakes are left to the clock's own run.
const DUE: Sql = sql_per_dialect!(
    "SELECT s.* FROM stakes s LEFT JOIN test_clocks c ON c.customer_id = s.customer_id
    WHERE s.return_at IS NOT NULL AND s.reserved_by IS NULL AND s.return_at <= COALESCE(c.now_at, $1) AND c.target IS NULL
    AND NOT (s.method_id " (among "$3") ") ORDER BY s.return_at, s.id LIMIT $2"
);
const DUE_BY_CLOCK: Sql = sql_per_dialect!(
    "SELECT s.* FROM stakes s JOIN test_clocks c ON c.customer_id = s.customer_id
    WHERE c.id = $4 AND s.return_at <= $1 AND s.reserved_by IS NULL AND NOT (s.method_id " (among "$3") ")
    ORDER BY s.return_at, s.id LIMIT $2"
);
const NEXT_DUE: &str = "SELECT MIN(s.return_at) AS at FROM stakes s JOIN test_clocks c ON c.customer_id = s.customer_id
    WHERE c.id = $1 AND s.return_at IS NOT NULL AND s.reserved_by IS NULL";
// SQLite uses a partial index only if the statement repeats the index's condition verbatim.
pub(super) const CLAIM_UNCHECKED: Sql = Sql {
    sqlite: "UPDATE stakes SET checked_at = $2 WHERE id IN
                 (SELECT id FROM stakes WHERE (status = 'held' OR (status = 'releasing' AND release_reason = 'revoked')) AND checked_at <= $1
                      AND reserved_by IS NULL ORDER BY checked_at, id LIMIT $3)
             RETURNING *",
    postgres: "WITH unchecked AS MATERIALIZED
                   (SELECT id FROM stakes WHERE (status = 'held' OR (status = 'releasing' AND release_reason = 'revoked')) AND checked_at <= $1
                        AND reserved_by IS NULL ORDER BY checked_at, id LIMIT $3 FOR UPDATE SKIP LOCKED)
               UPDATE stakes SET checked_at = $2 FROM unchecked WHERE stakes.id = unchecked.id RETURNING stakes.*",
};

pub(super) const DECLINED_FOR: &str = "SELECT * FROM stakes
    WHERE return_at IS NOT NULL AND reserved_by IS NULL AND method_id = $1 AND failure ->> 'code' = $2 ORDER BY return_at, id LIMIT $3";

/// Deletes stakes that are final, into which nothing was ever paid (`$2` is zero), and that nothing names. A checkout session names one stake
/// at a time, and a stake of its own: the caller has removed that name.
pub(super) const DELETE_UNUSED: Sql = sql_per_dialect!(
    "DELETE FROM stakes WHERE id " (among "$1") " AND status = 'final' AND amount = $2
         AND NOT EXISTS (SELECT 1 FROM subscriptions o WHERE o.stake_id = stakes.id)
         AND NOT EXISTS (SELECT 1 FROM subscriptions o WHERE o.overdraft_stake_id = stakes.id)
         AND NOT EXISTS (SELECT 1 FROM pending_plan_changes o WHERE o.stake_id = stakes.id)
         AND NOT EXISTS (SELECT 1 FROM attempts o WHERE o.subject = stakes.id)"
);

pub struct SqlStakes<'s>(pub &'s mut Connection);

#[async_trait]
impl Stakes for SqlStakes<'_> {
    async fn insert(&mut self, stake: &Stake) -> Result<(), StorageError> {
        let into =
            "INSERT INTO stakes (id, livemode, customer_id, payer, method_id, currency_id, subject, purpose, amount_requested, amount,
                        amount_forfeited, amount_returned, amount_reserved, reserved_by, reserved_for, status, release_reason, released_at,
                        return_at, failure_count, failure, reference, return_reference, checked_at, created_at, updated_at, waiting_days)";
        let (reserved_by, reserved_for) = (reserved_by(stake), reserved_for(stake));
        let values = Values::default().bind(&stake.id).bind(stake.mode).bind(&stake.customer_id).bind(&stake.payer);
        let values = values.bind(&stake.method_id).bind(&stake.currency_id).bind(&stake.subject).bind(stake.purpose);
        let values = values.bind(stake.amount_requested).bind(stake.amount).bind(stake.amount_forfeited).bind(stake.amount_returned);
        let values = values.bind(stake.amount_reserved()).bind(reserved_by).bind(reserved_for).bind(stake.status);
        let values = values.bind(stake.release_reason).bind(stake.released_at).bind(stake.return_at).bind(stake.failure_count);
        let values = values.bind(&stake.failure).bind(&stake.reference).bind(&stake.return_reference);
        let values = values.bind(stake.checked_at).bind(stake.created_at).bind(stake.updated_at).bind(stake.waiting_days);
        self.0.insert(into, vec![values], "").await.map(drop)
    }

    async fn find(&mut self, id: &StakeId) -> Result<Option<Stake>, StorageError> {
        let row = self.0.query("SELECT * FROM stakes WHERE id = $1").bind(id).optional().await?;
        row.as_ref().map(stake).transpose()
    }

    async fn find_all(&mut self, ids: &[StakeId]) -> Result<Vec<Stake>, StorageError> {
        let rows = self.0.query_per_dialect(FIND_ALL).bind(keys(ids)).all().await?;
        rows.iter().map(stake).collect()
    }

    async fn find_open(&mut self, key: &StakeKey) -> Result<Option<Stake>, StorageError> {
        let select = "SELECT * FROM stakes WHERE subject = $1 AND purpose = $2 AND payer = $3 AND currency_id = $4 AND status <> 'final'";
        let query = self.0.query(select).bind(&key.subject).bind(key.purpose).bind(&key.payer).bind(&key.currency_id);
        query.optional().await?.as_ref().map(stake).transpose()
    }

    async fn find_newest(&mut self, key: &StakeKey) -> Result<Option<Stake>, StorageError> {
        let select =
            "SELECT * FROM stakes WHERE subject = $1 AND purpose = $2 AND payer = $3 AND currency_id = $4 ORDER BY id DESC LIMIT 1";
        let query = self.0.query(select).bind(&key.subject).bind(key.purpose).bind(&key.payer).bind(&key.currency_id);
        query.optional().await?.as_ref().map(stake).transpose()
    }

    async fn open_of_subject(&mut self, subject: &StakeSubject, purpose: StakePurpose) -> Result<Vec<Stake>, StorageError> {
        let select = "SELECT * FROM stakes WHERE subject = $1 AND purpose = $2 AND status <> 'final' ORDER BY id";
        let rows = self.0.query(select).bind(subject).bind(purpose).all().await?;
        rows.iter().map(stake).collect()
    }

    async fn lock_all(&mut self, ids: &[StakeId]) -> Result<Vec<Stake>, StorageError> {
        let rows = self.0.query_per_dialect(LOCK_ALL).bind(keys(ids)).all().await?;
        rows.iter().map(stake).collect()
    }

    async fn delete_unused(&mut self, id: &StakeId) -> Result<bool, StorageError> {
        let query = self.0.query_per_dialect(DELETE_UNUSED).bind(keys(std::slice::from_ref(id))).bind(Amount::ZERO);
        Ok(query.execute().await? == 1)
    }

    async fn update(&mut self, before: &Stake, after: &Stake) -> Result<bool, StorageError> {
        let update =
            "UPDATE stakes SET amount_requested = $2, amount = $3, amount_forfeited = $4, amount_returned = $5, amount_reserved = $6,
                          reserved_by = $7, reserved_for = $8, status = $9, release_reason = $10, released_at = $11, return_at = $12,
                          failure_count = $13, failure = $14, reference = $15, return_reference = $16, updated_at = $17,
                          waiting_days = $25
                      WHERE id = $1 AND status = $18 AND amount = $19 AND amount_forfeited = $20 AND amount_returned = $21
                          AND amount_reserved = $22 AND amount_requested = $23 AND failure_count = $24";
        let query = self.0.query(update).bind(&before.id).bind(after.amount_requested).bind(after.amount).bind(after.amount_forfeited);
        let query = query.bind(after.amount_returned).bind(after.amount_reserved()).bind(reserved_by(after)).bind(reserved_for(after));
        let query = query.bind(after.status).bind(after.release_reason).bind(after.released_at).bind(after.return_at);
        let query = query.bind(after.failure_count).bind(&after.failure).bind(&after.reference);
        let query = query.bind(&after.return_reference).bind(after.updated_at);
        let query = query.bind(before.status).bind(before.amount).bind(before.amount_forfeited).bind(before.amount_returned);
        let query = query.bind(before.amount_reserved()).bind(before.amount_requested).bind(before.failure_count);
        let query = query.bind(after.waiting_days);
        Ok(query.execute().await? == 1)
    }

    async fn declined_for(&mut self, method: &MethodId, code: &str, limit: u32) -> Result<Vec<Stake>, StorageError> {
        let rows = self.0.query(DECLINED_FOR).bind(method).bind(code).bind(limit).all().await?;
        rows.iter().map(stake).collect()
    }

    async fn due(&mut self, scope: &Scope, now: Timestamp, limit: u32, paused: &[MethodId]) -> Result<Vec<Stake>, StorageError> {
        let paused = keys(paused);
        let rows = match scope {
            Scope::Wall => self.0.query_per_dialect(DUE).bind(now).bind(limit).bind(paused).all().await?,
            Scope::Clock(clock) => self.0.query_per_dialect(DUE_BY_CLOCK).bind(now).bind(limit).bind(paused).bind(clock).all().await?,
        };
        rows.iter().map(stake).collect()
    }

    async fn next_due(&mut self, clock: &ClockId) -> Result<Option<Timestamp>, StorageError> {
        self.0.query(NEXT_DUE).bind(clock).one().await?.get("at")
    }

    async fn claim_unchecked(&mut self, before: Timestamp, now: Timestamp, limit: u32) -> Result<Vec<Stake>, StorageError> {
        let rows = self.0.query_per_dialect(CLAIM_UNCHECKED).bind(before).bind(now).bind(limit).all().await?;
        rows.iter().map(stake).collect()
    }

    async fn list(&mut self, mode: Mode, filter: &StakeFilter, page: &Page) -> Result<Listed<Stake>, StorageError> {
        let statuses = (!filter.statuses.is_empty()).then(|| keys(&filter.statuses.iter().map(|status| status.name()).collect::<Vec<_>>()));
        let failures = filter.needs_attention.then_some(STAKE_RETRY_DOUBLINGS);
        let listing = match (&filter.subscription_id, &filter.customer_id) {
            (Some(_), _) => &OF_SUBSCRIPTION,
            (None, Some(_)) => &OF_CUSTOMER,
            (None, None) => &ALL,
        };
        list(
            self.0,
            listing,
            page,
            |query| {
                let query = query.bind(mode).bind(&filter.customer_id).bind(&filter.subscription_id).bind(filter.purpose);
                query.bind(statuses.clone()).bind(failures).bind(filter.returns.map(StakeReturns::name)).bind(Amount::ZERO)
            },
            stake,
        )
        .await
    }
}

fn reserved_by(stake: &Stake) -> Option<AttemptId> {
    stake.reservation.as_ref().map(|reservation| reservation.attempt_id.clone())
}

fn reserved_for(stake: &Stake) -> Option<StakeTransferKind> {
    stake.reservation.as_ref().map(|reservation| reservation.kind)
}

fn stake(row: &Row) -> Result<Stake, StorageError> {
    let (attempt, kind): (Option<AttemptId>, Option<StakeTransferKind>) = (row.get("reserved_by")?, row.get("reserved_for")?);
    let amount = row.get("amount_reserved")?;
    Ok(Stake {
        id: row.get("id")?,
        mode: row.get("livemode")?,
        customer_id: row.get("customer_id")?,
        payer: row.get("payer")?,
        method_id: row.get("method_id")?,
        currency_id: row.get("currency_id")?,
        subject: row.get("subject")?,
        purpose: row.get("purpose")?,
        waiting_days: row.get("waiting_days")?,
        amount_requested: row.get("amount_requested")?,
        amount: row.get("amount")?,
        amount_forfeited: row.get("amount_forfeited")?,
        amount_returned: row.get("amount_returned")?,
        reservation: attempt.zip(kind).map(|(attempt_id, kind)| StakeReservation { attempt_id, kind, amount }),
        status: row.get("status")?,
        release_reason: row.get("release_reason")?,
        released_at: row.get("released_at")?,
        return_at: row.get("return_at")?,
        failure_count: row.get("failure_count")?,
        failure: row.get("failure")?,
        reference: row.get("reference")?,
        return_reference: row.get("return_reference")?,
        checked_at: row.get("checked_at")?,
        created_at: row.get("created_at")?,
        updated_at: row.get("updated_at")?,
    })
}
