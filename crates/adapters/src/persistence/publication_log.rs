//! The public log of publications. The row of its head serializes those who append.

use super::value::{Bound, Kind, Stored, Value, stored};
use super::{Connection, Row};
use async_trait::async_trait;
use sha2::{Digest, Sha256};
use souk_domain::publishing::publication_log::{
    FIRST_PREVIOUS_HASH, LoggedVersion, PublicationAction, PublicationEntry, PublicationFact, PublicationLog,
};
use souk_domain::shared::StorageError;

stored! {
    PublicationAction, Text, action => Some(action.name().to_owned()), name => Self::from_name(&name);
}

const LIST: &str = "SELECT * FROM publication_log WHERE sequence > $1 ORDER BY sequence LIMIT $2";
const INSERT: &str = "INSERT INTO publication_log (sequence, created_at, action, app, version, document, previous, hash)
    VALUES ($1, $2, $3, $4, $5, $6, $7, $8)";

pub struct SqlPublicationLog<'s>(pub &'s mut Connection);

/// The hash of an entry.
pub(crate) fn hash_of(fact: &PublicationFact, sequence: u64, previous: &str) -> String {
    let app_digest = hex::encode(Sha256::digest(fact.app.as_str()));
    hex::encode(Sha256::digest(fact.text(sequence, &app_digest, previous)))
}

pub(crate) fn read_entry(row: &Row) -> Result<PublicationEntry, StorageError> {
    let version: Option<_> = row.get("version")?;
    let document: Option<String> = row.get("document")?;
    Ok(PublicationEntry {
        sequence: row.get("sequence")?,
        fact: PublicationFact {
            at: row.get("created_at")?,
            action: row.get("action")?,
            app: row.get("app")?,
            version: version.zip(document).map(|(version, document)| LoggedVersion { version, document }),
        },
        previous: row.get("previous")?,
        hash: row.get("hash")?,
    })
}

/// Reads a page of the log.
pub(crate) async fn read_entries(connection: &mut Connection, after: u64, limit: u32) -> Result<Vec<PublicationEntry>, StorageError> {
    connection.query(LIST).bind(after).bind(limit).all().await?.iter().map(read_entry).collect()
}

#[async_trait]
impl PublicationLog for SqlPublicationLog<'_> {
    async fn append(&mut self, fact: &PublicationFact) -> Result<PublicationEntry, StorageError> {
        let advance = "INSERT INTO publication_log_head (id, sequence, hash) VALUES (1, 1, $1)
                       ON CONFLICT (id) DO UPDATE SET sequence = publication_log_head.sequence + 1 RETURNING sequence, hash";
        let head = self.0.query(advance).bind(FIRST_PREVIOUS_HASH).one().await?;
        let (sequence, previous): (u64, String) = (head.get("sequence")?, head.get("hash")?);
        let hash = hash_of(fact, sequence, &previous);
        let (version, document) = (fact.version.as_ref().map(|of| &of.version), fact.version.as_ref().map(|of| &of.document));
        let query = self.0.query(INSERT).bind(sequence).bind(fact.at).bind(fact.action).bind(&fact.app).bind(version).bind(document);
        query.bind(&previous).bind(&hash).execute().await?;
        self.0.query("UPDATE publication_log_head SET hash = $1 WHERE id = 1").bind(&hash).execute().await?;
        Ok(PublicationEntry { sequence, fact: fact.clone(), previous, hash })
    }

    async fn list(&mut self, after: u64, limit: u32) -> Result<Vec<PublicationEntry>, StorageError> {
        read_entries(self.0, after, limit).await
    }

    async fn last(&mut self) -> Result<Option<PublicationEntry>, StorageError> {
        let row = self.0.query("SELECT * FROM publication_log ORDER BY sequence DESC LIMIT 1").optional().await?;
        row.as_ref().map(read_entry).transpose()
    }
}
