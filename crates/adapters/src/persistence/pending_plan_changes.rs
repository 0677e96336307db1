//! Plan changes that wait for the network, or that have failed.

use super::columns::keys;
use super::listing::sql_per_dialect;
use super::{Connection, Row, Sql, Values};
use async_trait::async_trait;
use souk_domain::billing::{PendingPlanChange, PendingPlanChanges, PlanChoice, PlanDeposit, PlanOrder};
use souk_domain::shared::{StakeId, StorageError, SubscriptionId, Timestamp};

const FIND_ALL: Sql =
    sql_per_dialect!("SELECT * FROM pending_plan_changes WHERE subscription_id " (among "$1") " ORDER BY subscription_id");
const CLAIM_DUE: Sql = Sql {
    sqlite: "UPDATE pending_plan_changes SET check_at = $2 WHERE subscription_id IN
                 (SELECT subscription_id FROM pending_plan_changes WHERE check_at IS NOT NULL AND check_at <= $1
                  ORDER BY check_at, subscription_id LIMIT $3)
             RETURNING subscription_id",
    postgres: "WITH due AS MATERIALIZED
                   (SELECT subscription_id FROM pending_plan_changes WHERE check_at IS NOT NULL AND check_at <= $1
                    ORDER BY check_at, subscription_id LIMIT $3 FOR UPDATE SKIP LOCKED)
               UPDATE pending_plan_changes SET check_at = $2 FROM due
               WHERE pending_plan_changes.subscription_id = due.subscription_id RETURNING pending_plan_changes.subscription_id",
};

pub struct SqlPendingPlanChanges<'s>(pub &'s mut Connection);

#[async_trait]
impl PendingPlanChanges for SqlPendingPlanChanges<'_> {
    async fn upsert(&mut self, change: &PendingPlanChange) -> Result<(), StorageError> {
        let insert =
            "INSERT INTO pending_plan_changes (subscription_id, price_id, quantity, item_id, previewed_at, expected, credited, mandate_id,
                          stake_id, deposit_hash, requested_before, failure, decline, check_at, created_at, updated_at)";
        let replace = "ON CONFLICT (subscription_id) DO UPDATE SET
                           price_id = excluded.price_id, quantity = excluded.quantity, item_id = excluded.item_id,
                           previewed_at = excluded.previewed_at, expected = excluded.expected, credited = excluded.credited,
                           mandate_id = excluded.mandate_id, stake_id = excluded.stake_id, deposit_hash = excluded.deposit_hash,
                           requested_before = excluded.requested_before, failure = excluded.failure, decline = excluded.decline,
                           check_at = excluded.check_at, created_at = excluded.created_at, updated_at = excluded.updated_at";
        let PendingPlanChange { order: PlanOrder { choice, at, expected, credited }, deposit, .. } = change;
        let (stake, hash) = (deposit.as_ref().map(|one| one.stake_id.clone()), deposit.as_ref().map(|one| one.hash.clone()));
        let values = Values::default().bind(&change.subscription_id).bind(&choice.price).bind(choice.quantity).bind(&choice.item);
        let values = values.bind(*at).bind(*expected).bind(*credited).bind(&change.mandate_id).bind(stake).bind(hash);
        let values = values.bind(deposit.as_ref().map(|one| one.requested_before)).bind(change.failure).bind(&change.decline);
        let values = values.bind(change.check_at).bind(change.created_at).bind(change.updated_at);
        self.0.insert(insert, vec![values], replace).await.map(drop)
    }

    async fn remove(&mut self, subscription: &SubscriptionId) -> Result<(), StorageError> {
        let delete = "DELETE FROM pending_plan_changes WHERE subscription_id = $1";
        self.0.query(delete).bind(subscription).execute().await.map(drop)
    }

    async fn find_all(&mut self, subscriptions: &[SubscriptionId]) -> Result<Vec<PendingPlanChange>, StorageError> {
        let rows = self.0.query_per_dialect(FIND_ALL).bind(keys(subscriptions)).all().await?;
        rows.iter().map(change).collect()
    }

    async fn of_stake(&mut self, stake: &StakeId) -> Result<Vec<PendingPlanChange>, StorageError> {
        // SQLite uses a partial index only if the statement repeats the index's condition verbatim.
        let select = "SELECT * FROM pending_plan_changes WHERE stake_id = $1 AND stake_id IS NOT NULL ORDER BY subscription_id";
        self.0.query(select).bind(stake).all().await?.iter().map(change).collect()
    }

    async fn wake(&mut self, subscription: &SubscriptionId, now: Timestamp) -> Result<(), StorageError> {
        let update = "UPDATE pending_plan_changes SET check_at = $2 WHERE subscription_id = $1 AND check_at IS NOT NULL";
        self.0.query(update).bind(subscription).bind(now).execute().await.map(drop)
    }

    async fn claim_due(&mut self, now: Timestamp, next: Timestamp, limit: u32) -> Result<Vec<SubscriptionId>, StorageError> {
        let rows = self.0.query_per_dialect(CLAIM_DUE).bind(now).bind(next).bind(limit).all().await?;
        rows.iter().map(|row| row.get("subscription_id")).collect()
    }
}

fn change(row: &Row) -> Result<PendingPlanChange, StorageError> {
    let choice = PlanChoice { price: row.get("price_id")?, quantity: row.get("quantity")?, item: row.get("item_id")? };
    let deposit = match (row.get("stake_id")?, row.get("deposit_hash")?, row.get("requested_before")?) {
        (Some(stake_id), Some(hash), Some(requested_before)) => Some(PlanDeposit { stake_id, hash, requested_before }),
        _ => None,
    };
    Ok(PendingPlanChange {
        subscription_id: row.get("subscription_id")?,
        order: PlanOrder { choice, at: row.get("previewed_at")?, expected: row.get("expected")?, credited: row.get("credited")? },
        mandate_id: row.get("mandate_id")?,
        deposit,
        failure: row.get("failure")?,
        decline: row.get("decline")?,
        check_at: row.get("check_at")?,
        created_at: row.get("created_at")?,
        updated_at: row.get("updated_at")?,
    })
}
