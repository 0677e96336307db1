//! A small ledger that speaks ArcBlock's wire, as an outside system: the rail is its client, not its neighbour.
//!
//! It keeps one token and knows transfers, delegations and stakes (chains.md 3.1 to 3.8). Gas costs nothing. What it refuses, a chain
//! refuses too. An account may live in a time of its own, that of a customer's test clock.

mod answers;
mod books;
mod deeds;
mod delegations;
mod faults;
mod http;
mod pages;
mod query;
mod rules;
mod stakes;
mod times;

pub use http::routes;

use super::store::{SandboxDb, SandboxDbError};
use crate::identity::token_address;
use faults::Faults;
use souk_domain::access::Did;
use souk_domain::shared::Clock;
use std::sync::Arc;

/// What transactions must name as their chain.
pub const CHAIN_ID: &str = "souk-sandbox";
pub const TOKEN_NAME: &str = "Souk Test Token";
pub const TOKEN_SYMBOL: &str = "SKT";
pub const TOKEN_DECIMALS: u32 = 18;
/// What the faucet gives each time: 1,000 tokens, in base units.
pub const FAUCET_AMOUNT: u128 = 1_000_000_000_000_000_000_000;
/// How often the faucet gives to one address within an hour.
pub const FAUCET_LIMIT: i64 = 10;

/// The address of the ledger's token, the same in every store.
#[must_use]
pub fn token() -> Did {
    token_address(format!("{CHAIN_ID}:{TOKEN_SYMBOL}").as_bytes())
}

/// The ledger.
pub struct Ledger {
    db: SandboxDb,
    clock: Arc<dyn Clock>,
    token: String,
    /// Only tests lose answers on demand.
    faults: Option<Faults>,
}

impl Ledger {
    /// Opens the ledger's books and gives the account `app` existence, so that it can be paid and named.
    /// With `faults`, whoever reaches its routes may also make it misbehave: for tests only.
    pub async fn open(db: SandboxDb, clock: Arc<dyn Clock>, app: &Did, faults: bool) -> Result<Self, SandboxDbError> {
        db.create_tables(books::TABLES).await?;
        let ledger = Self { db, clock, token: token().to_string(), faults: faults.then(Faults::default) };
        ledger.create_account(app.as_str()).await?;
        Ok(ledger)
    }
}
