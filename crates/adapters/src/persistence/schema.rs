//! The tables of a database as the database itself describes them, for copies of all of them.

use super::value::Kind;
use super::{Connection, Sql};
use souk_domain::shared::StorageError;
use std::collections::{BTreeMap, BTreeSet};

/// The table of the migrations, which each database writes itself.
const COLUMNS: Sql = Sql {
    sqlite: r#"SELECT t.name AS table_name, c.name AS column_name, '' AS type
               FROM sqlite_schema t, pragma_table_info(t.name) c
               WHERE t.type = 'table' AND t.name NOT LIKE 'sqlite\_%' ESCAPE '\' AND t.name <> '_sqlx_migrations'
               ORDER BY t.name, c.cid"#,
    postgres: "SELECT c.table_name::text AS table_name, c.column_name::text AS column_name, c.udt_name::text AS type
               FROM information_schema.columns c
               JOIN information_schema.tables t ON t.table_schema = c.table_schema AND t.table_name = c.table_name
               WHERE c.table_schema = current_schema() AND t.table_type = 'BASE TABLE' AND c.table_name <> '_sqlx_migrations'
               ORDER BY c.table_name, c.ordinal_position",
};
const REFERENCES: Sql = Sql {
    sqlite: r#"SELECT t.name AS table_name, f."from" AS column_name, f."table" AS target
               FROM sqlite_schema t, pragma_foreign_key_list(t.name) f WHERE t.type = 'table'"#,
    postgres: "SELECT r.relname::text AS table_name, a.attname::text AS column_name, t.relname::text AS target
               FROM pg_constraint c JOIN pg_class r ON r.oid = c.conrelid JOIN pg_class t ON t.oid = c.confrelid
               JOIN pg_attribute a ON a.attrelid = c.conrelid AND a.attnum = c.conkey[1]
               WHERE c.contype = 'f' AND r.relnamespace = current_schema()::regnamespace",
};

/// A table of a database.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Table {
    pub name: String,
    pub columns: Vec<TableColumn>,
    /// The column that references rows of the same table. Such rows follow the rows that they reference.
    pub(super) own_reference: Option<String>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TableColumn {
    pub name: String,
    /// `None` on SQLite, whose types are those of the single values.
    pub kind: Option<Kind>,
}

impl Table {
    #[must_use]
    pub fn column_names(&self) -> Vec<String> {
        self.columns.iter().map(|column| column.name.clone()).collect()
    }
}

/// Lists all tables, each after those that it references. Empty if the database has no schema.
pub async fn tables(connection: &mut Connection) -> Result<Vec<Table>, StorageError> {
    let mut columns: BTreeMap<String, Vec<TableColumn>> = BTreeMap::new();
    for row in connection.query_per_dialect(COLUMNS).all().await? {
        let (table, name, kind): (String, String, String) = (row.get("table_name")?, row.get("column_name")?, row.get("type")?);
        let kind = kind_of(&table, &name, &kind)?;
        columns.entry(table).or_default().push(TableColumn { name, kind });
    }
    let (mut references, mut own): (BTreeMap<String, BTreeSet<String>>, BTreeMap<String, String>) = Default::default();
    for row in connection.query_per_dialect(REFERENCES).all().await? {
        let (table, target): (String, String) = (row.get("table_name")?, row.get("target")?);
        if table == target {
            own.insert(table, row.get("column_name")?);
        } else {
            references.entry(table).or_default().insert(target);
        }
    }
    let mut sorted = Vec::with_capacity(columns.len());
    while !columns.is_empty() {
        let is_free =
            |table: &String| references.get(table).is_none_or(|targets| targets.iter().all(|target| !columns.contains_key(target)));
        let Some(name) = columns.keys().find(|table| is_free(table)).cloned() else {
            return Err(StorageError::Driver("tables reference each other in a circle".into()));
        };
        let own_reference = own.remove(&name);
        let columns = columns.remove(&name).unwrap_or_default();
        sorted.push(Table { name, columns, own_reference });
    }
    Ok(sorted)
}

fn kind_of(table: &str, column: &str, postgres_type: &str) -> Result<Option<Kind>, StorageError> {
    Ok(Some(match postgres_type {
        "" => return Ok(None),
        "text" | "varchar" => Kind::Text,
        "int8" | "int4" | "int2" => Kind::Integer,
        "bool" => Kind::Bool,
        "numeric" => Kind::Amount,
        "timestamptz" => Kind::Time,
        "jsonb" => Kind::Json,
        "bytea" => Kind::Bytes,
        other => return Err(StorageError::Driver(format!("{table}.{column} has the type {other}, which no table of Souk has").into())),
    }))
}
