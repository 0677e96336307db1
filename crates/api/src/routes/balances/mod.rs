//! Customer balances by currency, their transactions, and payouts.

mod api;
mod model;

pub use api::BalancesApi;
pub use model::BalanceTransactionModel;
