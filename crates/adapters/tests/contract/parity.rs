//! Checks that the two folders of migrations create the same schema.

use souk_adapters::persistence::{Database, Sql};
use souk_adapters::testing::TestDatabase;
use souk_domain::billing::DocumentType;
use souk_domain::shared::Mode;
use std::collections::BTreeMap;

/// Returns each column's type and whether it may be NULL, keyed by `table.column`.
async fn columns(db: &Database) -> BTreeMap<String, (String, bool)> {
    let select = Sql {
        sqlite: r#"SELECT t.name || '.' || c.name AS name, c.type AS type, c."notnull" = 0 AS optional
                   FROM sqlite_schema t, pragma_table_info(t.name) c
                   WHERE t.type = 'table' AND t.name NOT LIKE 'sqlite\_%' ESCAPE '\' AND t.name <> '_sqlx_migrations'"#,
        postgres: "SELECT table_name || '.' || column_name AS name, data_type::text AS type, is_nullable = 'YES' AS optional
                   FROM information_schema.columns WHERE table_schema = 'public' AND table_name <> '_sqlx_migrations'",
    };
    let rows = db.read().await.expect("reads").query_per_dialect(select).all().await.expect("lists");
    let column = |row: &souk_adapters::persistence::Row| {
        let described = (row.get("type").expect("a type"), row.get("optional").expect("a truth"));
        (row.get("name").expect("a name"), described)
    };
    rows.iter().map(column).collect()
}

/// Returns `table.index` for every index named by a migration, followed by `unique` for unique indexes.
async fn indexes(db: &Database) -> Vec<String> {
    let select = Sql {
        sqlite: "SELECT tbl_name || '.' || name || CASE WHEN sql LIKE 'CREATE UNIQUE%' THEN ' unique' ELSE '' END AS name
                 FROM sqlite_schema WHERE type = 'index' AND sql IS NOT NULL ORDER BY 1",
        postgres: "SELECT tablename || '.' || indexname || CASE WHEN indexdef LIKE 'CREATE UNIQUE%' THEN ' unique' ELSE '' END AS name
                   FROM pg_indexes i WHERE schemaname = 'public'
                   AND NOT EXISTS (SELECT 1 FROM pg_constraint WHERE conname = i.indexname) ORDER BY 1",
    };
    let rows = db.read().await.expect("reads").query_per_dialect(select).all().await.expect("lists");
    let mut names: Vec<String> = rows.iter().map(|row| row.get("name").expect("a name")).collect();
    names.sort();
    names
}

/// Returns `table: one <= other` for every check that compares two columns, sorted.
async fn comparisons(db: &Database) -> Vec<String> {
    let select = Sql {
        sqlite: "SELECT name AS place, sql AS text FROM sqlite_schema WHERE type = 'table' AND sql LIKE '%CHECK (%'",
        postgres: "SELECT conrelid::regclass::text AS place, pg_get_constraintdef(oid) AS text FROM pg_constraint
                   WHERE contype = 'c' AND connamespace = 'public'::regnamespace",
    };
    let rows = db.read().await.expect("reads").query_per_dialect(select).all().await.expect("lists");
    let mut found = Vec::new();
    for row in rows {
        let (place, text): (String, String) = (row.get("place").expect("a name"), row.get("text").expect("a text"));
        let conditions = text.split("CHECK (").skip(1).map(|rest| rest.trim_start_matches('(').split(')').next().unwrap_or_default());
        let compares = |condition: &&str| condition.split_whitespace().nth(1) == Some("<=") && condition.split_whitespace().count() == 3;
        found.extend(conditions.filter(compares).map(|condition| format!("{place}: {condition}")));
    }
    found.sort();
    found
}

/// Returns whether a column type of SQLite corresponds to one of PostgreSQL.
fn corresponds_to(sqlite: &str, postgres: &str) -> bool {
    match sqlite {
        "TEXT" => ["text", "numeric", "jsonb"].contains(&postgres),
        "INTEGER" => ["bigint", "boolean", "timestamp with time zone"].contains(&postgres),
        "BLOB" => postgres == "bytea",
        _ => false,
    }
}

#[tokio::test]
async fn both_folders_of_migrations_create_the_same_tables_columns_and_indexes() {
    let (sqlite, postgres) = (TestDatabase::sqlite().await, TestDatabase::postgres().await);
    let (one, other) = (columns(&sqlite).await, columns(&postgres).await);
    assert!(one.contains_key("outbox.payload"), "{one:?}");
    assert_eq!(one.keys().collect::<Vec<_>>(), other.keys().collect::<Vec<_>>());
    for (name, (kind, optional)) in &one {
        let (other_kind, other_optional) = &other[name];
        assert!(corresponds_to(kind, other_kind), "{name} is {kind} on SQLite and {other_kind} on PostgreSQL");
        assert_eq!(optional, other_optional, "whether {name} may be NULL");
    }
    assert_eq!(indexes(&sqlite).await, indexes(&postgres).await);
    let (one, other) = (comparisons(&sqlite).await, comparisons(&postgres).await);
    assert!(one.contains(&"invoice_items: credited <= amount".to_owned()), "{one:?}");
    assert_eq!(one, other);
}

#[tokio::test]
async fn every_document_type_has_a_number_series_in_each_mode() {
    for db in [TestDatabase::sqlite().await, TestDatabase::postgres().await] {
        let select = "SELECT livemode, document, last_number FROM number_series";
        let rows = db.read().await.expect("reads").query(select).all().await.expect("lists");
        let mut series: Vec<(bool, DocumentType, u64)> = Vec::new();
        for row in rows {
            let mode: Mode = row.get("livemode").expect("a mode");
            series.push((mode.is_live(), row.get("document").expect("a document"), row.get("last_number").expect("a number")));
        }
        for live in [false, true] {
            assert!(DocumentType::ALL.iter().all(|document| series.contains(&(live, *document, 0))), "{series:?}");
        }
        assert_eq!(series.len(), 6);
    }
}

#[tokio::test]
async fn migrating_twice_changes_nothing() {
    for db in [TestDatabase::sqlite().await, TestDatabase::postgres().await] {
        let before = columns(&db).await;
        souk_adapters::persistence::migrate(&db).await.expect("migrates again");
        assert_eq!(columns(&db).await, before);
    }
}

#[tokio::test]
async fn a_column_that_refers_to_another_has_its_collation_on_postgres() {
    // PostgreSQL uses no index for a join of columns whose collations differ.
    let differing = "SELECT c.conrelid::regclass || '.' || a.attname AS name
                     FROM pg_constraint c
                     CROSS JOIN LATERAL unnest(c.conkey, c.confkey) AS pair(own, other)
                     JOIN pg_attribute a ON a.attrelid = c.conrelid AND a.attnum = pair.own
                     JOIN pg_attribute b ON b.attrelid = c.confrelid AND b.attnum = pair.other
                     WHERE c.contype = 'f' AND a.attcollation <> b.attcollation ORDER BY 1";
    let db = TestDatabase::postgres().await;
    let rows = db.read().await.expect("reads").query(differing).all().await.expect("lists");
    let names: Vec<String> = rows.iter().map(|row| row.get("name").expect("a name")).collect();
    assert_eq!(names, [""; 0]);
}
