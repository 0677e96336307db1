//! Prices, and the stock that checkouts reserve.

use super::columns::{containing, keys, read_json, searchable, to_json};
use super::listing::{COUNT_MAX, sql_per_dialect};
use super::products;
use super::{Connection, Row, Sql, Values};
use async_trait::async_trait;
use souk_domain::pricing::{CatalogueFilter, CatalogueItem, Price, PriceShare, Prices, StockReservation};
use souk_domain::shared::{CurrencyId, Listed, Mode, Page, PriceId, ProductId, SessionId, StorageError, Timestamp};
use std::collections::BTreeMap;

pub struct SqlPrices<'a>(pub &'a mut Connection);

const INSERT: &str =
    "INSERT INTO prices (id, livemode, product_id, active, nickname, lookup_key, currency_id, unit_amount, currency_options,
    recurring, tiers_mode, tiers, custom, upsells_to,
    quantity_available, quantity_sold, quantity_limit_per_checkout, metadata, search_text, created_at, updated_at, locked, replaced_by,
    stock_of)
    VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, $18, $19, $20, $21, $22, $23, $24)";

const UPDATE: &str = "UPDATE prices SET active = $2, nickname = $3, lookup_key = $4, recurring = $5, upsells_to = $6,
    quantity_limit_per_checkout = $7, metadata = $8, search_text = $9, updated_at = $10, replaced_by = $11 WHERE id = $1";

// The row decides, and not what the caller has read: the currency and amounts of a locked row are only ever written unchanged.
const SET_AMOUNTS: &str = "UPDATE prices SET currency_id = $3, unit_amount = $4, currency_options = $5, tiers_mode = $6, tiers = $7,
    custom = $8, updated_at = $9
    WHERE id = $1 AND locked = $2 AND (locked = FALSE
        OR currency_id = $3 AND unit_amount = $4 AND tiers_mode IS NOT DISTINCT FROM $6 AND tiers = $7)";

// On PostgreSQL, several rows are locked in the order of their ids. The upsells are read by a second statement, which sees an upsell that
// was added while the first one waited for the row.
const LOCK: Sql = Sql {
    sqlite: "UPDATE prices SET locked = TRUE WHERE locked = FALSE AND id IN (SELECT value FROM json_each($1))",
    postgres: "UPDATE prices SET locked = TRUE WHERE id IN
        (SELECT id FROM prices WHERE locked = FALSE AND id = ANY (ARRAY(SELECT jsonb_array_elements_text($1))) ORDER BY id FOR NO KEY UPDATE)",
};
const LOCK_UPSELLS: Sql = Sql {
    sqlite: "UPDATE prices SET locked = TRUE WHERE locked = FALSE AND id IN
        (SELECT source.upsells_to FROM prices AS source WHERE source.id IN (SELECT value FROM json_each($1)))",
    postgres: "UPDATE prices SET locked = TRUE WHERE id IN (SELECT id FROM prices WHERE locked = FALSE AND id IN
        (SELECT source.upsells_to FROM prices AS source WHERE source.id = ANY (ARRAY(SELECT jsonb_array_elements_text($1))))
        ORDER BY id FOR NO KEY UPDATE)",
};

/// The columns of a price. A price that shares the stock of another one gets the quantities of that stock.
macro_rules! columns {
    () => {
        "prices.*, (SELECT stock.quantity_available FROM prices AS stock WHERE stock.id = prices.stock_of) AS shared_available,
            (SELECT stock.quantity_sold FROM prices AS stock WHERE stock.id = prices.stock_of) AS shared_sold"
    };
}

// $2 is the price's id as a JSON string, which is searched for in the items of links and sessions.
const DELETE: &str = "DELETE FROM prices WHERE id = $1 AND NOT EXISTS (SELECT 1 FROM stock_reservations WHERE price_id = $1)
    AND NOT EXISTS (SELECT 1 FROM price_shares WHERE price_id = $1)
    AND NOT EXISTS (SELECT 1 FROM products WHERE default_price_id = $1)
    AND NOT EXISTS (SELECT 1 FROM prices AS other
        WHERE (other.upsells_to = $1 OR other.replaced_by = $1 OR other.stock_of = $1) AND other.id <> $1)
    AND NOT EXISTS (SELECT 1 FROM payment_links WHERE CAST(items AS TEXT) LIKE $2 ESCAPE '\\')
    AND NOT EXISTS (SELECT 1 FROM checkout_sessions WHERE CAST(items AS TEXT) LIKE $2 ESCAPE '\\')";

