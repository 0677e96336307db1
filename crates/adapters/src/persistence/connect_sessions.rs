//! Connect sessions between a browser and a wallet.

use super::listing::sql_per_dialect;
use super::{Connection, Query, Row, Sql};
use async_trait::async_trait;
use souk_domain::access::{ConnectSession, ConnectSessions, ConnectStatus, ConnectTransition, TokenHash, Wallet};
use souk_domain::operation::VisitorNetwork;
use souk_domain::shared::{StorageError, Timestamp};

const ADVANCE: Sql = sql_per_dialect!(
    "UPDATE connect_sessions SET action = $2, status = $3, step = $4, challenge = $5, params = $6, wallet_did = $7, wallet_key = $8,
         nonce = $9, error = $10, error_code = $11, error_params = $12, expires_at = $14,
         updated_at = " (either "MAX($13, updated_at + 1000)" "GREATEST($13, updated_at + INTERVAL '1 millisecond')") "
     WHERE token = $1 AND status = $15 AND challenge = $16"
);

const LOCK: Sql = sql_per_dialect!("SELECT * FROM connect_sessions WHERE token = $1" (either "" " FOR UPDATE"));

pub struct SqlConnectSessions<'s>(pub &'s mut Connection);

#[async_trait]
impl ConnectSessions for SqlConnectSessions<'_> {
    async fn insert(&mut self, session: &ConnectSession, visitor: &VisitorNetwork) -> Result<(), StorageError> {
        let insert = "INSERT INTO connect_sessions (token, action, status, step, challenge, params, wallet_did, wallet_key, nonce,
                          error, error_code, error_params, updated_at, expires_at, browser, browser_session, created_at, visitor)
                      VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, $18)";
        let query = bind(self.0.query(insert), session).bind(session.browser).bind(session.browser_session).bind(session.created_at);
        query.bind(visitor.stored()).execute().await?;
        Ok(())
    }

    async fn find(&mut self, token: &str, now: Timestamp) -> Result<Option<ConnectSession>, StorageError> {
        let select = "SELECT * FROM connect_sessions WHERE token = $1 AND expires_at > $2";
        let row = self.0.query(select).bind(token).bind(now).optional().await?;
        row.as_ref().map(connect_session).transpose()
    }

    async fn find_lapsed(&mut self, token: &str, now: Timestamp) -> Result<Option<ConnectSession>, StorageError> {
        let select = "SELECT * FROM connect_sessions
                      WHERE token = $1 AND expires_at <= $2 AND status IN ('scanned', 'working', 'confirming')";
        let row = self.0.query(select).bind(token).bind(now).optional().await?;
        row.as_ref().map(connect_session).transpose()
    }

    async fn lock(&mut self, token: &str) -> Result<Option<ConnectSession>, StorageError> {
        let row = self.0.query_per_dialect(LOCK).bind(token).optional().await?;
        row.as_ref().map(connect_session).transpose()
    }

    async fn advance(&mut self, step: &ConnectTransition<'_>) -> Result<bool, StorageError> {
        let next = ConnectSession { token: step.token.to_owned(), ..step.next.clone() };
        Ok(bind(self.0.query_per_dialect(ADVANCE), &next).bind(step.from).bind(step.challenge).execute().await? == 1)
    }

    async fn redeem_connect_session(
        &mut self,
        token: &str,
        before: Option<&TokenHash>,
        browser_session: &TokenHash,
    ) -> Result<bool, StorageError> {
        let update =
            "UPDATE connect_sessions SET browser_session = $4 WHERE token = $1 AND status = $2 AND browser_session IS NOT DISTINCT FROM $3";
        Ok(self.0.query(update).bind(token).bind(ConnectStatus::Succeed).bind(before).bind(browser_session).execute().await? == 1)
    }

    async fn delete(&mut self, token: &str) -> Result<(), StorageError> {
        let delete = "DELETE FROM connect_sessions WHERE token = $1 AND status NOT IN ('scanned', 'working', 'confirming')";
        self.0.query(delete).bind(token).execute().await?;
        Ok(())
    }

    async fn lapsed(&mut self, now: Timestamp, limit: u32) -> Result<Vec<ConnectSession>, StorageError> {
        let select = "SELECT * FROM connect_sessions WHERE expires_at <= $1 AND status IN ('scanned', 'working', 'confirming')
                      ORDER BY expires_at LIMIT $2";
        self.0.query(select).bind(now).bind(limit).all().await?.iter().map(connect_session).collect()
    }

    async fn prune(&mut self, now: Timestamp, limit: u32) -> Result<u64, StorageError> {
        let delete = "DELETE FROM connect_sessions WHERE token IN
                          (SELECT token FROM connect_sessions
                           WHERE expires_at <= $1 AND status NOT IN ('scanned', 'working', 'confirming') ORDER BY expires_at LIMIT $2)";
        self.0.query(delete).bind(now).bind(limit).execute().await
    }
}

/// Binds `$1` to `$14`: the token and the updatable columns.
fn bind<'q>(query: Query<'q>, session: &ConnectSession) -> Query<'q> {
    let (did, key) = session.wallet.as_ref().map(|wallet| (&wallet.did, &wallet.public_key)).unzip();
    let query = query.bind(&session.token).bind(session.action).bind(session.status).bind(session.step).bind(&session.challenge);
    let query = query.bind(&session.params).bind(did).bind(key).bind(session.nonce.cast_signed());
    let query = query.bind(&session.error).bind(&session.error_code).bind(&session.error_params);
    query.bind(session.updated_at).bind(session.expires_at)
}

fn connect_session(row: &Row) -> Result<ConnectSession, StorageError> {
    let wallet = row.get::<Option<_>>("wallet_did")?.zip(row.get::<Option<_>>("wallet_key")?);
    Ok(ConnectSession {
        token: row.get("token")?,
        action: row.get("action")?,
        status: row.get("status")?,
        step: row.get("step")?,
        challenge: row.get("challenge")?,
        browser: row.get("browser")?,
        params: row.get("params")?,
        wallet: wallet.map(|(did, public_key)| Wallet { did, public_key }),
        nonce: row.get::<i64>("nonce")?.cast_unsigned(),
        error: row.get("error")?,
        error_code: row.get("error_code")?,
        error_params: row.get("error_params")?,
        browser_session: row.get("browser_session")?,
        created_at: row.get("created_at")?,
        updated_at: row.get("updated_at")?,
        expires_at: row.get("expires_at")?,
    })
}
