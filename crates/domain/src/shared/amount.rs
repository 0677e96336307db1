//! Money in base units. Never a float, and never a decimal type that rounds.

use std::fmt;

/// An amount in a currency's base units (wei, cents). Arithmetic is checked: an overflow is an error, not a wrap.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Amount(u128);

/// Why a text or a computation does not yield an amount.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum AmountError {
    #[error("amount is not a number")]
    NotANumber,
    #[error("amount has more than {0} decimals")]
    TooPrecise(u32),
    #[error("amount is out of range")]
    Overflow,
}

/// The most decimals of a currency: `10^38` is the largest power of ten below `u128::MAX`.
pub const MAX_DECIMALS: u32 = 38;

/// The result of a division.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Quotient {
    /// Rounded down.
    pub floor: Amount,
    pub remainder: Amount,
}

impl Amount {
    pub const ZERO: Self = Self(0);

    #[must_use]
    pub const fn new(base_units: u128) -> Self {
        Self(base_units)
    }

    #[must_use]
    pub const fn base_units(self) -> u128 {
        self.0
    }

    #[must_use]
    pub const fn is_zero(self) -> bool {
        self.0 == 0
    }

    pub fn plus(self, other: Self) -> Result<Self, AmountError> {
        self.0.checked_add(other.0).map(Self).ok_or(AmountError::Overflow)
    }

    /// Fails with [`AmountError::Overflow`] when `other` is larger, since amounts have no sign.
    pub fn minus(self, other: Self) -> Result<Self, AmountError> {
        self.0.checked_sub(other.0).map(Self).ok_or(AmountError::Overflow)
    }

    pub fn times(self, factor: u64) -> Result<Self, AmountError> {
        self.0.checked_mul(u128::from(factor)).map(Self).ok_or(AmountError::Overflow)
    }

    /// `self * numerator / denominator`, rounded down, and the remainder of the division. Exact for denominators below 2^127.
    ///
    /// # Errors
    /// [`AmountError::Overflow`] when the ratio is above one, or the denominator is zero or at least 2^127.
    pub fn times_ratio(self, numerator: Self, denominator: Self) -> Result<Quotient, AmountError> {
        if denominator.is_zero() || numerator > denominator || denominator.0 >> 127 != 0 {
            return Err(AmountError::Overflow);
        }
        // Multiplies bit by bit and divides at each step: the product would need 256 bits, but quotient and remainder do not.
        let (mut quotient, mut rest) = (0u128, 0u128);
        for bit in (0..128).rev() {
            (quotient, rest) = (quotient << 1, rest << 1);
            if rest >= denominator.0 {
                (quotient, rest) = (quotient + 1, rest - denominator.0);
            }
            if self.0 >> bit & 1 == 1 {
                rest += numerator.0;
                if rest >= denominator.0 {
                    (quotient, rest) = (quotient + 1, rest - denominator.0);
                }
            }
        }
        Ok(Quotient { floor: Self(quotient), remainder: Self(rest) })
    }

    pub fn sum(amounts: impl IntoIterator<Item = Self>) -> Result<Self, AmountError> {
        amounts.into_iter().try_fold(Self::ZERO, Self::plus)
    }

    /// Parses a decimal string of base units (`"5000000000000000000"`), the wire form of amounts.
    pub fn parse_base_units(text: &str) -> Result<Self, AmountError> {
        if text.is_empty() || !text.bytes().all(|byte| byte.is_ascii_digit()) {
            return Err(AmountError::NotANumber);
        }
        text.parse().map(Self).map_err(|_| AmountError::Overflow)
    }

