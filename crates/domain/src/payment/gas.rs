//! Gas: what a network charges for a transaction. A store that has staked for gas is exempt, and its payers with it.

use super::{Decline, INSUFFICIENT_GAS};
use crate::access::Did;
use crate::shared::Amount;

/// The gas prices of a network, and what this store holds there. Amounts are in the network's own token.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GasState {
    /// This store's account at the network.
    pub account: Did,
    /// The address of the network's own token.
    pub token: String,
    pub symbol: String,
    pub decimals: u32,
    /// The approximate gas of one transaction; zero: the network charges nothing.
    pub cost: Amount,
    /// The least stake that exempts an account from gas.
    pub min_stake: Amount,
    /// What this store has staked for gas.
    pub staked: Amount,
    /// The funds of this store's account.
    pub balance: Amount,
}

/// What a store has to do about gas.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum GasStatus {
    /// The network charges nothing.
    Free,
    /// This store has staked enough: neither it nor its payers are charged.
    Staked,
    /// The account has the funds for the stake.
    ReadyToStake,
    /// The account lacks funds for the stake.
    LacksFunds,
}

impl GasStatus {
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Free => "free",
            Self::Staked => "staked",
            Self::ReadyToStake => "ready_to_stake",
            Self::LacksFunds => "lacks_funds",
        }
    }
}

impl GasState {
    #[must_use]
    pub fn status(&self) -> GasStatus {
        if self.cost.is_zero() {
            GasStatus::Free
        } else if self.staked >= self.least_stake() {
            GasStatus::Staked
        } else if self.balance >= self.least_stake() {
            GasStatus::ReadyToStake
        } else {
            GasStatus::LacksFunds
        }
    }

    /// The least amount that can be staked. A network without a minimum exempts a stake of any amount, but not an account without one.
    #[must_use]
    pub fn least_stake(&self) -> Amount {
        self.min_stake.max(Amount::new(1))
    }

    /// The amount that the account lacks for the stake.
    #[must_use]
    pub fn missing(&self) -> Amount {
        match self.status() {
            GasStatus::LacksFunds => self.least_stake().minus(self.balance).unwrap_or_default(),
            GasStatus::Free | GasStatus::Staked | GasStatus::ReadyToStake => Amount::ZERO,
        }
    }

    /// The state after a transaction that takes `amount` of the network's own token from this store's account. `None`: the store cannot
    /// pay its gas.
    #[must_use]
    pub fn after(&self, amount: Amount) -> Option<Self> {
        match self.status() {
            // The funds are checked by the network: what a stake covers depends on them alone.
            GasStatus::Free | GasStatus::Staked => Some(self.clone()),
            GasStatus::ReadyToStake | GasStatus::LacksFunds => {
                let balance = self.balance.minus(amount.plus(self.cost).ok()?).ok()?;
                Some(Self { balance, ..self.clone() })
            }
        }
    }
}

impl Decline {
    /// Whether the sender of a transaction could not pay its gas. The same transaction succeeds once this store has staked for gas.
    #[must_use]
    pub fn is_for_gas(&self) -> bool {
        self.code == INSUFFICIENT_GAS
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn state(cost: u128, staked: u128, balance: u128) -> GasState {
        GasState {
            account: Did::from_verified("z1".to_owned()),
            token: "z35n".to_owned(),
            symbol: "TKN".to_owned(),
            decimals: 18,
            cost: Amount::new(cost),
            min_stake: Amount::new(if cost == 0 { 0 } else { 32 }),
            staked: Amount::new(staked),
            balance: Amount::new(balance),
        }
    }

    #[test]
    fn the_status_says_what_the_store_has_to_do() {
        for (cost, staked, balance, status, missing) in [
            (0, 0, 0, GasStatus::Free, 0),
            (1, 32, 0, GasStatus::Staked, 0),
            (1, 31, 32, GasStatus::ReadyToStake, 0),
            (1, 0, 31, GasStatus::LacksFunds, 1),
            (1, 0, 0, GasStatus::LacksFunds, 32),
        ] {
            let state = state(cost, staked, balance);
            assert_eq!((state.status(), state.missing()), (status, Amount::new(missing)));
        }
    }

    #[test]
    fn without_a_stake_the_account_pays_the_gas_beside_the_amount() {
        let after = |state: GasState, amount| state.after(Amount::new(amount)).map(|rest| rest.balance.base_units());
        assert_eq!(after(state(0, 0, 0), 5), Some(0));
        assert_eq!(after(state(2, 32, 0), 5), Some(0));
        assert_eq!(after(state(2, 0, 7), 5), Some(0));
        assert_eq!(after(state(2, 0, 16), 5), Some(9), "the rest pays for the next transaction");
        assert_eq!(after(state(2, 0, 6), 5), None);
        assert_eq!(after(state(2, 0, 1), 0), None);
    }

    #[test]
    fn a_network_without_a_minimum_still_requires_a_stake() {
        let without_minimum = |staked, balance| GasState { min_stake: Amount::ZERO, ..state(1, staked, balance) };
        assert_eq!(without_minimum(0, 0).status(), GasStatus::LacksFunds);
        assert_eq!(without_minimum(0, 1).status(), GasStatus::ReadyToStake);
        assert_eq!(without_minimum(1, 0).status(), GasStatus::Staked);
    }
}
