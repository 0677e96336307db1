//! A small ledger that speaks ArcBlock's wire format. It stands in for an external system, and the arcblock rail is its client.
//!
//! It has one token and supports transfers, delegations, stakes and gas (chains.md 3.1 to 3.8). It plays either generation of the chain's
//! software; gas is free unless a price is configured. Everything it rejects, a real chain rejects as well. An account can have its own
//! time, that of a customer's test clock.

mod answers;
mod chain;
mod delegations;
mod faults;
mod gas;
mod http;
mod operations;
mod pages;
mod query;
mod retention;
mod rules;
mod schema;
mod stakes;
mod state;
mod times;

pub use chain::{ChainConfig, Generation, MAX_GAS_STAKE, MIN_GAS_STAKE};
pub use http::routes;
pub use retention::Retention;

use crate::did::Address;
use crate::store::{SandboxDb, SandboxDbError};
use crate::time::Clock;
use faults::Faults;
use schema::Schema;
use std::sync::{PoisonError, RwLock};

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

/// How the ledger behaves.
#[derive(Debug, Clone, Copy, Default)]
pub struct LedgerConfig {
    pub chain: ChainConfig,
    /// Opens the test endpoints, such as fault injection, to everyone; for tests only.
    pub faults: bool,
}

/// A ledger with one token.
pub struct Ledger {
    db: SandboxDb,
    clock: Clock,
    token: String,
    /// The account of the store.
    app: String,
    schema: Schema,
    /// Tests can change it while the ledger runs.
    chain: RwLock<ChainConfig>,
    /// Present only in tests.
    faults: Option<Faults>,
}

/// Creates the tables of the ledger if they are missing.
pub async fn create_tables(db: &SandboxDb) -> Result<(), SandboxDbError> {
    db.create_tables(state::TABLES).await
}

impl Ledger {
    /// Opens the ledger and creates the account of the store, `app`, so that it can receive payments and be named in transactions.
    pub async fn open(db: SandboxDb, clock: Clock, app: &str, config: LedgerConfig) -> Result<Self, SandboxDbError> {
        create_tables(&db).await?;
        let schema = Schema::parse().map_err(|error| SandboxDbError::Schema(error.to_string()))?;
        let ledger = Self {
            db,
            clock,
            token: token(),
            app: app.to_owned(),
            schema,
            chain: RwLock::new(config.chain),
            faults: config.faults.then(Faults::default),
        };
        ledger.create_account(app).await?;
        Ok(ledger)
    }

    /// The network that the ledger plays now.
    fn chain(&self) -> ChainConfig {
        *self.chain.read().unwrap_or_else(PoisonError::into_inner)
    }

    fn set_chain(&self, chain: ChainConfig) {
        *self.chain.write().unwrap_or_else(PoisonError::into_inner) = chain;
    }
}