    /// Parses decimal text (`"0.01"`) by string arithmetic with the currency's `decimals`. A point needs digits on both sides. At most
    /// `precision` digits may follow it; trailing zeros do not count.
    pub fn parse_decimal(text: &str, decimals: u32, precision: u32) -> Result<Self, AmountError> {
        let (whole, fraction) = text.split_once('.').unwrap_or((text, "0"));
        let is_number = |part: &str| !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_digit());
        if !is_number(whole) || !is_number(fraction) {
            return Err(AmountError::NotANumber);
        }
        let fraction = fraction.trim_end_matches('0');
        let allowed = decimals.min(precision).min(MAX_DECIMALS);
        if fraction.len() > allowed as usize {
            return Err(AmountError::TooPrecise(allowed));
        }
        let padded = format!("{whole}{fraction:0<width$}", width = decimals as usize);
        let padded = padded.trim_start_matches('0');
        if padded.is_empty() { Ok(Self::ZERO) } else { Self::parse_base_units(padded) }
    }

    /// The exact decimal text, without separators or trailing zeros.
    #[must_use]
    pub fn to_decimal(self, decimals: u32) -> String {
        if decimals == 0 {
            return self.0.to_string();
        }
        let digits = format!("{:0>width$}", self.0, width = decimals as usize + 1);
        let (whole, fraction) = digits.split_at(digits.len() - decimals as usize);
        let fraction = fraction.trim_end_matches('0');
        if fraction.is_empty() { whole.to_owned() } else { format!("{whole}.{fraction}") }
    }

    /// The decimal text for display: rounded half up to `precision` decimals, with commas between thousands. The pages round alike.
    #[must_use]
    pub fn to_display(self, decimals: u32, precision: u32) -> String {
        let mut shown = (self, decimals);
        if decimals > precision {
            let step = 10u128.pow((decimals - precision).min(MAX_DECIMALS));
            shown = (Self(self.0 / step + u128::from(self.0 % step >= step / 2)), precision);
        }
        let text = shown.0.to_decimal(shown.1);
        let (whole, fraction) = text.split_once('.').map_or((text.as_str(), None), |(whole, fraction)| (whole, Some(fraction)));
        let mut grouped = String::new();
        for (place, digit) in whole.chars().enumerate() {
            if place > 0 && (whole.len() - place).is_multiple_of(3) {
                grouped.push(',');
            }
            grouped.push(digit);
        }
        fraction.map_or(grouped.clone(), |fraction| format!("{grouped}.{fraction}"))
    }

    /// Spreads the amount over parts in proportion to them, by the largest remainder; ties go to the earlier part. The results add up to the
    /// amount, and none exceeds its part.
    ///
    /// # Errors
    /// [`AmountError::Overflow`] when the amount exceeds the sum of the parts, or is a part of a sum of at least 2^127.
    pub fn spread(self, over: &[Self]) -> Result<Vec<Self>, AmountError> {
        let sum = Self::sum(over.iter().copied())?;
        if self > sum {
            return Err(AmountError::Overflow);
        }
        // Nothing is divided, however large the sum is.
        if self == sum {
            return Ok(over.to_vec());
        }
        if self.is_zero() {
            return Ok(vec![Self::ZERO; over.len()]);
        }
        let shares = over.iter().map(|part| part.times_ratio(self, sum)).collect::<Result<Vec<_>, _>>()?;
        let mut parts: Vec<_> = shares.iter().map(|share| share.floor).collect();
        let mut remainder = self.minus(Self::sum(parts.iter().copied())?)?;
        let mut order: Vec<usize> = (0..over.len()).collect();
        order.sort_by(|a, b| shares[*b].remainder.cmp(&shares[*a].remainder).then(a.cmp(b)));
        for place in order {
            if !remainder.is_zero() && parts[place] < over[place] {
                parts[place] = parts[place].plus(Self(1))?;
                remainder = remainder.minus(Self(1))?;
            }
        }
        Ok(parts)
    }

    /// Splits into parts proportional to `weights` by the largest remainder, so that the parts sum to the whole. Ties go to the earlier
    /// part. If all weights are zero, the first part gets the whole; without weights there are no parts.
    pub fn split(self, weights: &[u64]) -> Result<Vec<Self>, AmountError> {
        let total: u128 = weights.iter().map(|weight| u128::from(*weight)).sum();
        if total == 0 {
            let mut parts = vec![Self::ZERO; weights.len()];
            if let Some(first) = parts.first_mut() {
                *first = self;
            }
            return Ok(parts);
        }
        // floor(self * w / total) without overflow: whole multiples of `total` first, then the rest.
        let (quotient, rest) = (self.0 / total, self.0 % total);
        let mut parts = Vec::with_capacity(weights.len());
        for (index, weight) in weights.iter().enumerate() {
            let weight = u128::from(*weight);
            let scaled = rest.checked_mul(weight).ok_or(AmountError::Overflow)?;
            let floor = quotient.checked_mul(weight).and_then(|part| part.checked_add(scaled / total)).ok_or(AmountError::Overflow)?;
            parts.push((index, floor, scaled % total));
        }
        let mut remainder = self.0 - parts.iter().map(|(_, floor, _)| floor).sum::<u128>();
        parts.sort_by(|a, b| b.2.cmp(&a.2).then(a.0.cmp(&b.0)));
        for part in &mut parts {
            if remainder == 0 {
                break;
            }
            part.1 += 1;
            remainder -= 1;
        }
        parts.sort_by_key(|(index, _, _)| *index);
        Ok(parts.into_iter().map(|(_, amount, _)| Self(amount)).collect())
    }
}

