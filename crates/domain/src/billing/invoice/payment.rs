//! Invoice payments: what one source paid towards one invoice.

use crate::shared::{
    Amount, AmountError, AttemptId, BalanceTransactionId, InvoiceId, InvoicePaymentId, PaymentIntentId, StorageError, Timestamp,
};
use async_trait::async_trait;

/// Where the money came from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PaymentSource {
    Network {
        attempt: AttemptId,
        intent: PaymentIntentId,
    },
    Balance(BalanceTransactionId),
    /// The attempt that forfeited a stake.
    Stake(AttemptId),
}

impl PaymentSource {
    #[must_use]
    pub const fn name(&self) -> &'static str {
        match self {
            Self::Network { .. } => "network",
            Self::Balance(_) => "balance",
            Self::Stake(_) => "stake",
        }
    }

    /// The payment intent, if a network brought the money.
    #[must_use]
    pub const fn intent(&self) -> Option<&PaymentIntentId> {
        match self {
            Self::Network { intent, .. } => Some(intent),
            Self::Balance(_) | Self::Stake(_) => None,
        }
    }

    /// The attempt that forfeited a stake, if a stake brought the money.
    #[must_use]
    pub const fn stake(&self) -> Option<&AttemptId> {
        match self {
            Self::Stake(attempt) => Some(attempt),
            Self::Network { .. } | Self::Balance(_) => None,
        }
    }
}

/// What one source paid towards one invoice. `refunded + disputed + reversed <= amount`; each is changed by a compare-and-set under the
/// invoice's lock (invariant 8).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct InvoicePayment {
    pub id: InvoicePaymentId,
    pub invoice_id: InvoiceId,
    pub source: PaymentSource,
    pub amount: Amount,
    /// Refunded by credit notes; includes refunds that are not sent yet.
    pub refunded: Amount,
    /// Withdrawn by undecided disputes.
    pub disputed: Amount,
    /// Taken back by a lost dispute or a late failure, or returned to the balance because the invoice was voided.
    pub reversed: Amount,
    pub created_at: Timestamp,
}

impl InvoicePayment {
    #[must_use]
    pub const fn new(id: InvoicePaymentId, invoice_id: InvoiceId, source: PaymentSource, amount: Amount, created_at: Timestamp) -> Self {
        let zero = Amount::ZERO;
        Self { id, invoice_id, source, amount, refunded: zero, disputed: zero, reversed: zero, created_at }
    }

    /// The amount that can still be refunded, disputed or reversed.
    #[must_use]
    pub fn room(&self) -> Amount {
        let used = self.refunded.plus(self.disputed).and_then(|sum| sum.plus(self.reversed));
        used.ok().and_then(|used| self.amount.minus(used).ok()).unwrap_or_default()
    }

    /// The amount that the invoice counts as paid.
    #[must_use]
    pub fn effective(&self) -> Amount {
        self.amount.minus(self.reversed).unwrap_or_default()
    }

    /// # Errors
    /// [`AmountError`] when `amount` exceeds [`InvoicePayment::room`].
    pub fn refund(&self, amount: Amount) -> Result<Self, AmountError> {
        self.room().minus(amount)?;
        Ok(Self { refunded: self.refunded.plus(amount)?, ..self.clone() })
    }

    /// # Errors
    /// [`AmountError`] when `amount` exceeds [`InvoicePayment::room`].
    pub fn reverse(&self, amount: Amount) -> Result<Self, AmountError> {
        self.room().minus(amount)?;
        Ok(Self { reversed: self.reversed.plus(amount)?, ..self.clone() })
    }

    /// Returns the payment after a dispute withdrew `amount`.
    ///
    /// # Errors
    /// [`AmountError`] when `amount` exceeds [`InvoicePayment::room`].
    pub fn dispute(&self, amount: Amount) -> Result<Self, AmountError> {
        self.room().minus(amount)?;
        Ok(Self { disputed: self.disputed.plus(amount)?, ..self.clone() })
    }

