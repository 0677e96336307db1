//! A small ledger that speaks ArcBlock's wire, as an outside system: the rail is its client, not its neighbour.
//!
//! It keeps one token and knows transfers, delegations and stakes (chains.md 3.1 to 3.8). Gas costs nothing. What it refuses, a chain
//! refuses too. An account may live in a time of its own, that of a customer's test clock.

mod answers;
mod delegations;
mod faults;
mod http;
mod operations;
mod pages;
mod query;
mod rules;
mod stakes;
mod state;
mod times;

pub use http::routes;

use crate::did::Address;
use crate::store::{SandboxDb, SandboxDbError};
use crate::time::Clock;
use faults::Faults;

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
pub fn token() -> String {
    Address::of_token(&format!("{CHAIN_ID}:{TOKEN_SYMBOL}")).as_str().to_owned()
}

/// The ledger.
pub struct Ledger {
    db: SandboxDb,
    clock: Clock,
    token: String,
    /// Only tests lose answers on demand.
    faults: Option<Faults>,
}

impl Ledger {
    /// Opens the ledger and creates the account `app`, so that it can be paid and named.
    /// With `faults`, whoever reaches its routes may also make it misbehave: for tests only.
    pub async fn open(db: SandboxDb, clock: Clock, app: &str, faults: bool) -> Result<Self, SandboxDbError> {
        db.create_tables(state::TABLES).await?;
        let ledger = Self { db, clock, token: token(), faults: faults.then(Faults::default) };
        ledger.create_account(app).await?;
        Ok(ledger)
    }
}
