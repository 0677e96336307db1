//! Gives each test its own migrated database on either engine, copied from a template that is migrated once per schema.

use crate::persistence::{Database, migrate, schema_mark};
use sqlx::{AssertSqlSafe, Connection, PgConnection, Row, SqliteConnection};
use std::ops::Deref;
use std::path::PathBuf;
use std::sync::atomic::{AtomicU32, Ordering};
use url::Url;

/// The PostgreSQL advisory lock that guards creating and copying the template.
const TEMPLATE_LOCK: i64 = 0x736f_756b;
/// The environment variable that, set to `all`, runs each use case on both databases ([`TestDatabase::chosen_by`]).
const DATABASES: &str = "DATABASES";

/// A database for one test only. It is removed when dropped.
pub struct TestDatabase {
    database: Database,
    address: String,
    cleanup: Cleanup,
}

enum Cleanup {
    Folder { _folder: tempfile::TempDir },
    Drop { server: Url, name: String },
}

/// Returns the address of a server that tests need, from an environment variable.
///
/// # Panics
/// If the variable is not set: a test that needs a server must not pass without one.
#[must_use]
pub fn required(variable: &str, server: &str) -> String {
    std::env::var(variable)
        .unwrap_or_else(|_| panic!("this test needs {server}: run `make test`, which starts one, or set {variable} to the address of one"))
}

impl TestDatabase {
    /// Creates a migrated SQLite file in its own temporary folder.
    pub async fn sqlite() -> Self {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let file = folder.path().join("souk.db");
        std::fs::copy(sqlite_template().await, &file).expect("copies the template");
        let address = format!("sqlite://{}", file.display());
        let database = Database::open(&address).await.expect("opens");
        Self { database, address, cleanup: Cleanup::Folder { _folder: folder } }
    }

    /// Creates the databases that a use case runs on. The case's name chooses one of the two engines, so that each runs about half of
    /// the cases. With `DATABASES=all`, both are used.
    pub async fn chosen_by(name: &str) -> Vec<Self> {
        let runs_on_all = std::env::var(DATABASES).is_ok_and(|value| value == "all");
        let prefers_postgres = name.bytes().fold(0_u8, u8::wrapping_add) % 2 == 1;
        let mut databases = Vec::new();
        if runs_on_all || !prefers_postgres {
            databases.push(Self::sqlite().await);
        }
        if runs_on_all || prefers_postgres {
            databases.push(Self::postgres().await);
        }
        databases
    }

    /// Creates a migrated database on the PostgreSQL server at `TEST_PG`.
    pub async fn postgres() -> Self {
        let server = required("TEST_PG", "a PostgreSQL server");
        let server = Url::parse(&server).expect("TEST_PG is an address like postgres://user@127.0.0.1:5432/postgres");
        let mut connection = PgConnection::connect(server.as_str()).await.expect("connects to the server at TEST_PG");
        sqlx::query("SELECT pg_advisory_lock($1)").bind(TEMPLATE_LOCK).execute(&mut connection).await.expect("locks");
        let template = postgres_template(&server, &mut connection).await;
        static NEXT: AtomicU32 = AtomicU32::new(0);
        let name = format!("souk_test_{}_{}", std::process::id(), NEXT.fetch_add(1, Ordering::Relaxed));
        run(&mut connection, format!("DROP DATABASE IF EXISTS {name} WITH (FORCE)")).await;
        // The default strategy writes each page of the copy to the write-ahead log, which takes twice the time.
        run(&mut connection, format!("CREATE DATABASE {name} TEMPLATE {template} STRATEGY FILE_COPY")).await;
        connection.close().await.expect("closes");
        let address = address_of(&server, &name);
        let database = Database::open(&address).await.expect("opens");
        Self { database, address, cleanup: Cleanup::Drop { server, name } }
    }

    /// Creates an empty database on the PostgreSQL server at `TEST_PG`, without any table.
    pub async fn postgres_without_schema() -> Self {
        let database = Self::postgres().await;
        let mut connection = database.begin().await.expect("begins");
        connection.query("DROP SCHEMA public CASCADE").execute().await.expect("drops");
        connection.query("CREATE SCHEMA public").execute().await.expect("creates");
        connection.commit().await.expect("commits");
        database
    }

    /// Returns the address, for a second pool or another process.
    #[must_use]
    pub fn address(&self) -> &str {
        &self.address
    }
}

impl Deref for TestDatabase {
    type Target = Database;
    fn deref(&self) -> &Database {
        &self.database
    }
}

