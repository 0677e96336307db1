//! The terms of a sale, and the rules of the store about them (reference/store.md 1.6 and 2).

use super::super::Preferences;
use crate::access::Did;
use crate::payment::Method;
use crate::pricing::{PriceShare, SHARES_MAX, WHOLE, shares_sum};
use crate::shared::{Amount, AmountError, Currency, CurrencyId};
use rust_decimal::Decimal;
use rust_decimal::prelude::ToPrimitive;
use std::collections::BTreeSet;

/// The decimals of a percentage: its last one is a millionth of the whole.
const PERCENT_DECIMALS: u32 = 4;

/// A price that is paid once.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OneTimeTerms {
    pub currency_id: CurrencyId,
    pub amount: Amount,
    /// What does not belong to a beneficiary stays with the store.
    pub shares: Vec<PriceShare>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SellingTerms {
    Free,
    OneTime(OneTimeTerms),
}

impl SellingTerms {
    /// Whether buyers pay the same and beneficiaries get the same. The order of the shares is for the eye only.
    #[must_use]
    pub fn is_same(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Free, Self::Free) => true,
            (Self::OneTime(one), Self::OneTime(other)) => {
                let shares = |terms: &OneTimeTerms| -> BTreeSet<(Did, u32)> {
                    terms.shares.iter().map(|share| (share.beneficiary.clone(), share.millionths)).collect()
                };
                (&one.currency_id, one.amount) == (&other.currency_id, other.amount) && shares(one) == shares(other)
            }
            (Self::Free, Self::OneTime(_)) | (Self::OneTime(_), Self::Free) => false,
        }
    }
}

/// A share as a developer enters it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewShare {
    pub beneficiary: Did,
    /// Decimal text, of the whole price.
    pub percent: String,
}

/// Terms as a developer enters them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum NewTerms {
    Free,
    OneTime {
        currency_id: CurrencyId,
        /// Decimal text in human units of the currency.
        amount: String,
        shares: Vec<NewShare>,
    },
}

/// Why the store does not sell on these terms.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum TermsError {
    #[error("Paid blocklets are not allowed in this store")]
    PaidNotAllowed,
    #[error("The store has archived the product of this app, so it is not sold any more")]
    Archived,
    #[error("The currency does not exist, or nobody can pay in it at the moment")]
    NoSuchCurrency,
    #[error("Blocklet price must be a number")]
    NotANumber,
    #[error("The price may have at most {0} decimals")]
    TooPrecise(u32),
    /// In human units of the currency.
    #[error("The price must be between {min} and {max}")]
    OutOfRange { min: String, max: String },
    #[error("A price can have at most {SHARES_MAX} beneficiaries")]
    TooManyShares,
    #[error("Each beneficiary can have one share only")]
    BeneficiaryTwice(Did),
    #[error("A share must be a percentage above 0, with at most {PERCENT_DECIMALS} decimals")]
    Percent,
    /// In percent.
    #[error("The shares of all beneficiaries may add up to at most {most} percent. The rest is the store's commission.")]
    SharesExceed { most: String },
}

/// A currency in which an app can be sold: it is active, and so is its method.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SellableCurrency {
    pub currency: Currency,
    /// The least that its network accepts.
    pub minimum: Amount,
}

impl SellableCurrency {
    /// The currencies among these in which buyers can pay at the moment.
    #[must_use]
    pub fn among(currencies: Vec<Currency>, methods: &[Method]) -> Vec<Self> {
        let sellable = |currency: Currency| {
            let method = methods.iter().find(|method| method.id == currency.method_id && method.active)?;
            currency.active.then(|| Self { minimum: method.kind.minimum_charge(&currency), currency })
        };
        currencies.into_iter().filter_map(sellable).collect()
    }
}

/// The store's part of each sale, in millionths.
#[must_use]
pub fn commission(preferences: &Preferences) -> u32 {
    let millionths = (preferences.store_share * Decimal::from(WHOLE)).ceil().to_u32();
    millionths.map_or(WHOLE, |millionths| millionths.min(WHOLE))
}

