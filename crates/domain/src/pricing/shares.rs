//! The shares of a price: the parts of what a sale brings that do not stay with the store. They are fixed with the price: other shares need
//! another price, which replaces it.

use crate::access::Did;
use crate::shared::{Amount, AmountError};

/// The whole of a sale, in the unit of shares.
pub const WHOLE: u32 = 1_000_000;
/// The most beneficiaries of a price.
pub const SHARES_MAX: usize = 20;

/// The part of each sale that belongs to a beneficiary.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PriceShare {
    pub beneficiary: Did,
    /// From 1 to [`WHOLE`].
    pub millionths: u32,
}

/// The sum of shares, in millionths. It is at most [`WHOLE`] for the shares of a price.
#[must_use]
pub fn shares_sum(shares: &[PriceShare]) -> u32 {
    shares.iter().fold(0, |sum, share| share.millionths.saturating_add(sum))
}

/// Distributes what a sale has brought: the parts of the beneficiaries, in the order of the shares. The rest stays with the store. All parts
/// together are the amount, by the largest remainder.
///
/// # Errors
/// [`AmountError::Overflow`] if the shares are more than the whole.
pub fn distribute(amount: Amount, shares: &[PriceShare]) -> Result<Vec<Amount>, AmountError> {
    let of_store = WHOLE.checked_sub(shares_sum(shares)).ok_or(AmountError::Overflow)?;
    let weights: Vec<_> = std::iter::once(of_store).chain(shares.iter().map(|share| share.millionths)).map(u64::from).collect();
    Ok(amount.split(&weights)?.split_off(1))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn shares(millionths: &[u32]) -> Vec<PriceShare> {
        let share = |(number, millionths): (usize, &u32)| PriceShare {
            beneficiary: Did::from_verified(format!("z{number}")),
            millionths: *millionths,
        };
        millionths.iter().enumerate().map(share).collect()
    }

    fn parts(amount: u128, millionths: &[u32]) -> Vec<u128> {
        let parts = distribute(Amount::new(amount), &shares(millionths)).expect("at most the whole");
        parts.into_iter().map(Amount::base_units).collect()
    }

    #[test]
    fn a_sale_is_distributed_by_the_largest_remainder() {
        assert_eq!(parts(1_000, &[700_000]), [700]);
        assert_eq!(parts(1_000, &[600_000, 100_000]), [600, 100]);
        // Exact parts: 3 of the store, 3.5 and 3.5. The last unit goes to the earlier one.
        assert_eq!(parts(10, &[350_000, 350_000]), [4, 3]);
        // The store has 0.3, and the beneficiary the larger remainder.
        assert_eq!(parts(1, &[700_000]), [1]);
        assert_eq!(parts(0, &[700_000]), [0]);
        assert_eq!(parts(7, &[WHOLE]), [7]);
        assert_eq!(parts(7, &[]), [0; 0]);
    }

    #[test]
    fn shares_of_more_than_the_whole_are_refused() {
        assert_eq!(distribute(Amount::new(7), &shares(&[WHOLE, 1])), Err(AmountError::Overflow));
    }

    proptest! {
        #[test]
        fn nobody_gets_more_than_one_unit_beside_their_exact_part(
            amount in 0..u128::from(u64::MAX),
            millionths in prop::collection::vec(1..50_000_u32, 0..20),
        ) {
            let parts = parts(amount, &millionths);
            prop_assert!(parts.iter().sum::<u128>() <= amount);
            for (part, millionths) in parts.iter().zip(&millionths) {
                let exact = amount * u128::from(*millionths) / u128::from(WHOLE);
                prop_assert!(*part == exact || *part == exact + 1);
            }
        }
    }
}
