//! Rows for every table of the schema, whichever tables it has.

use futures_util::TryStreamExt;
use sha2::{Digest, Sha256};
use souk_adapters::persistence::dump::{self, Cell};
use souk_adapters::persistence::{Database, Kind, Table, TableColumn, tables};
use souk_adapters::testing::TestDatabase;
use std::collections::{BTreeMap, BTreeSet};

/// The content of the only file that the versions name.
pub const BUNDLE: &[u8] = b"a bundle";
/// A text that needs escaping wherever it can.
const TEXT: &str = "a \"quoted\" \\ text,\nof 2 lines\t中文 \u{1f600} '; --";
/// Columns with free text. The other texts are ids, so that every reference has its row.
const FREE: [&str; 8] = ["name", "name_zh", "description", "full_name", "memo", "message", "last_error", "address"];

/// The rows of each table, as SQLite stores them.
pub type Rows = BTreeMap<String, BTreeSet<Vec<Cell>>>;

/// The tables of the schema with the kinds of their columns, which only PostgreSQL knows.
pub struct Schema {
    tables: Vec<Table>,
    optional: BTreeSet<String>,
}

impl Schema {
    pub async fn read() -> Self {
        let database = TestDatabase::postgres().await;
        let mut connection = database.snapshot().await.expect("a snapshot");
        let tables = tables(&mut connection).await.expect("tables");
        let select = "SELECT table_name || '.' || column_name AS name FROM information_schema.columns
                      WHERE table_schema = 'public' AND is_nullable = 'YES'";
        let rows = connection.query(select).all().await.expect("columns");
        let optional = rows.iter().map(|row| row.get("name").expect("a name")).collect();
        Self { tables, optional }
    }

    /// Three rows of a table: two with values in all columns, and one with NULL wherever it may be.
    fn rows_of(&self, table: &Table) -> Vec<Vec<Cell>> {
        // Tables with one row have its number as their key.
        let is_single = table.columns.iter().any(|column| column.name == "id" && column.kind == Some(Kind::Integer));
        let numbers = if is_single { 1..=1 } else { 1..=3 };
        numbers.map(|number| table.columns.iter().map(|column| self.cell(table, column, number)).collect()).collect()
    }

    fn cell(&self, table: &Table, column: &TableColumn, number: i64) -> Cell {
        let text = |text: &str| Cell::Text(text.to_owned());
        let is_optional = self.optional.contains(&format!("{}.{}", table.name, column.name));
        match (table.name.as_str(), column.name.as_str()) {
            // The rules of the tables.
            ("pending_plan_changes", "failure") | ("prices", "stock_of") => return Cell::Null,
            ("pending_plan_changes", "check_at") => return Cell::Integer(number),
            ("uploaded_versions", "document" | "bundle") | ("version_files", "sha256") => {
                return text(&hex::encode(Sha256::digest(BUNDLE)));
            }
            _ if is_optional && number == 3 => return Cell::Null,
            ("audit_log", "actor_kind") => return text("user"),
            ("apps", "availability") => return text("available"),
            ("invoice_payments", "source") => return text("network"),
            ("journal_postings", "side") => return text("debit"),
            ("prices", "tiers_mode") => return text("graduated"),
            ("stock_reservations", "state") => return text("reserved"),
            ("stakes", "purpose") => return text("security"),
            ("stakes", "reserved_for") => return text("return"),
            ("stakes", "status") => return text("held"),
            (_, "quantity_available") => return Cell::Integer(1_000),
            _ => {}
        }
        let is_total = ["amount", "total", "amount_received"].contains(&column.name.as_str());
        match column.kind.expect("PostgreSQL knows the kind") {
            Kind::Text if FREE.contains(&column.name.as_str()) => Cell::Text(format!("{number} {TEXT}")),
            Kind::Text => Cell::Text(format!("id_{number}")),
            Kind::Integer if column.name == "id" => Cell::Integer(1),
            Kind::Integer => Cell::Integer(number),
            Kind::Bool => Cell::Integer(number % 2),
            // The largest amounts have 39 digits.
            Kind::Amount if is_total => {
                Cell::Text(format!("{}", 100_000_000_000_000_000_000_000_000_000_000_000_007_u128 + u128::try_from(number).expect("small")))
            }
            Kind::Amount => Cell::Text(format!("{number:039}")),
            Kind::Time => Cell::Integer(1_700_000_000_123_456 + number),
            Kind::Json => Cell::Text(serde_json::json!({ "list": [number, "2", null], "text": TEXT }).to_string()),
            Kind::Bytes => Cell::Bytes(vec![0, u8::try_from(number).expect("small"), 255]),
        }
    }

    /// Writes the rows into a migrated database.
    pub async fn fill(&self, database: &Database) {
        let mut connection = database.begin_unlimited().await.expect("begins");
        let target: BTreeMap<_, _> =
            tables(&mut connection).await.expect("tables").into_iter().map(|table| (table.name.clone(), table)).collect();
        for table in &self.tables {
            let target = &target[&table.name];
            let by_name = |column: &TableColumn| target.columns.iter().find(|known| known.name == column.name).expect("the same columns");
            let columns: Vec<_> = table.columns.iter().map(by_name).collect();
            dump::insert(&mut connection, target, &columns, self.rows_of(table))
                .await
                .unwrap_or_else(|error| panic!("{}: {error}", table.name));
        }
        // The first row references the last one.
        let update = "UPDATE prices SET stock_of = 'id_3' WHERE id = 'id_1'";
        assert_eq!(connection.query(update).execute().await.expect("updates"), 1);
        connection.commit().await.expect("commits");
    }

    /// All rows of a database, with their values in the order of this schema's columns.
    pub async fn rows(&self, database: &Database) -> Rows {
        let mut connection = database.snapshot().await.expect("a snapshot");
        let mut found = Rows::new();
        for table in tables(&mut connection).await.expect("tables") {
            let ours = self.tables.iter().find(|ours| ours.name == table.name).expect("the same tables");
            assert_eq!(table.column_names(), ours.column_names(), "{}", table.name);
            let rows: Vec<_> = dump::rows(&mut connection, &table).try_collect().await.expect("rows");
            found.insert(table.name.clone(), rows.into_iter().map(|row| normalized(row, ours)).collect());
        }
        found
    }

    pub fn table_names(&self) -> BTreeSet<String> {
        self.tables.iter().map(|table| table.name.clone()).collect()
    }
}

/// JSON in one order of its members: PostgreSQL does not keep that of the text.
fn normalized(row: Vec<Cell>, table: &Table) -> Vec<Cell> {
    let normal = |(cell, column): (Cell, &TableColumn)| match (cell, column.kind) {
        (Cell::Text(text), Some(Kind::Json)) => Cell::Text(serde_json::from_str::<serde_json::Value>(&text).expect("JSON").to_string()),
        (cell, _) => cell,
    };
    row.into_iter().zip(&table.columns).map(normal).collect()
}
