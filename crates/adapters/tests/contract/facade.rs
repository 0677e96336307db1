//! The guarantees that every repository relies on: values are read as written, errors are distinguished, and units of work are atomic.

use serde_json::json;
use souk_adapters::on_both;
use souk_adapters::persistence::{Connection, Database, Sql, Values};
use souk_adapters::testing::TestDatabase;
use souk_domain::access::Did;
use souk_domain::shared::{Amount, SessionId, StorageError, Timestamp};
use std::future::poll_fn;
use std::pin::pin;
use std::task::Poll;
use std::time::Duration;

/// Creates a table with a column of each kind.
async fn with_specimens(db: &Database) -> Connection {
    let mut connection = db.begin().await.expect("begins");
    let table = Sql {
        sqlite: "CREATE TABLE specimens (id TEXT NOT NULL PRIMARY KEY, number INTEGER, truth INTEGER, amount TEXT, at INTEGER, json TEXT,
                 bytes BLOB, did TEXT) STRICT",
        postgres: "CREATE TABLE specimens (id TEXT NOT NULL PRIMARY KEY, number BIGINT, truth BOOLEAN, amount NUMERIC(78,0),
                   at TIMESTAMPTZ, json JSONB, bytes BYTEA, did TEXT)",
    };
    connection.query_per_dialect(table).execute().await.expect("creates");
    connection.commit().await.expect("commits");
    db.begin().await.expect("begins again")
}

/// Creates a second table.
async fn with_others(db: &Database) {
    let mut connection = with_specimens(db).await;
    let table = Sql {
        sqlite: "CREATE TABLE others (id TEXT NOT NULL PRIMARY KEY, number INTEGER) STRICT",
        postgres: "CREATE TABLE others (id TEXT NOT NULL PRIMARY KEY, number BIGINT)",
    };
    connection.query_per_dialect(table).execute().await.expect("creates");
    connection.commit().await.expect("commits");
}

/// Counts the rows of both tables.
async fn counts(db: &Database) -> (u32, u32) {
    let count = "SELECT (SELECT count(*) FROM specimens) AS specimens, (SELECT count(*) FROM others) AS others";
    let row = db.read().await.expect("reads").query(count).one().await.expect("reads");
    (row.get("specimens").expect("a number"), row.get("others").expect("a number"))
}

fn id(text: &str) -> SessionId {
    SessionId::parse(text).expect("an id")
}

/// Drops a future that has not completed after the given number of polls.
async fn give_up_after<T>(polls: u32, future: impl Future<Output = T>) {
    let mut future = pin!(future);
    let mut left = polls;
    poll_fn(|context| match left.checked_sub(1) {
        Some(fewer) => {
            left = fewer;
            future.as_mut().poll(context).map(drop)
        }
        None => Poll::Ready(()),
    })
    .await;
}

/// Reads whether commits wait for the disk. On SQLite, 1 is NORMAL and 2 is FULL.
const WAITS: Sql = Sql {
    sqlite: "SELECT synchronous AS waits FROM pragma_synchronous",
    postgres: "SELECT CASE current_setting('synchronous_commit') WHEN 'off' THEN 1::bigint ELSE 2 END AS waits",
};

async fn waits(connection: &mut Connection, request: Sql) -> u32 {
    connection.query_per_dialect(request).one().await.expect("queries").get("waits").expect("a number")
}

const INSERT_AMOUNT: &str = "INSERT INTO specimens (id, amount) VALUES ($1, $2)";

/// Makes PostgreSQL take a minute for a commit of a specimen.
const DOZES_AT_COMMIT: [&str; 2] = [
    "CREATE FUNCTION doze() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN PERFORM pg_sleep(60); RETURN NULL; END'",
    "CREATE CONSTRAINT TRIGGER dozes AFTER INSERT ON specimens DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION doze()",
];