/// Reads and checks terms.
///
/// # Errors
/// The first rule that they break.
pub fn read_terms(preferences: &Preferences, currencies: &[SellableCurrency], new: &NewTerms) -> Result<SellingTerms, TermsError> {
    let NewTerms::OneTime { currency_id, amount, shares } = new else { return Ok(SellingTerms::Free) };
    if !preferences.paid_apps_allowed {
        return Err(TermsError::PaidNotAllowed);
    }
    let currency = &currencies.iter().find(|one| one.currency.id == *currency_id).ok_or(TermsError::NoSuchCurrency)?.currency;
    let amount = match Amount::parse_decimal(amount.trim(), currency.decimals, currency.maximum_precision) {
        Ok(amount) => amount,
        Err(AmountError::NotANumber) => return Err(TermsError::NotANumber),
        Err(AmountError::TooPrecise(decimals)) => return Err(TermsError::TooPrecise(decimals)),
        Err(AmountError::Overflow) => return Err(out_of_range(preferences, None)),
    };
    let share = |share: &NewShare| {
        let millionths = Amount::parse_decimal(share.percent.trim(), PERCENT_DECIMALS, PERCENT_DECIMALS).ok();
        let millionths = millionths.and_then(|millionths| u32::try_from(millionths.base_units()).ok()).ok_or(TermsError::Percent)?;
        Ok(PriceShare { beneficiary: share.beneficiary.clone(), millionths })
    };
    let shares = shares.iter().map(share).collect::<Result<_, TermsError>>()?;
    let terms = SellingTerms::OneTime(OneTimeTerms { currency_id: currency_id.clone(), amount, shares });
    check_terms(preferences, currencies, &terms)?;
    Ok(terms)
}

/// Checks terms that were read before: the rules of the store may have changed.
///
/// # Errors
/// The first rule that they break.
pub fn check_terms(preferences: &Preferences, currencies: &[SellableCurrency], terms: &SellingTerms) -> Result<(), TermsError> {
    let SellingTerms::OneTime(terms) = terms else { return Ok(()) };
    if !preferences.paid_apps_allowed {
        return Err(TermsError::PaidNotAllowed);
    }
    let sellable = currencies.iter().find(|one| one.currency.id == terms.currency_id).ok_or(TermsError::NoSuchCurrency)?;
    let Currency { decimals, maximum_precision, .. } = sellable.currency;
    let text = terms.amount.to_decimal(decimals);
    if let Err(AmountError::TooPrecise(decimals)) = Amount::parse_decimal(&text, decimals, maximum_precision) {
        return Err(TermsError::TooPrecise(decimals));
    }
    let price = Decimal::from_str_exact(&text).ok();
    let is_in_range = price.is_some_and(|price| (preferences.price_min..=preferences.price_max).contains(&price));
    if !is_in_range || terms.amount < sellable.minimum {
        return Err(out_of_range(preferences, Some(sellable)));
    }
    if terms.shares.len() > SHARES_MAX {
        return Err(TermsError::TooManyShares);
    }
    let mut seen = BTreeSet::new();
    for share in &terms.shares {
        if !(1..=WHOLE).contains(&share.millionths) {
            return Err(TermsError::Percent);
        }
        if !seen.insert(&share.beneficiary) {
            return Err(TermsError::BeneficiaryTwice(share.beneficiary.clone()));
        }
    }
    let most = WHOLE.saturating_sub(commission(preferences));
    if shares_sum(&terms.shares) > most {
        return Err(TermsError::SharesExceed { most: Amount::new(u128::from(most)).to_decimal(PERCENT_DECIMALS) });
    }
    Ok(())
}