// $2 is the currency's id as a JSON string, which is searched for in the options.
const HAS_LOCKED_IN: &str = "SELECT EXISTS (SELECT 1 FROM prices WHERE locked = TRUE
    AND (currency_id = $1 OR CAST(currency_options AS TEXT) LIKE $2 ESCAPE '\\')) AS found";

macro_rules! selecting {
    ($more:literal, $tail:literal) => {
        Sql {
            sqlite: concat!("SELECT ", columns!(), $more, " IN (SELECT value FROM json_each($1))", $tail),
            postgres: concat!("SELECT ", columns!(), $more, " = ANY (ARRAY(SELECT jsonb_array_elements_text($1)))", $tail),
        }
    };
}

const FIND: &str = concat!("SELECT ", columns!(), " FROM prices WHERE id = $1");
const FIND_BY_LOOKUP_KEY: &str = concat!("SELECT ", columns!(), " FROM prices WHERE livemode = $1 AND lookup_key = $2");
const FIND_WITH_PRODUCTS: Sql =
    selecting!(", products.* FROM prices JOIN products ON products.id = prices.product_id WHERE prices.id", " ORDER BY prices.id");
const FIND_ALL: Sql = selecting!(" FROM prices WHERE id", " ORDER BY id");
const OF_PRODUCTS: Sql = selecting!(" FROM prices WHERE product_id", " ORDER BY id");

/// The rows of one product are all counted, those of the whole store to a limit.
macro_rules! count {
    () => {
        "count(*) AS n FROM (SELECT 1 AS found"
    };
}

macro_rules! matching {
    ($what:ident, $tail:literal) => {
        Sql {
            sqlite: concat!(
                "SELECT ",
                $what!(),
                " FROM prices WHERE livemode = $1 AND ($2 IS NULL OR active = $2) AND search_text LIKE $3 ESCAPE '\\'
                  AND ($5 IS NULL OR product_id = $5) AND NOT EXISTS (SELECT 1 FROM json_each($4) AS wanted WHERE NOT EXISTS
                    (SELECT 1 FROM json_each(metadata) AS entry WHERE entry.key = wanted.key AND entry.value = wanted.value))",
                $tail
            ),
            postgres: concat!(
                "SELECT ",
                $what!(),
                " FROM prices WHERE livemode = $1 AND ($2 IS NULL OR active = $2) AND search_text LIKE $3 ESCAPE '\\'
                  AND ($5 IS NULL OR product_id = $5) AND metadata @> $4",
                $tail
            ),
        }
    };
}

const LIST: Sql = matching!(columns, " AND ($6 IS NULL OR id < $6) ORDER BY id DESC LIMIT $7 OFFSET $8");
const COUNT: Sql = matching!(count, " LIMIT $6) AS counted");

// Reserving and releasing both lock the reservation's row before the price's row. Two changes to one session's stock then wait for each
// other at the reservation, and neither holds a price that the other needs.
macro_rules! reserve {
    () => {
        "INSERT INTO stock_reservations (session_id, price_id, quantity, state, reserved_at) VALUES ($1, $2, $3, 'reserved', $4)
        ON CONFLICT (session_id, price_id) DO UPDATE SET state = 'reserved', reserved_at = $4,
            quantity = $3 + CASE WHEN stock_reservations.state = 'reserved' THEN stock_reservations.quantity ELSE 0 END
        WHERE stock_reservations.state <> 'committed'"
    };
}

/// The id of the price that owns the stock of the price with the given id. It never changes, so that reading it and locking its row need
/// not be one step.
macro_rules! stock_owner {
    ($id:literal) => {
        concat!("(SELECT COALESCE(sold.stock_of, sold.id) FROM prices AS sold WHERE sold.id = ", $id, ")")
    };
}
const TAKE_STOCK: &str = concat!(
    "UPDATE prices SET quantity_sold = quantity_sold + $2 WHERE id = ",
    stock_owner!("$1"),
    " AND (quantity_available = 0 OR quantity_sold + $2 <= quantity_available)"
);
// On PostgreSQL, the stock is taken by the same statement, which saves a round trip of each submit. The update reads the row that the
// insert returns: without a reservation it takes nothing, and it cannot lock the price's row before the reservation's.
const RESERVE: Sql = Sql {
    sqlite: reserve!(),
    postgres: concat!(
        "WITH reserved AS (",
        reserve!(),
        " RETURNING price_id) UPDATE prices SET quantity_sold = quantity_sold + $3 FROM reserved WHERE prices.id = ",
        stock_owner!("$2"),
        " AND (quantity_available = 0 OR quantity_sold + $3 <= quantity_available)"
    ),
};
// Returns the price that owns the stock.
const RELEASE: &str = "UPDATE stock_reservations SET state = 'released' WHERE session_id = $1 AND state = 'reserved' RETURNING quantity,
        (SELECT COALESCE(sold.stock_of, sold.id) FROM prices AS sold WHERE sold.id = stock_reservations.price_id) AS price_id";