on_both! {
    async fn a_nul_in_a_text_is_replaced_and_finds_nothing(db: &TestDatabase) {
        let mut connection = with_specimens(db).await;
        let json = json!({"a\0": ["b\0"]});
        let insert = "INSERT INTO specimens (id, json) VALUES ($1, $2)";
        connection.query(insert).bind("cs_\0").bind(json).execute().await.expect("inserts");
        let row = connection.query("SELECT * FROM specimens").one().await.expect("reads");
        assert_eq!(row.get::<String>("id").expect("id"), "cs_\u{fffd}");
        assert_eq!(row.get::<serde_json::Value>("json").expect("json"), json!({"a\u{fffd}": ["b\u{fffd}"]}));
        assert!(connection.query("SELECT * FROM specimens WHERE id = $1").bind("\0").optional().await.expect("reads").is_none());
    }

    async fn every_kind_of_value_is_read_as_written(db: &TestDatabase) {
        let mut connection = with_specimens(db).await;
        let insert = "INSERT INTO specimens (id, number, truth, amount, at, json, bytes, did) VALUES ($1, $2, $3, $4, $5, $6, $7, $8)";
        let at = Timestamp::from_micros(1_700_000_000_123_456);
        let json = json!({"a": [1, "zwei", null], "b": {"c": true}});
        let rows = connection.query(insert).bind(id("cs_1")).bind(i64::MIN).bind(true).bind(Amount::new(u128::MAX)).bind(at).bind(json.clone())
            .bind(vec![0u8, 255]).bind(Did::from_verified("z1abc")).execute().await.expect("inserts");
        assert_eq!(rows, 1);
        connection.query(insert).bind("cs_2").bind(None::<i64>).bind(None::<bool>).bind(None::<Amount>).bind(None::<Timestamp>)
            .bind(None::<serde_json::Value>).bind(None::<Vec<u8>>).bind(None::<&Did>).execute().await.expect("inserts nothings");
        let rows = connection.query("SELECT * FROM specimens ORDER BY id").all().await.expect("reads");
        assert_eq!(rows[0].get::<SessionId>("id").expect("id"), id("cs_1"));
        assert_eq!(rows[0].get::<i64>("number").expect("number"), i64::MIN);
        assert!(rows[0].get::<bool>("truth").expect("truth"));
        assert_eq!(rows[0].get::<Amount>("amount").expect("amount"), Amount::new(u128::MAX));
        assert_eq!(rows[0].get::<Timestamp>("at").expect("at"), at);
        assert_eq!(rows[0].get::<serde_json::Value>("json").expect("json"), json);
        assert_eq!(rows[0].get::<Vec<u8>>("bytes").expect("bytes"), [0, 255]);
        assert_eq!(rows[0].get::<Option<Did>>("did").expect("did"), Some(Did::from_verified("z1abc")));
        assert_eq!(rows[1].get::<Option<i64>>("number").expect("number"), None);
        assert_eq!(rows[1].get::<Option<bool>>("truth").expect("truth"), None);
        assert_eq!(rows[1].get::<Option<Amount>>("amount").expect("amount"), None);
        assert_eq!(rows[1].get::<Option<Timestamp>>("at").expect("at"), None);
        assert_eq!(rows[1].get::<Option<serde_json::Value>>("json").expect("json"), None);
        assert_eq!(rows[1].get::<Option<Vec<u8>>>("bytes").expect("bytes"), None);
        assert_eq!(rows[1].get::<Option<Did>>("did").expect("did"), None);
        let sum = connection.query("SELECT count(*) AS n, sum(number) AS total FROM specimens WHERE number IS NOT NULL").one().await.expect("sums");
        assert_eq!((sum.get::<u64>("n").expect("n"), sum.get::<i64>("total").expect("total")), (1, i64::MIN));
    }

    async fn many_rows_are_written_as_given_whichever_values_they_share(db: &TestDatabase) {
        let at = |number: u32| Timestamp::from_micros(1_700_000_000_000_000 + i64::from(number));
        for count in [1u32, 2, 20, 250] {
            let mut connection = with_specimens(db).await;
            let row = |number: u32| {
                let values = Values::default().bind(format!("cs_{number:03}")).bind(7u32).bind(number.is_multiple_of(2)).bind(None::<Amount>);
                values.bind(at(0)).bind(json!({"same": [1]})).bind(number.to_le_bytes().to_vec()).bind("z1abc")
            };
            let into = "INSERT INTO specimens (id, number, truth, amount, at, json, bytes, did)";
            let written = connection.insert(into, (0..count).map(row).collect(), "ON CONFLICT DO NOTHING").await.expect("inserts");
            assert_eq!(written, u64::from(count));
            let again = connection.insert(into, (0..count).map(row).collect(), "ON CONFLICT DO NOTHING").await.expect("inserts");
            assert_eq!(again, 0, "each row conflicts");
            let change = |number: u32| Values::default().bind(format!("cs_{number:03}")).bind(Amount::new(5)).bind(at(number)).bind(7u32);
            let set = "UPDATE specimens SET amount = new.column2, at = new.column3";
            let is_as_before = "specimens.id = new.column1 AND specimens.number = new.column4";
            let changed = connection.update(set, (0..count).map(change).collect(), is_as_before).await.expect("updates");
            assert_eq!(changed, u64::from(count));

            let rows = connection.query("SELECT * FROM specimens ORDER BY id").all().await.expect("reads");
            assert_eq!(rows.len(), count as usize);
            for (number, row) in (0..count).zip(&rows) {
                assert_eq!(row.get::<String>("id").expect("id"), format!("cs_{number:03}"));
                assert_eq!(row.get::<u32>("number").expect("number"), 7);
                assert_eq!(row.get::<bool>("truth").expect("truth"), number.is_multiple_of(2));
                assert_eq!(row.get::<Amount>("amount").expect("amount"), Amount::new(5));
                assert_eq!(row.get::<Timestamp>("at").expect("at"), at(number));
                assert_eq!(row.get::<serde_json::Value>("json").expect("json"), json!({"same": [1]}));
                assert_eq!(row.get::<Vec<u8>>("bytes").expect("bytes"), number.to_le_bytes());
                assert_eq!(row.get::<Did>("did").expect("did"), Did::from_verified("z1abc"));
            }
            connection.query("DROP TABLE specimens").execute().await.expect("drops");
            connection.commit().await.expect("commits");
        }
    }

    async fn amounts_sort_and_compare_as_numbers(db: &TestDatabase) {
        let mut connection = with_specimens(db).await;
        for (name, units) in [("cs_a", 9), ("cs_b", 10), ("cs_c", u128::MAX), ("cs_d", 0)] {
            connection.query(INSERT_AMOUNT).bind(name).bind(Amount::new(units)).execute().await.expect("inserts");
        }
        let rows = connection.query("SELECT id FROM specimens WHERE amount > $1 ORDER BY amount DESC").bind(Amount::new(0)).all().await;
        let order: Vec<String> = rows.expect("reads").iter().map(|row| row.get("id").expect("id")).collect();
        assert_eq!(order, ["cs_c", "cs_b", "cs_a"]);
    }

    async fn a_duplicate_key_is_distinguished_from_other_errors(db: &TestDatabase) {
        let mut connection = with_specimens(db).await;
        connection.query(INSERT_AMOUNT).bind("cs_1").bind(Amount::ZERO).execute().await.expect("inserts");
        connection.commit().await.expect("commits");
        let mut connection = db.begin().await.expect("begins");
        let refused = connection.query(INSERT_AMOUNT).bind("cs_1").bind(Amount::ZERO).execute().await;
        let Err(StorageError::Duplicate(name)) = refused else { panic!("{refused:?}") };
        assert!(name == "specimens.id" || name == "specimens_pkey", "{name}");
        drop(connection);
        let mut connection = db.begin().await.expect("begins");
        let refused = connection.query("INSERT INTO specimens (id) VALUES ($1)").bind(None::<String>).execute().await;
        assert!(matches!(refused, Err(StorageError::Driver(_))), "{refused:?}");
    }

    async fn a_full_disk_is_distinguished_from_other_errors(db: &TestDatabase) {
        drop(with_specimens(db).await);
        let mut connection = db.begin().await.expect("begins");
        // The test raises PostgreSQL's error with a statement, because it cannot fill PostgreSQL's disk.
        let (limit, full) = (
            Sql { sqlite: "PRAGMA max_page_count = 1", postgres: "SELECT 1" },
            Sql {
                sqlite: "INSERT INTO specimens (id, json) VALUES ('cs_1', json_quote(hex(zeroblob(1000000))))",
                postgres: "DO $$ BEGIN RAISE EXCEPTION 'could not extend file' USING ERRCODE = 'disk_full'; END $$",
            },
        );
        connection.query_per_dialect(limit).all().await.expect("limits");
        let refused = connection.query_per_dialect(full).execute().await;
        assert!(matches!(refused, Err(StorageError::NoSpace(_))), "{refused:?}");
    }

    async fn a_dropped_connection_rolls_back(db: &TestDatabase) {
        let mut connection = with_specimens(db).await;
        connection.query(INSERT_AMOUNT).bind("cs_1").bind(Amount::ZERO).execute().await.expect("inserts");
        drop(connection);
        let mut reading = db.read().await.expect("reads");
        assert!(reading.query("SELECT id FROM specimens").optional().await.expect("reads").is_none());
    }

    async fn stored_text_that_is_not_an_id_is_corrupt_and_names_its_column(db: &TestDatabase) {
        let mut connection = with_specimens(db).await;
        connection.query(INSERT_AMOUNT).bind("plink_1").bind(Amount::ZERO).execute().await.expect("inserts");
        let row = connection.query("SELECT id FROM specimens").one().await.expect("reads");
        let Err(error) = row.get::<SessionId>("id") else { panic!("an id of another kind was read") };
        assert_eq!(error.to_string(), r#"stored specimens.id is not valid: Text("plink_1")"#);
        assert!(row.get::<u32>("id").is_err());
    }

    async fn an_integer_that_no_column_can_hold_fails_when_the_query_runs(db: &TestDatabase) {
        let mut connection = with_specimens(db).await;
        let refused = connection.query("UPDATE specimens SET number = $1").bind(u64::MAX).execute().await;
        assert!(matches!(refused, Err(StorageError::Driver(_))), "{refused:?}");
    }

    async fn only_a_relaxed_commit_does_not_wait_for_the_disk(db: &TestDatabase) {
        // The PostgreSQL server of the tests may be configured not to wait at all.
        let server = waits(&mut db.read().await.expect("reads"), WAITS).await;
        let durable = if db.address().starts_with("sqlite") { 2 } else { server };
        for _ in 0..2 {
            let mut connection = db.begin_relaxed().await.expect("begins");
            assert_eq!(waits(&mut connection, WAITS).await, 1);
            connection.commit().await.expect("commits");
            let mut connection = db.begin().await.expect("begins");
            assert_eq!(waits(&mut connection, WAITS).await, durable);
        }
    }

    async fn a_unit_of_work_dropped_while_it_begins_does_not_affect_later_ones(db: &TestDatabase) {
        let mut connection = with_specimens(db).await;
        let durable = waits(&mut connection, WAITS).await;
        connection.commit().await.expect("commits");
        // Enough connections that the one of the dropped unit of work is among them.
        let at_once = if db.address().starts_with("sqlite") { 1 } else { 3 };
        // The number of polls until the server's response varies by one or two.
        for polls in (0..5).cycle().take(40) {
            for only_reads in [true, false] {
                // A fresh pool, so that no other connection is being returned and the same number of polls gets equally far.
                let fresh = Database::open(db.address()).await.expect("opens");
                match only_reads {
                    true => give_up_after(polls, fresh.snapshot()).await,
                    false => give_up_after(polls, fresh.begin_relaxed()).await,
                }
                let mut connections = Vec::new();
                for _ in 0..at_once {
                    connections.push(fresh.begin().await.expect("begins"));
                }
                for (number, connection) in connections.iter_mut().enumerate() {
                    assert_eq!(waits(connection, WAITS).await, durable);
                    connection.query(INSERT_AMOUNT).bind(format!("cs_{number}")).bind(Amount::ZERO).execute().await.expect("may write");
                }
                drop(connections);
                fresh.close().await;
            }
        }
    }

    async fn statements_have_time_limits_except_in_snapshots(db: &TestDatabase) {
        if db.address().starts_with("sqlite") {
            return;
        }
        let limits = async |connection: &mut Connection| {
            let row = connection.query("SELECT current_setting('statement_timeout') AS a, current_setting('lock_timeout') AS b").one().await;
            let row = row.expect("reads");
            (row.get::<String>("a").expect("a limit"), row.get::<String>("b").expect("a limit"))
        };
        let limited = ("30s".to_owned(), "10s".to_owned());
        // The snapshot's connection returns to the pool with the limits.
        let fresh = Database::open(db.address()).await.expect("opens");
        assert_eq!(limits(&mut fresh.snapshot().await.expect("begins")).await, ("0".to_owned(), "0".to_owned()));
        for mut connection in [fresh.begin().await, fresh.begin_relaxed().await, fresh.read().await].map(|begun| begun.expect("begins")) {
            assert_eq!(limits(&mut connection).await, limited);
        }
        fresh.close().await;
    }

    async fn a_commit_whose_connection_is_lost_is_unknown(db: &TestDatabase) {
        let mut connection = with_specimens(db).await;
        if db.address().starts_with("sqlite") {
            return;
        }
        for definition in DOZES_AT_COMMIT {
            connection.query(definition).execute().await.expect("defines");
        }
        connection.commit().await.expect("commits");
        let mut connection = db.begin().await.expect("begins");
        connection.query(INSERT_AMOUNT).bind("cs_1").bind(Amount::ZERO).execute().await.expect("inserts");
        let other = Database::clone(db);
        let ending = tokio::spawn(async move {
            // Whether the commit has begun to sleep is seen in the list of backends.
            let end = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = current_database() AND wait_event = 'PgSleep'";
            while other.read().await.expect("reads").query(end).all().await.expect("reads").is_empty() {
                tokio::task::yield_now().await;
            }
        });
        let outcome = connection.commit().await;
        ending.await.expect("ends the backend");
        assert!(matches!(outcome, Err(StorageError::CommitUnknown(_))), "{outcome:?}");
    }

    async fn many_writers_lose_no_update(db: &TestDatabase) {
        let mut connection = with_specimens(db).await;
        connection.query("INSERT INTO specimens (id, number) VALUES ('cs_1', 0)").execute().await.expect("inserts");
        connection.commit().await.expect("commits");
        let writers = (0..8).map(|_| {
            let db = Database::clone(db);
            tokio::spawn(async move {
                for _ in 0..10 {
                    let mut connection = db.begin().await.expect("begins");
                    connection.query("UPDATE specimens SET number = number + 1").execute().await.expect("adds");
                    connection.commit().await.expect("commits");
                }
            })
        });
        for writer in writers.collect::<Vec<_>>() {
            writer.await.expect("writes");
        }
        let row = db.read().await.expect("reads").query("SELECT number FROM specimens").one().await.expect("reads");
        assert_eq!(row.get::<u32>("number").expect("number"), 80);
    }

    async fn deferred_statements_run_in_order_before_the_next_immediate_one(db: &TestDatabase) {
        with_specimens(db).await.commit().await.expect("commits");
        let mut connection = db.begin().await.expect("begins");
        let insert = "INSERT INTO specimens (id, number) VALUES ($1, $2), ($3, $2)";
        connection.query(insert).bind("cs_1").bind(5u32).bind("cs_2").defer(Some(2)).await.expect("defers");
        let update = "UPDATE specimens SET number = number + $2 WHERE id = $1";
        connection.query(update).bind("cs_1").bind(1u32).defer(Some(1)).await.expect("defers");
        let count = "SELECT SUM(number) AS number FROM specimens WHERE number >= $1";
        assert_eq!(connection.query(count).bind(5u32).one().await.expect("reads").get::<u32>("number").expect("number"), 11);

        connection.query("DELETE FROM specimens WHERE id = $1").bind("cs_9").defer(None).await.expect("defers");
        connection.query("UPDATE specimens SET number = $2 WHERE id = $1").bind("cs_2").bind(7u32).defer(Some(1)).await.expect("defers");
        let changed = connection.query("UPDATE specimens SET number = number * $1").bind(10u32).execute().await.expect("changes");
        assert_eq!(changed, 2, "deferred statements are not counted");

        let row = |id: &str, number: u32| Values::default().bind(id).bind(number);
        let rows = vec![row("cs_3", 1), row("cs_4", 2), row("cs_5", 3)];
        connection.insert_deferred("INSERT INTO specimens (id, number)", rows, "").await.expect("defers");
        connection.commit().await.expect("commits");
        let mut connection = db.read().await.expect("reads");
        assert_eq!(connection.query(count).bind(0u32).one().await.expect("reads").get::<u32>("number").expect("number"), 136);
    }

    async fn a_unit_of_work_of_deferred_statements_is_atomic(db: &TestDatabase) {
        with_others(db).await;
        // Each unit inserts into both tables and updates a row of `others` that may have to exist.
        let unit = async |ids: [&'static str; 2], changes: &'static str, rows: Option<u64>| {
            let mut connection = db.begin().await?;
            connection.query("INSERT INTO others (id, number) VALUES ($1, 2)").bind(ids[0]).defer(Some(1)).await?;
            connection.query("INSERT INTO specimens (id, number) VALUES ($1, 1)").bind(ids[1]).defer(Some(1)).await?;
            connection.query("UPDATE others SET number = 3 WHERE id = $1").bind(changes).defer(rows).await?;
            connection.commit().await
        };
        unit(["cs_1", "cs_1"], "cs_1", Some(1)).await.expect("commits");
        assert_eq!(counts(db).await, (1, 1));
        assert!(matches!(unit(["cs_2", "cs_2"], "cs_9", Some(1)).await, Err(StorageError::Conflict)));
        assert!(matches!(unit(["cs_2", "cs_1"], "cs_2", Some(1)).await, Err(StorageError::Duplicate(_))));
        assert_eq!(counts(db).await, (1, 1));

        // The next unit is not affected. It accepts any number of changed rows.
        unit(["cs_2", "cs_2"], "cs_9", None).await.expect("commits");
        assert_eq!(counts(db).await, (2, 2));
        db.begin().await.expect("begins").commit().await.expect("commits nothing");
    }

    async fn a_deferred_statement_sees_the_writes_of_earlier_ones(db: &TestDatabase) {
        with_others(db).await;
        let mut connection = db.begin().await.expect("begins");
        connection.query("INSERT INTO specimens (id, number) VALUES ($1, 5)").bind("cs_1").defer(Some(1)).await.expect("defers");
        connection.query("INSERT INTO others (id, number) SELECT id, number FROM specimens").defer(Some(1)).await.expect("defers");
        connection.query("UPDATE others SET number = number + $1").bind(1u32).defer(Some(1)).await.expect("defers");
        connection.commit().await.expect("commits");
        let row = db.read().await.expect("reads").query("SELECT number FROM others").one().await.expect("reads");
        assert_eq!(row.get::<u32>("number").expect("number"), 6);
    }

    async fn a_failed_deferred_statement_rolls_back_its_unit_of_work(db: &TestDatabase) {
        let mut connection = with_specimens(db).await;
        connection.query("INSERT INTO specimens (id, number) VALUES ('cs_1', 1)").execute().await.expect("inserts");
        connection.commit().await.expect("commits");
        // The deferred statement is the first one, or follows one that ran at once.
        for runs_first in [false, true] {
            // The error is returned by the statement itself or by the next call.
            for next_is_commit in [true, false] {
                let mut connection = db.begin().await.expect("begins");
                if runs_first {
                    connection.query("UPDATE specimens SET number = 2").execute().await.expect("changes");
                }
                let deferred = connection.query("UPDATE specimens SET number = 3 WHERE id = $1").bind("cs_9").defer(Some(1)).await;
                let outcome = match (deferred, next_is_commit) {
                    (Err(error), _) => Err(error),
                    (Ok(()), true) => connection.commit().await,
                    (Ok(()), false) => connection.query("UPDATE specimens SET number = 4").execute().await.map(drop),
                };
                assert!(matches!(outcome, Err(StorageError::Conflict)));
            }
        }
        let mut connection = db.begin().await.expect("begins");
        connection.query("UPDATE specimens SET number = 2").execute().await.expect("changes");
        let outcome = match connection.query("INSERT INTO specimens (id, number) VALUES ('cs_1', 1)").defer(None).await {
            Ok(()) => connection.commit().await,
            error => error,
        };
        assert!(matches!(outcome, Err(StorageError::Duplicate(_))));
        let row = db.read().await.expect("reads").query("SELECT number FROM specimens").one().await.expect("reads");
        assert_eq!(row.get::<u32>("number").expect("number"), 1);
    }

    async fn a_unit_of_work_that_failed_can_only_be_rolled_back(db: &TestDatabase) {
        with_specimens(db).await.commit().await.expect("commits");
        let mut connection = db.begin().await.expect("begins");
        connection.query("INSERT INTO specimens (id, number) VALUES ('cs_1', 1)").execute().await.expect("writes");
        let failed = connection.query("UPDATE specimens SET number = 3 WHERE id = $1").bind("cs_9").defer(Some(1)).await;
        assert!(matches!(failed, Err(StorageError::Conflict)));
        assert!(matches!(connection.query("UPDATE specimens SET number = 4").execute().await, Err(StorageError::Conflict)));
        let next = connection.query("INSERT INTO specimens (id, number) VALUES ('cs_2', 2)").defer(Some(1)).await;
        assert!(matches!(next, Err(StorageError::Conflict)));
        assert!(matches!(connection.commit().await, Err(StorageError::Conflict)));
        let rows = db.read().await.expect("reads").query("SELECT id FROM specimens").all().await.expect("reads");
        assert!(rows.is_empty());
    }
}

/// SQLite only: PostgreSQL defers nothing, and a commit whose future is dropped there may roll back.
#[tokio::test]
async fn a_group_commit_on_sqlite_completes_after_its_caller_is_dropped() {
    let db = TestDatabase::sqlite().await;
    with_others(&db).await;
    let mut connection = db.begin().await.expect("begins");
    connection.query("INSERT INTO specimens (id, number) VALUES ($1, 1)").bind("cs_1").defer(Some(1)).await.expect("defers");
    connection.query("INSERT INTO others (id, number) VALUES ($1, 1)").bind("cs_1").defer(Some(1)).await.expect("defers");
    give_up_after(1, connection.commit()).await;
    let committed = async {
        while counts(&db).await != (1, 1) {
            tokio::task::yield_now().await;
        }
    };
    tokio::time::timeout(Duration::from_secs(30), committed).await.expect("is committed");
}

#[tokio::test]
async fn a_read_connection_on_sqlite_rejects_writes() {
    let db = TestDatabase::sqlite().await;
    let refused = db.read().await.expect("reads").query("DELETE FROM outbox").execute().await;
    assert!(matches!(refused, Err(StorageError::Driver(_))), "{refused:?}");
}

#[tokio::test]
async fn an_address_of_neither_database_is_rejected_with_an_explanation() {
    let Err(error) = Database::open("mysql://localhost/souk").await else { panic!("opened") };
    assert_eq!(error.to_string(), "storage failed: expected an address that begins with sqlite:// or postgres://");
}

/// PostgreSQL only: SQLite has one writer, so transactions cannot deadlock there.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn one_of_two_deadlocked_transactions_fails_with_a_conflict() {
    let db = TestDatabase::postgres().await;
    let mut connection = with_specimens(&db).await;
    connection.query("INSERT INTO specimens (id, number) VALUES ('cs_1', 0), ('cs_2', 0)").execute().await.expect("inserts");
    connection.commit().await.expect("commits");
    let barrier = std::sync::Arc::new(tokio::sync::Barrier::new(2));
    let both = [["cs_1", "cs_2"], ["cs_2", "cs_1"]].map(|order| {
        let (db, barrier) = (Database::clone(&db), std::sync::Arc::clone(&barrier));
        tokio::spawn(async move {
            let mut connection = db.begin().await.expect("begins");
            let add = "UPDATE specimens SET number = number + 1 WHERE id = $1";
            connection.query(add).bind(order[0]).execute().await.expect("adds");
            barrier.wait().await;
            match connection.query(add).bind(order[1]).execute().await {
                Ok(_) => connection.commit().await.map(|()| true),
                Err(StorageError::Conflict) => Ok(false),
                Err(error) => Err(error),
            }
        })
    });
    let mut through = 0;
    for one in both {
        through += u32::from(one.await.expect("ends").expect("commits, or is told"));
    }
    assert_eq!(through, 1);
}