/// The range of prices, whose minimum is not below what the network accepts.
fn out_of_range(preferences: &Preferences, sellable: Option<&SellableCurrency>) -> TermsError {
    let minimum = sellable.map(|one| one.minimum.to_decimal(one.currency.decimals));
    let minimum = minimum.and_then(|text| Decimal::from_str_exact(&text).ok()).unwrap_or_default();
    let text = |decimal: Decimal| decimal.normalize().to_string();
    TermsError::OutOfRange { min: text(preferences.price_min.max(minimum)), max: text(preferences.price_max) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::shared::{MethodId, Mode, Timestamp};
    use proptest::prelude::*;

    fn dollars() -> Vec<SellableCurrency> {
        let at = Timestamp::from_seconds(0);
        let currency = Currency {
            id: CurrencyId::parse("pc_usd").expect("an id"),
            method_id: MethodId::parse("pm_1").expect("an id"),
            mode: Mode::Test,
            active: true,
            name: "Dollar".into(),
            symbol: "USD".into(),
            logo: String::new(),
            decimals: 2,
            maximum_precision: 2,
            contract: "usd".into(),
            is_base: false,
            created_at: at,
            updated_at: at,
        };
        vec![SellableCurrency { currency, minimum: Amount::new(50) }]
    }

    fn preferences() -> Preferences {
        Preferences { paid_apps_allowed: true, ..Preferences::default() }
    }

    fn share(did: &str, percent: &str) -> NewShare {
        NewShare { beneficiary: Did::from_verified(did), percent: percent.to_owned() }
    }

    fn read(preferences: &Preferences, amount: &str, shares: Vec<NewShare>) -> Result<SellingTerms, TermsError> {
        let currency_id = CurrencyId::parse("pc_usd").expect("an id");
        read_terms(preferences, &dollars(), &NewTerms::OneTime { currency_id, amount: amount.to_owned(), shares })
    }

    #[test]
    fn an_app_is_free_or_has_a_price_and_shares_up_to_the_commission() {
        assert_eq!(read_terms(&preferences(), &[], &NewTerms::Free), Ok(SellingTerms::Free));
        let terms = read(&preferences(), "9.90", vec![share("z1", "60"), share("z2", "9.9999")]).expect("terms");
        let SellingTerms::OneTime(terms) = terms else { panic!("a price") };
        assert_eq!(terms.amount, Amount::new(990));
        assert_eq!(terms.shares.iter().map(|share| share.millionths).collect::<Vec<_>>(), [600_000, 99_999]);
        assert!(read(&preferences(), "9.90", Vec::new()).is_ok(), "everything can stay with the store");
    }

    #[test]
    fn each_rule_of_the_store_has_its_refusal() {
        let all = preferences();
        let range = || TermsError::OutOfRange { min: "0.5".into(), max: "10000".into() };
        let cases = [
            ("", vec![], TermsError::NotANumber),
            ("1e3", vec![], TermsError::NotANumber),
            ("1.999", vec![], TermsError::TooPrecise(2)),
            ("0", vec![], range()),
            // The store allows it, and the network does not.
            ("0.49", vec![], range()),
            ("10000.01", vec![], range()),
            ("5", vec![share("z1", "70.0001")], TermsError::SharesExceed { most: "70".into() }),
            ("5", vec![share("z1", "40"), share("z2", "31")], TermsError::SharesExceed { most: "70".into() }),
            ("5", vec![share("z1", "0")], TermsError::Percent),
            ("5", vec![share("z1", "-1")], TermsError::Percent),
            ("5", vec![share("z1", "1.00001")], TermsError::Percent),
            ("5", vec![share("z1", "101")], TermsError::Percent),
            ("5", vec![share("z1", "1"), share("z1", "2")], TermsError::BeneficiaryTwice(Did::from_verified("z1"))),
            ("5", (0..21).map(|number| share(&format!("z{number}"), "1")).collect(), TermsError::TooManyShares),
        ];
        for (amount, shares, expected) in cases {
            assert_eq!(read(&all, amount, shares.clone()), Err(expected), "{amount} {shares:?}");
        }
        assert_eq!(read(&Preferences::default(), "5", Vec::new()), Err(TermsError::PaidNotAllowed));
        let other =
            NewTerms::OneTime { currency_id: CurrencyId::parse("pc_other").expect("an id"), amount: "5".into(), shares: Vec::new() };
        assert_eq!(read_terms(&all, &dollars(), &other), Err(TermsError::NoSuchCurrency));
    }

    #[test]
    fn the_order_of_shares_makes_no_difference_and_everything_else_does() {
        let terms = |amount, shares: Vec<NewShare>| read(&preferences(), amount, shares).expect("terms");
        let one = terms("5", vec![share("z1", "10"), share("z2", "20")]);
        assert!(one.is_same(&terms("5.00", vec![share("z2", "20"), share("z1", "10.0")])));
        for other in [
            SellingTerms::Free,
            terms("6", vec![share("z1", "10"), share("z2", "20")]),
            terms("5", vec![share("z1", "20"), share("z2", "10")]),
            terms("5", vec![share("z1", "10")]),
        ] {
            assert!(!one.is_same(&other) && !other.is_same(&one), "{other:?}");
        }
    }

    proptest! {
        #[test]
        fn no_accepted_terms_leave_the_store_less_than_its_commission(
            store_share in 0..=1_000_000_i64,
            percents in prop::collection::vec(1..400_000_u32, 0..6),
        ) {
            let all = Preferences { store_share: Decimal::new(store_share, 6), ..preferences() };
            prop_assert_eq!(i64::from(commission(&all)), store_share);
            let share = |(number, millionths): (usize, &u32)| {
                share(&format!("z{number}"), &Amount::new(u128::from(*millionths)).to_decimal(PERCENT_DECIMALS))
            };
            let sum: i64 = percents.iter().map(|part| i64::from(*part)).sum();
            let accepted = read(&all, "5", percents.iter().enumerate().map(share).collect());
            prop_assert_eq!(accepted.is_ok(), sum + store_share <= 1_000_000, "{:?}", accepted);
        }
    }
}