    /// Returns the payment after a dispute's funds were reinstated.
    ///
    /// # Errors
    /// [`AmountError`] when `amount` exceeds the disputed amount.
    pub fn reinstate(&self, amount: Amount) -> Result<Self, AmountError> {
        Ok(Self { disputed: self.disputed.minus(amount)?, ..self.clone() })
    }

    /// Returns the payment after a dispute was lost: the withdrawn amount is reversed for good.
    ///
    /// # Errors
    /// [`AmountError`] when `amount` exceeds the disputed amount.
    pub fn lose_dispute(&self, amount: Amount) -> Result<Self, AmountError> {
        Ok(Self { reversed: self.reversed.plus(amount)?, ..self.reinstate(amount)? })
    }
}

#[async_trait]
pub trait InvoicePayments: Send {
    async fn insert_all(&mut self, payments: &[InvoicePayment]) -> Result<(), StorageError>;
    /// The payments of these invoices, oldest first.
    async fn of_invoices(&mut self, invoices: &[InvoiceId]) -> Result<Vec<InvoicePayment>, StorageError>;
    /// The invoice payments of these payment intents, oldest first.
    async fn of_intents(&mut self, intents: &[PaymentIntentId]) -> Result<Vec<InvoicePayment>, StorageError>;
    /// As [`InvoicePayments::of_intents`], for one intent.
    async fn of_intent(&mut self, intent: &PaymentIntentId) -> Result<Vec<InvoicePayment>, StorageError> {
        self.of_intents(std::slice::from_ref(intent)).await
    }
    /// Writes `refunded`, `disputed` and `reversed` of distinct payments that still have those of `before`. The caller holds the locks of
    /// their invoices. False: one of them has changed, and the caller must drop the unit of work.
    async fn update_all(&mut self, changes: &[ChangedPayment]) -> Result<bool, StorageError>;
    /// As [`InvoicePayments::update_all`], for one payment.
    async fn update(&mut self, before: &InvoicePayment, after: &InvoicePayment) -> Result<bool, StorageError> {
        self.update_all(&[ChangedPayment { before: before.clone(), after: after.clone() }]).await
    }
}

/// An invoice payment before and after a change.
#[derive(Debug, Clone)]
pub struct ChangedPayment {
    /// As it was read.
    pub before: InvoicePayment,
    pub after: InvoicePayment,
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn payment(amount: u128) -> InvoicePayment {
        InvoicePayment::new(
            InvoicePaymentId::parse("inpay_1").expect("an id"),
            InvoiceId::parse("in_1").expect("an id"),
            PaymentSource::Balance(BalanceTransactionId::parse("cbtxn_1").expect("an id")),
            Amount::new(amount),
            Timestamp::from_seconds(0),
        )
    }

    proptest! {
        #[test]
        fn no_more_is_refunded_disputed_and_reversed_than_was_paid(amount in 0u128..1_000, steps in prop::collection::vec((0..5u8, 0u128..400), 0..20)) {
            let mut payment = payment(amount);
            for (step, part) in steps {
                let part = Amount::new(part);
                let (after, most) = match step {
                    0 => (payment.refund(part), payment.room()),
                    1 => (payment.reverse(part), payment.room()),
                    2 => (payment.dispute(part), payment.room()),
                    3 => (payment.reinstate(part), payment.disputed),
                    _ => (payment.lose_dispute(part), payment.disputed),
                };
                prop_assert_eq!(after.is_ok(), part <= most);
                payment = after.unwrap_or(payment);
                let used = payment.refunded.base_units() + payment.disputed.base_units() + payment.reversed.base_units();
                prop_assert_eq!(used + payment.room().base_units(), amount);
                prop_assert_eq!(payment.effective().base_units(), amount - payment.reversed.base_units());
            }
        }
    }
}
