//! The inputs and the formula of a line's amount.

use crate::pricing::{Rate, Tier, TiersMode, tiered};
use crate::shared::{Amount, AmountError};

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Calculation {
    PerUnit { unit: Amount, quantity: u64 },
    Tiered { mode: TiersMode, tiers: Vec<Tier>, quantity: u64 },
    Flat { amount: Amount },
}

impl Calculation {
    #[must_use]
    pub fn of(rate: &Rate<'_>, quantity: u64) -> Self {
        match rate {
            Rate::PerUnit(unit) => Self::PerUnit { unit: *unit, quantity },
            Rate::Tiered { mode, tiers } => Self::Tiered { mode: *mode, tiers: tiers.to_vec(), quantity },
            Rate::Custom(custom) => Self::Flat { amount: custom.proposed() },
        }
    }

    pub fn amount(&self) -> Result<Amount, AmountError> {
        match self {
            Self::PerUnit { unit, quantity } => unit.times(*quantity),
            Self::Tiered { mode, tiers, quantity } => tiered(*mode, tiers, *quantity),
            Self::Flat { amount } => Ok(*amount),
        }
    }
}
