//! What customers have with the store: balances by currency, their changes, and pay-outs.

mod api;
mod model;

pub use api::BalancesApi;
pub use model::BalanceTransactionModel;
