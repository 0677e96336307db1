//! Entitlements: which user may download which app.

use super::columns::keys;
use super::listing::sql_per_dialect;
use super::{Connection, Row, Sql, Values};
use async_trait::async_trait;
use souk_domain::access::Did;
use souk_domain::shared::{InvoiceId, Listed, Mode, Page, SessionId, StorageError, SubscriptionId, Timestamp};
use souk_domain::store::{Entitlement, Entitlements, RevokedPurchase, Validity};
use std::collections::BTreeMap;

pub struct SqlEntitlements<'a>(pub &'a mut Connection);

const GRANT: &str =
    "INSERT INTO entitlements (id, livemode, holder, app, session_id, subscription_id, invoice_id, invoice_item_id, acquired_at,
                         revoked_at, suspended_at)";
/// A grant paid by another invoice line lifts a revocation. A repeated grant by the same line does not.
const LIFT_REVOCATION: &str = "ON CONFLICT (session_id, app, coalesce(subscription_id, '')) DO UPDATE
        SET invoice_id = excluded.invoice_id, invoice_item_id = excluded.invoice_item_id, revoked_at = NULL
        WHERE excluded.invoice_item_id IS NOT NULL AND entitlements.invoice_item_id IS DISTINCT FROM excluded.invoice_item_id";
pub(super) const SUSPEND: Sql = sql_per_dialect!(
    "UPDATE entitlements SET suspended_at = $3
     WHERE (invoice_id " (among "$1") " OR subscription_id " (among "$2") ") AND suspended_at IS NULL"
);
pub(super) const REINSTATE: Sql = sql_per_dialect!(
    "UPDATE entitlements SET suspended_at = NULL
     WHERE (invoice_id " (among "$1") " OR subscription_id " (among "$2") ") AND suspended_at IS NOT NULL"
);

