//! Finds the payments on hold.

use super::listing::{self, Listing};
use super::{Connection, Sql};
use souk_domain::payment::AMOUNT_DIFFERS;
use souk_domain::shared::{AttemptId, Listed, Mode, Page, StorageError};

/// The condition of [`souk_domain::payment::Attempt::is_on_hold`]. It repeats that of the index on open attempts, because SQLite uses a
/// partial index only then; so it reads no attempt that has ended.
macro_rules! on_hold {
    ($code:literal) => {
        concat!("a.status IN ('open', 'unknown') AND a.status = 'unknown' AND a.purpose = 'payment' AND a.last_error ->> 'code' = ", $code)
    };
}

/// The opposite condition, for searches that read attempts only.
macro_rules! not_on_hold {
    () => {
        "(status <> 'unknown' OR purpose <> 'payment' OR last_error ->> 'code' IS DISTINCT FROM 'amount_differs')"
    };
}
pub(super) use not_on_hold;

macro_rules! on_hold_in_mode {
    () => {
        concat!(on_hold!("$5"), " AND EXISTS (SELECT 1 FROM payment_methods m WHERE m.id = a.method_id AND m.livemode = $4)")
    };
}

const fn both(text: &'static str) -> Sql {
    Sql { sqlite: text, postgres: text }
}

pub(super) const COUNT: &str =
    concat!("SELECT count(*) AS n FROM (SELECT 1 AS found FROM attempts a WHERE ", on_hold!("$1"), " LIMIT $2) AS counted");
/// In the order of the intents that were to be paid, which the index on open attempts has.
pub(super) const ON_HOLD: Listing = Listing {
    count: both(concat!(
        "SELECT count(*) AS n FROM (SELECT 1 AS found FROM attempts a WHERE ",
        on_hold_in_mode!(),
        " LIMIT $2) AS counted"
    )),
    page: both(concat!(
        "SELECT a.id FROM attempts a WHERE ",
        on_hold_in_mode!(),
        " AND a.subject < $1 ORDER BY a.subject DESC LIMIT $2 OFFSET $3"
    )),
    is_exact: false,
};

/// The number of payments on hold in all modes, at most `limit`.
pub(super) async fn count(connection: &mut Connection, limit: u32) -> Result<u32, StorageError> {
    connection.query(COUNT).bind(AMOUNT_DIFFERS).bind(limit).one().await?.get("n")
}

pub(super) async fn list(connection: &mut Connection, mode: Mode, page: &Page) -> Result<Listed<AttemptId>, StorageError> {
    listing::list(connection, &ON_HOLD, page, |query| query.bind(mode).bind(AMOUNT_DIFFERS), |row| row.get("id")).await
}