const RETURN_STOCK: &str = concat!("UPDATE prices SET quantity_sold = quantity_sold - $2 WHERE id = ", stock_owner!("$1"));
const REDUCE_COMMITTED: &str =
    "UPDATE stock_reservations SET quantity = quantity - $3, state = CASE WHEN quantity > $3 THEN 'committed' ELSE 'released' END
    WHERE session_id = $1 AND price_id = $2 AND state = 'committed' AND quantity >= $3";
const ADD_COMMITTED: &str =
    "INSERT INTO stock_reservations (session_id, price_id, quantity, state, reserved_at) VALUES ($1, $2, $3, 'committed', $4)
    ON CONFLICT (session_id, price_id) DO UPDATE SET state = 'committed', reserved_at = $4,
        quantity = $3 + CASE WHEN stock_reservations.state = 'committed' THEN stock_reservations.quantity ELSE 0 END";
const COMMIT: &str = "UPDATE stock_reservations SET state = 'committed' WHERE session_id = $1 AND state = 'reserved'";

const INSERT_SHARES: &str = "INSERT INTO price_shares (price_id, beneficiary, position, millionths)";
const SHARES_OF: Sql = sql_per_dialect!("SELECT * FROM price_shares WHERE price_id " (among "$1") " ORDER BY price_id, position");

const SET_STOCK: &str = concat!(
    "UPDATE prices SET quantity_available = $2, updated_at = $3 WHERE id = ",
    stock_owner!("$1"),
    " AND ($2 = 0 OR quantity_sold <= $2)"
);
// Unlimited stock (0) cannot be restocked, and restocking cannot turn limited stock into unlimited stock.
const RESTOCK: &str = concat!(
    "UPDATE prices SET quantity_available = quantity_available + $2, updated_at = $3 WHERE id = ",
    stock_owner!("$1"),
    " AND quantity_available > 0 AND quantity_available + $2 > 0 AND quantity_available + $2 >= quantity_sold"
);

fn search_text(price: &Price) -> String {
    searchable(&[&price.nickname, price.lookup_key.as_deref().unwrap_or_default()])
}

fn read(row: &Row) -> Result<Price, StorageError> {
    let of_stock = |shared: &'static str, own: &'static str| match row.get::<Option<u64>>(shared)? {
        Some(quantity) => Ok(quantity),
        None => row.get(own),
    };
    Ok(Price {
        id: row.get("id")?,
        mode: Mode::from_livemode(row.get("livemode")?),
        product_id: row.get("product_id")?,
        active: row.get("active")?,
        locked: row.get("locked")?,
        replaced_by: row.get("replaced_by")?,
        nickname: row.get("nickname")?,
        lookup_key: row.get("lookup_key")?,
        currency_id: row.get("currency_id")?,
        unit_amount: row.get("unit_amount")?,
        currency_options: row.get("currency_options")?,
        recurring: row.get("recurring")?,
        tiers_mode: row.get("tiers_mode")?,
        tiers: row.get("tiers")?,
        custom: row.get("custom")?,
        upsells_to: row.get("upsells_to")?,
        stock_of: row.get("stock_of")?,
        quantity_available: of_stock("shared_available", "quantity_available")?,
        quantity_sold: of_stock("shared_sold", "quantity_sold")?,
        quantity_limit_per_checkout: row.get("quantity_limit_per_checkout")?,
        metadata: read_json(row, "prices", "metadata")?,
        created_at: row.get("created_at")?,
        updated_at: row.get("updated_at")?,
    })
}

fn read_reservation(row: &Row) -> Result<StockReservation, StorageError> {
    Ok(StockReservation { price_id: row.get("price_id")?, quantity: row.get("quantity")? })
}

