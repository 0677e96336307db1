//! Finds the attempts on hold.

use super::listing::{self, Listing};
use super::{Connection, Sql};
use souk_domain::payment::HoldClass;
use souk_domain::shared::{AttemptId, Listed, Mode, Page, StorageError};

/// The condition of [`souk_domain::payment::Attempt::is_on_hold`], which is also that of the index on these attempts.
macro_rules! on_hold {
    () => {
        "status = 'unknown' AND moved_amount IS NOT NULL"
    };
}

/// The opposite condition for open attempts: only one on hold has moved an amount.
macro_rules! not_on_hold {
    () => {
        "moved_amount IS NULL"
    };
}
pub(super) use {not_on_hold, on_hold};

const fn both(text: &'static str) -> Sql {
    Sql { sqlite: text, postgres: text }
}

/// Counts payments on hold (`$2` is true) or all other transfers on hold.
pub(super) const COUNT: &str = concat!(
    "SELECT count(*) AS n FROM (SELECT 1 AS found FROM attempts WHERE ",
    on_hold!(),
    " AND (purpose = 'payment') = $2 LIMIT $1) AS counted"
);

/// Lists the attempts on hold that meet a condition, in the descending order of a column.
macro_rules! on_hold_listing {
    ($purpose:literal, $column:literal) => {
        Listing {
            count: both(concat!(
                "SELECT count(*) AS n FROM (SELECT 1 AS found FROM attempts WHERE ",
                on_hold!(),
                $purpose,
                " AND EXISTS (SELECT 1 FROM payment_methods m WHERE m.id = method_id AND m.livemode = $4) LIMIT $2) AS counted"
            )),
            page: both(concat!(
                "SELECT id FROM attempts WHERE ",
                on_hold!(),
                $purpose,
                " AND EXISTS (SELECT 1 FROM payment_methods m WHERE m.id = method_id AND m.livemode = $4) AND ",
                $column,
                " < $1 ORDER BY ",
                $column,
                " DESC LIMIT $2 OFFSET $3"
            )),
            is_exact: false,
        }
    };
}

/// In the order of the intents that were to be paid.
pub(super) const PAYMENTS: Listing = on_hold_listing!(" AND purpose = 'payment'", "subject");
pub(super) const TRANSFERS: Listing = on_hold_listing!(" AND purpose <> 'payment'", "id");

/// The number of attempts on hold in all modes, at most `limit`.
pub(super) async fn count(connection: &mut Connection, class: HoldClass, limit: u32) -> Result<u32, StorageError> {
    connection.query(COUNT).bind(limit).bind(class == HoldClass::Payments).one().await?.get("n")
}

pub(super) async fn list(
    connection: &mut Connection,
    class: HoldClass,
    mode: Mode,
    page: &Page,
) -> Result<Listed<AttemptId>, StorageError> {
    let listing = match class {
        HoldClass::Payments => &PAYMENTS,
        HoldClass::Transfers => &TRANSFERS,
    };
    listing::list(connection, listing, page, |query| query.bind(mode), |row| row.get("id")).await
}
