//! Builds statements for both databases from shared text, and reads lists page by page.

use super::{Connection, Query, Row, Sql};
use souk_domain::shared::{Listed, Mode, Page, StorageError};

/// Builds both texts of one statement from shared text and from pieces that differ by database. `id (among "$2")` is true if the
/// JSON array contains the text; PostgreSQL searches it by index, however old its statistics are. `(has_all "metadata" "$2")` is true if
/// the first JSON object has all entries of the second. `(newest "table")` is true for the 100,000 newest rows of the mode `$4`: words are
/// compared with them only, so that a search takes the same time however many rows the store has. `(either "a" "b")` is the first text on SQLite and the second on PostgreSQL.
macro_rules! sql_per_dialect {
    ($($piece:tt)+) => {
        $crate::persistence::Sql {
            sqlite: concat!($($crate::persistence::listing::sql_piece!(sqlite $piece)),+),
            postgres: concat!($($crate::persistence::listing::sql_piece!(postgres $piece)),+),
        }
    };
}

macro_rules! sql_piece {
    ($engine:ident $text:literal) => {
        $text
    };
    (sqlite (among $list:literal)) => {
        concat!("IN (SELECT value FROM json_each(", $list, "))")
    };
    (postgres (among $list:literal)) => {
        concat!("= ANY (ARRAY(SELECT jsonb_array_elements_text(", $list, ")))")
    };
    (sqlite (has_all $object:literal $wanted:literal)) => {
        concat!(
            "NOT EXISTS (SELECT 1 FROM json_each(",
            $wanted,
            ") wanted WHERE NOT EXISTS (SELECT 1 FROM json_each(",
            $object,
            ") had WHERE had.key = wanted.key AND had.value = wanted.value))"
        )
    };
    (postgres (has_all $object:literal $wanted:literal)) => {
        concat!($object, " @> ", $wanted)
    };
    ($engine:ident (newest $table:literal)) => {
        concat!(
            "id >= COALESCE((SELECT bound.id FROM ",
            $table,
            " AS bound WHERE bound.livemode = $4 ORDER BY bound.id DESC LIMIT 1 OFFSET 99999), '')"
        )
    };
    (sqlite (either $sqlite:literal $postgres:literal)) => {
        $sqlite
    };
    (postgres (either $sqlite:literal $postgres:literal)) => {
        $postgres
    };
}

/// Builds the two statements of a list, newest first: the count and the page. `$1`, `$2` and `$3` belong to the page; the filter's
/// values begin at `$4`.
macro_rules! listing {
    ($table:literal, $($filter:tt)+) => {
        $crate::persistence::listing::Listing {
            count: $crate::persistence::listing::sql_per_dialect!(
                "SELECT count(*) AS n FROM (SELECT 1 AS found FROM " $table " WHERE " $($filter)+ " LIMIT $2) AS counted"
            ),
            is_exact: false,
            page: $crate::persistence::listing::sql_per_dialect!(
                "SELECT * FROM " $table " WHERE " $($filter)+ " AND id < $1 ORDER BY id DESC LIMIT $2 OFFSET $3"
            ),
        }
    };
}

pub(super) use {listing, sql_per_dialect, sql_piece};

/// The statements that count the rows of a list and read one page of it.
pub(super) struct Listing {
    pub count: Sql,
    pub page: Sql,
    /// Whether all rows are counted, however many they are.
    pub is_exact: bool,
}

impl Listing {
    /// The list of one customer or of one object, whose rows are all counted.
    pub const fn exact(self) -> Self {
        Self { is_exact: true, ..self }
    }
}

/// The highest count of a list of the whole store, so that a page of it takes the same time however many rows the store has.
pub(super) const COUNT_MAX: u32 = 10_000;

/// Sorts after every id: ids are letters, digits and `_`.
const AFTER_EVERY_ID: &str = "~";

/// Reads one page of a list and counts its rows: all rows of an exact list, and at most [`COUNT_MAX`] of any other. `filter` binds the filter's values, from `$4` on.
pub(super) async fn list<T>(
    connection: &mut Connection,
    listing: &Listing,
    page: &Page,
    filter: impl for<'q> Fn(Query<'q>) -> Query<'q> + Send + Sync,
    read: fn(&Row) -> Result<T, StorageError>,
) -> Result<Listed<T>, StorageError> {
    let (before, offset) = match &page.starting_after {
        Some(id) => (id.as_str(), 0),
        None => (AFTER_EVERY_ID, page.offset()),
    };
    let count_max = if listing.is_exact { u32::MAX } else { COUNT_MAX };
    let count = filter(connection.query_per_dialect(listing.count).bind(before).bind(count_max).bind(offset)).one().await?.get("n")?;
    let rows = filter(connection.query_per_dialect(listing.page).bind(before).bind(page.size).bind(offset)).all().await?;
    Ok(Listed { count, list: rows.iter().map(read).collect::<Result<_, _>>()? })
}

/// Adds the row with the searched id, which may be older than the rows that words are compared with. `select` finds it by id (`$1`) and mode
/// (`$2`).
pub(super) async fn or_by_id<T>(
    connection: &mut Connection,
    listed: Listed<T>,
    select: &'static str,
    id: &str,
    mode: Mode,
    read: fn(&Row) -> Result<T, StorageError>,
) -> Result<Listed<T>, StorageError> {
    if listed.count > 0 || id.is_empty() {
        return Ok(listed);
    }
    let found = connection.query(select).bind(id).bind(mode).optional().await?;
    let list: Vec<T> = found.as_ref().map(read).transpose()?.into_iter().collect();
    Ok(Listed { count: list.len() as u64, list })
}
