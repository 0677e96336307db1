//! What the store owes a customer after a change of plan, and takes off their next invoices.

use crate::shared::{Amount, CurrencyId, CustomerId, StorageError};
use async_trait::async_trait;

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Credit {
    pub customer_id: CustomerId,
    pub currency_id: CurrencyId,
    pub amount: Amount,
}

#[async_trait]
pub trait Credits: Send {
    /// Those of these customers that are not used up.
    async fn of_all(&mut self, customers: &[CustomerId]) -> Result<Vec<Credit>, StorageError>;
    /// Adds to a customer's credit.
    async fn give(&mut self, credit: &Credit) -> Result<(), StorageError>;
    /// Takes from it. False: it is not that much, and nothing changed.
    async fn take(&mut self, credit: &Credit) -> Result<bool, StorageError>;
}
