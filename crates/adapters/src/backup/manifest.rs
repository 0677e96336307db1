//! What an archive says about itself.

use super::Part;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// The version of the archive's format.
pub(super) const FORMAT: i64 = 1;

/// The content of an archive.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Manifest {
    pub format: i64,
    /// The version of the database's schema.
    pub schema: i64,
    /// The version of Souk that wrote the archive.
    pub souk: String,
    /// The store's DID.
    pub store: String,
    /// The time of the snapshot, in ISO 8601.
    pub taken_at: String,
    /// The tables of the store's database.
    pub database: BTreeMap<String, TableContent>,
    /// The tables of the sandbox; `None`: the store had none.
    pub sandbox: Option<BTreeMap<String, TableContent>>,
    pub entries: BTreeMap<String, EntryDigest>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct TableContent {
    /// The columns, in the order of the values of a row.
    pub columns: Vec<String>,
    pub rows: u64,
}

/// The content of one entry.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct EntryDigest {
    pub bytes: u64,
    pub sha256: String,
}

impl Manifest {
    pub(super) fn tables(&self, part: Part) -> Option<&BTreeMap<String, TableContent>> {
        match part {
            Part::Store => Some(&self.database),
            Part::Sandbox => self.sandbox.as_ref(),
        }
    }

    /// The number of rows of the store's tables.
    #[must_use]
    pub fn rows(&self) -> u64 {
        self.database.values().map(|table| table.rows).sum()
    }

    #[must_use]
    pub fn files(&self) -> usize {
        self.entries.keys().filter(|name| name.starts_with("files/")).count()
    }
}

/// An entry of an archive. Only names of these forms are accepted, so that no entry can name a path outside the store.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum EntryName {
    Key,
    Rows {
        part: Part,
        table: String,
    },
    /// The hash of the content.
    File(String),
    Manifest,
}

impl EntryName {
    pub fn parse(name: &str) -> Option<Self> {
        let mut parts = name.split('/');
        let entry = match (parts.next()?, parts.next(), parts.next()) {
            ("secret.key", None, None) => Self::Key,
            ("manifest.json", None, None) => Self::Manifest,
            ("files", Some(hash), None) if is_hash(hash) => Self::File(hash.to_owned()),
            (folder, Some(table), Some(chunk)) => {
                let part = Part::ALL.into_iter().find(|part| part.folder() == folder)?;
                let number = chunk.strip_suffix(".jsonl")?;
                let is_valid = is_table(table) && !number.is_empty() && number.bytes().all(|digit| digit.is_ascii_digit());
                is_valid.then(|| Self::Rows { part, table: table.to_owned() })?
            }
            _ => return None,
        };
        parts.next().is_none().then_some(entry)
    }
}

pub(super) fn is_hash(text: &str) -> bool {
    text.len() == 64 && text.bytes().all(|digit| digit.is_ascii_digit() || (b'a'..=b'f').contains(&digit))
}

fn is_table(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|letter| letter.is_ascii_lowercase() || letter.is_ascii_digit() || letter == b'_')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn entries_outside_the_known_forms_are_refused() {
        let hash = "a".repeat(64);
        let rows = |part, table: &str| Some(EntryName::Rows { part, table: table.to_owned() });
        for (name, expected) in [
            ("secret.key", Some(EntryName::Key)),
            ("manifest.json", Some(EntryName::Manifest)),
            ("database/invoice_items/000001.jsonl", rows(Part::Store, "invoice_items")),
            ("sandbox/card_objects/000001.jsonl", rows(Part::Sandbox, "card_objects")),
            (&format!("files/{hash}"), Some(EntryName::File(hash.clone()))),
            (&format!("files/{}", &hash[1..]), None),
            ("files/../secret.key", None),
            ("../secret.key", None),
            ("/etc/passwd", None),
            ("database/../x.jsonl", None),
            ("database/users/1/2.jsonl", None),
            ("database/users/a.jsonl", None),
            ("database/Users\";/1.jsonl", None),
            ("secret.key/", None),
            ("queue/users/1.jsonl", None),
            ("", None),
        ] {
            assert_eq!(EntryName::parse(name), expected, "{name}");
        }
    }
}