#[async_trait]
impl Prices for SqlPrices<'_> {
    async fn insert(&mut self, price: &Price) -> Result<(), StorageError> {
        self.0.note(&price.id);
        let query = self.0.query(INSERT).bind(&price.id).bind(price.mode.is_live()).bind(&price.product_id).bind(price.active);
        let query = query.bind(&price.nickname).bind(price.lookup_key.as_ref()).bind(&price.currency_id).bind(price.unit_amount);
        let query = query.bind(&price.currency_options).bind(price.recurring).bind(price.tiers_mode).bind(&price.tiers);
        let query = query.bind(price.custom.as_ref()).bind(price.upsells_to.as_ref());
        // The quantities of a shared stock are those of the price that owns it.
        let (available, sold) = if price.stock_of.is_some() { (0, 0) } else { (price.quantity_available, price.quantity_sold) };
        let query = query.bind(available).bind(sold);
        let query = query.bind(price.quantity_limit_per_checkout).bind(to_json(&price.metadata)?).bind(search_text(price));
        let query = query.bind(price.created_at).bind(price.updated_at).bind(price.locked).bind(price.replaced_by.as_ref());
        query.bind(price.stock_of.as_ref()).execute().await.map(drop)
    }

    async fn update(&mut self, price: &Price) -> Result<(), StorageError> {
        let query = self.0.query(UPDATE).bind(&price.id).bind(price.active).bind(&price.nickname).bind(price.lookup_key.as_ref());
        let query = query.bind(price.recurring).bind(price.upsells_to.as_ref());
        let query = query.bind(price.quantity_limit_per_checkout).bind(to_json(&price.metadata)?).bind(search_text(price));
        query.bind(price.updated_at).bind(price.replaced_by.as_ref()).execute().await.map(drop)
    }

    async fn set_amounts(&mut self, price: &Price) -> Result<bool, StorageError> {
        let query = self.0.query(SET_AMOUNTS).bind(&price.id).bind(price.locked).bind(&price.currency_id).bind(price.unit_amount);
        let query = query.bind(&price.currency_options).bind(price.tiers_mode).bind(&price.tiers).bind(price.custom.as_ref());
        Ok(query.bind(price.updated_at).execute().await? == 1)
    }

    async fn lock(&mut self, ids: &[PriceId]) -> Result<(), StorageError> {
        self.0.query_per_dialect(LOCK).bind(keys(ids)).execute().await?;
        self.0.query_per_dialect(LOCK_UPSELLS).bind(keys(ids)).execute().await.map(drop)
    }

    async fn has_locked_in(&mut self, currency: &CurrencyId) -> Result<bool, StorageError> {
        let quoted = containing(&format!("\"{currency}\""));
        self.0.query(HAS_LOCKED_IN).bind(currency).bind(quoted).one().await?.get("found")
    }

    async fn delete(&mut self, id: &PriceId) -> Result<bool, StorageError> {
        let quoted = containing(&format!("\"{id}\""));
        Ok(self.0.query(DELETE).bind(id).bind(quoted).execute().await? > 0)
    }

    async fn find(&mut self, id: &PriceId) -> Result<Option<Price>, StorageError> {
        let row = self.0.query(FIND).bind(id).optional().await?;
        row.as_ref().map(read).transpose()
    }

    async fn find_by_lookup_key(&mut self, mode: Mode, key: &str) -> Result<Option<Price>, StorageError> {
        let query = self.0.query(FIND_BY_LOOKUP_KEY);
        query.bind(mode.is_live()).bind(key).optional().await?.as_ref().map(read).transpose()
    }

    async fn find_all(&mut self, ids: &[PriceId]) -> Result<Vec<Price>, StorageError> {
        self.0.query_per_dialect(FIND_ALL).bind(keys(ids)).all().await?.iter().map(read).collect()
    }

    async fn find_with_products(&mut self, ids: &[PriceId]) -> Result<Vec<CatalogueItem>, StorageError> {
        let rows = self.0.query_per_dialect(FIND_WITH_PRODUCTS).bind(keys(ids)).all().await?;
        let item = |(price, product)| CatalogueItem { price, product };
        rows.into_iter().map(|row| row.pair(read, products::read).map(item)).collect()
    }

    async fn of_products(&mut self, ids: &[ProductId]) -> Result<Vec<Price>, StorageError> {
        self.0.query_per_dialect(OF_PRODUCTS).bind(keys(ids)).all().await?.iter().map(read).collect()
    }

    async fn list(&mut self, mode: Mode, filter: &CatalogueFilter, page: &Page) -> Result<Listed<Price>, StorageError> {
        let (pattern, metadata) = (containing(&searchable(&[&filter.query])), to_json(&filter.metadata)?);
        let query = self.0.query_per_dialect(COUNT).bind(mode.is_live()).bind(filter.active).bind(&pattern).bind(&metadata);
        let count_max = if filter.product.is_some() { u32::MAX } else { COUNT_MAX };
        let count = query.bind(filter.product.as_ref()).bind(count_max).one().await?.get("n")?;
        let query = self.0.query_per_dialect(LIST).bind(mode.is_live()).bind(filter.active).bind(&pattern).bind(&metadata);
        let offset = if page.starting_after.is_some() { 0 } else { page.offset() };
        let query = query.bind(filter.product.as_ref()).bind(page.starting_after.as_ref()).bind(page.size).bind(offset);
        Ok(Listed { count, list: query.all().await?.iter().map(read).collect::<Result<_, _>>()? })
    }

    async fn reserve(&mut self, session: &SessionId, reservation: &StockReservation, now: Timestamp) -> Result<(), StorageError> {
        let query = self.0.query_per_dialect(RESERVE).bind(session).bind(&reservation.price_id);
        query.bind(reservation.quantity).bind(now).defer(Some(1)).await?;
        if self.0.is_sqlite() {
            self.0.query(TAKE_STOCK).bind(&reservation.price_id).bind(reservation.quantity).defer(Some(1)).await?;
        }
        Ok(())
    }

    async fn reservations(&mut self, session: &SessionId) -> Result<Vec<StockReservation>, StorageError> {
        let query = self
            .0
            .query("SELECT price_id, quantity FROM stock_reservations WHERE session_id = $1 AND state = 'reserved' ORDER BY price_id");
        query.bind(session).all().await?.iter().map(read_reservation).collect()
    }

    async fn release(&mut self, session: &SessionId) -> Result<(), StorageError> {
        let rows = self.0.query(RELEASE).bind(session).all().await?;
        let mut released = rows.iter().map(read_reservation).collect::<Result<Vec<_>, _>>()?;
        released.sort_by(|a, b| a.price_id.cmp(&b.price_id));
        for reservation in &released {
            self.0.query(RETURN_STOCK).bind(&reservation.price_id).bind(reservation.quantity).execute().await?;
        }
        Ok(())
    }

    async fn commit(&mut self, session: &SessionId) -> Result<(), StorageError> {
        self.0.query(COMMIT).bind(session).execute().await.map(drop)
    }

    async fn swap(
        &mut self,
        session: &SessionId,
        from: &StockReservation,
        to: &StockReservation,
        now: Timestamp,
    ) -> Result<bool, StorageError> {
        let reduce = self.0.query(REDUCE_COMMITTED).bind(session).bind(&from.price_id).bind(from.quantity);
        // If the session never bought the old price's stock, there is none to return.
        let had_stock = reduce.execute().await? == 1;
        self.0.query(ADD_COMMITTED).bind(session).bind(&to.price_id).bind(to.quantity).bind(now).execute().await?;
        // Lock the stocks in the order of their ids, as every checkout does, to avoid a deadlock between two opposite swaps. Within one
        // stock, what returns can be taken.
        let prices = self.find_all(&[from.price_id.clone(), to.price_id.clone()]).await?;
        let stock_of = |id: &PriceId| prices.iter().find(|price| price.id == *id).map(Price::stock_id);
        let mut fits = true;
        for step in if stock_of(&from.price_id) <= stock_of(&to.price_id) { [false, true] } else { [true, false] } {
            if step {
                fits = self.0.query(TAKE_STOCK).bind(&to.price_id).bind(to.quantity).execute().await? == 1;
            } else if had_stock {
                self.0.query(RETURN_STOCK).bind(&from.price_id).bind(from.quantity).execute().await?;
            }
        }
        Ok(fits)
    }

    async fn insert_shares(&mut self, price: &PriceId, shares: &[PriceShare]) -> Result<(), StorageError> {
        let row = |(position, share): (u32, &PriceShare)| {
            Values::default().bind(price).bind(&share.beneficiary).bind(position).bind(share.millionths)
        };
        self.0.insert(INSERT_SHARES, (0..).zip(shares).map(row).collect(), "").await.map(drop)
    }

    async fn shares_of(&mut self, prices: &[PriceId]) -> Result<BTreeMap<PriceId, Vec<PriceShare>>, StorageError> {
        let mut shares: BTreeMap<PriceId, Vec<PriceShare>> = BTreeMap::new();
        for row in self.0.query_per_dialect(SHARES_OF).bind(keys(prices)).all().await? {
            let share = PriceShare { beneficiary: row.get("beneficiary")?, millionths: row.get("millionths")? };
            shares.entry(row.get("price_id")?).or_default().push(share);
        }
        Ok(shares)
    }

    async fn set_stock(&mut self, id: &PriceId, available: u64, now: Timestamp) -> Result<bool, StorageError> {
        Ok(self.0.query(SET_STOCK).bind(id).bind(available).bind(now).execute().await? > 0)
    }

    async fn restock(&mut self, id: &PriceId, step: i64, now: Timestamp) -> Result<bool, StorageError> {
        Ok(self.0.query(RESTOCK).bind(id).bind(step).bind(now).execute().await? > 0)
    }
}
