//! A small ledger that speaks ArcBlock's wire format. It stands in for an external system, and the arcblock rail is its client.
//!
//! It has one token and supports transfers, delegations and stakes (chains.md 3.1 to 3.8). Gas is free. Everything it rejects, a real
//! chain rejects as well. An account can have its own time, that of a customer's test clock.

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

/// The chain id that transactions must name.
pub const CHAIN_ID: &str = "souk-sandbox";
pub const TOKEN_NAME: &str = "Souk Test Token";
pub const TOKEN_SYMBOL: &str = "SKT";
pub const TOKEN_DECIMALS: u32 = 18;
/// The amount of one faucet request: 1,000 tokens, in base units.
pub const FAUCET_AMOUNT: u128 = 1_000_000_000_000_000_000_000;
/// Maximum number of faucet requests per address and hour.
pub const FAUCET_LIMIT: i64 = 10;

/// The address of the ledger's token, the same in every store.
#[must_use]
pub fn token() -> String {
    Address::of_token(&format!("{CHAIN_ID}:{TOKEN_SYMBOL}")).as_str().to_owned()
}

/// A ledger with one token.
pub struct Ledger {
    db: SandboxDb,
    clock: Clock,
    token: String,
    /// Present only in tests.
    faults: Option<Faults>,
}

impl Ledger {
    /// Opens the ledger and creates the account `app`, so that it can receive payments and be named in transactions.
    /// `faults` opens the test endpoints, such as fault injection, to everyone; for tests only.
    pub async fn open(db: SandboxDb, clock: Clock, app: &str, faults: bool) -> Result<Self, SandboxDbError> {
        db.create_tables(state::TABLES).await?;
        let ledger = Self { db, clock, token: token(), faults: faults.then(Faults::default) };
        ledger.create_account(app).await?;
        Ok(ledger)
    }
}
