//! The mode of a checkout, and the terms of its subscriptions.

use crate::billing::{TRIAL_DAYS_MAX, TrialTerms};
use crate::pricing::{Metadata, Price};
use crate::shared::{Amount, AmountError, DESCRIPTION_MAX, InputError, check_count, check_metadata, check_text};

/// The highest number of days that a subscription can be past due before it ends.
pub const DAYS_UNTIL_CANCEL_MAX: u32 = 365;

/// The most decimals of an amount in the terms: those of a token (SPEC.md 9).
const TERMS_DECIMALS: u32 = 18;

/// The modes of a session (payment-kit.md 2).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum SessionMode {
    /// A one-time payment.
    #[default]
    Payment,
    /// At least one item recurs.
    Subscription,
    /// A mandate is granted, and nothing is charged now.
    Setup,
}

impl SessionMode {
    pub const ALL: [Self; 3] = [Self::Payment, Self::Subscription, Self::Setup];

    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Payment => "payment",
            Self::Subscription => "subscription",
            Self::Setup => "setup",
        }
    }

    #[must_use]
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|mode| mode.name() == name)
    }

    /// The mode that follows from the items.
    #[must_use]
    pub fn of(prices: &[Price]) -> Self {
        if prices.iter().any(Price::is_recurring) { Self::Subscription } else { Self::Payment }
    }

    /// Whether these prices can be sold in this mode.
    #[must_use]
    pub fn fits(self, prices: &[Price]) -> bool {
        match self {
            Self::Payment => !prices.iter().any(Price::is_recurring),
            Self::Subscription => prices.iter().any(Price::is_recurring),
            Self::Setup => prices.iter().all(Price::is_recurring),
        }
    }
}

/// Why the terms of an integrator are rejected.
#[derive(Debug, thiserror::Error)]
pub enum TermsError {
    #[error(transparent)]
    Input(#[from] InputError),
    #[error("an amount of subscription_data is not valid: {0}")]
    Amount(#[from] AmountError),
}

/// The supported part of `subscription_data` (payment-kit.md 2).
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct SubscriptionTerms {
    pub trial: TrialTerms,
    pub no_stake: bool,
    /// Decimal text: its currency is known only once the customer chooses one.
    pub min_stake_amount: Option<String>,
    pub billing_threshold_amount: Option<String>,
    /// Whether a threshold invoice begins a new period.
    pub resets_anchor: bool,
    /// Replaces the products' names.
    pub description: String,
    pub days_until_cancel: Option<u32>,
    /// Attached to the subscriptions.
    pub metadata: Metadata,
}

/// The amounts of [`SubscriptionTerms`] in a currency; zero if they are not set.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TermAmounts {
    pub minimum_stake: Amount,
    /// The billing threshold.
    pub threshold: Amount,
}

impl SubscriptionTerms {
    /// The amounts in base units of a currency with this many decimals.
    pub fn amounts(&self, decimals: u32) -> Result<TermAmounts, AmountError> {
        let read = |text: &Option<String>| match text {
            Some(text) => Amount::parse_decimal(text, decimals, decimals),
            None => Ok(Amount::ZERO),
        };
        Ok(TermAmounts { minimum_stake: read(&self.min_stake_amount)?, threshold: read(&self.billing_threshold_amount)? })
    }

    /// The terms for a customer who has used the trial already.
    #[must_use]
    pub fn without_trial(&self) -> Self {
        Self { trial: TrialTerms::default(), ..self.clone() }
    }

    /// Whether the terms grant a trial.
    #[must_use]
    pub fn has_trial(&self) -> bool {
        self.trial != TrialTerms::default()
    }

    /// Checks terms that an integrator sets.
    pub fn checked(self) -> Result<Self, TermsError> {
        check_count("trial_period_days", u64::from(self.trial.days), u64::from(TRIAL_DAYS_MAX))?;
        check_count("days_until_cancel", u64::from(self.days_until_cancel.unwrap_or(1)), u64::from(DAYS_UNTIL_CANCEL_MAX))?;
        if self.days_until_cancel == Some(0) {
            return Err(InputError::Required("days_until_cancel").into());
        }
        check_metadata(&self.metadata)?;
        self.amounts(TERMS_DECIMALS)?;
        let description = check_text("description", &self.description, DESCRIPTION_MAX)?;
        Ok(Self { description, ..self })
    }
}
