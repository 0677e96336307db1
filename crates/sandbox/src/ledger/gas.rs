//! Gas: what the sender of a transaction pays to the network, unless the sender or a gas payer has staked for gas (chains.md 3.4).

use super::chain::{MAX_GAS_STAKE, MIN_GAS_STAKE};
use super::operations::{Operation, StakeTerms};
use super::pages::tokens;
use super::rules::{Changes, LedgerError, ValidTransaction, parse_address};
use super::state::{Halt, balance_of};
use super::{Ledger, stakes};
use crate::did::Address;
use crate::store::{SandboxDbError, SandboxTx};

/// The gas of a transaction, in base units.
#[derive(Debug, Clone, Copy, Default)]
pub struct Gas(pub u128);

impl Ledger {
    /// Computes the gas that the sender pays: zero if gas is free or waived by a stake. `changes` are those of all accounts.
    ///
    /// As on real chains, a transaction whose gas cannot be paid is not recorded: it can be sent again.
    pub(super) async fn gas_of(
        &self,
        tx: &mut SandboxTx,
        transaction: &ValidTransaction,
        gas_payer: Option<&Address>,
        changes: &Changes,
    ) -> Result<Gas, Halt> {
        let chain = self.chain();
        let from = transaction.signed.from();
        let is_own_stake = matches!(&transaction.operation, Operation::Stake { terms, .. } if terms.receiver == from);
        if chain.gas_price == 0 || is_own_stake {
            return Ok(Gas::default());
        }
        let owner = match gas_payer {
            Some(payer) => payer.clone(),
            None => parse_address(from)?,
        };
        if has_staked(tx, &owner).await? {
            return Ok(Gas::default());
        }
        let mut created = 0;
        for address in changes.keys() {
            created += usize::from(!stakes::is_known(tx, address).await?);
        }
        // The stake or the delegation is a state too.
        let updated = changes.len() - created + usize::from(!matches!(transaction.operation, Operation::Transfer(_)));
        let gas = chain.gas(transaction.size, created, updated);
        if !stakes::is_known(tx, from).await? {
            return Err(LedgerError::new("INVALID_GAS_PAYER", format!("Gas payer {from} does not exist on chain")).into());
        }
        let (expected, actual) = (transaction.operation.debit_of(from).saturating_add(gas), balance_of(tx, from).await?);
        if actual < expected {
            let (expected, actual) = (tokens(expected), tokens(actual));
            let message = format!("Insufficient fund to pay for tx cost from {from}, expected {expected}, got {actual}");
            return Err(LedgerError::new("INSUFFICIENT_FUND", message).into());
        }
        Ok(Gas(gas))
    }

    /// Checks the amount of a stake that exempts its owner from gas.
    pub(super) fn check_gas_stake(&self, sender: &str, terms: &StakeTerms, amount: u128) -> Result<(), LedgerError> {
        if self.chain().gas_price == 0 || terms.receiver != sender || !terms.nonce.is_empty() {
            return Ok(());
        }
        let limit =
            |word: &str, limit| Err(LedgerError::new("INVALID_TX", format!("Stake for gas should be {word} than: {}", tokens(limit))));
        if amount < MIN_GAS_STAKE {
            limit("greater", MIN_GAS_STAKE)
        } else if amount > MAX_GAS_STAKE {
            limit("less", MAX_GAS_STAKE)
        } else {
            Ok(())
        }
    }
}

/// Whether the account holds a stake for gas. A revoked one counts until it is claimed.
async fn has_staked(tx: &mut SandboxTx, owner: &Address) -> Result<bool, SandboxDbError> {
    let stake = stakes::amounts(tx, Address::of_stake(owner, owner, "").as_str()).await?;
    Ok(stake.is_some_and(|stake| stake.held >= MIN_GAS_STAKE || stake.revoked >= MIN_GAS_STAKE))
}
