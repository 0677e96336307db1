//! The state of a payment method at its network.

use crate::problem::{Problem, ProblemBody};
use poem_openapi::Object;
use souk_domain::payment::{GasState, MethodCheck};

/// What the network charges for transactions, and what the store has staked so that nobody is charged. Amounts are base units of the
/// network's own token.
#[derive(Debug, Clone, Object)]
#[oai(rename = "PaymentMethodGas")]
pub struct GasModel {
    /// `free`, `staked`, `ready_to_stake`, or `lacks_funds`.
    pub status: String,
    /// The store's account at the network.
    pub account: String,
    pub symbol: String,
    pub decimal: u32,
    /// The approximate gas of one transaction.
    pub cost: String,
    /// The least stake that exempts the store and its payers from gas.
    pub min_stake: String,
    pub staked: String,
    /// The funds of the store's account.
    pub balance: String,
    /// The amount that the account lacks for the stake.
    pub missing: String,
}

impl From<&GasState> for GasModel {
    fn from(gas: &GasState) -> Self {
        Self {
            status: gas.status().name().to_owned(),
            account: gas.account.to_string(),
            symbol: gas.symbol.clone(),
            decimal: gas.decimals,
            cost: gas.cost.to_string(),
            min_stake: gas.least_stake().to_string(),
            staked: gas.staked.to_string(),
            balance: gas.balance.to_string(),
            missing: gas.missing().to_string(),
        }
    }
}

#[derive(Debug, Clone, Object)]
#[oai(rename = "PaymentMethodCheck", skip_serializing_if_is_none)]
pub struct CheckModel {
    /// Whether the network accepts the method's settings.
    pub works: bool,
    /// Why it does not.
    pub problem: Option<ProblemBody>,
    /// Absent if the network has no gas.
    pub gas: Option<GasModel>,
}

impl From<MethodCheck> for CheckModel {
    fn from(check: MethodCheck) -> Self {
        Self {
            works: check.problem.is_none(),
            gas: check.gas.as_ref().map(GasModel::from),
            problem: check.problem.map(|problem| *Problem::from(problem).body),
        }
    }
}