impl fmt::Display for Amount {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn decimal_text_is_parsed_exactly() {
        assert_eq!(Amount::parse_decimal("5", 18, 6), Ok(Amount::new(5_000_000_000_000_000_000)));
        assert_eq!(Amount::parse_decimal("0.01", 2, 6), Ok(Amount::new(1)));
        assert_eq!(Amount::parse_decimal("0.5", 2, 2), Ok(Amount::new(50)));
        assert_eq!(Amount::parse_decimal("1.500000000", 18, 6), Ok(Amount::new(1_500_000_000_000_000_000)));
        assert_eq!(Amount::parse_decimal("0", 0, 0), Ok(Amount::ZERO));
    }

    #[test]
    fn invalid_decimal_text_is_a_named_error() {
        for text in ["", ".", "-1", "+1", "1e3", "1,5", "0x1", "١", "1.2.3", "NaN", ".5", "5.", " 1", "1 "] {
            assert_eq!(Amount::parse_decimal(text, 18, 6), Err(AmountError::NotANumber), "{text}");
        }
        assert_eq!(Amount::parse_decimal("0.0000001", 18, 6), Err(AmountError::TooPrecise(6)));
        assert_eq!(Amount::parse_decimal("0.001", 2, 6), Err(AmountError::TooPrecise(2)));
        assert_eq!(Amount::parse_decimal(&"9".repeat(39), 18, 6), Err(AmountError::Overflow));
        assert_eq!(Amount::parse_base_units("1.0"), Err(AmountError::NotANumber));
    }

    #[test]
    fn displayed_amounts_are_rounded_half_up_and_grouped() {
        let shown = |units, decimals| Amount::new(units).to_display(decimals, 6);
        assert_eq!(shown(27_999_998_842_592_592_593, 18), "27.999999");
        assert_eq!(shown(1_234_567_890_123_456_789_012, 18), "1,234.56789");
        assert_eq!(shown(1, 18), "0");
        assert_eq!(shown(500_000_000_000, 18), "0.000001");
        assert_eq!(shown(199, 2), "1.99");
        assert_eq!(shown(1_000_000, 0), "1,000,000");
    }

    #[test]
    fn an_amount_is_spread_over_parts_and_the_whole_exactly_however_large_it_is() {
        let spread = |amount, over: &[u128]| {
            let over: Vec<_> = over.iter().copied().map(Amount::new).collect();
            Amount::new(amount).spread(&over).map(|parts| parts.into_iter().map(Amount::base_units).collect::<Vec<_>>())
        };
        assert_eq!(spread(10, &[1, 1, 18]), Ok(vec![1, 0, 9]));
        assert_eq!(spread(u128::MAX, &[u128::MAX - 7, 0, 7]), Ok(vec![u128::MAX - 7, 0, 7]));
        assert_eq!(spread(0, &[u128::MAX, 0]), Ok(vec![0, 0]));
        assert_eq!(spread(0, &[0, 0]), Ok(vec![0, 0]));
        assert_eq!(spread(0, &[]), Ok(Vec::new()));
        assert_eq!(spread(3, &[1, 1]), Err(AmountError::Overflow));
    }

    proptest! {
        #[test]
        fn a_decimal_survives_the_round_trip(units: u128, decimals in 0u32..=38) {
            let amount = Amount::new(units);
            prop_assert_eq!(Amount::parse_decimal(&amount.to_decimal(decimals), decimals, decimals), Ok(amount));
        }

        #[test]
        fn parts_sum_to_the_whole_and_are_fair(units: u128, weights in proptest::collection::vec(0u64..=u64::from(u32::MAX), 1..9)) {
            let parts = Amount::new(units).split(&weights).expect("splits");
            prop_assert_eq!(Amount::sum(parts.iter().copied()), Ok(Amount::new(units)));
            let total: u128 = weights.iter().map(|w| u128::from(*w)).sum();
            if total > 0 && units < u128::from(u64::MAX) {
                for (part, weight) in parts.iter().zip(&weights) {
                    let exact = units * u128::from(*weight) / total;
                    prop_assert!(part.base_units() == exact || part.base_units() == exact + 1);
                }
            }
        }
    }
}
