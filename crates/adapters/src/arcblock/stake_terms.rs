//! Whether a chain keeps a stake under the terms that its payer signed for this store.
//!
//! The first payment into a stake fixes its terms (chains.md 3.7), and its payer can make that payment without this store, because the
//! address follows from what the wallet is asked to sign. This store could then not forfeit what is paid into the stake later. So such a
//! payment is not sent, and one that a chain has executed after that first payment counts as declined: its payer can take it back.

use super::any::Itx;
use super::messages::Transaction;
use super::rail::ArcblockRail;
use super::states::{self, StakeTerms};
use super::transaction::DecodedTransaction;
use serde_json::Value;
use souk_domain::access::Did;
use souk_domain::payment::{Decline, Outcome, STAKE_TERMS_DIFFER};
use std::time::Duration;
use url::Url;

/// For wallets; pages have their own texts.
const MESSAGE: &str = "Your wallet has already opened this deposit on other terms than the store's, so it doesn't count. Take back what it \
    holds in your wallet. Then place a new order, or try again in a day.";

/// A payment into a stake.
pub struct StakePayment {
    pub address: String,
    /// How long a payer who revokes the stake waits by the signed terms.
    waiting: Duration,
}

impl StakePayment {
    /// Reads a signed transaction. `None`: it does not pay into a stake.
    pub fn signed(bytes: &[u8]) -> Option<Self> {
        let DecodedTransaction { transaction, .. } = Transaction::decode(bytes).ok()?;
        let Some(Itx::StakeTx(stake)) = transaction.itx else { return None };
        Some(Self { address: stake.address, waiting: Duration::from_secs(u64::from(stake.revoke_waiting_period)) })
    }

    /// Reads a chain's answer about a transaction. `None`: it does not pay into a stake; no other type has slashers.
    fn executed(answer: &Value) -> Option<Self> {
        let itx = &answer["getTx"]["info"]["tx"]["itxJson"];
        let address = itx["address"].as_str().filter(|_| itx["slashers"].is_array())?;
        // An encoding may leave out zero.
        let waiting = states::seconds(&itx["revokeWaitingPeriod"]).unwrap_or_default();
        Some(Self { address: address.to_owned(), waiting })
    }

    /// The outcome of this payment, which the chain has executed. `answer` contains the state of the stake.
    pub fn outcome(&self, executed: Outcome, answer: &Value, app: &Did) -> Outcome {
        match states::stake_terms(answer, app, self.waiting) {
            StakeTerms::OfStore => executed,
            StakeTerms::Foreign => self.declined(),
            StakeTerms::Absent => Outcome::Unknown("the network does not show the stake yet".to_owned()),
        }
    }

    fn declined(&self) -> Outcome {
        tracing::warn!(stake = self.address, "a stake has other terms than the store's: payments into it do not count");
        Outcome::Declined(Decline { code: STAKE_TERMS_DIFFER.to_owned(), message: MESSAGE.to_owned() })
    }
}

impl ArcblockRail {
    /// Asks the chain before a payment into a stake is sent. `None`: it may be sent.
    pub(super) async fn refuse_stake(&self, address: &Url, payment: &StakePayment) -> Option<Outcome> {
        match self.query(address, &states::stake_query(&payment.address)).await {
            Ok(answer) if states::stake_terms(&answer, self.app().did(), payment.waiting) == StakeTerms::Foreign => {
                Some(payment.declined())
            }
            Ok(_) => None,
            Err(error) => Some(Outcome::Unknown(error.to_string())),
        }
    }

    /// The outcome of an executed transaction that was looked up by its hash. If it pays into a stake, the chain is asked about the stake.
    pub(super) async fn outcome_of_found(&self, address: &Url, executed: Outcome, answer: &Value) -> Outcome {
        let Some(payment) = StakePayment::executed(answer) else { return executed };
        match self.query(address, &states::stake_query(&payment.address)).await {
            Ok(state) => payment.outcome(executed, &state, self.app().did()),
            Err(error) => Outcome::Unknown(error.to_string()),
        }
    }
}
