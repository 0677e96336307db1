//! Who may download what.

use super::columns::keys;
use super::{Row, Session, Sql};
use async_trait::async_trait;
use souk_domain::access::Did;
use souk_domain::shared::{Listed, Mode, Page, SessionId, StorageError};
use souk_domain::store::{Entitlement, Entitlements};

pub struct SqlEntitlements<'a>(pub &'a mut Session);

const GRANT: &str = "INSERT INTO entitlements (id, livemode, holder, app, session_id, invoice_id, acquired_at)
    VALUES ($1, $2, $3, $4, $5, $6, $7) ON CONFLICT (session_id, app) DO NOTHING";
const HOLDS: &str = "SELECT 1 AS one FROM entitlements WHERE holder = $1 AND livemode = $2 AND app = $3 LIMIT 1";
const HELD: Sql = Sql {
    sqlite: "SELECT DISTINCT app FROM entitlements WHERE holder = $1 AND livemode = $2 AND app IN (SELECT value FROM json_each($3))",
    postgres: "SELECT DISTINCT app FROM entitlements WHERE holder = $1 AND livemode = $2 AND app IN (SELECT jsonb_array_elements_text($3))",
};
const COUNT: &str = "SELECT count(*) AS n FROM entitlements WHERE holder = $1 AND livemode = $2";
const OF_HOLDER: &str = "SELECT * FROM entitlements WHERE holder = $1 AND livemode = $2 AND ($3 IS NULL OR id < $3)
    ORDER BY id DESC LIMIT $4 OFFSET $5";

fn read(row: &Row) -> Result<Entitlement, StorageError> {
    Ok(Entitlement {
        id: row.get("id")?,
        mode: Mode::from_livemode(row.get("livemode")?),
        holder: row.get("holder")?,
        app: row.get("app")?,
        session_id: row.get("session_id")?,
        invoice_id: row.get("invoice_id")?,
        acquired_at: row.get("acquired_at")?,
    })
}

#[async_trait]
impl Entitlements for SqlEntitlements<'_> {
    async fn grant(&mut self, entitlement: &Entitlement) -> Result<(), StorageError> {
        let query = self.0.query(GRANT).bind(&entitlement.id).bind(entitlement.mode.is_live()).bind(&entitlement.holder);
        let query = query.bind(&entitlement.app).bind(&entitlement.session_id).bind(entitlement.invoice_id.as_ref());
        query.bind(entitlement.acquired_at).execute().await.map(drop)
    }

    async fn holds(&mut self, mode: Mode, holder: &Did, app: &Did) -> Result<bool, StorageError> {
        Ok(self.0.query(HOLDS).bind(holder).bind(mode.is_live()).bind(app).optional().await?.is_some())
    }

    async fn held(&mut self, mode: Mode, holder: &Did, apps: &[Did]) -> Result<Vec<Did>, StorageError> {
        let query = self.0.query_each(HELD).bind(holder).bind(mode.is_live()).bind(keys(apps));
        query.all().await?.iter().map(|row| row.get("app")).collect()
    }

    async fn of_holder(&mut self, mode: Mode, holder: &Did, page: &Page) -> Result<Listed<Entitlement>, StorageError> {
        let count = self.0.query(COUNT).bind(holder).bind(mode.is_live()).one().await?.get("n")?;
        let offset = if page.starting_after.is_some() { 0 } else { page.offset() };
        let query = self.0.query(OF_HOLDER).bind(holder).bind(mode.is_live()).bind(page.starting_after.as_ref());
        let rows = query.bind(page.size).bind(offset).all().await?;
        Ok(Listed { count, list: rows.iter().map(read).collect::<Result<_, _>>()? })
    }

    async fn of_session(&mut self, session: &SessionId) -> Result<Vec<Entitlement>, StorageError> {
        let query = self.0.query("SELECT * FROM entitlements WHERE session_id = $1 ORDER BY id").bind(session);
        query.all().await?.iter().map(read).collect()
    }
}
