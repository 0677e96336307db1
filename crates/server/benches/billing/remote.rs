//! A simulated network that responds with a delay and settles every transaction.

use async_trait::async_trait;
use souk_adapters::arcblock::ArcblockRail;
use souk_domain::access::Did;
use souk_domain::payment::*;
use souk_domain::shared::Amount;
use std::time::Duration;

/// Signs with the real rail.
pub struct Remote {
    pub local: ArcblockRail,
    pub latency: Duration,
    /// The amount of each charge.
    pub amount: Amount,
}

#[async_trait]
impl WalletRail for Remote {
    async fn validate_settings(&self, method: &Method, currencies: &[Currency]) -> Result<(), RailError> {
        self.local.validate_settings(method, currencies).await
    }

    fn prepare(&self, method: &Method, currency: &Currency, request: &TransferRequest) -> Result<UnsignedTransaction, RailError> {
        self.local.prepare(method, currency, request)
    }

    fn check(
        &self,
        method: &Method,
        currency: &Currency,
        request: &TransferRequest,
        signed_tx: &str,
    ) -> Result<SignedTransaction, CheckError> {
        self.local.check(method, currency, request, signed_tx)
    }

    fn prepare_mandate(&self, method: &Method, request: &MandateRequest) -> Result<UnsignedTransaction, RailError> {
        self.local.prepare_mandate(method, request)
    }

    fn check_mandate(&self, method: &Method, request: &MandateRequest, signed_tx: &str) -> Result<SignedTransaction, CheckError> {
        self.local.check_mandate(method, request, signed_tx)
    }

    fn prepare_stake(&self, method: &Method, currency: &Currency, request: &StakeRequest) -> Result<UnsignedTransaction, RailError> {
        self.local.prepare_stake(method, currency, request)
    }

    fn check_stake(
        &self,
        method: &Method,
        currency: &Currency,
        request: &StakeRequest,
        signed_tx: &str,
    ) -> Result<SignedTransaction, CheckError> {
        self.local.check_stake(method, currency, request, signed_tx)
    }

    async fn mandate_allows(&self, _: &Method, _: &Currency, _: &Did, _: Amount) -> Result<bool, RailError> {
        Ok(true)
    }

    async fn stake_balance(
        &self,
        method: &Method,
        currency: &Currency,
        payer: &Did,
        subject: &str,
        waiting: Duration,
    ) -> Result<StakeState, RailError> {
        self.local.stake_balance(method, currency, payer, subject, waiting).await
    }

    fn sign(&self, method: &Method, currency: &Currency, request: &StoreTransactionRequest) -> Result<SignedTransaction, RailError> {
        self.local.sign(method, currency, request)
    }

    async fn send(&self, _: &Method, _: &Currency, signed: &SignedTransaction) -> Outcome {
        if !self.latency.is_zero() {
            tokio::time::sleep(self.latency).await;
        }
        Outcome::Settled(Settlement { reference: signed.hash.clone(), payer: String::new(), amount: self.amount, card: None })
    }

    async fn find(&self, method: &Method, currency: &Currency, hash: &str) -> Outcome {
        self.send(method, currency, &SignedTransaction { bytes: Vec::new(), hash: hash.to_owned() }).await
    }

    async fn gas(&self, method: &Method) -> Result<GasState, RailError> {
        self.local.gas(method).await
    }

    async fn stake_for_gas(&self, method: &Method) -> Result<GasState, RailError> {
        self.local.stake_for_gas(method).await
    }

    async fn balance(&self, _: &Method, _: &Currency, _: &Did) -> Result<Amount, RailError> {
        Ok(Amount::new(u128::from(u64::MAX)))
    }
}