impl Drop for TestDatabase {
    fn drop(&mut self) {
        let Cleanup::Drop { server, name } = &self.cleanup else { return };
        let (server, statement) = (server.clone(), format!("DROP DATABASE IF EXISTS {name} WITH (FORCE)"));
        // Uses a thread with its own runtime, because drop is not async and a panicking test must clean up too.
        let dropping = std::thread::spawn(move || {
            let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
            runtime.block_on(async {
                if let Ok(mut connection) = PgConnection::connect(server.as_str()).await {
                    run(&mut connection, statement).await;
                }
            });
        });
        if dropping.join().is_err() && !std::thread::panicking() {
            panic!("the test database was not dropped");
        }
    }
}

/// Returns the migrated SQLite file that test databases are copied from. The first test with these migrations creates it, in the folder
/// for temporary files.
async fn sqlite_template() -> PathBuf {
    let folder = std::env::temp_dir();
    let template = folder.join(format!("souk_template_{}.db", schema_mark()));
    if !template.exists() {
        // Several tests may create the template at once: each creates its own file, and the last rename wins.
        let draft = tempfile::tempdir_in(&folder).expect("a temporary folder");
        let file = draft.path().join("souk.db");
        let database = Database::open_file(&file).await.expect("opens the template");
        migrate(&database).await.expect("migrates the template");
        database.close().await;
        // VACUUM INTO produces a single file without a write-ahead log.
        let copy = draft.path().join("copy.db");
        let mut connection = SqliteConnection::connect(&format!("sqlite://{}", file.display())).await.expect("opens the template again");
        let copying = sqlx::query("VACUUM INTO $1").bind(copy.display().to_string()).execute(&mut connection).await;
        copying.expect("copies the template");
        connection.close().await.expect("closes");
        std::fs::rename(&copy, &template).expect("names the template");
    }
    template
}

/// Returns the name of the migrated database that test databases are copied from. The first test with these migrations creates it.
async fn postgres_template(server: &Url, connection: &mut PgConnection) -> String {
    let name = format!("souk_template_{}", schema_mark());
    let found = sqlx::query("SELECT count(*) AS n FROM pg_database WHERE datname = $1").bind(&name).fetch_one(&mut *connection).await;
    if found.expect("queries").get::<i64, _>("n") == 1 {
        return name;
    }
    let draft = format!("{name}_draft");
    run(connection, format!("DROP DATABASE IF EXISTS {draft} WITH (FORCE)")).await;
    run(connection, format!("CREATE DATABASE {draft}")).await;
    let database = Database::open(&address_of(server, &draft)).await.expect("opens the template");
    migrate(&database).await.expect("migrates the template");
    database.close().await;
    run(connection, format!("ALTER DATABASE {draft} RENAME TO {name}")).await;
    name
}

fn address_of(server: &Url, name: &str) -> String {
    let mut address = server.clone();
    address.set_path(name);
    address.into()
}

async fn run(connection: &mut PgConnection, statement: String) {
    sqlx::raw_sql(AssertSqlSafe(statement)).execute(connection).await.expect("the server obeys");
}

/// Runs each use case on one database ([`TestDatabase::chosen_by`]). The contract tests of the repositories and the tests of races,
/// which run on both, cover its statements on the other database.
///
/// ```ignore
/// on_one! {
///     async fn a_renewal_is_charged_once(db: &TestDatabase) { ... }
/// }
/// ```
#[macro_export]
macro_rules! on_one {
    ($($(#[$meta:meta])* async fn $name:ident($db:ident: &TestDatabase) $body:block)*) => {$(
        $(#[$meta])*
        #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
        async fn $name() {
            async fn case($db: &$crate::testing::TestDatabase) $body

            for db in $crate::testing::TestDatabase::chosen_by(stringify!($name)).await {
                case(&db).await;
            }
        }
    )*};
}

/// Runs one contract case on both databases, as `name::sqlite` and `name::postgres`.
///
/// ```ignore
/// on_both! {
///     async fn ten_buyers_race_for_five_items(db: &TestDatabase) { ... }
/// }
/// ```
#[macro_export]
macro_rules! on_both {
    ($($(#[$meta:meta])* async fn $name:ident($db:ident: &TestDatabase) $body:block)*) => {$(
        mod $name {
            use super::*;

            async fn case($db: &$crate::testing::TestDatabase) $body

            $(#[$meta])*
            #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
            async fn sqlite() {
                case(&$crate::testing::TestDatabase::sqlite().await).await;
            }

            $(#[$meta])*
            #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
            async fn postgres() {
                case(&$crate::testing::TestDatabase::postgres().await).await;
            }
        }
    )*};
}