/// The condition that the entitlement `e` is valid at the time `$now`, apart from revocation and suspension. An entitlement from a
/// subscription is valid while the plan contains the app and the subscription is running, or is paused within a paid period. The
/// customer's test clock, if any, replaces `$now`.
macro_rules! gives {
    ($now:literal) => {
        concat!(
            "(e.subscription_id IS NULL OR EXISTS (
                SELECT 1 FROM subscriptions s JOIN subscription_items i ON i.subscription_id = s.id
                JOIN prices p ON p.id = i.price_id JOIN products d ON d.id = p.product_id LEFT JOIN test_clocks c ON c.id = s.clock_id
                WHERE s.id = e.subscription_id AND d.app = e.app
                AND (s.status IN ('trialing', 'active', 'past_due') OR s.status = 'paused' AND s.period_end > COALESCE(c.now_at, ",
            $now,
            "))))"
        )
    };
}

/// The entitlement that ends last. It ends when its subscription was set to cancel, or with the paid period of a paused one; these are times
/// of the customer's test clock, if they have one.
const VALIDITY: &str = concat!(
    "SELECT CASE WHEN NOT sub.cancel_at_period_end AND sub.status <> 'paused' OR sub.cancel_at < sub.period_end
            THEN sub.cancel_at ELSE sub.period_end END AS ends_at, clock.now_at AS clock_now
     FROM entitlements e LEFT JOIN subscriptions sub ON sub.id = e.subscription_id LEFT JOIN test_clocks clock ON clock.id = sub.clock_id
     WHERE e.holder = $1 AND e.livemode = $2 AND e.app = $3 AND e.revoked_at IS NULL AND e.suspended_at IS NULL AND ",
    gives!("$4"),
    " ORDER BY ends_at DESC NULLS FIRST LIMIT 1"
);
const HELD: Sql = Sql {
    sqlite: concat!(
        "SELECT DISTINCT app FROM entitlements e WHERE holder = $1 AND livemode = $2 AND app IN (SELECT value FROM json_each($3))
             AND revoked_at IS NULL AND suspended_at IS NULL AND ",
        gives!("$4")
    ),
    postgres: concat!(
        "SELECT DISTINCT app FROM entitlements e WHERE holder = $1 AND livemode = $2 AND app = ANY (ARRAY(SELECT jsonb_array_elements_text($3)))
             AND revoked_at IS NULL AND suspended_at IS NULL AND ",
        gives!("$4")
    ),
};
const COUNT: &str = concat!(
    "SELECT count(*) AS n FROM entitlements e WHERE holder = $1 AND livemode = $2
         AND (revoked_at IS NOT NULL OR suspended_at IS NOT NULL OR ",
    gives!("$3"),
    ")"
);
const OF_HOLDER: &str = concat!(
    "SELECT * FROM entitlements e WHERE holder = $1 AND livemode = $2 AND ($3 IS NULL OR id < $3)
         AND (revoked_at IS NOT NULL OR suspended_at IS NOT NULL OR ",
    gives!("$6"),
    ") ORDER BY id DESC LIMIT $4 OFFSET $5"
);

fn read(row: &Row) -> Result<Entitlement, StorageError> {
    Ok(Entitlement {
        id: row.get("id")?,
        mode: Mode::from_livemode(row.get("livemode")?),
        holder: row.get("holder")?,
        app: row.get("app")?,
        session_id: row.get("session_id")?,
        subscription_id: row.get("subscription_id")?,
        invoice_id: row.get("invoice_id")?,
        invoice_item_id: row.get("invoice_item_id")?,
        acquired_at: row.get("acquired_at")?,
        revoked_at: row.get("revoked_at")?,
        suspended_at: row.get("suspended_at")?,
    })
}

#[async_trait]
impl Entitlements for SqlEntitlements<'_> {
    async fn grant_all(&mut self, entitlements: &[Entitlement]) -> Result<(), StorageError> {
        let row = |one: &Entitlement| {
            let values = Values::default().bind(&one.id).bind(one.mode.is_live()).bind(&one.holder).bind(&one.app).bind(&one.session_id);
            let values = values.bind(one.subscription_id.as_ref()).bind(one.invoice_id.as_ref()).bind(one.invoice_item_id.as_ref());
            values.bind(one.acquired_at).bind(one.revoked_at).bind(one.suspended_at)
        };
        // PostgreSQL refuses to insert a row and to update it by the same statement. The last grant of an app wins, as one by one.
        let mut last: BTreeMap<_, &Entitlement> = BTreeMap::new();
        for one in entitlements {
            last.insert((&one.session_id, &one.app, &one.subscription_id), one);
        }
        self.0.insert(GRANT, last.into_values().map(row).collect(), LIFT_REVOCATION).await.map(drop)
    }

    async fn revoke_all(&mut self, purchases: &[RevokedPurchase]) -> Result<(), StorageError> {
        let row = |purchase: &RevokedPurchase| Values::default().bind(&purchase.item).bind(purchase.at);
        let is_granted = "entitlements.invoice_item_id = new.column1 AND entitlements.subscription_id IS NULL
                          AND entitlements.revoked_at IS NULL";
        let set = "UPDATE entitlements SET revoked_at = new.column2";
        self.0.update(set, purchases.iter().map(row).collect(), is_granted).await.map(drop)
    }

    async fn suspend(&mut self, invoices: &[InvoiceId], subscriptions: &[SubscriptionId], now: Timestamp) -> Result<(), StorageError> {
        self.0.query_per_dialect(SUSPEND).bind(keys(invoices)).bind(keys(subscriptions)).bind(now).execute().await.map(drop)
    }

    async fn reinstate(&mut self, invoices: &[InvoiceId], subscriptions: &[SubscriptionId]) -> Result<(), StorageError> {
        self.0.query_per_dialect(REINSTATE).bind(keys(invoices)).bind(keys(subscriptions)).execute().await.map(drop)
    }

    async fn validity(&mut self, mode: Mode, holder: &Did, app: &Did, now: Timestamp) -> Result<Option<Validity>, StorageError> {
        let row = self.0.query(VALIDITY).bind(holder).bind(mode.is_live()).bind(app).bind(now).optional().await?;
        let Some(row) = row else { return Ok(None) };
        let (ends_at, clock): (Option<Timestamp>, Option<Timestamp>) = (row.get("ends_at")?, row.get("clock_now")?);
        // The time that remains on a test clock is the same length of real time.
        Ok(Some(Validity { ends_at: ends_at.map(|end| clock.map_or(end, |clock| now.plus(end.since(clock)))) }))
    }

    async fn held(&mut self, mode: Mode, holder: &Did, apps: &[Did], now: Timestamp) -> Result<Vec<Did>, StorageError> {
        let query = self.0.query_per_dialect(HELD).bind(holder).bind(mode.is_live()).bind(keys(apps)).bind(now);
        query.all().await?.iter().map(|row| row.get("app")).collect()
    }

    async fn of_holder(&mut self, mode: Mode, holder: &Did, now: Timestamp, page: &Page) -> Result<Listed<Entitlement>, StorageError> {
        let count = self.0.query(COUNT).bind(holder).bind(mode.is_live()).bind(now).one().await?.get("n")?;
        let offset = if page.starting_after.is_some() { 0 } else { page.offset() };
        let query = self.0.query(OF_HOLDER).bind(holder).bind(mode.is_live()).bind(page.starting_after.as_ref());
        let rows = query.bind(page.size).bind(offset).bind(now).all().await?;
        Ok(Listed { count, list: rows.iter().map(read).collect::<Result<_, _>>()? })
    }

    async fn of_session(&mut self, session: &SessionId) -> Result<Vec<Entitlement>, StorageError> {
        let query = self.0.query("SELECT * FROM entitlements WHERE session_id = $1 ORDER BY id").bind(session);
        query.all().await?.iter().map(read).collect()
    }
}
